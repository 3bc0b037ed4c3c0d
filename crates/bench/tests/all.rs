//! One binary for all tests of this crate.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking, helpers too")]

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
