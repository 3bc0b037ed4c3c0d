//! Files that wait for a worker, bounded in number and in bytes.
//!
//! A worker takes several files of one directory at a time, and of another directory than the other
//! workers if it can: the kernel makes the files of a directory one after another. A thread is woken
//! only if it waits, for a wake costs a call even if no thread hears it.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Number of waiting and unfinished files: those of several directories.
const UNFINISHED_MAX: usize = 2048;

/// Bytes of waiting and unfinished files that are in memory.
const BYTES_MAX: usize = 16 << 20;

/// Files that a worker takes at a time.
const BATCH_FILES: usize = 16;

/// Files that wait before an idle worker is woken for them, unless this thread has to wait.
const WAKE_FILES: usize = 8;

struct State<J> {
    jobs: VecDeque<J>,
    /// Files that a worker gave back, because the name exists.
    returned: Vec<J>,
    /// Directories that workers make files in.
    busy: Vec<usize>,
    unfinished: usize,
    bytes: usize,
    idle_workers: usize,
    /// The number of unfinished files that the owner waits for.
    owner_waits: Option<usize>,
    is_closed: bool,
}

/// A file that waits.
pub(super) trait Waiting {
    /// Returns a number that files of one directory share.
    fn directory(&self) -> usize;

    /// Returns the number of bytes of memory that it needs while it waits.
    fn memory_bytes(&self) -> usize;

    /// Returns whether it is worth a worker's wake by itself.
    fn is_large(&self) -> bool;
}

/// Files that wait for a worker.
pub(super) struct Queue<J> {
    state: Mutex<State<J>>,
    for_workers: Condvar,
    for_owner: Condvar,
}

impl<J: Waiting> Queue<J> {
    pub(super) fn new() -> Queue<J> {
        Queue {
            state: Mutex::new(State {
                jobs: VecDeque::new(),
                returned: Vec::new(),
                busy: Vec::new(),
                unfinished: 0,
                bytes: 0,
                idle_workers: 0,
                owner_waits: None,
                is_closed: false,
            }),
            for_workers: Condvar::new(),
            for_owner: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until so few files are unfinished.
    fn wait<'g>(
        &self,
        mut state: MutexGuard<'g, State<J>>,
        unfinished: usize,
    ) -> MutexGuard<'g, State<J>> {
        if state.idle_workers > 0 && !state.jobs.is_empty() {
            self.for_workers.notify_all();
        }
        state.owner_waits = Some(unfinished);
        state = self.for_owner.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.owner_waits = None;
        state
    }

    /// Adds a file. Blocks while there is no room.
    pub(super) fn push(&self, job: J) {
        let (bytes, is_large) = (job.memory_bytes(), job.is_large());
        let mut state = self.lock();
        while state.unfinished >= UNFINISHED_MAX
            || (state.bytes > 0 && state.bytes + bytes > BYTES_MAX)
        {
            // Half of them, so that this thread is not woken for each.
            state = self.wait(state, UNFINISHED_MAX / 2);
        }
        state.jobs.push_back(job);
        state.unfinished += 1;
        state.bytes += bytes;
        let wakes = state.idle_workers > 0 && (is_large || state.jobs.len() >= WAKE_FILES);
        drop(state);
        if wakes {
            self.for_workers.notify_one();
        }
    }

    /// Returns files of one directory, or `None` when no more come. Blocks.
    pub(super) fn take(&self) -> Option<Vec<J>> {
        let mut state = self.lock();
        loop {
            if let Some(jobs) = state.next() {
                return Some(jobs);
            }
            if state.is_closed {
                return None;
            }
            state.idle_workers += 1;
            state = self.for_workers.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle_workers -= 1;
        }
    }

    /// Books files of one directory as finished, some of them as given back.
    pub(super) fn finished(&self, directory: usize, files: usize, bytes: usize, returned: Vec<J>) {
        let mut state = self.lock();
        if let Some(at) = state.busy.iter().position(|busy| *busy == directory) {
            state.busy.swap_remove(at);
        }
        state.unfinished -= files;
        state.bytes -= bytes;
        state.returned.extend(returned);
        let is_enough = |most: usize| state.unfinished <= most && state.bytes <= BYTES_MAX / 2;
        let wakes = state.owner_waits.is_some_and(|most| state.unfinished == 0 || is_enough(most));
        drop(state);
        if wakes {
            self.for_owner.notify_one();
        }
    }

    /// Waits until every file is finished, and returns those that were given back.
    pub(super) fn drain(&self) -> Vec<J> {
        let mut state = self.lock();
        while state.unfinished > 0 {
            state = self.wait(state, 0);
        }
        std::mem::take(&mut state.returned)
    }

    /// Ends the workers once the queue is empty.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.for_workers.notify_all();
    }
}

impl<J: Waiting> State<J> {
    /// Takes files of the first directory that no worker is busy with, or of the first one.
    fn next(&mut self) -> Option<Vec<J>> {
        let free = self.jobs.iter().position(|job| !self.busy.contains(&job.directory()));
        let start = free.unwrap_or(0);
        let directory = self.jobs.get(start)?.directory();
        let same = self.jobs.iter().skip(start).take(BATCH_FILES);
        let mut count =
            same.take_while(|job| job.directory() == directory && !job.is_large()).count();
        count = count.max(1);
        self.busy.push(directory);
        Some(self.jobs.drain(start..start + count).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct File(usize, u32);

    impl Waiting for File {
        fn directory(&self) -> usize {
            self.0
        }

        fn memory_bytes(&self) -> usize {
            1 << 10
        }

        fn is_large(&self) -> bool {
            self.1.is_multiple_of(7)
        }
    }

    #[test]
    fn workers_have_different_directories() {
        let queue = Queue::new();
        for (directory, file) in [(1, 1), (1, 2), (2, 3), (1, 4)] {
            queue.push(File(directory, file));
        }
        let numbers = |jobs: Option<Vec<File>>| -> Vec<u32> {
            jobs.unwrap().into_iter().map(|file| file.1).collect()
        };
        assert_eq!(numbers(queue.take()), [1, 2]);
        assert_eq!(numbers(queue.take()), [3]);
        queue.finished(1, 2, 2 << 10, Vec::new());
        assert_eq!(numbers(queue.take()), [4]);
    }

    #[test]
    fn every_file_is_finished_before_the_queue_is_drained() {
        let queue: Queue<File> = Queue::new();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while let Some(mut jobs) = queue.take() {
                        let (directory, files) = (jobs[0].0, jobs.len());
                        jobs.retain(|file| file.1.is_multiple_of(100));
                        queue.finished(directory, files, files << 10, jobs);
                    }
                });
            }
            for round in 0..10 {
                for file in 0..1000 {
                    queue.push(File(file as usize / 30, file));
                }
                assert_eq!(queue.drain().len(), 10, "{round}");
            }
            queue.close();
        });
    }
}
