//! Entry point of a copy that may be one of several shards.
//!
//! A shard copies its entries into the tree that all shards make, and leaves the attributes of
//! directories alone: an entry that another shard makes later would change their times. The shard that
//! ends last goes through the whole tree once more, as `--resume` does: it copies what no shard has
//! copied, because the source changed between their walks, and applies the attributes of directories.
//! So the copy is as complete as that of one run, whatever the shards have made of a changing source.

use std::sync::atomic::Ordering;

use haul_sys::Errno;

use crate::copy::{self, carry_out_portion, unchanged};
use crate::error::{Failure, Operation, Severity, What};
use crate::journal::{Journal, ShardJournal, Standing, open_shard};
use crate::monitor::{Control, Counts, Monitor, ShardEnded};
use crate::plan::Plan;
use crate::portion::Portion;
use crate::request::{Request, Resume, Shard};

/// Copies the sources of the request, or the shard of them that it names, and returns the counts.
/// Blocks until the copy is complete or stopped. The monitor receives each failure when it occurs.
pub fn copy(request: &Request, monitor: &dyn Monitor, control: &Control<'_>) -> Counts {
    match &request.resume {
        Some(resume @ Resume { shard: Some(shard), .. }) => {
            let run = Run { request, shard: *shard, monitor, control };
            run.begin(resume);
            control.counts()
        }
        _ => copy::copy(request, monitor, control),
    }
}

/// A run that copies a shard.
struct Run<'r> {
    request: &'r Request,
    shard: Shard,
    monitor: &'r dyn Monitor,
    control: &'r Control<'r>,
}

impl Run<'_> {
    fn begin(&self, resume: &Resume) {
        let opened = Plan::resolve(self.request).and_then(|plan| {
            let journal = open_shard(self.request, resume, &plan, self.shard)?;
            Ok((plan, journal))
        });
        match opened {
            Ok((plan, ShardJournal::Opened(journal))) => {
                let ended = self.copy_entries(plan, *journal);
                self.monitor.shard_ended(self.shard, &ended);
            }
            Ok((_, ShardJournal::Completing)) => {
                self.monitor.shard_ended(self.shard, &ShardEnded::Completing);
            }
            Err(failure) => self.fail(&failure),
        }
    }

    /// Copies the entries of the shard, and, if it is the last one, the rest.
    fn copy_entries(&self, plan: Plan, journal: Journal) -> ShardEnded {
        self.carry_out(plan, &journal, Portion::Shard(self.shard));
        if !self.is_complete() {
            return ShardEnded::Incomplete;
        }
        // The modes that the shard has made directories with are in the journal alone.
        if journal.is_broken() {
            self.fail(&failure_of(&journal, What::ShardMark, None));
            return ShardEnded::Incomplete;
        }
        let found = journal.found();
        let ended = match journal.complete_shard(self.shard) {
            Ok(Standing::Waits(others)) => ShardEnded::Waits(others),
            Ok(Standing::Last(journal)) => self.copy_rest(&journal),
            Err(failure) => {
                self.fail(&failure);
                ShardEnded::Incomplete
            }
        };
        // The last pass may have copied something.
        if let Some(count) = unchanged(&self.control.counts(), found)
            && self.is_complete()
        {
            self.monitor.all_there(count);
        }
        ended
    }

    /// Copies what no shard has copied, applies the attributes of all directories, and marks the journal as
    /// complete.
    fn copy_rest(&self, journal: &Journal) -> ShardEnded {
        match Plan::resolve(self.request) {
            Ok(plan) => self.carry_out(plan, journal, Portion::Rest),
            Err(failure) => self.fail(&failure),
        }
        if !self.is_complete() {
            return ShardEnded::WithoutRest;
        }
        // The records of the shards are in their volumes, so the journal is of use in any case.
        let records_of_others = 1;
        if let Err(error) = journal.end_complete(records_of_others) {
            self.fail(&failure_of(journal, What::JournalRemove, Some(error.errno)));
            return ShardEnded::WithoutRest;
        }
        ShardEnded::All
    }

    fn carry_out(&self, plan: Plan, journal: &Journal, portion: Portion) {
        carry_out_portion(self.request, plan, (journal, portion), self.monitor, self.control);
    }

    /// Returns whether the run has done everything so far.
    fn is_complete(&self) -> bool {
        let failures = self.control.failures.load(Ordering::Relaxed);
        failures == 0 && !self.control.stop.load(Ordering::Relaxed)
    }

    fn fail(&self, failure: &Failure) {
        // The signal that stops a run also ends the wait for a lock; that is not a failure.
        if failure.errno == Some(Errno::INTR) && self.control.stop.load(Ordering::Relaxed) {
            return;
        }
        self.control.failures.fetch_add(1, Ordering::Relaxed);
        self.monitor.failed(failure);
    }
}

/// Returns a failure that concerns the journal.
fn failure_of(journal: &Journal, what: What, errno: Option<Errno>) -> Failure {
    Failure {
        operation: Operation::Copy,
        what,
        source: Vec::new(),
        target: journal.shown().to_vec(),
        errno,
        severity: Severity::Failure,
    }
}
