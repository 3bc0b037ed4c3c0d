//! Types that the steps of a copy share: the worker, and the directory that it works in.

use std::ffi::CString;
use std::ops::Deref;
use std::sync::Arc;

use haul_io::{Kit, Watch};
use haul_sys::fs::Stat;
use haul_tree::Open;

use crate::copy::item::Batch;
use crate::copy::node::{CopyDirectory, Handles, Node, Origin};
use crate::copy::run::Run;
use crate::data::monitor::WorkerCounters;

/// Maximum number of workers in one directory. Creating a name takes about 40 % of the time of a
/// small file, and only one worker can do that at a time. A third worker makes 100,000 files in
/// one directory slower by a tenth (0.69 against 0.63 of GNU cp's time on ext4, 0.67 against 0.59
/// on XFS).
pub(crate) const DIRECTORY_WORKERS: usize = 2;

/// A directory to enter.
pub(crate) struct Enter {
    pub(crate) parent: Arc<Node>,
    pub(crate) source_name: CString,
    pub(crate) target_name: Option<CString>,
    pub(crate) stat: Stat,
    /// Mode that this run created the directory with, or `None` if it existed before.
    pub(crate) made: Option<u32>,
    /// Whether the directory may have entries: it existed before, or an earlier run created it.
    pub(crate) origin: Origin,
    pub(crate) through_link: bool,
    pub(crate) target_through_link: bool,
    /// Allocation group of the target directory, if workers should be in different groups.
    pub(crate) allocation_group: Option<u64>,
    /// Rest of an operand's path below this directory, if only that part is copied.
    pub(crate) rest: Option<CString>,
    /// Whether the directory gets its attributes from another operand's.
    pub(crate) is_shared: bool,
}

/// A directory in which a batch is copied.
pub(crate) struct Task {
    pub(crate) node: Arc<Node>,
    pub(crate) handles: Arc<Open<Handles>>,
}

impl Deref for Task {
    type Target = CopyDirectory;

    fn deref(&self) -> &CopyDirectory {
        &self.node
    }
}

/// State of one worker of a copy.
pub(crate) struct Local<'r> {
    pub(crate) counters: &'r WorkerCounters,
    pub(crate) kit: Kit,
    pub(crate) batch: Batch,
}

/// A worker of a copy.
pub(crate) type Worker<'w, 'r> = haul_tree::Worker<'w, Run<'r>>;

/// Returns the watch that observes a worker while it copies bytes.
pub(crate) fn watch<'w>(worker: &Worker<'w, '_>) -> Watch<'w> {
    let run = worker.operation;
    Watch { stop: run.control.stop, bytes: &worker.local.counters.bytes, pace: run.pace.as_ref() }
}
