//! Exit statuses of gzip, and how those of several files make one.

use std::process::ExitCode;

/// What became of a file, or of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Code {
    /// Exit status 0.
    #[default]
    Success,
    /// Exit status 2: something was left out or ignored.
    Warning,
    /// Exit status 1.
    Error,
}

impl Code {
    /// Returns the worse of two: an error is never reduced to a warning.
    pub(super) fn and(self, other: Code) -> Code {
        self.max(other)
    }

    pub(super) fn exit(self) -> ExitCode {
        ExitCode::from(match self {
            Code::Success => 0,
            Code::Warning => 2,
            Code::Error => 1,
        })
    }
}
