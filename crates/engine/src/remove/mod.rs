//! Removing trees: who may be removed, in which order, by whom, and how fast.
//!
//! A remover has no target, so it has nodes, descriptors and readers of its own, in the manner of
//! the copy's: a pool that grows only while there is work, a counted parent chain instead of
//! barriers, everything relative to directory descriptors that have to be what they were.

mod context;
mod delete_profile;
mod directory;
mod display;
mod entry;
mod finish;
mod gentle;
mod guards;
mod inside;
mod monitor;
mod node;
mod operand;
mod operation;
mod pace;
mod prompt;
mod request;
mod run;
mod worker;

pub use monitor::{Candidate, Failure, Monitor, PromptReason, Question, Removed, What};
pub use operation::remove;
pub use request::{
    Approval, Ask, EmptyDirectories, Guard, Missing, Mode, Pace, Policy, Protection, Request,
    Strategy,
};
