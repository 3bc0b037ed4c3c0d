//! One call: a thread carries it out, and the caller's thread passes on what happens.

use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use haul_sys::process::{doze, unshare_directory};
use haul_sys::with_signals_blocked;

use crate::carry::Carry;
use crate::descriptors::{Demand, Patience, Share};
use crate::flag;
use crate::operations::prepare;
use crate::options::{Operation, Options};
use crate::report::{Item, Report, Status, Totals};

/// Items that wait for the caller. A worker that finds more waits as well, so that memory is bounded.
const WAITING_ITEMS: usize = 256;

/// Time between two looks at the caller's wish to end the call while no item comes, and between two reports of
/// progress: short for a person who presses a key, and long for a processor.
const LOOK: Duration = Duration::from_millis(50);

/// Time for which a call waits until others have returned, which may wait for it.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Stack of the thread that carries out a call: what the standard library gives, which would read an environment
/// variable of the program to find out.
const STACK_BYTES: usize = 2 << 20;

/// What a caller answers to progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Continue,
    Cancel,
}

/// The caller's side of a call. Called in the caller's thread only.
pub(crate) trait Caller {
    /// Receives totals, again and again.
    fn progress(&mut self, totals: &Totals) -> Answer;

    /// Receives an item.
    fn found(&mut self, item: &Item);

    /// Returns whether another thread has asked to end the call.
    fn is_cancelled(&self) -> bool;
}

/// Carries out an operation. Blocks until it is complete or cancelled. Never panics.
pub(crate) fn run(
    operation: Operation,
    paths: (&CStr, &CStr),
    options: &Options,
    caller: &mut dyn Caller,
) -> Report {
    if let Err(sentence) = options.check(operation) {
        return Report::refused(Status::Invalid, "Invalid", sentence);
    }
    catch_unwind(AssertUnwindSafe(|| carry_out(operation, paths, options, caller)))
        .unwrap_or_else(|_| bug())
}

fn bug() -> Report {
    Report::refused(Status::Bug, "Bug", "libhaul has a bug: a part of it has panicked".to_owned())
}

fn carry_out(
    operation: Operation,
    paths: (&CStr, &CStr),
    options: &Options,
    caller: &mut dyn Caller,
) -> Report {
    let process = std::process::id();
    if caller.is_cancelled() {
        return Report::cancelled();
    }
    let demand = demand_of(operation, options.descriptors);
    let share = match wait_for_share(demand, caller, process) {
        Ok(share) => share,
        Err(report) => return report,
    };
    let stop = flag::take();
    let prepared = prepare(operation, paths, (options, share.descriptors), stop)
        .map_err(|sentence| Report::refused(Status::Invalid, "Invalid", sentence));
    let begun = prepared.and_then(|call| {
        Begun::start(call, stop, process).map_err(|error| Report::without_thread(&error))
    });
    let begun = match begun {
        Ok(begun) => begun,
        Err(report) => {
            flag::give_back(stop);
            if report.status == Status::Failed {
                report.items().for_each(|item| caller.found(item));
            }
            return report;
        }
    };
    let mut report = Report::new();
    // A panic here is a bug, and must not leave the thread behind.
    let heard = catch_unwind(AssertUnwindSafe(|| listen(&begun, caller, &mut report)));
    if begun.is_in_child() {
        return begun.leave();
    }
    let (call, is_sound) = begun.end(if heard.is_ok() { How::Whole } else { How::CutShort });
    report.totals = call.totals();
    report.status = status(&report.totals, stop.load(Ordering::Relaxed));
    flag::give_back(stop);
    if !is_sound || heard.is_err() {
        return bug();
    }
    // So that a bar is full at the end; what the caller answers changes nothing any more.
    caller.progress(&report.totals);
    if std::process::id() == process { report } else { Report::in_child() }
}

/// How a call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Whole,
    CutShort,
}

/// A call that has begun, and its thread.
struct Begun {
    call: Arc<dyn Carry>,
    stop: &'static AtomicBool,
    receiver: Receiver<Item>,
    thread: JoinHandle<()>,
    /// The process that has the thread.
    process: u32,
}

impl Begun {
    /// Starts the thread of a call. Fails if there can be none.
    fn start(
        call: Arc<dyn Carry>,
        stop: &'static AtomicBool,
        process: u32,
    ) -> std::io::Result<Begun> {
        let (sender, receiver) = sync_channel(WAITING_ITEMS);
        let (ready, has_begun) = sync_channel(1);
        let carried = Arc::clone(&call);
        let work = move || {
            // Relative names mean what they mean now, whatever the program does meanwhile. Where the call is forbidden, the
            // program's current directory has to stay.
            let _refused = unshare_directory();
            let _unheard = ready.send(());
            carried.carry_out(&|item| pass(&sender, item));
        };
        // No handler of the program may run in a thread of this call.
        let builder = Builder::new().name("haul".into()).stack_size(STACK_BYTES);
        let thread = with_signals_blocked(|| builder.spawn(work))?;
        // An error means that the thread has ended, which its end reports.
        let _ended = has_begun.recv();
        Ok(Begun { call, stop, receiver, thread, process })
    }

    /// Returns whether this process is a child that fork(2) has made in a function of the caller: it has no thread of the call.
    fn is_in_child(&self) -> bool {
        std::process::id() != self.process
    }

    /// Leaves the call to the parent. Nothing of it is dropped, for its thread may have held a lock of it.
    fn leave(self) -> Report {
        std::mem::forget(self);
        Report::in_child()
    }

    /// Waits for the thread. Returns whether it has not panicked.
    fn end(self, how: How) -> (Arc<dyn Carry>, bool) {
        if how == How::CutShort {
            self.stop.store(true, Ordering::Relaxed);
        }
        drop(self.receiver);
        let is_sound = self.thread.join().is_ok();
        (self.call, is_sound)
    }
}

/// Returns what a call needs of the descriptors: a number that the caller has chosen, or 0.
const fn demand_of(operation: Operation, descriptors: u32) -> Demand {
    match (descriptors, operation) {
        // A comparison keeps no more than a few directories open, however deep the trees are.
        (0, Operation::CopyFile | Operation::Compare) => Demand::Least,
        (0, _) => Demand::Tree,
        (number, _) => Demand::Number(number),
    }
}

/// Waits for the descriptors of a call. Fails with the report if the caller ends the call before.
fn wait_for_share(demand: Demand, caller: &mut dyn Caller, process: u32) -> Result<Share, Report> {
    let begun = Instant::now();
    loop {
        let has_waited = begun.elapsed() >= LONGEST_WAIT;
        let patience = if has_waited { Patience::HasWaited } else { Patience::Waits };
        if let Some(share) = Share::take(demand, patience) {
            return Ok(share);
        }
        let answer = caller.progress(&Totals::default());
        if std::process::id() != process {
            return Err(Report::in_child());
        }
        if caller.is_cancelled() || answer == Answer::Cancel {
            return Err(Report::cancelled());
        }
        doze(LOOK);
    }
}

/// Puts an item into the queue. Blocks while that is full.
fn pass(sender: &SyncSender<Item>, item: Item) {
    // The other side is gone only if it has panicked, which ends the call anyway.
    let _unheard = sender.send(item);
}

/// Passes items and progress on to the caller, until the thread that carries out the call has ended, or one of the caller's
/// functions returns in a child. The caller is asked at once, and after each item, whether the call has to end.
fn listen(begun: &Begun, caller: &mut dyn Caller, report: &mut Report) {
    let mut looked = None::<Instant>;
    while !begun.is_in_child() {
        let is_time = looked.is_none_or(|looked| looked.elapsed() >= LOOK);
        let is_cancelled = is_time && caller.progress(&begun.call.totals()) == Answer::Cancel;
        if begun.is_in_child() {
            return;
        }
        if is_cancelled || caller.is_cancelled() {
            begun.stop.store(true, Ordering::Relaxed);
        }
        if is_time {
            looked = Some(Instant::now());
        }
        let rest = looked.map_or(LOOK, |looked| LOOK.saturating_sub(looked.elapsed()));
        match begun.receiver.recv_timeout(rest) {
            Ok(item) => {
                caller.found(&item);
                report.keep(item);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn status(totals: &Totals, is_stopped: bool) -> Status {
    if is_stopped {
        Status::Cancelled
    } else if totals.failures > 0 {
        Status::Failed
    } else if totals.differences > 0 {
        Status::Different
    } else {
        Status::Ok
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_leave_the_descriptors_to_calls_that_use_them() {
        assert_eq!(demand_of(Operation::Compare, 0), Demand::Least);
        assert_eq!(demand_of(Operation::CopyFile, 0), Demand::Least);
        assert_eq!(demand_of(Operation::CopyTree, 0), Demand::Tree);
        assert_eq!(demand_of(Operation::Move, 100), Demand::Number(100));
    }
}
