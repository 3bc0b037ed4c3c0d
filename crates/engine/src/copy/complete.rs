//! Completes a file: sets its attributes, publishes it if it has no name yet, closes it, and counts it. Returns the
//! entries that wait for its name.

use super::finished::{Finished, pair_of};
use super::group::PendingCommit;
use super::item::Target;
use super::next::Next;
use super::pin_later::Unpinned;
use super::unfinished::{Fate, Unfinished};
use super::{changed, flags, inherited, resumable};
use crate::copy::context::Worker;
use crate::copy::durable_names::sync_place;
use crate::copy::entry::Entry;
use crate::copy::run::Run;
use crate::data::error::{Severity, What};
use crate::data::monitor::{MovedFile, Report, WorkerCounters};
use crate::data::request::{Appearance, Make, Sync, Verify, WholeDigest};
use crate::decide;
use crate::metadata::{self, Kept, OpenSource};
use crate::names::known_names::SourceState;
use haul_io::inherit::Predecessor;
use haul_io::publish::Named;
use haul_io::sides::Which;
use haul_io::{DataError, Moved, Pair, stored};
use haul_sys::Call;
use haul_sys::fs::{Kind, Stat, close, fchmod, fstat, known_identity};
use std::ffi::CString;
use std::os::fd::AsFd;
use std::sync::Arc;

/// Applies the attributes and closes the target, or removes an incomplete target.
pub(super) fn complete<'n>(
    worker: &mut Worker<'_, '_>,
    file: Finished<'_>,
    moved: Result<Moved, DataError>,
) -> Next<'n> {
    let run = worker.operation;
    let mut stat = *file.stat;
    let moved = changed::settle(worker, &file, &mut stat, moved);
    let file = Finished { stat: &stat, ..file };
    let moved = match moved {
        Ok(moved) => moved,
        Err(error) => {
            if !run.stopped() {
                let (what, errno) = told(error);
                file.entry.fail(run, what, errno);
            } else if file.target.before.is_some_and(|before| before.kind() == Kind::Regular) {
                file.entry.fail(run, What::CutShort, None);
            }
            let fate =
                if resumable::is_kept(run, &file.target, error) { Fate::Kept } else { Fate::Gone };
            return Unfinished::of(file.entry, &file.target).meeting(fate).take_away(run);
        }
    };
    if let Err((what, errno)) = inherit(run, &file) {
        file.entry.fail(run, what, Some(errno));
        return Unfinished::of(file.entry, &file.target).take_away(run);
    }
    let kept = keep_attributes(run, &file);
    tell_of_cache(worker, &file, &moved);
    let Finished { entry, source, stat, mut target, .. } = file;
    target.kept = target.kept.and(kept);
    let pair = pair_of(run, entry.node, stat, &source, &target);
    let source = (run.policy.verify() == Verify::Repair).then_some(source);
    let is_grouped = run.policy.sync == Sync::Groups && !is_stream(&target);
    if is_grouped {
        run.note_target(entry, stat, || fstat(&target.fd));
    }
    if target.temporary.is_some() || is_grouped {
        let held = Box::new(PendingCommit {
            pair,
            source,
            digest: None,
            node: Arc::clone(entry.node),
            source_name: entry.source.to_owned(),
            target_name: entry.target.to_owned(),
            stat: *stat,
            target,
            moved,
        });
        let waits =
            is_grouped || run.policy.appearance == Appearance::Durable || run.reads_targets();
        return if waits { Next::Commit(held) } else { Next::Publish(held) };
    }
    close_named(worker, entry, (stat, &pair), target, moved)
}

/// Syncs and closes a file that has had its name from the start.
fn close_named<'n>(
    worker: &Worker<'_, '_>,
    entry: &Entry<'_>,
    (stat, pair): (&Stat, &Pair),
    target: Target,
    moved: Moved,
) -> Next<'n> {
    let run = worker.operation;
    if run.reads_targets() && run.policy.make == Make::Copy {
        entry.report(run, What::NotProved, None, Severity::Warning);
    }
    // A device or FIFO that the run writes to is not published later.
    let waits = match (run.policy.sync, run.policy.appearance) {
        (Sync::Files, _) => true,
        (Sync::No, Appearance::Durable) => !is_stream(&target),
        (Sync::No | Sync::Groups, _) => false,
    };
    let synced = match waits {
        true => stored::flush(&target.fd, pair.target, moved.written_bytes),
        false => Ok(()),
    };
    let synced = synced.map_err(|error| (What::Sync, error));
    let mut kept = target.kept;
    let unpinned = flags::unpinned(run, entry, stat, &target);
    let digest = whole_digest(run, &target, stat);
    run.note_target(entry, stat, || fstat(&target.fd));
    // After the close nothing tells which file it was. Local file systems report nothing there.
    let ours = match target.id {
        None if synced.is_err() || pair.target.is_remote() => known_identity(&target.fd).ok(),
        known => known,
    };
    let Target { fd, mode, leads_links, may_change, backup, .. } = target;
    // Network file systems, FUSE and quotas report the last failed write here.
    let closed = close(fd).map_err(|error| (What::Close, error));
    if let Err((what, error)) = synced.and(closed) {
        entry.fail(run, what, Some(error.errno));
        let lost = Unfinished {
            entry,
            made: mode.is_some(),
            leads_links,
            backup: backup.as_deref(),
            temporary: None,
            fate: Fate::Gone,
            ours,
            file: None,
        };
        return lost.take_away(run);
    }
    if run.policy.sync == Sync::Files {
        kept = kept.and(sync_place(run, entry));
    }
    let named = Named::AtOnce;
    let complete =
        Complete { moved, named, leads_links, may_change, digest, kept, backup, unpinned };
    finish(worker, entry, stat, complete)
}

/// Returns whether the target is a stream: FIFOs and terminals cannot be synced (`EINVAL`), and
/// have no data to lose.
fn is_stream(target: &Target) -> bool {
    target
        .before
        .is_some_and(|before| matches!(before.kind(), Kind::Fifo | Kind::Socket | Kind::CharDevice))
}

/// Copies the inherited metadata of the existing file to the file that replaces it.
fn inherit(run: &Run<'_>, file: &Finished<'_>) -> Result<(), (What, haul_sys::Errno)> {
    let fd = file.target.fd.as_fd();
    let Some(temporary) = &file.target.temporary else {
        let mode =
            file.target.before.and_then(|it| decide::replaced_mode(file.stat, &it, run.policy));
        return match mode {
            Some(mode) => fchmod(fd, mode).map_err(|error| (What::Permissions, error.errno)),
            None => Ok(()),
        };
    };
    let handles =
        run.cache.of(file.entry.node).map_err(|error| (What::OpenDirectory, error.errno))?;
    if let Some((directory, name, seen)) =
        temporary.predecessor(handles.target(), file.entry.target)
    {
        let old = Predecessor { directory, name, seen };
        inherited::take_over(run, file.entry, fd, &old)?;
        return match decide::replaced_mode(file.stat, seen, run.policy) {
            Some(mode) => fchmod(fd, mode).map_err(|error| (What::Permissions, error.errno)),
            None => Ok(()),
        };
    }
    temporary
        .settle_mode(run, fd, &run.wanted(file.stat, None), file.target.mode)
        .map_err(|error| (What::Permissions, error.errno))
}

/// Counts the cached bytes, and reports where direct I/O was requested and not possible.
fn tell_of_cache(worker: &mut Worker<'_, '_>, file: &Finished<'_>, moved: &Moved) {
    if let Some(residency) = &moved.residency {
        worker.local.counters.cached.add(residency);
    }
    if let Some(lost) = moved.not_direct {
        let what = match lost.which {
            Which::Source => What::SourceNotDirect,
            Which::Target => What::TargetNotDirect,
        };
        file.entry.report(worker.operation, what, Some(lost.cause.errno), Severity::Warning);
    }
}

fn keep_attributes(run: &Run<'_>, file: &Finished<'_>) -> Kept {
    if !metadata::keeps_anything(run.policy) {
        return Kept::All;
    }
    let target = &file.target;
    let owner = target.before.map(|before| (before.uid, before.gid)).or(file.new_owner);
    // If the owner is not known in advance, fstat returns it. If fstat fails, the run sets the
    // owner unconditionally.
    let owner = owner
        .or_else(|| fstat(&target.fd).ok().map(|now| (now.uid, now.gid)))
        .unwrap_or((u32::MAX, u32::MAX));
    let made = metadata::NewTarget { mode: target.mode, inherits_acl: file.inherits, owner };
    let stat = &run.wanted(file.stat, Some(owner));
    let source = OpenSource { file: file.source.as_fd(), stat, flags: target.flags };
    let lost = metadata::keep(source, target.fd.as_fd(), made, run.policy);
    file.entry.lost(run, file.stat, lost)
}

/// Converts an error of the data path to the engine's error kinds.
fn told(error: DataError) -> (What, Option<haul_sys::Errno>) {
    match error {
        DataError::Call(error) => {
            let what = match error.call {
                Call::Write
                | Call::Pwrite
                | Call::Pwritev2
                | Call::DirectWrite
                | Call::RingWrite
                | Call::SyncFileRange
                | Call::Fallocate => What::Write,
                Call::Ftruncate => What::Extend,
                Call::Ficlone | Call::FicloneRange => What::Clone,
                Call::CopyFileRange | Call::Sendfile | Call::Splice => What::CopyBytes,
                Call::Mmap | Call::IoUringSetup | Call::IoUringRegister | Call::IoUringEnter => {
                    What::Resources
                }
                Call::Close => What::Close,
                Call::Fdatasync => What::Sync,
                _ => What::Read,
            };
            (what, Some(error.errno))
        }
        DataError::NoProgress => (What::Write, None),
        DataError::Unfit { method, why } => (What::MethodUnfit(method.name(), why), None),
        DataError::Refused { method, cause } => {
            (What::MethodRefused(method.name()), Some(cause.errno))
        }
        DataError::Changed | DataError::Stopped => (What::Changed, None),
    }
}

/// Returns the digest of all bytes of a file, if the policy reports it and the bytes were written
/// in order.
pub(super) fn whole_digest(run: &Run<'_>, target: &Target, stat: &Stat) -> Option<Vec<u8>> {
    run.policy.hashing.filter(|hashing| hashing.whole == WholeDigest::Tell)?;
    let digests = target.digests.as_ref().filter(|digests| digests.needs_order())?;
    // Any bytes after the last byte that the digest covers are a hole; the size of a stream is the
    // number of its bytes.
    let now = fstat(&target.fd).map_or(stat.size, |now| now.size);
    digests.whole(now)
}

/// Results of a file that is complete and has its name.
pub(super) struct Complete {
    pub(super) moved: Moved,
    pub(super) named: Named,
    pub(super) leads_links: Option<SourceState>,
    pub(super) may_change: bool,
    pub(super) digest: Option<Vec<u8>>,
    pub(super) kept: Kept,
    /// The file, if it is to be pinned at the end of the run. It is complete only then.
    pub(super) unpinned: Option<Unpinned>,
    /// Backup name of the file that had the name.
    pub(super) backup: Option<CString>,
}

/// Counts a file that is complete and has its name.
pub(super) fn finish<'n>(
    worker: &Worker<'_, '_>,
    entry: &Entry<'_>,
    stat: &Stat,
    complete: Complete,
) -> Next<'n> {
    let run = worker.operation;
    let Complete { moved, named, leads_links, may_change, digest, kept, backup, unpinned } =
        complete;
    if let Some(digest) = digest {
        run.monitor.report(Report::Hashed { target: &entry.target_path(), digest: &digest });
    }
    if !may_change {
        run.note_copied(stat);
    }
    WorkerCounters::one(&worker.local.counters.files);
    if let Some(count) = moved.method.and_then(|id| worker.local.counters.methods.get(id.index())) {
        WorkerCounters::one(count);
    }
    if run.tells_moves && run.policy.make == Make::Copy {
        let (source, target) = (entry.source_path(), entry.target_path());
        run.monitor.report(Report::Moved(&MovedFile { source, target, moved, named }));
    }
    match unpinned {
        Some(unpinned) => run.pin_later.add(unpinned.reporting(kept, backup)),
        None => entry.tell_copied(run, (stat.kind(), kept), backup.as_deref()),
    }
    let waiting = leads_links.and_then(|source| run.links.completed(source));
    waiting.map_or(Next::Done, |(first, waiting)| Next::Link(first, waiting))
}
