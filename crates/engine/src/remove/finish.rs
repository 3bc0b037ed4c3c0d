//! The counted parent chain: when a directory's last child is done, the directory goes.
//!
//! No barrier between phases and nothing in `Drop`: whoever does the last piece of work in a
//! directory removes it, and then has done a piece of the parent's work.

use std::ffi::CStr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use haul_sys::Errno;
use haul_sys::fs::{Kind, rmdirat, statat};

use super::directory::may_go;
use super::entry::unremovable;
use super::monitor::What;
use super::node::Node;
use super::prompt;
use super::reader::Reader;
use super::request::{Approval, Mode, Policy};
use super::run::Operands;
use super::worker::{Job, Task, Worker};
use crate::monitor::Shard;
use crate::walk::node::identity;

/// How often a directory is read again because it was not empty at the end. Some file systems lose
/// their place while entries vanish, and then each pass removes most of what was left; against
/// writers that never rest there is no end, so there has to be one.
const PASSES: u32 = 16;

/// Signs off an entry of a directory that never became a node.
pub(super) fn release_child(worker: &mut Worker<'_, '_>, parent: Arc<Node>) {
    go_on_with_list(worker, &parent);
    release(worker, parent);
}

/// Signs off one piece of work of a directory, and removes every directory that this completes.
pub(super) fn release(worker: &mut Worker<'_, '_>, node: Arc<Node>) {
    let mut node = node;
    loop {
        if node.pending.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        let Some(parent) = node.parent.clone() else { return };
        if !worker.run.stopped() && finish(worker, &node, &parent) == Finished::NotYet {
            return;
        }
        worker.run.cache.forget(&node);
        go_on_with_list(worker, &parent);
        node = parent;
    }
}

/// Where operands come one after another, the end of one is the beginning of the next.
fn go_on_with_list(worker: &mut Worker<'_, '_>, parent: &Node) {
    if parent.lists_operands()
        && worker.run.operands == Operands::OneByOne
        && let Some(list) = worker.run.list.get()
    {
        worker.stack.push(Job::Resume(Arc::clone(list)));
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finished {
    Done,
    /// It was not empty, and is read again.
    NotYet,
}

fn finish(worker: &mut Worker<'_, '_>, node: &Arc<Node>, parent: &Arc<Node>) -> Finished {
    let run = worker.run;
    if node.is_kept() {
        return Finished::Done;
    }
    let name = &*node.name;
    let directory = match run.cache.of_parent(node, parent) {
        Ok(directory) => directory,
        Err(error) => {
            run.fail(parent, name, What::Remove, Some(error.errno));
            return Finished::Done;
        }
    };
    match may_go(worker, parent, &directory, name) {
        Ok(true) => {}
        Ok(false) => return Finished::Done,
        Err(errno) => {
            unremovable(worker, parent, directory.as_fd(), (name, errno));
            return Finished::Done;
        }
    }
    if run.policy.approval == Approval::Each && !is_still(&directory, name, node) {
        run.fail(parent, name, What::Changed, None);
        return Finished::Done;
    }
    let answer = match run.policy.mode {
        Mode::Pretend => Ok(()),
        Mode::Remove => rmdirat(&directory, name),
    };
    match answer {
        Ok(()) => {
            parent.progress.store(true, Ordering::Relaxed);
            Shard::one(&worker.shard.directories);
            run.tell(parent, name, Kind::Directory);
        }
        Err(error)
            if matches!(error.errno, Errno::NOTEMPTY | Errno::EXIST)
                && is_worth_reading(run.policy, node) =>
        {
            node.pending.store(1, Ordering::Relaxed);
            worker.stack.push(Job::Resume(Arc::new(Task::new(Arc::clone(node), Reader::again()))));
            return Finished::NotYet;
        }
        Err(error) => unremovable(worker, parent, directory.as_fd(), (name, error.errno)),
    }
    Finished::Done
}

/// Returns whether a name still is the directory that was emptied.
fn is_still(directory: impl AsFd, name: &CStr, node: &Node) -> bool {
    statat(directory, name).is_ok_and(|now| identity(&now) == node.id)
}

/// Tells whether a directory that is not empty is to be read again: if the last time helped, and
/// not for ever. Where a person is asked, what is left may be what was declined.
fn is_worth_reading(policy: &Policy, node: &Node) -> bool {
    !prompt::looks(policy)
        && node.progress.swap(false, Ordering::Relaxed)
        && node.passes.fetch_add(1, Ordering::Relaxed) < PASSES
}
