//! Calls on rings: many requests in flight, driven by one thread.

mod ring;

pub use ring::{Completion, Operation, Ring, is_allowed};
