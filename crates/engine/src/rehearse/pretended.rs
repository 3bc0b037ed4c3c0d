//! Removals that a synchronisation would carry out.

use std::os::fd::AsFd as _;
use std::sync::atomic::AtomicBool;

use haul_sys::Errno;
use haul_sys::sync::Mutex;

use super::foresee::Foreseen;
use super::place::{Handles, Node, path_of};
use super::run::State;
use super::told::{Intent, Step};
use crate::copy::node::Side;
use crate::data::error::{Failure, What};
use crate::data::monitor::{Control, Detail, Monitor, Report};
use crate::data::request::{Borders, Changes};
use crate::decide::{Role, selects_as};
use crate::remove::Mode;
use crate::remove::below::{Below, Removed, remove_below};
use crate::remove::limit::Counts;
use crate::sync::extraneous::{Directories, TargetWay, extraneous};
use crate::sync::shared::Doomed;

/// Steps and failures of a removal, in their order.
#[derive(Default)]
pub(super) struct Pretended {
    pub(super) steps: Mutex<Vec<Step>>,
    pub(super) failures: Mutex<Vec<Failure>>,
}

impl Pretended {
    /// Finds out what a removal would remove, and whether that is everything. Fails if the directory cannot be described.
    pub(super) fn of(
        below: Below<'_>,
        stop: &AtomicBool,
    ) -> haul_sys::Result<(Pretended, Removed)> {
        let pretended = Pretended::default();
        let removed = remove_below(below, &pretended, &Control::new(stop))?;
        Ok((pretended, removed))
    }
}

impl Monitor for Pretended {
    fn report(&self, report: Report<'_>) {
        match report {
            Report::Failed(failure) => self.failures.lock().push(failure.clone()),
            Report::Entry(event) => self.steps.lock().push(Step {
                intent: Intent::Remove,
                kind: event.kind,
                bytes: 0,
                source: Vec::new(),
                target: event.source.clone(),
                decided_by: None,
                changes: Some(Changes::default()),
                linked_to: None,
            }),
            _ => {}
        }
    }

    fn wants(&self, detail: Detail) -> bool {
        detail == Detail::Entries
    }
}

impl State<'_> {
    /// Reports what the copy would remove from an existing directory before it copies into it. Returns whether the
    /// copy would enter the directory.
    pub(super) fn pretends_removal(&mut self, node: &Node, handles: &Handles) -> bool {
        let Some(synchronized) = self.synchronized else { return true };
        if node.target_way == TargetWay::Linked
            && let Some(target) = &handles.target
            && let Err(errno) = synchronized.demand_below(target)
        {
            self.fail_entered(node, What::OpenDirectory, Some(errno));
            return false;
        }
        let is_border = node.target_way == TargetWay::Mounted;
        let (Some(delete), Some(target)) = (synchronized.delete(), &handles.target) else {
            return true;
        };
        if let Some(Err(what)) = node.target_id.map(|id| synchronized.enter(id)) {
            self.fail_entered(node, what, None);
            return false;
        }
        if self.policy.borders == Borders::Stay && is_border {
            return true;
        }
        let directories = Directories {
            source: handles.source.as_fd(),
            target: target.as_fd(),
            within: &node.within,
            protected: &node.protected,
            follow: selects_as(Role::Inside, self.policy),
            is_operand: node.parent.as_ref().is_some_and(|parent| parent.lists_operands),
            way: node.target_way,
            prunes: synchronized.rules.prunes_empty,
            places: synchronized.places(),
        };
        match extraneous(directories, delete) {
            Ok(names) if names.is_empty() => {}
            Ok(names) => {
                let path = path_of(node, None, Side::Target);
                let directory = target.as_fd();
                let within = &node.protected;
                let counts = Counts::All;
                let doomed = Doomed { directory, path: &path, names: &names, within, counts };
                if let Err(errno) = self.pretend(doomed) {
                    self.fail_entered(node, What::StatTarget, Some(errno));
                }
            }
            Err((what, errno)) => self.fail_entered(node, what, errno),
        }
        true
    }

    /// Reports what the copy would remove with a directory that is in the place of another entry.
    pub(super) fn pretend_clearing(
        &mut self,
        entry: &Foreseen<'_>,
    ) -> Result<(), (What, Option<Errno>)> {
        let Foreseen { place, operand, .. } = *entry;
        let (Some(synchronized), Some(target)) = (self.synchronized, &place.handles.target) else {
            return Ok(());
        };
        place.target_way.demand_own()?;
        if !synchronized.rules.clears_directories {
            let empty = haul_tree::is_empty(target, &operand.target);
            return match empty {
                Ok(true) => Ok(()),
                Ok(false) => Err((What::OverDirectory, None)),
                Err(error) => Err((What::Remove, Some(error.errno))),
            };
        }
        // Rules see the path of an operand, not the directories that lead to it.
        if place.lists_operands && !place.protected.is_none() {
            return Err((What::OverDirectory, None));
        }
        let path = path_of(place.node, None, Side::Target);
        let names = [operand.target.clone()];
        let (directory, within) = (target.as_fd(), &place.protected);
        if haul_tree::is_empty(target, &operand.target).is_ok_and(|it| it) {
            return Ok(());
        }
        let removed = self
            .pretend(Doomed {
                directory,
                path: &path,
                names: &names,
                within,
                counts: Counts::Contents,
            })
            .map_err(|errno| (What::StatTarget, Some(errno)))?;
        if removed == Removed::All { Ok(()) } else { Err((What::OverDirectory, None)) }
    }

    /// Reports what a removal would remove, and returns whether that is everything.
    fn pretend(&mut self, doomed: Doomed<'_>) -> Result<Removed, Errno> {
        let below = self.synchronized.and_then(|of| of.below(doomed, Mode::Pretend));
        let Some(below) = below else { return Ok(Removed::NotAll) };
        let (pretended, removed) = Pretended::of(below, self.stop).map_err(|error| error.errno)?;
        for step in pretended.steps.into_inner() {
            self.audience.step(&step);
        }
        for failure in pretended.failures.into_inner() {
            self.needs.failures += 1;
            self.audience.failed(&failure);
        }
        Ok(removed)
    }
}
