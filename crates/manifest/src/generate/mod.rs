//! Trees from a seed: the same seed gives the same tree, on any machine and at any time.
//!
//! `item` defines the items of a tree, `create` creates them on disk, `recipe` and `parse` name
//! whole corpora, `bulk`, `attributes` and `random` list their items, `odd` draws names and
//! attributes, `content` generates bytes, `numbers` random numbers.

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

pub use content::noise;
pub use create::{Generated, create_tree};
pub use item::{Body, Feature, Item, ItemKind};
pub use numbers::Numbers;
pub use parse::{ParseError, parse_recipe};
pub use random::{Limits, random_tree};
pub use recipe::{Recipe, Shape};
