//! Tests of the walk with a toy operation that counts, removes, fails, stops or panics.

mod depth;
mod failures;
mod support;
mod width;
