//! Flags of regular files on their way through the steps of a copy: read from the source and set before the
//! bytes. Those that pin a file come at the end of the run.

use std::ops::ControlFlow;
use std::os::fd::AsFd;

use haul_io::flags::Origin;
use haul_sys::Errno;
use haul_sys::fs::{Kind, OpenHow, Stat, fstat, openat};

use super::finished::pair_of;
use super::item::{Item, Target};
use super::next::{Filling, Next};
use super::pin_later::Unpinned;
use super::unfinished::Unfinished;
use super::{find, inherited};
use crate::copy::entry::{Entry, OpenEntry};
use crate::copy::run::Run;
use crate::data::error::What;
use crate::metadata::Flags;
use crate::names::by_identity::identity;
use crate::names::path::directory_of;

/// Reads the flags of a source, and gives the empty target those that count for its bytes, and those of the file
/// that it replaces. A move refuses a source that it could not remove.
pub(super) fn begin<'a>(
    run: &Run<'_>,
    mut filling: Filling<'a>,
) -> ControlFlow<Next<'a>, Filling<'a>> {
    let Filling { entry, source, stat, target } = &mut filling;
    let own = entry.handles.target();
    if let Some(temporary) = &target.temporary
        && let Some((directory, name, _)) = temporary.predecessor(own, entry.target)
    {
        inherited::take_over_flags(run, entry, target.fd.as_fd(), (directory, name));
    }
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
        return ControlFlow::Break(Unfinished::of(entry, target).take_away(run));
    }
    let above = directory_of(entry.target.to_bytes());
    let origin = match (&target.temporary, target.before) {
        (Some(temporary), _) => Origin::Other(temporary.place(own, entry.target).0, c"."),
        (None, None) => Origin::Made,
        (None, Some(_)) => Origin::Other(own, &above),
    };
    flags.apply_before_bytes(target.fd.as_fd(), origin, run.policy, &mut lost);
    target.kept = entry.lost(run, stat, lost).and(target.kept);
    target.flags = flags;
    ControlFlow::Continue(filling)
}

/// Returns a file that has its name as one to be pinned at the end of the run, if its source is immutable or
/// append-only.
pub(super) fn unpinned(
    run: &Run<'_>,
    entry: &Entry<'_>,
    stat: &Stat,
    target: &Target,
) -> Option<Unpinned> {
    if !target.flags.pins() {
        return None;
    }
    match fstat(&target.fd) {
        Ok(now) => Some(Unpinned::of(entry, stat, identity(&now), target.flags)),
        Err(error) => {
            entry.fail(run, What::Flags, Some(error.errno));
            None
        }
    }
}

/// Returns the flags of the source of a file that an earlier run may have finished, if the copy is to be
/// immutable or append-only: that run pins nothing if it is killed. What cannot be read is reported if the file
/// has to be copied.
pub(super) fn pinning(run: &Run<'_>, entry: &OpenEntry<'_>, item: &Item) -> Option<Flags> {
    if !Flags::may_pin(run.policy) || item.stat.kind() != Kind::Regular {
        return None;
    }
    let how = OpenHow::READ.following(find::follows(run, entry));
    let open = || openat(entry.handles.source(), entry.source, how);
    let file = run.with_descriptors(open).ok()?;
    fstat(&file).ok().filter(|now| now.same_file(&item.stat))?;
    let tells = (entry.node.pair.source, entry.node.attributes.projects());
    let flags = Flags::read(file.as_fd(), tells, run.policy, &mut Vec::new());
    flags.pins().then_some(flags)
}
