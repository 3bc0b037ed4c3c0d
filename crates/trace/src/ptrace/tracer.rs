//! The loop of a tracer: wait for a stop, record it, resume the thread.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use haul_sys::ptrace::{
    Change, Ended, Event, Follow, Resume, SyscallStop, Tid, Wait, Waited, detach, event_message,
    interrupt, resume, seize, syscall_info, wait,
};
use haul_sys::{CallError, Errno};

use super::Found;
use super::files::{Done, FileTable, OpenCall};
use super::units::{Pending, Tracee};
use crate::calls::{CALL_ROWS, Outcome, ROWS, Shape, Size, row_name, shape_of};
use crate::wait_notice::nanoseconds;
use crate::{CallEnd, Ending, Files, ListedCall, TraceError, TraceOptions, Unit, Until};

/// The traced process, and how the tracer learns that it should stop.
pub(super) struct Goal<'a> {
    /// The command's process, or the one attached to.
    pub(super) root: Tid,
    /// Whether the root is a child of this process, so that the tracer waits for its end in any
    /// case.
    pub(super) is_ours: bool,
    /// The wake child, whose end asks the tracer to detach.
    pub(super) waker_tid: Tid,
    /// Set when the root has ended.
    pub(super) root_ended: &'a AtomicBool,
}

/// A tracer's state.
pub(super) struct Tracer<'a> {
    options: &'a TraceOptions,
    shapes: &'a [u32; ROWS],
    /// The shapes unpacked, by row.
    known: Vec<Shape>,
    goal: Goal<'a>,
    tracees: HashMap<Tid, Tracee>,
    finished: Vec<Unit>,
    files: FileTable,
    clock: Instant,
    /// When the first call of the list began.
    first_listed: Option<Instant>,
    /// Whether the command's own `execve` has succeeded; earlier calls do not belong to the
    /// command.
    has_begun: bool,
    is_leaving: bool,
    root_end: Option<(Instant, Waited)>,
}

impl<'a> Tracer<'a> {
    pub(super) fn new(
        options: &'a TraceOptions,
        shapes: &'a [u32; ROWS],
        goal: Goal<'a>,
    ) -> Tracer<'a> {
        Tracer {
            options,
            shapes,
            known: (0..CALL_ROWS).map(|row| shape_of(&row_name(row))).collect(),
            has_begun: !goal.is_ours,
            goal,
            tracees: HashMap::new(),
            finished: Vec::new(),
            files: FileTable::default(),
            clock: Instant::now(),
            first_listed: None,
            is_leaving: false,
            root_end: None,
        }
    }

    /// Seizes threads that are not seized yet and starts watching their calls.
    ///
    /// A thread that has ended is not an error, if at least one could be seized.
    pub(super) fn seize(&mut self, threads: &[Tid]) -> Result<(), CallError> {
        let mut failure = None;
        for tid in threads {
            if self.tracees.contains_key(tid) {
                continue;
            }
            match seize(*tid, Follow::Children).and_then(|()| interrupt(*tid)) {
                Ok(()) => {
                    self.tracees.insert(*tid, Tracee::new(*tid, self.now_ns()));
                }
                Err(error) => failure = Some(error),
            }
        }
        match failure {
            Some(error) if self.tracees.is_empty() => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether the command was executed.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    fn now_ns(&self) -> u64 {
        nanoseconds(self.clock.elapsed())
    }

    /// Handles all stops until every tracee has ended or was detached.
    pub(super) fn trace(&mut self) -> Result<(), TraceError> {
        while !self.is_over() {
            let waited = match wait(Wait::Any) {
                Ok(Some(waited)) => waited,
                Ok(None) => continue,
                // A child whose end was reported before its parent's event is met again by that event, and
                // reports nothing more.
                Err(error) if error.errno == Errno::CHILD && self.may_be_over() => {
                    self.tracees.clear();
                    return Ok(());
                }
                Err(error) => return Err(TraceError::Kernel(error)),
            };
            if waited.tid == self.goal.waker_tid {
                self.leave();
            } else {
                self.handle(&waited);
            }
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.tracees.is_empty() && self.may_be_over()
    }

    /// Returns whether nothing more has to be reported than the ends of tracees.
    fn may_be_over(&self) -> bool {
        !self.goal.is_ours || self.root_end.is_some()
    }

    /// Interrupts every tracee, to detach from it at that stop.
    fn leave(&mut self) {
        self.is_leaving = true;
        for tid in self.tracees.keys() {
            // For a tracee that has ended, its end is reported.
            let _gone = interrupt(*tid);
        }
    }

    fn handle(&mut self, waited: &Waited) {
        let tid = waited.tid;
        match waited.change {
            Change::Ended(_) => self.ended(waited),
            Change::Continued => {}
            Change::Call => {
                self.call_stop(tid);
                self.go_on(tid, 0);
            }
            Change::Signal(signal) => self.go_on(tid, signal),
            Change::Event(event, signal) => self.event(tid, event, signal),
        }
    }

    fn event(&mut self, tid: Tid, event: Event, signal: i32) {
        match event {
            Event::Clone => {
                if let Some(child) = event_message(tid).ok().and_then(|id| id.try_into().ok()) {
                    self.meet(child);
                }
            }
            Event::Exec => self.executed(tid),
            Event::Exit => {
                if let Some(tracee) = self.tracees.get_mut(&tid) {
                    let pending = tracee.abandon();
                    tracee.note_usage();
                    let pid = tracee.pid;
                    if let Some(pending) = pending {
                        let elapsed_ns = nanoseconds(pending.began.elapsed());
                        self.list((pid, tid), pending, CallEnd::Unfinished, elapsed_ns);
                    }
                }
            }
            Event::Stop if is_group_stop(signal) && !self.is_leaving => {
                let _gone = resume(tid, Resume::Listen);
                return;
            }
            // The first stop of a new thread, possibly before its parent's event.
            Event::Stop => self.meet(tid),
            Event::Other(_) => {}
        }
        self.go_on(tid, 0);
    }

    fn meet(&mut self, tid: Tid) {
        let now = self.now_ns();
        self.tracees.entry(tid).or_insert_with(|| Tracee::new(tid, now));
    }

    /// Resumes a stopped thread, or detaches from it.
    fn go_on(&mut self, tid: Tid, signal: i32) {
        if !self.is_leaving {
            // ESRCH: it was killed, and its end is reported next.
            let _gone = resume(tid, Resume::ToCall(signal));
            return;
        }
        let _gone = detach(tid, signal);
        self.retire(tid, Usage::Now);
    }

    fn retire(&mut self, tid: Tid, usage: Usage) {
        if let Some(mut tracee) = self.tracees.remove(&tid) {
            // Its end was an event before, or the list ends with the observation.
            let _unlisted = tracee.abandon();
            if usage == Usage::Now {
                tracee.note_usage();
            }
            self.keep(tracee);
        }
    }

    fn keep(&mut self, tracee: Tracee) {
        if self.has_begun {
            self.finished.push(tracee.into_unit());
        }
    }

    fn ended(&mut self, waited: &Waited) {
        self.retire(waited.tid, Usage::Noted);
        if waited.tid == self.goal.root {
            self.root_end = Some((Instant::now(), *waited));
            self.goal.root_ended.store(true, Ordering::Relaxed);
            if self.options.until == Until::CommandEnds && self.goal.is_ours {
                self.leave();
            }
        }
    }

    /// Handles a successful `execve`: all other threads have ended, and the caller has the id of
    /// the first one.
    fn executed(&mut self, tid: Tid) {
        let former = event_message(tid).ok().and_then(|id| id.try_into().ok()).unwrap_or(tid);
        if former != tid {
            // The kernel does not report the first thread's end if another one took over its id.
            self.retire(tid, Usage::Noted);
        }
        let Some(mut old) = self.tracees.remove(&former) else { return };
        let pending = old.pending.take();
        old.note_usage();
        self.keep(old);
        self.has_begun = true;
        let mut tracee = Tracee::new(tid, self.now_ns());
        tracee.pending = pending;
        self.tracees.insert(tid, tracee);
    }

    fn call_stop(&mut self, tid: Tid) {
        let Ok(stop) = syscall_info(tid) else { return };
        match stop {
            SyscallStop::Enter { number, arguments } => self.call_begins(tid, number, &arguments),
            SyscallStop::Exit { value } => self.call_ends(tid, value),
            SyscallStop::Other => {}
        }
    }

    fn call_begins(&mut self, tid: Tid, number: u64, arguments: &[u64; 6]) {
        let row = usize::try_from(number).unwrap_or(usize::MAX).min(CALL_ROWS - 1);
        let is_wanted = self.shapes.get(row).is_some_and(|shape| shape & 1 == 1);
        let Some(tracee) = self.tracees.get_mut(&tid) else { return };
        tracee.pending = None;
        let (true, Some(shape)) = (is_wanted, self.known.get(row)) else { return };
        let length = match shape.size {
            Size::Argument(index) => arguments.get(usize::from(index)).copied().unwrap_or(0),
            Size::None | Size::Returned => 0,
        };
        let names_files = self.options.files == Files::Observed || self.options.list.is_some();
        let files =
            if names_files { OpenCall::look(tid, shape, arguments) } else { OpenCall::default() };
        let (began, arguments) = (Instant::now(), *arguments);
        tracee.pending = Some(Pending { row, length, began, files, arguments });
    }

    fn call_ends(&mut self, tid: Tid, value: i64) {
        let Some(tracee) = self.tracees.get_mut(&tid) else { return };
        let Some(mut pending) = tracee.pending.take() else { return };
        let Some(shape) = self.known.get(pending.row) else { return };
        let elapsed_ns = nanoseconds(pending.began.elapsed());
        let has_failed = (-4095..0).contains(&value) && shape.result != Outcome::Infallible;
        let errno = if has_failed { i32::try_from(-value).ok() } else { None };
        let size = match shape.size {
            Size::None => None,
            _ if has_failed => None,
            Size::Returned => u64::try_from(value).ok(),
            Size::Argument(_) => Some(pending.length),
        };
        tracee.tally(pending.row).count_one(elapsed_ns, size, errno);
        let pid = tracee.pid;
        let is_observed = self.options.files == Files::Observed;
        if !self.has_begun || !is_observed && self.options.list.is_none() {
            return;
        }
        pending.files.opened(tid, shape, value);
        if is_observed {
            let done = Done { row: pending.row, elapsed_ns, size, errno };
            self.files.add(pending.files.clone(), &done);
        }
        let end = errno.map_or(CallEnd::Returned(value), CallEnd::Failed);
        self.list((pid, tid), pending, end, elapsed_ns);
    }

    /// Passes a call on to the list, if there is one.
    fn list(&mut self, (pid, tid): (u32, Tid), pending: Pending, end: CallEnd, elapsed_ns: u64) {
        let Some(list) = &self.options.list else { return };
        if !self.has_begun {
            return;
        }
        let first = *self.first_listed.get_or_insert(pending.began);
        list.receive(&ListedCall {
            pid,
            tid: tid.unsigned_abs(),
            start_ns: nanoseconds(pending.began.saturating_duration_since(first)),
            name: row_name(pending.row),
            arguments: pending.arguments,
            file: pending.files.first,
            second_file: pending.files.second,
            second_path: pending.files.second_path,
            end,
            elapsed_ns,
            cpu_ns: None,
        });
    }

    /// Returns the time until the root ended, in nanoseconds.
    pub(super) fn root_wall_ns(&self, started: Instant) -> u64 {
        let end = self.root_end.map_or_else(Instant::now, |(end, _)| end);
        nanoseconds(end.saturating_duration_since(started))
    }

    /// Returns the result.
    pub(super) fn found(mut self, wall_ns: u64) -> Found {
        let left: BTreeSet<Tid> = self.tracees.keys().copied().collect();
        for tid in left {
            self.retire(tid, Usage::Now);
        }
        self.finished.sort_by_key(|unit| (unit.start_ns, unit.tid));
        let waited = self.root_end.map(|(_, waited)| waited).filter(|_| self.goal.is_ours);
        let ending = match waited.map(|waited| waited.change) {
            Some(Change::Ended(Ended::Exited(code))) => Ending::Exited(code),
            Some(Change::Ended(Ended::Signaled(signal))) => Ending::Signaled(signal),
            _ => Ending::Unknown,
        };
        Found {
            ending,
            wall_ns,
            cpu_us: waited.map_or((0, 0), |waited| (waited.user_us, waited.system_us)),
            units: self.finished,
            files: self.files.into_files(),
        }
    }
}

/// Whether faults and CPU time must still be read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Usage {
    Noted,
    Now,
}

/// Whether a stop is a job-control stop, which lasts until `SIGCONT`.
fn is_group_stop(signal: i32) -> bool {
    matches!(signal, libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU)
}
