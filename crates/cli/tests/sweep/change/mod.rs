//! Concurrent change: a command is stopped after each of its calls in turn, somebody else changes the
//! source or the target, and the command goes on.
//!
//! Exit code 0 means that every name of the target has one of the states that the source had; and whatever
//! the exit code, nothing that was not copied is gone, and nothing outside was written or removed. The
//! command runs under the stepper (`support/stepper.rs`) with one worker, so each window is found without
//! knowing where it is, and without any dependence on time.

mod alter;
mod case;
mod run;
mod stage;
mod state;
mod tests;
mod verdict;
