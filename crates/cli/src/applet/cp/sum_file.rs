//! `--sum-file` of a copy.

use haul_engine::error::Failure;
use haul_engine::known_names::KnownName;
use haul_engine::monitor::{Counts, Event, HashedFile, Monitor, MovedFile, Question};

use crate::output::Output;
use crate::sum_file::SumFile;

/// Copies, and writes the digests that the copy reports. An error of the sum file is a failure of the copy.
pub(super) fn fill(
    sums: &SumFile,
    output: &Output,
    monitor: &dyn Monitor,
    copy: impl FnOnce(&dyn Monitor) -> Counts,
) -> Counts {
    let mut counts = copy(&Summing { sums, monitor });
    if let Err(text) = sums.end(counts.failures > 0) {
        output.error(&text);
        counts.failures += 1;
    }
    counts
}

/// Passes reports on to another monitor, and writes digests.
struct Summing<'a> {
    sums: &'a SumFile,
    monitor: &'a dyn Monitor,
}

impl Monitor for Summing<'_> {
    fn failed(&self, failure: &Failure) {
        self.monitor.failed(failure);
    }

    fn wants_entries(&self) -> bool {
        self.monitor.wants_entries()
    }

    fn entry(&self, event: &Event) {
        self.monitor.entry(event);
    }

    fn wants_moves(&self) -> bool {
        self.monitor.wants_moves()
    }

    fn moved(&self, moved: &MovedFile) {
        self.monitor.moved(moved);
    }

    fn hashed(&self, hashed: &HashedFile) {
        self.sums.add(&hashed.target, &hashed.digest);
    }

    fn wants_known_names(&self) -> bool {
        self.monitor.wants_known_names()
    }

    fn known_name(&self, known: &KnownName) {
        self.monitor.known_name(known);
    }

    fn all_there(&self, count: u64) {
        self.monitor.all_there(count);
    }

    fn ask(&self, question: &Question) -> bool {
        self.monitor.ask(question)
    }
}
