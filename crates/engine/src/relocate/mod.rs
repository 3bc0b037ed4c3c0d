//! Moving: renamed where that is possible, else copied, made durable, and only then removed.
//!
//! A composition of the copy and the removal. What is its own: GNU mv's rules about names that are
//! taken, the hidden names under which copies wait until they are on stable storage, and the order
//! in which a file comes to be in its new place before it leaves the old one.

mod adapter;
mod adopt;
mod approval;
mod batch;
mod claim;
mod commit;
mod decide;
mod display;
mod durable;
mod monitor;
mod nesting;
pub(crate) mod note;
mod operand;
mod operation;
mod request;
mod run;
pub(crate) mod stage;
mod target;

pub use monitor::{Control, Counts, Event, Failure, Monitor, MoveFailure, Outcome, What};
pub use operation::relocate;
pub use request::{Across, Mode, Policy, Request, Unasked};
