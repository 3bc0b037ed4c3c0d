//! The eBPF backend: load, attach, wait, detach, read.

mod attached;
mod btf;
mod collect;
mod decode;
mod list;
mod load;
mod offsets;
mod stacks;

use std::time::{Duration, Instant};

use haul_sys::ptrace::{Change, Ended, HeldChild, Wait, Waited, spawn_held, wait};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use self::collect::{Collected, Counter};
use self::list::{List, Whose};
use self::load::{Loaded, Maps, Setup};
use crate::interrupt::InterruptWatch;
use crate::wait_notice::{WaitNotice, nanoseconds};
use crate::{
    Command, Ending, Files, Observer, Report, Stacks, TraceError, TraceOptions, Until, mark,
};

/// Polling interval of flags and tables while the command runs.
const TICK: Duration = Duration::from_millis(50);
/// Polling interval for the end of the command's remaining descendants.
const LINGER_TICK: Duration = Duration::from_millis(5);

/// Why this backend produced no report.
pub(crate) enum Failure {
    /// It cannot run here; ptrace may.
    Unavailable(String),
    /// The command or the process is the cause; ptrace would fail too.
    Other(TraceError),
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Failure {
        Failure::Other(error)
    }
}

/// Runs a command and observes it.
pub(crate) fn run(command: &Command, options: &TraceOptions) -> Result<Report, Failure> {
    let mark = mark::fresh();
    let shapes = options.shapes()?;
    let plan = command.plan(Some(mark))?;
    let mut loaded =
        load::load(&Setup::new(&shapes, options, mark)).map_err(Failure::Unavailable)?;
    loaded.attach().map_err(Failure::Unavailable)?;
    let child = spawn_held(&plan).map_err(TraceError::Kernel)?;
    drop(plan);
    let mut watch = Watch::new(options, loaded, Whose::Command);
    let (ended, wall_ns) = watch.wait_for(child)?;
    let seen = watch.finish()?;
    Ok(Report {
        title: command.line(),
        observer: Observer::Ebpf,
        ending: ending(&ended),
        wall_ns,
        user_us: ended.user_us,
        system_us: ended.system_us,
        units: seen.units,
        files: seen.files,
        stacks: seen.stacks,
        notices: seen.notices,
    })
}

/// Loads and attaches the program, and detaches it again; returns why that is not possible.
pub(crate) fn check() -> Result<(), String> {
    let options = TraceOptions::default();
    let shapes = options.shapes().map_err(|error| error.to_string())?;
    load::load(&Setup::new(&shapes, &options, mark::fresh()))?.attach()
}

/// Observes a process and its descendants.
pub(crate) fn attach(pid: u32, options: &TraceOptions) -> Result<Report, Failure> {
    attached::attach(pid, options)
}

/// Converts the last wait to an ending.
fn ending(waited: &Waited) -> Ending {
    match waited.change {
        Change::Ended(Ended::Exited(code)) => Ending::Exited(code),
        Change::Ended(Ended::Signaled(signal)) => Ending::Signaled(signal),
        _ => Ending::Unknown,
    }
}

/// The observations.
struct Seen {
    units: Vec<crate::Unit>,
    files: Vec<crate::FileUse>,
    stacks: Vec<crate::StackTime>,
    notices: Vec<String>,
}

/// An observation in progress.
struct Watch<'a> {
    options: &'a TraceOptions,
    /// Taken when the observation ends, which may be before the command does.
    loaded: Option<Loaded>,
    collected: Collected,
    /// The list of calls, if it is wanted.
    list: Option<List<'a>>,
    interrupts: InterruptWatch<'a>,
    /// Set when the observation has ended.
    seen: Option<Seen>,
}

impl<'a> Watch<'a> {
    fn new(options: &'a TraceOptions, loaded: Loaded, whose: Whose) -> Watch<'a> {
        let (collected, interrupts) = (Collected::default(), InterruptWatch::new(options));
        let list = options.list.as_ref().map(|list| List::new(list, whose));
        Watch { options, loaded: Some(loaded), collected, list, interrupts, seen: None }
    }

    /// Releases the command, waits for it, and then for its remaining descendants.
    fn wait_for(&mut self, child: HeldChild) -> Result<(Waited, u64), TraceError> {
        let tid = child.tid;
        let started = Instant::now();
        if let Err(error) = child.release() {
            let _reaped = wait(Wait::One(tid));
            return Err(TraceError::Spawn(error));
        }
        let deadline = self.options.duration.map(|duration| started + duration);
        let pid = Pid::from_raw(tid).ok_or(TraceError::TracerDied)?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).ok();
        let waited = loop {
            if let Some(waited) = wait(Wait::Poll(tid)).map_err(TraceError::Kernel)? {
                break waited;
            }
            // A list is read before its queue is full.
            let tick = if self.list.is_some() { LINGER_TICK } else { TICK };
            let left = deadline.map_or(tick, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                self.stop_observing();
            }
            self.tick();
            self.interrupts.poll(pidfd.as_ref());
            match &pidfd {
                Some(pidfd) if left.is_zero() => sleep_until_ready(pidfd, TICK),
                Some(pidfd) => sleep_until_ready(pidfd, left.min(tick)),
                None => std::thread::sleep(LINGER_TICK),
            }
        };
        let wall_ns = nanoseconds(started.elapsed());
        self.linger(deadline);
        Ok((waited, wall_ns))
    }

    /// Detaches and reads all data, if that is not done yet.
    ///
    /// At a deadline the command continues, but the data of its threads in `/proc` must be read
    /// now.
    fn stop_observing(&mut self) {
        let Some(loaded) = self.loaded.take() else { return };
        let (mut maps, mut notices): (Maps, _) = loaded.detach();
        if let Some(list) = &mut self.list {
            list.drain(&mut maps);
        }
        notices.extend(collect::overflows(&maps));
        let files = match self.options.files {
            Files::Observed => collect::files(&maps),
            Files::Ignored => Vec::new(),
        };
        let units = std::mem::take(&mut self.collected).finish(&maps);
        let mut times = Vec::new();
        if self.options.stacks == Stacks::Observed {
            let (found, limits) = stacks::stacks(&maps, &units);
            times = found;
            notices.extend(limits);
        }
        let units = collect::in_order(units);
        self.seen = Some(Seen { units, files, stacks: times, notices });
    }

    fn tick(&mut self) {
        if let Some(loaded) = &mut self.loaded {
            self.collected.drain_if_crowded(&mut loaded.maps);
            if let Some(list) = &mut self.list {
                list.drain(&mut loaded.maps);
            }
        }
    }

    /// Waits for descendants that outlive the command, if the options say so.
    fn linger(&mut self, deadline: Option<Instant>) {
        let mut wait_notice = WaitNotice::new(self.options);
        while self.options.until == Until::LastEnds
            && self.live() > 0
            && !self.interrupts.poll(None)
            && deadline.is_none_or(|end| Instant::now() < end)
        {
            std::thread::sleep(LINGER_TICK);
            self.tick();
            wait_notice.report_if_due();
        }
    }

    /// Returns the number of observed threads.
    fn live(&self) -> u64 {
        self.loaded.as_ref().map_or(0, |loaded| loaded.maps.counter(Counter::Live))
    }

    /// Returns the observations.
    fn finish(mut self) -> Result<Seen, TraceError> {
        self.stop_observing();
        self.seen.ok_or(TraceError::TracerDied)
    }
}

/// Sleeps until a pidfd reports that its process has ended, at most `longest`.
fn sleep_until_ready(pidfd: &rustix::fd::OwnedFd, longest: Duration) {
    let timeout = Timespec {
        tv_sec: i64::try_from(longest.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: longest.subsec_nanos().into(),
    };
    // Interrupted or not, the caller checks the process next.
    let _woken = poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&timeout));
}
