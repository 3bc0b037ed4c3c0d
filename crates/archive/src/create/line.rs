//! An ordered line of work: names go in, workers describe them in any order, and they come out in the
//! order in which they went in. Both the number of names and the bytes in memory are bounded.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Number of names on the line: enough for workers to be ahead of a writer that waits for storage.
const NAMES_MAX: usize = 64;

struct State<I, O> {
    waiting: VecDeque<(u64, I)>,
    done: BTreeMap<u64, O>,
    /// Numbers of the next name to go in and to come out.
    next_in: u64,
    next_out: u64,
    is_closed: bool,
}

/// An ordered line of work.
pub(super) struct Line<I, O> {
    state: Mutex<State<I, O>>,
    changed: Condvar,
}

impl<I, O> Line<I, O> {
    pub(super) fn new() -> Line<I, O> {
        Line {
            state: Mutex::new(State {
                waiting: VecDeque::new(),
                done: BTreeMap::new(),
                next_in: 0,
                next_out: 0,
                is_closed: false,
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<I, O>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds work. Blocks while the line is full. Returns `false` if the line was closed.
    pub(super) fn put(&self, item: I) -> bool {
        let mut state = self.lock();
        while !state.is_closed && state.next_in - state.next_out >= NAMES_MAX as u64 {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_closed {
            return false;
        }
        let number = state.next_in;
        state.next_in += 1;
        state.waiting.push_back((number, item));
        drop(state);
        self.changed.notify_all();
        true
    }

    /// Returns work for a worker, or `None` when no more comes. Blocks.
    pub(super) fn take(&self) -> Option<(u64, I)> {
        let mut state = self.lock();
        loop {
            if let Some(item) = state.waiting.pop_front() {
                return Some(item);
            }
            if state.is_closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Puts the result of work on the line.
    pub(super) fn finish(&self, number: u64, result: O) {
        self.lock().done.insert(number, result);
        self.changed.notify_all();
    }

    /// Returns the next result in order, or `None` after the last one. Blocks.
    pub(super) fn next(&self) -> Option<O> {
        let mut state = self.lock();
        loop {
            let number = state.next_out;
            if let Some(result) = state.done.remove(&number) {
                state.next_out += 1;
                drop(state);
                self.changed.notify_all();
                return Some(result);
            }
            if state.is_closed && number == state.next_in {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Says that no more work comes. What is on the line is still done.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// Drops all work that no worker has taken, and ends the line.
    pub(super) fn abandon(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.waiting.clear();
        drop(state);
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_work() {
        let line: Line<u64, u64> = Line::new();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while let Some((number, item)) = line.take() {
                        line.finish(number, item * 2);
                    }
                });
            }
            scope.spawn(|| {
                for item in 0..1000 {
                    assert!(line.put(item));
                }
                line.close();
            });
            for item in 0..1000 {
                assert_eq!(line.next(), Some(item * 2));
            }
            assert_eq!(line.next(), None);
            assert!(!line.put(1));
        });
    }
}
