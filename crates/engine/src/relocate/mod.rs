//! Moves files: renames where possible, otherwise copies, flushes, and only then removes.
//!
//! A move combines the copy and the removal. This module adds GNU mv's rules about existing
//! targets, the hidden names of copies that are not on stable storage yet, and the order of steps:
//! a file exists at its new place before the old one is removed.

mod adapter;
mod adopt;
mod approval;
mod batch;
mod claim;
mod commit;
mod control;
mod copy_place;
mod decide;
mod displace;
mod durable;
mod linked;
mod made_names;
mod mark;
mod nesting;
pub(crate) mod note;
mod operand;
mod operation;
mod request;
mod run;
pub(crate) mod stage;
pub mod stale;
mod target;
mod unfinished;
mod waiting;

pub use control::{Control, Counts};
pub use operation::relocate;
pub use request::{Across, Mode, Policy, Request, Unasked};
