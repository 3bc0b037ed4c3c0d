//! An error of a command: what failed, and hints for the user.
//!
//! One type is enough, because no code reacts to an error here; a person reads it. A hint is separate
//! from the failure, so that a caller that knows a remedy can add it.

use std::fmt;

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// What failed, in a sentence without a full stop, and what to try.
#[derive(Debug)]
pub(crate) struct Error {
    what: String,
    hints: Vec<String>,
}

impl Error {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hints: Vec::new() }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what)?;
        self.hints.iter().try_for_each(|hint| write!(f, "\n  hint: {hint}"))
    }
}

/// Names the action and the thing when a call of the standard library fails.
pub(crate) trait Context<T> {
    /// Describes the failed action as "cannot ACTION THING: cause".
    fn context(self, action: &str, thing: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn context(self, action: &str, thing: impl fmt::Display) -> Result<T> {
        self.map_err(|cause| Error::new(format!("cannot {action} {thing}: {cause}")))
    }
}
