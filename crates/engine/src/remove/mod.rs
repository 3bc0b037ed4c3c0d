//! Removes trees: guards, order, workers and pace.
//!
//! A removal has no target, so it has its own nodes, descriptors and readers. They follow those of
//! the copy: a pool that grows only while there is work, a counted parent chain instead of
//! barriers, and operations relative to directory descriptors whose identity is verified.

mod context;
mod delete_profile;
mod directory;
mod entry;
mod finish;
mod gentle;
mod guards;
mod inside;
mod node;
mod operand;
mod operation;
mod pace;
mod prompt;
mod request;
mod run;
mod worker;

pub use operation::remove;
pub use request::{
    Approval, Ask, EmptyDirectories, Guard, Missing, Mode, Pace, Policy, Request, Strategy,
};
