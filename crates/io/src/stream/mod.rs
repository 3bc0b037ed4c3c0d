//! Ordered streams: bytes in order at one end, many requests in flight at the other.
//!
//! A pipe, a hash, a line counter want the bytes of a file in order; storage wants many requests at
//! once. The [`Reader`] keeps them in flight and delivers in
//! order; the [`Writer`] takes bytes in order and keeps requests in flight to one file or several.

mod block;
mod by_call;
mod by_ring;
mod by_threads;
mod direct_splice;
mod fill;
mod in_kernel_copy;
mod in_order;
mod queue;
mod reader;
mod slot;
mod source;
mod target;
#[cfg(test)]
mod tests;
mod watermark_queue;
mod writer;

pub use crate::system::stream_error::StreamError;
pub use block::{Block, Pool};
pub use direct_splice::Watch;
pub use fill::{fill, fill_while};
pub use in_kernel_copy::{PIPE_BYTES, PassError, Passing, PipePages, Side, pass};
pub use in_order::write_all;
pub use reader::Reader;
pub use source::{ReadPlan, Source};
pub use target::{End, Place, Target, Zeros};
pub use watermark_queue::{Marks, WatermarkQueue};
pub use writer::{Outcome, WritePlan, Writer};

pub use crate::file::atomic_file::{AtomicFile, Durable};
pub use crate::file::publish::Onto;

/// A flag that is never set: for streams that are ended by the end of the process.
pub static NEVER: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
