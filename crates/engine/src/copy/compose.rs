//! The composer of a copy: calls the steps in their order. Nothing else does.

use std::ops::ControlFlow;
use std::sync::Arc;

use haul_io::transfer::PARTED_BYTES;
use haul_tree::{Entries, Slot};

use super::group::PendingCommit;
use super::item::{Batch, Item, Target, Upcoming};
use super::next::{Filling, Next};
use super::shared_file::{Ending, Role, SharedFile};
use super::{commit_group, complete, fill, find, flags, hardlink, make, part, shared, turns};
use crate::copy::context::{Task, Worker};
use crate::copy::entry::{Entry, OpenEntry};
use crate::copy::run::Run;
use crate::data::request::Order;
use crate::journal::Secure;

/// Runs the steps on the entries of a batch.
pub(crate) fn run(worker: &mut Worker<'_, '_>, task: &Task, names: &Entries, batch: &mut Batch) {
    let entry = |slot: &Slot| OpenEntry {
        entry: Entry {
            node: &task.node,
            source: names.name(slot),
            target: names.target(slot),
            rest: names.rest(slot),
        },
        handles: &task.handles,
    };
    batch.items.clear();
    for slot in &names.slots {
        if worker.operation.stopped() {
            break;
        }
        batch.items.extend(find::find(worker, &entry(slot), slot));
    }
    {
        let _one_at_a_time = worker.operation.creating.of(task.target_id.1);
        for item in &mut batch.items {
            if worker.operation.stopped() {
                break;
            }
            make::make(worker, &entry(&item.slot), item);
        }
    }
    put_shared_last(worker.operation, &mut batch.items);
    let last_large = batch.items.iter().rposition(|item| {
        item.target.is_some() && item.stat.size >= haul_io::transfer::WORTH_BYTES
    });
    for (index, item) in batch.items.drain(..).enumerate() {
        let upcoming = if last_large > Some(index) { Upcoming::Large } else { Upcoming::Small };
        if let (Some(target), Some(source)) = (item.target, item.source) {
            let entry = entry(&item.slot);
            let may_change = find::may_change(worker.operation, &source);
            let target = Target { may_change, ..target };
            let filling = Filling { entry: &entry, source, stat: &item.stat, target };
            let next =
                next_in_turn(worker.operation, turns::take(worker.operation, filling), upcoming);
            run_steps(worker, next);
        }
    }
}

/// Puts files last on which the worker stays until all their bytes are moved: no other worker can take the
/// files of the batch behind them.
fn put_shared_last(run: &Run<'_>, items: &mut [Item]) {
    let is_shared = |item: &Item| item.stat.size >= PARTED_BYTES;
    if run.policy.order == Order::Any && items.iter().any(is_shared) {
        items.sort_by_key(|item| if is_shared(item) { item.stat.size } else { 0 });
    }
}

/// Returns what comes next for a file whose entry has its turn, or does not.
fn next_in_turn<'a>(
    run: &Run<'_>,
    taken: ControlFlow<Next<'a>, Filling<'a>>,
    upcoming: Upcoming,
) -> Next<'a> {
    match taken {
        ControlFlow::Continue(filling) => match flags::begin(run, filling) {
            ControlFlow::Continue(filling) => fill::fill(run, filling, upcoming),
            ControlFlow::Break(next) => next,
        },
        ControlFlow::Break(next) => next,
    }
}

/// Runs the steps that remain for an entry, and for the entries that have got their turn meanwhile.
fn run_steps(worker: &mut Worker<'_, '_>, next: Next<'_>) {
    run_own_steps(worker, next);
    run_those_in_turn(worker);
}

/// Runs the steps of the entries that have got their turn. Only called where no entry's steps are under way:
/// each of them may end the turn of the next one.
fn run_those_in_turn(worker: &mut Worker<'_, '_>) {
    let run = worker.operation;
    while let Some((turn, waiting)) = run.turns.next() {
        let node = Arc::clone(waiting.node());
        waiting.go_on(run, turn, |taken| {
            let next = next_in_turn(run, taken, Upcoming::Small);
            run_own_steps(worker, next);
        });
        worker.release(node);
    }
}

fn run_own_steps(worker: &mut Worker<'_, '_>, mut next: Next<'_>) {
    let run = worker.operation;
    loop {
        next = match next {
            Next::FillAlone(filling) => fill::fill_alone(worker, filling),
            Next::Share(large) => shared::begin(worker, large),
            Next::Draw(file) => return draw_ranges(worker, &file, Role::Began),
            Next::Complete(file, moved) => complete::complete(worker, file, moved),
            Next::Commit(held) => return commit(worker, commit_group::add(run, *held)),
            Next::Publish(held) => commit_group::publish(worker, *held),
            Next::Link(first, waiting) => {
                waiting.into_iter().for_each(|entry| hardlink::link_waiting(worker, &first, entry));
                Next::Done
            }
            Next::GiveUp(waiting) => {
                waiting.into_iter().for_each(|entry| hardlink::give_up(worker, entry));
                Next::Done
            }
            Next::Done => return,
        }
    }
}

/// Draws ranges of a large file; the last worker completes it, or the part of it. Goes on with the entries
/// that have got their turn then.
pub(crate) fn draw(worker: &mut Worker<'_, '_>, file: &Arc<SharedFile>, role: Role) {
    draw_ranges(worker, file, role);
    run_those_in_turn(worker);
}

fn draw_ranges(worker: &mut Worker<'_, '_>, file: &Arc<SharedFile>, role: Role) {
    let Some((ending, moved)) = shared::draw(worker, file, role) else { return };
    let entry = Entry {
        node: &file.node,
        source: &file.source_name,
        target: &file.target_name,
        rest: None,
    };
    match ending {
        Ending::File(rest) => {
            run_own_steps(worker, Next::Complete(rest.finished(&entry, &file.stat), moved));
        }
        Ending::Part => part::end(worker.operation, file, &moved),
    }
    worker.release(Arc::clone(&file.node));
}

/// Commits the files that still wait for a flush when no more files follow.
pub(crate) fn commit_remaining(worker: &mut Worker<'_, '_>) {
    let files = commit_group::remaining(worker.operation);
    commit(worker, files);
}

/// Syncs files, and gives them their names.
fn commit(worker: &mut Worker<'_, '_>, files: Vec<PendingCommit>) {
    if files.is_empty() {
        return;
    }
    let run = worker.operation;
    let publishing = commit_group::note_publishing(run, &files);
    let (synced, covers_journal) = commit_group::secure(run, &files);
    if publishing.is_some() && !covers_journal {
        run.write_journal(Secure::Yes);
    }
    for (held, synced) in files.into_iter().zip(synced) {
        let node = Arc::clone(&held.node);
        let next = commit_group::prove(worker, held, synced);
        run_steps(worker, next);
        worker.release(node);
    }
    if let (Some(journal), Some(publishing)) = (run.journal, &publishing) {
        journal.note_published(publishing);
    }
    // The flush of the next group of the same file system covers these records.
    run.write_journal(if covers_journal { Secure::Later } else { Secure::Yes });
}
