//! Interface to a tracer for counting system calls.
//!
//! Counting slows the tool down, so each tool has one separate run for it, which is not timed.
//! Without a counter the column stays empty; nothing is estimated.

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
    /// Runs `command` and returns the counts.
    ///
    /// # Errors
    ///
    /// The command cannot be traced; the text gives the reason.
    fn count(&mut self, command: &Command) -> Result<Calls, String>;
}
