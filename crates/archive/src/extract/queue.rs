//! Files that wait for a worker, bounded in number and in bytes.
//!
//! A worker takes several files of one directory at a time, and of another directory than the other
//! workers if it can: the kernel makes the files of a directory one after another. A thread is woken
//! only if it waits, for a wake costs a call even if no thread hears it.

use haul_sys::sync::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;

use crate::descriptors::share;

/// Number of waiting and unfinished files: those of several directories.
const UNFINISHED_MAX: usize = 2048;

/// Bytes of waiting and unfinished files that are in memory.
const BYTES_MAX: usize = 16 << 20;

/// Directories of waiting and unfinished files, each of which is an open descriptor.
const DIRECTORIES_MAX: usize = 256;

/// Files that workers gave back, before their owner should make them.
const RETURNED_MAX: usize = 256;

/// Files that a worker takes at a time.
const BATCH_FILES: usize = 16;

/// Files that wait before an idle worker is woken for them, unless this thread has to wait.
const WAKE_FILES: usize = 8;

struct State<J> {
    jobs: VecDeque<Entry<J>>,
    /// Files that a worker gave back, because the name exists.
    returned: Vec<J>,
    returned_bytes: usize,
    /// Directories that workers make files in, with the number of them that their files count for.
    busy: Vec<(usize, usize)>,
    /// Directories of unfinished files, at most: a directory counts anew whenever files of another one
    /// came between its files.
    directories: usize,
    /// The directory of the last file.
    last: Option<usize>,
    unfinished: usize,
    bytes: usize,
    idle_workers: usize,
    /// The number of unfinished files that the owner waits for.
    owner_waits: Option<usize>,
    is_closed: bool,
}

struct Entry<J> {
    job: J,
    /// Whether the file before is of another directory.
    is_first: bool,
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
    directories_max: usize,
    batch_files: usize,
    state: Mutex<State<J>>,
    for_workers: Condvar,
    for_owner: Condvar,
}

impl<J: Waiting> Queue<J> {
    /// Makes one, for workers whose number may grow or not.
    pub(super) fn new(may_grow: bool) -> Queue<J> {
        Queue {
            // Workers that wait for a server share a directory: its lock is held while a file is created, but
            // not while it is written.
            batch_files: if may_grow { 1 } else { BATCH_FILES },
            directories_max: share(DIRECTORIES_MAX),
            state: Mutex::new(State {
                jobs: VecDeque::new(),
                returned: Vec::new(),
                returned_bytes: 0,
                busy: Vec::new(),
                directories: 0,
                last: None,
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
        state = self.for_owner.wait(state);
        state.owner_waits = None;
        state
    }

    /// Adds a file. Blocks while there is no room. Returns whether many files were given back, so that
    /// the owner should drain the queue.
    pub(super) fn push(&self, job: J) -> bool {
        let (bytes, is_large) = (job.memory_bytes(), job.is_large());
        let mut state = self.state.lock();
        while state.unfinished >= UNFINISHED_MAX
            || state.directories >= self.directories_max
            || (state.bytes > 0 && state.bytes + bytes > BYTES_MAX)
        {
            // Half of them, so that this thread is not woken for each.
            state = self.wait(state, UNFINISHED_MAX / 2);
        }
        let is_first = state.last != Some(job.directory());
        state.last = Some(job.directory());
        state.directories += usize::from(is_first);
        state.jobs.push_back(Entry { job, is_first });
        state.unfinished += 1;
        state.bytes += bytes;
        let wakes = state.idle_workers > 0 && (is_large || state.jobs.len() >= WAKE_FILES);
        let has_many = state.returned.len() >= RETURNED_MAX || state.returned_bytes >= BYTES_MAX;
        drop(state);
        if wakes {
            self.for_workers.notify_one();
        }
        has_many
    }

    /// Returns files of one directory, or `None` when no more come. Blocks.
    pub(super) fn take(&self) -> Option<Vec<J>> {
        let mut state = self.state.lock();
        loop {
            if let Some(jobs) = state.next(self.batch_files) {
                return Some(jobs);
            }
            if state.is_closed {
                return None;
            }
            state.idle_workers += 1;
            state = self.for_workers.wait(state);
            state.idle_workers -= 1;
        }
    }

    /// Books files of one directory as finished, some of them as given back.
    pub(super) fn finished(&self, directory: usize, files: usize, bytes: usize, returned: Vec<J>) {
        let mut state = self.state.lock();
        if let Some(at) = state.busy.iter().position(|(busy, _)| *busy == directory) {
            let (_, count) = state.busy.swap_remove(at);
            state.directories -= count;
        }
        state.unfinished -= files;
        state.bytes -= bytes;
        state.returned_bytes += returned.iter().map(J::memory_bytes).sum::<usize>();
        state.returned.extend(returned);
        let is_enough = |most: usize| {
            state.unfinished <= most
                && state.bytes <= BYTES_MAX / 2
                && state.directories <= self.directories_max / 2
        };
        let wakes = state.owner_waits.is_some_and(|most| state.unfinished == 0 || is_enough(most));
        drop(state);
        if wakes {
            self.for_owner.notify_one();
        }
    }

    /// Waits until every file is finished, and returns those that were given back.
    pub(super) fn drain(&self) -> Vec<J> {
        let mut state = self.state.lock();
        while state.unfinished > 0 {
            state = self.wait(state, 0);
        }
        state.returned_bytes = 0;
        // Its address may become another one's.
        state.last = None;
        std::mem::take(&mut state.returned)
    }

    /// Ends the workers once the queue is empty.
    pub(super) fn close(&self) {
        self.state.lock().is_closed = true;
        self.for_workers.notify_all();
    }
}

impl<J: Waiting> State<J> {
    /// Takes files of the first directory that no worker is busy with, or of the first one.
    fn next(&mut self, most: usize) -> Option<Vec<J>> {
        let is_busy =
            |entry: &Entry<J>| self.busy.iter().any(|(busy, _)| *busy == entry.job.directory());
        let start = self.jobs.iter().position(|entry| !is_busy(entry)).unwrap_or(0);
        let directory = self.jobs.get(start)?.job.directory();
        let same = self.jobs.iter().skip(start).take(most).map(|entry| &entry.job);
        let count =
            same.take_while(|job| job.directory() == directory && !job.is_large()).count().max(1);
        let mut directories = 0;
        let jobs = self.jobs.drain(start..start + count).map(|entry| {
            directories += usize::from(entry.is_first);
            entry.job
        });
        let jobs = jobs.collect();
        self.busy.push((directory, directories));
        Some(jobs)
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
        let queue = Queue::new(false);
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
        let queue: Queue<File> = Queue::new(false);
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
