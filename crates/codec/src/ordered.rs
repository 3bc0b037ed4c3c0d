//! Jobs that workers do at the same time and whose results come back in the order of the jobs.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// A job, and where its result goes.
type Task<J, R> = (J, Sender<R>);

/// Makes the function that one worker applies to its jobs.
pub(crate) type MakeWork<J, R> = Arc<dyn Fn() -> Box<dyn FnMut(J) -> R> + Send + Sync>;

/// Workers, and the jobs that they have not returned yet. Threads begin with the first job that is
/// submitted, so that a stream of one block starts none.
pub(crate) struct Ordered<J, R> {
    jobs: usize,
    most: usize,
    make: MakeWork<J, R>,
    queue: Option<Sender<Task<J, R>>>,
    pending: VecDeque<Receiver<R>>,
    threads: Vec<JoinHandle<()>>,
}

impl<J: Send + 'static, R: Send + 'static> Ordered<J, R> {
    /// Makes `jobs` workers, at least one.
    pub(crate) fn new(jobs: usize, make: MakeWork<J, R>) -> Ordered<J, R> {
        Ordered {
            jobs: jobs.max(1),
            most: 2 * jobs.max(1),
            make,
            queue: None,
            pending: VecDeque::new(),
            threads: Vec::new(),
        }
    }

    /// Lets no more jobs than these be in flight.
    pub(crate) fn limit(mut self, most: usize) -> Ordered<J, R> {
        self.most = most.max(1);
        self
    }

    /// Returns how many jobs may be in flight: one for each worker, and one that waits for each,
    /// unless [`Ordered::limit`] says otherwise.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Returns how many jobs are in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.pending.len()
    }

    /// Does a job on the calling thread.
    pub(crate) fn do_here(&self, job: J) -> R {
        (self.make)()(job)
    }

    /// Submits a job. Never blocks: the caller checks [`Ordered::most`].
    pub(crate) fn submit(&mut self, job: J) {
        let (result, pending) = channel();
        self.pending.push_back(pending);
        let queue = match &self.queue {
            Some(queue) => queue,
            None => {
                let (queue, jobs) = channel();
                self.start(&Arc::new(Mutex::new(jobs)));
                self.queue.insert(queue)
            }
        };
        // The workers end only after the queue does; where none could be started, the job is lost
        // and `take` reports it.
        let _queued = queue.send((job, result));
    }

    fn start(&mut self, queue: &Arc<Mutex<Receiver<Task<J, R>>>>) {
        for _ in 0..self.jobs {
            let (queue, make) = (Arc::clone(queue), Arc::clone(&self.make));
            let started =
                crate::threads::builder().name("haul codec".to_owned()).spawn(move || {
                    let mut work = make();
                    loop {
                        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                        let Ok((job, result)) = next else { return };
                        // A caller that gave up does not want it.
                        let _sent = result.send(work(job));
                    }
                });
            // Fewer workers do the same.
            self.threads.extend(started);
        }
    }

    /// Returns the result of the oldest job in flight; `None` if there is none, or if no worker could
    /// be started. Blocks until the job is done.
    pub(crate) fn take(&mut self) -> Option<R> {
        self.pending.pop_front()?.recv().ok()
    }
}

impl<J, R> Drop for Ordered<J, R> {
    fn drop(&mut self) {
        self.queue = None;
        self.pending.clear();
        for thread in self.threads.drain(..) {
            // A worker that panicked has reported that itself.
            let _ended = thread.join();
        }
    }
}
