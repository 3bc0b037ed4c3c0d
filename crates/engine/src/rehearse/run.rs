//! Rehearses a copy: walks the sources, and reports what the copy would do with each entry.
//!
//! The order is that of a copy with one worker, because the order determines which name of a file
//! the copy writes and which names it links, and which of two operands overwrites the other.

use haul_sys::sync::Mutex;
use std::collections::HashMap;
use std::ffi::CString;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use haul_sys::fs::{Follow, Kind, fstat, statat, statat_follow};
use haul_sys::{CallError, Errno};
use haul_tree::{Batch, Nothing, OpenDirectories, Operand, Operation, Reader, Task, Workers, walk};

use super::foresee::Foreseen;
use super::imagined::Imagined;
use super::place::{Found, Handles, Node, Place, RehearsedDirectory, is_below, path_of};
use super::told::{Audience, Intent, Step};
use crate::copy::existing::referent;
use crate::copy::node::Side;
use crate::data::error::{self, Failure, Severity, What};
use crate::data::request::{Changes, Make, Order, Policy, Request};
use crate::data::selected::{self, Protection};
use crate::decide::{
    Action, Decision, Facts, LinkText, Nesting, Occupant, Reason, Role, Seen, Source, Taken,
    TargetName, classify, creation_call, follows_links, is_entered, is_read, is_tracked,
    selects_as,
};
use crate::names::by_identity::{Identity, identity};
use crate::names::path::{is_here, operand_of_path};
use crate::plan::Plan;
use crate::plan::backup::simple_name;
use crate::rehearse::preflight::Needs;
use crate::sync::basis::Basis;
use crate::sync::compare::{Twins, compare, seen};
use crate::sync::extraneous::TargetWay;
use crate::sync::given::Missing;
use crate::sync::links::Treatment;
use crate::sync::shared::{NameClaim, Synchronized};

/// Number of directories that stay open while the rehearsal is in others. Each has two descriptors.
const DIRECTORIES: usize = 64;

/// What the rehearsal has reported and recorded.
pub(super) struct State<'r> {
    pub(super) policy: &'r Policy,
    pub(super) synchronized: Option<&'r Synchronized<'r>>,
    pub(super) stop: &'r AtomicBool,
    pub(super) audience: &'r mut (dyn Audience + Send),
    pub(super) needs: Needs,
    imagined: Imagined,
    /// What decided that the entry at hand is selected.
    decided_by: Option<Vec<u8>>,
    /// What a synchronisation would change of the entry at hand.
    pub(super) changes: Option<Changes>,
    /// Whether an earlier operand has a directory of the name of the entry at hand.
    is_shared: bool,
    /// The entry of another directory that fits the entry at hand best.
    pub(super) basis: Option<Basis>,
    /// The files of other directories of which sources would become names.
    pub(super) based: HashMap<Identity, Identity>,
}

/// The rehearsal as an operation on a tree.
struct Rehearsal<'r> {
    policy: &'r Policy,
    order: Order,
    stop: &'r AtomicBool,
    directories: OpenDirectories<RehearsedDirectory>,
    state: Mutex<State<'r>>,
}

type Worker<'w, 'r> = haul_tree::Worker<'w, Rehearsal<'r>>;

/// Rehearses a copy, and returns the resources that it would need. Writes nothing. Blocks until the
/// rehearsal is complete or `stop` is set.
pub fn rehearse(
    request: &Request,
    audience: &mut (dyn Audience + Send),
    stop: &AtomicBool,
) -> Result<Needs, Failure> {
    let plan = Plan::resolve(request)?;
    let imagined = Imagined::new(&plan);
    let mut policy = request.policy.clone();
    if plan.backs_itself_up {
        policy.backup = None;
    }
    let synchronized = Synchronized::new(&policy, &plan, Missing::Fail)?;
    let Plan { operands, source, target, target_name, order, contents, .. } = plan;
    let mut needs = Needs::default();
    needs.measure_target(target.as_fd(), &request.target);
    let root = RehearsedDirectory {
        source_name: CString::default(),
        target_name,
        source_id: (0, 0),
        target_id: (!contents.makes_target).then_some((0, 0)),
        follow: Follow::No,
        lists_operands: true,
        root_dev: 0,
        target_dev: fstat(&target).map_or(0, |stat| stat.dev),
        writable: OnceLock::new(),
        within: selected::of_operands(policy.selection.as_ref()),
        target_way: TargetWay::UNKNOWN,
        protected: Protection::of_operands(synchronized.as_ref().and_then(Synchronized::protected)),
    };
    let rehearsal = Rehearsal {
        policy: &policy,
        order,
        stop,
        directories: OpenDirectories::new(DIRECTORIES),
        state: Mutex::new(State {
            policy: &policy,
            synchronized: synchronized.as_ref(),
            stop,
            audience,
            needs,
            imagined,
            decided_by: None,
            changes: None,
            is_shared: false,
            basis: None,
            based: HashMap::new(),
        }),
    };
    let handles = Handles { source, target: (!contents.makes_target).then_some(target) };
    let task = rehearsal.task(Node::new(None, root), Reader::of_operands(&operands), handles);
    walk(&rehearsal, Workers::ONE, task, |_| ());
    let mut state = rehearsal.state.into_inner();
    for failure in synchronized.iter().flat_map(Synchronized::missing_bases) {
        state.audience.failed(&failure);
    }
    state.needs.not_deleted = synchronized.as_ref().map_or(0, Synchronized::not_deleted);
    for failure in
        selected::missing(policy.selection.as_ref(), (error::Operation::Copy, &request.sources))
    {
        state.needs.failures += 1;
        state.audience.failed(&failure);
    }
    Ok(state.needs)
}

impl<'r> Operation for Rehearsal<'r> {
    type Directory = RehearsedDirectory;
    type Found = Found;
    type Shared = Nothing;
    type Local = ();

    fn local(&self, _: usize) {}

    fn directories(&self) -> &OpenDirectories<RehearsedDirectory> {
        &self.directories
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn order(&self) -> Order {
        self.order
    }

    fn enter(worker: &mut Worker<'_, 'r>, found: Found) -> Option<Arc<Task<RehearsedDirectory>>> {
        let entered = worker.operation.enter(&found);
        if entered.is_none() {
            worker.release_child(found.parent);
        }
        entered.map(Arc::new)
    }

    fn handle(worker: &mut Worker<'_, 'r>, batch: Batch<'_, RehearsedDirectory>) {
        let place = Place { node: &batch.task.node, handles: batch.handle };
        for slot in &batch.entries.slots {
            if worker.operation.is_stopped() {
                return;
            }
            let operand = Operand {
                source: batch.entries.name(slot).to_owned(),
                target: batch.entries.target(slot).to_owned(),
                rest: batch.entries.rest(slot).map(std::ffi::CStr::to_owned),
            };
            let mut state = worker.operation.state.lock();
            if !state.selects(place, &operand, slot.kind) {
                continue;
            }
            let found = state.entry(place, &operand);
            drop(state);
            if let Some(found) = found {
                place.node.owe();
                worker.push(found);
            }
        }
    }

    fn reopen_failed(&self, node: &Node, error: CallError) {
        self.state.lock().fail_node(node, What::OpenDirectory, error.errno);
    }

    fn read_failed(&self, node: &Node, error: CallError) {
        self.state.lock().fail_node(node, What::ReadDirectory, error.errno);
    }
}

impl<'r> Rehearsal<'r> {
    fn task(&self, node: Node, reader: Reader, handles: Handles) -> Task<RehearsedDirectory> {
        let node = Arc::new(node);
        let handles = self.directories.adopt(handles);
        self.directories.keep(&node, &handles);
        Task::new(node, reader, 1).holding(handles)
    }

    /// Opens a directory, and returns its task if the copy would read it.
    fn enter(&self, found: &Found) -> Option<Task<RehearsedDirectory>> {
        let opened = self
            .directories
            .of(&found.parent)
            .map_err(|error| (What::OpenDirectory, Some(error.errno)))
            .and_then(|parent| found.open(&parent));
        let (directory, handles) = match opened {
            Ok(opened) => opened,
            Err((what, errno)) => {
                self.state.lock().fail(&found.parent, &found.operand, what, errno);
                return None;
            }
        };
        let reader = match &found.operand.rest {
            // No other entry of a leading directory is wanted.
            Some(rest) if rest.is_empty() => return None,
            Some(rest) => Reader::of_operands(&[operand_of_path(rest)]),
            None if !is_read(&found.operand.target, self.policy) => return None,
            None if !is_entered(found.dev, found.root_dev, self.policy) => return None,
            None => Reader::new(),
        };
        let node = Node::new(Some(Arc::clone(&found.parent)), directory);
        if found.operand.rest.is_none() {
            let mut state = self.state.lock();
            if !state.pretends_removal(&node, &handles) {
                return None;
            }
            for _ in 0..state.imagined.roots_in(node.source_id) {
                state.fail_operand(&node, What::IntoItself);
            }
        }
        Some(self.task(node, reader, handles))
    }
}

impl State<'_> {
    /// Reports what the copy would do with an entry. Returns a directory that the copy would enter.
    fn entry(&mut self, place: Place<'_>, operand: &Operand) -> Option<Found> {
        match self.rehearse(place, operand) {
            Ok(found) => found,
            Err((what, errno)) => {
                self.fail(place.node, operand, what, errno);
                None
            }
        }
    }

    /// Returns whether an entry is selected; reports one that is not.
    fn selects(&mut self, place: Place<'_>, operand: &Operand, kind: Option<Kind>) -> bool {
        self.decided_by = None;
        let Some(within) = place.within.as_deref().filter(|_| operand.rest.is_none()) else {
            return true;
        };
        let follow = selects_as(place.role(operand), self.policy);
        let named = (&*operand.source, kind);
        let choice =
            selected::choose(within, place.listing(), &place.handles.source, named, follow);
        self.decided_by = selected::describe(&choice);
        if choice.is_excluded() {
            self.audience.step(&Step {
                intent: Intent::Skip(Reason::Excluded),
                kind: kind.unwrap_or(Kind::Unknown),
                bytes: 0,
                source: place.path_of_source(operand),
                target: place.path_of_target(operand),
                decided_by: self.decided_by.take(),
                changes: None,
                linked_to: None,
            });
        }
        !choice.is_excluded()
    }

    fn rehearse(
        &mut self,
        place: Place<'_>,
        operand: &Operand,
    ) -> Result<Option<Found>, (What, Option<Errno>)> {
        let refused = |what| move |error: CallError| (what, Some(error.errno));
        let role = place.role(operand);
        let directory = &place.handles.source;
        let link = statat(directory, &operand.source).map_err(refused(What::Stat))?;
        let treatment = self.treatment(place, operand);
        if treatment == Treatment::Skip {
            return Ok(None);
        }
        let stat = if link.kind() == Kind::Symlink && treatment == Treatment::Follow {
            statat_follow(directory, &operand.source).map_err(refused(What::Stat))?
        } else {
            link
        };
        if self.is_pruned(place, operand, &stat) {
            return Ok(None);
        }
        self.needs.see_name(operand.target.to_bytes().len());
        let mut source = Source::new(&stat, &link, role);
        self.relate(place, operand, &mut source);
        let decision = classify(&Facts { source, target: TargetName::Unseen }, self.policy);
        if let Some(synchronized) = self.synchronized.filter(|_| decision.action == Action::Look) {
            match synchronized.claim(|| place.path_of_target(operand), stat.kind()) {
                NameClaim::Own => {
                    self.is_shared =
                        operand.rest.is_some() && !synchronized.rules.implied_attributes;
                }
                NameClaim::Shared => self.is_shared = true,
                NameClaim::Earlier => return Ok(None),
                NameClaim::Blocked => return Err((What::JustCreated, None)),
            }
        }
        if decision.action != Action::Look {
            let unseen = Foreseen { place, operand, source: &source, decision, taken: None };
            return self.conclude(&unseen);
        }
        source.seen = self.imagined.seen(&source, self.policy);
        source.followed = referent(place.source_of(operand), &link);
        if stat.nlink > 1 && stat.kind() == Kind::Regular && !is_tracked(role, &stat, self.policy) {
            self.needs.see_split(identity(&stat), &stat);
        }
        let taken = self.imagined.taken(place, operand, &source, self.policy);
        let mut taken = taken.map_err(refused(What::StatTarget))?;
        self.compare(place, operand, &source, &mut taken)?;
        self.look_elsewhere(place, operand, &source, taken.as_mut())?;
        let target = taken.as_ref().map_or(TargetName::Free, TargetName::Taken);
        let decision = classify(&Facts { source, target }, self.policy);
        let taken = taken.as_ref();
        self.conclude(&Foreseen { place, operand, source: &source, decision, taken })
    }

    /// Compares an entry with the one that has its target name, if the copy would synchronise.
    fn compare(
        &mut self,
        place: Place<'_>,
        operand: &Operand,
        source: &Source<'_>,
        taken: &mut Option<Taken>,
    ) -> Result<(), (What, Option<Errno>)> {
        self.changes = None;
        let (Some(synchronized), Some(taken), Some(sides)) =
            (self.synchronized, taken, place.sides(operand))
        else {
            return Ok(());
        };
        if Imagined::is_imagined(taken) {
            return Ok(());
        }
        let target = seen(taken, source.stat.kind(), self.policy);
        let wanted = synchronized.attributes.of(source.stat, Some((target.uid, target.gid)));
        let follow = self.treatment(place, operand).follow();
        let step_ns = taken.step_ns;
        let twins = Twins { sides, source: &wanted, follow, target: &target, step_ns };
        let compared = compare(twins, synchronized.rules, self.policy)
            .map_err(|(what, errno)| (what, Some(errno)))?;
        self.changes = Some(compared.changes);
        taken.compared = Some(compared);
        Ok(())
    }

    /// Determines the relation of an entry to what the copy would have made by now.
    fn relate(&mut self, place: Place<'_>, operand: &Operand, source: &mut Source<'_>) {
        if source.role == Role::Operand
            && self.imagined.is_given_twice(&operand.target, source.stat)
        {
            source.seen = Seen::AsOperand;
        }
        let id = identity(source.stat);
        if !source.is_directory() {
            if self.policy.make == Make::SymbolicLink
                && !place.path_of_source(operand).starts_with(b"/")
                && !is_here(&place.path_of_target(operand))
            {
                source.link_text = LinkText::Relative;
            }
        } else if !place.lists_operands && self.imagined.is_root(id) {
            source.nesting = Nesting::OperandTarget;
        } else if follows_links(self.policy) && is_below(place.node, id) {
            // A tree contains itself only through links.
            source.nesting = Nesting::OwnAncestor;
        }
    }

    /// Reports the decision, and the failures that the copy would meet when it acts on the
    /// decision.
    fn conclude(&mut self, entry: &Foreseen<'_>) -> Result<Option<Found>, (What, Option<Errno>)> {
        let Foreseen { place, source, decision: Decision { action, ask }, .. } = *entry;
        let intent = match action {
            Action::Refuse(What::IntoItself) => {
                selected::meet_below(&place.node.within, &entry.operand.source);
                self.fail_operand(place.node, What::IntoItself);
                return Ok(None);
            }
            Action::Refuse(what @ What::OmittedDirectory) if self.synchronized.is_some() => {
                self.warn(entry, what);
                return Ok(None);
            }
            Action::Skip(Reason::Kind) => {
                self.warn(entry, What::SkippedKind);
                return Ok(None);
            }
            Action::Refuse(what) => {
                return Err((what, entry.taken.and_then(|taken| taken.errno_of(what))));
            }
            Action::Collide => {
                let what = creation_call(source.stat.kind(), source.seen, self.policy);
                return Err((what, Some(Errno::EXIST)));
            }
            Action::RefuseBackup => {
                self.fail_backup(entry);
                return Ok(None);
            }
            Action::Skip(reason) => Intent::Skip(reason),
            _ if ask => Intent::Ask,
            _ if source.seen == Seen::AsLink && self.has_link(entry) => {
                self.changes = Some(Changes::default());
                Intent::Skip(Reason::Same)
            }
            _ if source.seen == Seen::AsLink => Intent::Link,
            Action::Merge => Intent::Merge,
            Action::Adjust => Intent::Adjust,
            Action::Clear => Intent::Replace,
            Action::Overwrite => Intent::Overwrite,
            Action::Replace => Intent::Replace,
            Action::BackUp => Intent::BackUp,
            Action::Create | Action::Look => Intent::Create,
        };
        let is_skipped = matches!(intent, Intent::Skip(_));
        let linked = intent == Intent::Link;
        let intent = self.based(entry, intent);
        entry.check(intent, self.policy).map_err(|(what, errno)| (what, Some(errno)))?;
        if action == Action::Clear {
            self.pretend_clearing(entry)?;
        }
        let linked_to = self
            .synchronized
            .filter(|_| linked)
            .and_then(|_| self.imagined.first_name(source.stat));
        // What another directory has is not made here.
        if is_skipped || !matches!(intent, Intent::Skip(_)) {
            self.imagined.note(entry, self.policy);
        }
        Ok(self.announce(entry, intent, linked_to))
    }

    /// Returns whether a synchronisation finds that an entry is another name of its file already.
    fn has_link(&self, entry: &Foreseen<'_>) -> bool {
        self.synchronized.is_some()
            && entry.taken.is_some_and(|taken| taken.occupant == Occupant::SameLink)
    }

    fn announce(
        &mut self,
        entry: &Foreseen<'_>,
        intent: Intent,
        linked_to: Option<Vec<u8>>,
    ) -> Option<Found> {
        let Foreseen { place, operand, source, taken, .. } = *entry;
        let stat = source.stat;
        if (operand.rest.is_none() || intent == Intent::Create || self.synchronized.is_some())
            && !self.is_shared
        {
            self.audience.step(&Step {
                intent,
                kind: stat.kind(),
                bytes: if stat.kind() == Kind::Regular { stat.size } else { 0 },
                source: place.path_of_source(operand),
                target: place.path_of_target(operand),
                decided_by: self.decided_by.take(),
                changes: self.synchronized.map(|_| self.changes.unwrap_or(Changes::NEW)),
                linked_to,
            });
        }
        if !matches!(intent, Intent::Skip(_) | Intent::Link | Intent::Adjust) {
            let old = taken.and_then(Taken::reached).filter(|_| intent == Intent::Overwrite);
            self.needs.add(stat, intent, old.as_ref(), self.policy);
        }
        let is_entered = matches!(intent, Intent::Create | Intent::Merge | Intent::Replace);
        (source.is_directory() && is_entered).then(|| Found {
            parent: Arc::clone(place.node),
            operand: operand.clone(),
            id: identity(stat),
            dev: stat.dev,
            follow: self.treatment(place, operand).follow(),
            root_dev: if place.lists_operands { stat.dev } else { place.root_dev },
            merges: intent == Intent::Merge && !taken.is_some_and(Imagined::is_imagined),
            through_link: taken.is_some_and(|taken| taken.link.kind() == Kind::Symlink),
        })
    }

    /// Reports a failure of an entry, which is not entered if it is a directory.
    fn fail(&mut self, node: &Node, operand: &Operand, what: What, errno: Option<Errno>) {
        selected::meet_below(&node.within, &operand.source);
        let source = path_of(node, Some(&operand.source), Side::Source);
        let target = path_of(node, Some(&operand.target), Side::Target);
        self.report(what, (source, target), errno);
    }

    /// Reports an entry that is not copied, because the backup of its target would replace another one.
    fn fail_backup(&mut self, entry: &Foreseen<'_>) {
        let Foreseen { place, operand, .. } = *entry;
        let how = self.policy.backup.as_ref();
        let backup = how.and_then(|how| simple_name(&operand.target, how));
        let operand =
            Operand { target: backup.unwrap_or(operand.target.clone()), ..operand.clone() };
        self.fail(place.node, &operand, What::JustCreated, None);
    }

    /// Reports an entry that the copy would leave out.
    fn warn(&mut self, entry: &Foreseen<'_>, what: What) {
        let (source, target) =
            (entry.place.path_of_source(entry.operand), entry.place.path_of_target(entry.operand));
        let (operation, severity) = (error::Operation::Copy, Severity::Warning);
        let errno = None;
        self.audience.failed(&Failure { operation, what, source, target, errno, severity });
    }

    /// Reports a failure of a directory.
    pub(super) fn fail_entered(&mut self, node: &Node, what: What, errno: Option<Errno>) {
        let paths = (path_of(node, None, Side::Source), path_of(node, None, Side::Target));
        self.report(what, paths, errno);
    }

    /// Reports a failure of a directory whose entries are not all known.
    fn fail_node(&mut self, node: &Node, what: What, errno: Errno) {
        selected::meet_all(&node.within);
        let paths = (path_of(node, None, Side::Source), path_of(node, None, Side::Target));
        self.report(what, paths, Some(errno));
    }

    /// Reports a failure of the operand that a directory is below.
    fn fail_operand(&mut self, node: &Node, what: What) {
        let mut at = node;
        while let Some(parent) = at.parent.as_deref().filter(|parent| !parent.lists_operands) {
            at = parent;
        }
        let paths = (path_of(at, None, Side::Source), path_of(at, None, Side::Target));
        self.report(what, paths, None);
    }

    fn report(&mut self, what: What, paths: (Vec<u8>, Vec<u8>), errno: Option<Errno>) {
        let ((source, target), severity) = (paths, Severity::Failure);
        let operation = error::Operation::Copy;
        self.needs.failures += 1;
        self.audience.failed(&Failure { operation, what, source, target, errno, severity });
    }
}
