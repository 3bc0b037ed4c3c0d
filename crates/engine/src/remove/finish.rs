//! Finishes directories: removes a directory when all its entries are handled.

use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use haul_sys::Errno;
use haul_sys::fs::{CWD, Kind, fstat, readlinkat, rmdirat};
use haul_tree::{Finish, Reader};

use super::among::kept::Kept;
use super::context::Worker;
use super::directory::may_go;
use super::entry::unremovable;
use super::node::{Entry, Node, attributes, keep};
use super::prompt;
use super::request::{Approval, Mode, Policy};
use super::run::Run;
use crate::data::error::What;
use crate::data::monitor::WorkerCounters;
use crate::names::by_identity::identity;
use crate::peers::state::{Foreign, ROOT};

/// Number of times a directory is read again because it was not empty at the end. Some file
/// systems lose the position in a directory while entries are removed; each pass then removes most
/// of the remaining entries. A process that keeps adding entries would make the loop endless, so
/// it has a limit.
const PASSES: u32 = 16;

/// Removes a directory whose entries are handled. Reads a directory again that is not empty.
pub(super) fn finish(worker: &mut Worker<'_, '_>, node: &Arc<Node>) -> Finish {
    let run = worker.operation;
    let complete = |token| {
        let kept = if node.is_kept() { Kept::Entries } else { Kept::Nothing };
        run.peers.iter().for_each(|peers| peers.complete(token, kept.answer()));
    };
    match (node.foreign, &node.parent) {
        (Foreign::Above, _) => {}
        (Foreign::Unit(token) | Foreign::Part(token), _) => complete(token),
        (Foreign::No, None) => complete(ROOT),
        (Foreign::No, Some(_)) if run.stopped() => {}
        (Foreign::No, Some(parent)) => return remove(worker, node, parent),
    }
    Finish::Done
}

fn remove(worker: &mut Worker<'_, '_>, node: &Arc<Node>, parent: &Arc<Node>) -> Finish {
    let run = worker.operation;
    if run.has_limits() && !node.lost_entries.load(Ordering::Relaxed) {
        keep(node);
    }
    if node.is_kept() {
        return Finish::Done;
    }
    let name = &*node.name;
    let directory = match run.cache.of_parent(node, parent) {
        Ok(directory) => directory,
        Err(error) => {
            run.fail(parent, name, What::Remove, Some(error.errno));
            return Finish::Done;
        }
    };
    let entry = Entry { parent, directory: directory.as_fd(), name };
    match may_go(worker, entry) {
        Ok(true) => {}
        Ok(false) => return Finish::Done,
        Err(errno) => {
            unremovable(worker, entry, errno);
            return Finish::Done;
        }
    }
    let is_checked = run.policy.approval == Approval::Each || run.only.is_some();
    if is_checked && !is_still(entry, node) {
        run.fail(parent, name, What::Changed, None);
        return Finish::Done;
    }
    if !run.may_remove(parent) {
        return Finish::Done;
    }
    let answer = match run.policy.mode {
        Mode::Pretend => Ok(()),
        Mode::Remove => rmdirat(&directory, name),
    };
    match answer {
        Ok(()) => {
            parent.progress.store(true, Ordering::Relaxed);
            if run.is_counted(parent) {
                WorkerCounters::one(&worker.local.counters.directories);
                run.tell(parent, name, Kind::Directory);
            }
        }
        Err(error)
            if matches!(error.errno, Errno::NOTEMPTY | Errno::EXIST)
                && is_worth_reading(run.policy, node) =>
        {
            return Finish::Again(Reader::again());
        }
        // An operand whose path leads nowhere any more was not removed. With a slash behind a symbolic link
        // (ENOTDIR), -f has always left the empty directory.
        Err(error) if parent.is_root() && error.errno == Errno::NOENT && !is_gone(run, node) => {
            run.fail(parent, name, What::Remove, Some(error.errno));
        }
        Err(error) => unremovable(worker, entry, error.errno),
    }
    Finish::Done
}

/// Returns whether a name still belongs to the directory that was emptied, and the directory has the
/// mode and owner with which it was approved, if it was.
fn is_still(entry: Entry<'_>, node: &Node) -> bool {
    entry.stat().is_ok_and(|now| {
        identity(&now) == node.id
            && node.attributes.is_none_or(|approved| attributes(&now) == approved)
    })
}

/// Returns whether a directory that was emptied has been removed, by another process.
fn is_gone(run: &Run<'_>, node: &Arc<Node>) -> bool {
    // If its descriptor was closed and no path leads to it any more, nothing says that it was moved.
    let Ok(directory) = run.cache.of(node) else { return true };
    let link = format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd());
    let is_nameless = |path: CString| path.to_bytes().ends_with(b" (deleted)");
    // Some file systems give a removed directory a number of names.
    fstat(directory.as_fd()).map_or(true, |stat| stat.nlink == 0)
        || CString::new(link)
            .ok()
            .and_then(|link| readlinkat(CWD, &link).ok())
            .is_some_and(is_nameless)
}

/// Returns whether a directory that is not empty is read again: if the last pass made progress and
/// the limit is not reached. If the policy asks the user, the remaining entries may be the
/// declined ones.
fn is_worth_reading(policy: &Policy, node: &Node) -> bool {
    !prompt::looks(policy)
        && node.progress.swap(false, Ordering::Relaxed)
        && node.passes.fetch_add(1, Ordering::Relaxed) < PASSES
}
