//! Large files: several workers draw ranges of one file, and the last worker completes it.
//!
//! Where several large files wait, each file gets a worker of its own instead: no worker waits for
//! the lock that another worker holds on the file, and the kernel moves the pages by itself. In
//! this way, twelve files of 64 MiB take 0.47 of GNU cp's time on ext4 and 0.59 on btrfs; when two
//! workers share each file, they take 0.57 and 0.83.

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use haul_io::FileJob;
use haul_io::block_digests::BlockDigests;
use haul_io::method::Sharing;
use haul_io::transfer::Transfer;
use haul_io::{DataPolicy, Pair};
use haul_sys::fs::{Kind, Stat};

use super::alone;
use super::complete::complete;
use super::finished::Finished;
use super::item::{Resumable, Target};
use crate::context::{Task, Worker, watch};
use crate::entry::Entry;
use crate::walk::node::Node;
use haul_tree::Demand;

/// Large file that workers are copying.
pub(crate) struct SharedFile {
    node: Arc<Node>,
    source_name: CString,
    target_name: CString,
    source: OwnedFd,
    target: OwnedFd,
    stat: Stat,
    pair: Arc<Pair>,
    transfer: Transfer,
    digests: Option<Arc<BlockDigests>>,
    /// Record from which a later run can resume.
    partial: Option<Arc<Resumable>>,
    /// Data that completing needs; the worker that completes the file takes it.
    rest: Mutex<Option<Rest>>,
    workers: AtomicUsize,
}

struct Rest {
    target: Target,
    source: OwnedFd,
    inherits: bool,
    new_owner: Option<(u32, u32)>,
}

impl SharedFile {
    pub(crate) fn join(&self) {
        self.workers.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns whether the file already has as many workers as it can use.
    pub(crate) fn is_full(&self) -> bool {
        self.workers.load(Ordering::Relaxed) >= self.transfer.most_workers(&self.pair)
    }

    fn job<'a>(&'a self, policy: &'a DataPolicy) -> FileJob<'a> {
        FileJob {
            source: self.source.as_fd(),
            target: self.target.as_fd(),
            stat: &self.stat,
            target_kind: Kind::Regular,
            pair: &self.pair,
            policy,
            extent: None,
            digests: self.digests.as_deref(),
        }
    }
}

/// Large file whose target is open.
pub(super) struct Large<'a> {
    pub(super) entry: &'a Entry<'a>,
    pub(super) source: OwnedFd,
    pub(super) stat: &'a Stat,
    pub(super) target: Target,
    pub(super) pair: Arc<Pair>,
    /// Whether several workers share the file, or one worker copies it while other workers copy
    /// other large files.
    pub(super) sharing: Sharing,
}

/// Starts a large file, offers it to idle workers, and works on it; or assigns a file for a single
/// worker to an idle worker.
pub(super) fn begin(worker: &mut Worker<'_, '_>, task: &Task, large: Large<'_>) {
    let Large { entry, source, stat, target, pair, sharing } = large;
    let run = worker.operation;
    // Workers move the ranges through duplicates, so that the completing worker can own the
    // originals.
    let (duplicate_source, duplicate_target) = match (source.try_clone(), target.fd.try_clone()) {
        (Ok(source), Ok(target)) => (source, target),
        // The process has no descriptors left, so one worker copies the file.
        _ => return alone::fill(worker, task, entry, source, stat, target),
    };
    let policy = &run.policy.data;
    let job = FileJob {
        source: source.as_fd(),
        target: target.fd.as_fd(),
        stat,
        target_kind: Kind::Regular,
        pair: &pair,
        policy,
        extent: None,
        digests: target.digests.as_deref(),
    };
    let transfer = Transfer::new(&job, sharing);
    let watch = watch(worker);
    let prepared = transfer.prepare(&job, &mut worker.local.kit, watch).and_then(|()| {
        let Some(partial) = &target.partial else { return Ok(()) };
        partial.go_on(worker, (&transfer, target.fd.as_fd(), &pair))
    });
    if let Err(error) = prepared {
        let file = Finished {
            entry,
            source,
            stat,
            target,
            inherits: task.inherits_acl,
            new_owner: task.new_owner,
        };
        return complete(worker, file, Err(error));
    }
    task.node.owe();
    let file = Arc::new(SharedFile {
        node: Arc::clone(&task.node),
        source_name: entry.source.to_owned(),
        target_name: entry.target.to_owned(),
        source: duplicate_source,
        target: duplicate_target,
        stat: *stat,
        pair,
        transfer,
        digests: looking_at(&target),
        partial: target.partial.clone(),
        rest: Mutex::new(Some(Rest {
            target,
            source,
            inherits: task.inherits_acl,
            new_owner: task.new_owner,
        })),
        workers: AtomicUsize::new(0),
    });
    let is_wanted = !file.transfer.is_over();
    let started = is_wanted && worker.demand() == Demand::Unstarted && worker.start();
    if sharing == Sharing::Sole && worker.assign(&file, usize::from(started)) {
        return;
    }
    file.join();
    if sharing == Sharing::Several && is_wanted {
        worker.offer(&file);
    }
    work(worker, &file);
}

/// Returns the digests that take the bytes while workers move them. Sharing blocks is preferable,
/// so digests that only serve a later run do not prevent it.
fn looking_at(target: &Target) -> Option<Arc<BlockDigests>> {
    let partial = target.partial.as_ref().map(|partial| Arc::clone(partial.digests()));
    target.digests.clone().or(partial)
}

/// Draws ranges until none remain; the last worker completes the file.
pub(crate) fn work(worker: &mut Worker<'_, '_>, file: &Arc<SharedFile>) {
    let run = worker.operation;
    let job = file.job(&run.policy.data);
    let watch = watch(worker);
    worker.watch_for_waiting(file.pair.is_remote());
    let mut kit = std::mem::take(&mut worker.local.kit);
    file.transfer.work_and(&job, &mut kit, watch, &mut |bytes| {
        if !file.is_full() {
            worker.start_for_ranges();
        }
        let Some(partial) = &file.partial else { return Ok(()) };
        partial.advance(run, file.target.as_fd(), bytes)
    });
    worker.local.kit = kit;
    worker.withdraw(file);
    if file.workers.fetch_sub(1, Ordering::AcqRel) != 1 {
        return;
    }
    let moved = file.transfer.finish(&job, &mut worker.local.kit, watch);
    let rest = file.rest.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(Rest { target, source, inherits, new_owner }) = rest {
        let entry = Entry {
            node: &file.node,
            source: &file.source_name,
            target: &file.target_name,
            rest: None,
        };
        complete(
            worker,
            Finished { entry: &entry, source, stat: &file.stat, target, inherits, new_owner },
            moved,
        );
    }
    worker.release(Arc::clone(&file.node));
}
