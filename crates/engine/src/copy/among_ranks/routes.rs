//! Names of files with several names, on their way to the process that makes all of them.

use haul_sys::sync::Mutex;
use std::ffi::CString;
use std::sync::Arc;

use crate::copy::node::Node;

/// Name of a file with several names, which the process that owns the file's inode number copies.
pub(super) struct Name {
    pub(super) to: usize,
    pub(super) node: Arc<Node>,
    pub(super) source: CString,
    pub(super) target: CString,
}

/// Names that wait until they are sent.
#[derive(Default)]
pub(crate) struct Routes {
    found: Mutex<Vec<Name>>,
    /// Names in an order in which those for one process in one directory follow each other.
    sorted: Mutex<Vec<Name>>,
}

impl Routes {
    /// Queues a name for another process. The node waits for it.
    pub(crate) fn route(&self, to: usize, node: &Arc<Node>, source: CString, target: CString) {
        node.owe();
        self.found.lock().push(Name { to, node: Arc::clone(node), source, target });
    }

    /// Takes up to `most` names of one directory for one process.
    pub(super) fn take(&self, most: usize) -> Vec<Name> {
        let mut sorted = self.sorted.lock();
        if sorted.is_empty() {
            *sorted = std::mem::take(&mut *self.found.lock());
            sorted.sort_by_key(|name| (name.to, Arc::as_ptr(&name.node).addr()));
        }
        let mut taken: Vec<Name> = Vec::new();
        while taken.len() < most
            && let Some(next) = sorted.pop_if(|name| {
                taken
                    .first()
                    .is_none_or(|first| name.to == first.to && Arc::ptr_eq(&name.node, &first.node))
            })
        {
            taken.push(next);
        }
        taken
    }
}
