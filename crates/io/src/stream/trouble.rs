//! Why a stream ended before its end.

use haul_sys::CallError;

/// What went wrong in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A call failed.
    Call(CallError),
    /// The run was stopped.
    Stopped,
    /// A source ended before the end that it had when it was opened.
    Shrank,
}

impl From<CallError> for Trouble {
    fn from(error: CallError) -> Trouble {
        Trouble::Call(error)
    }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Trouble::Call(error) => f.write_str(&error.text()),
            Trouble::Stopped => f.write_str("stopped"),
            Trouble::Shrank => f.write_str("the file became shorter while it was read"),
        }
    }
}

impl std::error::Error for Trouble {}
