//! Two live trees, judged against each other.
//!
//! `aspects` says what may be judged, `difference` what may be found, `summary` what is left at
//! the end; `walk` merges the two trees, `attributes` and `content` judge one pair of entries,
//! `links` remembers which names share an inode.

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
