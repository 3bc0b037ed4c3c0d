//! Tests of copies and removals by several ranks: the manager alone, ranks that are threads, and ranks that MPI
//! starts.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

/// What the validator of schemas returns.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

mod copy;
mod hosts;
mod job;
mod job_compare;
mod job_end;
mod job_hosts;
mod job_resume;
mod manager;
mod model;
mod parts;
mod ranks;
mod remove;
mod resume;
#[expect(dead_code, reason = "other tests read lines of JSON, too")]
#[path = "../../cli/tests/support/schema.rs"]
mod schema;
mod status;
mod volumes;
