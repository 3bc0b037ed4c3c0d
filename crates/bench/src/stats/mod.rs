//! Statistics of few, skewed measurements: order statistics, resampling, ratios within a round.
//!
//! Times have a hard lower bound and a long tail, and there are rarely more than ten of them; so
//! nothing here assumes a normal distribution, and every interval comes from resampling.

mod bootstrap;
mod fences;
mod lead;
mod quantile;
mod ratio;

pub use bootstrap::{Interval, VALUES_MIN, interval};
pub use fences::{Fences, fences};
pub use lead::level_with;
pub use quantile::{median, quantile};
pub use ratio::{Ratio, paired_ratio};
