//! Ordered streams: bytes in order at one end, many requests in flight at the other.
//!
//! A pipe, a hash, a line counter want the bytes of a file in order; storage wants many requests at
//! once. The [`Reader`] keeps them in flight and delivers in order.

mod block;
mod by_call;
mod by_ring;
mod by_threads;
mod queue;
mod reader;
mod source;
#[cfg(test)]
mod tests;
mod trouble;

pub use block::{Block, Pool};
pub use reader::Reader;
pub use source::{ReadPlan, Source};
pub use trouble::Trouble;

/// What nobody ever sets: for streams that are ended by the end of the process.
pub static NEVER: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
