//! What could not be done, as data.
//!
//! An oracle that skips what it cannot read would say "equal" about trees it has not seen. Every
//! failure is therefore a value that reaches the caller, and none stops the work on other
//! entries.

use std::fmt;
use std::io;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::text::RawText;

/// Says what was being done when the kernel refused.
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
    /// Asking where a file's data is.
    FindData,
    /// Going back from a directory to its parent. What was left to do above it is lost: a
    /// directory was moved while it was being walked.
    Return,
    /// Creating an entry.
    Create,
    /// Writing a file's bytes.
    Write,
    /// Setting an attribute.
    SetAttribute,
    /// Removing an entry.
    Remove,
    /// Finding a file at the end of reading it as it was at the beginning.
    HoldStill,
    /// Entering a directory on which something is mounted, to remove what is in it.
    EnterMount,
}

impl Action {
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

/// Describes one thing that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The entry, relative to the tree's root; empty for the root itself.
    pub path: RawText,
    /// What was being done.
    pub action: Action,
    /// The kernel's error number.
    pub errno: i32,
}

impl Failure {
    pub(crate) fn new(path: &[u8], action: Action, errno: Errno) -> Self {
        Self { path: path.into(), action, errno: errno.raw_os_error() }
    }

    /// Returns the same failure with a path that begins with the tree's root, as it was given.
    #[must_use]
    pub fn under(&self, root: &RawText) -> Self {
        let mut path = root.0.clone();
        if !path.is_empty() && !path.ends_with(b"/") && !self.path.0.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(self.path.as_bytes());
        Self { path: path.into(), ..self.clone() }
    }

    /// Returns the same failure as a standard error, to look at its kind.
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

/// Names an action together with the errno that ended it, before the path is known.
pub(crate) type Step<T> = Result<T, (Action, Errno)>;

/// Names the action of a result that only knows its errno.
pub(crate) trait During<T> {
    fn during(self, action: Action) -> Step<T>;
}

impl<T> During<T> for rustix::io::Result<T> {
    fn during(self, action: Action) -> Step<T> {
        self.map_err(|errno| (action, errno))
    }
}
