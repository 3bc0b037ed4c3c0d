//! What was moved of a file, by which method, and what was noticed meanwhile: the answer of a transfer.

use haul_sys::CallError;

use crate::cache::residency::Residency;
use crate::method::id::MethodId;
use crate::method::job::Change;
use crate::method::report::Report;
use crate::method::sides::Which;

/// What was moved, and by which method.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Bytes, without holes that were passed over.
    pub bytes: u64,
    /// Those of them that the target must have blocks for: all that were written. Zeros that were left out
    /// and blocks that are shared are not among them, nor are bytes that an earlier run moved.
    pub written_bytes: u64,
    /// The method that moved the last of them; `None` where there was nothing to move.
    pub method: Option<MethodId>,
    /// How holes and zeros were looked for.
    pub detection: Detection,
    /// What happened to the source meanwhile; never [`Change::Bytes`], which is an error.
    pub change: Change,
    /// What was cached, if that was asked for.
    pub residency: Option<Residency>,
    /// Why direct I/O was not possible, where it was asked for and this was not reported yet.
    pub not_direct: Option<NotDirect>,
    /// Why it was done so, if that was asked for.
    pub report: Option<Box<Report>>,
}

/// Why direct I/O was not possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotDirect {
    /// The side on which it was not.
    pub which: Which,
    /// The call that said so.
    pub cause: CallError,
}

/// How holes and zeros of a source were looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Detection {
    /// There was no need to, for blocks are shared or nothing was moved.
    #[default]
    Unknown,
    /// Not at all.
    No,
    /// Zeros, by reading.
    Zeros,
    /// Holes, by asking the file system.
    Holes,
    /// Both.
    HolesAndZeros,
}

impl Moved {
    /// Returns the name of the method that moved the bytes, or `none`.
    #[must_use]
    pub fn method_name(&self) -> &'static str {
        self.method.map_or("none", MethodId::name)
    }
}
