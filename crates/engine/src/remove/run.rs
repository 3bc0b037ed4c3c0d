//! State that all workers of a removal share.

use haul_sys::sync::Mutex;
use std::collections::HashSet;
use std::ffi::CStr;
use std::sync::atomic::Ordering;

use haul_io::gentle::RunGovernor;
use haul_io::last_check::{LastNames, OtherName};
use haul_sys::Errno;
use haul_sys::fs::{Kind, Stat};

use super::aside::Aside;
use super::delete_profile::DeleteProfiles;
use super::node::{Entry, Node, OpenDirectories, keep, path_of};
use super::pace::Throttle;
use super::request::{Approval, Missing, Policy};
use crate::data::error::{Failure, Operation, Severity, What};
use crate::data::monitor::{
    Candidate, Control, Event, Monitor, Outcome, PromptReason, Proposal, Question, Report,
};
use crate::data::request::Selected;
use crate::data::selected;
use crate::names::by_identity::{Locks, identity};
use crate::names::path::beside;
use crate::peers::state::{Foreign, PeerState};
use crate::remove::limit::{Counts, Limit};
use haul_tree::Identity;

/// Number of locks on files: with many, workers that remove different files rarely wait for each other.
pub(super) const FILE_LOCKS: usize = 64;

/// State that all workers of a run share.
pub(super) struct Run<'r> {
    pub(super) policy: &'r Policy,
    /// Entries that are removed.
    pub(super) selection: Option<&'r Selected>,
    /// The files that operands may be, if not any.
    pub(super) only: Option<&'r HashSet<Identity>>,
    /// Directories that are not entered under any name.
    pub(super) kept: Option<&'r HashSet<Identity>>,
    /// What keeps the entries that are no directories, in place of their removal.
    pub(super) aside: Option<&'r dyn Aside>,
    /// Whether directories of the user that are read-only are emptied, too.
    pub(super) unlocks: bool,
    /// Limit on the number of removed entries.
    pub(super) limit: Option<&'r Limit>,
    /// Entries that are reported and counted.
    pub(super) counts: Counts,
    pub(super) monitor: &'r dyn Monitor,
    pub(super) control: &'r Control<'r>,
    pub(super) cache: OpenDirectories,
    pub(super) delete_profiles: DeleteProfiles,
    pub(super) throttle: Throttle,
    /// Governor of a gentle run in a process that is not gentle.
    pub(super) governor: Option<RunGovernor>,
    /// Identity of the root directory, if it is guarded.
    pub(super) root: Option<Identity>,
    /// Lock that a worker holds while it asks the user.
    pub(super) asking: Mutex<()>,
    /// Locks for files whose names are removed after approval, one at a time of each.
    pub(super) files: Locks,
    /// Names of files that are about to be removed after approval.
    pub(super) last_names: LastNames,
    /// State that the run shares with other processes, if several carry out the removal.
    pub(super) peers: Option<PeerState>,
    /// Whether the monitor receives entries.
    pub(super) tells_entries: bool,
}

impl Run<'_> {
    /// Returns whether the run has to end.
    pub(super) fn stopped(&self) -> bool {
        self.control.stop.load(Ordering::Relaxed)
    }

    /// Lets a worker of a gentle run rest, as long as the machine's state asks for.
    pub(super) fn rest(&self) {
        match &self.governor {
            Some(governor) => governor.rest(),
            None => haul_io::gentle::rest(),
        }
    }

    /// Returns whether one more entry may be removed; a directory above one that stays is kept.
    pub(super) fn may_remove(&self, parent: &Node) -> bool {
        let may = !self.is_counted(parent) || self.limit.is_none_or(Limit::take);
        if !may {
            keep(parent);
        }
        may
    }

    /// Returns whether the entries of a directory are reported and counted.
    pub(super) fn is_counted(&self, parent: &Node) -> bool {
        let is_top = parent.foreign == Foreign::Above;
        !(is_top && self.counts == Counts::Contents)
    }

    /// Returns whether an operand may be this file.
    pub(super) fn permits(&self, stat: &Stat) -> bool {
        self.only.is_none_or(|only| only.contains(&identity(stat)))
    }

    /// Asks the monitor about an entry, if the policy requires approval. Reports an entry that has
    /// to stay.
    pub(super) fn approves(&self, entry: Entry<'_>, stat: &Stat) -> bool {
        if self.policy.approval == Approval::NotNeeded {
            return true;
        }
        let Entry { parent, directory, name } = entry;
        let path = || path_of(parent, name);
        let candidate = Candidate { directory, name, stat, path: &path };
        let approved = self.monitor.agrees(Proposal::Remove(&candidate));
        if !approved {
            self.fail(parent, name, What::Changed, None);
        }
        approved
    }

    /// Returns whether sizes or times are limited, so that a directory from which nothing was removed stays.
    pub(super) fn has_limits(&self) -> bool {
        self.selection.is_some_and(|selected| selected.0.has_limits())
    }

    /// Returns whether a directory may have to stay although it is empty: nothing was removed from it, or it is
    /// not listed.
    pub(super) fn keeps_unread(&self) -> bool {
        self.selection.is_some_and(|selected| selected.0.has_limits() || selected.0.has_list())
    }

    /// Records an entry that was removed, and reports it.
    pub(super) fn tell(&self, node: &Node, name: &CStr, kind: Kind) {
        node.lost_entries.store(true, Ordering::Relaxed);
        if self.tells_entries {
            let event = Event {
                outcome: Outcome::Removed,
                kind,
                source: path_of(node, name),
                target: Vec::new(),
                backup: None,
                changes: None,
                linked_to: None,
            };
            self.monitor.report(Report::Entry(&event));
        }
    }

    /// Reports a failure that concerns an entry, once, and keeps the directories above it.
    pub(super) fn fail(&self, node: &Node, name: &CStr, what: What, errno: Option<Errno>) {
        keep(node);
        self.report(what, path_of(node, name), errno);
    }

    /// The same of an entry that the run does not enter, if it is a directory.
    pub(super) fn fail_unentered(
        &self,
        node: &Node,
        name: &CStr,
        what: What,
        errno: Option<Errno>,
    ) {
        selected::meet_below(&node.within, name);
        self.fail(node, name, what, errno);
    }

    /// Reports an entry that stays under another name, because its own one was taken meanwhile.
    pub(super) fn fail_kept(&self, entry: Entry<'_>, other: &OtherName) {
        keep(entry.parent);
        let path = path_of(entry.parent, entry.name);
        let target = beside(&path, &other.name);
        self.report_pair(What::KeptBeside, (path, target), Some(other.why.errno));
    }

    /// Reports a failure.
    pub(super) fn report(&self, what: What, path: Vec<u8>, errno: Option<Errno>) {
        self.report_pair(what, (path, Vec::new()), errno);
    }

    fn report_pair(&self, what: What, paths: (Vec<u8>, Vec<u8>), errno: Option<Errno>) {
        let (source, target) = paths;
        self.control.failures.fetch_add(1, Ordering::Relaxed);
        let (operation, severity) = (Operation::Remove, Severity::Failure);
        let failure = Failure { operation, what, source, target, errno, severity };
        self.monitor.report(Report::Failed(&failure));
    }

    /// Returns whether an errno means that the entry does not exist and the policy ignores that.
    pub(super) fn is_missing(&self, errno: Errno) -> bool {
        self.policy.missing == Missing::Ignore
            && matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::INVAL | Errno::ILSEQ)
    }

    /// Asks the user, one question at a time. Asks no question if the run has to end.
    pub(super) fn ask(&self, node: &Node, name: &CStr, reason: PromptReason) -> bool {
        let _one_at_a_time = self.asking.lock();
        let question = Question { path: path_of(node, name), reason };
        let asks = Proposal::Ask(&question);
        !self.stopped() && self.monitor.agrees(asks) && !self.stopped()
    }
}
