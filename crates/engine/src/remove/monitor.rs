//! Interface to the caller: the reports of a removal and its questions to the user.

use std::ffi::CStr;
use std::os::fd::BorrowedFd;

use haul_sys::Errno;
use haul_sys::fs::{Kind, Stat};

use super::request::Protection;

/// Action that failed, or reason why an entry was not removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum What {
    /// Removing the entry, or examining it before.
    Remove,
    /// Reading a directory.
    ReadDirectory,
    /// The operand ends in `.` or `..`.
    Dots,
    /// The operand is the root directory.
    Root,
    /// The entry is on another file system than its operand.
    OtherDevice,
    /// The operand is on another file system than its parent.
    MountPoint,
    /// Examining the parent directory of an operand.
    StatParent,
    /// The entry changed, so it is not the one that was to be removed.
    Changed,
}

/// A failure of a removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Failed action.
    pub what: What,
    /// Path for messages, as the user would type it.
    pub path: Vec<u8>,
    /// Errno, if a call failed.
    pub errno: Option<Errno>,
}

/// An entry that was removed, or would be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Kind of the entry; [`Kind::Unknown`] if the removal did not need it.
    pub kind: Kind,
    /// Path for messages.
    pub path: Vec<u8>,
}

/// Subject of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptReason {
    /// Descending into a directory that is not empty.
    Descend,
    /// Removing a directory that cannot be read.
    TryInaccessible,
    /// Removing an entry of this kind and size.
    Remove {
        /// Kind of the entry.
        kind: Kind,
        /// Size in bytes.
        size: u64,
    },
}

/// A question for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Path for messages.
    pub path: Vec<u8>,
    /// Subject of the question.
    pub reason: PromptReason,
    /// Whether the entry is write-protected.
    pub protection: Protection,
}

/// An entry that is about to be removed.
#[derive(Clone, Copy)]
pub struct Candidate<'a> {
    /// The directory that contains the entry.
    pub directory: BorrowedFd<'a>,
    /// Name of the entry in that directory.
    pub name: &'a CStr,
    /// Present state of the entry itself; a symbolic link is not followed.
    pub stat: &'a Stat,
    /// Function that builds the path, as the user would type it.
    pub path: &'a dyn Fn() -> Vec<u8>,
}

/// Receiver of the reports of a removal. Any worker may call it; questions come one at a time.
pub trait Monitor: Sync {
    /// Receives a failure. Called once for each.
    fn failed(&self, failure: &Failure);

    /// Returns whether the run should call [`Monitor::removed`]; building paths takes time.
    fn wants_entries(&self) -> bool {
        false
    }

    /// Receives an entry that was removed.
    fn removed(&self, _removed: &Removed) {}

    /// Decides whether an entry is removed. Called by any worker, and only if the policy requires
    /// approval.
    fn approves(&self, _candidate: &Candidate<'_>) -> bool {
        true
    }

    /// Receives the states of a file with several names before and after the removal of one name.
    /// Called only if the policy requires approval.
    fn unlinked(&self, _before: &Stat, _after: &Stat) {}

    /// Asks the user; `true` means yes. Blocks until there is an answer.
    fn ask(&self, _question: &Question) -> bool {
        false
    }
}
