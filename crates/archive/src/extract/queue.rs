//! Files that wait for a worker, bounded in number and in bytes.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Number of waiting files: enough that no worker waits for the headers of the next ones.
const WAITING_MAX: usize = 256;

/// Bytes of waiting and unfinished files that are in memory.
const BYTES_MAX: usize = 16 << 20;

struct State<J> {
    jobs: VecDeque<J>,
    /// Files that a worker gave back, because the name exists.
    returned: Vec<J>,
    unfinished: usize,
    bytes: usize,
    is_closed: bool,
}

/// Files that wait for a worker.
pub(super) struct Queue<J> {
    state: Mutex<State<J>>,
    for_workers: Condvar,
    for_owner: Condvar,
}

impl<J> Queue<J> {
    pub(super) fn new() -> Queue<J> {
        Queue {
            state: Mutex::new(State {
                jobs: VecDeque::new(),
                returned: Vec::new(),
                unfinished: 0,
                bytes: 0,
                is_closed: false,
            }),
            for_workers: Condvar::new(),
            for_owner: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a file with this many bytes in memory. Blocks while there is no room.
    pub(super) fn push(&self, job: J, bytes: usize) {
        let mut state = self.lock();
        while state.unfinished >= WAITING_MAX
            || (state.bytes > 0 && state.bytes + bytes > BYTES_MAX)
        {
            state = self.for_owner.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.jobs.push_back(job);
        state.unfinished += 1;
        state.bytes += bytes;
        drop(state);
        self.for_workers.notify_one();
    }

    /// Returns a file, or `None` when no more come. Blocks.
    pub(super) fn take(&self) -> Option<J> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.is_closed {
                return None;
            }
            state = self.for_workers.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Books a file as finished, or as given back.
    pub(super) fn finished(&self, returned: Option<J>, bytes: usize) {
        let mut state = self.lock();
        state.unfinished -= 1;
        state.bytes -= bytes;
        state.returned.extend(returned);
        drop(state);
        self.for_owner.notify_one();
    }

    /// Waits until every file is finished, and returns those that were given back.
    pub(super) fn drain(&self) -> Vec<J> {
        let mut state = self.lock();
        while state.unfinished > 0 {
            state = self.for_owner.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::take(&mut state.returned)
    }

    /// Ends the workers once the queue is empty.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.for_workers.notify_all();
    }
}
