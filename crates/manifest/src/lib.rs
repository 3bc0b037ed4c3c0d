//! Trees as evidence: generated from a seed, scanned into memory, and compared with each other.
//!
//! Everything haul claims to have copied is judged here, so this crate shares no code with the
//! crates it judges: it walks, opens and reads in its own, plainer way. It prefers being certain
//! to being fast: one thread, every byte read on both sides, every attribute asked of the
//! kernel for the very inode that is being judged.
//!
//! * [`Manifest::scan`] describes one tree, attribute by attribute.
//! * [`compare`] and [`compare_with`] judge two live trees and report [`Difference`]s as data.
//! * [`Recipe`], [`parse_recipe`] and [`random_tree`] make trees, the same for the same seed.
//! * [`remove_tree`] and [`remove_entry`] take them away again, however deep they are.
//!
//! Trees may be deeper than `PATH_MAX` and deeper than the limit of open files: all work is
//! relative to directory descriptors, of which only a handful are open at any time, nothing
//! recurses, and symbolic links are never followed. FIFOs, sockets and devices are never opened.

mod compare;
mod dirstack;
mod failure;
mod generate;
mod names;
mod node;
mod remove;
mod scan;
mod segments;
mod text;
mod values;
mod xattrs;

pub use compare::{
    Aspect, Aspects, CompareOptions, Comparison, Difference, Finding, HolePolicy, RootAttributes,
    Side, Summary, Verdict, What, compare, compare_with,
};
pub use failure::{Action, Failure};
pub use generate::{
    Body, Feature, Generated, Item, ItemKind, Limits, ParseError, Recipe, Shape, create_tree,
    parse_recipe, random_tree,
};
pub use node::RootLinks;
pub use remove::{remove_entry, remove_tree};
pub use scan::{Entry, EntryId, Manifest, ScanOptions, Totals};
pub use segments::Segment;
pub use text::{RawText, escape};
pub use values::{Kind, Rdev, Timestamp};
pub use xattrs::Xattr;
