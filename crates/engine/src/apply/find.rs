//! Finding: describes an entry, and opens it where its bytes are certainly wanted.

use std::os::fd::OwnedFd;

use haul_sys::fs::{Access, Follow, Kind, OpenHow, Stat, fstat, openat, statat, statat_follow};

use super::item::{Content, Item};
use crate::context::{Task, Worker};
use crate::entry::Entry;
use crate::error::{Severity, What};
use crate::journal::Journal;
use crate::request::{Borders, Consent, Dereference, Existing, Make, Recursion};
use crate::run::Run;
use crate::walk::node::identity;
use haul_tree::Slot;

/// Describes an entry; reports and returns `None` when that fails or it is to be left out.
pub(super) fn find(
    worker: &mut Worker<'_, '_>,
    task: &Task,
    entry: &Entry<'_>,
    slot: &Slot,
) -> Option<Item> {
    let run = worker.operation;
    if slot.kind == Some(Kind::Regular) && is_wanted_anyway(run, entry) {
        return open_at_once(run, task, entry, slot);
    }
    let link = match statat(task.handles.source(), entry.source) {
        Ok(stat) => stat,
        Err(error) => {
            entry.fail(run, What::Stat, Some(error.errno));
            return None;
        }
    };
    let stat = if link.kind() == Kind::Symlink && follows(run, entry) == Follow::Yes {
        match statat_follow(task.handles.source(), entry.source) {
            Ok(stat) => stat,
            Err(error) => {
                entry.fail(run, What::Stat, Some(error.errno));
                return None;
            }
        }
    } else {
        link
    };
    if entry.is_operand() && entry.rest.is_none() && is_given_twice(run, entry, &stat) {
        return None;
    }
    let content = content(run, entry, &stat)?;
    if is_beyond_border(run, entry, task, &stat) {
        return None;
    }
    Some(Item { slot: *slot, content, stat, link, backup: None, target: None })
}

/// Warns of an operand that stands for what another operand stood for before, and leaves it out.
fn is_given_twice(run: &Run<'_>, entry: &Entry<'_>, stat: &Stat) -> bool {
    let is_directory = stat.kind() == Kind::Directory;
    if run.policy.backup.is_some() && !is_directory {
        return false;
    }
    if run.is_first_of_its_kind(entry.target, identity(stat)) {
        return false;
    }
    let what = if is_directory { What::DirectoryGivenTwice } else { What::GivenTwice };
    entry.report(run, what, None, Severity::Warning);
    true
}

/// A file that is to be copied whatever the target says is opened without being described first:
/// the descriptor tells the same, and one call less is a seventh of the time.
fn is_wanted_anyway(run: &Run<'_>, entry: &Entry<'_>) -> bool {
    run.policy.make == Make::Copy
        && run.policy.existing == Existing::Overwrite
        && run.policy.consent == Consent::NotNeeded
        && run.policy.backup.is_none()
        // Most of them may be there already.
        && !run.journal.is_some_and(Journal::knows_finished)
        && !run.tells_entries
        && !entry.is_operand()
}

fn open_at_once(run: &Run<'_>, task: &Task, entry: &Entry<'_>, slot: &Slot) -> Option<Item> {
    let opened = open(run, task, entry, OpenHow::READ)?;
    let stat = match fstat(&opened) {
        Ok(stat) => stat,
        Err(error) => {
            entry.fail(run, What::Stat, Some(error.errno));
            return None;
        }
    };
    if stat.kind() != Kind::Regular {
        entry.fail(run, What::Replaced, None);
        return None;
    }
    if is_beyond_border(run, entry, task, &stat) {
        return None;
    }
    Some(Item {
        slot: *slot,
        content: Content::Data(Some(opened)),
        stat,
        link: stat,
        backup: None,
        target: None,
    })
}

/// Opens a source whose description is known, and makes sure that it still fits.
pub(super) fn open_described(
    run: &Run<'_>,
    task: &Task,
    entry: &Entry<'_>,
    stat: &Stat,
) -> Option<OwnedFd> {
    let mut how = OpenHow::READ.following(follows(run, entry));
    if stat.kind() != Kind::Regular {
        how = how.waiting();
    }
    let opened = open(run, task, entry, how)?;
    match fstat(&opened) {
        Ok(now) if now.same_file(stat) && now.kind() == stat.kind() => Some(opened),
        Ok(_) => {
            entry.fail(run, What::Replaced, None);
            None
        }
        Err(error) => {
            entry.fail(run, What::Stat, Some(error.errno));
            None
        }
    }
}

/// Opens a source of which only the attributes are wanted: for reading if that is allowed, for
/// then its extended attributes can be read, too.
pub(super) fn open_attributes(
    run: &Run<'_>,
    task: &Task,
    entry: &Entry<'_>,
    stat: &Stat,
) -> Option<OwnedFd> {
    let how = OpenHow::READ.following(follows(run, entry));
    let described = OpenHow { access: Access::Path, ..how };
    let opened = run
        .with_descriptors(|| openat(task.handles.source(), entry.source, how))
        .or_else(|_| openat(task.handles.source(), entry.source, described));
    match opened {
        Ok(opened) if fstat(&opened).is_ok_and(|now| now.same_file(stat)) => Some(opened),
        Ok(_) => {
            entry.fail(run, What::Replaced, None);
            None
        }
        Err(error) => {
            entry.fail(run, What::OpenSource, Some(error.errno));
            None
        }
    }
}

fn open(run: &Run<'_>, task: &Task, entry: &Entry<'_>, how: OpenHow) -> Option<OwnedFd> {
    match run.with_descriptors(|| openat(task.handles.source(), entry.source, how)) {
        Ok(opened) => Some(opened),
        Err(error) => {
            entry.fail(run, What::OpenSource, Some(error.errno));
            None
        }
    }
}

/// Tells whether an entry that is a link stands for what it leads to.
pub(super) fn follows(run: &Run<'_>, entry: &Entry<'_>) -> Follow {
    if entry.rest.is_some() {
        return Follow::Yes;
    }
    match run.policy.dereference {
        Dereference::Always => Follow::Yes,
        Dereference::Operands if entry.is_operand() => Follow::Yes,
        Dereference::Operands | Dereference::Never => Follow::No,
    }
}

fn content(run: &Run<'_>, entry: &Entry<'_>, stat: &Stat) -> Option<Content> {
    if entry.rest.is_some() {
        if stat.kind() == Kind::Directory {
            return Some(Content::Directory);
        }
        entry.fail(run, What::NotADirectory, None);
        return None;
    }
    match stat.kind() {
        Kind::Regular => Some(Content::Data(None)),
        Kind::Directory if run.policy.recursion == Recursion::No => {
            entry.fail(run, What::OmittedDirectory, None);
            None
        }
        Kind::Directory => Some(Content::Directory),
        Kind::Symlink => Some(Content::Symlink),
        Kind::Fifo | Kind::Socket | Kind::BlockDevice | Kind::CharDevice => {
            Some(if run.policy.reads_specials() { Content::Data(None) } else { Content::Special })
        }
        Kind::Unknown => {
            entry.fail(run, What::UnknownKind, None);
            None
        }
    }
}

/// With `-x`: files mounted over files are left out; a directory that is a mount point is made,
/// and left empty when it is entered.
fn is_beyond_border(run: &Run<'_>, entry: &Entry<'_>, task: &Task, stat: &Stat) -> bool {
    run.policy.borders == Borders::Stay
        && !entry.is_operand()
        && stat.kind() != Kind::Directory
        && follows(run, entry) == Follow::No
        && stat.dev != task.node.root_dev
}
