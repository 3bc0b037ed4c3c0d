//! One entry that is copied again, which an earlier run has reported.

use std::ffi::CString;

/// Scope of an entry that is copied again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The entry with its content.
    All,
    /// The directory with its attributes, without its content.
    Alone,
}

/// One entry that is copied again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Again {
    /// Source path.
    pub source: CString,
    /// Target path; its directory must exist.
    pub target: CString,
    /// Scope of the copy.
    pub scope: Scope,
}
