//! `cargo xtask test`: all checks that a change must pass, in two shares.
//!
//! The first share takes minutes and covers every promise; `--rest` is what takes longer. Each test runs in
//! a process of its own, so that one that hangs or crashes is only itself, and its time is known. The last
//! line has the counts, where a test that could not run has not passed.

mod environment;
mod load;
mod mpi;
mod options;
mod process;
mod run;
mod schedule;
mod suite;

pub(crate) use run::main;
