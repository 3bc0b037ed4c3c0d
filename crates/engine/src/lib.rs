//! Trees: what is asked, what is there, what is to be done, and doing it.
//!
//! Data in ([`request`]), data out ([`monitor::Counts`], [`error::Failure`]); nothing here prints,
//! reads the environment or ends the process. Data modules import only data, deciding modules are
//! pure, acting modules do not decide, and [`copy`] composes them.

mod apply;
pub mod cached;
pub mod census;
mod context;
mod copied_entries;
mod copy;
mod decide;
mod durable_names;
mod entry;
pub mod error;
mod facts;
mod finish;
mod journal;
#[cfg(test)]
mod literals;
mod metadata;
pub mod monitor;
mod plan;
pub mod preflight;
pub mod rehearse;
pub mod relocate;
pub mod remove;
pub mod request;
mod run;
mod schedule;
pub mod stale;
mod timestamp_precision;
mod walk;
mod worker;

pub use copy::{copy, copy_again};
