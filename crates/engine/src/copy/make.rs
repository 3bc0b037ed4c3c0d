//! Makes names: gives an entry its name in the target. One worker at a time makes names in each
//! directory.

use std::ops::ControlFlow;

use super::created::{Created, make_unopened};
use super::existing::TargetState;
use super::item::Item;
use super::links::Claim;
use super::{
    already_done, among, basis, directory, existing, find, hardlink, links, regular, symlink,
};
use crate::copy::context::Worker;
use crate::copy::entry::OpenEntry;
use crate::data::error::What;
use crate::data::monitor::Outcome;
use crate::data::request::{Dereference, Make};
use crate::decide::{self, Contents};
use crate::journal::Names;
use crate::metadata::creation_mode;
use crate::names::known_names::SourceState;
use crate::names::timestamp_precision::precedes;
use crate::sync::shared::NameClaim;
use haul_sys::fs::{Kind, mknodat, statat};

/// Makes an entry in the target, and leaves a target open whose bytes are still missing.
pub(super) fn make(worker: &mut Worker<'_, '_>, entry: &OpenEntry<'_>, item: &mut Item) {
    let run = worker.operation;
    if let Some(synchronized) = &run.synchronized {
        match synchronized.claim(|| entry.target_path(), item.stat.kind()) {
            NameClaim::Own => {}
            NameClaim::Shared => item.is_shared = true,
            NameClaim::Earlier => return,
            NameClaim::Blocked => return entry.fail_unentered(run, What::JustCreated, None),
        }
    }
    if let Some(synchronized) = &run.synchronized {
        item.is_shared |= entry.rest.is_some() && !synchronized.rules.implied_attributes;
    }
    if decide::makes_nothing(run.policy) && existing::is_free(entry) {
        return existing::note_skipped(worker, entry, item.stat.kind());
    }
    if item.contents == Contents::Directory {
        directory::make(worker, entry, item);
        return;
    }
    match run.policy.make {
        Make::HardLink => return hardlink::to_source(worker, entry, item),
        Make::SymbolicLink => return symlink::to_source(worker, entry, item),
        Make::Copy | Make::Attributes => {}
    }
    if !decide::is_tracked(entry.role(), &item.stat, run.policy) {
        make_new(worker, entry, item, Names::One);
        return;
    }
    if let Some(peers) = &run.peers
        && let Some(owner) = peers.other_owner(item.stat.ino)
    {
        // One process makes all names of a file, so that they become links of one file.
        return run.routes.route(
            owner,
            entry.node,
            entry.source.to_owned(),
            entry.target.to_owned(),
        );
    }
    match run.links.claim(SourceState::of(&item.stat)) {
        Claim::Coming(coming) => coming.wait(entry, item),
        Claim::Made(_, handle @ Some(_)) if find::handle(run, entry) != handle => {
            // The inode number was used again: this is another file.
            make_new(worker, entry, item, Names::One);
        }
        Claim::Made(first, _) => hardlink::to_first(worker, entry, item, &first),
        Claim::First(claim) => {
            let complete = match (make_new(worker, entry, item, Names::Several), &mut item.target) {
                (Created::No, _) => return,
                (Created::Yes, Some(target)) => {
                    target.leads_links = Some(SourceState::of(&item.stat));
                    if target.temporary.is_some() {
                        links::Complete::Unnamed
                    } else {
                        links::Complete::NotYet
                    }
                }
                // The run links the other names to a file that it kept because the file is not
                // older.
                (Created::Yes | Created::Before, _) => links::Complete::Yes,
            };
            // Where the run follows links, another name may always occur.
            let follows = run.policy.dereference != Dereference::Never;
            let names = if follows { u64::MAX } else { item.stat.nlink };
            // If the file was changed a moment ago, another one with its number may get the same times.
            let is_recent = !precedes(item.stat.ctime, item.described_after);
            let handle = if is_recent { find::handle(run, entry) } else { None };
            claim.publish(entry, (&item.stat, names), complete, handle);
        }
    }
}

fn make_new(
    worker: &mut Worker<'_, '_>,
    entry: &OpenEntry<'_>,
    item: &mut Item,
    names: Names,
) -> Created {
    let run = worker.operation;
    if already_done::is_finished(worker, entry, item, names) {
        return Created::Before;
    }
    if item.source.is_some() {
        return regular::make_open(worker, entry, item);
    }
    let standing = existing::resolve(worker, entry, item);
    if let TargetState::Settled(done) = standing {
        return Created::settled(done);
    }
    let standing = match basis::make(worker, entry, item, standing) {
        ControlFlow::Continue(standing) => standing,
        ControlFlow::Break(created) => return created,
    };
    let among::Next::Here(standing) = among::settle(worker, entry, item, standing) else {
        return Created::No;
    };
    item.tell(run, entry, Outcome::Begun);
    let made = match item.contents {
        Contents::Data => regular::make(worker, entry, item, standing),
        Contents::Symlink => symlink::make(worker, entry, item, &standing),
        Contents::Special => make_special(worker, entry, item, &standing),
        Contents::Directory => Created::No,
    };
    if made == Created::Yes && matches!(item.contents, Contents::Symlink | Contents::Special) {
        already_done::note_named(run, entry, item, names);
        run.note_copied(&item.stat);
        if item.stat.nlink > 1 {
            let target = entry.handles.target();
            run.note_target(entry, &item.stat, || statat(target, entry.target));
        }
    }
    if let (Created::No, Some(backup)) = (made, item.backup.take()) {
        existing::restore(run, entry.handles.target(), entry, &backup);
    }
    made
}

/// Makes a FIFO, a socket or a device of the source's kind, with its device number. None of them is ever opened.
fn make_special(
    worker: &Worker<'_, '_>,
    entry: &OpenEntry<'_>,
    item: &Item,
    standing: &TargetState,
) -> Created {
    let (run, new_owner) = (worker.operation, entry.node.new_owner);
    let kind = item.stat.kind();
    let mode = creation_mode(&run.wanted(&item.stat, new_owner), run.policy, new_owner);
    let rdev = match kind {
        Kind::BlockDevice | Kind::CharDevice => item.stat.rdev,
        _ => 0,
    };
    let directory = entry.handles.target();
    make_unopened(worker, entry, item, standing, |name| {
        mknodat(directory, name, kind, mode, rdev).map(|()| mode)
    })
}
