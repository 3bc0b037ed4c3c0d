//! Large files: several workers draw ranges of one file, and the last worker completes it.
//!
//! Where several large files wait, each file gets a worker of its own instead: no worker waits for
//! the lock that another worker holds on the file, and the kernel moves the pages by itself. In
//! this way, twelve files of 64 MiB take 0.47 of GNU cp's time on ext4 and 0.59 on btrfs; when two
//! workers share each file, they take 0.57 and 0.83.

use haul_sys::sync::Mutex;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use haul_io::block_digests::BlockDigests;
use haul_io::method::Sharing;
use haul_io::transfer::{PARTED_BYTES, Transfer};
use haul_io::{DataError, FileJob, Moved, OpenFiles};
use haul_sys::fs::Kind;
use haul_tree::Demand;

use super::item::Target;
use super::next::{Filling, Large, Next};
use super::part;
use super::shared_file::{Ending, Rest, Role, SharedFile};
use crate::copy::context::{Worker, watch};

/// Starts a large file and offers it to idle workers; or assigns a file for a single worker to an
/// idle worker.
pub(super) fn begin<'a>(worker: &mut Worker<'_, '_>, large: Large<'a>) -> Next<'a> {
    let Large { filling, pair, sharing } = large;
    let run = worker.operation;
    let Filling { entry, source, stat, target } = &filling;
    // Workers move the ranges through duplicates, so that the completing worker can own the
    // originals.
    let (duplicate_source, duplicate_target) = match (source.try_clone(), target.fd.try_clone()) {
        (Ok(source), Ok(target)) => (source, target),
        // The process has no descriptors left, so one worker copies the file.
        _ => return Next::FillAlone(filling),
    };
    let job = FileJob {
        source: source.as_fd(),
        target: target.fd.as_fd(),
        stat,
        target_kind: Kind::Regular,
        pair: &pair,
        policy: &run.policy.data,
        extent: None,
        digests: target.digests.as_deref(),
        open_files: OpenFiles::Own,
    };
    let digests = looking_at(target);
    let transfer = Transfer::new(&FileJob { digests: digests.as_deref(), ..job }, sharing);
    let watch = watch(worker);
    let prepared = transfer.prepare(&job, &mut worker.local.kit, watch).and_then(|()| {
        let Some(partial) = &target.partial else { return Ok(()) };
        partial.go_on(worker, &transfer, target.fd.as_fd(), &pair)
    });
    if let Err(error) = prepared {
        return Next::Complete(filling.finished(), Err(error));
    }
    entry.node.owe();
    let (node, stat) = (Arc::clone(entry.node), **stat);
    let (source_name, target_name) = (entry.source.to_owned(), entry.target.to_owned());
    let open_target = part::open_target(run, target, entry);
    let partial = target.partial.clone();
    let (inherits, new_owner) = (entry.node.inherits_acl, entry.node.new_owner);
    let Filling { source, target, .. } = filling;
    let file = Arc::new(SharedFile {
        node,
        source_name,
        target_name,
        open_target,
        returned: Mutex::default(),
        refused: AtomicUsize::new(0),
        sent: AtomicUsize::new(0),
        source: Arc::new(duplicate_source),
        target: Arc::new(duplicate_target),
        source_of_samples: OnceLock::new(),
        stat,
        pair,
        transfer,
        extent: None,
        digests,
        partial,
        ending: Mutex::new(Some(Ending::File(Box::new(Rest {
            target,
            source,
            inherits,
            new_owner,
        })))),
        workers: AtomicUsize::new(0),
    });
    let is_wanted = !file.transfer.is_over();
    if is_wanted && sharing == Sharing::Several && file.stat.size >= PARTED_BYTES {
        worker.leave_to_others();
    }
    let started = is_wanted && worker.demand() == Demand::Unstarted && worker.start();
    if sharing == Sharing::Sole && worker.assign(&file, usize::from(started)) {
        return Next::Done;
    }
    file.join();
    if sharing == Sharing::Several && is_wanted {
        worker.offer(&file);
    }
    Next::Draw(file)
}

/// Returns the digests that take the bytes while workers move them. Sharing blocks is preferable,
/// so digests that only serve a later run do not prevent it.
fn looking_at(target: &Target) -> Option<Arc<BlockDigests>> {
    let partial = target.partial.as_ref().map(|partial| Arc::clone(partial.digests()));
    target.digests.clone().or(partial)
}

/// Draws ranges until none remain. Returns to the last worker what it has to do then.
pub(super) fn draw(
    worker: &mut Worker<'_, '_>,
    file: &Arc<SharedFile>,
    role: Role,
) -> Option<(Ending, Result<Moved, DataError>)> {
    let run = worker.operation;
    let job = file.job(&run.policy.data);
    let watch = watch(worker);
    worker.watch_for_waiting(file.pair.is_remote());
    part::take_back_all(run, file);
    let mut kit = std::mem::take(&mut worker.local.kit);
    let mut has_left = false;
    let may_leave = role == Role::Joined && file.transfer.is_shared();
    let spare = may_leave.then(|| worker.spare());
    file.transfer.work_and(&job, &mut kit, watch, &mut |bytes| {
        part::take_back_all(run, file);
        if let Some(partial) = &file.partial {
            partial.advance(run, file.target.as_fd(), bytes)?;
        }
        if may_leave && (file.is_for_one() || worker.has_urgent_work()) && file.leave() {
            // What is left of the file can be divided among all workers later. From here on this worker
            // must not offer the file: it may have ended.
            has_left = true;
            return Ok(ControlFlow::Break(()));
        }
        if !file.is_full() {
            worker.start_for_ranges();
            if worker.demand() == Demand::Idle {
                // Also for the workers that have left the file.
                worker.offer(file);
            }
        }
        Ok(ControlFlow::Continue(()))
    });
    worker.local.kit = kit;
    drop(spare);
    if has_left {
        return None;
    }
    worker.withdraw(file);
    if file.workers.fetch_sub(1, Ordering::AcqRel) != 1 {
        return None;
    }
    // A worker that has come too late finds no ending, and must not touch the file.
    let ending = file.ending.lock().take()?;
    Some((ending, file.transfer.finish(&job, &mut worker.local.kit, watch)))
}
