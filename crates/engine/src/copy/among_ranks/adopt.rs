//! Adopts a unit of another process: opens its directories again and continues as if this process
//! had found it.

use std::ffi::CStr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use haul_sys::Errno;
use haul_sys::fs::{CWD, Follow, Stat, fstat, open_directory, openat, statat, statat_follow};
use haul_tree::{Open, Operand, Reader, Task};

use super::last_part::PartFiles;
use super::unit::{Found, Level, One, Place, Unit};
use crate::copy;
use crate::copy::context::{DIRECTORY_WORKERS, Enter, Worker};
use crate::copy::entry::Entry;
use crate::copy::node::{CopyDirectory, Handles, Node, Origin};
use crate::copy::part::Part;
use crate::copy::root::root_directory;
use crate::copy::run::Run;
use crate::copy::shared_file::Role;
use crate::data::error::What;
use crate::data::selected::Protection;
use crate::metadata::DirectoryAttributes;
use crate::names::at::DIRECTORY;
use crate::names::by_identity::identity;
use crate::peers::state::{Answer, Foreign, PeerState, Token};
use crate::peers::unit::Work;
use crate::sync::extraneous::TargetWay;

/// Adds the work of a unit to the worker. If its directories cannot be opened, reports that once and
/// completes the unit.
pub(super) fn adopt(worker: &mut Worker<'_, '_>, token: Token, bytes: &[u8]) {
    let run = worker.operation;
    let Some(peers) = &run.peers else { return };
    let Ok(Unit { place, work }) = Unit::decode(bytes) else {
        run.fail_root(What::OpenDirectory, Errno::PROTO);
        return peers.complete(token, Answer::new());
    };
    match work {
        Work::One(One::Part(part)) => adopt_part(worker, peers, (&place, token), &part),
        Work::One(One::Directory(found)) => {
            let Some((node, handles)) = open_or_complete(run, peers, (&place, token)) else {
                return;
            };
            match describe(run, &node, &handles, found) {
                Some(enter) => worker.push(Box::new(enter)),
                None => worker.release(node),
            }
        }
        Work::Entries(names) => {
            let Some((node, handles)) = open_or_complete(run, peers, (&place, token)) else {
                return;
            };
            let operand = |(source, target)| Operand::whole(source, target);
            let operands: Vec<Operand> = names.into_iter().map(operand).collect();
            let task = Task::new(node, Reader::of_operands(&operands), DIRECTORY_WORKERS);
            worker.push_task(Arc::new(task.holding(handles)));
        }
    }
}

/// Opens the directories of a unit, or reports the failure and completes the unit.
fn open_or_complete(
    run: &Run<'_>,
    peers: &PeerState,
    (place, token): (&Place, Token),
) -> Option<Opened> {
    let opened = open_place(run, place, Foreign::Unit(token), Failures::Told);
    if opened.is_none() {
        peers.complete(token, Answer::new());
    }
    opened
}

/// Moves a part of another process's file, together with the idle workers. If the files cannot be opened,
/// completes the unit; the process that sent the part moves it itself then.
fn adopt_part(
    worker: &mut Worker<'_, '_>,
    peers: &PeerState,
    (place, token): (&Place, Token),
    part: &Part,
) {
    let run = worker.operation;
    let description = file_of_part(place, part);
    let begun = open_part(run, (place, token), part, &description).map(|(node, files)| {
        let file = files.and_then(|files| copy::part::begin(worker, &node, files, part));
        (node, file)
    });
    peers.part_opened(matches!(begun, Some((_, Some(_)))));
    match begun {
        Some((_, Some(file))) => {
            run.last_part.remember(description, file.node(), &file.part_files());
            copy::draw(worker, &file, Role::Began);
        }
        Some((node, None)) => worker.release(node),
        None => peers.complete(token, Answer::new()),
    }
}

/// Opens the files of a part: by the descriptors of the part before it, if they are open for that, and
/// otherwise by their names, after the directories.
fn open_part(
    run: &Run<'_>,
    (place, token): (&Place, Token),
    part: &Part,
    description: &[u8],
) -> Option<(Arc<Node>, Option<PartFiles>)> {
    let foreign = Foreign::Part(token);
    if let Some((node, files)) = run.last_part.open_files(description, foreign)
        && let Some(files) = copy::part::open_anew(run, files)
    {
        return Some((node, Some(files)));
    }
    let (node, handles) = open_place(run, place, foreign, Failures::Untold)?;
    let files = copy::part::open(run, &node, &handles, part);
    Some((node, files))
}

/// Returns what describes the file of a part, which all its parts have alike.
fn file_of_part(place: &Place, part: &Part) -> Vec<u8> {
    let place = Place { roots: Vec::new(), ..place.clone() };
    let part = Box::new(Part { range: (0, 0), ..part.clone() });
    Unit { place, work: Work::One(One::Part(part)) }.encode()
}

/// Whether the failure to open a directory is reported. The process that found a file moves the parts that
/// others do not, and reports what fails there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failures {
    Told,
    Untold,
}

type Opened = (Arc<Node>, Arc<Open<Handles>>);

/// Opens the chain of directories from the operand down. The last node has the token.
fn open_place(run: &Run<'_>, place: &Place, last: Foreign, failures: Failures) -> Option<Opened> {
    let foreign = |is_last| if is_last { last } else { Foreign::Above };
    let handles = match open_base(&place.base) {
        Ok(handles) => handles,
        Err(errno) => {
            if failures == Failures::Told {
                run.fail_root(What::OpenDirectory, errno);
            }
            return None;
        }
    };
    let root = root_directory(run, &handles, &place.base, foreign(place.levels.is_empty()));
    let mut node = Arc::new(Node::new(None, root));
    let mut handles = run.cache.adopt(handles);
    run.cache.keep(&node, &handles);
    for (index, level) in place.levels.iter().enumerate() {
        let opened = open_level(run, &node, &handles, level, failures)?;
        if index == 0 {
            note_roots(run, place, &opened);
        }
        let directory =
            directory(run, &node, level, &opened, foreign(index + 1 == place.levels.len()));
        node = Arc::new(Node::new(Some(node), directory));
        handles = run.cache.adopt(opened.handles);
        run.cache.keep(&node, &handles);
    }
    Some((node, handles))
}

fn open_base(base: &CStr) -> Result<Handles, Errno> {
    let open = |name| openat(CWD, name, DIRECTORY).map_err(|error| error.errno);
    let target = if base.is_empty() { c"." } else { base };
    Ok(Handles { source: open(c".")?, target: open(target)? })
}

/// A directory that was opened again.
struct OpenedLevel {
    handles: Handles,
    source_id: haul_tree::Identity,
    target: Stat,
}

fn open_level(
    run: &Run<'_>,
    parent: &Arc<Node>,
    above: &Handles,
    level: &Level,
    failures: Failures,
) -> Option<OpenedLevel> {
    let target_name = level.target.as_deref().unwrap_or(&level.source);
    let entry = Entry { node: parent, source: &level.source, target: target_name, rest: None };
    let open = |above: &OwnedFd, name: &CStr, through_link, expected, what, replaced| {
        let follow = if through_link { Follow::Yes } else { Follow::No };
        let opened = run.with_descriptors(|| open_directory(above, name, follow));
        match opened.and_then(|fd| Ok((fstat(&fd)?, fd))) {
            Ok((stat, fd)) if stat.ino == expected => Some((fd, stat)),
            _ if failures == Failures::Untold => None,
            Ok(_) => {
                let stale = (what == replaced).then_some(Errno::STALE);
                entry.fail(run, replaced, stale);
                None
            }
            Err(error) => {
                entry.fail(run, what, Some(error.errno));
                None
            }
        }
    };
    let (read, enter) = (What::ReadDirectory, What::OpenDirectory);
    let (source, source_stat) = open(
        &above.source,
        &level.source,
        level.through_link,
        level.source_ino,
        read,
        What::Replaced,
    )?;
    let (target, target_stat) = open(
        &above.target,
        target_name,
        level.target_through_link,
        level.target_ino,
        enter,
        enter,
    )?;
    // Another directory with its inode number, on another file system, has another owner.
    let is_own = level.origin == Origin::Found
        || run.owners.is_own(&target_stat, target.as_fd()).unwrap_or(false);
    if !is_own {
        if failures == Failures::Told {
            entry.fail(run, enter, Some(Errno::STALE));
        }
        return None;
    }
    let source_id = identity(&source_stat);
    Some(OpenedLevel { handles: Handles { source, target }, source_id, target: target_stat })
}

/// Records the directories that operands were copied to, so that none is copied again.
fn note_roots(run: &Run<'_>, place: &Place, operand: &OpenedLevel) {
    let mut roots = run.made_roots.lock();
    for ino in &place.roots {
        let root = (operand.target.dev, *ino);
        if !roots.contains(&root) {
            roots.push(root);
        }
    }
}

fn directory(
    run: &Run<'_>,
    parent: &Node,
    level: &Level,
    opened: &OpenedLevel,
    foreign: Foreign,
) -> CopyDirectory {
    let OpenedLevel { handles, source_id, target } = opened;
    let root_dev = if parent.lists_operands { source_id.0 } else { parent.root_dev };
    CopyDirectory {
        target_way: TargetWay::UNKNOWN,
        protected: Protection::NONE,
        within: None,
        source_name: level.source.clone(),
        target_name: level.target.clone(),
        source_id: *source_id,
        target_id: identity(target),
        route: run.made.route_below(parent.route, level.target.as_deref().unwrap_or(&level.source)),
        root_dev,
        through_link: level.through_link,
        target_through_link: level.target_through_link,
        inherits_acl: level.inherits_acl,
        pair: run.pairs.of(source_id.0, handles.source(), target.dev, handles.target()),
        position: run.position_below(parent, level.target.as_deref().unwrap_or(&level.source)),
        lists_operands: level.lists_operands,
        // The process that found the directory applies its attributes.
        attributes: DirectoryAttributes::nothing(),
        origin: level.origin,
        // Which owner the other process has found is not believed: another machine may map owners in
        // another way.
        new_owner: run.owners.of_new_file(target).filter(|_| level.origin == Origin::Made),
        exchangeable: run.owners.exchangeable(target),
        ignores_case: OnceLock::new(),
        listed: OnceLock::new(),
        is_lacking: AtomicBool::new(false),
        foreign,
    }
}

/// Describes a directory that another process found, and verifies that it is the same.
fn describe(run: &Run<'_>, parent: &Arc<Node>, above: &Handles, found: Found) -> Option<Enter> {
    let target = found.target.as_deref().unwrap_or(&found.source);
    let entry = Entry { node: parent, source: &found.source, target, rest: None };
    let described = if found.through_link {
        statat_follow(above.source(), &found.source)
    } else {
        statat(above.source(), &found.source)
    };
    match described {
        Ok(stat) if stat.ino == found.ino => Some(Enter {
            is_shared: false,
            parent: Arc::clone(parent),
            source_name: found.source,
            target_name: found.target,
            stat,
            made: found.made,
            origin: found.origin,
            through_link: found.through_link,
            target_through_link: found.target_through_link,
            allocation_group: None,
            rest: None,
        }),
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
