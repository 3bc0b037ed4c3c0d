//! How a session tells what it is doing. The library itself prints nothing.

use std::time::Duration;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event<'a> {
    /// A case begins.
    Case {
        /// Which one, from 1.
        number: usize,
        /// How many there are.
        count: usize,
        /// The scenario.
        scenario: &'a str,
        /// The ground, as it was asked for.
        ground: &'a str,
        /// The state of the cache: `warm` or `cold`.
        cache: &'a str,
    },
    /// The ground of the case is being made.
    Preparing,
    /// A run begins.
    Run {
        /// The round, from 1; 0 while warming up.
        round: u32,
        /// How many there are.
        rounds: u32,
        /// The tool.
        tool: &'a str,
        /// How long the case will take from here, as far as can be told.
        left: Option<Duration>,
    },
    /// The system calls of a tool are being counted.
    Counting {
        /// The tool.
        tool: &'a str,
    },
    /// A tool failed and is out.
    Fault {
        /// The tool.
        tool: &'a str,
        /// Why.
        message: &'a str,
    },
    /// Something that a reader of the figures must know.
    Warning(&'a str),
}

/// Hears what happens, on the thread of the session.
pub trait Monitor: Send {
    /// Is called before each step; should return quickly, since no run is going on meanwhile, but
    /// the time is the user's.
    fn event(&mut self, event: Event<'_>);
}

/// Hears and says nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Monitor for Quiet {
    fn event(&mut self, _event: Event<'_>) {}
}
