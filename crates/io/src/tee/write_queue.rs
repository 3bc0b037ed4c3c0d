//! Blocks that were read and have to be written to several files, each in its own order.
//!
//! An idle worker takes the file that is furthest behind and writes its next block; a file is
//! never written by two at once. A block is used again when every file has it.

use haul_sys::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;

use haul_sys::{CallError, Errno};

/// Blocks that may wait: enough that a file whose writeback stalls does not stop the others at
/// once, and together still within a shared cache.
const DEPTH: usize = 8;

/// Bytes that were read together.
#[derive(Debug)]
pub(super) struct Block {
    bytes: Box<[u8]>,
    filled: usize,
}

impl Block {
    pub(super) fn new(bytes: usize) -> Block {
        Block { bytes: vec![0; bytes].into_boxed_slice(), filled: 0 }
    }

    pub(super) fn room(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    pub(super) fn fill(&mut self, filled: usize) {
        self.filled = filled;
    }

    pub(super) fn filled(&self) -> &[u8] {
        &self.bytes[..self.filled]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    Idle,
    Busy,
    Dead,
}

/// One file's way through the blocks.
#[derive(Debug)]
struct File {
    /// Its number among all outputs.
    output: usize,
    /// The number of the block that it gets next.
    next: u64,
    lane: Lane,
}

#[derive(Debug)]
struct State {
    blocks: VecDeque<Arc<Block>>,
    /// The number of the first block that waits.
    first: u64,
    files: Vec<File>,
    free: Vec<Block>,
    failures: Vec<(usize, CallError)>,
    ended: bool,
}

/// A block that is to be written to an output.
pub(super) struct Job {
    file: usize,
    /// The output's number among all.
    pub(super) output: usize,
    /// What is to be written.
    pub(super) block: Arc<Block>,
}

/// The blocks that wait, shared by all workers.
#[derive(Debug)]
pub(super) struct WriteQueue {
    state: Mutex<State>,
    changed: Condvar,
}

impl WriteQueue {
    /// Makes an empty write_queue for these outputs.
    pub(super) fn new(outputs: impl Iterator<Item = usize>) -> WriteQueue {
        let files = outputs.map(|output| File { output, next: 0, lane: Lane::Idle }).collect();
        WriteQueue {
            state: Mutex::new(State {
                blocks: VecDeque::new(),
                first: 0,
                files,
                free: Vec::new(),
                failures: Vec::new(),
                ended: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Returns a block that no file needs any more, if there is one.
    pub(super) fn used_block(&self) -> Option<Block> {
        self.state.lock().free.pop()
    }

    /// Hangs a block up for all files.
    pub(super) fn push(&self, block: Block) {
        let mut state = self.state.lock();
        if state.files.iter().all(|file| file.lane == Lane::Dead) {
            state.free.push(block);
            return;
        }
        state.blocks.push_back(Arc::new(block));
        drop(state);
        self.changed.notify_all();
    }

    /// Works until nothing waits.
    pub(super) fn drain(&self, write: &dyn Fn(&Job) -> Result<(), CallError>) {
        self.work_until(write, |state| state.blocks.is_empty());
    }

    /// Works until another block may be hung up.
    pub(super) fn make_room(&self, write: &dyn Fn(&Job) -> Result<(), CallError>) {
        self.work_until(write, |state| state.blocks.len() < DEPTH);
    }

    /// Works until there is nothing left to do and nothing more will come.
    pub(super) fn serve(&self, write: &dyn Fn(&Job) -> Result<(), CallError>) {
        self.work_until(write, |state| state.ended && state.blocks.is_empty());
    }

    /// Says that nothing more will come.
    pub(super) fn end(&self) {
        self.state.lock().ended = true;
        self.changed.notify_all();
    }

    /// Returns the failures since this was last asked.
    pub(super) fn take_failures(&self) -> Vec<(usize, CallError)> {
        std::mem::take(&mut self.state.lock().failures)
    }

    fn work_until(
        &self,
        write: &dyn Fn(&Job) -> Result<(), CallError>,
        done: impl Fn(&State) -> bool,
    ) {
        let mut state = self.state.lock();
        while !done(&state) {
            let Some(job) = state.take() else {
                state = self.changed.wait(state);
                continue;
            };
            drop(state);
            let answer = write(&job);
            let (file, output) = (job.file, job.output);
            // Given back first: the worker that has it last can use it again.
            drop(job);
            state = self.state.lock();
            state.give_back(file, output, answer.err());
            self.changed.notify_all();
        }
    }
}

impl State {
    /// Takes the next block of the idle file that is furthest behind.
    fn take(&mut self) -> Option<Job> {
        let end = self.first + self.blocks.len() as u64;
        let (index, file) = self
            .files
            .iter_mut()
            .enumerate()
            .filter(|(_, file)| file.lane == Lane::Idle && file.next < end)
            .min_by_key(|(_, file)| file.next)?;
        let at = usize::try_from(file.next - self.first).ok()?;
        let block = Arc::clone(self.blocks.get(at)?);
        file.lane = Lane::Busy;
        Some(Job { file: index, output: file.output, block })
    }

    fn give_back(&mut self, index: usize, output: usize, error: Option<CallError>) {
        let Some(file) = self.files.get_mut(index) else { return };
        if file.lane == Lane::Busy {
            file.lane = Lane::Idle;
        }
        file.next += 1;
        if let Some(error) = error {
            file.lane = Lane::Dead;
            self.failures.push((output, error));
        }
        let alive = self.files.iter().filter(|file| file.lane != Lane::Dead);
        let behind = alive.map(|file| file.next).min().unwrap_or(u64::MAX);
        while self.first < behind
            && let Some(block) = self.blocks.pop_front()
        {
            self.first += 1;
            // A worker whose file failed may still hold it; then it is dropped later.
            if let Ok(block) = Arc::try_unwrap(block) {
                self.free.push(block);
            }
        }
    }
}

/// The error of an output that was open and is no more.
pub(super) const GONE: Errno = Errno::PIPE;
