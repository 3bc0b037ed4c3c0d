//! Commit groups: complete files that wait for a common flush, and how each file gets its name.
//!
//! Stable storage takes a whole flush for one file as for a thousand. With `--durable`, the run
//! therefore collects complete files without their names until the group is full: it has enough files or
//! bytes, or its first file has waited for ten seconds when another file is complete. One flush then
//! secures all of them, and each file has to show that it is stored. Only then do the files get their names.
//! A name that survives a power cut therefore always has the bytes of its file.
//!
//! A move collects files that have hidden names already ([`Sync::Groups`]): they count as copied only after
//! the flush.

use std::os::fd::AsFd;
use std::sync::Arc;

use haul_io::publish::Named;
use haul_io::quirk::GroupSync;
use haul_io::{DataError, stored};
use haul_sys::fs::{Follow, Stat, close, duplicate, fstat, fsync_names, open_directory};
use haul_sys::{CallError, Errno};

use super::complete::{Complete, finish, whole_digest};
use super::group::{GROUP_FILES, PendingCommit};
use super::next::Next;
use super::temporary::Published;
use super::unfinished::{Fate, Unfinished};
use super::{flags, resumable, verified};
use crate::copy::complete_directory::{is_reported, tell_copied};
use crate::copy::context::Worker;
use crate::copy::durable_names::sync_names;
use crate::copy::entry::Entry;
use crate::copy::node::Node;
use crate::copy::run::Run;
use crate::data::error::What;
use crate::data::monitor::WorkerCounters;
use crate::data::request::{Appearance, Existing, Sync};
use crate::journal::{FinishedEntry, Names as KnownNames, Publishing, Secure};
use crate::metadata::Kept;
use crate::names::file_systems::{Identified, Via};

/// Maximum number of files that the run syncs one by one, which leaves the data of other processes
/// alone.
const FEW_FILES: usize = 4;

/// Maximum number of directories that the run syncs one by one, for the same reason.
const FEW_DIRECTORIES: usize = 4;

/// Number of complete directories whose reports may wait for a flush.
const UNTOLD_DIRECTORIES: usize = 1024;

/// Adds a complete file to the group. If the group is full, takes and returns its files, which the
/// caller has to commit.
pub(super) fn add(run: &Run<'_>, held: PendingCommit) -> Vec<PendingCommit> {
    held.node.owe();
    // Where the run may have to copy parts again, the group holds the source descriptor as well.
    let each = if held.source.is_some() { 2 } else { 1 };
    let most = GROUP_FILES.min(run.budget.held / each).max(1);
    let mut waiting = run.group.waiting.lock();
    if waiting.add(held, most) { std::mem::take(&mut *waiting).files } else { Vec::new() }
}

/// Returns whether files wait for a flush.
pub(crate) fn has_waiting(run: &Run<'_>) -> bool {
    !run.group.waiting.lock().files.is_empty()
}

/// Takes and returns all files that wait, when no more files follow.
pub(super) fn remaining(run: &Run<'_>) -> Vec<PendingCommit> {
    let mut waiting = run.group.waiting.lock();
    std::mem::take(&mut *waiting).files
}

/// Verifies a file whose bytes were synced, if the policy requires it. A file that is not proved,
/// or that could not be synced, does not get its name.
pub(super) fn prove<'n>(
    worker: &mut Worker<'_, '_>,
    mut held: PendingCommit,
    synced: haul_sys::Result<()>,
) -> Next<'n> {
    let run = worker.operation;
    if run.abandons() {
        // What an interrupted move has copied stays for the next run, which compares it with the source.
        let stays = run.policy.sync == Sync::Groups;
        return if stays { Next::Done } else { abandon(run, &held) };
    }
    if let Err(error) = synced {
        held.entry().fail(run, What::Sync, Some(error.errno));
        return abandon(run, &held);
    }
    if run.reads_targets() && !verified::is_verified(worker, &mut held) {
        return abandon(run, &held);
    }
    Next::Publish(Box::new(held))
}

/// Writes the bytes of files to stable storage, with one flush where that is possible, after which each
/// file has to show that it is stored. A failure is final for its file: after it the kernel treats the pages
/// as clean. Also returns whether a flush covered the journal.
pub(super) fn secure(run: &Run<'_>, files: &[PendingCommit]) -> (Vec<haul_sys::Result<()>>, bool) {
    // The loop flushes each file system once: a second call would return 0 after a failure.
    let mut asked: Vec<(u64, bool)> = Vec::new();
    // A move flushes the file system in any case, so that the names are covered.
    if files.len() > FEW_FILES || run.policy.sync == Sync::Groups {
        for held in files.iter().filter(|held| held.is_sole_grouped()) {
            let dev = held.pair.target_dev;
            if !run.abandons() && !asked.iter().any(|(of, _)| *of == dev) {
                asked.push((dev, run.group.is_flushed(dev)));
            }
        }
    }
    let is_flushed = |held: &PendingCommit| {
        held.is_sole_grouped() && asked.contains(&(held.pair.target_dev, true))
    };
    // A failed flush does not tell which file lost bytes, so the loop syncs each file separately.
    let store = |held: &PendingCommit| {
        let (file, quirk) = (&held.target.fd, held.pair.target);
        match is_flushed(held) {
            _ if run.abandons() => Ok(()),
            true => stored::confirm(file, quirk, held.moved.written_bytes),
            false => stored::flush(file, quirk, held.moved.written_bytes),
        }
    };
    let covers = |(dev, flushed): &(u64, bool)| {
        *flushed && run.journal.is_some_and(|journal| journal.is_on(*dev))
    };
    (files.iter().map(store).collect(), asked.iter().any(covers))
}

/// Records in the journal that the run is about to publish files. If the run is killed before it records
/// that they are finished, the next one replaces them whatever their modes are: they are not the user's.
pub(super) fn note_publishing(run: &Run<'_>, files: &[PendingCommit]) -> Option<Publishing> {
    let journal = run.journal?;
    // A file that cannot be described is one that the next run may refuse to replace.
    let stats: Vec<(&PendingCommit, Stat)> =
        files.iter().filter_map(|held| Some((held, fstat(&held.target.fd).ok()?))).collect();
    let files: Vec<Identified<'_>> = stats
        .iter()
        .filter_map(|(held, stat)| {
            let via = Via::Open(held.target.fd.as_fd());
            run.file_systems.identified_apart_from_changes(via, stat)
        })
        .collect();
    let publishing = journal.note_publishing(&files);
    run.write_journal(Secure::Later);
    Some(publishing)
}

/// Publishes a complete file under its name, closes it and counts it.
pub(super) fn publish<'n>(worker: &Worker<'_, '_>, mut held: PendingCommit) -> Next<'n> {
    let run = worker.operation;
    if held.digest.is_none() {
        held.digest = whole_digest(run, &held.target, &held.stat);
    }
    let (mut kept, named) = match name(run, &held) {
        Ok((Published::Yes, kept, named)) => (held.target.kept.and(kept), named),
        Ok((Published::Left, ..)) => {
            WorkerCounters::one(&worker.local.counters.skipped);
            return abandon(run, &held);
        }
        Ok((Published::Refused, ..)) => {
            let taken_by_ours = run.policy.existing == Existing::KeepAndFail;
            let what = if taken_by_ours { What::NotReplacing } else { What::CreateFile };
            let errno = (!taken_by_ours).then_some(Errno::EXIST);
            held.entry().fail(run, what, errno);
            return abandon(run, &held);
        }
        Err((what, error)) => {
            held.entry().fail(run, what, Some(error.errno));
            return abandon(run, &held);
        }
    };
    let unpinned = flags::unpinned(run, &held.entry(), &held.stat, &held.target);
    let PendingCommit { node, source_name, target_name, stat, target, moved, digest, .. } = held;
    let entry = Entry { node: &node, source: &source_name, target: &target_name, rest: None };
    let (leads_links, may_change) = (target.leads_links, target.may_change);
    // If the target cannot be described, the only consequence is that a later run copies it again.
    if let Some(journal) = run.journal
        && let Ok(now) = fstat(&target.fd)
    {
        // Further names, and the flags that pin a file, change its ctime.
        let is_final = leads_links.is_none() && !target.flags.pins();
        let names = if is_final { KnownNames::One } else { KnownNames::Several };
        let finished = run.cache.of(&node).ok().and_then(|handles| {
            let via = Via::Name(handles.source(), &source_name);
            let source = run.file_systems.identified(via, &stat)?;
            let target = run.file_systems.identified(Via::Open(target.fd.as_fd()), &now)?;
            Some(FinishedEntry { source, target, place: entry.place(), names })
        });
        journal.note_finished(finished.as_ref(), target.described_after, digest.as_deref());
    }
    // The syncs before the publication have reported every error that close could report.
    if let Err(error) = close(target.fd) {
        entry.fail(run, What::Close, Some(error.errno));
        kept = Kept::NotAll;
    }
    let backup = target.backup;
    let complete =
        Complete { moved, named, leads_links, may_change, digest, kept, backup, unpinned };
    finish(worker, &entry, &stat, complete)
}

/// Gives a file its name. Also returns whether that is as stable as it has to be, and how the file got it.
fn name(
    run: &Run<'_>,
    held: &PendingCommit,
) -> Result<(Published, Kept, Named), (What, CallError)> {
    let Some(temporary) = &held.target.temporary else {
        return Ok((Published::Yes, Kept::All, Named::AtOnce));
    };
    if held.pair.target.group_sync == GroupSync::Short {
        // Network file systems, FUSE and quotas report the last failed write when a descriptor is
        // closed. The worker has to see that error before it publishes the file.
        let twin = duplicate(&held.target.fd).map_err(|error| (What::Close, error))?;
        close(twin).map_err(|error| (What::Close, error))?;
    }
    let handles = run.cache.of(&held.node).map_err(|error| (What::OpenDirectory, error))?;
    let (placed, named) =
        temporary.name(run, held, handles.target()).map_err(|error| (What::CreateFile, error))?;
    if run.policy.appearance == Appearance::Durable
        && let Some(directory) = temporary.elsewhere()
    {
        let synced = open_directory(directory, c".", Follow::No).and_then(fsync_names);
        if let Err(error) = synced {
            held.entry().fail(run, What::Sync, Some(error.errno));
            return Ok((placed, Kept::NotAll, named));
        }
    }
    Ok((placed, Kept::All, named))
}

/// Abandons a file that does not have its name yet.
fn abandon<'n>(run: &Run<'_>, held: &PendingCommit) -> Next<'n> {
    let stopped = run.stopped() && resumable::is_kept(run, &held.target, DataError::Stopped);
    let fate = if stopped { Fate::Kept } else { Fate::Gone };
    let entry = held.entry();
    Unfinished::of(&entry, &held.target).meeting(fate).take_away(run)
}

/// Whether a directory has been reported with its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owed {
    /// Its names are on stable storage, or a failure was reported.
    Nothing,
    /// Its names are flushed later, and then it is reported.
    Flush,
}

/// Records that a directory has got names that have to be on stable storage at the end of the run.
pub(crate) fn owe_names(run: &Run<'_>, node: &Arc<Node>) -> Owed {
    let can_group = node.pair.target.group_sync == GroupSync::Whole
        && run.group.anchor_of(node.pair.target_dev).is_some();
    if !can_group {
        sync_names(run, node);
        return Owed::Nothing;
    }
    let mut names = run.group.names.lock();
    if is_reported(run, node) {
        names.untold.push(Arc::clone(node));
    }
    if !names.many {
        names.directories.push(Arc::clone(node));
        if names.directories.len() > FEW_DIRECTORIES {
            names.directories.clear();
            names.many = true;
        }
    }
    if names.untold.len() >= UNTOLD_DIRECTORIES {
        let untold = std::mem::take(&mut names.untold);
        drop(names);
        tell_flushed(run, untold);
    }
    Owed::Flush
}

/// Syncs the published names at the end of the run: directory by directory where the directories
/// are few.
pub(crate) fn secure_names(run: &Run<'_>) {
    let names = std::mem::take(&mut *run.group.names.lock());
    if names.many {
        let anchors = run.group.anchors.lock().clone();
        for anchor in anchors {
            // An earlier failure may have concerned the names, so it counts here as well.
            if let Err(error) = anchor.flush() {
                run.fail_root(What::SyncNames, error.errno);
            }
        }
        return tell_flushed(run, names.untold);
    }
    names.directories.iter().for_each(|node| sync_names(run, node));
    names.untold.iter().for_each(|node| tell_copied(run, node));
}

/// Flushes the file systems of directories, and reports the directories where that succeeds. A failure stays
/// with the file system, and is reported at the end of the run.
fn tell_flushed(run: &Run<'_>, untold: Vec<Arc<Node>>) {
    let mut flushed: Vec<(u64, bool)> = Vec::new();
    for node in untold {
        let dev = node.pair.target_dev;
        if !flushed.iter().any(|(known, _)| *known == dev) {
            flushed.push((dev, run.group.is_flushed(dev)));
        }
        if flushed.contains(&(dev, true)) {
            tell_copied(run, &node);
        }
    }
}
