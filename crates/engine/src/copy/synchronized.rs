//! What a copy does more if it makes the target the same as the source: comparing, setting attributes alone, and
//! removing what the source does not have.

use std::ffi::CString;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;

use haul_sys::Errno;
use haul_sys::fs::{Follow, Kind, Stat, open_directory, rmdirat, statat};

use crate::copy::entry::{Entry, OpenEntry};
use crate::copy::find;
use crate::copy::item::Item;
use crate::copy::links::Name;
use crate::copy::node::{Handles, Node, Side, of_entry, of_node};
use crate::copy::run::{Run, Told};
use crate::data::error::What;
use crate::data::monitor::{Control, Detail, Event, Monitor, Outcome, Report, WorkerCounters};
use crate::data::request::{BasisUse, Borders, Changes, Policy};
use crate::data::selected::Protection;
use crate::decide::{self, Role, Taken};
use crate::metadata::Kept;
use crate::names::at::{At, Sides};
use crate::names::path::{directory_of, split};
use crate::remove::Mode;
use crate::remove::below::remove_below;
use crate::remove::limit::Counts;
use crate::sync::adjust::adjust;
use crate::sync::backups::Then;
use crate::sync::basis::{Basis, Fit, Search, Wanted};
use crate::sync::compare::{Twins, compare, seen};
use crate::sync::extraneous::{Directories, TargetWay, extraneous};
use crate::sync::shared::{Doomed, Synchronized};

impl Run<'_> {
    /// Returns the policy for the attributes of entries of a kind.
    pub(crate) fn policy_for(&self, kind: Kind) -> &Policy {
        let synchronized = self.synchronized.as_ref();
        synchronized.and_then(|of| of.policy_without_times(kind)).unwrap_or(self.policy)
    }

    /// Returns the description of a source with the owner and the permission bits that its target is to have. `now` are
    /// owner and group of the target, as far as they are known.
    pub(crate) fn wanted(&self, source: &Stat, now: Option<(u32, u32)>) -> Stat {
        self.synchronized.as_ref().map_or(*source, |of| of.attributes.of(source, now))
    }
}

/// Compares an entry with the one that has its target name, if the run synchronises.
pub(super) fn compare_taken(
    run: &Run<'_>,
    sides: Sides<'_>,
    item: &mut Item,
    follow: Follow,
    taken: &mut Taken,
) -> Result<(), (What, Errno)> {
    let Some(synchronized) = &run.synchronized else { return Ok(()) };
    let target = seen(taken, item.stat.kind(), run.policy);
    let source = &synchronized.attributes.of(&item.stat, Some((target.uid, target.gid)));
    let twins = Twins { sides, source, follow, target: &target, step_ns: taken.step_ns };
    let compared = compare(twins, synchronized.rules, run.policy)?;
    item.changes = Some(compared.changes);
    item.is_same = compared.is_same;
    taken.compared = Some(compared);
    Ok(())
}

/// Looks for a file that fits better than the one that has the target name.
pub(super) fn look_for_replacement(
    run: &Run<'_>,
    entry: &OpenEntry<'_>,
    item: &mut Item,
    taken: &mut Taken,
) -> Result<(), (What, Errno)> {
    let Some(synchronized) = &run.synchronized else { return Ok(()) };
    item.search = synchronized.search(&item.stat, Some(taken));
    if item.search == Search::Exact {
        item.basis = find_basis(run, entry, item)?.filter(|basis| {
            basis.fit == Fit::Exact && !basis.stat.same_file(&taken.link) && gives(run, item, basis)
        });
        taken.is_in_basis = item.basis.is_some();
    }
    Ok(())
}

/// Returns what the run does with entries that another directory has, if it looks for any.
pub(super) fn purpose(run: &Run<'_>) -> Option<BasisUse> {
    run.synchronized.as_ref()?.purpose()
}

pub(super) fn gives(run: &Run<'_>, item: &Item, basis: &Basis) -> bool {
    run.synchronized.as_ref().is_some_and(|of| of.gives(basis, &item.stat, run.policy))
}

/// Finds the entry of another directory that fits best, if the run looks for one.
pub(super) fn find_basis(
    run: &Run<'_>,
    entry: &OpenEntry<'_>,
    item: &Item,
) -> Result<Option<Basis>, (What, Errno)> {
    let Some(synchronized) = &run.synchronized else { return Ok(None) };
    let wanted = Wanted {
        shown: &entry.target_path(),
        source: At { directory: entry.handles.source(), name: entry.source },
        stat: &item.stat,
        follow: find::follows(run, entry),
    };
    synchronized.find_basis(wanted, run.policy)
}

/// Makes the backup of an entry that is about to be replaced, if the run makes any.
pub(super) fn back_up(run: &Run<'_>, entry: &Entry<'_>, old: At<'_>) -> haul_sys::Result<()> {
    let Some(backups) = run.synchronized.as_ref().and_then(|of| of.backups.as_ref()) else {
        return Ok(());
    };
    let kept = backups.keep(old, &entry.target_path(), Then::Replaced, |id| run.made.contains(id));
    match kept {
        // Another process has removed it.
        Err(error) if error.errno == Errno::NOENT && is_gone(old) => Ok(()),
        answer => answer,
    }
}

fn is_gone(At { directory, name }: At<'_>) -> bool {
    statat(directory, name).is_err_and(|error| error.errno == Errno::NOENT)
}

/// Sets the attributes of an existing entry, and reports it. Returns whether it has all of them.
pub(super) fn adjust_entry(
    run: &Run<'_>,
    entry: &OpenEntry<'_>,
    item: &Item,
    taken: &Taken,
) -> Kept {
    let changes = item.changes.unwrap_or_default();
    let source = run.wanted(&item.stat, Some((taken.link.uid, taken.link.gid)));
    let twins = Twins {
        sides: Sides {
            source: At { directory: entry.handles.source(), name: entry.source },
            target: At { directory: entry.handles.target(), name: entry.target },
        },
        source: &source,
        follow: find::follows(run, entry),
        target: &taken.link,
        step_ns: taken.step_ns,
    };
    let lost = adjust(twins, changes, run.policy_for(item.stat.kind()));
    let kept = entry.lost(run, &item.stat, lost);
    if kept == Kept::All {
        item.tell(run, entry, Outcome::Adjusted);
    }
    kept
}

/// Removes the entries of a directory of the target that its source does not have. What fails is reported.
pub(super) fn remove_extraneous(
    run: &Run<'_>,
    counters: &WorkerCounters,
    node: &Node,
    handles: &Handles,
) {
    let Some(synchronized) = &run.synchronized else { return };
    let Some(delete) = synchronized.delete() else { return };
    let is_operand = node.parent.as_ref().is_some_and(|parent| parent.lists_operands);
    let directories = Directories {
        source: handles.source(),
        target: handles.target(),
        within: &node.within,
        protected: &node.protected,
        follow: decide::selects_as(Role::Inside, run.policy),
        is_operand,
        way: node.target_way,
        prunes: synchronized.rules.prunes_empty,
        places: synchronized.places(),
    };
    if run.policy.borders == Borders::Stay && node.target_way == TargetWay::Mounted {
        return;
    }
    let names = match extraneous(directories, delete) {
        Ok(names) => names,
        Err((what, errno)) => return run.fail_node(node, what, errno),
    };
    if names.is_empty() {
        return;
    }
    let path = of_node(node, Side::Target);
    let (directory, within, counts) = (handles.target(), &node.protected, Counts::All);
    let doomed = Doomed { directory, path: &path, names: &names, within, counts };
    if let Err(errno) = remove_doomed(run, counters, doomed) {
        run.fail_node(node, What::StatTarget, Some(errno));
    }
}

/// Makes way for an entry that is no directory where the target has one. Returns whether the name is free.
pub(super) fn clear(run: &Run<'_>, counters: &WorkerCounters, entry: &OpenEntry<'_>) -> bool {
    let Some(synchronized) = &run.synchronized else { return false };
    let target = entry.handles.target();
    let remove = || match rmdirat(target, entry.target) {
        Err(error) if error.errno == Errno::NOENT => Ok(()),
        answer => answer.map_err(|error| error.errno),
    };
    let is_full = |errno| matches!(errno, Errno::NOTEMPTY | Errno::EXIST);
    let mut answer = remove();
    // An empty directory makes way in any case, and is not counted.
    if answer.is_err_and(is_full) && synchronized.rules.clears_directories {
        if let Err((what, errno)) = entry.node.target_way.demand_own() {
            entry.fail(run, what, errno);
            return false;
        }
        answer = clear_contents(run, counters, entry).and_then(|()| remove());
    }
    match answer {
        Ok(()) => return true,
        Err(errno) if is_full(errno) => entry.fail(run, What::OverDirectory, None),
        Err(errno) => entry.fail(run, What::Remove, Some(errno)),
    }
    false
}

/// Removes what is in a directory of the target that makes way.
fn clear_contents(
    run: &Run<'_>,
    counters: &WorkerCounters,
    entry: &OpenEntry<'_>,
) -> Result<(), Errno> {
    let (within, counts) = (&entry.node.protected, Counts::Contents);
    let shown = entry.target_path();
    let (path, name) = split(&shown);
    let names = [CString::new(name).unwrap_or_default()];
    if !entry.is_operand() {
        let directory = entry.handles.target();
        let doomed = Doomed { directory, path, names: &names, within, counts };
        return remove_doomed(run, counters, doomed);
    }
    // Rules see the path of an operand, not the directories that lead to it.
    if !within.is_none() {
        return Err(Errno::NOTEMPTY);
    }
    let above = directory_of(entry.target.to_bytes());
    let directory =
        open_directory(entry.handles.target(), &above, Follow::Yes).map_err(|error| error.errno)?;
    let directory = directory.as_fd();
    remove_doomed(run, counters, Doomed { directory, path, names: &names, within, counts })
}

fn remove_doomed(
    run: &Run<'_>,
    counters: &WorkerCounters,
    doomed: Doomed<'_>,
) -> Result<(), Errno> {
    let below = run.synchronized.as_ref().and_then(|of| of.below(doomed, Mode::Remove));
    let Some(below) = below else { return Ok(()) };
    let control = Control::new(run.control.stop);
    let removed = remove_below(below, &RemovalReporter { run }, &control);
    counters.deleted.fetch_add(control.counts().entries(), Ordering::Relaxed);
    removed.map(|_| ()).map_err(|error| error.errno)
}

/// Passes the reports of a removal on as those of the copy that it is a part of.
struct RemovalReporter<'a, 'r> {
    run: &'a Run<'r>,
}

impl Monitor for RemovalReporter<'_, '_> {
    fn report(&self, report: Report<'_>) {
        match report {
            Report::Failed(failure) => self.run.report(failure),
            Report::Entry(event) => self.run.monitor.report(Report::Entry(&Event {
                source: Vec::new(),
                target: event.source.clone(),
                outcome: Outcome::Removed,
                changes: Some(Changes::default()),
                ..event.clone()
            })),
            _ => {}
        }
    }

    fn wants(&self, detail: Detail) -> bool {
        detail == Detail::Entries && self.run.tells_entries
    }
}

impl Item {
    /// Reports an entry with what changes of it, before it is complete.
    pub(super) fn tell(&self, run: &Run<'_>, entry: &Entry<'_>, outcome: Outcome) {
        self.tell_with(run, entry, outcome, || None);
    }

    /// Reports an entry that has become another name of a file of the target.
    pub(super) fn tell_linked(&self, run: &Run<'_>, entry: &Entry<'_>, first: &Name) {
        let path = || Some(of_entry(&first.node, &first.name, Side::Target));
        self.tell_with(run, entry, Outcome::Linked, path);
    }

    fn tell_with(
        &self,
        run: &Run<'_>,
        entry: &Entry<'_>,
        outcome: Outcome,
        linked_to: impl FnOnce() -> Option<Vec<u8>>,
    ) {
        if run.tells_entries {
            let changes = run.synchronized.as_ref().map(|_| self.changes.unwrap_or(Changes::NEW));
            let backup = self.backup.as_deref();
            let linked_to = changes.and_then(|_| linked_to());
            let told = Told { backup, changes, linked_to };
            entry.tell_changed(run, outcome, self.stat.kind(), told);
        }
    }
}

/// Returns the way to a directory of the target that is an operand's, or lies in one to which `above` leads. Asks for it
/// only in a run that removes.
pub(super) fn way_to(
    run: &Run<'_>,
    target: BorrowedFd<'_>,
    above: Option<TargetWay>,
    through_link: bool,
) -> TargetWay {
    if run.synchronized.as_ref().is_some_and(Synchronized::removes) {
        TargetWay::to(target, above, through_link)
    } else {
        TargetWay::UNKNOWN
    }
}

/// Returns what protects entries of a directory of the target. Both sides are open.
pub(super) fn protected_in(
    entry: &Entry<'_>,
    [source, target]: [&OwnedFd; 2],
) -> Result<Protection, (What, Option<Errno>)> {
    let parent = entry.node;
    if parent.protected.is_none() {
        return Ok(Protection::NONE);
    }
    let shown = CString::new(entry.target_path()).unwrap_or_default();
    let own = if parent.lists_operands { &*shown } else { entry.target };
    parent.protected.enter(parent.listing(), [(entry.source, source), (own, target)])
}
