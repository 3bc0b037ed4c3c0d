//! The interface of the schedule to the code that runs tools; tests use a mock.

use std::time::Duration;

use super::calls::{CallCounter, Calls};
use super::results::{Fault, Measurement};
use crate::error::Result;
use crate::tool::Tool;
use crate::workspace::GroundFacts;

/// How the result of a run is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Every byte, outside the timed part.
    Compare,
    /// Only the exit status.
    Status,
}

/// Outcome of a run.
#[derive(Clone, Debug)]
pub enum Attempt {
    /// Success.
    Measured(Box<Measurement>),
    /// The tool failed.
    Failed(Fault),
}

/// Runs tools in the workspace of one case. An error concerns the workspace, not a tool.
pub trait Runner {
    /// Makes what all runs start from.
    ///
    /// # Errors
    ///
    /// It cannot be created; [`Runner::finish`] is called nevertheless.
    fn prepare(&mut self) -> Result<()>;

    /// Runs a tool once on a fresh site, and removes the site.
    ///
    /// # Errors
    ///
    /// No fresh site can be created, or the session was interrupted.
    fn run(&mut self, tool: &Tool, check: Check) -> Result<Attempt>;

    /// Runs a tool once more under a counter of system calls; `None` if they cannot be counted.
    ///
    /// # Errors
    ///
    /// As [`Runner::run`].
    fn count(&mut self, tool: &Tool, counter: &mut dyn CallCounter) -> Result<Option<Calls>>;

    /// Returns how much time has passed since any moment, the same for each call.
    fn clock(&self) -> Duration;

    /// Returns the properties of the workspace.
    fn facts(&self) -> GroundFacts;

    /// Removes everything. Called once, on every path.
    ///
    /// # Errors
    ///
    /// A file could not be removed.
    fn finish(&mut self) -> Result<()>;
}
