//! `cargo xtask test`: everything that has to be so before a change goes in.
//!
//! One command for people and for CI: what it cannot run here it names, and its last line counts.

mod environment;
mod options;
mod run;
mod tally;
mod tools;

pub(crate) use run::main;
pub(crate) use tally::Tally;
pub(crate) use tools::install;
