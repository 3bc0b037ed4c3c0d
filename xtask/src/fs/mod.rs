//! The file systems that tests run on: their table, mounting and unmounting.
//!
//! Many of haul's decisions depend on the file system, and most machines have only one. So each of
//! the table is made in an image file and mounted; `HAUL_TEST_FS` tells the tests where.

mod cli;
mod loops;
mod mounts;
mod namespace;
mod place;
mod table;

pub(crate) use cli::main;
pub(crate) use mounts::{Mounts, Until, cover, env_value};
pub(crate) use namespace::enter_private;
pub(crate) use place::Place;
