//! The descriptors of the process, which calls at the same time share.
//!
//! A call gets a quarter of what no other call has, so that the first one is fast and many are possible; a quarter of all
//! is the program's. Where less is left than a call needs, it waits for the end of another one, but not for ever: that one
//! may wait for it, in a function of the program.
//!
//! The count is one atomic value with the number of the process, and no lock: a child of fork(2) has none of the calls, and a
//! lock might be held when it is made.

use std::sync::atomic::{AtomicU64, Ordering};

use haul_sys::process::nofile_limit;

/// Descriptors that a call needs: the engine works with 20.
const LEAST: u64 = 24;

/// The part of the rest that a call gets, and the part of all that stays for the program.
const PART: u64 = 4;

/// The number of the process in the upper half, and the descriptors that its calls have in the lower one.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// What a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Demand {
    /// A number that the caller has chosen.
    Number(u32),
    /// As much as others leave.
    Tree,
    /// What every call needs.
    Least,
}

/// Whether a call waits for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    Waits,
    HasWaited,
}

/// Descriptors of one call, until the value is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    pub(crate) descriptors: u64,
    counted: u64,
    process: u64,
}

impl Share {
    /// Returns the descriptors of a call, or `None` if it has to wait.
    pub(crate) fn take(demand: Demand, patience: Patience) -> Option<Share> {
        let (process, limit) = (u64::from(std::process::id()), nofile_limit());
        // The function is called again where another call was faster.
        let mut chosen = (0, 0);
        let taken = TAKEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |state| {
            let taken = of_process(state, process);
            let descriptors = choose(limit, taken, demand, patience)?;
            // Who asks for more than there is must not keep all others waiting.
            chosen = (descriptors, descriptors.min(limit / PART).min(MOST));
            Some(process << 32 | (taken + chosen.1).min(u64::from(u32::MAX)))
        });
        let (descriptors, counted) = chosen;
        taken.ok().map(|_| Share { descriptors, counted, process })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let back = |state| {
            let taken = of_process(state, self.process);
            Some(self.process << 32 | taken.saturating_sub(self.counted))
        };
        // It always has an answer.
        let _before = TAKEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, back);
    }
}

/// More than this is of no use to any call.
const MOST: u64 = 1 << 16;

/// Returns what calls of this process have. The count of the process that has made this one by fork(2) does not matter.
const fn of_process(state: u64, process: u64) -> u64 {
    if state >> 32 == process { state & 0xffff_ffff } else { 0 }
}

/// Returns the descriptors of a call if others have so many, or `None` if it has to wait.
fn choose(limit: u64, taken: u64, demand: Demand, patience: Patience) -> Option<u64> {
    let rest = (limit - limit / PART).saturating_sub(taken);
    let may_begin = rest >= LEAST || taken == 0 || patience == Patience::HasWaited;
    match demand {
        Demand::Number(number) => Some(number.into()),
        Demand::Tree => may_begin.then(|| (rest / PART).clamp(LEAST, MOST)),
        Demand::Least => may_begin.then_some(LEAST),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_calls_leave_a_quarter_to_the_program_and_the_next_one_waits() {
        let mut taken = 0;
        let mut calls = 0;
        while let Some(share) = choose(1024, taken, Demand::Tree, Patience::Waits) {
            taken += share;
            calls += 1;
        }
        assert!(taken <= 768 && calls >= 11, "{calls} calls have {taken}");
        assert_eq!(choose(1024, 0, Demand::Tree, Patience::Waits), Some(192));
        assert_eq!(choose(1024, taken, Demand::Tree, Patience::HasWaited), Some(LEAST));
        assert_eq!(choose(1024, taken, Demand::Number(500), Patience::Waits), Some(500));
        assert_eq!(choose(16, 0, Demand::Tree, Patience::Waits), Some(LEAST));
        assert_eq!(choose(16, LEAST, Demand::Tree, Patience::Waits), None);
        assert_eq!(choose(1024, 700, Demand::Least, Patience::Waits), Some(LEAST));
        assert_eq!(choose(1024, taken, Demand::Least, Patience::Waits), None);
    }

    #[test]
    fn what_calls_at_the_same_time_take_they_give_back() {
        let work = || {
            for _ in 0..10_000 {
                let patience = [Patience::Waits, Patience::HasWaited];
                let taken = patience.map(|patience| Share::take(Demand::Tree, patience));
                assert!(taken.iter().flatten().all(|share| share.descriptors >= LEAST));
            }
        };
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));
        let process = u64::from(std::process::id());
        assert_eq!(of_process(TAKEN.load(Ordering::Relaxed), process), 0);
        let all = Share::take(Demand::Number(u32::MAX), Patience::Waits).unwrap();
        assert_eq!(all.descriptors, u64::from(u32::MAX));
        assert!(Share::take(Demand::Least, Patience::Waits).is_some());
        // A child has the calls of no other process.
        assert_eq!((of_process(7 << 32 | 30, 7), of_process(7 << 32 | 30, 8)), (30, 0));
    }
}
