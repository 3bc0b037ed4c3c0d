//! What is answered later: requests wait here, and no thread waits with each.
//!
//! A hundred threads that wake at once contend for the kernel's queue of requests, each with memory of
//! its own that no cache holds: more work than moving the bytes, and on the processors of the program
//! that is measured.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Answers a request.
pub(super) type Work = Box<dyn FnOnce() + Send>;

/// Requests that wait, and the threads that answer them when it is time.
#[derive(Debug)]
pub(super) struct Later {
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
    /// Requests on their way, the first one due on top.
    waiting: BinaryHeap<Reverse<Due>>,
    /// How many have been on their way; of two that are due at once, the older one is first.
    begun: u64,
    under_way: usize,
    most: usize,
    /// Requests for which there is no room on the way yet.
    queued: VecDeque<(Duration, Work)>,
    is_over: bool,
}

struct Due {
    at: Instant,
    number: u64,
    work: Work,
}

/// Returns how many processors there are.
pub(crate) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

impl Later {
    /// Starts as many threads as there are processors, for at most `most` requests on their way.
    pub(super) fn new(most: usize) -> std::io::Result<Later> {
        let shared = Arc::new(Shared::default());
        shared.plan().most = most.max(1);
        let mut later = Later { shared, threads: Vec::new() };
        for _ in 0..processors() {
            let shared = Arc::clone(&later.shared);
            let builder = std::thread::Builder::new().name("faultfs-later".to_owned());
            later.threads.push(builder.spawn(move || shared.run())?);
        }
        Ok(later)
    }

    /// Does the work after a time, which begins when the request has room on the way.
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

    /// Does what is due, until it is over.
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
                        // The next one is due soon, whatever this one takes.
                        self.changed.notify_one();
                    }
                    // A panic is told by its hook, and by an error in the place of the answer.
                    let _panic = catch_unwind(AssertUnwindSafe(due.work));
                    plan = self.plan();
                    plan.under_way -= 1;
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
    /// Lets requests that are queued begin as long as there is room, and tells whether one of them is
    /// due before all others.
    fn begin(&mut self) -> bool {
        let mut is_first = false;
        while self.under_way < self.most
            && let Some((wait, work)) = self.queued.pop_front()
        {
            let at = Instant::now() + wait;
            is_first |= self.waiting.peek().is_none_or(|Reverse(first)| at < first.at);
            self.waiting.push(Reverse(Due { at, number: self.begun, work }));
            self.begun += 1;
            self.under_way += 1;
        }
        is_first
    }
}

impl Drop for Later {
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
        let later = Later::new(8).unwrap();
        let (told, done) = channel();
        for (wait, name) in [(200, "last"), (1, "first")] {
            let told = told.clone();
            later.put(Duration::from_millis(wait), Box::new(move || told.send(name).unwrap()));
        }
        assert_eq!([done.recv(), done.recv()], [Ok("first"), Ok("last")]);
    }

    #[test]
    fn nobody_waits_for_somebody_elses_work() {
        if processors() < 2 {
            println!("ignored: one processor does one thing at a time");
            return;
        }
        let later = Later::new(8).unwrap();
        let (told, done) = channel();
        let (go, wait) = channel::<()>();
        later.put(SHORT, Box::new(move || assert!(wait.recv().is_err())));
        later.put(20 * SHORT, Box::new(move || told.send(()).unwrap()));
        done.recv().unwrap();
        drop(go);
    }

    #[test]
    fn no_more_than_there_is_room_for_are_on_their_way() {
        let later = Later::new(1).unwrap();
        let (told, done) = channel();
        let (go, wait) = channel();
        let tell = told.clone();
        later.put(
            SHORT,
            Box::new(move || {
                wait.recv().unwrap();
                tell.send(1).unwrap();
            }),
        );
        later.put(Duration::ZERO, Box::new(move || told.send(2).unwrap()));
        assert!(done.recv_timeout(20 * SHORT).is_err(), "the second one overtook the first");
        go.send(()).unwrap();
        assert_eq!([done.recv(), done.recv()], [Ok(1), Ok(2)]);
    }
}
