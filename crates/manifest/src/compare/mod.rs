//! Comparison of two live trees.
//!
//! `aspects` lists what can be compared, `difference` the possible differences, `summary` the
//! totals; `walk` merges the two trees, `attributes` and `content` compare one pair of entries,
//! `links` records which names share an inode, `stored` knows which differences a perfect copy has, too. `unit` and `share` let several processes do that
//! together.

mod aspects;
mod attributes;
mod beside_content;
mod content;
mod difference;
mod links;
mod options;
mod share;
mod stored;
mod summary;
mod unit;
mod walk;

pub use aspects::{Aspect, Aspects};
pub use difference::{Difference, Side, What};
pub use options::{CompareOptions, HolePolicy, Precision, RootAttributes};
pub use share::Share;
pub use summary::{Comparison, Finding, Summary, Verdict};
pub use unit::{Outside, PageCache, Unit, Work};
pub use walk::{compare, compare_for, compare_with};
