//! Failures, as data.
//!
//! A comparison that skipped unreadable entries could report trees as equal that it has not read.
//! Every failure is therefore a value that reaches the caller, and none stops the work on other
//! entries.

use std::fmt;
use std::io;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::text::RawText;

/// The action that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Opening an entry.
    Open,
    /// Reading an entry's attributes.
    Stat,
    /// Listing a directory.
    List,
    /// Reading a file's bytes.
    Read,
    /// Reading a symbolic link's text.
    ReadLink,
    /// Reading extended attributes.
    ReadXattrs,
    /// Reading flags, as lsattr(1) does.
    ReadFlags,
    /// Reading extended attributes by a path, because /proc is not mounted.
    ReadXattrsByPath,
    /// Finding the data segments of a file.
    FindData,
    /// Returning from a directory to its parent. The rest of the work above it is lost: a directory
    /// was moved during the walk.
    Return,
    /// Creating an entry.
    Create,
    /// Writing a file's bytes.
    Write,
    /// Setting an attribute.
    SetAttribute,
    /// Removing an entry.
    Remove,
    /// Verifying that a file has not changed while it was read.
    HoldStill,
    /// Entering a directory that is a mount point, to remove its contents.
    EnterMount,
}

impl Action {
    /// Returns the permanent word for the action, which programs may compare.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Open => "Open",
            Self::Stat => "Stat",
            Self::List => "ReadDirectory",
            Self::Read => "Read",
            Self::ReadLink => "ReadLink",
            Self::ReadXattrs => "ReadXattrs",
            Self::ReadFlags => "ReadFlags",
            Self::ReadXattrsByPath => "ReadXattrsByPath",
            Self::FindData => "FindData",
            Self::Return => "Return",
            Self::Create => "Create",
            Self::Write => "Write",
            Self::SetAttribute => "SetAttribute",
            Self::Remove => "Remove",
            Self::HoldStill => "Changed",
            Self::EnterMount => "EnterMount",
        }
    }

    /// Returns a phrase that follows "cannot".
    #[must_use]
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Stat => "read the attributes",
            Self::List => "list the directory",
            Self::Read => "read",
            Self::ReadLink => "read the link",
            Self::ReadXattrs => "read the extended attributes",
            Self::ReadFlags => "read the flags",
            Self::ReadXattrsByPath => "read the extended attributes without /proc",
            Self::FindData => "find the data segments",
            Self::Return => "return to the parent directory",
            Self::Create => "create",
            Self::Write => "write",
            Self::SetAttribute => "set an attribute",
            Self::Remove => "remove",
            Self::HoldStill => "compare it, since it changed meanwhile",
            Self::EnterMount => "remove what is mounted there",
        }
    }
}

/// One failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The entry, relative to the tree's root; empty for the root itself.
    pub path: RawText,
    /// The action.
    pub action: Action,
    /// The kernel's error number.
    pub errno: i32,
}

impl Failure {
    pub(crate) fn new(path: &[u8], action: Action, errno: Errno) -> Self {
        Self { path: path.into(), action, errno: errno.raw_os_error() }
    }

    /// Returns the same failure with a path that begins with the tree's root, as the caller gave
    /// it.
    #[must_use]
    pub fn under(&self, root: &RawText) -> Self {
        let mut path = root.0.clone();
        if !path.is_empty() && !path.ends_with(b"/") && !self.path.0.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(self.path.as_bytes());
        Self { path: path.into(), ..self.clone() }
    }

    /// Returns the same failure as a standard I/O error, for example for its kind.
    #[must_use]
    pub fn to_io_error(&self) -> io::Error {
        io::Error::from_raw_os_error(self.errno)
    }
}

/// Shows one escaped line without an end of line: `a/b: cannot open: Permission denied (os
/// error 13)`.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = shown(&self.path);
        write!(f, "{path}: cannot {}: {}", self.action.phrase(), self.to_io_error())
    }
}

impl std::error::Error for Failure {}

/// Returns the escaped form of a path below a root; the root itself is `.`.
pub(crate) fn shown(path: &RawText) -> String {
    if path.0.is_empty() { ".".to_owned() } else { path.to_string() }
}

/// An action and the errno that ended it, before the path is known.
pub(crate) type Step<T> = Result<T, (Action, Errno)>;

/// Adds the action to a result that has only an errno.
pub(crate) trait During<T> {
    fn during(self, action: Action) -> Step<T>;
}

impl<T> During<T> for rustix::io::Result<T> {
    fn during(self, action: Action) -> Step<T> {
        self.map_err(|errno| (action, errno))
    }
}
