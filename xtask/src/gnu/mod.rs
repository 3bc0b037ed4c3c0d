//! GNU coreutils' own tests, run against our binary.
//!
//! "Drop-in" means what scripts rely on, and GNU's suite is the best list of that. Its source is not
//! part of this repository: apt fetches it from Debian. The runner is, in `xtask/gnu`. Where the suite
//! cannot run, the count of tests includes it as ignored, with the reason.

mod cli;
mod expected;
mod results;
mod stage;
mod suite;
mod tree;

pub(crate) use cli::main;
pub(crate) use stage::stage;
pub(crate) use tree::programs;
