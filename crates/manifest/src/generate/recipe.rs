//! Named corpora, which benchmarks, tests and xtask copy and delete.
//!
//! A recipe is plain data with a text form of one line, so that a scenario, a report and a command
//! line use the same name for the same tree.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::attributes;
use super::bulk::{self, Mixed};
use super::create::{Generated, create_tree};
use super::item::Item;
use super::random::{Limits, random_tree};
use crate::failure::Failure;

/// A tree that can be generated. Its text form, which [`crate::parse_recipe`] reads back, is what
/// `Display` shows: `nested:files=50000,dirs=200,parents=20,size=1024,seed=0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Recipe {
    /// The shape of the tree.
    pub shape: Shape,
    /// The seed of contents, times and random choices.
    pub seed: u64,
}

/// The shape of a generated tree. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Files of one size in one directory.
    Flat {
        /// Number of files.
        files: u64,
        /// The size of each.
        size: u64,
    },
    /// Files of one size, spread evenly over directories.
    Nested {
        /// Total number of files.
        files: u64,
        /// Number of directories that contain files.
        dirs: u64,
        /// Number of directories over which these are spread evenly, at most `dirs`; 0 if all
        /// are siblings at the top.
        #[serde(default)]
        parents: u64,
        /// The size of each file.
        size: u64,
    },
    /// Files of one size, spread evenly over sibling directories, and some large ones spread evenly
    /// among them: a build tree with its archives.
    Scattered {
        /// Total number of small files.
        files: u64,
        /// Number of directories.
        dirs: u64,
        /// The size of each small file.
        size: u64,
        /// Total number of large files.
        large: u64,
        /// The size of each large file.
        large_size: u64,
    },
    /// Files of very different sizes in directories up to six deep, with symbolic links (3 in 100
    /// files), hard links (2) and odd names (1), like a home directory.
    Mixed {
        /// Number of names of regular files; symbolic links are additional.
        files: u64,
        /// The median size.
        median: u64,
        /// The largest size.
        cap: u64,
    },
    /// A chain of nested directories, and a small file in the last one.
    Deep {
        /// Number of directories.
        depth: u64,
        /// The length of each name.
        name: u64,
    },
    /// One file with holes: evenly spaced segments of data, the first at the beginning and the last
    /// at the end.
    Sparse {
        /// The size of the file.
        size: u64,
        /// Number of data segments.
        segments: u64,
        /// The length of each segment.
        data: u64,
    },
    /// Files and directories with extended attributes of lengths at which tools are known to fail,
    /// and a file with many. Attributes that the file system does not support are skipped.
    Attributes {
        /// The longest value.
        size: u64,
        /// Number of attributes of the file with many.
        names: u64,
    },
    /// A small tree of all kinds of entries, see [`random_tree`].
    Random {
        /// Maximum number of entries.
        entries: u64,
    },
}

impl Recipe {
    /// Returns an iterator over the items of the tree.
    pub fn items(&self) -> Box<dyn Iterator<Item = Item>> {
        let seed = self.seed;
        match self.shape {
            Shape::Flat { files, size } => Box::new(bulk::flat(files, size, seed)),
            Shape::Nested { files, dirs, parents, size } => {
                Box::new(bulk::nested((files, size), dirs, parents, seed))
            }
            Shape::Scattered { files, dirs, size, large, large_size } => {
                Box::new(bulk::scattered((files, size), dirs, (large, large_size), seed))
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

    /// Creates the directory `root` and the tree in it; `root` must not exist.
    ///
    /// # Errors
    ///
    /// As [`create_tree`].
    pub fn generate(&self, root: &Path) -> Result<Generated, Failure> {
        create_tree(root, self.items())
    }
}
