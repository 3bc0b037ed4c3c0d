//! Traversal: the chain of directories a run is in, their descriptors, and their entries.
//!
//! Everything is relative to directory descriptors. A directory that waits for its turn is a node,
//! (parent, name); descriptors are a budgeted cache beside it, so that a run needs a handful of
//! them however deep and wide the tree is.

pub(crate) mod node;
pub(crate) mod path;
