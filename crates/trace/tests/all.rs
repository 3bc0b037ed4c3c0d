//! The tests of haul-trace: one binary, one module for each topic.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test helpers may panic; clippy exempts only functions marked #[test]"
)]

mod attach;
mod counts;
mod endings;
mod files;
mod list;
mod load;
mod object;
mod render;
mod rings;
mod stacks;
mod support;
