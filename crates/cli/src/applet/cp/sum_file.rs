//! `--sum-file` of a copy.

use haul_engine::monitor::{Counts, Detail, Monitor, Proposal, Report};

use crate::output::Output;
use crate::sum_file::SumFile;

/// Copies, and writes the digests that the copy reports, if a sum file is wanted. An error of it is a failure of the
/// copy.
pub(super) fn fill(
    sums: Option<&SumFile>,
    output: &Output,
    monitor: &dyn Monitor,
    copy: impl FnOnce(&dyn Monitor) -> Counts,
) -> Counts {
    let Some(sums) = sums else { return copy(monitor) };
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
    fn report(&self, report: Report<'_>) {
        match report {
            Report::Hashed { target, digest } => self.sums.add(target, digest),
            _ => self.monitor.report(report),
        }
    }

    fn wants(&self, detail: Detail) -> bool {
        self.monitor.wants(detail)
    }

    fn agrees(&self, proposal: Proposal<'_>) -> bool {
        self.monitor.agrees(proposal)
    }
}
