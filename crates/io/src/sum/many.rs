//! Many files by several workers, with what came of them in order.
//!
//! Workers draw the jobs in order, so all jobs before one that is being worked on are done or being
//! worked on too. What has to be read alone (a terminal, a FIFO, standard input named twice) waits
//! for its turn; what lies on a spinning disk waits for that disk.

use haul_sys::sync::{Condvar, Mutex};
use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Results that may wait for those before them: a worker with a large file does not stop those with
/// small ones, and what waits stays small.
const WINDOW: u64 = 4096;

struct State<R> {
    /// The number of the next job.
    drawn: u64,
    /// The number of the next result that is delivered.
    delivered: u64,
    results: VecDeque<Option<R>>,
    /// The number of the first job that is not done.
    done: u64,
    exhausted: bool,
    stopped: bool,
}

struct Shared<R> {
    state: Mutex<State<R>>,
    changed: Condvar,
    disks: Mutex<HashMap<u64, Arc<Mutex<()>>>>,
}

/// What a job can wait for.
pub struct Turn<'s> {
    wait: &'s dyn Fn(),
    disk: &'s dyn Fn(u64) -> Arc<Mutex<()>>,
}

impl Turn<'_> {
    /// Waits until all jobs before this one are done.
    pub fn wait(&self) {
        (self.wait)();
    }

    /// Returns the lock of a disk that serves one reader well and two badly.
    #[must_use]
    pub fn disk(&self, device: u64) -> Arc<Mutex<()>> {
        (self.disk)(device)
    }
}

impl<R> Shared<R> {
    fn disk(&self, device: u64) -> Arc<Mutex<()>> {
        let mut disks = self.disks.lock();
        Arc::clone(disks.entry(device).or_default())
    }

    fn do_one<J>(&self, number: u64, job: J, work: &(dyn Fn(J, &Turn<'_>) -> R + Sync)) {
        let wait = || {
            let mut state = self.state.lock();
            while state.done < number && !state.stopped {
                state = self.changed.wait(state);
            }
        };
        let result = work(job, &Turn { wait: &wait, disk: &|device| self.disk(device) });
        let mut state = self.state.lock();
        let place = usize::try_from(number - state.delivered).unwrap_or(0);
        if let Some(slot) = state.results.get_mut(place) {
            *slot = Some(result);
        }
        while let Some(Some(_)) =
            usize::try_from(state.done - state.delivered).ok().and_then(|at| state.results.get(at))
        {
            state.done += 1;
        }
        drop(state);
        self.changed.notify_all();
    }
}

/// Works on all jobs with at most so many workers, and delivers the results in order until that says
/// that it is enough. One job alone is worked on by the caller itself.
pub fn in_order<J: Send, R: Send>(
    workers: usize,
    jobs: &mut (dyn Iterator<Item = J> + Send),
    work: &(dyn Fn(J, &Turn<'_>) -> R + Sync),
    deliver: &mut dyn FnMut(R) -> ControlFlow<()>,
) {
    let shared = Shared {
        state: Mutex::new(State {
            drawn: 0,
            delivered: 0,
            results: VecDeque::new(),
            done: 0,
            exhausted: false,
            stopped: false,
        }),
        changed: Condvar::new(),
        disks: Mutex::new(HashMap::new()),
    };
    let Some(first) = jobs.next() else { return };
    let second = if workers > 1 { jobs.next() } else { None };
    if second.is_none() {
        let alone = Turn { wait: &|| {}, disk: &|device| shared.disk(device) };
        for job in std::iter::once(first).chain(jobs) {
            if deliver(work(job, &alone)).is_break() {
                return;
            }
        }
        return;
    }
    let jobs = Mutex::new([first].into_iter().chain(second).chain(jobs));
    let draw = || {
        let mut jobs = jobs.lock();
        let mut state = shared.state.lock();
        while state.drawn >= state.delivered + WINDOW && !state.stopped {
            state = shared.changed.wait(state);
        }
        if state.stopped || state.exhausted {
            return None;
        }
        drop(state);
        let job = jobs.next();
        let mut state = shared.state.lock();
        let Some(job) = job else {
            state.exhausted = true;
            drop(state);
            shared.changed.notify_all();
            return None;
        };
        state.drawn += 1;
        state.results.push_back(None);
        Some((state.drawn - 1, job))
    };
    let serve = || {
        while let Some((number, job)) = draw() {
            shared.do_one(number, job, work);
        }
    };
    std::thread::scope(|scope| {
        let spawn = || std::thread::Builder::new().spawn_scoped(scope, serve).is_ok();
        let started = (0..workers).take_while(|_| spawn()).count();
        while let Some(result) = next_result(&shared, || {
            // Without a thread the caller works itself.
            started == 0
                && draw().is_some_and(|(number, job)| {
                    shared.do_one(number, job, work);
                    true
                })
        }) {
            if deliver(result).is_break() {
                shared.state.lock().stopped = true;
                shared.changed.notify_all();
                break;
            }
        }
    });
}

/// Waits for the next result in order; `None` when there are no more.
fn next_result<R>(shared: &Shared<R>, help: impl Fn() -> bool) -> Option<R> {
    let mut state = shared.state.lock();
    loop {
        if let Some(slot) = state.results.front_mut()
            && let Some(result) = slot.take()
        {
            state.results.pop_front();
            state.delivered += 1;
            if state.delivered.is_multiple_of(WINDOW / 2) {
                shared.changed.notify_all();
            }
            return Some(result);
        }
        if state.exhausted && state.results.is_empty() {
            return None;
        }
        drop(state);
        let helped = help();
        state = shared.state.lock();
        let ready = state.results.front().is_some_and(Option::is_some);
        let over = state.exhausted && state.results.is_empty();
        if !(helped || ready || over) {
            state = shared.changed.wait(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn results_come_in_order_whoever_is_done_first() {
        for workers in [1, 2, 7] {
            let mut got = Vec::new();
            let work = |job: u64, _: &Turn<'_>| {
                // The even ones take longer.
                (0..(job + 1) % 2 * 5000).fold(job, |sum, at| std::hint::black_box(sum ^ at ^ at))
            };
            in_order(workers, &mut (0..10_000), &work, &mut |result| {
                got.push(result);
                ControlFlow::Continue(())
            });
            assert_eq!(got, (0..10_000).collect::<Vec<_>>(), "{workers}");
        }
    }

    #[test]
    fn a_turn_comes_after_all_before() {
        let done = AtomicU64::new(0);
        let work = |job: u64, turn: &Turn<'_>| {
            let mut seen = job;
            if job.is_multiple_of(3) {
                turn.wait();
                seen = done.load(Ordering::SeqCst);
            }
            done.fetch_add(1, Ordering::SeqCst);
            (job, seen)
        };
        in_order(4, &mut (0..2000), &work, &mut |(job, seen)| {
            assert!(seen >= job);
            ControlFlow::Continue(())
        });
    }

    #[test]
    fn enough_is_enough() {
        let mut count = 0;
        in_order(3, &mut (0..), &|job: u64, _: &Turn<'_>| job, &mut |_| {
            count += 1;
            if count == 10 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(count, 10);
    }
}
