//! Filling: moves the bytes of a file whose target is open, then its attributes.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use haul_io::FileJob;
use haul_io::inherit::Predecessor;
use haul_io::method::Sharing;
use haul_io::sides::Which;
use haul_io::transfer::{is_worth_a_worker, is_worth_sharing, move_file};
use haul_io::{DataError, Moved, Pair};
use haul_sys::Call;
use haul_sys::fs::{Kind, Stat, close, fstat, fsync, statat, unlinkat};

use super::commit_group::{self, Held};
use super::temporary::Temporary;
use super::{Follow, Target, changed, existing, hardlink, inherited, resumable, shared};
use crate::error::{Severity, What};
use crate::finish::sync_place;
use crate::metadata;
use crate::monitor::{HashedFile, MovedFile, Shard};
use crate::request::{Appearance, Make, Sync, Verify, WholeDigest};
use crate::run::{Entry, Run};
use crate::walk::node::{Node, identity};
use crate::worker::{Task, Worker, watch};

/// Fills a target; where the file is large, with others, or by another where more such follow.
pub(super) fn fill(
    worker: &mut Worker<'_, '_>,
    task: &Task,
    entry: &Entry<'_>,
    (source, stat): (OwnedFd, &Stat),
    (target, follow): (Target, Follow),
) {
    let run = worker.operation;
    if target.partial.is_some() {
        let pair = pair_of(run, task, stat, &source, &target);
        let sharing = Sharing::Several;
        let large = shared::Large { entry, source, stat, target, pair, sharing };
        shared::begin(worker, task, large);
        return;
    }
    if run.budget.waiting_workers > 1 && run.policy.make == Make::Copy {
        let pair = pair_of(run, task, stat, &source, &target);
        let job = job(&source, &target, stat, &pair, run);
        if is_worth_sharing(&job) {
            let sharing = match follow {
                Follow::Large if is_worth_a_worker(&job) => Sharing::Sole,
                Follow::Large | Follow::Small => Sharing::Several,
            };
            let large = shared::Large { entry, source, stat, target, pair, sharing };
            shared::begin(worker, task, large);
            return;
        }
    }
    fill_alone(worker, task, entry, source, stat, target);
}

/// Fills a target by this worker alone.
pub(super) fn fill_alone(
    worker: &mut Worker<'_, '_>,
    task: &Task,
    entry: &Entry<'_>,
    source: OwnedFd,
    stat: &Stat,
    target: Target,
) {
    let run = worker.operation;
    let moved = if run.policy.make == Make::Attributes {
        Ok(Moved { line: Shard::LINES, ..Moved::default() })
    } else {
        let pair = pair_of(run, task, stat, &source, &target);
        let watch = watch(worker);
        let begun = target.partial.as_ref().map_or(Ok(()), |file| file.begin_anew(&target.fd));
        begun.map_err(DataError::from).and_then(|()| {
            move_file(&job(&source, &target, stat, &pair, run), &mut worker.local.kit, watch)
        })
    };
    let file = Finished {
        entry,
        source,
        stat,
        target,
        inherits: task.inherits_acl,
        new_owner: task.new_owner,
    };
    complete(worker, file, moved);
}

pub(super) fn job<'a>(
    source: &'a OwnedFd,
    target: &'a Target,
    stat: &'a Stat,
    pair: &'a Pair,
    run: &'a Run<'_>,
) -> FileJob<'a> {
    FileJob {
        source: source.as_fd(),
        target: target.fd.as_fd(),
        stat,
        target_kind: target.before.map_or(Kind::Regular, |before| before.kind()),
        pair,
        policy: &run.policy.data,
        digests: target.digests.as_deref(),
    }
}

/// Nearly every file is on its directory's file system; the others are looked up.
fn pair_of(
    run: &Run<'_>,
    task: &Task,
    stat: &Stat,
    source: &OwnedFd,
    target: &Target,
) -> Arc<Pair> {
    let pair = &task.node.pair;
    // Where the target is a name and no directory, what the operands' node knows is the file system
    // of the current directory, from which the name may lead elsewhere.
    let is_elsewhere = task.node.lists_operands
        && task.node.target_name.as_ref().is_some_and(|name| name.is_empty());
    let target_dev = match target.before {
        Some(before) => before.dev,
        None if is_elsewhere => fstat(&target.fd).map_or(0, |now| now.dev),
        None => pair.target_dev,
    };
    if stat.dev == pair.source_dev && target_dev == pair.target_dev {
        return Arc::clone(pair);
    }
    run.pairs.of((stat.dev, source.as_fd()), (target_dev, target.fd.as_fd()))
}

/// The same once more for a file that gets its name in another directory than the entry's.
fn pair_at_last(run: &Run<'_>, file: &Finished<'_>) -> Arc<Pair> {
    let Finished { source, stat, target, .. } = file;
    let node: &Arc<Node> = file.entry.node;
    let is_elsewhere = target.temporary.as_ref().is_some_and(|file| file.elsewhere().is_some());
    let dev = if is_elsewhere { fstat(&target.fd).map_or(0, |now| now.dev) } else { 0 };
    if !is_elsewhere || dev == node.pair.target_dev {
        return Arc::clone(&node.pair);
    }
    run.pairs.of((stat.dev, source.as_fd()), (dev, target.fd.as_fd()))
}

/// A file whose bytes were moved, or not.
pub(super) struct Finished<'a> {
    pub(super) entry: &'a Entry<'a>,
    pub(super) source: OwnedFd,
    pub(super) stat: &'a Stat,
    pub(super) target: Target,
    pub(super) inherits: bool,
    pub(super) new_owner: Option<(u32, u32)>,
}

/// Applies attributes and closes, or takes an unfinished target away again.
pub(super) fn complete(
    worker: &mut Worker<'_, '_>,
    file: Finished<'_>,
    moved: Result<Moved, DataError>,
) {
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
            }
            // Without a description it goes by its name alone: what is unfinished must not stay.
            let ours = fstat(&file.target.fd).ok();
            let fate =
                if resumable::is_kept(run, &file.target, error) { Fate::Kept } else { Fate::Gone };
            Leftover::of(file.entry, file.stat, &file.target)
                .meeting(fate)
                .take_away(worker, ours.as_ref());
            return;
        }
    };
    if let Err((what, errno)) = inherit(run, &file) {
        file.entry.fail(run, what, Some(errno));
        take_away(worker, &file, None);
        return;
    }
    keep_attributes(run, &file);
    tell_of_cache(worker, &file, &moved);
    let pair = pair_at_last(run, &file);
    let Finished { entry, source, stat, target, .. } = file;
    let source = (run.policy.verify() == Verify::Repair).then_some(source);
    if target.temporary.is_some() {
        let held = Held {
            pair,
            source,
            digest: None,
            node: Arc::clone(entry.node),
            source_name: entry.source.to_owned(),
            target_name: entry.target.to_owned(),
            stat: *stat,
            target,
            moved,
        };
        if run.policy.appearance == Appearance::Durable || run.reads_targets() {
            commit_group::hold(worker, held);
        } else {
            commit_group::land(worker, held);
        }
        return;
    }
    close_named(worker, entry, stat, target, moved);
}

/// Secures and closes a file that has had its name from the start.
fn close_named(
    worker: &mut Worker<'_, '_>,
    entry: &Entry<'_>,
    stat: &Stat,
    target: Target,
    moved: Moved,
) {
    let run = worker.operation;
    if run.reads_targets() && run.policy.make == Make::Copy {
        entry.report(run, What::NotProved, None, Severity::Warning);
    }
    // A device or FIFO that is written to has no name to wait for.
    let synced = match (run.policy.sync, run.policy.appearance) {
        (Sync::Files, _) => fsync(&target.fd).map_err(|error| (What::Sync, error)),
        (Sync::No, Appearance::Durable) if !is_stream(&target) => {
            fsync(&target.fd).map_err(|error| (What::Sync, error))
        }
        (Sync::No, _) => Ok(()),
    };
    let digest = whole_digest(run, &target, stat);
    run.note_target(entry, stat, target.fd.as_fd());
    let Target { fd, mode, leads_links, backup, .. } = target;
    // Network file systems, FUSE and quotas tell of the last failed write here.
    let closed = close(fd).map_err(|error| (What::Close, error));
    if let Err((what, error)) = synced.and(closed) {
        entry.fail(run, what, Some(error.errno));
        let lost = Leftover {
            entry,
            stat,
            made: mode.is_some(),
            leads_links,
            backup: backup.as_deref(),
            temporary: None,
            fate: Fate::Gone,
        };
        lost.take_away(worker, None);
        return;
    }
    if run.policy.sync == Sync::Files {
        sync_place(run, entry);
    }
    finish(worker, entry, stat, Complete { moved, leads_links, digest });
}

/// FIFOs and terminals cannot be synced (`EINVAL`), and have nothing that could be lost.
fn is_stream(target: &Target) -> bool {
    target
        .before
        .is_some_and(|before| matches!(before.kind(), Kind::Fifo | Kind::Socket | Kind::CharDevice))
}

/// Returns the digest of all bytes that were written, if somebody wants it and they came in order.
pub(super) fn whole_digest(run: &Run<'_>, target: &Target, stat: &Stat) -> Option<Vec<u8>> {
    run.policy.hashing.filter(|hashing| hashing.whole == WholeDigest::Tell)?;
    let digests = target.digests.as_ref().filter(|digests| digests.needs_order())?;
    // What is behind the last byte that was seen is a hole; a stream has its size from its bytes.
    let now = fstat(&target.fd).map_or(stat.size, |now| now.size);
    digests.whole(now)
}

/// What is known of a file that is complete and has its name.
pub(super) struct Complete {
    pub(super) moved: Moved,
    pub(super) leads_links: bool,
    pub(super) digest: Option<Vec<u8>>,
}

/// Counts a file that is complete and has its name, and links what waits for that.
pub(super) fn finish(
    worker: &mut Worker<'_, '_>,
    entry: &Entry<'_>,
    stat: &Stat,
    complete: Complete,
) {
    let run = worker.operation;
    let Complete { moved, leads_links, digest } = complete;
    if let Some(digest) = digest {
        run.monitor.hashed(&HashedFile { target: entry.target_path(), digest });
    }
    run.note_copied(stat);
    Shard::one(&worker.local.shard.files);
    if let Some(count) = worker.local.shard.methods.get(moved.line) {
        Shard::one(count);
    }
    if run.tells_moves && run.policy.make == Make::Copy {
        let (source, target) = (entry.source_path(), entry.target_path());
        run.monitor.moved(&MovedFile { source, target, moved });
    }
    if leads_links && let Some((first, waiting)) = run.links.completed(identity(stat)) {
        for waiting in waiting {
            hardlink::link_waiting(worker, &first, waiting);
        }
    }
}

/// Hands on to a file that replaces another what the other has.
fn inherit(run: &Run<'_>, file: &Finished<'_>) -> Result<(), (What, haul_sys::Errno)> {
    let Some(temporary) = &file.target.temporary else { return Ok(()) };
    let fd = file.target.fd.as_fd();
    let handles =
        run.cache.of(file.entry.node).map_err(|error| (What::OpenDirectory, error.errno))?;
    if let Some((directory, name, seen)) =
        temporary.predecessor(handles.target(), file.entry.target)
    {
        let old = Predecessor { directory, name, seen };
        return inherited::take_over(run, file.entry, fd, &old);
    }
    temporary
        .settle_mode(run, fd, file.stat, file.target.mode)
        .map_err(|error| (What::Permissions, error.errno))
}

/// Books what was cached, and says where direct I/O was promised and not possible.
fn tell_of_cache(worker: &mut Worker<'_, '_>, file: &Finished<'_>, moved: &Moved) {
    if let Some(residency) = &moved.residency {
        worker.local.shard.cached.add(residency);
    }
    if let Some(lost) = moved.not_direct {
        let what = match lost.which {
            Which::Source => What::SourceNotDirect,
            Which::Target => What::TargetNotDirect,
        };
        file.entry.report(worker.operation, what, Some(lost.cause.errno), Severity::Warning);
    }
}

fn keep_attributes(run: &Run<'_>, file: &Finished<'_>) {
    if !metadata::keeps_anything(run.policy) {
        return;
    }
    let target = &file.target;
    let owner = target.before.map(|before| (before.uid, before.gid)).or(file.new_owner);
    // Where nobody can tell beforehand, the file itself is asked; unasked, it is simply set.
    let owner = owner
        .or_else(|| fstat(&target.fd).ok().map(|now| (now.uid, now.gid)))
        .unwrap_or((u32::MAX, u32::MAX));
    let made = metadata::NewTarget { mode: target.mode, inherits_acl: file.inherits, owner };
    let lost =
        metadata::keep((file.source.as_fd(), file.stat), target.fd.as_fd(), made, run.policy);
    file.entry.lost(run, lost);
}

fn take_away(worker: &mut Worker<'_, '_>, file: &Finished<'_>, ours: Option<&Stat>) {
    Leftover::of(file.entry, file.stat, &file.target).take_away(worker, ours);
}

/// A target that has not got all its bytes.
pub(super) struct Leftover<'a> {
    entry: &'a Entry<'a>,
    stat: &'a Stat,
    /// Whether this run made it.
    made: bool,
    leads_links: bool,
    backup: Option<&'a CStr>,
    temporary: Option<&'a Temporary>,
    /// What becomes of a file that has no name yet.
    fate: Fate,
}

/// What becomes of what there is of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It goes.
    Gone,
    /// It stays under its hidden name for a run that goes on.
    Kept,
}

impl<'a> Leftover<'a> {
    pub(super) fn of(entry: &'a Entry<'a>, stat: &'a Stat, target: &'a Target) -> Leftover<'a> {
        Leftover {
            entry,
            stat,
            made: target.mode.is_some(),
            leads_links: target.leads_links,
            backup: target.backup.as_deref(),
            temporary: target.temporary.as_deref(),
            fate: Fate::Gone,
        }
    }

    pub(super) fn meeting(self, fate: Fate) -> Leftover<'a> {
        Leftover { fate, ..self }
    }

    /// Removes an unfinished file that this run made, and every name that was made of it. With a
    /// description of it only if the name still is that file, for it may be somebody else's by now.
    pub(super) fn take_away(&self, worker: &mut Worker<'_, '_>, ours: Option<&Stat>) {
        let (run, entry) = (worker.operation, self.entry);
        if self.leads_links {
            for waiting in run.links.abandoned(identity(self.stat)) {
                hardlink::give_up(worker, waiting);
            }
            for other in run.links.failed(identity(self.stat)) {
                hardlink::unmake(run, &other.node, &other.name);
                let other = Entry {
                    node: &other.node,
                    source: &other.source,
                    target: &other.name,
                    rest: None,
                };
                other.fail(run, What::CreateHardLink, None);
            }
        }
        if !self.made && self.temporary.is_none() {
            return;
        }
        let removed = run.cache.of(entry.node).and_then(|handles| {
            if let Some(temporary) = self.temporary {
                if let Some(backup) = self.backup {
                    existing::restore(run, handles.target(), entry, backup);
                }
                return match self.fate {
                    Fate::Gone => temporary.discard(handles.target()),
                    Fate::Kept => Ok(()),
                };
            }
            let now = statat(handles.target(), entry.target)?;
            if ours.is_none_or(|ours| now.same_file(ours)) {
                unlinkat(handles.target(), entry.target)?;
            }
            if let Some(backup) = self.backup {
                existing::restore(run, handles.target(), entry, backup);
            }
            Ok(())
        });
        if let Err(error) = removed
            && error.errno != haul_sys::Errno::NOENT
        {
            entry.fail(run, What::Remove, Some(error.errno));
        }
    }
}

/// Puts a failure of the data path into the engine's terms.
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
        DataError::Unfit { line, why } => {
            (What::MethodUnfit(haul_io::ladder::name(line), why), None)
        }
        DataError::Refused { line, cause } => {
            (What::MethodRefused(haul_io::ladder::name(line)), Some(cause.errno))
        }
        DataError::Changed | DataError::Stopped => (What::Changed, None),
    }
}
