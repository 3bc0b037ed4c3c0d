//! Comparison of a copy with its source, past the page cache where that is possible.

pub(crate) mod passage;
pub mod recheck;
pub(crate) mod unverified;
pub mod verification;
