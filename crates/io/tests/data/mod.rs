//! The data path: every method on every file system, with every size that was ever copied wrongly.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it could not try"
)]

mod changing;
mod equality;
mod faults;
mod random;
mod residency;
mod support;
