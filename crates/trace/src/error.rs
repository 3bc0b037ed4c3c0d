//! Errors of tracing.

use std::fmt;

use haul_sys::CallError;

/// Why a trace could not be made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceError {
    /// The command could not be started; `ENOENT` and `EACCES` are a shell's 127 and 126.
    Spawn(CallError),
    /// The process does not exist, or this user may not trace it.
    Attach(CallError),
    /// The requested backend cannot run here, with the reason.
    Unavailable(String),
    /// The kernel refused a call that tracing needs.
    Kernel(CallError),
    /// A name in the filter is neither a system call nor, as `io_uring:NAME`, an operation.
    UnknownCall(String),
    /// An argument of the command contains a NUL byte.
    NulInCommand,
    /// The process has reached its limit of open files.
    TooManyFiles,
    /// A thread of the tracer ended without a result.
    TracerDied,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Spawn(error) => write!(f, "cannot run the command: {}", error.text()),
            TraceError::Attach(error) => write!(f, "cannot attach: {}", error.text()),
            TraceError::Unavailable(reason) => write!(f, "cannot trace this way: {reason}"),
            TraceError::Kernel(error) => write!(f, "cannot trace: {error}"),
            TraceError::UnknownCall(name) => write!(f, "no system call is named '{name}'"),
            TraceError::NulInCommand => f.write_str("the command contains a NUL byte"),
            TraceError::TooManyFiles => f.write_str("too many open files"),
            TraceError::TracerDied => f.write_str("the tracing thread ended without a result"),
        }
    }
}

impl std::error::Error for TraceError {}
