//! Plots as SVG.
//!
//! Written by hand rather than with a plotting crate: what is drawn are points, boxes and lines, and
//! colours have to come from style sheets so that one picture is right on light and on dark paper,
//! inside the report and on its own. A crate that writes colours into each element cannot do that.

mod axis;
mod canvas;
mod cost;
mod distribution;
mod ratios;
mod scaling;
mod throughput;

pub use canvas::Place;
pub(super) use canvas::{PALETTE, RULES, escape};
pub use cost::cost;
pub use distribution::distribution;
pub use ratios::ratios;
pub use scaling::{Point, Series, scaling, series_of};
pub use throughput::{pair, throughput};
