//! The own tests of GNU coreutils, gzip and tar, run against haul's binary.
//!
//! Scripts rely on the behaviour of GNU's tools, and GNU's suite is the best description of that. Its
//! source is not part of this repository: apt fetches it from Debian. The runner is, in `xtask/gnu`. If
//! the suite cannot run, the count of tests includes it as ignored, with the reason.

mod cli;
mod expected;
mod gzip;
mod results;
mod stage;
mod suite;
mod tar;
mod tar_scope;
mod tree;

pub(crate) use cli::main;
pub(crate) use stage::stage;
pub(crate) use tree::{present, programs, provide_tar};
