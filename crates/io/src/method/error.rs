//! Why bytes could not be moved.

use std::error::Error;
use std::fmt;

use haul_sys::{Call, CallError};

use crate::method::id::MethodId;

/// Why bytes could not be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataError {
    /// A call failed; its name tells whether the source or the target did.
    Call(CallError),
    /// The run was stopped.
    Stopped,
    /// No method took the range.
    NoProgress,
    /// The source ended before the size it had when it was opened, or changed while it was read.
    Changed,
    /// The method that was asked for cannot serve.
    Unfit {
        /// The method.
        method: MethodId,
        /// Why it cannot.
        why: &'static str,
    },
    /// The kernel refused the method that was asked for.
    Refused {
        /// The method.
        method: MethodId,
        /// What the kernel said.
        cause: CallError,
    },
}

impl DataError {
    /// Returns the failure by which bytes that counted as written may not be on storage, if it is one. The kernel
    /// reports it once for an open file.
    #[must_use]
    pub fn of_writeback(self) -> Option<CallError> {
        let is_flush =
            |call: Call| matches!(call, Call::SyncFileRange | Call::Fsync | Call::Fdatasync);
        match self {
            DataError::Call(error) if is_flush(error.call) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataError::Call(error) => write!(f, "{error}"),
            DataError::Stopped => f.write_str("stopped"),
            DataError::NoProgress => f.write_str("no method moved the bytes"),
            DataError::Changed => f.write_str("the file changed while it was read"),
            DataError::Unfit { method, why } => {
                write!(f, "the method {} cannot serve: {why}", method.name())
            }
            DataError::Refused { method, cause } => {
                write!(f, "the kernel refused the method {}: {cause}", method.name())
            }
        }
    }
}

impl Error for DataError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            DataError::Call(error) | DataError::Refused { cause: error, .. } => Some(error),
            DataError::Stopped
            | DataError::NoProgress
            | DataError::Changed
            | DataError::Unfit { .. } => None,
        }
    }
}

impl From<CallError> for DataError {
    fn from(error: CallError) -> DataError {
        DataError::Call(error)
    }
}
