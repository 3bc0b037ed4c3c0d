//! Removes trees: guards, order, workers and pace.
//!
//! A removal is an operation of `haul-tree`, as the copy is. It has one side only, so it has
//! directories of its own ([`node`]); the walk, the pool and the open directories are shared.

mod among;
mod approved;
pub(crate) mod aside;
pub(crate) mod below;
mod context;
mod delete_profile;
mod directory;
mod entry;
mod finish;
mod gentle;
mod guards;
mod inside;
pub(crate) mod limit;
mod node;
mod operand;
mod operation;
mod pace;
mod prompt;
mod request;
mod run;
mod worker;

pub use operation::{remove, remove_among};
pub use request::{
    Approval, Ask, EmptyDirectories, Guard, Missing, Mode, MountPoints, Pace, Policy, Request,
    Strategy,
};
