//! File trees for tests: generated from a seed, scanned into memory, and compared with each other.
//!
//! This crate verifies haul's copies, so it shares no code with the crates under test: it walks,
//! opens and reads with its own, simpler code. It prefers certainty to speed: one thread, every
//! byte read on both sides, and every attribute read from the inode that is compared.
//!
//! * [`Manifest::scan`] describes one tree, attribute by attribute.
//! * [`compare`] and [`compare_with`] compare two live trees and report [`Difference`]s as data.
//! * [`Share`] is what one process does of a comparison that several carry out.
//! * [`Recipe`], [`parse_recipe`] and [`random_tree`] generate trees, the same for the same seed.
//! * [`remove_tree`] and [`remove_entry`] remove them, however deep they are.
//! * [`wait_until`] and [`holds_within`] wait for what no descriptor tells.
//!
//! Trees may be deeper than `PATH_MAX` and deeper than the limit of open files: all work is
//! relative to directory descriptors, of which only a handful are open at any time, nothing
//! recurses, and symbolic links are never followed. FIFOs, sockets and devices are never opened.

mod compare;
mod dirstack;
mod failure;
mod flags;
mod generate;
mod json;
mod names;
mod node;
mod remove;
mod scan;
mod segments;
mod text;
mod values;
mod waiting;
mod xattrs;

pub use compare::{
    Aspect, Aspects, CompareOptions, Comparison, Difference, Finding, HolePolicy, Outside,
    PageCache, Precision, RootAttributes, Share, Side, Summary, Unit, Verdict, What, Work, compare,
    compare_for, compare_with,
};
pub use failure::{Action, Failure};
pub use generate::{
    Body, Feature, Generated, Item, ItemKind, Limits, Numbers, ParseError, Recipe, Shape,
    create_tree, noise, parse_recipe, random_tree,
};
pub use json::safe_json;
pub use node::RootLinks;
pub use remove::{remove_entry, remove_tree};
pub use scan::{Entry, EntryId, Manifest, ScanOptions, Totals};
pub use segments::Segment;
pub use text::{RawText, escape, is_shown};
pub use values::{Kind, Rdev, Timestamp};
pub use waiting::{holds_within, wait_until};
pub use xattrs::Xattr;
