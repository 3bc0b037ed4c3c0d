//! The file systems that tests run on: what they are, mounted and unmounted again.
//!
//! Much of what haul decides depends on the file system, and a machine has mostly one. So each of
//! the table's is made in an image file and mounted; `HAUL_TEST_FS` tells the tests where.

mod cli;
mod loops;
mod mounts;
mod namespace;
mod place;
mod table;

pub(crate) use cli::main;
pub(crate) use mounts::{Mounts, Until, env_value};
pub(crate) use namespace::enter_private;
pub(crate) use place::Place;
