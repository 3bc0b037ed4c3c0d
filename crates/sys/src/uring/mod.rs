//! Calls on rings: many requests in flight, driven by one thread.

mod queue;
mod ring;

pub use queue::{Asked, Finished, Queue};
pub use ring::{Completion, Operation, Ring, is_allowed};
