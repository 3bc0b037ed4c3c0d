//! Types that the steps of a removal share: the worker, and a directory to enter.

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
    /// Identity of an operand when the guards examined it; a directory with another identity is
    /// refused.
    pub(super) expected: Option<Identity>,
}

/// State of one worker of a removal.
pub(super) struct Local<'r> {
    pub(super) shard: &'r Shard,
}

/// A worker of a removal.
pub(super) type Worker<'w, 'r> = haul_tree::Worker<'w, Run<'r>>;

/// A directory that is being worked on.
pub(super) type Task = haul_tree::Task<RemoveDirectory>;
