//! Flags of regular files on their way through the steps of a copy: read from the source and set before the
//! bytes, and set when the file has its names.

use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use haul_sys::fs::{Follow, Kind, OpenHow, Stat, fstat, fsync, openat};
use haul_sys::{Call, CallError, Errno};

use super::finished::pair_of;
use super::item::Target;
use super::next::{Filling, Next};
use super::pin_later::Unpinned;
use super::unfinished::Unfinished;
use crate::copy::entry::Entry;
use crate::copy::run::Run;
use crate::data::error::What;
use crate::data::request::{Appearance, Sync};
use crate::metadata::{Flags, Kept};
use crate::names::by_identity::identity;

/// Reads the flags of a source, and gives the empty target those that count for its bytes. A move refuses a
/// source that it could not remove.
pub(super) fn begin<'a>(
    run: &Run<'_>,
    mut filling: Filling<'a>,
) -> ControlFlow<Next<'a>, Filling<'a>> {
    let Filling { entry, source, stat, target } = &mut filling;
    let is_regular = stat.kind() == Kind::Regular
        && target.before.is_none_or(|before| before.kind() == Kind::Regular);
    if !run.policy.preserve.flags.wanted() || !is_regular {
        return ControlFlow::Continue(filling);
    }
    let mut lost = Vec::new();
    let pair = pair_of(run, entry.node, stat, source, target);
    let tells = (pair.source, entry.node.attributes.projects());
    let flags = Flags::read(source.as_fd(), tells, run.policy, &mut lost);
    if flags.pins() && run.copied.is_some() {
        entry.fail(run, What::Pinned, Some(Errno::PERM));
        let ours = fstat(&target.fd).ok();
        return ControlFlow::Break(Unfinished::of(entry, target).take_away(run, ours.as_ref()));
    }
    flags.apply_before_bytes(target.fd.as_fd(), run.policy, &mut lost);
    target.kept = entry.lost(run, stat, lost).and(target.kept);
    target.flags = flags;
    ControlFlow::Continue(filling)
}

/// Pins a file that has its name, if its source is immutable or append-only: now, or at the end of the run if
/// it gets more names. With `--durable` and `--fsync`, waits until that is on stable storage.
pub(super) fn pin(run: &Run<'_>, entry: &Entry<'_>, stat: &Stat, target: &Target) -> Kept {
    if !target.flags.pins() {
        return Kept::All;
    }
    if target.leads_links.is_some() {
        if let Ok(now) = fstat(&target.fd) {
            run.pin_later.add(Unpinned {
                node: Arc::clone(entry.node),
                source: entry.source.to_owned(),
                target: entry.target.to_owned(),
                stat: *stat,
                id: identity(&now),
                flags: target.flags,
            });
        }
        return Kept::All;
    }
    pin_open(run, entry, stat, (target.fd.as_fd(), target.flags))
}

fn pin_open(
    run: &Run<'_>,
    entry: &Entry<'_>,
    stat: &Stat,
    (file, flags): (BorrowedFd<'_>, Flags),
) -> Kept {
    let kept = entry.lost(run, stat, flags.pin(file, run.policy));
    let waits = run.policy.sync == Sync::Files || run.policy.appearance == Appearance::Durable;
    if waits && let Err(error) = fsync(file) {
        entry.fail(run, What::Sync, Some(error.errno));
        return Kept::NotAll;
    }
    kept
}

/// Pins the files that have got all their names. A run that was stopped pins none of them: the run that
/// resumes it has names to add.
pub(crate) fn pin_remaining(run: &Run<'_>) {
    for file in run.pin_later.take() {
        if run.stopped() {
            return;
        }
        let entry =
            Entry { node: &file.node, source: &file.source, target: &file.target, rest: None };
        let opened = run.cache.of(&file.node).and_then(|handles| {
            let how = OpenHow::READ.following(Follow::No);
            let opened = run.with_descriptors(|| openat(handles.target(), &file.target, how))?;
            let is_same = identity(&fstat(&opened)?) == file.id;
            if is_same { Ok(opened) } else { Err(CallError::new(Call::Openat, Errno::STALE)) }
        });
        match opened {
            Ok(opened) => {
                let _reported = pin_open(run, &entry, &file.stat, (opened.as_fd(), file.flags));
            }
            Err(error) => entry.fail(run, What::Flags, Some(error.errno)),
        }
    }
}
