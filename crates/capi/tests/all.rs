//! Tests of libhaul by programs in C.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod documents;
mod interface;
mod layout;
mod program;
mod python;
mod support;
