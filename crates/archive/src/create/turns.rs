//! Which thread does what: all threads of a creation walk, describe and write, whatever is needed most.
//!
//! A thread writes the next batch of members if it has been described, else walks if few names are known,
//! else describes a batch. So as many threads as processors keep all of them busy, and a thread waits only
//! if there is nothing that it could do. One thread walks and one writes at a time, and batches are written
//! in the order in which they were found.

use haul_sys::sync::{Condvar, Mutex};
use std::collections::{BTreeMap, VecDeque};

/// What a thread does next.
pub(super) enum Turn<I, O> {
    /// It finds names, and then calls [`Turns::walked`].
    Walk,
    /// It describes the batch of this number, and then calls [`Turns::finish`].
    Describe(u64, I),
    /// It writes a batch, and then calls [`Turns::written`].
    Write(O),
}

struct State<I, O> {
    waiting: VecDeque<(u64, I)>,
    /// Batches that may be written, and the bytes of files that they hold.
    done: BTreeMap<u64, (O, u64)>,
    /// Numbers of the next batch to be found and to be written.
    next_in: u64,
    next_out: u64,
    /// Directories that the names of each known batch keep open, and the sum of them.
    directories: VecDeque<u64>,
    open: u64,
    /// Bytes of files in memory, as told by [`Turns::hold`]; those and the directories of the batch that is
    /// written.
    held: u64,
    written: (u64, u64),
    walks: bool,
    writes: bool,
    has_walked: bool,
    is_stopped: bool,
    /// Threads that wait for a turn and for memory.
    idle: usize,
    holding: usize,
}

impl<I, O> State<I, O> {
    const fn length(&self) -> u64 {
        self.next_in - self.next_out
    }

    const fn is_over(&self) -> bool {
        self.is_stopped || (self.has_walked && self.length() == 0 && !self.writes)
    }
}

/// How much is known and in memory at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Batches that are known at most.
    pub(super) batches: u64,
    /// Directories that they keep open, beyond which no batch is added.
    pub(super) directories: u64,
    /// Bytes of files in memory, beyond which only the batch that is written next gets more.
    pub(super) bytes: u64,
}

/// The turns of all threads of one creation.
pub(super) struct Turns<I, O> {
    threads: usize,
    bounds: Bounds,
    state: Mutex<State<I, O>>,
    turn: Condvar,
    room: Condvar,
}

impl<I, O> Turns<I, O> {
    /// Makes turns for so many threads.
    pub(super) fn new(threads: usize, bounds: Bounds) -> Turns<I, O> {
        let state = State {
            waiting: VecDeque::new(),
            done: BTreeMap::new(),
            next_in: 0,
            next_out: 0,
            directories: VecDeque::new(),
            open: 0,
            held: 0,
            written: (0, 0),
            walks: false,
            writes: false,
            has_walked: false,
            is_stopped: false,
            idle: 0,
            holding: 0,
        };
        Turns {
            threads,
            bounds,
            state: Mutex::new(state),
            turn: Condvar::new(),
            room: Condvar::new(),
        }
    }

    /// Returns what the calling thread does next, or `None` after everything was written, or after a stop.
    /// Blocks.
    pub(super) fn next(&self) -> Option<Turn<I, O>> {
        let mut state = self.state.lock();
        loop {
            if state.is_over() {
                return None;
            }
            let number = state.next_out;
            if !state.writes
                && let Some((batch, bytes)) = state.done.remove(&number)
            {
                state.writes = true;
                state.next_out += 1;
                state.written = (bytes, state.directories.pop_front().unwrap_or(0));
                // Half the room at a time, so that idle threads are not woken for each batch.
                let may_walk = !state.walks && !state.has_walked;
                if state.idle > 0 && may_walk && state.length() <= self.bounds.batches / 2 {
                    self.turn.notify_one();
                }
                self.wake_holding(&state);
                return Some(Turn::Write(batch));
            }
            let may_walk = !state.walks && !state.has_walked && self.has_room(&state);
            if may_walk && state.waiting.len() < self.threads {
                state.walks = true;
                return Some(Turn::Walk);
            }
            if let Some((number, batch)) = state.waiting.pop_front() {
                return Some(Turn::Describe(number, batch));
            }
            state.idle += 1;
            state = self.turn.wait(state);
            state.idle -= 1;
        }
    }

    fn has_room(&self, state: &State<I, O>) -> bool {
        // One batch at least, whatever it is.
        state.length() == 0
            || (state.length() < self.bounds.batches && state.open < self.bounds.directories)
    }

    fn wake_holding(&self, state: &State<I, O>) {
        if state.holding > 0 {
            self.room.notify_all();
        }
    }

    /// Returns whether a thread has nothing to do.
    pub(super) fn is_starved(&self) -> bool {
        self.state.lock().idle > 0
    }

    /// Adds a batch of names, which keep so many directories open. Returns whether there is room for another
    /// one. Called by the thread that walks.
    pub(super) fn add(&self, batch: I, directories: u64) -> bool {
        let mut state = self.state.lock();
        let number = state.next_in;
        state.next_in += 1;
        state.waiting.push_back((number, batch));
        state.directories.push_back(directories);
        state.open += directories;
        let has_room = !state.is_stopped && self.has_room(&state);
        let wakes = state.idle > 0;
        drop(state);
        if wakes {
            self.turn.notify_one();
        }
        has_room
    }

    /// Ends the turn of the thread that walks. `is_last` says that no more names come.
    pub(super) fn walked(&self, is_last: bool) {
        let mut state = self.state.lock();
        state.walks = false;
        state.has_walked |= is_last;
        if state.is_over() {
            self.turn.notify_all();
        }
    }

    /// Takes note that a batch that is being described holds so many more bytes of files. Blocks while there
    /// are too many, unless the batch is the one that is written next.
    pub(super) fn hold(&self, number: u64, bytes: u64) {
        let mut state = self.state.lock();
        state.held += bytes;
        while state.held > self.bounds.bytes && number != state.next_out && !state.is_stopped {
            state.holding += 1;
            state = self.room.wait(state);
            state.holding -= 1;
        }
    }

    /// Says that a batch is described. `bytes` is the sum of what [`Turns::hold`] was told for it.
    pub(super) fn finish(&self, number: u64, batch: O, bytes: u64) {
        // The calling thread writes it, if it is the next one and no other thread does: it needs no wake.
        self.state.lock().done.insert(number, (batch, bytes));
    }

    /// Ends the turn of the thread that writes.
    pub(super) fn written(&self) {
        let mut state = self.state.lock();
        state.writes = false;
        let (bytes, directories) = std::mem::take(&mut state.written);
        state.held -= bytes;
        state.open -= directories;
        self.wake_holding(&state);
        if state.is_over() {
            self.turn.notify_all();
        }
    }

    /// Ends all turns. Batches that were not written are dropped.
    pub(super) fn stop(&self) {
        self.state.lock().is_stopped = true;
        self.turn.notify_all();
        self.room.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEW: Bounds = Bounds { batches: 4, directories: 4, bytes: 10 };

    /// Runs all numbers below `count` through the turns; returns what was written.
    fn run(turns: &Turns<Vec<u64>, Vec<u64>>, threads: usize, count: u64) -> Vec<u64> {
        let (source, target) = (Mutex::new(0..count), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some(turn) = turns.next() {
                        match turn {
                            Turn::Walk => {
                                let mut source = source.try_lock().expect("one thread walks");
                                let is_last = loop {
                                    let batch: Vec<u64> = source.by_ref().take(3).collect();
                                    if batch.is_empty() {
                                        break true;
                                    }
                                    if !turns.add(batch, 2) {
                                        break false;
                                    }
                                };
                                drop(source);
                                turns.walked(is_last);
                            }
                            Turn::Describe(number, batch) => {
                                turns.hold(number, 5);
                                turns.hold(number, 5);
                                turns.finish(number, batch, 10);
                            }
                            Turn::Write(batch) => {
                                target.try_lock().expect("one thread writes").extend(batch);
                                turns.written();
                            }
                        }
                    }
                });
            }
        });
        target.into_inner()
    }

    #[test]
    fn everything_is_written_in_order() {
        let limits = [0, 1, 2, 25, 64, u64::MAX];
        for threads in [1, 2, 3, 8] {
            for (at, batches) in limits.into_iter().enumerate() {
                for shift in 0..limits.len() {
                    let of = |more: usize| limits[(at + shift * more) % limits.len()];
                    let bounds = Bounds { batches, directories: of(1), bytes: of(2) };
                    let turns = Turns::new(threads, bounds);
                    let written = run(&turns, threads, 300);
                    assert!(written.iter().copied().eq(0..300), "{threads} {bounds:?}");
                    let state = turns.state.lock();
                    assert_eq!((state.held, state.open), (0, 0), "{threads} {bounds:?}");
                }
            }
        }
    }

    #[test]
    fn no_names_are_no_turns() {
        assert_eq!(run(&Turns::new(2, FEW), 2, 0), []);
    }

    #[test]
    fn a_stop_ends_the_wait_for_memory() {
        let turns: Turns<(), ()> = Turns::new(2, FEW);
        assert!(matches!(turns.next(), Some(Turn::Walk)));
        assert!(turns.add((), 1) && turns.add((), 1));
        std::thread::scope(|scope| {
            // The second batch waits for the first one to be written, which never happens.
            scope.spawn(|| turns.hold(1, 11));
            scope.spawn(|| turns.stop());
        });
        assert!(turns.next().is_none());
    }
}
