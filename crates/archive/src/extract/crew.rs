//! The workers of an extraction: as many as asked for, and more where each call is a trip to a server.

use haul_sys::sync::Mutex;
use std::sync::Arc;
use std::thread::JoinHandle;

use haul_io::Kit;
use haul_tree::Meter;

use super::queue::{Queue, Waiting as _};
use super::shared::{Job, Shared};
use crate::descriptors::share;
use crate::threads::builder;

/// Threads that make the files of a queue.
pub(super) struct Crew {
    shared: Arc<Shared>,
    queue: Arc<Queue<Job>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Crew {
    pub(super) fn new(shared: &Arc<Shared>, queue: &Arc<Queue<Job>>) -> Arc<Crew> {
        let (shared, queue) = (Arc::clone(shared), Arc::clone(queue));
        Arc::new(Crew { shared, queue, threads: Mutex::default() })
    }

    /// Starts a worker, unless as many as the policy asks for were started. Returns `false` if there is none,
    /// because no thread can be started.
    pub(super) fn has_worker(self: &Arc<Crew>) -> bool {
        self.start(self.shared.policy.workers)
    }

    /// Starts a worker, unless there are so many. Returns whether there is one.
    fn start(self: &Arc<Crew>, most: usize) -> bool {
        let mut threads = self.threads.lock();
        if threads.len() < share(most) {
            let crew = Arc::clone(self);
            let started = builder().name("extract".to_owned()).spawn(move || crew.work());
            threads.extend(started);
        }
        !threads.is_empty()
    }

    fn work(self: &Arc<Crew>) {
        let mut kit = Kit::new();
        let mut meter = self.shared.may_grow.then(Meter::begin);
        while let Some(jobs) = self.next(meter.as_mut()) {
            let directory = jobs.first().map_or(0, Job::directory);
            let (files, bytes) = (jobs.len(), jobs.iter().map(Job::memory_bytes).sum());
            let returned = self.shared.make_all(jobs, &mut kit);
            self.queue.finished(directory, files, bytes, returned);
            if meter.as_mut().is_some_and(|meter| meter.is_waiting(files as u64)) {
                self.start(self.shared.policy.waiting_workers);
            }
        }
    }

    /// Takes files. That there were none does not count as waiting for the server. Blocks.
    fn next(&self, meter: Option<&mut Meter>) -> Option<Vec<Job>> {
        let Some(meter) = meter else { return self.queue.take() };
        meter.pause();
        let jobs = self.queue.take();
        meter.resume();
        jobs
    }

    /// Waits for all workers, once the queue is closed.
    pub(super) fn join(&self) {
        // A worker may start another one before it ends.
        loop {
            let last = self.threads.lock().pop();
            let Some(thread) = last else { return };
            // A worker that panicked has said so.
            let _panicked = thread.join();
        }
    }
}
