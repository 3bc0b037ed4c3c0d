//! Pins files and directories at the end of a run: makes them immutable or append-only.

use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use haul_sys::fs::{Follow, OpenHow, fstat, fsync, openat};
use haul_sys::{Call, CallError, Errno};

use super::pin_later::Unpinned;
use crate::copy::entry::Entry;
use crate::copy::run::Run;
use crate::data::error::What;
use crate::data::request::{Appearance, Sync};
use crate::journal::Secure;
use crate::metadata::Kept;
use crate::names::by_identity::identity;

/// Pins what is complete, at the end of a run in which nothing failed; otherwise reports what is not pinned. A run
/// that was stopped does neither.
pub(crate) fn pin_remaining(run: &Run<'_>) {
    let files = run.pin_later.take();
    if files.is_empty() || run.stopped() {
        return;
    }
    run.write_journal(Secure::Yes);
    let has_failed = run.control.failures.load(Ordering::Relaxed) > 0;
    for file in files {
        if run.stopped() {
            return;
        }
        if has_failed {
            let Unpinned { node, source, target, .. } = &file;
            Entry { node, source, target, rest: None }.fail(run, What::NotPinned, None);
        } else {
            pin(run, &file);
        }
    }
}

fn pin(run: &Run<'_>, file: &Unpinned) {
    let Unpinned { node, source, target, stat, report, .. } = file;
    let entry = Entry { node, source, target, rest: None };
    let kept = match set_flags(run, &entry, file) {
        Ok(kept) => kept,
        Err((what, errno)) => {
            entry.fail(run, what, Some(errno));
            Kept::NotAll
        }
    };
    if let Some((before, backup)) = report {
        entry.tell_copied(run, (stat.kind(), before.and(kept)), backup.as_deref());
    }
}

/// Sets the flags. With `--durable` and `--fsync`, waits until they are on stable storage.
fn set_flags(run: &Run<'_>, entry: &Entry<'_>, unpinned: &Unpinned) -> Result<Kept, (What, Errno)> {
    let opened = run.cache.of(&unpinned.node).and_then(|handles| {
        let how = OpenHow::READ.following(Follow::No);
        let opened = run.with_descriptors(|| openat(handles.target(), &unpinned.target, how))?;
        let is_same = identity(&fstat(&opened)?) == unpinned.id;
        if is_same { Ok(opened) } else { Err(CallError::new(Call::Openat, Errno::STALE)) }
    });
    let file = opened.map_err(|error| (What::Flags, error.errno))?;
    let kept = entry.lost(run, &unpinned.stat, unpinned.flags.pin(file.as_fd(), run.policy));
    let waits = run.policy.sync == Sync::Files || run.policy.appearance == Appearance::Durable;
    if waits {
        fsync(&file).map_err(|error| (What::Sync, error.errno))?;
    }
    Ok(kept)
}
