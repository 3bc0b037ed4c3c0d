//! Walk of a copy: its chain of directories, their descriptors, and their entries.
//!
//! All operations are relative to directory descriptors. A directory that waits is a node,
//! (parent, name). The descriptors are a cache beside the nodes with a budget, so that a run needs
//! only a few of them for a tree of any depth and width.

pub(crate) mod by_identity;
pub(crate) mod create_locks;
pub(crate) mod node;
pub(crate) mod path;
