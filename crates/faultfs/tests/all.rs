//! The one integration binary of haul-faultfs: what the tests of others rely on.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it could not try"
)]

mod faults;
mod pass;
mod slow;
mod support;
