//! Files and directories that become immutable or append-only at the end of a run.
//!
//! The kernel refuses to link, rename, replace or describe such a file, and to make entries in such a directory.
//! So nothing is pinned before the run has made all names, and before its journal has the records by which a later
//! run leaves them alone; and nothing is pinned in a run in which something failed, because the run that
//! completes the copy has to replace what it copies again.

use haul_sys::sync::Mutex;
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Arc;

use haul_sys::fs::Stat;

use crate::copy::entry::Entry;
use crate::copy::node::Node;
use crate::metadata::{Flags, Kept};
use crate::names::by_identity::Identity;

/// Files and directories of the target that are to be pinned, by their identities.
#[derive(Default)]
pub(crate) struct PinLater {
    files: Mutex<HashMap<Identity, Unpinned>>,
}

/// File or directory that lacks nothing but the flags that pin it.
pub(crate) struct Unpinned {
    pub(super) node: Arc<Node>,
    pub(super) source: CString,
    pub(super) target: CString,
    /// State of the source.
    pub(super) stat: Stat,
    /// Identity of the target.
    pub(super) id: Identity,
    pub(super) flags: Flags,
    /// What is reported of the entry when it is complete; `None` if it has been reported.
    pub(super) report: Option<(Kept, Option<CString>)>,
}

impl Unpinned {
    /// Describes an entry that has been reported.
    pub(crate) fn of(entry: &Entry<'_>, stat: &Stat, id: Identity, flags: Flags) -> Unpinned {
        Unpinned {
            node: Arc::clone(entry.node),
            source: entry.source.to_owned(),
            target: entry.target.to_owned(),
            stat: *stat,
            id,
            flags,
            report: None,
        }
    }

    pub(crate) fn reporting(self, kept: Kept, backup: Option<CString>) -> Unpinned {
        Unpinned { report: Some((kept, backup)), ..self }
    }
}

impl PinLater {
    pub(crate) fn add(&self, file: Unpinned) {
        self.files.lock().insert(file.id, file);
    }

    pub(super) fn take(&self) -> Vec<Unpinned> {
        std::mem::take(&mut *self.files.lock()).into_values().collect()
    }
}
