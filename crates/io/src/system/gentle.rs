//! The governor of a run that is gentle (`--gentle`): the part of the time in which its workers may work.
//!
//! The kernel's pressure stall information tells for how much of the time some task waits for storage, for a
//! processor or for memory, but not whose task it is: a copy that waits for its own reads looks like a machine
//! in need. So about once in a second in which tasks waited, all workers rest for some 20 ms, and a task that waits
//! then is another process's. The run works in the part of the time that is left: if others wait for 40 % of the time
//! while it rests, each worker rests for 4 ms after 6 ms of work, and has fewer and smaller requests in flight. If
//! no task waits, it takes everything.
//!
//! At the start none of the pressure is the run's own, so the kernel's average of the last ten seconds says how
//! much of the time is left.
//!
//! Without pressure stall information the run's own requests to files tell: where they take several times as long as
//! at best, others take the rest.
//!
//! A process has one governor, as it has one priority. [`rest`] is the only place where a worker asks: the loops
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

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use haul_sys::pressure::{Pressure, Resource, Stall};
use haul_sys::process::{doze, nofile_limit, stop_signal};

pub use self::calls::request;
pub(crate) use self::calls::{elsewhere, in_order, is_of_others, measured};

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

/// The limit of descriptors below which the kernel's files are not kept open: the 20 that are enough for a run, and
/// those of the governor.
const DESCRIPTORS_LEAST: u64 = 28;

/// Descriptors that are open for a moment: the directory of the threads, and the file of one.
const DESCRIPTORS_AT_A_LOOK: usize = 2;

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
        let before = f64::from(self.others.load(Ordering::Relaxed)) / f64::from(ALL);
        self.leave(f64::midpoint(before, others), resource);
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
            && stop_signal().is_none()
        {
            doze(LOOK);
        }
    }

    /// Rests, unless the machine is idle again meanwhile.
    fn rest_for(&self, time: Duration) {
        let begun = Instant::now();
        while self.share() < ALL && stop_signal().is_none() {
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
            if let Some((others, resource)) = self.listen(machine) {
                self.heard(others, Some(resource));
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

#[cfg(test)]
mod tests {
    use haul_sys::pressure::Scope;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// A machine whose time passes only in pauses, on which others wait for storage for a part of it, and the run
    /// itself all the time unless it rests.
    struct Scripted<'g> {
        governor: &'g Governor,
        now: Duration,
        total: Duration,
        others: f64,
        is_working: bool,
        is_reported: bool,
        /// Whether a worker is in a long request.
        is_stuck: bool,
    }

    impl<'g> Scripted<'g> {
        fn new(governor: &'g Governor, others: f64) -> Scripted<'g> {
            Scripted {
                governor,
                now: Duration::ZERO,
                total: Duration::ZERO,
                others,
                is_working: true,
                is_reported: true,
                is_stuck: false,
            }
        }

        fn pass(&mut self, time: Duration) {
            let rests = self.governor.is_listening.load(Ordering::Relaxed) && !self.is_stuck;
            let part = if self.is_working && !rests { 1.0 } else { self.others };
            self.now += time;
            self.total += time.mul_f64(part);
        }

        /// Lets the governor look so many times, and returns the share then, in percent.
        fn share_after(&mut self, looks: u32) -> u32 {
            let mut before = self.look();
            for _ in 0..looks {
                let governor = self.governor;
                governor.look(self, &mut before);
            }
            self.governor.share() * 100 / ALL
        }
    }

    impl Machine for Scripted<'_> {
        fn is_reported(&self) -> bool {
            self.is_reported
        }

        fn wait(&mut self, most: Duration) -> bool {
            self.pass(most);
            self.is_reported && (self.is_working || self.others >= 0.1)
        }

        fn pause(&mut self, time: Duration) {
            self.pass(time);
        }

        fn look(&mut self) -> Look {
            let of =
                |resource, total| Stall { resource, scope: Scope::Machine, recent: 0.0, total };
            let stalls =
                vec![of(Resource::Processors, Duration::ZERO), of(Resource::Storage, self.total)];
            Look { at: self.now, stalls }
        }

        fn is_quiet(&mut self) -> bool {
            !self.is_stuck
        }
    }

    #[test]
    fn its_own_waiting_does_not_hold_a_run_back() {
        let governor = Governor::new();
        assert_eq!(Scripted::new(&governor, 0.0).share_after(5), 100);
        let mut looking = Scripted { is_reported: false, ..Scripted::new(&governor, 0.0) };
        assert_eq!(looking.share_after(5), 100, "without reports of the kernel");
        assert_eq!(governor.held(), Held::default());
    }

    #[test]
    fn a_run_takes_what_others_leave_and_everything_when_they_have_gone() {
        for is_reported in [true, false] {
            let governor = Governor::new();
            let mut machine = Scripted { is_reported, ..Scripted::new(&governor, 0.4) };
            let share = machine.share_after(8);
            assert!((60..62).contains(&share), "{share}");
            assert_eq!(governor.held().resource, Some(Resource::Storage));
            machine.others = 1.0;
            assert_eq!(machine.share_after(8), LEAST * 100 / ALL);
            machine.others = 0.0;
            assert_eq!(machine.share_after(5), 100);
            // The run has nothing to do, and others wait.
            (machine.is_working, machine.others) = (false, 0.5);
            assert!(machine.share_after(8) < 55);
            machine.others = 0.0;
            assert_eq!(machine.share_after(4), 100);
        }
    }

    #[test]
    fn what_is_heard_while_a_worker_is_busy_means_nothing() {
        let governor = Governor::new();
        let mut machine = Scripted { is_stuck: true, ..Scripted::new(&governor, 0.0) };
        assert_eq!(machine.share_after(5), 100);
        (machine.is_stuck, machine.others) = (false, 0.5);
        let share = machine.share_after(8);
        machine.is_stuck = true;
        assert_eq!(machine.share_after(3), share, "not taken back either");
        assert!(!governor.is_listening.load(Ordering::Relaxed));
    }

    #[test]
    fn the_pressure_before_the_run_is_that_of_others() {
        let governor = Governor::new();
        let stall = |resource, recent| Stall {
            resource,
            scope: Scope::Machine,
            recent,
            total: Duration::ZERO,
        };
        governor.begin(&[stall(Resource::Storage, 0.2), stall(Resource::Memory, 0.75)]);
        assert_eq!(governor.share(), ALL / 4);
        assert_eq!(governor.held().resource, Some(Resource::Memory));
        governor.begin(&[stall(Resource::Storage, 0.05)]);
        assert_eq!(governor.share(), ALL);
    }

    #[test]
    fn requests_are_fewer_and_smaller() {
        let governor = Governor::new();
        let all =
            (governor.window(8), governor.request_bytes(1 << 20), governor.request_bytes(1 << 30));
        assert_eq!(all, (8, 1 << 20, REQUEST_BYTES_MAX));
        governor.leave(0.5, None);
        assert_eq!((governor.window(8), governor.request_bytes(1 << 20)), (4, 512 << 10));
        governor.leave(1.0, None);
        let least =
            (governor.window(4), governor.request_bytes(256 << 10), governor.request_bytes(4096));
        assert_eq!(least, (1, REQUEST_BYTES_MIN, 4096));
    }

    #[test]
    fn without_the_kernels_word_the_time_of_requests_tells() {
        let (governor, requests, mut best) = (Governor::new(), Requests::default(), Best::NONE);
        let mut judged = |count: u32, ms: u32| {
            (0..count).for_each(|_| requests.add(1 << 20, ms * MS));
            governor.judge(&requests, &mut best);
            governor.share() * 100 / ALL
        };
        assert_eq!(judged(100, 10), 100);
        assert_eq!(judged(100, 15), 100);
        // Four times as long: a quarter of the time is left, in steps.
        let slow = [judged(100, 40), judged(100, 40), judged(100, 40)];
        assert!(slow[0] > slow[1] && slow[1] > slow[2] && slow[2] < 50, "{slow:?}");
        // Too few to tell, or fast again.
        assert!(judged(3, 400) > slow[2]);
        let fast = [judged(100, 10), judged(100, 10), judged(100, 10), judged(100, 10)];
        assert_eq!(fast[3], 100, "{fast:?}");
        // What has become slow for good is the new best.
        let last = (0..40).map(|_| judged(100, 40)).last();
        assert_eq!(last, Some(100));
    }

    #[test]
    fn a_rest_is_counted_and_ends_when_the_machine_is_idle() {
        let governor = Governor::new();
        governor.leave(1.0, Some(Resource::Storage));
        governor.rest_for(5 * MS);
        assert!(governor.held().time >= 5 * MS);
        governor.leave(0.0, None);
        let before = governor.held().time;
        let begun = Instant::now();
        governor.rest_for(Duration::from_secs(600));
        assert!(begun.elapsed() < Duration::from_secs(300));
        assert!(governor.held().time - before < Duration::from_secs(300));
    }
}
