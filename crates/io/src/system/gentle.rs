//! The governor of a run that is gentle (`--gentle`): the part of the time in which its workers may work.
//!
//! The kernel's pressure stall information tells for how much of the time some task waits for storage, for a
//! processor or for memory, but not whose task it is: a copy that waits for its own reads looks like a machine
//! in need. So about once in a second in which tasks waited, all workers rest for some 20 ms, and a task that waits
//! then is another process's. The run works in the part of the time that is left: if others wait for 40 % of the time
//! while it rests, each worker rests for 4 ms after 6 ms of work, and has fewer and smaller requests in flight. If
//! no task waits, it takes everything.
//!
//! Until the first rest none of the pressure is the run's own, so the kernel's average of the last ten seconds says
//! how much of the time is left.
//!
//! Without pressure stall information the run's own requests to files tell: where they take several times as long as
//! at best, others take the rest.
//!
//! A process has one governor, as it has one priority; only a program that calls haul as a library has a
//! [`RunGovernor`] for each gentle run. [`rest`] is the only place where a worker asks: the loops
//! that move bytes call it by [`Watch`], [`SourceTrail`] and [`TargetTrail`], the walks of trees after each batch.
//! A rest is bounded, so a worker that others wait for is late, never lost.
//!
//! [`Watch`]: crate::Watch
//! [`SourceTrail`]: crate::trail::SourceTrail
//! [`TargetTrail`]: crate::trail::TargetTrail

mod calls;
mod latency;
mod machine;
mod rhythm;
mod single;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use haul_sys::pressure::{Pressure, Resource, Stall};
use haul_sys::process::{doze, is_asked_to_stop, nofile_limit};

pub use self::calls::request;
pub(crate) use self::calls::{elsewhere, in_order, is_of_others, measured};
pub use self::single::RunGovernor;

use self::latency::{Best, Requests};
use self::machine::{Kernel, Look, Machine, waited};
use self::rhythm::Rhythm;
use crate::system::pace::IO_UNIT;

/// All of the time, as a share.
const ALL: u32 = 1024;

/// The least share: a run on a machine that is always busy still ends, and its requests, one at a time in an eighth
/// of the time, add an eighth to a wait for storage at most.
const LEAST: u32 = ALL / 8;

/// The part of the time for which others may wait before it counts: timers and flushes of an idle machine take less.
const NOTICE: u32 = ALL / 10;

/// Time between two looks: the shortest window in which the kernel reports pressure to everybody is 2 s, and a
/// rest of [`LISTEN`] each second costs 2 % of the time of an idle machine's copy at most.
const PERIOD: Duration = Duration::from_secs(1);

/// The same while no task waits and the kernel reports when one does: the thread sleeps, and only makes sure.
const LONG_PERIOD: Duration = Duration::from_secs(10);

/// Time for which all rest and the others' waiting is measured: a few requests of a disk.
const LISTEN: Duration = Duration::from_millis(20);

/// Time between two looks at whether all rest, and their number: a large request may take longer, and then nothing
/// is learnt in this second.
const LOOK: Duration = Duration::from_millis(2);
const LOOKS: u32 = 20;

/// The longest sleep in one piece, so that a stop is heard.
const NAP: Duration = Duration::from_millis(20);

/// The smallest request that a small share leads to.
const REQUEST_BYTES_MIN: usize = 64 << 10;

/// The largest request of a gentle run, so that a worker rests often: some 5 ms of a disk.
const REQUEST_BYTES_MAX: usize = 8 << 20;

/// Part by which the average of the start falls with each look at which nothing is learnt: it is about ten seconds,
/// so after as many looks a third of it is left.
const FADE: u32 = 10;

/// The limit of descriptors below which the kernel's files are not kept open: the 20 that are enough for a run, and
/// those of the governor.
const DESCRIPTORS_LEAST: u64 = 28;

/// Descriptors that are open for a moment: the directory of the threads, and the file of one.
const DESCRIPTORS_AT_A_LOOK: usize = 2;

/// The shortest rest of a whole run, all workers together, that a user would notice, and that is reported at its end.
pub const NOTICEABLE: Duration = Duration::from_millis(10);

static GOVERNOR: OnceLock<Governor> = OnceLock::new();

/// What a gentle run has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Time for which its workers rested, added up.
    pub time: Duration,
    /// What others waited for most, when the run had most reason to rest; `None` if requests took longer than at
    /// best, or if it never rested.
    pub resource: Option<Resource>,
}

/// Makes the process gentle from now on. Starts a thread that looks for pressure. Returns `false` if that cannot be
/// started, and then nothing changes.
pub fn begin() -> bool {
    if GOVERNOR.get().is_some() {
        return true;
    }
    let has_room = nofile_limit() >= DESCRIPTORS_LEAST;
    let pressure = if has_room { Pressure::open() } else { None };
    let mut governor = Governor::new();
    match &pressure {
        Some(pressure) => {
            governor.descriptors = pressure.descriptors() + DESCRIPTORS_AT_A_LOOK;
            governor.begin(&pressure.stalls());
        }
        None => governor.requests = Some(Requests::default()),
    }
    // One that another thread has begun meanwhile is as good.
    let governor = GOVERNOR.get_or_init(|| governor);
    let watch = move || match pressure {
        Some(pressure) => watch(governor, &mut Kernel::new(pressure)),
        None => watch_latency(governor),
    };
    // It ends with the process.
    let is_started = std::thread::Builder::new().name("gentle".to_owned()).spawn(watch).is_ok();
    if !is_started {
        governor.others.store(0, Ordering::Relaxed);
    }
    is_started
}

/// Lets a gentle run rest, as long as the machine's state asks for; does nothing in others. A worker calls it between
/// two requests. Blocks for at most about a quarter of a second, and less once a signal asks the run to stop.
#[inline]
pub fn rest() {
    if let Some(governor) = GOVERNOR.get() {
        governor.rest();
    }
}

/// Returns the size of a request that would be `bytes` long in a run that is not gentle.
#[inline]
#[must_use]
pub fn request_bytes(bytes: usize) -> usize {
    GOVERNOR.get().map_or(bytes, |governor| governor.request_bytes(bytes))
}

/// Returns the number of requests in flight where there would be `depth` in a run that is not gentle; at least one.
#[inline]
pub(crate) fn window(depth: usize) -> usize {
    GOVERNOR.get().map_or(depth, |governor| governor.window(depth))
}

/// Returns whether the run is gentle. Then a worker that takes long may have rested.
#[must_use]
pub fn is_begun() -> bool {
    GOVERNOR.get().is_some()
}

/// Returns the number of descriptors that the run has open because it is gentle.
#[must_use]
pub fn descriptors() -> usize {
    GOVERNOR.get().map_or(0, |governor| governor.descriptors)
}

/// Returns what the run has done so far; `None` if it is not gentle.
#[must_use]
pub fn held() -> Option<Held> {
    GOVERNOR.get().map(Governor::held)
}

#[derive(Debug)]
struct Governor {
    begun: Instant,
    /// Number of descriptors that it has open at most.
    descriptors: usize,
    /// The part of the time for which others wait, of [`ALL`].
    others: AtomicU32,
    /// Whether that is the kernel's average from before the start, and nothing was heard since.
    is_from_start: AtomicBool,
    /// Set while all rest and the others are listened to.
    is_listening: AtomicBool,
    rested_ns: AtomicU64,
    /// The least share so far, with the number of the resource that is behind it in the low bits.
    least: AtomicU32,
    /// The run's own requests, if the kernel does not tell of pressure.
    requests: Option<Requests>,
}

thread_local! {
    static RHYTHM: Cell<Rhythm> = const { Cell::new(Rhythm::NEW) };
}

impl Governor {
    fn new() -> Governor {
        Governor {
            begun: Instant::now(),
            descriptors: 0,
            others: AtomicU32::new(0),
            is_from_start: AtomicBool::new(false),
            is_listening: AtomicBool::new(false),
            rested_ns: AtomicU64::new(0),
            least: AtomicU32::new(ALL << 2),
            requests: None,
        }
    }

    /// Takes the state of the machine before the run has done anything.
    fn begin(&self, stalls: &[Stall]) {
        let most = stalls.iter().max_by(|one, other| one.recent.total_cmp(&other.recent));
        if let Some(most) = most {
            self.leave(most.recent, Some(most.resource));
            self.is_from_start.store(true, Ordering::Relaxed);
        }
    }

    /// Lets the average of the start fall, since the machine may have changed. What was heard later stays.
    fn fade(&self) {
        if self.is_from_start.load(Ordering::Relaxed) {
            let others = self.others.load(Ordering::Relaxed);
            self.others.store(others - others.div_ceil(FADE), Ordering::Relaxed);
        }
    }

    /// Leaves the part of the time to others for which they wait.
    fn leave(&self, others: f64, resource: Option<Resource>) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is between 0 and ALL"
        )]
        let part = (others.clamp(0.0, 1.0) * f64::from(ALL)) as u32;
        self.others.store(part, Ordering::Relaxed);
        let number = Resource::ALL.iter().position(|(one, _)| Some(*one) == resource);
        let number = number.and_then(|number| u32::try_from(number + 1).ok()).unwrap_or(0);
        self.least.fetch_min((self.share() << 2) | number, Ordering::Relaxed);
    }

    /// Returns the part of the time in which workers may work, of [`ALL`].
    fn share(&self) -> u32 {
        match self.others.load(Ordering::Relaxed) {
            few if few < NOTICE => ALL,
            others => (ALL - others).max(LEAST),
        }
    }

    /// Takes what others waited for in the last period. A single answer is not the last word: bursts of requests
    /// are met, or missed, by chance.
    fn heard(&self, others: f64, resource: Option<Resource>) {
        self.is_from_start.store(false, Ordering::Relaxed);
        let before = f64::from(self.others.load(Ordering::Relaxed)) / f64::from(ALL);
        self.leave(f64::midpoint(before, others), resource);
    }

    /// Takes the kernel's average anew each second until it has made workers rest, or is below what counts. As long
    /// as no worker has rested, the run has done next to nothing, so the pressure is that of others.
    fn wait_for_first_rest(&self, machine: &mut impl Machine) {
        while self.share() < ALL {
            machine.pause(PERIOD);
            if self.held().time >= NOTICEABLE {
                break;
            }
            self.begin(&machine.look().stalls);
        }
    }

    fn rest(&self) {
        let mut rhythm = RHYTHM.get();
        let worked = rhythm.worked(self.begun.elapsed());
        self.be_quiet();
        let due = rhythm.due(worked, self.share());
        if !due.is_zero() {
            self.rest_for(due);
        }
        rhythm.resume(self.begun.elapsed());
        RHYTHM.set(rhythm);
    }

    /// Waits while the others are listened to.
    fn be_quiet(&self) {
        if !self.is_listening.load(Ordering::Relaxed) {
            return;
        }
        let end = Instant::now() + LOOK * LOOKS + 2 * LISTEN;
        // The thread that listens may be late itself.
        while self.is_listening.load(Ordering::Relaxed)
            && Instant::now() < end
            && !is_asked_to_stop()
        {
            doze(LOOK);
        }
    }

    /// Rests, unless the machine is idle again meanwhile.
    fn rest_for(&self, time: Duration) {
        let begun = Instant::now();
        while self.share() < ALL && !is_asked_to_stop() {
            let left = time.saturating_sub(begun.elapsed());
            if left.is_zero() {
                break;
            }
            doze(left.min(NAP));
        }
        self.rested_ns.fetch_add(nanoseconds(begun.elapsed()), Ordering::Relaxed);
    }

    fn request_bytes(&self, bytes: usize) -> usize {
        let share = self.share() as usize;
        let part = bytes.min(REQUEST_BYTES_MAX) / ALL as usize * share / IO_UNIT * IO_UNIT;
        part.max(REQUEST_BYTES_MIN.min(bytes))
    }

    fn window(&self, depth: usize) -> usize {
        let share = self.share() as usize;
        (depth * share / ALL as usize).max(1)
    }

    fn held(&self) -> Held {
        let number = (self.least.load(Ordering::Relaxed) & 3) as usize;
        let found = number.checked_sub(1).and_then(|number| Resource::ALL.get(number));
        Held {
            time: Duration::from_nanos(self.rested_ns.load(Ordering::Relaxed)),
            resource: found.map(|(resource, _)| *resource),
        }
    }

    /// Lets all workers rest and returns for which part of that time others waited, and for what; `None` if a worker
    /// was still at work.
    fn listen(&self, machine: &mut impl Machine) -> Option<(f64, Resource)> {
        self.is_listening.store(true, Ordering::Relaxed);
        let is_quiet = (0..LOOKS).any(|_| {
            machine.pause(LOOK);
            machine.is_quiet()
        });
        let heard = is_quiet.then(|| {
            let before = machine.look();
            machine.pause(LISTEN);
            let is_quiet = machine.is_quiet();
            is_quiet.then(|| waited(&before, &machine.look())).flatten()
        });
        self.is_listening.store(false, Ordering::Relaxed);
        heard.flatten()
    }

    /// Looks at the machine once, after tasks waited or a period has passed.
    fn look(&self, machine: &mut impl Machine, before: &mut Look) {
        let sleeps = self.share() == ALL && machine.is_reported();
        let is_reported = machine.wait(if sleeps { LONG_PERIOD } else { PERIOD });
        let now = machine.look();
        let most = waited(before, &now);
        if is_reported || most.is_some_and(|(part, _)| part * f64::from(ALL) >= f64::from(NOTICE)) {
            match self.listen(machine) {
                Some((others, resource)) => self.heard(others, Some(resource)),
                None => self.fade(),
            }
            if is_reported {
                machine.pause(PERIOD);
            }
        } else {
            // No task waits, this run's included.
            self.heard(0.0, most.map(|(_, resource)| resource));
        }
        *before = machine.look();
    }

    /// Judges the times of the run's own requests.
    fn judge(&self, requests: &Requests, best: &mut Best) {
        let share = f64::from(self.share()) / f64::from(ALL);
        self.heard(best.others(requests, share), None);
    }
}

fn watch(governor: &Governor, machine: &mut impl Machine) {
    governor.wait_for_first_rest(machine);
    let mut before = machine.look();
    loop {
        governor.look(machine, &mut before);
    }
}

fn watch_latency(governor: &Governor) {
    let Some(requests) = &governor.requests else { return };
    let mut best = Best::NONE;
    loop {
        doze(PERIOD);
        governor.judge(requests, &mut best);
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
