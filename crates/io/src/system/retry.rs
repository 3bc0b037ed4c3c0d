//! Repeating calls: the one module that makes an interrupted or refused call again.
//!
//! Three situations need a repetition, and each has one function. A signal interrupts a call that
//! moves bytes: [`again`] repeats it, at most `RETRIES` times in a row. A descriptor in non-blocking
//! mode is not ready (`EAGAIN`): [`when_ready`] waits with poll(2) and repeats. A call waits for a
//! person or a peer, or another party bounds the repetition: [`through_signals`] repeats it after
//! every signal. [`Retries`] is the same bound for requests that are answered later, by a queue.

use std::os::fd::AsFd;
use std::time::Duration;

use haul_sys::process::{Ready, wait_until};
use haul_sys::{Call, CallError, Errno, Result};

use crate::system::errno::{RETRIES, Verdict, verdict};
use crate::system::gentle;
use crate::system::kit::Watch;
use crate::system::stream_error::StreamError;

/// How often a thread that waits for a descriptor checks whether the run was stopped: no signal need
/// reach this thread.
pub(crate) const STOP_CHECK: Duration = Duration::from_millis(50);

/// The repetitions that are left of a bounded number in a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retries(u32);

impl Retries {
    /// Returns the full number.
    pub(crate) const fn new() -> Retries {
        Retries(RETRIES)
    }

    /// Returns whether the call that failed is to be made again, and counts that.
    pub(crate) fn allow(&mut self, error: CallError) -> bool {
        let allowed = self.0 > 0 && verdict(error.call, error.errno) == Verdict::Retry;
        self.0 -= u32::from(allowed);
        allowed
    }

    /// Starts to count anew, after a call that succeeded.
    pub(crate) fn reset(&mut self) {
        self.0 = RETRIES;
    }
}

/// Repeats a call as long as the errno table says so, at most `RETRIES` times.
pub fn again<T>(call: impl FnMut() -> Result<T>) -> Result<T> {
    again_while(|| true, call)
}

/// Repeats a call as [`again`] does, but only while `is_wanted` returns true.
pub(crate) fn again_while<T>(
    is_wanted: impl Fn() -> bool,
    mut call: impl FnMut() -> Result<T>,
) -> Result<T> {
    let mut retries = Retries::new();
    loop {
        match call() {
            Err(error) if is_wanted() && retries.allow(error) => {}
            answer => return answer,
        }
    }
}

/// Repeats a call as [`again`] does until the run is stopped: the signal that stops a run also
/// interrupts a call that would otherwise block for ever.
pub(crate) fn retrying<T>(watch: &Watch<'_>, call: impl FnMut() -> Result<T>) -> Result<T> {
    again_while(|| !watch.stopped(), call)
}

/// Repeats a request to a file as [`retrying`] does.
pub(crate) fn requesting(watch: &Watch<'_>, call: impl FnMut() -> Result<usize>) -> Result<usize> {
    gentle::request(|| retrying(watch, call))
}

/// Repeats a call after every signal, without a bound: for a call that waits (for a lease, a FIFO's
/// other end, a poll), where every signal interrupts once and is no fault.
pub fn through_signals<T>(mut call: impl FnMut() -> Result<T>) -> Result<T> {
    through_signals_while(&mut || Ok::<(), CallError>(()), &mut call).and_then(|answer| answer)
}

/// Repeats a call after every signal. Before each attempt `check` decides whether there is one; its
/// error ends the repetition.
pub(crate) fn through_signals_while<T, E>(
    check: &mut dyn FnMut() -> std::result::Result<(), E>,
    mut call: impl FnMut() -> Result<T>,
) -> std::result::Result<Result<T>, E> {
    loop {
        check()?;
        match call() {
            Err(error) if error.errno == Errno::INTR => {}
            answer => return Ok(answer),
        }
    }
}

/// Makes a call on a descriptor that may be in non-blocking mode, and waits with poll(2) whenever the
/// descriptor is not ready.
pub fn when_ready(
    fd: impl AsFd,
    ready: Ready,
    mut call: impl FnMut() -> Result<usize>,
) -> Result<usize> {
    loop {
        match gentle::in_order(&fd, || again(&mut call)) {
            Err(error) if error.errno == Errno::AGAIN => {
                gentle::elsewhere(|| through_signals(|| wait_until(&fd, ready, None)))?;
            }
            answer => return answer,
        }
    }
}

/// Makes a call as [`when_ready`] does, until `is_stopped` returns true.
pub(crate) fn when_ready_unless(
    is_stopped: impl Fn() -> bool,
    fd: impl AsFd,
    ready: Ready,
    mut call: impl FnMut() -> Result<usize>,
) -> std::result::Result<usize, StreamError> {
    loop {
        match gentle::in_order(&fd, || again_while(|| !is_stopped(), &mut call)) {
            Err(_) if is_stopped() => return Err(StreamError::Stopped),
            Err(error) if error.errno == Errno::AGAIN => {
                gentle::elsewhere(|| wait_briefly(&fd, ready))?;
            }
            answer => return answer.map_err(StreamError::Call),
        }
    }
}

/// Waits until a descriptor is ready, or a signal arrives, or [`STOP_CHECK`] has passed. The caller
/// repeats its call in every case.
pub(crate) fn wait_briefly(fd: impl AsFd, ready: Ready) -> std::result::Result<(), StreamError> {
    match wait_until(fd, ready, Some(STOP_CHECK)) {
        Err(error) if error.errno != Errno::INTR => {
            Err(StreamError::Call(CallError::new(Call::Poll, error.errno)))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn interrupted() -> CallError {
        CallError::new(Call::Pread, Errno::INTR)
    }

    #[test]
    fn an_interrupted_call_is_made_again_within_a_bound() {
        let after = |interruptions: u32, errno| {
            let mut calls = 0;
            let answer = again(|| {
                calls += 1;
                let errno = if calls <= interruptions { Errno::INTR } else { errno };
                Err::<(), _>(CallError::new(Call::Pread, errno))
            });
            (calls, answer.map_err(|error| error.errno))
        };
        assert_eq!(after(3, Errno::IO), (4, Err(Errno::IO)));
        assert_eq!(after(u32::MAX, Errno::IO), (RETRIES + 1, Err(Errno::INTR)));
    }

    #[test]
    fn a_stopped_run_does_not_repeat_a_call() {
        let calls = Cell::new(0);
        let answer = again_while(
            || calls.get() < 3,
            || {
                calls.set(calls.get() + 1);
                Err::<(), _>(interrupted())
            },
        );
        assert_eq!((calls.get(), answer), (3, Err(interrupted())));
    }

    #[test]
    fn the_bound_counts_failures_in_a_row() {
        let mut retries = Retries::new();
        for _ in 0..RETRIES {
            assert!(retries.allow(interrupted()));
        }
        assert!(!retries.allow(interrupted()));
        retries.reset();
        assert!(retries.allow(interrupted()));
        assert!(!retries.allow(CallError::new(Call::Pread, Errno::IO)));
    }

    #[test]
    fn a_check_ends_a_repetition_that_signals_would_not() {
        let mut checks = 0;
        let mut check = || {
            checks += 1;
            if checks > 2000 { Err("ended") } else { Ok(()) }
        };
        let answer = through_signals_while(&mut check, || Err::<(), _>(interrupted()));
        assert_eq!((answer, checks), (Err("ended"), 2001));
    }

    #[test]
    fn a_descriptor_that_is_not_ready_is_waited_for() {
        let (reader, _writer) = std::io::pipe().unwrap();
        let calls = Cell::new(0);
        let answer = when_ready_unless(
            || calls.get() == 2,
            &reader,
            Ready::ToRead,
            || {
                calls.set(calls.get() + 1);
                Err::<usize, _>(CallError::new(Call::Read, Errno::AGAIN))
            },
        );
        assert_eq!((calls.get(), answer), (2, Err(StreamError::Stopped)));
    }
}
