//! `cargo xtask test`: all checks that a change must pass.
//!
//! One command for developers and for CI: it names what it cannot run here, and its last line has the
//! counts.

mod environment;
mod mpi;
mod options;
mod run;
mod tally;
mod tools;

pub(crate) use run::main;
pub(crate) use tally::Tally;
pub(crate) use tools::install;
