//! One binary for all tests of this crate.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests fail by panicking, helpers too, and say on stderr what they could not test"
)]

mod comparison;
mod fresh;
mod leftovers;
mod live;
mod page;
mod profile;
mod samples;
mod scenarios;
mod schedule;
mod statistics;
mod support;
mod table;
mod templates;
