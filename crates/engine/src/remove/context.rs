//! Types that the steps of a removal share: the worker, and a directory to enter.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use haul_tree::Identity;

use super::node::{Node, RemoveDirectory};
use super::run::Run;
use crate::data::monitor::WorkerCounters;

/// A directory to enter.
pub(super) struct Enter {
    pub(super) parent: Arc<Node>,
    pub(super) name: CString,
    /// Identity of an operand when the guards examined it; a directory with another identity is
    /// refused.
    pub(super) expected: Option<Identity>,
    /// Allocation group of its inode, if workers should be in different groups.
    pub(super) allocation_group: Option<u64>,
}

impl Enter {
    /// A directory that was found in another one, with its inode number.
    pub(super) fn found(parent: &Arc<Node>, name: &CStr, ino: u64) -> Enter {
        let allocation_group = parent.delete_profile.group_bits.map(|bits| ino >> bits);
        Enter {
            parent: Arc::clone(parent),
            name: name.to_owned(),
            expected: None,
            allocation_group,
        }
    }

    /// A directory that the user named.
    pub(super) fn operand(list: &Arc<Node>, name: &CStr, identity: Identity) -> Enter {
        let (parent, name) = (Arc::clone(list), name.to_owned());
        Enter { parent, name, expected: Some(identity), allocation_group: None }
    }
}

/// State of one worker of a removal.
pub(super) struct Local<'r> {
    pub(super) counters: &'r WorkerCounters,
}

/// A worker of a removal.
pub(super) type Worker<'w, 'r> = haul_tree::Worker<'w, Run<'r>>;

/// A directory that is being worked on.
pub(super) type Task = haul_tree::Task<RemoveDirectory>;
