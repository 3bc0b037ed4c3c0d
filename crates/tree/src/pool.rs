//! The worker pool. It starts with the caller's thread alone, and grows only while there is work.
//!
//! Each worker has its own stack and takes the newest job first, which limits the waiting jobs to
//! the branches of one path. Only if another worker is idle does a worker donate the oldest half
//! of its stack, the largest subtrees; so a busy pool takes no lock at all, except while workers
//! divide a large file: they leave it for other work, so they count as idle. Work that cannot be
//! split into jobs, a flat directory or a large file, is *offered*: an idle worker joins its owner
//! and draws from the same source.
//!
//! The pool starts with as many workers as keep the processors busy. If workers find that they
//! mostly wait for storage (see `meter`), the pool may [grow](Pool::grow) beyond that number, in
//! steps and up to a limit.

use haul_sys::sync::{Condvar, Mutex};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::joint::Joint;

/// Answer to a worker that asks for work.
pub(crate) enum Work<J, O> {
    Job(J),
    Join(O),
    /// All work is done.
    Nothing,
}

struct State<J, O> {
    jobs: Vec<J>,
    offers: Vec<O>,
    workers: usize,
    idle: usize,
    done: bool,
    /// Whether work from outside may still follow when all workers are idle.
    is_open: bool,
    /// Whether a thread could not be started.
    is_refused: bool,
}

impl<J, O: Joint> State<J, O> {
    /// Returns how many workers wait for a job.
    fn without_job(&self) -> usize {
        // A worker that was woken for a job is idle until it has taken the job.
        self.idle.saturating_sub(self.jobs.len())
    }

    /// Returns the newest offer that a function accepts, and one that can wait only if there is no other.
    fn next_offer(&self, accepts: impl Fn(&O) -> bool) -> Option<&O> {
        let newest = |can_wait| {
            self.offers.iter().rev().find(|offer| offer.can_wait() == can_wait && accepts(offer))
        };
        newest(false).or_else(|| newest(true))
    }
}

/// Factor by which a step of growth multiplies the number of workers: two steps lead from two or
/// three to the limit, and a superfluous step costs no more than idle threads do.
const GROWTH: usize = 4;

pub(crate) struct Pool<J, O> {
    /// Maximum number of workers at present (`most`), and the limit of its growth (`bound`).
    most: AtomicUsize,
    bound: usize,
    state: Mutex<State<J, O>>,
    wake: Condvar,
    /// Number of workers that are available at once: idle ones, and those not started yet.
    idle: AtomicUsize,
    unstarted: AtomicUsize,
    /// Number of jobs that other processes ask for.
    asked: AtomicUsize,
    /// Number of workers that have joined work that can wait, and leave it for other work.
    spare: AtomicUsize,
}

/// Demand of other workers, as a busy worker sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// All workers are busy.
    None,
    /// A worker is idle, or one would leave a large file for other work.
    Idle,
    /// No worker is idle, but one could be started.
    Unstarted,
}

impl<J, O: Joint> Pool<J, O> {
    pub(crate) fn new(most: usize, bound: usize) -> Pool<J, O> {
        Pool {
            most: AtomicUsize::new(most),
            bound,
            state: Mutex::new(State {
                jobs: Vec::new(),
                offers: Vec::new(),
                workers: 1,
                idle: 0,
                done: false,
                is_open: false,
                is_refused: false,
            }),
            wake: Condvar::new(),
            idle: AtomicUsize::new(0),
            unstarted: AtomicUsize::new(most.saturating_sub(1)),
            asked: AtomicUsize::new(0),
            spare: AtomicUsize::new(0),
        }
    }

    /// Returns the demand for work. Costs at most four relaxed loads.
    pub(crate) fn demand(&self) -> Demand {
        let is_there = |count: &AtomicUsize| count.load(Ordering::Relaxed) > 0;
        if is_there(&self.idle) || is_there(&self.asked) {
            Demand::Idle
        } else if is_there(&self.unstarted) {
            Demand::Unstarted
        } else if is_there(&self.spare) {
            Demand::Idle
        } else {
            Demand::None
        }
    }

    /// Counts a worker as one that leaves its work for other work.
    pub(crate) fn spare(&self) -> Spare<'_> {
        self.spare.fetch_add(1, Ordering::Relaxed);
        Spare(&self.spare)
    }

    /// Reserves the place of a new worker and returns its number, unless all have started.
    pub(crate) fn enlist(&self) -> Option<usize> {
        let mut state = self.state.lock();
        let most = self.most.load(Ordering::Relaxed);
        if state.workers >= most || state.done {
            return None;
        }
        let number = state.workers;
        state.workers += 1;
        self.unstarted.store(most - state.workers, Ordering::Relaxed);
        Some(number)
    }

    /// Returns the place of a worker whose thread could not be started, and stops further starts.
    pub(crate) fn cancel(&self) {
        let mut state = self.state.lock();
        state.workers -= 1;
        self.most.store(state.workers, Ordering::Relaxed);
        state.is_refused = true;
        self.unstarted.store(0, Ordering::Relaxed);
        drop(state);
        self.wake.notify_all();
    }

    /// Returns whether the limit allows more workers than at present.
    pub(crate) fn can_grow(&self) -> bool {
        self.most.load(Ordering::Relaxed) < self.bound
    }

    /// Raises the maximum number of workers, once all workers up to it have started.
    pub(crate) fn grow(&self) {
        let state = self.state.lock();
        let most = self.most.load(Ordering::Relaxed);
        if state.workers < most || state.is_refused {
            return;
        }
        let more = (most * GROWTH).min(self.bound).max(most);
        self.most.store(more, Ordering::Relaxed);
        self.unstarted.store(more - state.workers, Ordering::Relaxed);
    }

    /// Donates the oldest half of a stack.
    pub(crate) fn donate(&self, stack: &mut Vec<J>) {
        let half = stack.len() / 2;
        if half == 0 {
            return;
        }
        self.state.lock().jobs.extend(stack.drain(..half));
        self.wake.notify_one();
    }

    /// Donates a whole stack. Wakes all idle workers, because the owner of the stack donates no more for
    /// long.
    pub(crate) fn donate_all(&self, stack: &mut Vec<J>) {
        if !stack.is_empty() {
            self.state.lock().jobs.append(stack);
            self.wake.notify_all();
        }
    }

    /// Returns whether there are other workers, or can be, or other processes.
    pub(crate) fn has_others(&self) -> bool {
        self.has_several() || self.state.lock().is_open
    }

    /// Returns whether there are several workers, or can be.
    pub(crate) fn has_several(&self) -> bool {
        self.most.load(Ordering::Relaxed) > 1
    }

    /// Offers work to idle workers, once.
    pub(crate) fn offer(&self, offer: &O) {
        let mut state = self.state.lock();
        if !state.offers.iter().any(|other| other.is(offer)) {
            state.offers.push(offer.clone());
        }
        drop(state);
        self.wake.notify_one();
    }

    /// Assigns work to an idle worker. Returns `false` if no worker is free for it. `started`
    /// workers were started for it and have not arrived yet.
    pub(crate) fn assign(&self, offer: &O, started: usize) -> bool {
        let mut state = self.state.lock();
        let waiting = state.jobs.len() + state.offers.iter().filter(|it| !it.is_full()).count();
        if state.idle + started <= waiting {
            return false;
        }
        state.offers.push(offer.clone());
        drop(state);
        self.wake.notify_one();
        true
    }

    /// Keeps the pool from ending when all workers are idle, until [`close`](Pool::close). Other processes
    /// may take what is on offer, so offers stay also if they are full for workers.
    pub(crate) fn open(&self) {
        self.state.lock().is_open = true;
    }

    /// Lets the pool end when all workers are idle.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.is_open = false;
        state.done |= state.idle == state.workers && state.jobs.is_empty();
        drop(state);
        self.wake.notify_all();
    }

    /// Sets how many jobs other processes ask for.
    pub(crate) fn ask(&self, jobs: usize) {
        self.asked.store(jobs, Ordering::Relaxed);
    }

    /// Returns whether other processes ask for jobs.
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed) > 0
    }

    /// Returns how many workers wait for a job.
    pub(crate) fn idle(&self) -> usize {
        self.state.lock().without_job()
    }

    /// Returns how many workers wait and have nothing to take. Workers take work that can wait until it is
    /// full, each waking the next.
    pub(crate) fn free(&self) -> usize {
        let state = self.state.lock();
        let has_room = state.offers.iter().any(|offer| offer.can_wait() && !offer.is_full());
        if has_room { 0 } else { state.without_job() }
    }

    /// Returns whether all workers wait for a job and there is none.
    pub(crate) fn is_idle(&self) -> bool {
        let state = self.state.lock();
        state.idle == state.workers && state.jobs.is_empty()
    }

    /// Adds a job from outside the pool's workers.
    pub(crate) fn add(&self, job: J) {
        self.state.lock().jobs.push(job);
        self.wake.notify_one();
    }

    /// Takes the oldest job that a function accepts.
    pub(crate) fn take_if(&self, accepts: impl Fn(&J) -> bool) -> Option<J> {
        let mut state = self.state.lock();
        let index = state.jobs.iter().position(accepts)?;
        Some(state.jobs.remove(index))
    }

    /// Joins work on offer that a function accepts, even if it is full for workers.
    pub(crate) fn join_if(&self, accepts: impl Fn(&O) -> bool) -> Option<O> {
        let state = self.state.lock();
        let offer = state.next_offer(accepts)?;
        offer.join();
        Some(offer.clone())
    }

    /// Returns whether there is work that comes before a large file.
    pub(crate) fn has_urgent_work(&self) -> bool {
        let state = self.state.lock();
        let is_urgent = |offer: &O| !offer.can_wait() && !offer.is_full();
        !state.jobs.is_empty() || state.offers.iter().any(is_urgent)
    }

    /// Returns a guard that ends the pool if the worker that owns it panics, so that the other
    /// workers do not wait for that worker.
    pub(crate) const fn guard(&self) -> Guard<'_, J, O> {
        Guard { pool: self }
    }

    /// Withdraws an offer, because no work is left to draw from it.
    pub(crate) fn withdraw(&self, offer: &O) {
        self.state.lock().offers.retain(|other| !other.is(offer));
    }

    /// Returns work for an idle worker. Blocks until there is work, or until none can follow.
    pub(crate) fn take(&self) -> Work<J, O> {
        let mut state = self.state.lock();
        loop {
            if let Some(job) = state.jobs.pop() {
                return Work::Job(job);
            }
            // Workers join under the lock, so that there is never one too many. If there is room
            // again, the workers in the directory or file offer it again.
            // An offer that is full for workers may still have something for other processes.
            let is_open = state.is_open;
            state.offers.retain(|offer| is_open || !offer.is_full());
            if let Some(offer) = state.next_offer(|offer| !offer.is_full()) {
                offer.join();
                let joined = offer.clone();
                // One worker wakes the next while there is room in a large file.
                if state.idle > 0 && joined.can_wait() && !joined.is_full() {
                    self.wake.notify_one();
                }
                return Work::Join(joined);
            }
            if state.done {
                return Work::Nothing;
            }
            state.idle += 1;
            if state.idle == state.workers && !state.is_open {
                state.done = true;
                drop(state);
                self.wake.notify_all();
                return Work::Nothing;
            }
            self.idle.store(state.idle, Ordering::Relaxed);
            state = self.wake.wait(state);
            state.idle -= 1;
            self.idle.store(state.idle, Ordering::Relaxed);
        }
    }
}

/// Counts a worker as one that leaves its work for other work, until it is dropped.
#[derive(Debug)]
pub struct Spare<'p>(&'p AtomicUsize);

impl Drop for Spare<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Ends a pool when its worker panics.
pub(crate) struct Guard<'p, J, O> {
    pool: &'p Pool<J, O>,
}

impl<J, O> Drop for Guard<'_, J, O> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut state = self.pool.state.lock();
            state.done = true;
            state.jobs.clear();
            state.offers.clear();
            drop(state);
            self.pool.wake.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Joint for u32 {
        fn is(&self, other: &u32) -> bool {
            self == other
        }
        fn is_full(&self) -> bool {
            *self == FULL
        }
        fn can_wait(&self) -> bool {
            *self >= LARGE
        }
        fn join(&self) {}
    }

    /// Work that no worker can join.
    const FULL: u32 = u32::MAX;

    /// The first number of work that can wait.
    const LARGE: u32 = 1000;

    #[test]
    fn the_oldest_half_is_given_away() {
        let pool: Pool<u32, u32> = Pool::new(2, 2);
        let mut stack = vec![1, 2, 3, 4, 5];
        pool.donate(&mut stack);
        assert_eq!(stack, [3, 4, 5]);
        assert!(matches!(pool.take(), Work::Job(2)));
        assert!(matches!(pool.take(), Work::Job(1)));
        assert!(matches!(pool.take(), Work::Nothing));
    }

    #[test]
    fn a_pool_of_one_starts_nobody() {
        let pool: Pool<u32, u32> = Pool::new(1, 1);
        assert_eq!(pool.demand(), Demand::None);
        assert!(pool.enlist().is_none());
    }

    #[test]
    fn growth_comes_after_all_have_started_and_ends_at_the_bound() {
        let pool: Pool<u32, u32> = Pool::new(2, 20);
        pool.grow();
        assert!(pool.enlist().is_some());
        assert!(pool.enlist().is_none(), "it grew before the second had started");
        pool.grow();
        assert_eq!(pool.demand(), Demand::Unstarted);
        for _ in 2..8 {
            assert!(pool.enlist().is_some());
        }
        assert!(pool.enlist().is_none());
        pool.grow();
        assert!(!pool.can_grow());
        assert_eq!((8..100).filter_map(|_| pool.enlist()).count(), 12);
    }

    #[test]
    fn where_threads_are_refused_nothing_grows() {
        let pool: Pool<u32, u32> = Pool::new(2, 20);
        assert!(pool.enlist().is_some());
        pool.cancel();
        pool.grow();
        assert!(pool.enlist().is_none());
    }

    #[test]
    fn offers_stand_until_withdrawn() {
        let pool: Pool<u32, u32> = Pool::new(2, 2);
        pool.offer(&7);
        pool.offer(&7);
        assert!(matches!(pool.take(), Work::Join(7)));
        pool.withdraw(&7);
        assert!(matches!(pool.take(), Work::Nothing));
    }

    #[test]
    fn what_can_wait_comes_after_jobs_and_other_offers() {
        let pool: Pool<u32, u32> = Pool::new(2, 2);
        pool.offer(&7);
        pool.offer(&LARGE);
        assert!(pool.has_urgent_work());
        assert!(matches!(pool.take(), Work::Join(7)));
        assert_eq!(pool.join_if(|_| true), Some(7));
        pool.withdraw(&7);
        assert!(!pool.has_urgent_work());
        assert!(matches!(pool.take(), Work::Join(LARGE)));
        pool.add(8);
        assert!(pool.has_urgent_work());
        assert!(matches!(pool.take(), Work::Job(8)));
    }

    #[test]
    fn what_is_full_is_joined_by_nobody() {
        let pool: Pool<u32, u32> = Pool::new(2, 2);
        pool.offer(&7);
        pool.offer(&FULL);
        assert!(matches!(pool.take(), Work::Join(7)));
        pool.withdraw(&7);
        assert!(matches!(pool.take(), Work::Nothing));
    }

    #[test]
    fn where_other_processes_may_ask_workers_give_and_full_offers_stay() {
        let pool: Pool<u32, u32> = Pool::new(1, 1);
        assert_eq!(pool.demand(), Demand::None);
        pool.ask(2);
        assert_eq!(pool.demand(), Demand::Idle);
        pool.open();
        pool.offer(&FULL);
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| matches!(pool.take(), Work::Nothing));
            while pool.idle() == 0 {
                std::thread::yield_now();
            }
            assert_eq!(pool.join_if(|offer| *offer == 7), None);
            assert_eq!(pool.join_if(|offer| *offer == FULL), Some(FULL));
            pool.close();
            assert!(worker.join().unwrap(), "a worker joined what is full");
        });
        pool.ask(0);
        assert_eq!(pool.demand(), Demand::None);
    }

    #[test]
    fn other_processes_take_the_oldest_job_that_they_can_have() {
        let pool: Pool<u32, u32> = Pool::new(1, 1);
        [1, 2, 3, 4].into_iter().for_each(|job| pool.add(job));
        assert_eq!(pool.take_if(|job| job % 2 == 0), Some(2));
        assert_eq!(pool.take_if(|job| *job > 9), None);
        assert!(matches!(pool.take(), Work::Job(4)));
    }

    #[test]
    fn an_open_pool_waits_for_work_from_outside_and_ends_when_closed() {
        let pool: Pool<u32, u32> = Pool::new(1, 1);
        let done = AtomicUsize::new(0);
        pool.open();
        std::thread::scope(|scope| {
            scope.spawn(|| worker(&pool, &done, Vec::new()));
            // Idle is a state that the worker stays in until work comes.
            while pool.idle() == 0 {
                std::thread::yield_now();
            }
            pool.add(3);
            while pool.idle() == 0 || done.load(Ordering::Relaxed) < 4 {
                std::thread::yield_now();
            }
            pool.close();
        });
        assert_eq!(done.load(Ordering::Relaxed), 4);
    }

    #[test]
    fn work_is_handed_over_only_to_those_who_are_free() {
        let pool: Pool<u32, u32> = Pool::new(2, 2);
        assert!(!pool.assign(&7, 0), "all are busy");
        assert!(pool.assign(&7, 1), "a worker was started for it");
        assert!(!pool.assign(&8, 1), "and has that to do");
        assert!(matches!(pool.take(), Work::Join(7)));
    }

    #[test]
    fn many_threads_do_all_jobs_and_end() {
        let pool: Pool<u32, u32> = Pool::new(4, 4);
        let done = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                assert!(pool.enlist().is_some());
                scope.spawn(|| worker(&pool, &done, Vec::new()));
            }
            worker(&pool, &done, vec![10; 100]);
        });
        assert_eq!(done.load(Ordering::Relaxed), 100 * 11);
    }

    /// Replaces a job of n by n jobs of 0.
    fn worker(pool: &Pool<u32, u32>, done: &AtomicUsize, mut stack: Vec<u32>) {
        loop {
            let job = match stack.pop() {
                Some(job) => job,
                None => match pool.take() {
                    Work::Job(job) => job,
                    Work::Join(_) => panic!("nothing was offered"),
                    Work::Nothing => return,
                },
            };
            done.fetch_add(1, Ordering::Relaxed);
            stack.extend(std::iter::repeat_n(0, job as usize));
            if pool.demand() != Demand::None {
                pool.donate(&mut stack);
            }
        }
    }
}
