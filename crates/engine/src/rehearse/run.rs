//! Rehearses a copy: walks the sources, and reports what the copy would do with each entry.
//!
//! The order is that of a copy with one worker, because the order determines which name of a file
//! the copy writes and which names it links, and which of two operands overwrites the other.

use std::cell::OnceCell;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use haul_sys::Errno;
use haul_sys::fs::{DirectoryBuffer, Follow, Kind, for_each_entry, fstat, statat, statat_follow};

use super::foresee::Foreseen;
use super::imagined::Imagined;
use super::place::{Place, Waiting};
use super::told::{Audience, Intent, Step};
use crate::apply::existing::referent;
use crate::decide::{
    Action, Decision, Facts, LinkText, Nesting, Role, Seen, Source, Taken, TargetName, classify,
    creation_call, errno_of_refusal, follows, is_entered, is_tracked,
};
use crate::error::{Failure, Severity, What};
use crate::plan::Plan;
use crate::preflight::Needs;
use crate::request::{Dereference, Make, Order, Policy, Request};
use crate::walk::node::identity;
use crate::walk::path::{is_here, operand_of_path};
use haul_tree::Operand;

/// Buffer size in bytes for one call that reads a directory.
const BUFFER_BYTES: usize = 64 << 10;

/// Directory, or list of operands, of which the rehearsal has processed some entries.
struct Level {
    place: Rc<Place>,
    /// Remaining entries, in reverse order.
    left: Vec<Operand>,
}

/// Work on the stack.
enum Job {
    /// Directory that the rehearsal has not read yet.
    Enter(Waiting),
    /// Directory of which the rehearsal has processed some entries.
    Continue(Level),
}

struct Rehearsal<'r> {
    policy: &'r Policy,
    audience: &'r mut dyn Audience,
    needs: Needs,
    stack: Vec<Job>,
    order: Order,
    imagined: Imagined,
}

/// Rehearses a copy, and returns the resources that it would need. Writes nothing. Blocks until the
/// rehearsal is complete or `stop` is set.
pub fn rehearse(
    request: &Request,
    audience: &mut dyn Audience,
    stop: &AtomicBool,
) -> Result<Needs, Failure> {
    let plan = Plan::resolve(request)?;
    let imagined = Imagined::new(&plan);
    let Plan { operands, source, target, target_name, order, backs_itself_up, .. } = plan;
    let mut policy = request.policy.clone();
    if backs_itself_up {
        policy.backup = None;
    }
    let mut needs = Needs::default();
    needs.measure_target(target.as_fd(), &request.target);
    let mut rehearsal =
        Rehearsal { policy: &policy, audience, needs, stack: Vec::new(), order, imagined };
    let target_dev = fstat(&target).map_or(0, |stat| stat.dev);
    let top = Rc::new(Place {
        parent: None,
        source,
        target_dev,
        target: Some(target),
        source_id: (0, 0),
        source_path: Vec::new(),
        target_path: target_name.to_bytes().to_vec(),
        lists_operands: true,
        root_dev: 0,
        writable: OnceCell::new(),
    });
    let left = operands.into_iter().rev().collect();
    rehearsal.stack.push(Job::Continue(Level { place: top, left }));
    rehearsal.walk(stop);
    Ok(rehearsal.needs)
}

impl Rehearsal<'_> {
    fn walk(&mut self, stop: &AtomicBool) {
        while let Some(job) = self.stack.pop() {
            let level = match job {
                Job::Enter(waiting) => self.enter(&waiting),
                Job::Continue(level) => Some(level),
            };
            if let Some(level) = level {
                self.entries(level, stop);
            }
            if stop.load(Ordering::Relaxed) {
                return;
            }
        }
    }

    /// Rehearses the entries of a directory. If the copy lists its actions, the entries of a
    /// directory follow its name immediately; otherwise the entries of all its subdirectories
    /// follow, the last subdirectory first.
    fn entries(&mut self, mut level: Level, stop: &AtomicBool) {
        let first_child = self.stack.len();
        let place = Rc::clone(&level.place);
        while let Some(operand) = level.left.pop()
            && !stop.load(Ordering::Relaxed)
        {
            self.entry(&place, operand);
            if self.order == Order::Listed && self.stack.len() > first_child {
                self.stack.insert(first_child, Job::Continue(level));
                return;
            }
        }
    }

    /// Reads a directory, and returns its entries.
    fn enter(&mut self, waiting: &Waiting) -> Option<Level> {
        let place = match waiting.open() {
            Ok(place) => place,
            Err((what, errno)) => {
                self.fail(&waiting.parent, &waiting.operand, what, Some(errno));
                return None;
            }
        };
        let left = match &waiting.operand.rest {
            // No other entry of a leading directory is wanted.
            Some(rest) if rest.is_empty() => return None,
            Some(rest) => vec![operand_of_path(rest)],
            None if !is_entered(waiting.dev, waiting.root_dev, self.policy) => return None,
            None => self.read(&place),
        };
        if waiting.operand.rest.is_none() {
            for _ in 0..self.imagined.roots_in(place.source_id) {
                self.fail_operand(&place, What::IntoItself);
            }
        }
        Some(Level { place: Rc::new(place), left })
    }

    /// Reads a directory, in the reverse order of the copy: by inode, and names of one file in
    /// directory order.
    fn read(&mut self, place: &Place) -> Vec<Operand> {
        let mut names = Vec::new();
        let mut buffer = DirectoryBuffer::new(BUFFER_BYTES);
        loop {
            let answer = for_each_entry(&place.source, &mut buffer, |entry| {
                names.push((entry.ino, entry.name.to_owned()));
                ControlFlow::Continue(())
            });
            match answer {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    self.fail_place(place, What::ReadDirectory, error.errno);
                    break;
                }
            }
        }
        names.sort_by_key(|(ino, _)| *ino);
        names.into_iter().rev().map(|(_, name)| Operand::whole(name.clone(), name)).collect()
    }

    /// Reports what the copy would do with an entry, and queues a directory that the copy would
    /// enter.
    fn entry(&mut self, place: &Rc<Place>, operand: Operand) {
        let role = place.role(&operand);
        let link = match statat(&place.source, &operand.source) {
            Ok(link) => link,
            Err(error) => return self.fail(place, &operand, What::Stat, Some(error.errno)),
        };
        let stat = if link.kind() == Kind::Symlink && follows(role, self.policy) == Follow::Yes {
            match statat_follow(&place.source, &operand.source) {
                Ok(stat) => stat,
                Err(error) => return self.fail(place, &operand, What::Stat, Some(error.errno)),
            }
        } else {
            link
        };
        self.needs.see_name(operand.target.to_bytes().len());
        let mut source = Source::new((&stat, &link), role, place.root_dev);
        self.relate(place, &operand, &mut source);
        let wanted = classify(&Facts { source, target: TargetName::Unseen }, self.policy);
        if wanted.action != Action::Look {
            return self.conclude(place, operand, &source, (wanted, None));
        }
        source.seen = self.imagined.seen(&source, self.policy);
        source.followed = referent(place.source_of(&operand), &link);
        if stat.nlink > 1 && stat.kind() == Kind::Regular && !is_tracked(role, &stat, self.policy) {
            self.needs.see_split(identity(&stat), &stat);
        }
        let taken = match self.imagined.taken(place, &operand, &source, self.policy) {
            Ok(taken) => taken,
            Err(error) => {
                return self.fail(place, &operand, What::StatTarget, Some(error.errno));
            }
        };
        let target = taken.as_ref().map_or(TargetName::Free, TargetName::Taken);
        let decision = classify(&Facts { source, target }, self.policy);
        self.conclude(place, operand, &source, (decision, taken.as_ref()));
    }

    /// Determines the relation of an entry to what the copy would have made by now.
    fn relate(&mut self, place: &Place, operand: &Operand, source: &mut Source<'_>) {
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
        } else if self.policy.dereference == Dereference::Always && place.is_below(id) {
            // A tree contains itself only through links.
            source.nesting = Nesting::OwnAncestor;
        }
    }

    /// Reports the decision, and the failures that the copy would meet when it acts on the
    /// decision.
    fn conclude(
        &mut self,
        place: &Rc<Place>,
        operand: Operand,
        source: &Source<'_>,
        (decision, taken): (Decision, Option<&Taken>),
    ) {
        let Decision { action, ask } = decision;
        let intent = match action {
            Action::Refuse(What::IntoItself) => return self.fail_operand(place, What::IntoItself),
            Action::Refuse(what) => {
                return self.fail(place, &operand, what, errno_of_refusal(what));
            }
            Action::Collide => {
                let what = creation_call(source.stat.kind(), source.seen, self.policy);
                return self.fail(place, &operand, what, Some(Errno::EXIST));
            }
            Action::Skip(reason) => Intent::Skip(reason),
            _ if ask => Intent::Ask,
            _ if source.seen == Seen::AsLink => Intent::Link,
            Action::Merge => Intent::Merge,
            Action::Overwrite => Intent::Overwrite,
            Action::Replace => Intent::Replace,
            Action::BackUp => Intent::BackUp,
            Action::Create | Action::Look => Intent::Create,
        };
        let foreseen = Foreseen { place, operand: &operand, source, action, taken };
        if let Err((what, errno)) = foreseen.check(intent, self.policy) {
            return self.fail(place, &operand, what, Some(errno));
        }
        self.imagined.note((place, &operand), source, (action, taken), self.policy);
        self.announce(place, operand, source, (intent, taken));
    }

    fn announce(
        &mut self,
        place: &Rc<Place>,
        operand: Operand,
        source: &Source<'_>,
        (intent, taken): (Intent, Option<&Taken>),
    ) {
        let stat = source.stat;
        if operand.rest.is_none() || intent == Intent::Create {
            self.audience.step(&Step {
                intent,
                kind: stat.kind(),
                bytes: if stat.kind() == Kind::Regular { stat.size } else { 0 },
                source: place.path_of_source(&operand),
                target: place.path_of_target(&operand),
            });
        }
        if !matches!(intent, Intent::Skip(_) | Intent::Link) {
            let old = taken.and_then(Taken::reached).filter(|_| intent == Intent::Overwrite);
            self.needs.add(stat, intent, old.as_ref(), self.policy);
        }
        let is_entered = matches!(intent, Intent::Create | Intent::Merge);
        if source.is_directory() && is_entered {
            self.stack.push(Job::Enter(Waiting {
                parent: Rc::clone(place),
                id: identity(stat),
                dev: stat.dev,
                follows: follows(source.role, self.policy),
                root_dev: if place.lists_operands { stat.dev } else { place.root_dev },
                merges: intent == Intent::Merge && !taken.is_some_and(Imagined::is_imagined),
                operand,
            }));
        }
    }

    fn fail(&mut self, place: &Place, operand: &Operand, what: What, errno: Option<Errno>) {
        let (source, target) = (place.path_of_source(operand), place.path_of_target(operand));
        self.report(&Failure { what, source, target, errno, severity: Severity::Failure });
    }

    /// Reports a failure of the directory itself.
    fn fail_place(&mut self, place: &Place, what: What, errno: Errno) {
        let (source, target) = (place.source_path.clone(), place.target_path.clone());
        let severity = Severity::Failure;
        self.report(&Failure { what, source, target, errno: Some(errno), severity });
    }

    /// Reports a failure of the operand that a directory is below.
    fn fail_operand(&mut self, place: &Place, what: What) {
        let mut at = place;
        while let Some(parent) = at.parent.as_deref().filter(|parent| !parent.lists_operands) {
            at = parent;
        }
        let (source, target) = (at.source_path.clone(), at.target_path.clone());
        let severity = Severity::Failure;
        self.report(&Failure { what, source, target, errno: None, severity });
    }

    fn report(&mut self, failure: &Failure) {
        self.needs.failures += 1;
        self.audience.failed(failure);
    }
}
