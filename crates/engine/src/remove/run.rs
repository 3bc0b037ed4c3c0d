//! A run: what all its workers share.

use std::ffi::CStr;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use haul_sys::Errno;
use haul_sys::fs::{Kind, Stat};

use super::delete_profile::DeleteProfiles;
use super::handles::Cache;
use super::monitor::{Candidate, Failure, Monitor, PromptReason, Question, Removed, What};
use super::node::Node;
use super::pace::Throttle;
use super::request::{Approval, Missing, Policy, Protection};
use super::worker::{Job, Task};
use crate::monitor::Control;
use crate::request::Order;
use crate::schedule::pool::{Offer, Pool};
use crate::walk::node::Identity;

/// A directory that an idle worker can join.
#[derive(Clone)]
pub(super) struct Joinable(pub(super) Arc<Task>);

impl Offer for Joinable {
    fn is(&self, other: &Joinable) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn is_full(&self) -> bool {
        self.0.is_full()
    }

    fn join(&self) {
        self.0.join();
    }
}

/// How operands follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operands {
    /// Several at once.
    Together,
    /// One after another: one may lie in another, or somebody watches.
    OneByOne,
}

/// What all workers of a run share.
pub(super) struct Run<'r> {
    pub(super) policy: &'r Policy,
    pub(super) monitor: &'r dyn Monitor,
    pub(super) control: &'r Control<'r>,
    pub(super) pool: Pool<Job, Joinable>,
    /// Workers that keep the processors busy; further ones are for waiting.
    pub(super) jobs: usize,
    pub(super) cache: Cache,
    pub(super) delete_profiles: DeleteProfiles,
    pub(super) throttle: Throttle,
    pub(super) operands: Operands,
    /// The list of operands, to be gone on with.
    pub(super) list: OnceLock<Arc<Task>>,
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

    /// Tells whether entries are handled one after another.
    pub(super) fn is_listed(&self) -> bool {
        self.policy.order == Order::Listed
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
        let path = || node.path_of(name);
        let approved = self.monitor.approves(&Candidate { directory, name, stat, path: &path });
        if !approved {
            self.fail(node, name, What::Changed, None);
        }
        approved
    }

    /// Tells of an entry that is gone.
    pub(super) fn tell(&self, node: &Node, name: &CStr, kind: Kind) {
        if self.tells_entries {
            self.monitor.removed(&Removed { kind, path: node.path_of(name) });
        }
    }

    /// Reports something that went wrong with an entry, once, and keeps the directories above.
    pub(super) fn fail(&self, node: &Node, name: &CStr, what: What, errno: Option<Errno>) {
        node.keep();
        self.report(what, node.path_of(name), errno);
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
        let question = Question { path: node.path_of(name), reason, protection };
        !self.stopped() && self.monitor.ask(&question) && !self.stopped()
    }
}
