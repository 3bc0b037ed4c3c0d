//! The integration tests of haul-faultfs, on which tests of other crates rely.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints what it could not test"
)]

mod faults;
mod pass;
mod slow;
mod support;
