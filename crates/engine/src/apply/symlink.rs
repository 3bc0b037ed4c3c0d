//! Symbolic links: copies of links, and links to the source.

use std::ffi::{CStr, CString};

use haul_sys::Errno;
use haul_sys::fs::{readlinkat, symlinkat};

use super::Item;
use super::existing::{self, Answer};
use super::make::Made;
use crate::error::What;
use crate::metadata::by_name::{self, Place};
use crate::monitor::{Outcome, Shard};
use crate::run::Entry;
use crate::worker::{Task, Worker};

/// Makes a symbolic link with the text of the source's.
pub(super) fn make(worker: &Worker<'_, '_>, task: &Task, entry: &Entry<'_>, item: &Item) -> Made {
    let run = worker.run;
    entry.tell(run, Outcome::Copied, item.stat.kind());
    let text = match readlinkat(task.handles.source(), entry.source) {
        Ok(text) => text,
        Err(error) => {
            entry.fail(run, What::ReadLink, Some(error.errno));
            return Made::No;
        }
    };
    if make_link(worker, task, entry, item, &text) == Made::No {
        return Made::No;
    }
    let source = Place { directory: task.handles.source(), name: entry.source };
    let target = Place { directory: task.handles.target(), name: entry.target };
    entry.lost(run, by_name::keep(source, &item.stat, target, run.me, run.policy));
    Made::Yes
}

fn make_link(
    worker: &Worker<'_, '_>,
    task: &Task,
    entry: &Entry<'_>,
    item: &Item,
    text: &CStr,
) -> Made {
    let link = || symlinkat(text, task.handles.target(), entry.target);
    let mut answer = link();
    if answer.is_err_and(|error| error.errno == Errno::EXIST) {
        match existing::make_room(worker, task, entry, item) {
            Answer::Free => answer = link(),
            Answer::Settled => return Made::No,
        }
    }
    match answer {
        Ok(()) => {
            Shard::one(&worker.shard.symlinks);
            Made::Yes
        }
        Err(error) => {
            entry.fail(worker.run, What::CreateSymlink, Some(error.errno));
            Made::No
        }
    }
}

/// Makes the target a symbolic link to the source (`-s`).
pub(super) fn to_source(worker: &Worker<'_, '_>, task: &Task, entry: &Entry<'_>, item: &Item) {
    let path = entry.source_path();
    // A relative text would be read from where the link is, not from here.
    if !path.starts_with(b"/") && !is_here(entry) {
        entry.fail(worker.run, What::RelativeLink, None);
        return;
    }
    let Ok(text) = CString::new(path) else { return };
    if make_link(worker, task, entry, item, &text) == Made::Yes {
        entry.tell(worker.run, Outcome::Copied, item.stat.kind());
    }
}

/// Tells whether the target is made in the current directory.
fn is_here(entry: &Entry<'_>) -> bool {
    let path = entry.target_path();
    let path = path.strip_prefix(b"./").unwrap_or(&path);
    !path.contains(&b'/')
}
