//! An ordered line of work: items go in, workers do them at any time, and their results come out in the
//! order in which the items went in. The number of items on the line is bounded.
//!
//! A thread is woken only if it waits, for a wake costs a call even if no thread hears it.

use haul_sys::sync::{Condvar, Mutex};
use std::collections::{BTreeMap, VecDeque};

struct State<I, O> {
    waiting: VecDeque<(u64, I)>,
    done: BTreeMap<u64, O>,
    /// Numbers of the next item to go in and to come out.
    next_in: u64,
    next_out: u64,
    is_closed: bool,
    /// Threads that wait for room, for work and for the next result.
    waits_for_room: bool,
    idle_workers: usize,
    waits_for_result: bool,
}

impl<I, O> State<I, O> {
    const fn length(&self) -> u64 {
        self.next_in - self.next_out
    }
}

/// An ordered line of work, with one thread that puts items and one that takes results.
pub(super) struct Line<I, O> {
    /// Number of items on the line at most.
    most: u64,
    state: Mutex<State<I, O>>,
    room: Condvar,
    work: Condvar,
    result: Condvar,
}

impl<I, O> Line<I, O> {
    /// Makes a line for so many items.
    pub(super) fn new(most: u64) -> Line<I, O> {
        Line {
            most: most.max(1),
            state: Mutex::new(State {
                waiting: VecDeque::new(),
                done: BTreeMap::new(),
                next_in: 0,
                next_out: 0,
                is_closed: false,
                waits_for_room: false,
                idle_workers: 0,
                waits_for_result: false,
            }),
            room: Condvar::new(),
            work: Condvar::new(),
            result: Condvar::new(),
        }
    }

    /// Adds an item. Blocks while the line is full. Returns `false` if the line was closed.
    pub(super) fn put(&self, item: I) -> bool {
        let mut state = self.state.lock();
        while !state.is_closed && state.length() >= self.most {
            state.waits_for_room = true;
            state = self.room.wait(state);
        }
        if state.is_closed {
            return false;
        }
        let number = state.next_in;
        state.next_in += 1;
        state.waiting.push_back((number, item));
        let wakes = state.idle_workers > 0;
        drop(state);
        if wakes {
            self.work.notify_one();
        }
        true
    }

    /// Returns whether adding an item would block.
    pub(super) fn is_full(&self) -> bool {
        self.state.lock().length() >= self.most
    }

    /// Returns an item for a worker, or `None` when no more comes. Blocks.
    pub(super) fn take(&self) -> Option<(u64, I)> {
        let mut state = self.state.lock();
        loop {
            if let Some(item) = state.waiting.pop_front() {
                return Some(item);
            }
            if state.is_closed {
                return None;
            }
            state.idle_workers += 1;
            state = self.work.wait(state);
            state.idle_workers -= 1;
        }
    }

    /// Puts the result of an item on the line.
    pub(super) fn finish(&self, number: u64, result: O) {
        let mut state = self.state.lock();
        state.done.insert(number, result);
        let wakes = state.waits_for_result && number == state.next_out;
        drop(state);
        if wakes {
            self.result.notify_one();
        }
    }

    /// Returns the next result in order, or `None` after the last one. Blocks.
    pub(super) fn next(&self) -> Option<O> {
        let mut state = self.state.lock();
        loop {
            if let Some(result) = self.pop(&mut state) {
                return Some(result);
            }
            if state.is_closed && state.length() == 0 {
                return None;
            }
            state.waits_for_result = true;
            state = self.result.wait(state);
            state.waits_for_result = false;
        }
    }

    /// Returns the next result in order, if there is one.
    pub(super) fn try_next(&self) -> Option<O> {
        self.pop(&mut self.state.lock())
    }

    fn pop(&self, state: &mut State<I, O>) -> Option<O> {
        let number = state.next_out;
        let result = state.done.remove(&number)?;
        state.next_out += 1;
        // Half a line at a time, so that the thread that puts items is not woken for each.
        if state.waits_for_room && state.length() <= self.most / 2 {
            state.waits_for_room = false;
            self.room.notify_one();
        }
        Some(result)
    }

    /// Says that no more items come. What is on the line is still done.
    pub(super) fn close(&self) {
        self.state.lock().is_closed = true;
        self.notify_all();
    }

    /// Drops all items that no worker has taken, and ends the line.
    pub(super) fn abandon(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        state.waiting.clear();
        drop(state);
        self.notify_all();
    }

    fn notify_all(&self) {
        self.room.notify_all();
        self.work.notify_all();
        self.result.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_work() {
        for most in [1, 2, 3, 64] {
            let line: Line<u64, u64> = Line::new(most);
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

    #[test]
    fn one_thread_may_put_and_take_as_long_as_there_is_room() {
        let line: Line<u64, u64> = Line::new(2);
        assert!(line.put(1) && line.put(2));
        assert!(line.is_full() && line.try_next().is_none());
        for _ in 0..2 {
            let (number, item) = line.take().unwrap();
            line.finish(number, item);
        }
        assert_eq!((line.try_next(), line.try_next(), line.try_next()), (Some(1), Some(2), None));
    }
}
