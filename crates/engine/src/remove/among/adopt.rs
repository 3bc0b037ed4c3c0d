//! Adopts a unit of another process: opens its directories again and continues as if this process
//! had found it.

use std::os::fd::AsFd as _;
use std::sync::Arc;

use haul_sys::Errno;
use haul_sys::fs::{Follow, birth_at, fstat, open_directory};
use haul_tree::{Handle, Open, Reader};

use super::kept::Kept;
use super::unit::{Level, Place, Unit, entries_of};
use crate::data::error::What;
use crate::names::by_identity::identity;
use crate::peers::state::{Foreign, Token};
use crate::peers::unit::Work;
use crate::remove::context::{Enter, Task, Worker};
use crate::remove::guards;
use crate::remove::node::{Node, RemoveDirectory};
use crate::remove::run::Run;

/// Adds the work of a unit to the worker. If its directories cannot be opened, reports that once and
/// completes the unit; its entries stay.
pub(super) fn adopt(worker: &mut Worker<'_, '_>, token: Token, bytes: &[u8]) {
    let run = worker.operation;
    let Some(peers) = &run.peers else { return };
    let Ok(Unit { place, work }) = Unit::decode(bytes) else {
        run.report(What::Remove, b".".to_vec(), Some(Errno::PROTO));
        return peers.complete(token, Kept::Entries.answer());
    };
    let Some(node) = open_place(run, &place, token) else {
        return peers.complete(token, Kept::Entries.answer());
    };
    match work {
        Work::One(name) => worker.push(Enter::found(&node, &name.name, name.ino)),
        Work::Entries(names) => {
            let room = node.room();
            let task = Task::new(node, Reader::of_entries(entries_of(&names)), room);
            worker.push_task(Arc::new(task));
        }
    }
}

/// Opens the chain of directories from the operand down. The last node has the token.
fn open_place(run: &Run<'_>, place: &Place, token: Token) -> Option<Arc<Node>> {
    let mut node = Arc::new(Node::new(None, RemoveDirectory::operands(Foreign::Above, None)));
    let mut handle = run.cache.adopt(Handle::CURRENT);
    run.cache.keep(&node, &handle);
    for (index, level) in place.levels.iter().enumerate() {
        let is_last = index + 1 == place.levels.len();
        let foreign = if is_last { Foreign::Unit(token) } else { Foreign::Above };
        match open_level(run, &node, &handle, level, foreign) {
            Ok((directory, opened)) => {
                node = Arc::new(Node::new(Some(node), directory));
                handle = run.cache.adopt(opened);
                run.cache.keep(&node, &handle);
            }
            Err((what, errno)) => {
                run.fail(&node, &level.name, what, errno);
                return None;
            }
        }
    }
    let born = birth_at(&**handle, c".").ok().flatten();
    if born.is_some() && place.birth.is_some() && born != place.birth {
        let parent = node.parent.as_ref()?;
        run.fail(parent, &node.name, What::Remove, Some(Errno::STALE));
        return None;
    }
    Some(node)
}

/// Opens one directory of the chain, without following a symbolic link, and verifies that it is the
/// one that the other process entered.
fn open_level(
    run: &Run<'_>,
    parent: &Node,
    above: &Open<Handle>,
    level: &Level,
    foreign: Foreign,
) -> Result<(RemoveDirectory, Handle), (What, Option<Errno>)> {
    let failed = |error: haul_sys::CallError| (What::Remove, Some(error.errno));
    let opened = run.cache.with_descriptors(|| open_directory(&**above, &level.name, Follow::No));
    let fd = opened.map_err(failed)?;
    let stat = fstat(&fd).map_err(failed)?;
    let id = identity(&stat);
    let here = guards::place(run.policy, stat.dev, &fd);
    let top = if parent.is_root() { here } else { parent.top };
    if stat.ino != level.ino {
        return Err((What::Remove, Some(Errno::STALE)));
    }
    if run.root == Some(id) {
        return Err((What::Root, None));
    }
    // Another machine may have other mounts.
    if guards::is_beyond(run.policy, top, here) {
        return Err((What::OtherDevice, None));
    }
    let profile = run.delete_profiles.of(id.0, fd.as_fd());
    let mut directory = RemoveDirectory::new(level.name.clone(), id, top, profile);
    directory.foreign = foreign;
    Ok((directory, Handle::from(fd)))
}
