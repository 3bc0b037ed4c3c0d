//! Queue of delayed requests, in which no thread waits for a single request.
//!
//! A hundred threads that wake at once contend for the kernel's queue of requests, each each with
//! memory that is not in a processor cache: that costs more than moving the bytes, on the
//! processors of the measured program.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Answers a request.
pub(super) type Work = Box<dyn FnOnce() + Send>;

/// Delayed requests, and the threads that answer them when they are due.
#[derive(Debug)]
pub(super) struct DelayQueue {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    plan: Mutex<Plan>,
    changed: Condvar,
}

#[derive(Default)]
struct Plan {
    /// Requests in flight, the first one due on top.
    waiting: BinaryHeap<Reverse<Due>>,
    /// Number of requests started so far; of two that are due at the same time, the older one is
    /// first.
    begun: u64,
    in_flight: usize,
    most: usize,
    /// Requests beyond the limit of requests in flight.
    queued: VecDeque<(Duration, Work)>,
    is_over: bool,
}

struct Due {
    at: Instant,
    number: u64,
    work: Work,
}

/// Returns the number of processors.
pub(crate) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

impl DelayQueue {
    /// Starts as many threads as there are processors, for at most `most` requests in flight.
    pub(super) fn new(most: usize) -> std::io::Result<DelayQueue> {
        let shared = Arc::new(Shared::default());
        shared.plan().most = most.max(1);
        let mut delay_queue = DelayQueue { shared, threads: Vec::new() };
        for _ in 0..processors() {
            let shared = Arc::clone(&delay_queue.shared);
            let builder = std::thread::Builder::new().name("faultfs-delay".to_owned());
            delay_queue.threads.push(builder.spawn(move || shared.run())?);
        }
        Ok(delay_queue)
    }

    /// Runs the work after a delay, which starts when the number of requests in flight is below the
    /// limit.
    pub(super) fn put(&self, wait: Duration, work: Work) {
        let mut plan = self.shared.plan();
        plan.queued.push_back((wait, work));
        let is_first = plan.begin();
        drop(plan);
        if is_first {
            self.shared.changed.notify_one();
        }
    }
}

impl Shared {
    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs work that is due, until the queue is dropped.
    fn run(&self) {
        let mut plan = self.plan();
        while !plan.is_over {
            let now = Instant::now();
            match plan.waiting.peek().map(|Reverse(first)| first.at) {
                Some(at) if at <= now => {
                    let Some(Reverse(due)) = plan.waiting.pop() else { continue };
                    let has_more = !plan.waiting.is_empty();
                    drop(plan);
                    if has_more {
                        // The next request may be due before this one is done.
                        self.changed.notify_one();
                    }
                    // The panic hook reports a panic, and the request gets an error as its reply.
                    let _panic = catch_unwind(AssertUnwindSafe(due.work));
                    plan = self.plan();
                    plan.in_flight -= 1;
                    plan.begin();
                }
                Some(at) => {
                    let waited = self.changed.wait_timeout(plan, at - now);
                    plan = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                None => plan = self.changed.wait(plan).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

impl Plan {
    /// Starts queued requests as long as the limit permits, and returns whether one of them is due
    /// before all others.
    fn begin(&mut self) -> bool {
        let mut is_first = false;
        while self.in_flight < self.most
            && let Some((wait, work)) = self.queued.pop_front()
        {
            let at = Instant::now() + wait;
            is_first |= self.waiting.peek().is_none_or(|Reverse(first)| at < first.at);
            self.waiting.push(Reverse(Due { at, number: self.begun, work }));
            self.begun += 1;
            self.in_flight += 1;
        }
        is_first
    }
}

impl Drop for DelayQueue {
    fn drop(&mut self) {
        self.shared.plan().is_over = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            let _ended = thread.join();
        }
    }
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} waiting, {} queued", self.waiting.len(), self.queued.len())
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Due) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Due {
    fn eq(&self, other: &Due) -> bool {
        self.number == other.number
    }
}

impl Eq for Due {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    const SHORT: Duration = Duration::from_millis(1);

    #[test]
    fn what_is_due_first_is_done_first() {
        let delay_queue = DelayQueue::new(8).unwrap();
        let (sender, done) = channel();
        for (wait, name) in [(200, "last"), (1, "first")] {
            let sender = sender.clone();
            delay_queue
                .put(Duration::from_millis(wait), Box::new(move || sender.send(name).unwrap()));
        }
        assert_eq!([done.recv(), done.recv()], [Ok("first"), Ok("last")]);
    }

    #[test]
    fn slow_work_does_not_delay_other_requests() {
        if processors() < 2 {
            println!("ignored: one processor does one thing at a time");
            return;
        }
        let delay_queue = DelayQueue::new(8).unwrap();
        let (sender, done) = channel();
        let (go, wait) = channel::<()>();
        delay_queue.put(SHORT, Box::new(move || assert!(wait.recv().is_err())));
        delay_queue.put(20 * SHORT, Box::new(move || sender.send(()).unwrap()));
        done.recv().unwrap();
        drop(go);
    }

    #[test]
    fn requests_in_flight_are_limited() {
        let delay_queue = DelayQueue::new(1).unwrap();
        let (sender, done) = channel();
        let (go, wait) = channel();
        let second = sender.clone();
        delay_queue.put(
            SHORT,
            Box::new(move || {
                wait.recv().unwrap();
                second.send(1).unwrap();
            }),
        );
        delay_queue.put(Duration::ZERO, Box::new(move || sender.send(2).unwrap()));
        assert!(done.recv_timeout(20 * SHORT).is_err(), "the second one overtook the first");
        go.send(()).unwrap();
        assert_eq!([done.recv(), done.recv()], [Ok(1), Ok(2)]);
    }
}
