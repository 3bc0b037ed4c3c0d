//! `--metrics FILE`: what a run has done, as a text file that Prometheus reads.
//!
//! The node exporter of Prometheus reads such files from a folder at moments of its own, so a file
//! appears complete or not at all. It is written when a run ends, failed and interrupted ones included;
//! a run that could not begin has zeros and one failure.

mod figures;
mod file;
mod text;

pub(crate) use figures::{Figures, Waits};
pub(crate) use file::{Metrics, Wanted};
