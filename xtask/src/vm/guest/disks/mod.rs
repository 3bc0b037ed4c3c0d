//! Disks that fail: power cuts and errors while haul works, and what must be on the disk afterwards.
//!
//! The commands run in `/vm/cut`: `kept` is a folder that never fails, with the tree that is copied; `near` and `far`
//! are the folders on the disk that does.

mod bench;
mod check;
mod cuts;
mod failing;
mod halves;
mod law;
mod log;
mod mapper;

pub(super) use bench::Bench;
pub(super) use check::checks;
