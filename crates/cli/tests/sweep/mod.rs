//! The sweep: every call of every command fails, or is the last that is made, and nothing is lost.
//!
//! A command is run once undisturbed, to learn its calls. Then it is run again for each of them:
//! the call fails, once or from then on, with each errno that is plausible, or the process is
//! killed before it, once with and once without the power being cut (`power.rs`). After each run the promises are checked (`verdict.rs`). `cargo xtask sweep`
//! runs this; in CI a bounded part of it is a test like any other.

mod case;
mod change;
mod faults;
mod power;
mod scene;
mod tests;
mod verdict;
