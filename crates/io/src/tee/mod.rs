//! One stream of bytes to several descriptors, as `tee` has it.
//!
//! What is read once is written to all outputs from the same buffer. `tee(2)` and `splice` would save
//! a copy between pipes, but pages that were spliced from a file show what the file holds when
//! they are *read*: two outputs of one stream could then differ, and a sum that was taken from one
//! would not be that of the other. That all outputs are the same is what people use it for.

mod copy;
mod write_queue;

pub use copy::{Ended, Failed, Tee, Then};
