//! A copy that is only talked through: what would be done about each entry, and why.
//!
//! It makes no call that writes, so nothing can go wrong by it; and it asks the same [`decide`] as
//! the copy, so that both agree. What another process changes between the two is not foreseen.

use std::collections::{HashMap, HashSet};
use std::ffi::CString;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haul_sys::fs::{
    DirectoryBuffer, Follow, Kind, Stat, for_each_entry, may_read_at, may_write_at, open_directory,
    statat, statat_follow,
};
use haul_sys::{Call, CallError, Errno};

use crate::apply::backup;
use crate::apply::existing::{created, is_one_entry, look};
use crate::decide::{Action, Found, Taken, decide, protects_just_made};
use crate::error::{Failure, Severity, What};
use crate::plan::Plan;
use crate::preflight::Needs;
use crate::request::{
    Borders, Consent, Dereference, Existing, Force, Links, Make, Policy, Recursion, Request,
};
use crate::walk::node::{Identity, identity};
use crate::walk::path::{directory_of, join, operand_of_path};
use haul_tree::Operand;

/// What would be done about an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// It would be made, for nobody has its name.
    Create,
    /// What is there would get its contents.
    Overwrite,
    /// What is there would be removed, and it would be made.
    Replace,
    /// What is there would get a backup's name, and it would be made.
    BackUp,
    /// Its entries would go into the directory that is there.
    Merge,
    /// It would become another name of a file that was copied before.
    Link,
    /// A person would be asked whether what is there may be overwritten.
    Ask,
    /// What is there would stay.
    Skip(Reason),
}

/// Why an entry would be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Something is there, and nothing is to be replaced.
    Exists,
    /// What is there is not older.
    NotOlder,
    /// Both are one file already.
    SameFile,
    /// It is on another file system.
    OtherDevice,
    /// The same was given before.
    GivenTwice,
}

/// An entry and what would be done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What would be done.
    pub intent: Intent,
    /// Its kind.
    pub kind: Kind,
    /// How large it is, if it is a regular file.
    pub bytes: u64,
    /// The source's path for people.
    pub source: Vec<u8>,
    /// The target's path for people.
    pub target: Vec<u8>,
}

/// Hears what would be done.
pub trait Audience {
    /// Hears of an entry.
    fn step(&mut self, step: &Step);

    /// Hears of what would fail.
    fn failed(&mut self, failure: &Failure);
}

/// A directory on both sides.
struct Place {
    parent: Option<Arc<Place>>,
    source: OwnedFd,
    /// Nothing, if it would be made only then.
    target: Option<OwnedFd>,
    source_id: Identity,
    source_path: Vec<u8>,
    target_path: Vec<u8>,
    lists_operands: bool,
    /// The device of the operand.
    root_dev: u64,
}

impl Place {
    fn is_below(&self, id: Identity) -> bool {
        let mut at = Some(self);
        while let Some(place) = at {
            if !place.lists_operands && place.source_id == id {
                return true;
            }
            at = place.parent.as_deref();
        }
        false
    }
}

/// A chain of many parents must not be dropped by recursion.
impl Drop for Place {
    fn drop(&mut self) {
        let mut next = self.parent.take();
        while let Some(place) = next {
            next = Arc::into_inner(place).and_then(|mut place| place.parent.take());
        }
    }
}

/// A directory that is to be looked into.
struct Waiting {
    parent: Arc<Place>,
    operand: Operand,
    id: Identity,
    /// The device that it is on.
    dev: u64,
    /// Whether its name may be a link.
    follows: Follow,
    root_dev: u64,
    /// Whether there is one in the target that it is merged with.
    merges: bool,
}

struct Rehearsal<'r> {
    policy: &'r Policy,
    audience: &'r mut dyn Audience,
    needs: Needs,
    stack: Vec<Waiting>,
    /// Files with several names, and the target's path of the first.
    links: HashSet<Identity>,
    /// Operands by target name, so that a second one is seen.
    operands: HashMap<CString, Identity>,
    /// The directory in which the operands' names are made.
    target_id: Option<Identity>,
    /// The operand that is talked through, by both its paths.
    current: (Vec<u8>, Vec<u8>),
    /// Directories of the target that operands go to.
    roots: HashSet<Identity>,
    several_operands: bool,
}

/// Talks a copy through. Returns what it would need; writes nothing. Blocks until it is through, or
/// told to stop.
pub fn rehearse(
    request: &Request,
    audience: &mut dyn Audience,
    stop: &AtomicBool,
) -> Result<Needs, Failure> {
    let plan = Plan::resolve(request)?;
    let Plan { operands, source, target, target_name, backs_itself_up, .. } = plan;
    let mut policy = request.policy.clone();
    if backs_itself_up {
        policy.backup = None;
    }
    let mut needs = Needs::default();
    needs.measure_target(target.as_fd(), &request.target);
    let mut rehearsal = Rehearsal {
        policy: &policy,
        audience,
        needs,
        stack: Vec::new(),
        links: HashSet::new(),
        operands: HashMap::new(),
        target_id: haul_sys::fs::fstat(&target).ok().map(|stat| identity(&stat)),
        current: (Vec::new(), Vec::new()),
        roots: HashSet::new(),
        several_operands: operands.len() > 1,
    };
    let top = Arc::new(Place {
        parent: None,
        source,
        target: Some(target),
        source_id: (0, 0),
        source_path: Vec::new(),
        target_path: target_name.to_bytes().to_vec(),
        lists_operands: true,
        root_dev: 0,
    });
    for operand in operands {
        rehearsal.current = (
            operand.source.to_bytes().to_vec(),
            join(&[&top.target_path, operand.target.to_bytes()]),
        );
        rehearsal.entry(&top, operand);
        rehearsal.descend(stop);
    }
    Ok(rehearsal.needs)
}

impl Rehearsal<'_> {
    fn descend(&mut self, stop: &AtomicBool) {
        let mut buffer = DirectoryBuffer::new(64 << 10);
        while let Some(waiting) = self.stack.pop() {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            match open(&waiting) {
                Ok(place) => self.entries(&waiting, &Arc::new(place), &mut buffer, stop),
                Err((what, errno)) => {
                    self.fail(&waiting.parent, &waiting.operand, what, Some(errno));
                }
            }
        }
    }

    fn entries(
        &mut self,
        waiting: &Waiting,
        place: &Arc<Place>,
        buffer: &mut DirectoryBuffer,
        stop: &AtomicBool,
    ) {
        if let Some(rest) = &waiting.operand.rest {
            self.entry(place, operand_of_path(rest));
            return;
        }
        if waiting.merges
            && let Some(target) = &place.target
            && place.source_id == waiting.id
        {
            // Making anything in it would fail; one message says it for all.
            if let Err(error) = may_write_at(target, c".") {
                self.fail(&waiting.parent, &waiting.operand, What::CreateFile, Some(error.errno));
            }
        }
        if self.is_into_itself(place) {
            self.needs.failures += 1;
            let (source, target) = self.current.clone();
            let what = What::IntoItself;
            let severity = Severity::Failure;
            self.audience.failed(&Failure { what, source, target, errno: None, severity });
        }
        if self.policy.borders == Borders::Stay && waiting.dev != waiting.root_dev {
            return;
        }
        let mut names = Vec::new();
        loop {
            let answer = for_each_entry(&place.source, buffer, |entry| {
                names.push((entry.ino, entry.name.to_owned()));
                ControlFlow::Continue(())
            });
            match answer {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    let errno = Some(error.errno);
                    self.fail(&waiting.parent, &waiting.operand, What::ReadDirectory, errno);
                    break;
                }
            }
        }
        names.sort_unstable();
        for (_, name) in names {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            self.entry(place, Operand::whole(name.clone(), name));
        }
    }

    /// Says what would become of an entry; a directory that would be entered is put by.
    fn entry(&mut self, place: &Arc<Place>, operand: Operand) {
        let follows = self.follows(place, &operand);
        let stat_of = |follow| match follow {
            Follow::Yes => statat_follow(&place.source, &operand.source),
            Follow::No => statat(&place.source, &operand.source),
        };
        let (link, stat) = match (stat_of(Follow::No), stat_of(follows)) {
            (Ok(link), Ok(stat)) => (link, stat),
            (Err(error), _) | (_, Err(error)) => {
                return self.fail(place, &operand, What::Stat, Some(error.errno));
            }
        };
        self.needs.see_name(operand.target.to_bytes().len());
        if let Some(what) = self.refusal(place, &operand, &stat) {
            return self.fail(place, &operand, what, None);
        }
        if self.is_beyond_border(place, &stat, follows) {
            return self.tell(place, &operand, &stat, Intent::Skip(Reason::OtherDevice));
        }
        if place.lists_operands && self.several_operands && operand.rest.is_none() {
            let known = self.operands.insert(operand.target.clone(), identity(&stat));
            match known {
                Some(id) if id == identity(&stat) => {
                    return self.tell(place, &operand, &stat, Intent::Skip(Reason::GivenTwice));
                }
                Some(_) if stat.kind() != Kind::Directory && protects_just_made(self.policy) => {
                    return self.fail(place, &operand, What::JustCreated, None);
                }
                _ => {}
            }
        }
        let is_data = stat.kind() == Kind::Regular && self.policy.make == Make::Copy;
        if is_data && let Err(error) = may_read_at(&place.source, &operand.source) {
            return self.fail(place, &operand, What::OpenSource, Some(error.errno));
        }
        if self.is_linked(&stat, follows) {
            return self.tell(place, &operand, &stat, Intent::Link);
        }
        let taken = match &place.target {
            None => Ok(None),
            Some(target) => look(target.as_fd(), &operand.target),
        };
        match taken {
            Err(error) => self.fail(place, &operand, What::StatTarget, Some(error.errno)),
            Ok(None) => self.would(place, operand, &stat, Intent::Create, None),
            Ok(Some(taken)) => self.stand(place, operand, (&link, &stat, follows), &taken),
        }
    }

    /// What would become of an entry whose name is taken.
    fn stand(
        &mut self,
        place: &Arc<Place>,
        operand: Operand,
        (link, stat, follows): (&Stat, &Stat, Follow),
        taken: &Taken,
    ) {
        let followed = (link.kind() == Kind::Symlink)
            .then(|| statat_follow(&place.source, &operand.source).ok())
            .flatten();
        let found = Found {
            stat: *stat,
            link: *link,
            followed,
            keeps_links: follows == Follow::No,
            same_name: link.same_file(&taken.link) && is_same_name(place, &operand),
        };
        let decision = decide(&found, taken, self.policy);
        let old = taken.reached();
        let intent = match decision.action {
            Action::Refuse(what) => {
                let errno = (what == What::StatTarget).then_some(Errno::LOOP);
                return self.fail(place, &operand, what, errno);
            }
            _ if decision.ask => Intent::Ask,
            Action::Merge => Intent::Merge,
            Action::Overwrite => Intent::Overwrite,
            Action::Replace => Intent::Replace,
            Action::BackUp => Intent::BackUp,
            // The call that makes the name finds it taken.
            Action::Create => {
                let what = match self.policy.make {
                    Make::HardLink => What::CreateHardLink,
                    Make::SymbolicLink => What::LinkToSource,
                    Make::Copy | Make::Attributes => created(stat.kind()),
                };
                return self.fail(place, &operand, what, Some(Errno::EXIST));
            }
            Action::Skip => Intent::Skip(self.reason(&found, taken)),
        };
        self.would(place, operand, stat, intent, old);
    }

    /// Foresees that an entry cannot be made, or a file not written to: a parent is missing, a mount is
    /// read-only, a permission is lacking. Where a directory of the source is merged with one that
    /// cannot be written to, that was reported when it was entered.
    fn may_make(
        &self,
        place: &Place,
        operand: &Operand,
        (stat, intent): (&Stat, Intent),
    ) -> Result<(), (What, Errno)> {
        let Some(target) = &place.target else { return Ok(()) };
        if let (Intent::BackUp, Some(how)) = (intent, &self.policy.backup) {
            let named = backup::name_for(target.as_fd(), &operand.target, how);
            let described = named.and_then(|(name, _)| statat(target, &name));
            if let Err(error) = described
                && error.errno != Errno::NOENT
            {
                return Err((What::Backup, error.errno));
            }
        }
        let what = created(stat.kind());
        let in_parent = || {
            let parent = directory_of(operand.target.to_bytes());
            let parent = open_directory(target, &parent, Follow::Yes)?;
            may_write_at(&parent, c".")
        };
        let answer = match intent {
            Intent::Skip(_) | Intent::Ask | Intent::Merge => Ok(()),
            Intent::Overwrite if self.policy.force == Force::No => {
                may_write_at(target, &operand.target)
            }
            _ if place.lists_operands => in_parent(),
            _ => Ok(()),
        };
        match answer {
            Ok(()) => Ok(()),
            // A directory that may be written to need not be readable.
            Err(error) if error.call == Call::Openat && error.errno == Errno::ACCESS => Ok(()),
            Err(error) => Err((what, error.errno)),
        }
    }

    fn reason(&self, found: &Found, taken: &Taken) -> Reason {
        if taken.reached().is_some_and(|target| found.stat.same_file(&target)) {
            Reason::SameFile
        } else if self.policy.existing == Existing::Older && self.policy.consent != Consent::Denied
        {
            Reason::NotOlder
        } else {
            Reason::Exists
        }
    }

    fn would(
        &mut self,
        place: &Arc<Place>,
        operand: Operand,
        stat: &Stat,
        intent: Intent,
        old: Option<Stat>,
    ) {
        if let Err((what, errno)) = self.may_make(place, &operand, (stat, intent)) {
            return self.fail(place, &operand, what, Some(errno));
        }
        if operand.rest.is_none() || intent == Intent::Create {
            self.tell(place, &operand, stat, intent);
        }
        if !matches!(intent, Intent::Skip(_)) {
            let old = old.filter(|_| intent == Intent::Overwrite);
            self.needs.add(stat, intent, old.as_ref(), self.policy);
        }
        if stat.kind() == Kind::Directory {
            let is_operand = place.lists_operands && operand.rest.is_none();
            if is_operand
                && intent == Intent::Merge
                && let Some(old) = old
            {
                self.roots.insert(identity(&old));
            }
            self.stack.push(Waiting {
                parent: Arc::clone(place),
                id: identity(stat),
                dev: stat.dev,
                follows: self.follows(place, &operand),
                root_dev: if place.lists_operands { stat.dev } else { place.root_dev },
                operand,
                merges: intent == Intent::Merge,
            });
        }
    }

    /// What is refused whatever the target has.
    fn refusal(&self, place: &Place, operand: &Operand, stat: &Stat) -> Option<What> {
        let is_directory = stat.kind() == Kind::Directory;
        if operand.rest.is_some() {
            return (!is_directory).then_some(What::NotADirectory);
        }
        if stat.kind() == Kind::Unknown {
            return Some(What::UnknownKind);
        }
        if !is_directory {
            return None;
        }
        if self.policy.recursion == Recursion::No {
            return Some(What::OmittedDirectory);
        }
        if self.policy.dereference == Dereference::Always && place.is_below(identity(stat)) {
            return Some(What::Cycle);
        }
        let is_into_itself = !place.lists_operands && self.roots.contains(&identity(stat));
        is_into_itself.then_some(What::IntoItself)
    }

    /// Tells whether the operand would be made in this directory of its own.
    fn is_into_itself(&self, place: &Place) -> bool {
        Some(place.source_id) == self.target_id && !place.lists_operands
    }

    fn follows(&self, place: &Place, operand: &Operand) -> Follow {
        let operands = place.lists_operands;
        match self.policy.dereference {
            _ if operand.rest.is_some() => Follow::Yes,
            Dereference::Always => Follow::Yes,
            Dereference::Operands if operands => Follow::Yes,
            Dereference::Operands | Dereference::Never => Follow::No,
        }
    }

    fn is_beyond_border(&self, place: &Place, stat: &Stat, follows: Follow) -> bool {
        // A directory that is a mount point is made, and left empty when it is entered.
        self.policy.borders == Borders::Stay
            && !place.lists_operands
            && stat.kind() != Kind::Directory
            && follows == Follow::No
            && stat.dev != place.root_dev
    }

    /// Tells whether a name of this file came along before.
    fn is_linked(&mut self, stat: &Stat, follows: Follow) -> bool {
        // What is reached through a link may come along under another name as well.
        let is_tracked = self.policy.preserve.links == Links::Keep
            && stat.kind() != Kind::Directory
            && matches!(self.policy.make, Make::Copy | Make::Attributes)
            && (stat.nlink > 1 || follows == Follow::Yes);
        if stat.nlink > 1 && stat.kind() == Kind::Regular && !is_tracked {
            self.needs.see_split(identity(stat), stat);
        }
        is_tracked && !self.links.insert(identity(stat))
    }

    fn tell(&mut self, place: &Place, operand: &Operand, stat: &Stat, intent: Intent) {
        self.audience.step(&Step {
            intent,
            kind: stat.kind(),
            bytes: if stat.kind() == Kind::Regular { stat.size } else { 0 },
            source: join(&[&place.source_path, operand.source.to_bytes()]),
            target: join(&[&place.target_path, operand.target.to_bytes()]),
        });
    }

    fn fail(&mut self, place: &Place, operand: &Operand, what: What, errno: Option<Errno>) {
        self.needs.failures += 1;
        self.audience.failed(&Failure {
            what,
            source: join(&[&place.source_path, operand.source.to_bytes()]),
            target: join(&[&place.target_path, operand.target.to_bytes()]),
            errno,
            severity: Severity::Failure,
        });
    }
}

/// Returns whether source and target are one directory entry, however the two paths are spelled.
fn is_same_name(place: &Place, operand: &Operand) -> bool {
    place.target.as_ref().is_some_and(|target| {
        is_one_entry(
            (place.source.as_fd(), operand.source.to_bytes()),
            (target.as_fd(), operand.target.to_bytes()),
        )
    })
}

/// Opens a directory that waits, and the one in the target if it is there.
fn open(waiting: &Waiting) -> Result<Place, (What, Errno)> {
    let Waiting { parent, operand, .. } = waiting;
    let fail = |what| move |error: CallError| (what, error.errno);
    let source = open_directory(&parent.source, &operand.source, waiting.follows)
        .map_err(fail(What::ReadDirectory))?;
    let now = haul_sys::fs::fstat(&source).map_err(fail(What::Stat))?;
    if identity(&now) != waiting.id {
        return Err((What::Replaced, Errno::STALE));
    }
    let target = match &parent.target {
        Some(target) if waiting.merges => Some(
            open_directory(target, &operand.target, Follow::Yes)
                .map_err(fail(What::OpenDirectory))?,
        ),
        _ => None,
    };
    Ok(Place {
        parent: Some(Arc::clone(parent)),
        source,
        target,
        source_id: waiting.id,
        source_path: join(&[&parent.source_path, operand.source.to_bytes()]),
        target_path: join(&[&parent.target_path, operand.target.to_bytes()]),
        lists_operands: operand.rest.is_some(),
        root_dev: waiting.root_dev,
    })
}
