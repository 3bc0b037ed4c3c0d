//! Comparison of two live trees.
//!
//! `aspects` lists what can be compared, `difference` the possible differences, `summary` the
//! totals; `walk` merges the two trees, `attributes` and `content` compare one pair of entries,
//! `links` records which names share an inode.

mod aspects;
mod attributes;
mod content;
mod difference;
mod links;
mod options;
mod summary;
mod walk;

pub use aspects::{Aspect, Aspects};
pub use difference::{Difference, Side, What};
pub use options::{CompareOptions, HolePolicy, RootAttributes};
pub use summary::{Comparison, Finding, Summary, Verdict};
pub use walk::{compare, compare_with};
