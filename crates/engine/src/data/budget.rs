//! Budget of a run: the numbers of workers, open directories and open files that the descriptor
//! limit allows.

/// Resources that a run may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Number of workers that keep the processors busy, the caller's thread included.
    pub(crate) workers: usize,
    /// Number of workers if they mostly wait for storage.
    pub(crate) waiting_workers: usize,
    /// Number of entries that a worker handles at a time; each has up to two descriptors.
    pub(crate) batch: usize,
    /// Number of directories that stay open while no worker works in them; each has two
    /// descriptors.
    pub(crate) directories: usize,
    /// Number of finished files that may stay open for a common flush.
    pub(crate) held: usize,
    /// Whether each worker may have a pipe, which has two descriptors.
    pub(crate) pipes: bool,
}

/// Number of descriptors outside the engine: the three standard ones, the caller's own (a signal
/// pipe, a journal, a report), the current and the target directory. [`without_governor`] leaves out
/// those of a gentle run.
const RESERVED: usize = 9;

/// Smallest number of descriptors that a copy works with.
pub(crate) const LEAST_DESCRIPTORS: u64 = 20;

/// Number of entries in a batch. Each batch costs two locks, which are negligible for 32 entries.
/// A worker handles 32 in half a millisecond, so the last batch does not delay the end.
const BATCH: usize = 32;

/// Number of directories that stay open if there are enough descriptors: deeper trees than this
/// are rare, and each open directory pins its inode in the kernel.
const DIRECTORIES: usize = 1024;

/// Number of descriptors that justify one more worker.
const WORKER_DESCRIPTORS: usize = 24;

/// Number of entries in a batch if each entry takes a round trip or more. Taking a batch then
/// costs nothing in comparison, and a long batch keeps work from other workers.
pub(crate) const WAITING_BATCH: usize = 4;

/// Returns how many descriptors a run has that may have `limit`: without those by which a gentle run looks for
/// pressure, and with no fewer than [`LEAST_DESCRIPTORS`], since a gentle run with a lower limit has none of these.
pub(crate) fn without_governor(limit: u64) -> u64 {
    without(limit, haul_io::gentle::descriptors())
}

fn without(limit: u64, of_governor: usize) -> u64 {
    let of_governor = u64::try_from(of_governor).unwrap_or(u64::MAX);
    limit.saturating_sub(of_governor).max(LEAST_DESCRIPTORS.min(limit))
}

impl Budget {
    /// Divides the descriptors. With the fewest: one worker, one file at a time.
    pub(crate) fn new(jobs: usize, waiting_jobs: usize, descriptors: u64) -> Budget {
        let all = usize::try_from(descriptors).unwrap_or(usize::MAX).saturating_sub(RESERVED);
        let workers = jobs.clamp(1, (all / WORKER_DESCRIPTORS).max(1));
        // Half of a worker's share is for files: each file of a batch has two descriptors. Four
        // descriptors are for opening directories again and for a large file that is shared.
        let share = all / workers;
        let batch = ((share / 2).saturating_sub(4) / 2).clamp(1, BATCH);
        let rest = all.saturating_sub(workers * (2 * batch + 4));
        // Up to half of the rest is for workers that wait for storage.
        let each = 2 * WAITING_BATCH.min(batch) + 4;
        let more = waiting_jobs.saturating_sub(workers).min(rest / 2 / each);
        let rest = rest - more * each;
        // Pipes are optional: if they would take more than a quarter of the rest, there are none.
        let in_pipes = 2 * (workers + more);
        let pipes = in_pipes <= rest / 4;
        let rest = if pipes { rest - in_pipes } else { rest };
        let directories = (rest / 4).clamp(2, DIRECTORIES);
        // Half of the remaining descriptors: each file of a commit group has one.
        let held = (rest.saturating_sub(2 * directories) / 2).max(1);
        Budget { workers, waiting_workers: workers + more, batch, directories, held, pipes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_descriptors_are_enough() {
        let budget = Budget::new(8, 32, LEAST_DESCRIPTORS);
        let least = Budget {
            workers: 1,
            waiting_workers: 1,
            batch: 1,
            directories: 2,
            held: 1,
            pipes: false,
        };
        assert_eq!(budget, least);
        assert!(RESERVED + 2 * budget.batch + 4 + 2 * budget.directories <= 20, "{budget:?}");
    }

    #[test]
    fn a_gentle_run_has_fewer_descriptors() {
        assert_eq!((without(1024, 0), without(1024, 8)), (1024, 1016));
        assert_eq!((without(28, 8), without(24, 8), without(10, 8)), (20, 20, 10));
        assert!(Budget::new(2, 2, without(1024, 8)).held < Budget::new(2, 2, 1024).held);
    }

    #[test]
    fn plenty_is_capped() {
        let budget = Budget::new(2, 32, 20_000);
        let all = Budget {
            workers: 2,
            waiting_workers: 32,
            batch: BATCH,
            directories: DIRECTORIES,
            held: budget.held,
            pipes: true,
        };
        assert_eq!(budget, all);
    }

    #[test]
    fn the_usual_limit_holds_files_for_a_common_flush() {
        let budget = Budget::new(2, 32, 1024);
        assert!(budget.held >= 100 && budget.directories >= 100, "{budget:?}");
    }

    #[test]
    fn those_who_wait_leave_the_others_their_share() {
        let budget = Budget::new(2, 32, 256);
        assert_eq!((budget.workers, budget.batch), (2, Budget::new(2, 2, 256).batch));
        assert!(budget.waiting_workers > 2 && budget.directories >= 2);
    }
}
