//! GNU coreutils' own tests, run against our binary.
//!
//! "Drop-in" means what scripts rely on, and GNU's suite is the best list of that there is. It is
//! neither ours nor part of this repository: the source comes from Debian, and the runner lies
//! beside the checkout. Where either cannot be had, that is said and not passed over.

mod cli;
mod expected;
mod results;
mod stage;
mod suite;
mod tree;

pub(crate) use cli::main;
pub(crate) use stage::stage;
pub(crate) use tree::programs;
