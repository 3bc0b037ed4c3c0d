//! A run: what all its workers share.

use std::ffi::CStr;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use haul_sys::Errno;
use haul_sys::fs::{Kind, Stat};

use super::delete_profile::DeleteProfiles;
use super::monitor::{Candidate, Failure, Monitor, PromptReason, Question, Removed, What};
use super::node::{Node, OpenDirectories, keep, path_of};
use super::pace::Throttle;
use super::request::{Approval, Missing, Policy, Protection};
use crate::monitor::Control;
use haul_tree::Identity;

/// What all workers of a run share.
pub(super) struct Run<'r> {
    pub(super) policy: &'r Policy,
    pub(super) monitor: &'r dyn Monitor,
    pub(super) control: &'r Control<'r>,
    pub(super) cache: OpenDirectories,
    pub(super) delete_profiles: DeleteProfiles,
    pub(super) throttle: Throttle,
    /// The root directory, where it is guarded.
    pub(super) root: Option<Identity>,
    /// Held while a person is asked.
    pub(super) asking: Mutex<()>,
    /// Whether entries are told to the monitor.
    pub(super) tells_entries: bool,
}

impl Run<'_> {
    /// Tells whether the run is to end.
    pub(super) fn stopped(&self) -> bool {
        self.control.stop.load(Ordering::Relaxed)
    }

    /// Asks the monitor about an entry, where the policy wants that; reports one that has to stay.
    pub(super) fn approves(
        &self,
        node: &Node,
        directory: BorrowedFd<'_>,
        (name, stat): (&CStr, &Stat),
    ) -> bool {
        if self.policy.approval == Approval::NotNeeded {
            return true;
        }
        let path = || path_of(node, name);
        let approved = self.monitor.approves(&Candidate { directory, name, stat, path: &path });
        if !approved {
            self.fail(node, name, What::Changed, None);
        }
        approved
    }

    /// Tells of an entry that is gone.
    pub(super) fn tell(&self, node: &Node, name: &CStr, kind: Kind) {
        if self.tells_entries {
            self.monitor.removed(&Removed { kind, path: path_of(node, name) });
        }
    }

    /// Reports something that went wrong with an entry, once, and keeps the directories above.
    pub(super) fn fail(&self, node: &Node, name: &CStr, what: What, errno: Option<Errno>) {
        keep(node);
        self.report(what, path_of(node, name), errno);
    }

    /// Reports something that went wrong.
    pub(super) fn report(&self, what: What, path: Vec<u8>, errno: Option<Errno>) {
        self.control.failures.fetch_add(1, Ordering::Relaxed);
        self.monitor.failed(&Failure { what, path, errno });
    }

    /// Tells whether an errno says that there is nothing to remove, and that is all right.
    pub(super) fn is_missing(&self, errno: Errno) -> bool {
        self.policy.missing == Missing::Ignore
            && matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::INVAL | Errno::ILSEQ)
    }

    /// Asks a person, one question at a time. Nobody is asked when the run is to end.
    pub(super) fn ask(
        &self,
        node: &Node,
        name: &CStr,
        reason: PromptReason,
        protection: Protection,
    ) -> bool {
        let _one_at_a_time = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        let question = Question { path: path_of(node, name), reason, protection };
        !self.stopped() && self.monitor.ask(&question) && !self.stopped()
    }
}
