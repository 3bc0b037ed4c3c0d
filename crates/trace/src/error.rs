//! Why there is no report.

use std::fmt;

use haul_sys::CallError;

/// Why a trace could not be made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceError {
    /// The command could not be started; `ENOENT` and `EACCES` are a shell's 127 and 126.
    Spawn(CallError),
    /// There is no such process, or it is not ours to trace.
    Attach(CallError),
    /// The backend that was asked for cannot run here, and why.
    Unavailable(String),
    /// The kernel refused a call that tracing needs.
    Kernel(CallError),
    /// A name in the filter is neither a system call nor, as `io_uring:NAME`, an operation.
    UnknownCall(String),
    /// An argument of the command contains a NUL byte.
    NulInCommand,
    /// The process has as many open files as it may.
    TooManyFiles,
    /// A thread of the tracer's ended without an answer.
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
            TraceError::TracerDied => f.write_str("the tracing thread ended without an answer"),
        }
    }
}

impl std::error::Error for TraceError {}
