//! Tests of the crate as other programs use it.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod examples;
mod interface;
mod several;
