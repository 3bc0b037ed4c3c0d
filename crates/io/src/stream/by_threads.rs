//! Requests by threads: where rings are forbidden, and where they would only hand the requests to
//! threads of the kernel (FUSE, network file systems), of which they allow too few.

use haul_sys::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use haul_sys::Result;

use super::block::LOOK;
use super::queue::{Done, Queue, Request, make};

/// Threads that each make one request at a time. They are started when there is a request for them,
/// and ended with the queue.
pub(crate) struct ByThreads {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    depth: usize,
    in_flight: usize,
}

#[derive(Default)]
struct Shared {
    inner: Mutex<Inner>,
    asked: Condvar,
    done: Condvar,
}

#[derive(Default)]
struct Inner {
    asked: VecDeque<Request>,
    done: VecDeque<Done>,
    idle: usize,
    over: bool,
}

impl Shared {
    fn work(&self) {
        let mut inner = self.inner.lock();
        loop {
            if let Some(mut request) = inner.asked.pop_front() {
                drop(inner);
                let result = make(&mut request);
                inner = self.inner.lock();
                inner.done.push_back(Done { request, result });
                self.done.notify_one();
            } else if inner.over {
                return;
            } else {
                inner.idle += 1;
                inner = self.asked.wait(inner);
                inner.idle -= 1;
            }
        }
    }
}

impl ByThreads {
    /// Makes a queue that starts at most `depth` threads.
    pub(crate) fn new(depth: usize) -> ByThreads {
        let depth = depth.max(1);
        ByThreads { shared: Arc::default(), threads: Vec::new(), depth, in_flight: 0 }
    }

    fn grow(&mut self) {
        /// A request needs no more stack than a call and a buffer's address.
        const STACK_BYTES: usize = 64 << 10;
        let shared = Arc::clone(&self.shared);
        let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
        // Fewer threads than wished for make the same requests, later; with none, the waiting thread makes them.
        if let Ok(thread) = builder.spawn(move || shared.work()) {
            self.threads.push(thread);
        }
    }
}

impl Queue for ByThreads {
    fn depth(&self) -> usize {
        self.depth
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn ask(&mut self, request: Request) -> Result<()> {
        let mut inner = self.shared.inner.lock();
        inner.asked.push_back(request);
        let lacks_hands = inner.asked.len() > inner.idle;
        drop(inner);
        self.in_flight += 1;
        if lacks_hands && self.threads.len() < self.depth {
            self.grow();
        }
        self.shared.asked.notify_one();
        Ok(())
    }

    fn start(&mut self) -> Result<()> {
        Ok(())
    }

    fn wait(&mut self, stop: &AtomicBool) -> Result<Option<Done>> {
        let mut inner = self.shared.inner.lock();
        while self.in_flight > 0 {
            if let Some(done) = inner.done.pop_front() {
                self.in_flight -= 1;
                return Ok(Some(done));
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            if self.threads.is_empty()
                && let Some(mut request) = inner.asked.pop_front()
            {
                drop(inner);
                self.in_flight -= 1;
                let result = make(&mut request);
                return Ok(Some(Done { request, result }));
            }
            let waited = self.shared.done.wait_timeout(inner, LOOK);
            inner = waited.0;
        }
        Ok(None)
    }
}

impl Drop for ByThreads {
    fn drop(&mut self) {
        let mut inner = self.shared.inner.lock();
        // The answer of a request that has not begun is not wanted any more.
        inner.asked.clear();
        inner.over = true;
        drop(inner);
        self.shared.asked.notify_all();
        for thread in self.threads.drain(..) {
            // A thread makes calls and nothing else; its panic would be one of the library's.
            let _ended = thread.join();
        }
    }
}
