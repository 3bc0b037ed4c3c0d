//! Locks for the threads of a run: those of the standard library, without poisoning; and an answer without a lock.
//!
//! A thread that panics while it holds a lock of the standard library poisons it, and each later user has
//! to say what that means. Here it means nothing: a panic ends the process (`panic = "abort"`), and in tests,
//! where it unwinds, the panic itself is the failure that is reported.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{self, PoisonError, TryLockError, WaitTimeoutResult};
use std::time::Duration;

pub use std::sync::MutexGuard;

/// A lock with a value, as [`std::sync::Mutex`].
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Makes a free lock.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(sync::Mutex::new(value))
    }

    /// Returns the value of a lock that no other thread can have.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Takes the lock. Blocks until no other thread has it; never ends if this thread has it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock, or returns `None` if a thread has it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Returns the value of a lock that no other thread can have.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An answer of the kernel that is found out once. No thread waits for another one, as with
/// [`OnceLock`](std::sync::OnceLock): a child of fork(2) would wait for ever if another thread found out meanwhile. Threads
/// that ask at the same time each find out, and the last one is right.
#[derive(Debug, Default)]
pub struct Answer(AtomicU8);

impl Answer {
    const NO: u8 = 1;
    const YES: u8 = 2;

    /// Makes an answer that is not known.
    #[must_use]
    pub const fn unknown() -> Answer {
        Answer(AtomicU8::new(0))
    }

    /// Returns the answer, `None` if it is not known.
    #[must_use]
    pub fn get(&self) -> Option<bool> {
        match self.0.load(Ordering::Relaxed) {
            Answer::NO => Some(false),
            Answer::YES => Some(true),
            _ => None,
        }
    }

    /// Returns the answer, and calls a function for it if it is not known.
    pub fn get_or_find(&self, find: impl FnOnce() -> bool) -> bool {
        self.get().unwrap_or_else(|| {
            let found = find();
            self.0.store(if found { Answer::YES } else { Answer::NO }, Ordering::Relaxed);
            found
        })
    }
}

/// A condition that threads wait for, as [`std::sync::Condvar`].
#[derive(Debug, Default)]
pub struct Condvar(sync::Condvar);

impl Condvar {
    /// Makes a condition without a thread that waits.
    #[must_use]
    pub const fn new() -> Condvar {
        Condvar(sync::Condvar::new())
    }

    /// Gives the lock up and waits for a notification, which may come without a cause. Blocks.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while the condition holds. Blocks.
    pub fn wait_while<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        self.0.wait_while(guard, condition).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a notification, but no longer than `most`. Blocks.
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        most: Duration,
    ) -> (MutexGuard<'a, T>, WaitTimeoutResult) {
        self.0.wait_timeout(guard, most).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while the condition holds, but no longer than `most`. Blocks.
    pub fn wait_timeout_while<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        most: Duration,
        condition: impl FnMut(&mut T) -> bool,
    ) -> (MutexGuard<'a, T>, WaitTimeoutResult) {
        self.0.wait_timeout_while(guard, most, condition).unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes one thread that waits.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all threads that wait.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_found_out_once() {
        for expected in [false, true] {
            let answer = Answer::unknown();
            assert_eq!(answer.get(), None);
            let mut asked = 0;
            for _ in 0..2 {
                let found = answer.get_or_find(|| {
                    asked += 1;
                    expected
                });
                assert_eq!(found, expected);
            }
            assert_eq!((asked, answer.get()), (1, Some(expected)));
        }
    }
}
