//! Progress events of a session. The library itself prints nothing.

use std::time::Duration;

use super::results::Fault;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event<'a> {
    /// A case begins.
    Case {
        /// Its number, from 1.
        number: usize,
        /// Their total number.
        count: usize,
        /// The scenario.
        scenario: &'a str,
        /// The requested workspace.
        ground: &'a str,
        /// The state of the cache: `warm` or `cold`.
        cache: &'a str,
    },
    /// The session finds out how long it takes.
    Estimating,
    /// How long the session takes from here, if nothing of the machine changes.
    Estimated(Duration),
    /// The session creates the workspace of the case.
    Preparing,
    /// A run begins.
    Run {
        /// The round, from 1; 0 while warming up.
        round: u32,
        /// Their total number.
        rounds: u32,
        /// The tool.
        tool: &'a str,
        /// Estimated remaining time of the case.
        left: Option<Duration>,
    },
    /// The system calls of a tool are being counted.
    Counting {
        /// The tool.
        tool: &'a str,
    },
    /// A tool failed and is excluded.
    Fault {
        /// The tool.
        tool: &'a str,
        /// Why.
        fault: &'a Fault,
    },
    /// A warning that applies to the figures.
    Warning(&'a str),
}

/// Receives events, on the thread of the session.
pub trait Monitor: Send {
    /// Called before each step. Should return quickly: no run is in progress, but the session
    /// waits.
    fn event(&mut self, event: Event<'_>);
}

/// A monitor that ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Monitor for Quiet {
    fn event(&mut self, _event: Event<'_>) {}
}
