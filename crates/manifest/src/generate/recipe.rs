//! Corpora by name: what benchmarks, tests and xtask copy and delete.
//!
//! A recipe is plain data with one line of text for it, so that a scenario, a report and a
//! command line mean the same tree by the same words.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::attributes;
use super::bulk::{self, Mixed};
use super::create::{Generated, create_tree};
use super::item::Item;
use super::parse::describe;
use super::random::{Limits, random_tree};
use crate::failure::Failure;

/// Names a tree that can be generated. Its text, which [`crate::parse_recipe`] reads back, is
/// what `Display` shows: `nested:files=50000,dirs=200,size=1024,seed=0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Recipe {
    /// What the tree looks like.
    pub shape: Shape,
    /// What contents, times and chance follow from.
    pub seed: u64,
}

/// Says what a generated tree looks like. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Files of one size in one directory.
    Flat {
        /// How many files.
        files: u64,
        /// The size of each.
        size: u64,
    },
    /// Files of one size, spread evenly over directories that lie side by side.
    Nested {
        /// How many files in all.
        files: u64,
        /// How many directories.
        dirs: u64,
        /// The size of each file.
        size: u64,
    },
    /// Files of one size, spread evenly over directories that lie side by side, and some large ones
    /// spread evenly among them: a build tree with its archives.
    Strewn {
        /// How many small files in all.
        files: u64,
        /// How many directories.
        dirs: u64,
        /// The size of each small file.
        size: u64,
        /// How many large files in all.
        large: u64,
        /// The size of each large file.
        large_size: u64,
    },
    /// Files of very different sizes in directories up to six deep, with symbolic links (3 in 100
    /// files), hard links (2) and odd names (1): somebody's home.
    Mixed {
        /// How many names of regular files; symbolic links come on top.
        files: u64,
        /// The size that half of the files do not reach.
        median: u64,
        /// The largest size.
        cap: u64,
    },
    /// Directories each in the other, and a small file in the last one.
    Deep {
        /// How many directories.
        depth: u64,
        /// The length of each one's name.
        name: u64,
    },
    /// One file with holes: segments of data at even distances, the first at the beginning and
    /// the last at the end.
    Sparse {
        /// The size of the file.
        size: u64,
        /// How many data segments.
        segments: u64,
        /// The length of each segment.
        data: u64,
    },
    /// Files and directories with extended attributes of the lengths at which tools go wrong, and a
    /// file with many. What the file system does not take is skipped.
    Attributes {
        /// The longest value.
        size: u64,
        /// How many attributes the file with many has.
        names: u64,
    },
    /// A small tree of all kinds of entries, see [`random_tree`].
    Random {
        /// How many entries at most.
        entries: u64,
    },
}

impl Recipe {
    /// Returns the items of the tree one after the other.
    pub fn items(&self) -> Box<dyn Iterator<Item = Item>> {
        let seed = self.seed;
        match self.shape {
            Shape::Flat { files, size } => Box::new(bulk::flat(files, size, seed)),
            Shape::Nested { files, dirs, size } => Box::new(bulk::nested(files, dirs, size, seed)),
            Shape::Strewn { files, dirs, size, large, large_size } => {
                Box::new(bulk::strewn((files, size), dirs, (large, large_size), seed))
            }
            Shape::Mixed { files, median, cap } => Box::new(Mixed::new(files, median, cap, seed)),
            Shape::Deep { depth, name } => Box::new(bulk::deep(depth, name, seed)),
            Shape::Sparse { size, segments, data } => {
                Box::new(bulk::sparse(size, segments, data, seed).into_iter())
            }
            Shape::Attributes { size, names } => {
                Box::new(attributes::attributes(size, names, seed))
            }
            Shape::Random { entries } => {
                let limits = Limits { entries, ..Limits::default() };
                Box::new(random_tree(seed, &limits).into_iter())
            }
        }
    }

    /// Creates the directory `root` and the tree in it; nothing may be there before.
    ///
    /// # Errors
    ///
    /// As [`create_tree`].
    pub fn generate(&self, root: &Path) -> Result<Generated, Failure> {
        create_tree(root, self.items())
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&describe(self))
    }
}
