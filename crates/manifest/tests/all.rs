//! The integration tests of haul-manifest.
//!
//! A comparison that misses differences is worse than none, so most of these tests introduce
//! exactly one difference and expect exactly that one; the rest generate trees that must be equal
//! and expect none.

mod content;
mod deep;
mod differences;
mod errors;
mod generate;
mod links;
mod names;
mod properties;
mod recipes;
mod removal;
mod scan;
mod shared;
mod support;
