//! The limits of a measured command, and why one ended early.

use std::time::Duration;

/// Conditions that end a command early.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// After this long it is killed.
    pub(crate) time: Duration,
}

/// Why a command did not end by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The benchmark was interrupted.
    Interrupted,
    /// It took too long.
    TimedOut,
}
