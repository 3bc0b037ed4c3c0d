//! Regular files: makes a new file, or opens the existing file.

use std::sync::Arc;

use haul_sys::fs::{Access, Create, Follow, Kind, OpenHow, Stat, Wait, fstat, openat};
use haul_sys::{CallError, Errno};

use super::created::Created;
use super::existing::{Inherits, TargetState};
use super::item::{Item, Onto, Resumable, Target, Temporary};
use super::{among, existing, find, layout};
use crate::copy::context::Worker;
use crate::copy::entry::{Entry, OpenEntry};
use crate::copy::run::Run;
use crate::data::error::What;
use crate::data::request::{Appearance, Force, Make, Sync};
use crate::decide::{Seen, Taken, separates};
use crate::metadata::striping::creating;
use crate::metadata::{Flags, Kept};
use crate::names::by_identity::identity;

/// Makes the target of an open source, with an exclusive call and without looking at the name
/// first.
pub(super) fn make_open(
    worker: &mut Worker<'_, '_>,
    entry: &OpenEntry<'_>,
    item: &mut Item,
) -> Created {
    if worker.operation.policy.appears_whole() {
        // An exclusive call cannot report a taken name before all the bytes are written.
        let standing = existing::resolve(worker, entry, item);
        return make_among(worker, entry, item, standing);
    }
    match create(worker, entry, item) {
        Ok(()) => Created::Yes,
        Err(error) if error.errno == Errno::EXIST => {
            let standing = existing::resolve_taken(worker, entry, item, Seen::No);
            make_among(worker, entry, item, standing)
        }
        Err(error) => refused(worker, entry, error),
    }
}

/// Makes the target, unless another process has to.
fn make_among(
    worker: &mut Worker<'_, '_>,
    entry: &OpenEntry<'_>,
    item: &mut Item,
    standing: TargetState,
) -> Created {
    match among::settle(worker, entry, item, standing) {
        among::Next::Here(standing) => make_standing(worker, entry, item, standing),
        among::Next::Nothing => Created::No,
    }
}

fn make_standing(
    worker: &mut Worker<'_, '_>,
    entry: &OpenEntry<'_>,
    item: &mut Item,
    standing: TargetState,
) -> Created {
    match standing {
        TargetState::Overwrite(taken) => overwrite(worker, entry, item, &taken),
        TargetState::Replace(taken, inherits) => replace(worker, entry, item, &taken, inherits),
        TargetState::Free | TargetState::Merge(_) | TargetState::Swap => {
            create_or_fail(worker, entry, item)
        }
        TargetState::Settled(done) => Created::settled(done),
    }
}

/// Makes or opens the target of a source that the run has described but not opened, depending on
/// the state of the name.
pub(super) fn make(
    worker: &mut Worker<'_, '_>,
    entry: &OpenEntry<'_>,
    item: &mut Item,
    standing: TargetState,
) -> Created {
    let run = worker.operation;
    if run.policy.make == Make::Copy {
        if !find::has_source(run, entry, item) {
            return Created::No;
        }
    } else {
        // The copy needs only the attributes, which are available even if the file is unreadable.
        let Some(source) = find::open_attributes(run, entry, &item.stat) else {
            return Created::No;
        };
        item.source = Some(source);
    }
    make_standing(worker, entry, item, standing)
}

fn create_or_fail(worker: &mut Worker<'_, '_>, entry: &OpenEntry<'_>, item: &mut Item) -> Created {
    match create(worker, entry, item) {
        Ok(()) => Created::Yes,
        Err(error) => refused(worker, entry, error),
    }
}

fn create(
    worker: &mut Worker<'_, '_>,
    entry: &OpenEntry<'_>,
    item: &mut Item,
) -> Result<(), CallError> {
    let run = worker.operation;
    if run.policy.appears_whole() {
        return create_unseen(run, entry, item, Onto::Free);
    }
    if run.policy.sync == Sync::Groups {
        run.group.anchor(entry.node, entry.handles.target());
    }
    let mode = crate::metadata::creation_mode(&item.stat, run.policy, entry.node.new_owner);
    let layout = layout::wanted(run, entry, item);
    let how = creating(OpenHow::new_file(mode), layout.as_deref());
    let directory = entry.handles.target();
    let fd = run.creating(directory, entry.target, || openat(directory, entry.target, how))?;
    layout::give(run, entry, item, &fd, layout.as_deref());
    let mut id = None;
    entry.note_made(run, &item.stat, || fstat(&fd).inspect(|stat| id = Some(identity(stat))));
    let backup = item.backup.take();
    item.target = Some(Target {
        mode: Some(mode),
        id,
        backup,
        ..Target::open(fd, item.described_after, run.digests())
    });
    Ok(())
}

/// Makes a file that the run publishes under its name only when it is complete. Other entries that
/// depend on the name wait until then.
fn create_unseen(
    run: &Run<'_>,
    entry: &OpenEntry<'_>,
    item: &mut Item,
    onto: Onto,
) -> Result<(), CallError> {
    if run.policy.appearance == Appearance::Durable {
        run.group.anchor(entry.node, entry.handles.target());
    }
    let made = Temporary::make(run, entry, item, onto)?;
    let mut id = None;
    entry.note_made(run, &item.stat, || fstat(&made.fd).inspect(|stat| id = Some(identity(stat))));
    item.target = Some(Target {
        fd: made.fd,
        mode: made.mode,
        id,
        described_after: item.described_after,
        before: None,
        through_link: false,
        may_change: false,
        turn: None,
        leads_links: None,
        backup: item.backup.take(),
        digests: made.partial.as_ref().map_or_else(|| run.digests(), Resumable::block_digests),
        temporary: Some(Box::new(made.temporary)),
        partial: made.partial.map(Arc::new),
        flags: Flags::default(),
        kept: Kept::All,
    });
    Ok(())
}

/// Makes a file that replaces the existing file.
fn replace(
    worker: &mut Worker<'_, '_>,
    entry: &OpenEntry<'_>,
    item: &mut Item,
    taken: &Taken,
    inherits: Inherits,
) -> Created {
    let seen = match inherits {
        Inherits::Yes => taken.reached(),
        Inherits::No => None,
    };
    if !claims_replaced(worker.operation, entry, item, taken, inherits) {
        entry.fail(worker.operation, What::JustCreated, None);
        return Created::No;
    }
    let onto = match seen {
        // The new file replaces the referent of a link, not the link, as a write through the link
        // would.
        Some(seen) if taken.link.kind() == Kind::Symlink => Onto::Referent(seen),
        Some(seen) => Onto::Replaced(seen),
        None => Onto::Overwritten,
    };
    if entry.is_operand() {
        worker.operation.note_operand_name(entry.target, Ok(taken.link));
    }
    match create_unseen(worker.operation, entry, item, onto) {
        Ok(()) => Created::Yes,
        Err(error) => refused(worker, entry, error),
    }
}

/// Gives the file that is to be replaced to the entry: until the new one has its name, another entry may find
/// the old one, by a link or another spelling of the name. Of a file with other names, only this name is given.
fn claims_replaced(
    run: &Run<'_>,
    entry: &OpenEntry<'_>,
    item: &Item,
    taken: &Taken,
    inherits: Inherits,
) -> bool {
    let replaced = match inherits {
        Inherits::Yes => taken.reached(),
        Inherits::No => Some(taken.link),
    };
    let is_only_name = |file: &Stat| file.nlink == 1 || taken.link.kind() == Kind::Symlink;
    match replaced {
        Some(file) if is_only_name(&file) => entry.claims(run, &item.stat, &file),
        Some(_) if entry.may_be_met(run) => {
            !run.made.claim_name(entry.newcomer(&item.stat)).is_another()
        }
        _ => true,
    }
}

fn refused(worker: &mut Worker<'_, '_>, entry: &Entry<'_>, error: CallError) -> Created {
    // A name that ends in a slash can only be a directory; the kernel returns EISDIR for it.
    let errno = if error.errno == Errno::ISDIR && entry.target.to_bytes().ends_with(b"/") {
        Errno::NOTDIR
    } else {
        error.errno
    };
    entry.fail(worker.operation, What::CreateFile, Some(errno));
    Created::No
}

/// Opens the existing file, after the function has verified that the descriptor refers to the file
/// described before and not to the source. The file keeps its bytes until it is filled: another worker may
/// be writing to it, which has reached it by another name.
fn overwrite(
    worker: &mut Worker<'_, '_>,
    entry: &OpenEntry<'_>,
    item: &mut Item,
    taken: &Taken,
) -> Created {
    let run = worker.operation;
    let is_link = taken.link.kind() == Kind::Symlink;
    let Some(reached) = taken.reached() else {
        return overwrite_dangling(worker, entry, item);
    };
    let how = OpenHow {
        access: Access::Write,
        create: Create::No,
        follow: if is_link { Follow::Yes } else { Follow::No },
        // For a FIFO that the user named, the open waits for a reader. For any other FIFO, the open
        // does not wait.
        wait: if entry.is_operand() { Wait::Yes } else { Wait::No },
        extra: OpenHow::WRITE.extra,
    };
    let fd = match run.with_descriptors(|| openat(entry.handles.target(), entry.target, how)) {
        Ok(fd) => fd,
        Err(_) if run.policy.force == Force::IfUnopenable => {
            return remove_and_create(worker, entry, item);
        }
        Err(error) => return refused(worker, entry, error),
    };
    let before = match fstat(&fd) {
        Ok(before) => before,
        Err(error) => return refused(worker, entry, error),
    };
    if before.same_file(&item.stat) {
        entry.fail(run, What::SameFile, None);
        return Created::No;
    }
    if !before.same_file(&reached) {
        entry.fail(run, What::CreateFile, Some(Errno::STALE));
        return Created::No;
    }
    // Another worker may have taken it since the decision, for an entry of another directory.
    if !entry.claims(run, &item.stat, &before) {
        if separates(run.policy) && (is_link || before.nlink > 1) {
            return remove_and_create(worker, entry, item);
        }
        entry.fail(run, What::SharesJustCreated, None);
        return Created::No;
    }
    if entry.is_operand() {
        run.note_operand_name(entry.target, Ok(taken.link));
    }
    let target = Target::open(fd, item.described_after, run.digests());
    item.target = Some(Target { before: Some(before), through_link: is_link, ..target });
    Created::Yes
}

fn remove_and_create(
    worker: &mut Worker<'_, '_>,
    entry: &OpenEntry<'_>,
    item: &mut Item,
) -> Created {
    match existing::remove(worker, entry) {
        TargetState::Settled(done) => Created::settled(done),
        _ => create_or_fail(worker, entry, item),
    }
}

/// Makes the file that a dangling link points to (POSIXLY_CORRECT).
fn overwrite_dangling(
    worker: &mut Worker<'_, '_>,
    entry: &OpenEntry<'_>,
    item: &mut Item,
) -> Created {
    let run = worker.operation;
    let mode = crate::metadata::creation_mode(&item.stat, run.policy, entry.node.new_owner);
    let how = OpenHow {
        access: Access::Write,
        create: Create::IfAbsent(mode),
        follow: Follow::Yes,
        wait: Wait::No,
        extra: OpenHow::WRITE.extra,
    };
    let is_new = |stat: &Stat| stat.kind() == Kind::Regular && stat.size == 0;
    let directory = entry.handles.target();
    let opened = run
        .creating(directory, entry.target, || openat(directory, entry.target, how))
        .and_then(|fd| Ok((fstat(&fd)?, fd)));
    match opened {
        Ok((before, fd)) if is_new(&before) && !before.same_file(&item.stat) => {
            if !entry.claims(run, &item.stat, &before) {
                entry.fail(run, What::JustCreated, None);
                return Created::No;
            }
            item.target = Some(Target {
                before: Some(before),
                through_link: true,
                ..Target::open(fd, item.described_after, run.digests())
            });
            Created::Yes
        }
        // Another process has made a file there in the meantime; the user has not agreed to
        // overwrite it.
        Ok((before, _)) => {
            if before.same_file(&item.stat) {
                entry.fail(run, What::SameFile, None);
            } else {
                entry.fail(run, What::CreateFile, Some(Errno::STALE));
            }
            Created::No
        }
        Err(error) => refused(worker, entry, error),
    }
}
