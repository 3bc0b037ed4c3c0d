//! Plots as SVG.
//!
//! Written by hand rather than with a plotting crate: the plots consist of points, boxes and lines,
//! and colours must come from style sheets so that one picture suits light and dark backgrounds,
//! inside the report and on its own. A crate that writes colours into each element cannot do that.

mod axis;
mod canvas;
mod cost;
mod distribution;
mod ratios;
mod scaling;
mod throughput;

pub use canvas::Place;
pub(super) use canvas::{RULES, escape, palette};
pub use cost::cost;
pub use distribution::distribution;
pub use ratios::ratios;
pub use scaling::{Point, Series, scaling, series_of};
pub use throughput::{pair, throughput};
