//! Removes operands: the only step that uses paths, and that checks most guards.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use haul_sys::Errno;
use haul_sys::fs::{CWD, Kind, Stat, rmdirat};

use super::context::{Enter, Worker};
use super::inside::inside;
use super::node::{Entry, Node};
use super::prompt::{Inside, Stage};
use super::request::{EmptyDirectories, Mode};
use super::{directory, entry, guards};
use crate::data::error::What;
use crate::data::monitor::WorkerCounters;
use crate::data::request::Recursion;
use crate::data::selected;
use crate::names::by_identity::identity;
use crate::names::path;
use haul_tree::Entries;

/// Removes all trailing slashes but one, as GNU rm does before it examines an operand.
pub(super) fn trimmed(operand: &CStr) -> CString {
    let bytes = operand.to_bytes();
    let end = (path::trimmed(bytes).len() + 1).min(bytes.len());
    // `//` has a meaning of its own and stays.
    let end = if bytes == b"//" { 2 } else { end };
    CString::new(&bytes[..end]).unwrap_or_default()
}

/// Removes a batch of operands; pushes the directories among them onto the stack, the first one on
/// top.
pub(super) fn remove(worker: &mut Worker<'_, '_>, list: &Arc<Node>, names: &Entries) {
    let before = worker.stack_length();
    for slot in &names.slots {
        if worker.operation.stopped() {
            break;
        }
        one(worker, list, names.name(slot));
    }
    worker.reverse_from(before);
}

fn one(worker: &mut Worker<'_, '_>, list: &Arc<Node>, name: &CStr) {
    let run = worker.operation;
    let entry = Entry { parent: list, directory: CWD, name };
    match entry.stat() {
        Ok(stat) if !run.permits(&stat) => {}
        Ok(stat) if stat.kind() == Kind::Directory => {
            if let Err((what, errno)) = try_guards(worker, name, &stat) {
                return run.fail_unentered(list, name, what, errno);
            }
            match run.policy.recursion {
                Recursion::Yes => entry::later(worker, Enter::operand(list, name, identity(&stat))),
                Recursion::No => empty(worker, entry, &stat),
            }
        }
        Ok(stat) => entry::unlink_entry(worker, entry, None, Some(stat)),
        Err(error) => {
            selected::meet_below(&list.within, name);
            entry::unremovable(worker, entry, error.errno);
        }
    }
}

/// Refuses directories that the guards protect.
fn try_guards(
    worker: &Worker<'_, '_>,
    name: &CStr,
    stat: &Stat,
) -> Result<(), (What, Option<Errno>)> {
    let policy = worker.operation.policy;
    if policy.recursion == Recursion::No {
        if policy.empty_directories == EmptyDirectories::Refuse {
            return Err((What::Remove, Some(Errno::ISDIR)));
        }
        if inside(CWD, name) == Inside::Full {
            return Err((What::Remove, Some(Errno::NOTEMPTY)));
        }
    }
    if guards::ends_in_dots(name) {
        return Err((What::Dots, None));
    }
    if worker.operation.root == Some(identity(stat)) {
        return Err((What::Root, None));
    }
    guards::mount_point(policy, name, stat.dev).map_err(|what| (what, None))
}

/// Removes an operand that is an empty directory, or one that cannot be read.
fn empty(worker: &mut Worker<'_, '_>, entry: Entry<'_>, stat: &Stat) {
    let run = worker.operation;
    let Entry { parent: list, name, .. } = entry;
    for stage in [Stage::Descend, Stage::Remove] {
        match directory::may(worker, entry, stat, stage) {
            Ok(directory::Leave::Asked(Inside::Empty)) => break,
            Ok(directory::Leave::Given | directory::Leave::Asked(_)) => {}
            Ok(directory::Leave::Declined) => {
                return WorkerCounters::one(&worker.local.counters.skipped);
            }
            Err(errno) => return run.fail(list, name, What::Remove, Some(errno)),
        }
    }
    let answer = match run.policy.mode {
        Mode::Pretend => Ok(()),
        Mode::Remove => rmdirat(CWD, name),
    };
    match answer {
        Ok(()) => {
            WorkerCounters::one(&worker.local.counters.directories);
            run.tell(list, name, Kind::Directory);
        }
        Err(error) => {
            let full = matches!(error.errno, Errno::NOTEMPTY | Errno::EXIST);
            let errno = match inside(CWD, name) {
                // The errno of the failed open says more than that the directory is not empty.
                Inside::Closed(earlier) if full => earlier,
                _ => error.errno,
            };
            entry::unremovable(worker, entry, errno);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::trimmed;

    #[test]
    fn one_slash_stays() {
        assert_eq!(&*trimmed(c"a///"), c"a/");
        assert_eq!(&*trimmed(c"a/b"), c"a/b");
        assert_eq!(&*trimmed(c"//"), c"//");
        assert_eq!(&*trimmed(c"///"), c"/");
        assert_eq!(&*trimmed(c""), c"");
    }
}
