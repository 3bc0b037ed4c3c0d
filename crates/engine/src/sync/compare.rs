//! Compares a source with the entry of the target that has its name.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use haul_io::digest::TABLE;
use haul_io::stream::Source;
use haul_io::sum::hash_file;
use haul_sys::fs::{Follow, Kind, OpenHow, Stat, fstat, openat, readlinkat};
use haul_sys::{Call, CallError, Errno};

use crate::data::error::What;
use crate::data::request::{ModePolicy, Policy, TargetLinks};
use crate::data::synchronize::{Changes, Compared, SameBy, Synchronize, TimeChange, is_same_time};
use crate::decide::{self, Taken};
use crate::metadata::{Attribute, attributes_at, granted_mode, lists_at};
use crate::names::at::{At, Sides};

/// Source and target of one name, each with its description.
#[derive(Clone, Copy)]
pub(crate) struct Twins<'a> {
    pub(crate) sides: Sides<'a>,
    pub(crate) source: &'a Stat,
    /// Whether the source's name is followed if it is a symbolic link.
    pub(crate) follow: Follow,
    pub(crate) target: &'a Stat,
    /// Precision of the target's times in nanoseconds.
    pub(crate) step_ns: i128,
}

/// Returns the entry of the target that a source is compared with.
pub(crate) fn seen(taken: &Taken, source: Kind, policy: &Policy) -> Stat {
    let reached = taken.reached().filter(|reached| {
        source == Kind::Directory
            && reached.kind() == Kind::Directory
            && policy.target_links == TargetLinks::KeepDirectory
    });
    reached.unwrap_or(taken.link)
}

/// Compares two entries. Entries of different kinds have nothing in common. Blocks while it reads both files, if the
/// rules compare contents. Fails with the action that failed.
pub(crate) fn compare(
    twins: Twins<'_>,
    rules: &Synchronize,
    policy: &Policy,
) -> Result<Compared, (What, Errno)> {
    let Twins { sides, source, target, .. } = twins;
    let kind = source.kind();
    if kind != target.kind() {
        return Ok(Compared { is_same: false, changes: Changes::NEW });
    }
    let mut changes = of_attributes(twins, rules, policy);
    let is_timely = is_same_time(source.mtime, target.mtime, rules.window_s(), twins.step_ns);
    let is_same = match kind {
        Kind::Regular => {
            changes.size = source.size != target.size;
            if rules.same == SameBy::Content {
                changes.content = changes.size || !has_same_bytes(twins, policy)?;
            }
            match rules.same {
                SameBy::SizeAndTime { .. } => !changes.size && is_timely,
                SameBy::Size => !changes.size,
                SameBy::Content => !changes.content,
                SameBy::Never => false,
            }
        }
        Kind::Symlink => {
            let text = |at: At<'_>, what| {
                readlinkat(at.directory, at.name).map_err(|error| (what, error.errno))
            };
            changes.content =
                text(sides.source, What::ReadLink)? != text(sides.target, What::StatTarget)?;
            !changes.content
        }
        Kind::BlockDevice | Kind::CharDevice => {
            changes.content = source.rdev != target.rdev;
            !changes.content
        }
        Kind::Directory | Kind::Fifo | Kind::Socket | Kind::Unknown => true,
    };
    let keeps_times = policy.preserve.times.wanted();
    changes.time = match keeps_times && rules.keeps_times(kind) {
        true if is_timely => TimeChange::Same,
        true => TimeChange::Kept,
        false if is_same => TimeChange::Same,
        // As rsync reports it of a link whose time is left out.
        false if keeps_times => TimeChange::Kept,
        false => TimeChange::Now,
    };
    Ok(Compared { is_same, changes })
}

/// Returns the attributes in which two entries differ, apart from their times.
fn of_attributes(twins: Twins<'_>, rules: &Synchronize, policy: &Policy) -> Changes {
    let Twins { sides, source, target, follow, .. } = twins;
    let kept = &policy.preserve;
    let is_link = source.kind() == Kind::Symlink;
    let mut changes = Changes {
        mode: kept.mode == ModePolicy::Keep
            && !is_link
            && source.permissions() != target.permissions(),
        ..Changes::default()
    };
    let replaced_mode = decide::replaced_mode(source, target, policy);
    changes.mode |= replaced_mode.is_some();
    if kept.ownership.wanted() {
        changes.owner = policy.privileged && source.uid != target.uid;
        changes.group = source.gid != target.gid
            && (policy.privileged || haul_sys::process::is_in_group(source.gid));
    }
    let is_kept = kept.mode == ModePolicy::Keep;
    if changes.mode && is_kept && kept.ownership.wanted() && source.kind() == Kind::Regular {
        // A file of another owner does not get the bits with which a program runs with that owner's rights.
        let uid = if changes.owner { source.uid } else { target.uid };
        let gid = if changes.group { source.gid } else { target.gid };
        let granted = granted_mode((uid, gid), source, source.permissions());
        changes.mode = granted != target.permissions();
    }
    if rules.acls && !is_link {
        changes.acl = differ(lists_at(sides.source, follow), lists_at(sides.target, Follow::No));
    }
    if kept.xattr.wanted() {
        changes.xattr =
            differ(attributes_at(sides.source, follow), attributes_at(sides.target, Follow::No));
    }
    changes
}

/// Returns whether two sides have other attributes. What cannot be read counts as another one: setting it is then
/// reported as a failure.
fn differ(
    source: haul_sys::Result<Vec<Attribute>>,
    target: haul_sys::Result<Vec<Attribute>>,
) -> bool {
    match (source, target) {
        (Ok(source), Ok(target)) => source != target,
        _ => true,
    }
}

/// Returns whether two files of one size have the same bytes. A target that cannot be read has others: it is replaced.
fn has_same_bytes(twins: Twins<'_>, policy: &Policy) -> Result<bool, (What, Errno)> {
    let Twins { sides, source, target, follow, .. } = twins;
    if source.same_file(target) {
        return Ok(true);
    }
    let chosen = policy.synchronize.as_ref().and_then(|rules| rules.comparing);
    let digest = |at: At<'_>, follow, described: &Stat| {
        let file = open(at, follow, described)?;
        let mut digest = chosen.unwrap_or(&TABLE[0]).start();
        hash_file(Source::Own(Arc::new(file)), described, &policy.data, &mut digest)?;
        Ok::<_, CallError>(digest.finish())
    };
    let theirs =
        digest(sides.source, follow, source).map_err(|error| (What::OpenSource, error.errno))?;
    Ok(digest(sides.target, Follow::No, target).is_ok_and(|ours| ours == theirs))
}

/// Opens a file that was described.
fn open(at: At<'_>, follow: Follow, described: &Stat) -> haul_sys::Result<OwnedFd> {
    let file = openat(at.directory, at.name, OpenHow::READ.following(follow))?;
    let is_same = fstat(file.as_fd())?.same_file(described);
    if is_same { Ok(file) } else { Err(CallError::new(Call::Openat, Errno::STALE)) }
}
