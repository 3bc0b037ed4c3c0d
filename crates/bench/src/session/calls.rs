//! The seam for counting system calls: whoever can trace plugs in here.
//!
//! Counting disturbs what is counted, so it is done in one run of its own for each tool, which is
//! not timed. Without a counter the column stays empty; nothing is estimated.

use serde::{Deserialize, Serialize};

use crate::tool::Command;

/// How often a command and its children entered the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calls {
    /// All calls.
    pub total: u64,
    /// The most frequent ones by name, the most frequent first.
    pub frequent: Vec<(String, u64)>,
}

/// Runs a command to its end and counts its system calls.
pub trait CallCounter: Send {
    /// Runs `command` and returns the counts, or why they cannot be had.
    ///
    /// # Errors
    ///
    /// The command cannot be traced; the text says why.
    fn count(&mut self, command: &Command) -> Result<Calls, String>;
}
