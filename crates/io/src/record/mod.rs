//! A stream as `dd` has it: record after record, each read by itself, counted, and written.
//!
//! Elsewhere in this crate blocks are as large as serves the storage, and no user sees them. Here they
//! are what a person asked for: a short read is a record, a record may be padded or cut into others,
//! and how many of each there were is reported at the end. So one [`Run`] takes them in order. What
//! has no visible effect is done at the same time: reading one ahead of writing, and, from file to file,
//! the whole by several workers. Words, names and signals are the caller's, a [`Monitor`].

mod ahead;
mod bulk;
mod convert;
mod monitor;
mod order;
mod place;
mod put;
mod run;
mod side;
mod take;

pub use monitor::{Counts, End, Flow, Monitor, Quit, RecordError};
pub use order::{Amount, Conv, LARGEST, Order, Owner};
pub use run::Run;
pub use side::{Rest, Side};
