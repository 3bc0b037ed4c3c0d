//! Removes entries of one directory that the caller has open: of a tree that it walks itself.

use std::collections::HashSet;
use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use haul_io::last_check::LastNames;
use haul_sys::fs::fstat;
use haul_sys::sync::Mutex;
use haul_tree::{Handle, Operand, Reader, Workers, walk};

use super::aside::Aside;
use super::context::Task;
use super::delete_profile::DeleteProfiles;
use super::guards;
use super::limit::{Counts, Limit};
use super::node::{Node, OpenDirectories, RemoveDirectory};
use super::pace::Throttle;
use super::request::{Missing, Mode, Policy};
use super::run::{FILE_LOCKS, Run};
use crate::data::monitor::{Control, Detail, Monitor};
use crate::data::request::{Borders, Order, Recursion, Selected};
use crate::data::selected::Protection;
use crate::names::by_identity::{Identity, Locks, identity};
use crate::peers::state::Foreign;

/// Number of directories that stay open. Each worker of the caller's walk may have a removal of its own.
const DIRECTORIES: usize = 16;

/// Entries of an open directory, and what protects them.
#[derive(Clone, Copy)]
pub(crate) struct Below<'a> {
    /// The directory, which itself stays.
    pub(crate) directory: BorrowedFd<'a>,
    /// Its path for messages.
    pub(crate) path: &'a [u8],
    pub(crate) names: &'a [CString],
    /// Selection of what is removed, and the rules that apply in the directory.
    pub(crate) selection: Option<&'a Selected>,
    pub(crate) within: &'a Protection,
    /// Directories that are not entered, under whatever name they are found.
    pub(crate) kept: &'a HashSet<Identity>,
    pub(crate) limit: Option<&'a Limit>,
    pub(crate) counts: Counts,
    pub(crate) mode: Mode,
    /// What keeps the entries that are no directories.
    pub(crate) aside: Option<&'a dyn Aside>,
}

/// Whether everything was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Removed {
    All,
    /// Something stays, because it is protected, or for a reason that was reported.
    NotAll,
}

/// Removes the entries with everything in them, in the thread of the caller. Other file systems are not entered, and
/// mount points stay. Names that do not exist any more are no failure. Fails if the directory cannot be described.
pub(crate) fn remove_below(
    below: Below<'_>,
    monitor: &dyn Monitor,
    control: &Control<'_>,
) -> haul_sys::Result<Removed> {
    let policy = Policy {
        recursion: Recursion::Yes,
        missing: Missing::Ignore,
        borders: Borders::Stay,
        order: Order::Listed,
        mode: below.mode,
        ..Policy::new()
    };
    let mut run = Run {
        policy: &policy,
        selection: below.selection,
        only: None,
        kept: Some(below.kept),
        aside: below.aside,
        unlocks: below.mode == Mode::Remove && !policy.privileged,
        limit: below.limit,
        counts: below.counts,
        monitor,
        control,
        cache: OpenDirectories::new(DIRECTORIES),
        delete_profiles: DeleteProfiles::default(),
        throttle: Throttle::new(policy.pace),
        governor: None,
        root: None,
        asking: Mutex::new(()),
        files: Locks::new(FILE_LOCKS),
        last_names: LastNames::default(),
        peers: None,
        tells_entries: monitor.wants(Detail::Entries),
    };
    run.root = guards::root(&policy)?;
    let task = of_names(&run, below)?;
    let node = Arc::clone(&task.node);
    walk(&run, Workers::ONE, task, |_| ());
    Ok(if node.is_kept() { Removed::NotAll } else { Removed::All })
}

/// Creates the task of the directory. It stays when all names are handled, as one that another process finishes.
fn of_names(run: &Run<'_>, below: Below<'_>) -> haul_sys::Result<Task> {
    let stat = fstat(below.directory)?;
    let own = haul_sys::fs::open_directory(below.directory, c".", haul_sys::fs::Follow::No)?;
    let root = Arc::new(Node::new(None, RemoveDirectory::operands(Foreign::Above, None)));
    run.cache.keep(&root, &run.cache.adopt(Handle::CURRENT));
    let place = guards::place(run.policy, stat.dev, &own);
    let profile = run.delete_profiles.of(stat.dev, own.as_fd());
    // The path is that of messages; the descriptor leads to the directory.
    let name = CString::new(below.path).unwrap_or_default();
    let mut directory = RemoveDirectory::new(name, identity(&stat), place, profile);
    directory.foreign = Foreign::Above;
    directory.protected = below.within.clone();
    let node = Arc::new(Node::new(Some(root), directory));
    let handle = run.cache.adopt(Handle::from(own));
    run.cache.keep(&node, &handle);
    let operands: Vec<Operand> =
        below.names.iter().map(|name| Operand::whole(name.clone(), name.clone())).collect();
    Ok(Task::new(node, Reader::of_operands(&operands), 1).holding(handle))
}
