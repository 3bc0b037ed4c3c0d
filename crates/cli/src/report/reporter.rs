//! What an output format provides: a line for each fact.

use haul_engine::monitor::MovedFile;
use haul_engine::preflight::{Needs, Shortage};
use haul_engine::rehearse::Step;

use super::fact::{End, Entry, Failed};
use super::how::How;

/// One output format. All lines go to standard output; messages for people go to standard error
/// whatever the format.
pub(super) trait Reporter: Sync {
    /// Returns whether the format reports every entry and the summary, even without `--verbose`.
    fn is_complete(&self) -> bool;

    /// Returns the line for an entry, if there is one.
    fn entry(&self, entry: &Entry<'_>, how: &How) -> Option<String>;

    /// Returns the line for a file whose bytes have been moved.
    fn moved(&self, file: &MovedFile, how: &How) -> String;

    /// Returns the line for a failure, if it is more than the message on standard error.
    fn failure(&self, failed: &Failed<'_>) -> Option<String>;

    /// Returns the line for a step that `--dry-run` would take.
    fn step(&self, step: &Step) -> String;

    /// Returns the line with what a copy needs and what the target lacks.
    fn needs(&self, needs: &Needs, shortages: &[Shortage]) -> String;

    /// Returns the last line of a run, if there is one.
    fn summary(&self, end: &End<'_>) -> Option<String>;
}
