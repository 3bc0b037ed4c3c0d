//! The seam outwards: what is told of a removal, and what a person is asked.

use std::ffi::CStr;
use std::os::fd::BorrowedFd;

use haul_sys::Errno;
use haul_sys::fs::{Kind, Stat};

use super::request::Protection;

/// What was being done when something failed, or why it was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum What {
    /// Removing, or looking at what was to be removed.
    Remove,
    /// Reading a directory.
    ReadDirectory,
    /// An operand that ends in `.` or `..`.
    Dots,
    /// It is the root directory.
    Root,
    /// It is on another file system than the operand that it lies below.
    OtherDevice,
    /// An operand that is on another file system than its parent.
    MountPoint,
    /// What an operand lies in cannot be looked at.
    StatParent,
    /// It changed, so it is not what was to be removed.
    Changed,
}

/// One thing that went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What was being done.
    pub what: What,
    /// The path for people, as they would type it.
    pub path: Vec<u8>,
    /// What the kernel said, if it was asked.
    pub errno: Option<Errno>,
}

/// Something that is gone, or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Its kind; [`Kind::Unknown`] where nobody had to know.
    pub kind: Kind,
    /// The path for people.
    pub path: Vec<u8>,
}

/// What a person is asked to allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptReason {
    /// Looking into a directory that is not empty.
    Descend,
    /// Trying to remove a directory that cannot be looked into.
    TryInaccessible,
    /// Removing something of this kind and size.
    Remove {
        /// Its kind.
        kind: Kind,
        /// Its size in bytes.
        size: u64,
    },
}

/// A question for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The path for people.
    pub path: Vec<u8>,
    /// What is to be allowed.
    pub reason: PromptReason,
    /// Whether we may not write to it.
    pub protection: Protection,
}

/// An entry that is about to be removed.
#[derive(Clone, Copy)]
pub struct Candidate<'a> {
    /// The directory that it is in.
    pub directory: BorrowedFd<'a>,
    /// Its name there.
    pub name: &'a CStr,
    /// What has that name now; a link is not followed.
    pub stat: &'a Stat,
    /// Builds its path, as a person would type it.
    pub path: &'a dyn Fn() -> Vec<u8>,
}

/// Hears what happens. Called by any worker; questions come one at a time.
pub trait Monitor: Sync {
    /// Hears of a failure. Called once for each.
    fn failed(&self, failure: &Failure);

    /// Tells whether [`Monitor::removed`] wants to be called, for building paths costs time.
    fn wants_entries(&self) -> bool {
        false
    }

    /// Hears of an entry that is gone.
    fn removed(&self, _removed: &Removed) {}

    /// Decides whether an entry goes. Only asked where the policy wants approval; by any worker.
    fn approves(&self, _candidate: &Candidate<'_>) -> bool {
        true
    }

    /// Hears that a name of a file with several names is gone, and how the file was described before
    /// and after that. Only called where the policy wants approval.
    fn unlinked(&self, _before: &Stat, _after: &Stat) {}

    /// Asks a person; `true` is yes. Blocks until there is an answer.
    fn ask(&self, _question: &Question) -> bool {
        false
    }
}
