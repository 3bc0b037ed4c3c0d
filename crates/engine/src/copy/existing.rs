//! Handles a target name that is taken: describes the file, decides, asks the user, and frees the
//! name.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd as _, BorrowedFd};

use haul_io::last_check::Stays;
use haul_io::publish::rename_to_free;
use haul_sys::Errno;
use haul_sys::fs::{
    Kind, RenameMode, Stat, fstat, may_write_at, openat, statat, statat_follow, unlinkat,
};
use haul_tree::has_entry;

use super::cut_short::is_cut_short;
use super::find::{self, has_source};
use super::item::Item;
use super::temporary::below;
use super::{spelling, synchronized};
use crate::copy::context::Worker;
use crate::copy::entry::{Entry, OpenEntry};
use crate::copy::made_entries::Owner;
use crate::copy::run::Run;
use crate::data::error::What;
use crate::data::monitor::{Outcome, PromptReason, Proposal, Question, WorkerCounters};
use crate::data::request::{Force, Make, ModePolicy, Policy};
use crate::decide::{
    Action, Contents, Facts, Occupant, Seen, Source, Taken, TargetName, classify, creation_call,
};
use crate::metadata::Kept;
use crate::names::at::{At, DIRECTORY, Sides};
use crate::names::by_identity::identity;
use crate::names::file_systems::Via;
use crate::names::path::{directory_of, split};
use crate::names::timestamp_precision;
use crate::plan::backup;

/// State of the target name of an entry.
pub(super) enum TargetState {
    /// The name was free, or the run freed it.
    Free,
    /// The existing file gets new contents.
    Overwrite(Box<Taken>),
    /// The new link replaces the existing file atomically.
    Swap,
    /// The new file replaces the existing file atomically, once it is complete.
    Replace(Box<Taken>, Inherits),
    /// The existing directory gets the entries.
    Merge(Box<Taken>),
    /// The entry needs no further work: the run skipped it, refused it or failed, and has reported
    /// that where the policy requires a report.
    Settled(Done),
}

/// Whether a file that replaces another inherits its owner and permission bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inherits {
    /// The new file inherits them, because the policy would have overwritten the existing file.
    Yes,
    /// The new file does not inherit them, because the policy would have removed the existing file.
    No,
}

/// Reason for which an entry needs no further work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    /// The existing file stands for the copy.
    UpToDate,
    /// The existing file stays, and has nothing to do with the entry.
    Skipped,
    /// The run could not copy the entry, or the policy forbids the copy.
    Failed,
}

/// Looks at the target name before the run makes anything, and frees the name where the policy says
/// so.
pub(super) fn resolve(
    worker: &mut Worker<'_, '_>,
    entry: &OpenEntry<'_>,
    item: &mut Item,
) -> TargetState {
    // A directory that this run made is empty; an exclusive call fails if another process adds a
    // name.
    if entry.is_alone(worker.operation) {
        return TargetState::Free;
    }
    resolve_taken(worker, entry, item, Seen::No)
}

/// Does the same as [`resolve`] for a name that a call has just found to be taken.
pub(super) fn resolve_taken(
    worker: &mut Worker<'_, '_>,
    entry: &OpenEntry<'_>,
    item: &mut Item,
    seen: Seen,
) -> TargetState {
    let run = worker.operation;
    let failed = TargetState::Settled(Done::Failed);
    let sides = sides(entry);
    let mut taken = match describe(sides, &item.link, run.policy) {
        Ok(Some(taken)) => taken,
        Ok(None) => return TargetState::Free,
        Err(error) => {
            entry.fail(run, What::StatTarget, Some(error.errno));
            return failed;
        }
    };
    let follow = find::follows(run, entry);
    let compared = synchronized::compare_taken(run, sides, item, follow, &mut taken)
        .and_then(|()| synchronized::look_for_replacement(run, entry, item, &mut taken));
    if let Err((what, errno)) = compared {
        entry.fail(run, what, Some(errno));
        return failed;
    }
    taken.is_cut_short = is_cut_short(sides, (&item.stat, follow), &taken, run.policy);
    taken.occupant = occupant(run, entry, item, &taken);
    taken.backup_is_made = backup_is_made(run, entry);
    let source = Source {
        followed: referent(sides.source, &item.link),
        seen,
        link_text: find::link_text(run, entry),
        ..Source::new(&item.stat, &item.link, entry.role())
    };
    let facts = Facts { source, target: TargetName::Taken(&taken) };
    let decision = classify(&facts, run.policy);
    if decision.ask && !agreed(worker, entry, &taken) {
        WorkerCounters::one(&worker.local.counters.skipped);
        run.control.failures.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        return failed;
    }
    act(worker, entry, item, decision.action, taken)
}

/// Returns whether another process has made a directory where this run is alone, as two copies of trees with common
/// directories do. No other entry of the run has this spelling of the name, so if the directory lists it, no entry of
/// the run has made it: unless the source has the name in another case, which some file systems do not keep.
fn is_foreign_directory(entry: &OpenEntry<'_>, item: &Item, taken: &Taken) -> bool {
    let are_directories = [&item.stat, &taken.link].iter().all(|it| it.kind() == Kind::Directory);
    let is_twin = |other: &CStr| spelling::differ_in_case(other, entry.source);
    are_directories
        && spelling::is_listed(entry.handles.target(), entry.target).is_ok_and(|it| it)
        && has_entry(entry.handles.source(), |other| is_twin(other.name)).is_ok_and(|it| !it)
}

/// Returns the origin of the file that has the target name.
fn occupant(run: &Run<'_>, entry: &OpenEntry<'_>, item: &Item, taken: &Taken) -> Occupant {
    if entry.is_alone(run) {
        let is_foreign = is_foreign_directory(entry, item, taken);
        return if is_foreign { Occupant::Older } else { Occupant::OwnDirectory };
    }
    // An earlier run, or another process, may have made it for another name of the source.
    let may_be_made = run.journal.is_some() || run.has_others() || is_shared(run, entry, taken);
    if !entry.is_operand() && may_be_made && spelling::is_of_another(entry, &taken.link) {
        return Occupant::OwnDirectory;
    }
    if entry.is_operand() && run.is_operand_name(entry.target, identity(&taken.link)) {
        return Occupant::NameOfAnother;
    }
    if !entry.may_be_met(run) {
        return Occupant::Older;
    }
    let newcomer = entry.newcomer(&item.stat);
    let owner = |file: &Stat| run.made.owner(identity(file), newcomer);
    let is_given_away = match owner(&taken.link) {
        Owner::SameName => true,
        Owner::Other => is_one_name(entry, &taken.link),
        Owner::Free | Owner::Same => false,
    };
    if is_given_away {
        let are_directories =
            item.stat.kind() == Kind::Directory && taken.link.kind() == Kind::Directory;
        return if are_directories { Occupant::OwnDirectory } else { Occupant::NameOfAnother };
    }
    match taken.reached() {
        // The same file under a second name: a hard link, or the referent of a symbolic link.
        Some(file) if file.kind() == Kind::Regular && owner(&file).is_another() => {
            Occupant::BytesOfAnother
        }
        _ => Occupant::Older,
    }
}

/// Returns whether a name that stays as it is in a synchronisation may be that of another entry, too: of another
/// operand, or of one with another spelling.
fn is_shared(run: &Run<'_>, entry: &OpenEntry<'_>, taken: &Taken) -> bool {
    run.synchronized.is_some()
        && (run.several_operands || spelling::ignores_case(entry, &taken.link))
}

/// Returns whether the backup of an entry's target would replace what the run has made under the name of the
/// backup.
fn backup_is_made(run: &Run<'_>, entry: &OpenEntry<'_>) -> bool {
    let Some(how) = run.policy.backup.as_ref().filter(|_| entry.may_be_met(run)) else {
        return false;
    };
    let directory = entry.handles.target();
    // The name is looked up first: finding out about numbered backups may take long.
    let is_made = |name: &CString| {
        statat(directory, name).is_ok_and(|there| run.made.contains(identity(&there)))
    };
    backup::simple_name(entry.target, how).is_some_and(|name| is_made(&name))
        && backup::name_for(directory, entry.target, how)
            .is_ok_and(|(_, mode)| mode == RenameMode::Replace)
}

/// Returns whether the name under which another entry of the run has got a file is this one, in another
/// spelling, or leads to it: the file then has no name but this one.
fn is_one_name(entry: &OpenEntry<'_>, file: &Stat) -> bool {
    (file.nlink == 1 && file.kind() != Kind::Directory)
        || spelling::is_other(entry.handles.target(), entry.target, file)
}

fn act(
    worker: &mut Worker<'_, '_>,
    entry: &OpenEntry<'_>,
    item: &mut Item,
    action: Action,
    taken: Taken,
) -> TargetState {
    let run = worker.operation;
    let whole = run.policy.appears_whole();
    // What cannot be replaced is neither removed nor renamed.
    let frees_name =
        matches!(action, Action::Replace | Action::BackUp | Action::Clear) && !taken.same_name;
    let needs_source = item.contents == Contents::Data && run.policy.make == Make::Copy;
    if frees_name && needs_source && !has_source(run, entry, item) {
        return TargetState::Settled(Done::Failed);
    }
    match action {
        Action::Overwrite if whole && is_a_file(&taken) && run.synchronized.is_none() => {
            replace_overwritten(worker, entry, taken)
        }
        Action::Overwrite => TargetState::Overwrite(Box::new(taken)),
        Action::Merge => TargetState::Merge(Box::new(taken)),
        // The errno of the call that makes the name describes the obstacle.
        Action::Collide if taken.occupant == Occupant::OwnDirectory => {
            let what = creation_call(item.stat.kind(), Seen::No, run.policy);
            entry.fail(run, what, Some(Errno::EXIST));
            TargetState::Settled(Done::Failed)
        }
        Action::Create | Action::Collide | Action::Look => TargetState::Free,
        // The rename of a link leaves no gap, and the link may refer to the file that it replaces.
        Action::Replace if matches!(run.policy.make, Make::HardLink | Make::SymbolicLink) => {
            TargetState::Swap
        }
        Action::Replace if whole => {
            let inherits = inherits(run, item, &taken);
            TargetState::Replace(Box::new(taken), inherits)
        }
        Action::Adjust => match synchronized::adjust_entry(run, entry, item, &taken) {
            Kept::All => {
                entry.note_made(run, &item.stat, || Ok(taken.link));
                TargetState::Settled(Done::UpToDate)
            }
            Kept::NotAll => TargetState::Settled(Done::Failed),
        },
        Action::Clear => match synchronized::clear(run, worker.local.counters, entry) {
            true => TargetState::Free,
            false => TargetState::Settled(Done::Failed),
        },
        Action::Replace => remove(worker, entry),
        Action::BackUp if whole => match link_backup(worker, entry, item) {
            Some(TargetState::Free) => TargetState::Replace(Box::new(taken), Inherits::No),
            Some(standing) => standing,
            None => back_up(worker, entry, item),
        },
        Action::BackUp => back_up(worker, entry, item),
        Action::Skip(reason) => {
            WorkerCounters::one(&worker.local.counters.skipped);
            if is_shared(run, entry, &taken) {
                entry.note_made(run, &item.stat, || Ok(taken.link));
            }
            item.tell(run, entry, Outcome::Skipped);
            let stands_for_it = reason.keeps_the_copy();
            TargetState::Settled(if stands_for_it { Done::UpToDate } else { Done::Skipped })
        }
        Action::RefuseBackup => {
            let how = run.policy.backup.as_ref();
            let name = how.and_then(|how| backup::simple_name(entry.target, how));
            let target = name.as_deref().unwrap_or(entry.target);
            Entry { target, ..entry.entry }.fail(run, What::JustCreated, None);
            TargetState::Settled(Done::Failed)
        }
        Action::Refuse(what) => {
            if what == What::DanglingTarget {
                // GNU cp detects this error after it has printed the verbose line.
                entry.tell(run, Outcome::Begun, item.stat.kind());
            }
            entry.fail(run, what, taken.errno_of(what));
            TargetState::Settled(Done::Failed)
        }
    }
}

/// Returns whether a new file gets the owner and permission bits of the one that it replaces: in a synchronisation
/// that does not set them itself.
fn inherits(run: &Run<'_>, item: &Item, taken: &Taken) -> Inherits {
    let are_files = [&item.stat, &taken.link].iter().all(|stat| stat.kind() == Kind::Regular);
    let is_kept = run.policy.preserve.mode == ModePolicy::Keep;
    if run.synchronized.is_some() && are_files && !is_kept { Inherits::Yes } else { Inherits::No }
}

fn is_a_file(taken: &Taken) -> bool {
    taken.reached().is_some_and(|reached| reached.kind() == Kind::Regular)
}

/// Replaces a file that the policy overwrites, unless the user cannot write to it: its permission
/// bits are deliberate. They are those of the source if a killed run of this copy has named the file.
fn replace_overwritten(
    worker: &mut Worker<'_, '_>,
    entry: &OpenEntry<'_>,
    taken: Taken,
) -> TargetState {
    if is_of_killed_run(worker.operation, entry, &taken.link) {
        return TargetState::Replace(Box::new(taken), Inherits::No);
    }
    if worker.operation.policy.force == Force::No
        && let Err(error) = may_write_at(entry.handles.target(), entry.target)
    {
        entry.fail(worker.operation, What::CreateFile, Some(error.errno));
        return TargetState::Settled(Done::Failed);
    }
    TargetState::Replace(Box::new(taken), Inherits::Yes)
}

/// Returns whether the target has no entry of this name.
pub(super) fn is_free(entry: &OpenEntry<'_>) -> bool {
    statat(entry.handles.target(), entry.target).is_err_and(|error| error.errno == Errno::NOENT)
}

/// Counts and reports an entry that stays as it is.
pub(super) fn note_skipped(worker: &Worker<'_, '_>, entry: &Entry<'_>, kind: Kind) {
    WorkerCounters::one(&worker.local.counters.skipped);
    entry.tell(worker.operation, Outcome::Skipped, kind);
}

/// Returns whether an earlier run of this copy may have published a file without recording that.
fn is_of_killed_run(run: &Run<'_>, entry: &OpenEntry<'_>, file: &Stat) -> bool {
    let Some(journal) = run.journal.filter(|journal| journal.knows_unpublished()) else {
        return false;
    };
    let via = Via::Name(entry.handles.target(), entry.target);
    file.kind() == Kind::Regular
        && file.uid == run.me.0
        && run
            .file_systems
            .identified_apart_from_changes(via, file)
            .is_some_and(|file| journal.may_be_published(file))
}

/// Removes an existing target name.
pub(super) fn remove(worker: &mut Worker<'_, '_>, entry: &OpenEntry<'_>) -> TargetState {
    match unlinkat(entry.handles.target(), entry.target) {
        Ok(()) => {
            if worker.operation.synchronized.is_none() {
                entry.tell(worker.operation, Outcome::Removed, Kind::Regular);
            }
            TargetState::Free
        }
        Err(error) if error.errno == Errno::NOENT => TargetState::Free,
        Err(error) => {
            entry.fail(worker.operation, What::Remove, Some(error.errno));
            TargetState::Settled(Done::Failed)
        }
    }
}

/// Links the existing file to the backup name, so that the target name is never free. Returns
/// `None` where the file system has no hard links.
fn link_backup(
    worker: &mut Worker<'_, '_>,
    entry: &OpenEntry<'_>,
    item: &mut Item,
) -> Option<TargetState> {
    let run = worker.operation;
    let policy = run.policy.backup.as_ref()?;
    let target = entry.handles.target();
    match backup::link(target, entry.target, policy) {
        Ok(name) => {
            item.backup = Some(name);
            Some(TargetState::Free)
        }
        // link(2): EPERM and EOPNOTSUPP where the file system has no hard links or allows none to
        // this file, EMLINK where the file has the maximum number of links.
        Err(error) if matches!(error.errno, Errno::PERM | Errno::OPNOTSUPP | Errno::MLINK) => None,
        Err(error) => {
            entry.fail(run, What::Backup, Some(error.errno));
            Some(TargetState::Settled(Done::Failed))
        }
    }
}

fn back_up(worker: &mut Worker<'_, '_>, entry: &OpenEntry<'_>, item: &mut Item) -> TargetState {
    let run = worker.operation;
    let Some(policy) = &run.policy.backup else { return TargetState::Settled(Done::Failed) };
    let target = entry.handles.target();
    match backup::make(target, entry.target, policy) {
        Ok(name) => {
            item.backup = Some(name);
            TargetState::Free
        }
        Err(error) if error.errno == Errno::NOENT => TargetState::Free,
        Err(error) => {
            entry.fail(run, What::Backup, Some(error.errno));
            TargetState::Settled(Done::Failed)
        }
    }
}

/// Renames a backup to its old name, because the run did not make the file that was to replace it. A file that
/// another process has put there meanwhile stays.
pub(super) fn restore(run: &Run<'_>, directory: BorrowedFd<'_>, entry: &Entry<'_>, backup: &CStr) {
    // If the backup is a second name of the existing file, removing the backup is enough.
    let twin = statat(directory, backup)
        .ok()
        .filter(|one| statat(directory, entry.target).is_ok_and(|other| one.same_file(&other)));
    let restored = match twin {
        Some(twin) => remove_twin(run, directory, backup, &twin),
        None => rename_to_free(directory, backup, entry.target, &run.space).map(drop),
    };
    if let Err(error) = restored {
        entry.fail(run, What::RestoreBackup, Some(error.errno));
    }
}

/// Removes a backup that is a second name of a file. Another file that has the name by now stays.
fn remove_twin(
    run: &Run<'_>,
    directory: BorrowedFd<'_>,
    backup: &CStr,
    twin: &Stat,
) -> haul_sys::Result<()> {
    let elsewhere = below(directory, backup)?;
    let place = match &elsewhere {
        Some(place) => (place.directory.as_fd(), place.name.as_c_str()),
        None => (directory, backup),
    };
    match run.last_names.remove_same(place, twin) {
        Ok(()) | Err(Stays::Changed) => Ok(()),
        Err(Stays::Failed(error)) => Err(error),
        Err(Stays::Beside(other)) => Err(other.why),
    }
}

fn sides<'a>(entry: &OpenEntry<'a>) -> Sides<'a> {
    Sides {
        source: At { directory: entry.handles.source(), name: entry.source },
        target: At { directory: entry.handles.target(), name: entry.target },
    }
}

/// Describes a taken target name, for an entry with this source description. Returns `None` if the
/// name is free. The caller determines the origin of the file.
pub(crate) fn describe(
    sides: Sides<'_>,
    source: &Stat,
    policy: &Policy,
) -> haul_sys::Result<Option<Taken>> {
    let At { directory, name } = sides.target;
    let link = match statat(directory, name) {
        Ok(link) => link,
        Err(error) if error.errno == Errno::NOENT => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut taken = Taken {
        link,
        followed: None,
        unreachable: None,
        is_cut_short: false,
        compared: None,
        is_in_basis: false,
        step_ns: timestamp_precision::step_ns(&link, directory),
        same_name: source.same_file(&link)
            && is_one_entry(sides.source.as_path(), sides.target.as_path()),
        backup_is_source: policy.backup.as_ref().is_some_and(|backup| {
            backup::would_destroy((sides.source.name, source), directory, name, backup)
        }),
        backup_is_made: false,
        occupant: Occupant::Older,
    };
    if link.kind() == Kind::Symlink {
        match statat_follow(directory, name) {
            Ok(stat) => {
                taken.step_ns = timestamp_precision::step_ns(&stat, directory);
                taken.followed = Some(stat);
            }
            Err(error) if error.errno == Errno::NOENT => {}
            // What replaces the link need not look through it.
            Err(error) => taken.unreachable = Some(error.errno),
        }
    }
    Ok(Some(taken))
}

/// Returns the referent of a name, if the name is a symbolic link that is not dangling.
pub(crate) fn referent(at: At<'_>, link: &Stat) -> Option<Stat> {
    (link.kind() == Kind::Symlink).then(|| statat_follow(at.directory, at.name).ok()).flatten()
}

fn agreed(worker: &mut Worker<'_, '_>, entry: &Entry<'_>, taken: &Taken) -> bool {
    let reached = taken.reached().unwrap_or(taken.link);
    let unwritable = !worker.operation.may_write(&reached);
    let unwritable_mode = unwritable.then_some(reached.permissions());
    let reason = PromptReason::Overwrite { unwritable_mode };
    let question = Question { path: entry.target_path(), reason };
    worker.operation.monitor.agrees(Proposal::Ask(&question))
}

/// Returns whether two paths, each relative to a directory, are one directory entry: the same name
/// in the same directory, regardless of the spelling. Returns `false` where a call fails.
pub(crate) fn is_one_entry(one: (BorrowedFd<'_>, &[u8]), two: (BorrowedFd<'_>, &[u8])) -> bool {
    if split(one.1).1 != split(two.1).1 {
        return false;
    }
    let directory = |(base, path): (BorrowedFd<'_>, &[u8])| {
        openat(base, &directory_of(path), DIRECTORY).and_then(|fd| fstat(&fd)).ok()
    };
    directory(one).zip(directory(two)).is_some_and(|(one, two)| one.same_file(&two))
}
