//! What the steps of a removal get: the worker, and a directory to enter.

use std::ffi::CString;
use std::sync::Arc;

use haul_tree::Identity;

use super::node::{Node, RemoveDirectory};
use super::run::Run;
use crate::monitor::Shard;

/// A directory to enter.
pub(super) struct Enter {
    pub(super) parent: Arc<Node>,
    pub(super) name: CString,
    /// What an operand was when the guards looked at it; anything else is refused.
    pub(super) expected: Option<Identity>,
}

/// What each worker of a removal keeps for itself.
pub(super) struct Local<'r> {
    pub(super) shard: &'r Shard,
}

/// A worker of a removal.
pub(super) type Worker<'w, 'r> = haul_tree::Worker<'w, Run<'r>>;

/// A directory that is being worked on.
pub(super) type Task = haul_tree::Task<RemoveDirectory>;
