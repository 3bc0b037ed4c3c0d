//! Why a stream ended before its end.

use haul_sys::CallError;

/// What went wrong in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamError {
    /// A call failed.
    Call(CallError),
    /// The run was stopped.
    Stopped,
    /// A source ended before the end that it had when it was opened.
    Shrank,
}

impl From<CallError> for StreamError {
    fn from(error: CallError) -> StreamError {
        StreamError::Call(error)
    }
}

impl std::fmt::Display for StreamError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StreamError::Call(error) => f.write_str(&error.text()),
            StreamError::Stopped => f.write_str("stopped"),
            StreamError::Shrank => f.write_str("the file became shorter while it was read"),
        }
    }
}

impl std::error::Error for StreamError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StreamError::Call(error) => Some(error),
            StreamError::Stopped | StreamError::Shrank => None,
        }
    }
}
