//! Resources of the machine that a run may use: workers and descriptors.
//!
//! They are not found out during a run, because only the caller knows what else the process does.

use crate::data::setters::setters;

/// Resources of the machine that a run may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resources {
    /// Maximum number of workers that run at once while they keep processors busy, at least 1.
    pub jobs: usize,
    /// Maximum number of workers where they mostly wait for remote storage; no more than `jobs` if
    /// it is less.
    pub waiting_jobs: usize,
    /// Maximum number of open descriptors of the process, including those that are open now.
    pub descriptors: u64,
}

/// Number of workers of a run whose storage is remote: each waits for the server most of the time.
/// With round trips of 5 ms and requests of 1 MiB, 32 transfer 3 GB/s, more than two processors can
/// move; and it is half of the requests that an NFS client has in flight by default, so that other
/// processes get through.
pub const WAITING_JOBS: usize = 32;

/// Returns the number of workers that keeps the processors busy: one more than there are, because
/// one worker always waits for the journal or for a page under writeback. With 3 instead of 2 on
/// two processors, 50,000 small files take 0.48 and not 0.53 of GNU cp's time on ext4.
#[must_use]
pub fn default_jobs() -> usize {
    haul_sys::process::processors() + 1
}

setters!(Resources { jobs: usize, waiting_jobs: usize, descriptors: u64 });

impl Resources {
    /// Returns all resources that the process may use: [`default_jobs`] workers, more of them where
    /// they wait for remote storage, and the descriptors of its soft limit. A process with several runs at
    /// once, or with many open files of its own, gives each run fewer descriptors; 20 are enough.
    #[must_use]
    pub fn available() -> Resources {
        Resources::with_jobs(default_jobs())
    }

    /// Returns the resources of a run with so many workers, more of them where they wait for remote storage, and
    /// the descriptors of the soft limit. Unlike [`Resources::available`] it does not find out how many processors
    /// there are, which takes two dozen calls.
    #[must_use]
    pub fn with_jobs(jobs: usize) -> Resources {
        Resources {
            jobs,
            waiting_jobs: jobs.max(WAITING_JOBS),
            descriptors: haul_sys::process::nofile_limit(),
        }
    }
}
