//! Trees from a seed: the same seed gives the same tree, on any machine and at any time.
//!
//! `item` says what a tree is made of, `create` puts it on disk, `recipe` and `parse` name whole
//! corpora, `bulk`, `attributes` and `random` spell them out, `odd` draws names and attributes, `content`
//! makes the bytes, `numbers` the chance.

mod attributes;
mod bulk;
mod content;
mod create;
mod item;
mod numbers;
mod odd;
mod parse;
mod random;
mod recipe;

pub use create::{Generated, create_tree};
pub use item::{Body, Feature, Item, ItemKind};
pub use parse::{ParseError, parse_recipe};
pub use random::{Limits, random_tree};
pub use recipe::{Recipe, Shape};
