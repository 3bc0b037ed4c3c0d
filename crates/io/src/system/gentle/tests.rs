//! The governor on a machine whose time passes as the tests say.

use haul_sys::pressure::Scope;

use super::*;

const MS: Duration = Duration::from_millis(1);

fn stall(resource: Resource, recent: f64) -> Stall {
    Stall { resource, scope: Scope::Machine, recent, total: Duration::ZERO }
}

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
    /// When a worker rests for the first time, and long enough.
    first_rest: Option<Duration>,
    /// The kernel's average of the last ten seconds.
    recent: f64,
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
            first_rest: None,
            recent: 0.0,
        }
    }

    fn pass(&mut self, time: Duration) {
        let rests = self.governor.is_listening.load(Ordering::Relaxed) && !self.is_stuck;
        let part = if self.is_working && !rests { 1.0 } else { self.others };
        self.now += time;
        self.total += time.mul_f64(part);
        if self.first_rest.is_some_and(|at| self.now >= at) {
            self.governor.rested_ns.store(nanoseconds(NOTICEABLE), Ordering::Relaxed);
        }
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
        let storage = Stall { total: self.total, ..stall(Resource::Storage, self.recent) };
        Look { at: self.now, stalls: vec![stall(Resource::Processors, 0.0), storage] }
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
    governor.begin(&[stall(Resource::Storage, 0.2), stall(Resource::Memory, 0.75)]);
    assert_eq!(governor.share(), ALL / 4);
    assert_eq!(governor.held().resource, Some(Resource::Memory));
    governor.begin(&[stall(Resource::Storage, 0.05)]);
    assert_eq!(governor.share(), ALL);
}

#[test]
fn the_pressure_counts_until_the_first_rest() {
    // The run waits for a pipe for a minute, and others wait for storage meanwhile, more than before.
    let governor = Governor::new();
    governor.begin(&[stall(Resource::Storage, 0.25)]);
    let late = Some(Duration::from_secs(60));
    let mut machine = Scripted { first_rest: late, recent: 0.5, ..Scripted::new(&governor, 0.0) };
    governor.wait_for_first_rest(&mut machine);
    assert_eq!(machine.now, Duration::from_secs(60));
    assert_eq!(governor.share(), ALL / 2);
    // Others have gone before the run begins.
    governor.rested_ns.store(0, Ordering::Relaxed);
    let mut machine = Scripted { first_rest: None, ..Scripted::new(&governor, 0.0) };
    governor.wait_for_first_rest(&mut machine);
    assert_eq!((machine.now, governor.share()), (PERIOD, ALL));
    // On an idle machine nothing is waited for.
    governor.wait_for_first_rest(&mut machine);
    assert_eq!(machine.now, PERIOD);
}

#[test]
fn the_pressure_before_the_run_does_not_last() {
    for is_reported in [true, false] {
        let governor = Governor::new();
        governor.begin(&[stall(Resource::Storage, 0.9)]);
        // A worker is always in the middle of a long request, so nothing is ever heard.
        let mut machine = Scripted { is_stuck: true, is_reported, ..Scripted::new(&governor, 0.0) };
        let shares = [machine.share_after(5), machine.share_after(5)];
        assert!(12 < shares[0] && shares[0] < shares[1] && shares[1] < 100, "{shares:?}");
        assert_eq!(machine.share_after(30), 100);
        assert_eq!(governor.held().resource, Some(Resource::Storage));
    }
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
