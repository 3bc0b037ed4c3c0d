//! What the schedule needs of whoever runs the tools; tests put a mock in its place.

use super::calls::{CallCounter, Calls};
use super::results::{Fault, Measurement};
use crate::ground::GroundFacts;
use crate::tool::Tool;
use crate::trouble::Result;

/// Whether the result of a run is compared with what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Every byte, outside the timed part.
    Compare,
    /// Only the exit status.
    Status,
}

/// How a run went.
#[derive(Clone, Debug)]
pub enum Attempt {
    /// Well.
    Measured(Box<Measurement>),
    /// The tool failed.
    Failed(Fault),
}

/// Runs tools on the ground of one case. An error is trouble with the ground, not with a tool.
pub trait Runner {
    /// Makes what all runs start from.
    ///
    /// # Errors
    ///
    /// It cannot be made; [`Runner::finish`] is called all the same.
    fn prepare(&mut self) -> Result<()>;

    /// Runs a tool once on fresh ground, and takes that away again.
    ///
    /// # Errors
    ///
    /// There is no fresh ground to be had, or somebody asked to stop.
    fn run(&mut self, tool: &Tool, check: Check) -> Result<Attempt>;

    /// Runs a tool once more under a counter of system calls; `None` if they cannot be counted.
    ///
    /// # Errors
    ///
    /// As [`Runner::run`].
    fn count(&mut self, tool: &Tool, counter: &mut dyn CallCounter) -> Result<Option<Calls>>;

    /// Tells what the ground is.
    fn facts(&self) -> GroundFacts;

    /// Takes everything away. Called once, on every path.
    ///
    /// # Errors
    ///
    /// Something is left.
    fn finish(&mut self) -> Result<()>;
}
