//! The sweep: every call of every command fails, or is the last, and nothing is lost.
//!
//! A command runs once undisturbed, to list its calls. Then it runs again for each of them: the call fails,
//! once or from then on, with each plausible errno, or the process is killed before it, with and without a
//! power cut (`power.rs`). After each run `verdict.rs` checks the promises. `cargo xtask sweep` runs all of
//! this; in CI a bounded part of it is a test like any other.

mod case;
mod change;
mod faults;
mod power;
mod replace;
mod scene;
mod tar;
mod tests;
mod verdict;

pub(crate) use faults::Extent;
