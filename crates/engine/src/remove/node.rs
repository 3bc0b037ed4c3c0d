//! A directory that is being removed: the data of the removal, and the descriptor.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use haul_sys::Result;
use haul_sys::fs::{Follow, Stat, open_directory, statat};
use haul_tree::{Directory, Handle, Identity, verified};

use super::delete_profile::DeleteProfile;
use crate::data::selected::{Inside, Listing, Protection};
use crate::peers::state::Foreign;

/// Location of a directory: its device and, if requested, its mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) dev: u64,
    pub(super) mount: Option<u64>,
}

/// Mode, owner and group.
pub(super) type Attributes = (u32, u32, u32);

/// Returns what the removal of its entries does not change of a directory.
pub(super) const fn attributes(stat: &Stat) -> Attributes {
    (stat.mode, stat.uid, stat.gid)
}

/// A directory in the walk of a removal.
pub(super) type Node = haul_tree::Node<RemoveDirectory>;

/// Open directories of a removal.
pub(super) type OpenDirectories = haul_tree::OpenDirectories<RemoveDirectory>;

/// One directory. The root of a run represents the list of operands and is never removed itself.
pub(super) struct RemoveDirectory {
    /// Name in the parent; for an operand, the path as it was given.
    pub(super) name: CString,
    pub(super) id: Identity,
    /// Mode and owner when it was approved; an approved directory with others stays.
    pub(super) attributes: Option<Attributes>,
    /// Location of the operand that contains this directory.
    pub(super) top: Place,
    pub(super) delete_profile: DeleteProfile,
    /// Whether an entry in it stays. That entry was reported, so the directory stays without a
    /// report.
    kept: AtomicBool,
    /// Number of times it was read again because it was not empty at the end.
    pub(super) passes: AtomicU32,
    /// Whether an entry was removed since the directory was last read from the beginning.
    pub(super) progress: AtomicBool,
    /// Whether its entries take long: each batch then is one entry, and more workers are useful.
    pub(super) has_large: AtomicBool,
    pub(super) foreign: Foreign,
    /// The selection in it.
    pub(super) within: Inside,
    /// What stays of it in a synchronisation.
    pub(super) protected: Protection,
    /// Whether an entry in it was removed.
    pub(super) lost_entries: AtomicBool,
}

impl RemoveDirectory {
    /// Creates the data of a directory of which no entry is removed yet.
    pub(super) const fn new(
        name: CString,
        id: Identity,
        top: Place,
        delete_profile: DeleteProfile,
    ) -> RemoveDirectory {
        RemoveDirectory {
            name,
            id,
            attributes: None,
            top,
            delete_profile,
            kept: AtomicBool::new(false),
            passes: AtomicU32::new(0),
            progress: AtomicBool::new(false),
            has_large: AtomicBool::new(false),
            foreign: Foreign::No,
            within: None,
            protected: Protection::NONE,
            lost_entries: AtomicBool::new(false),
        }
    }

    /// Creates the data of the list of operands.
    pub(super) fn operands(foreign: Foreign, within: Inside) -> RemoveDirectory {
        let nowhere = Place { dev: 0, mount: None };
        let name = CString::default();
        let list = RemoveDirectory::new(name, (0, 0), nowhere, DeleteProfile::PLAIN);
        RemoveDirectory { foreign, within, ..list }
    }

    /// Returns whether an entry in the directory stays.
    pub(super) fn is_kept(&self) -> bool {
        self.kept.load(Ordering::Relaxed)
    }

    /// Returns how many workers are useful in the directory.
    pub(super) fn room(&self) -> usize {
        if self.has_large.load(Ordering::Relaxed) {
            self.delete_profile.quirk.removal.large_workers
        } else {
            self.delete_profile.quirk.removal.workers
        }
    }
}

impl Directory for RemoveDirectory {
    type Handle = Handle;

    fn entries(handle: &Handle) -> BorrowedFd<'_> {
        handle.as_fd()
    }

    fn reopen(&self, parent: &Handle) -> Result<Handle> {
        // An operand may be reached through symbolic links, as at the first open.
        verified(open_directory(parent, &self.name, Follow::No)?, self.id).map(Handle::from)
    }

    fn reopen_from(&self, child: &Handle) -> Result<Handle> {
        verified(open_directory(child, c"..", Follow::No)?, self.id).map(Handle::from)
    }

    fn is_remote(&self) -> bool {
        self.delete_profile.quirk.is_remote()
    }
}

/// Name in an open directory of the removal.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) parent: &'a Arc<Node>,
    /// Descriptor of the parent.
    pub(super) directory: BorrowedFd<'a>,
    pub(super) name: &'a CStr,
}

impl Entry<'_> {
    /// Describes the entry, without following a symbolic link.
    pub(super) fn stat(&self) -> Result<Stat> {
        statat(self.directory, self.name)
    }
}

/// Records that an entry in a directory stays, and therefore all directories above it.
pub(super) fn keep(node: &Node) {
    let mut at = Some(node);
    while let Some(node) = at {
        if node.kept.swap(true, Ordering::Relaxed) {
            return;
        }
        at = node.parent.as_deref();
    }
}

/// Returns where the names of a directory's entries come from.
pub(super) fn listing(node: &Node) -> Listing {
    if node.is_root() { Listing::Operands } else { Listing::Directory }
}

/// Returns the path of an entry, as the user would type it.
pub(super) fn path_of(node: &Node, name: &CStr) -> Vec<u8> {
    let mut names = vec![name.to_bytes()];
    let mut at = Some(node);
    while let Some(node) = at {
        names.push(node.name.to_bytes());
        at = node.parent.as_deref();
    }
    names.reverse();
    crate::names::path::join(&names)
}

/// Returns the path of the directory itself.
pub(super) fn path(node: &Node) -> Vec<u8> {
    match node.parent.as_deref() {
        Some(parent) => path_of(parent, &node.name),
        None => Vec::new(),
    }
}
