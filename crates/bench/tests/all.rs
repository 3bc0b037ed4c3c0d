//! One binary for all tests of this crate.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking, helpers too")]

/// What the validator of schemas returns.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

mod comparison;
mod fresh;
mod live;
mod page;
mod profile;
mod samples;
mod scenarios;
mod schedule;
#[expect(dead_code, reason = "the command has lines of JSON, too")]
#[path = "../../cli/tests/support/schema.rs"]
mod schema;
mod stale;
mod statistics;
mod support;
mod table;
mod templates;
