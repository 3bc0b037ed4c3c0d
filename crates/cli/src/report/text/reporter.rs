//! The reporter for people.

use haul_engine::monitor::MovedFile;
use haul_engine::preflight::{Needs, Shortage};
use haul_engine::rehearse::Step;

use super::super::fact::{End, Entry, Failed};
use super::super::how::How;
use super::super::itemize;
use super::super::reporter::Reporter;
use super::{entry, explain, offload, rehearse};

/// Lines for people: entries with `--verbose`, and no summary but that of `--stats`, which goes to
/// standard error.
pub(in crate::report) struct Text;

impl Reporter for Text {
    fn is_complete(&self) -> bool {
        false
    }

    fn entry(&self, entry: &Entry<'_>, how: &How) -> Option<String> {
        match &how.entry_lines {
            Some(lines) => itemize::entry(entry, lines),
            None => entry::line(entry, how),
        }
    }

    fn moved(&self, file: &MovedFile, how: &How) -> String {
        if how.explain { explain::lines(file) } else { offload::line(file, how) }
    }

    fn failure(&self, _failed: &Failed<'_>) -> Option<String> {
        None
    }

    fn step(&self, step: &Step) -> String {
        rehearse::step(step)
    }

    fn needs(&self, needs: &Needs, _shortages: &[Shortage]) -> String {
        rehearse::needs(needs)
    }

    fn summary(&self, _: &End<'_>) -> Option<String> {
        None
    }
}
