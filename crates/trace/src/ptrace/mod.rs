//! The ptrace backend: two stops for each call, for any user and any kernel since 5.3.
//!
//! A tracer is a thread, not a process, so a separate thread does all tracing; the caller's thread
//! watches the flag and the clock, and wakes the tracer when it should detach.

mod files;
mod tracer;
mod units;

use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use haul_sys::ptrace::{WakeChild, Waker};
use haul_sys::{Call, CallError, Errno};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use self::tracer::{Goal, Tracer};
use crate::interrupt::InterruptWatch;
use crate::wait_notice::{WaitNotice, nanoseconds};
use crate::{Command, Ending, Observer, Report, TraceError, TraceOptions, process};

/// Polling interval of the flag and the clock.
const TICK: Duration = Duration::from_millis(20);

/// The notice in every report of this backend.
const SLOW: &str = "ptrace stops the command twice for each call (about 8 µs, where a short call \
                    takes 0.1 µs): counts and sizes are exact, times are mostly those stops, and processor \
                    time is not told by call";
const NO_RING: &str = "ptrace does not see io_uring operations, only io_uring_enter";

/// Result of the tracing thread.
struct Found {
    ending: Ending,
    wall_ns: u64,
    cpu_us: (u64, u64),
    units: Vec<crate::Unit>,
    files: Vec<crate::FileUse>,
}

/// Progress that the tracing thread shares with the caller's thread.
#[derive(Debug, Default)]
struct Progress {
    /// The command, if one is traced, for sending it signals.
    command: OnceLock<OwnedFd>,
    /// Set when the command has ended.
    command_ended: AtomicBool,
}

/// Runs a command and observes it.
pub(crate) fn run(command: &Command, options: &TraceOptions) -> Result<Report, TraceError> {
    let shapes = options.shapes()?;
    let plan = command.plan(None)?;
    let found = on_own_thread(options, |waker_tid, progress| {
        let child = haul_sys::ptrace::spawn_held(&plan).map_err(TraceError::Kernel)?;
        let pid = Pid::from_raw(child.tid);
        if let Some(Ok(pidfd)) = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) {
            let _first = progress.command.set(pidfd);
        }
        let root_ended = &progress.command_ended;
        let goal = Goal { root: child.tid, is_ours: true, waker_tid, root_ended };
        let mut tracer = Tracer::new(options, &shapes, goal);
        let seized = tracer.seize(&[child.tid]);
        let started = Instant::now();
        if let Err(error) = seized {
            // Dropping the child ends it before it runs the command.
            let tid = child.tid;
            drop(child);
            let _reaped = haul_sys::ptrace::wait(haul_sys::ptrace::Wait::One(tid));
            let reason = format!("ptrace is forbidden here ({})", error.text());
            return Err(TraceError::Unavailable(reason));
        }
        let opened = child.open();
        tracer.trace()?;
        if !tracer.has_begun() {
            opened.finish().map_err(TraceError::Spawn)?;
        }
        let wall_ns = tracer.root_wall_ns(started);
        Ok(tracer.found(wall_ns))
    })?;
    Ok(report(command.line(), found))
}

/// Observes a process and its descendants.
pub(crate) fn attach(pid: u32, options: &TraceOptions) -> Result<Report, TraceError> {
    let shapes = options.shapes()?;
    let gone = || TraceError::Attach(CallError::new(Call::Ptrace, Errno::SRCH));
    let root = i32::try_from(pid).map_err(|_| gone())?;
    let found = on_own_thread(options, |waker_tid, progress| {
        let root_ended = &progress.command_ended;
        let goal = Goal { root, is_ours: false, waker_tid, root_ended };
        let mut tracer = Tracer::new(options, &shapes, goal);
        let started = Instant::now();
        let before = process::cpu_split_us(pid);
        // Twice: a thread may start another one before it is seized.
        for _ in 0..2 {
            let threads: Vec<i32> =
                process::threads(pid).into_iter().filter_map(|tid| tid.try_into().ok()).collect();
            if threads.is_empty() {
                return Err(gone());
            }
            tracer.seize(&threads).map_err(TraceError::Attach)?;
        }
        tracer.trace()?;
        let after = process::cpu_split_us(pid);
        let mut found = tracer.found(nanoseconds(started.elapsed()));
        found.cpu_us = (after.0.saturating_sub(before.0), after.1.saturating_sub(before.1));
        Ok(found)
    })?;
    Ok(report(format!("pid {pid}"), found))
}

fn report(title: String, found: Found) -> Report {
    Report {
        title,
        observer: Observer::Ptrace,
        ending: found.ending,
        wall_ns: found.wall_ns,
        user_us: found.cpu_us.0,
        system_us: found.cpu_us.1,
        units: found.units,
        files: found.files,
        stacks: Vec::new(),
        notices: vec![SLOW.into(), NO_RING.into()],
    }
}

/// Runs the tracer on a thread of its own, and wakes it when it should detach.
fn on_own_thread(
    options: &TraceOptions,
    work: impl FnOnce(i32, &Progress) -> Result<Found, TraceError> + Send,
) -> Result<Found, TraceError> {
    let progress = Progress::default();
    let (waker_sender, waker) = channel();
    let (done_sender, done) = channel();
    std::thread::scope(|scope| {
        let progress = &progress;
        scope.spawn(move || {
            let result = with_waker(&waker_sender, |waker_tid| work(waker_tid, progress));
            let _caller_waits = done_sender.send(result);
        });
        watch(options, progress, &waker, &done)
    })
}

/// Creates the wake child on the tracing thread, because a thread waits only for its own children.
fn with_waker(
    waker_sender: &Sender<Waker>,
    work: impl FnOnce(i32) -> Result<Found, TraceError>,
) -> Result<Found, TraceError> {
    let (wake_child, waker) = WakeChild::new().map_err(TraceError::Kernel)?;
    let _caller_waits = waker_sender.send(waker);
    work(wake_child.tid)
}

/// Waits for the result of the tracer, and wakes the tracer when there is a reason to stop early.
fn watch(
    options: &TraceOptions,
    progress: &Progress,
    waker: &Receiver<Waker>,
    done: &Receiver<Result<Found, TraceError>>,
) -> Result<Found, TraceError> {
    let mut waker = waker.recv().ok();
    let deadline = options.duration.map(|duration| Instant::now() + duration);
    let mut interrupts = InterruptWatch::new(options);
    let mut wait_notice = None;
    loop {
        match done.recv_timeout(TICK) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Disconnected) => return Err(TraceError::TracerDied),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let is_over = deadline.is_some_and(|end| Instant::now() >= end);
        let running = match progress.command_ended.load(Ordering::Relaxed) {
            true => None,
            false => progress.command.get(),
        };
        let was_asked = interrupts.poll(running);
        if running.is_none() && progress.command.get().is_some() {
            wait_notice.get_or_insert_with(|| WaitNotice::new(options)).report_if_due();
        }
        if is_over || was_asked && running.is_none() {
            // Wakes the tracer once: it sees that the wake child has ended.
            if let Some(waker) = waker.take() {
                waker.wake();
            }
        }
    }
}
