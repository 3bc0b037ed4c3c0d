//! Whether the run that a thread works for is asked to end.
//!
//! A program hears of it by a signal ([`stop_signal`]). A library must not: several runs of one process end one by one,
//! each by a flag of its own. A call that waits for minutes, deep below the run, asks here.

use std::cell::Cell;

use super::stop_signal;

type Question<'a> = dyn Fn() -> bool + 'a;

thread_local! {
    static QUESTION: Cell<Option<*const Question<'static>>> = const { Cell::new(None) };
}

/// Puts the question of before back, also if the work panics.
struct Before(Option<*const Question<'static>>);

impl Drop for Before {
    fn drop(&mut self) {
        QUESTION.set(self.0);
    }
}

/// Does work for a run that is asked to end when `is_stopped` says so. It is called in this thread.
pub fn work_until<T>(is_stopped: &Question<'_>, work: impl FnOnce() -> T) -> T {
    let question: *const Question<'_> = is_stopped;
    // SAFETY: only the lifetime changes. The pointer is used by this thread alone, and `Before` removes it before the
    // borrow ends.
    let question: *const Question<'static> = unsafe { std::mem::transmute(question) };
    let _before = Before(QUESTION.replace(Some(question)));
    work()
}

/// Returns whether a signal or the run of this thread asks to end.
#[must_use]
pub fn is_asked_to_stop() -> bool {
    stop_signal().is_some()
        || QUESTION.get().is_some_and(|question| {
            // SAFETY: `work_until` has not returned, so the closure lives.
            unsafe { (*question)() }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_run_of_the_thread_is_asked_while_it_works() {
        let asked = Cell::new(0);
        let answers = |answer| {
            let asked = &asked;
            move || {
                asked.set(asked.get() + 1);
                answer
            }
        };
        assert!(!is_asked_to_stop());
        work_until(&answers(true), || {
            assert!(is_asked_to_stop());
            work_until(&answers(false), || assert!(!is_asked_to_stop()));
            assert!(is_asked_to_stop());
            std::thread::spawn(|| assert!(!is_asked_to_stop())).join().unwrap();
        });
        assert!(!is_asked_to_stop());
        assert_eq!(asked.get(), 3);
    }
}
