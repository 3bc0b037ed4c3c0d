//! Tests of copies and removals by several ranks: the manager alone, ranks that are threads, and ranks that MPI
//! starts.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod copy;
mod job;
mod job_compare;
mod job_end;
mod job_resume;
mod manager;
mod model;
mod parts;
mod ranks;
mod remove;
mod resume;
mod volumes;
