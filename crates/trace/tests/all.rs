//! The tests of haul-trace: one binary, a module for each question.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail as tests do; clippy exempts only functions marked #[test]"
)]

mod attach;
mod counts;
mod endings;
mod files;
mod load;
mod object;
mod render;
mod rings;
mod setting;
