//! Concurrent change: the test stops a command after each of its calls in turn, changes the source or the
//! target, and resumes the command.
//!
//! Exit code 0 means that every name of the target has one of the states that the source had; with any
//! exit code, everything that was not copied still exists, and nothing outside was written or removed. The
//! command runs under the stepper (`support/stepper.rs`) with one worker, so the test finds each race window
//! without knowing where it is, and without any dependence on time.

mod alter;
mod case;
mod run;
mod stage;
mod state;
mod tests;
mod verdict;
