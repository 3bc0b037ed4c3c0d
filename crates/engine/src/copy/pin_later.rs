//! Files with several names that become immutable or append-only at the end of a run: the run may still link
//! other names to them, which the kernel refuses of such a file.

use haul_sys::sync::Mutex;
use std::ffi::CString;
use std::sync::Arc;

use haul_sys::fs::Stat;

use crate::copy::node::Node;
use crate::metadata::Flags;
use crate::names::by_identity::Identity;

/// Files that are to be pinned when no more names follow.
#[derive(Default)]
pub(crate) struct PinLater {
    files: Mutex<Vec<Unpinned>>,
}

/// File that has its bytes and its first name.
pub(super) struct Unpinned {
    pub(super) node: Arc<Node>,
    pub(super) source: CString,
    pub(super) target: CString,
    /// State of the source.
    pub(super) stat: Stat,
    /// Identity of the target.
    pub(super) id: Identity,
    pub(super) flags: Flags,
}

impl PinLater {
    pub(super) fn add(&self, file: Unpinned) {
        self.files.lock().push(file);
    }

    pub(super) fn take(&self) -> Vec<Unpinned> {
        std::mem::take(&mut *self.files.lock())
    }
}
