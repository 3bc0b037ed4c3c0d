//! Directories: a worker makes a directory when it meets the entry, enters it later from the stack,
//! and finishes it with its last child.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use haul_io::Pair;
use haul_io::attributes::has_default_list;
use haul_sys::fs::{Follow, Kind, Stat, fchmod, fstat, mkdirat, open_directory, statat};
use haul_sys::{Call, CallError, Errno};

use super::existing::TargetState;
use super::item::Item;
use super::{basis, existing, find, synchronized};
use crate::copy::context::{DIRECTORY_WORKERS, Enter, Worker};
use crate::copy::entry::{Entry, OpenEntry};
use crate::copy::node::{CopyDirectory, Handles, Node, Origin};
use crate::copy::run::Run;
use crate::data::error::What;
use crate::data::monitor::{Outcome, WorkerCounters};
use crate::data::request::{ModePolicy, TargetLinks};
use crate::data::selected::{self, Inside, Protection};
use crate::decide::{self, Seen};
use crate::journal::Secure;
use crate::metadata::owners::Exchangeable;
use crate::metadata::{self, DirectoryAttributes, Flags, Kept, Lost, NewTarget, Projects};
use crate::names::at::At;
use crate::names::by_identity::identity;
use crate::names::path::operand_of_path;
use crate::peers::state::Foreign;
use crate::sync::pruned::has_entries;
use haul_tree::Reader;

/// Returns the mode that a new directory is made with.
fn mode_of_new(run: &Run<'_>, entry: &OpenEntry<'_>, item: &Item) -> u32 {
    if is_plain(run, entry) {
        return 0o777;
    }
    let new_owner = entry.node.new_owner;
    metadata::creation_mode(&run.wanted(&item.stat, new_owner), run.policy, new_owner)
}

/// Makes a directory in the target, or accepts the existing one, and pushes it on the stack.
pub(super) fn make(worker: &mut Worker<'_, '_>, entry: &OpenEntry<'_>, item: &mut Item) {
    let run = worker.operation;
    if is_pruned(run, entry) {
        return selected::meet_below(&entry.node.within, entry.source);
    }
    let mode = mode_of_new(run, entry, item);
    let mut made = Some(mode);
    let mut origin = Origin::Made;
    let mut target_through_link = false;
    note_mode(run, entry, &item.stat, mode);
    let directory = entry.handles.target();
    let mkdir = || run.creating(directory, entry.target, || mkdirat(directory, entry.target, mode));
    // A synchronisation that finds everything there makes no call that could write.
    let is_there = run.synchronized.is_some() && !entry.is_alone(run) && !existing::is_free(entry);
    let exists = || Err(CallError::new(Call::Mkdirat, Errno::EXIST));
    let mut answer = if is_there { exists() } else { mkdir() };
    if let Err(error) = answer
        && error.errno == Errno::EXIST
    {
        match existing::resolve_taken(worker, entry, item, Seen::No) {
            TargetState::Merge(taken) => {
                origin = Origin::Found;
                run.turns.expect_meetings();
                entry.note_merged(run, &item.stat, &taken.link);
                target_through_link = taken.link.kind() == Kind::Symlink;
                made = made_before(run, entry).filter(|_| !target_through_link);
                tell_merged(run, entry, item);
                answer = Ok(());
            }
            TargetState::Settled(_) => {
                return selected::meet_below(&entry.node.within, entry.source);
            }
            // A directory that is not a part of what is copied replaces nothing.
            TargetState::Replace(..) if is_plain(run, entry) => {
                return entry.fail_unentered(run, What::CreateDirectory, Some(Errno::NOTDIR));
            }
            // A synchronisation makes a directory in the place of a file.
            TargetState::Replace(..) if run.synchronized.is_some() => {
                let old = At { directory, name: entry.target };
                if let Err(error) = synchronized::back_up(run, entry, old) {
                    return entry.fail_unentered(run, What::Backup, Some(error.errno));
                }
                if let TargetState::Settled(_) = existing::remove(worker, entry) {
                    return selected::meet_below(&entry.node.within, entry.source);
                }
                answer = mkdir();
            }
            TargetState::Free
            | TargetState::Swap
            | TargetState::Replace(..)
            | TargetState::Overwrite(_) => {}
        }
    }
    match answer {
        Ok(()) if origin == Origin::Found => {}
        Ok(()) if entry.rest.is_some() && run.synchronized.is_none() => {
            entry.tell(run, Outcome::Parent, Kind::Directory);
        }
        Ok(()) if item.is_shared => {}
        Ok(()) => {
            note_new(run, entry, &item.stat);
            basis::compare_directory(run, entry, item);
            item.tell(run, entry, Outcome::Begun);
        }
        Err(error) => {
            return entry.fail_unentered(run, What::CreateDirectory, Some(error.errno));
        }
    }
    WorkerCounters::one(&worker.local.counters.directories);
    entry.node.owe();
    worker.push(Box::new(Enter {
        parent: Arc::clone(entry.node),
        source_name: entry.source.to_owned(),
        target_name: (entry.source != entry.target).then(|| entry.target.to_owned()),
        stat: item.stat,
        made,
        origin,
        through_link: find::follows(run, entry) == Follow::Yes,
        target_through_link,
        allocation_group: allocation_group(run, entry),
        rest: entry.rest.map(std::ffi::CStr::to_owned),
        is_shared: item.is_shared,
    }));
}

/// Returns whether a directory is above an operand, and has no attributes of the source.
fn is_plain(run: &Run<'_>, entry: &OpenEntry<'_>) -> bool {
    let implied = run.synchronized.as_ref().is_none_or(|of| of.rules.implied_attributes);
    entry.rest.is_some() && !implied
}

/// Returns whether a directory is left out because nothing would be in it but directories.
fn is_pruned(run: &Run<'_>, entry: &OpenEntry<'_>) -> bool {
    let prunes = run.synchronized.as_ref().is_some_and(|of| of.rules.prunes_empty);
    let source = At { directory: entry.handles.source(), name: entry.source };
    let (listing, follow) = (entry.node.listing(), find::follows(run, entry));
    let is_contents = entry.target.to_bytes().ends_with(b"/") || entry.rest.is_some();
    prunes && !is_contents && !has_entries(source, (&entry.node.within, listing), follow)
}

/// Reports a directory that both sides have, if the run synchronises.
fn tell_merged(run: &Run<'_>, entry: &OpenEntry<'_>, item: &mut Item) {
    if run.synchronized.is_none() || item.is_shared {
        return;
    }
    if run.has_made_target && entry.is_operand() && entry.target.to_bytes().ends_with(b"/") {
        basis::compare_directory(run, entry, item);
        return item.tell(run, entry, Outcome::Begun);
    }
    let is_same = item.changes.is_some_and(|changes| changes.are_none());
    item.tell(run, entry, if is_same { Outcome::Skipped } else { Outcome::Adjusted });
}

/// Records a directory that the run has made. Where links lead into it, it is as one that was there before.
fn note_new(run: &Run<'_>, entry: &OpenEntry<'_>, source: &Stat) {
    let describe = || statat(entry.handles.target(), entry.target);
    match run.policy.target_links {
        TargetLinks::Strict | TargetLinks::WriteDangling => {
            entry.note_made(run, source, describe);
        }
        TargetLinks::KeepDirectory => {
            run.turns.expect_meetings();
            if let Ok(made) = describe() {
                entry.note_merged(run, source, &made);
            }
        }
    }
}

/// Returns the allocation group of a directory in the target, if workers should be in different
/// groups: the new files of a directory are in its group. It only decides who works where, so a
/// failure is none, and the directory is described again when it is opened.
fn allocation_group(run: &Run<'_>, entry: &OpenEntry<'_>) -> Option<u64> {
    let bits = entry.node.pair.target_group_bits.filter(|_| run.budget.workers > 1)?;
    Some(statat(entry.handles.target(), entry.target).ok()?.ino >> bits)
}

/// Records in the journal a directory whose mode changes when it is complete: a later run finds the
/// directory and has to know that the mode is not deliberate.
fn note_mode(run: &Run<'_>, entry: &OpenEntry<'_>, source: &Stat, mode: u32) {
    if let Some(journal) = run.journal
        && final_mode(run, source, mode, Now::Unknown).is_some()
        && statat(entry.handles.target(), entry.target).is_err()
    {
        journal.note_directory(mode, entry.place());
        run.write_journal(Secure::Later);
    }
}

/// Returns the mode that an earlier run, which was not complete, made a directory with.
fn made_before(run: &Run<'_>, entry: &OpenEntry<'_>) -> Option<u32> {
    run.journal?.directory(entry.place())
}

/// Opens a directory on both sides, and returns its task.
pub(crate) fn enter(
    worker: &mut Worker<'_, '_>,
    enter: Enter,
) -> Option<Arc<haul_tree::Task<CopyDirectory>>> {
    let run = worker.operation;
    if run.stopped() {
        worker.release_child(enter.parent);
        return None;
    }
    match open(run, &enter) {
        Ok(opened) => Some(begin(run, worker.local.counters, enter, opened)),
        Err(Refusal { what, errno }) => {
            let entry = Entry {
                node: &enter.parent,
                source: &enter.source_name,
                target: enter.target_name.as_deref().unwrap_or(&enter.source_name),
                rest: None,
            };
            entry.fail_unentered(run, what, errno);
            narrow_unread(run, &enter);
            worker.release_child(enter.parent);
            None
        }
    }
}

struct Opened {
    handles: Handles,
    source: Stat,
    target: Stat,
    pair: Arc<Pair>,
    flags: Flags,
    lost: Vec<Lost>,
    within: Inside,
    protected: Protection,
    /// Mode of the target before it was unlocked.
    unlocked: Option<u32>,
}

struct Refusal {
    what: What,
    errno: Option<Errno>,
}

fn open(run: &Run<'_>, enter: &Enter) -> Result<Opened, Refusal> {
    let refuse =
        |what| move |error: haul_sys::CallError| Refusal { what, errno: Some(error.errno) };
    let parent = run
        .cache
        .of(&enter.parent)
        .map_err(|error| Refusal { what: What::OpenDirectory, errno: Some(error.errno) })?;
    let follow = |through| if through { Follow::Yes } else { Follow::No };
    let source = run
        .with_descriptors(|| {
            open_directory(parent.source(), &enter.source_name, follow(enter.through_link))
        })
        .map_err(refuse(What::ReadDirectory))?;
    let source_stat = fstat(&source).map_err(refuse(What::Stat))?;
    if !source_stat.same_file(&enter.stat) {
        return Err(Refusal { what: What::Replaced, errno: None });
    }
    let listing = enter.parent.listing();
    let named = (&*enter.source_name, enter.rest.is_some());
    let within = selected::enter(&enter.parent.within, listing, named, &source)
        .map_err(|(what, errno)| Refusal { what, errno })?;
    let name = enter.target_name.as_deref().unwrap_or(&enter.source_name);
    let target = run
        .with_descriptors(|| {
            open_directory(parent.target(), name, follow(enter.target_through_link))
        })
        .map_err(refuse(What::OpenDirectory))?;
    let target_stat = fstat(&target).map_err(refuse(What::StatTarget))?;
    demand_own(run, enter, &target, &target_stat).map_err(refuse(What::OpenDirectory))?;
    if let Some(synchronized) = &run.synchronized {
        if enter.target_through_link {
            synchronized
                .demand_below(&target)
                .map_err(|errno| Refusal { what: What::OpenDirectory, errno: Some(errno) })?;
        }
        if enter.rest.is_none() {
            let entered = synchronized.enter(identity(&target_stat));
            entered.map_err(|what| Refusal { what, errno: None })?;
        }
    }
    let entry = Entry { node: &enter.parent, source: &enter.source_name, target: name, rest: None };
    let protected = synchronized::protected_in(&entry, [&source, &target])
        .map_err(|(what, errno)| Refusal { what, errno })?;
    widen(run, enter, &target, &target_stat);
    let unlocked = unlock(run, enter, &target, &target_stat);
    let pair = run.pairs.of(source_stat.dev, source.as_fd(), target_stat.dev, target.as_fd());
    let mut lost = Vec::new();
    let tells = (pair.source, Projects::Possible);
    let flags = Flags::read(source.as_fd(), tells, run.policy, &mut lost);
    if flags.pins() && run.copied.is_some() {
        return Err(Refusal { what: What::Pinned, errno: Some(Errno::PERM) });
    }
    let handles = Handles { source, target };
    let (source, target) = (source_stat, target_stat);
    Ok(Opened { handles, source, target, pair, flags, lost, within, protected, unlocked })
}

/// Fails with `ESTALE` if the run, or the move that it is a part of, has made a directory, and what was
/// opened under its name is another one: a user who may write to the parent directory has exchanged it.
/// Nothing is made in a directory that another user has prepared, as if it were the run's own.
///
/// Only root demands that nothing is in it yet. Two copies of another user into one tree make entries in
/// each other's directories; names that exist there are refused all the same.
fn demand_own(run: &Run<'_>, enter: &Enter, target: &OwnedFd, stat: &Stat) -> haul_sys::Result<()> {
    let name = enter.target_name.as_deref().unwrap_or(&enter.source_name);
    let is_right = match enter.origin {
        Origin::Found => {
            run.claimed(&enter.parent, name).is_none_or(|claimed| claimed == identity(stat))
        }
        Origin::Made => {
            // A path of an operand leads to other directories than the one that it is relative to.
            let is_path = name.to_bytes().contains(&b'/');
            let exchangeable = if is_path { Exchangeable::Yes } else { enter.parent.exchangeable };
            let demands = if run.owners.is_root() { exchangeable } else { Exchangeable::No };
            run.owners.is_just_made(target.as_fd(), stat, demands)?
        }
    };
    if is_right { Ok(()) } else { Err(CallError::new(Call::Openat, Errno::STALE)) }
}

/// Gives the owner the access again that an earlier run made the directory with: if that run was killed
/// after it had set the final mode, entries may be missing.
fn widen(run: &Run<'_>, enter: &Enter, target: &OwnedFd, stat: &Stat) {
    let missing = enter.made.unwrap_or(0) & !stat.permissions() & 0o700;
    if missing != 0 && run.journal.is_some() {
        // If that fails, so does whatever needs the access, with a message.
        let _widened = fchmod(target, stat.permissions() | missing);
    }
}

/// Lets the owner make and remove entries of a directory that was there before, until the run leaves it: a
/// synchronisation without privileges also changes what is in directories that are read-only. Returns the mode to set
/// again.
fn unlock(run: &Run<'_>, enter: &Enter, target: &OwnedFd, stat: &Stat) -> Option<u32> {
    let is_locked = run.synchronized.is_some()
        && enter.origin == Origin::Found
        && !run.policy.privileged
        && stat.uid == run.me.0
        && stat.permissions() & 0o700 != 0o700;
    // If that fails, so does whatever needs the access, with a message.
    let unlocked = is_locked && fchmod(target, stat.permissions() | 0o700).is_ok();
    unlocked.then_some(stat.permissions())
}

/// Sets the final mode of a directory that the run cannot read and that is therefore empty in the
/// target.
fn narrow_unread(run: &Run<'_>, enter: &Enter) {
    let Some(made) = enter.made else { return };
    let name = enter.target_name.as_deref().unwrap_or(&enter.source_name);
    // The run has already reported the failure to read the directory. A failure to set the mode
    // leaves a directory to which only its owner has more access.
    let _narrowed = run.cache.of(&enter.parent).and_then(|parent| {
        let target = open_directory(parent.target(), name, Follow::No)?;
        let stat = fstat(&target)?;
        demand_own(run, enter, &target, &stat)?;
        let now = Now::Known { mode: stat.permissions(), directory: target.as_fd() };
        final_mode(run, &run.wanted(&enter.stat, None), made, now)
            .map_or(Ok(()), |mode| fchmod(&target, mode))
    });
}

/// Returns the mode to set at the end, if the run made the directory with other bits than the usual
/// mode.
fn final_mode(run: &Run<'_>, source: &Stat, made: u32, now: Now<'_>) -> Option<u32> {
    let wanted = decide::usual_mode(source, run.policy) & 0o1777;
    let widened = made & !wanted & 0o700;
    // As mkdir(2) does: a default ACL stands for the umask, except for writing.
    let writing = !(run.policy.umask & 0o222);
    let is_usual = |granted: u32| widened == 0 && wanted & !made & granted == 0;
    // Neither a list nor the umask grants more than this, so no list has to be read.
    if is_usual(writing) {
        return None;
    }
    let (granted, mode) = match now {
        // There may be a list that grants what the umask does not.
        Now::Unknown => (writing, 0),
        Now::Known { mode, directory } => match metadata::default_grants(directory) {
            Some(granted) => ((granted | 0o7000) & writing, mode),
            None => (!run.policy.umask, mode),
        },
    };
    if is_usual(granted) {
        return None;
    }
    // The kernel may have set the setgid bit, inherited from the parent directory.
    Some((wanted & granted) | (mode & 0o2000))
}

/// A directory of the target, when its final mode is determined.
#[derive(Clone, Copy)]
enum Now<'a> {
    /// It may not exist.
    Unknown,
    /// Its mode, and the directory, which has inherited a default ACL or not.
    Known { mode: u32, directory: BorrowedFd<'a> },
}

fn begin(
    run: &Run<'_>,
    counters: &WorkerCounters,
    enter: Enter,
    opened: Opened,
) -> Arc<haul_tree::Task<CopyDirectory>> {
    let Opened { handles, source, target, pair, flags, mut lost, within, protected, unlocked } =
        opened;
    let origin = enter.origin;
    let parent = &enter.parent;
    let is_operand = parent.lists_operands;
    if is_operand && enter.rest.is_none() {
        let mut roots = run.made_roots.lock();
        roots.push(identity(&target));
    }
    run.note_copied(&source);
    // A default ACL is inherited by every directory below, so a directory that the run made without
    // one has none to pass on.
    let may_inherit = origin == Origin::Found || parent.inherits_acl;
    let inherits_acl = may_inherit && keeps_mode(run) && has_default_list(handles.target());
    let made = NewTarget { mode: enter.made, inherits_acl, owner: (target.uid, target.gid) };
    let now = Now::Known { mode: target.permissions(), directory: handles.target() };
    let wanted = run.wanted(&source, Some((target.uid, target.gid)));
    let narrowed = enter.made.and_then(|mode| final_mode(run, &wanted, mode, now)).or(unlocked);
    // One that an earlier operand has completed keeps what it got then, its times in spite of new entries.
    let (attributes, more) = if enter.is_shared {
        DirectoryAttributes::read(handles.target(), &target, made, narrowed, run.policy)
    } else {
        let read = DirectoryAttributes::read(handles.source(), &wanted, made, narrowed, run.policy);
        (read.0.with_flags(flags), read.1)
    };
    lost.extend(more);
    let name = enter.target_name.as_deref().unwrap_or(&enter.source_name);
    let entry = Entry { node: parent, source: &enter.source_name, target: name, rest: None };
    let is_lacking = entry.lost(run, &source, lost) == Kept::NotAll;
    let root_dev = if is_operand { source.dev } else { parent.root_dev };
    let is_read = enter.rest.is_some() || decide::is_read(name, run.policy);
    let is_entered = is_read && decide::is_entered(source.dev, root_dev, run.policy);
    let position = run.position_below(parent, name);
    let route = run.made.route_below(parent.route, name);
    let new_owner = run.owners.of_new_file(&target).filter(|_| origin == Origin::Made);
    let above = (!is_operand).then_some(parent.target_way);
    let target_way = synchronized::way_to(run, handles.target(), above, enter.target_through_link);
    let directory = CopyDirectory {
        position,
        source_name: enter.source_name,
        target_name: enter.target_name,
        source_id: identity(&source),
        target_id: identity(&target),
        route,
        root_dev,
        through_link: enter.through_link,
        target_through_link: enter.target_through_link,
        inherits_acl,
        pair,
        lists_operands: enter.rest.is_some(),
        attributes,
        origin,
        new_owner,
        exchangeable: run.owners.exchangeable(&target),
        ignores_case: OnceLock::new(),
        listed: OnceLock::new(),
        is_lacking: AtomicBool::new(is_lacking),
        foreign: Foreign::No,
        within,
        protected,
        target_way,
    };
    let node = Arc::new(Node::new(Some(enter.parent), directory));
    if origin == Origin::Found && is_entered && enter.rest.is_none() {
        synchronized::remove_extraneous(run, counters, &node, &handles);
    }
    let handles = run.cache.adopt(handles);
    run.cache.keep(&node, &handles);
    let reader = match enter.rest {
        // No path component is left, and no other entry of the directory is wanted.
        Some(rest) if rest.is_empty() => Reader::of_operands(&[]),
        Some(rest) => Reader::of_operands(&[operand_of_path(&rest)]),
        None if !is_entered => Reader::of_operands(&[]),
        None => Reader::new(),
    };
    Arc::new(haul_tree::Task::new(node, reader, DIRECTORY_WORKERS).holding(handles))
}

fn keeps_mode(run: &Run<'_>) -> bool {
    run.policy.preserve.mode == ModePolicy::Keep
}
