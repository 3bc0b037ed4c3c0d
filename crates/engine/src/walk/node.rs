//! A directory that is copied: what the copy keeps for it, and its descriptors on both sides.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex};

use haul_io::Pair;
use haul_sys::fs::{Follow, Stat, fstat, open_directory};
use haul_sys::{Call, CallError, Errno, Result};
use haul_tree::Directory;
pub(crate) use haul_tree::Identity;

use crate::journal::Position;
use crate::metadata::DirectoryAttributes;

pub(crate) const fn identity(stat: &Stat) -> Identity {
    (stat.dev, stat.ino)
}

/// Whether this run made a target directory, so that it contains nothing that this run did not put there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Made,
    Found,
}

/// A directory of the source and its directory of the target, open.
pub(crate) struct Handles {
    pub(crate) source: OwnedFd,
    pub(crate) target: OwnedFd,
}

impl Handles {
    pub(crate) fn source(&self) -> BorrowedFd<'_> {
        self.source.as_fd()
    }

    pub(crate) fn target(&self) -> BorrowedFd<'_> {
        self.target.as_fd()
    }
}

/// A directory of the walk of a copy.
pub(crate) type Node = haul_tree::Node<CopyDirectory>;

/// The directories of a copy that are open.
pub(crate) type OpenDirectories = haul_tree::OpenDirectories<CopyDirectory>;

/// One directory that is being copied into another. The root of a run stands for the list of operands.
pub(crate) struct CopyDirectory {
    /// The name in the parent's source; for an operand the path as it was given.
    pub(crate) source_name: CString,
    /// The name in the parent's target, where it differs.
    pub(crate) target_name: Option<CString>,
    pub(crate) source_id: Identity,
    pub(crate) target_id: Identity,
    /// The device of the operand that this lies below.
    pub(crate) root_dev: u64,
    /// Whether the source name may be a link that is followed.
    pub(crate) through_link: bool,
    /// Whether the target name is a link to a directory that was accepted as one.
    pub(crate) target_through_link: bool,
    /// Whether the mode of targets made here is changed by an inherited access-control list.
    pub(crate) inherits_acl: bool,
    pub(crate) pair: Arc<Pair>,
    /// Where it is in the tree, as the journal records it; 0 without a journal.
    pub(crate) position: Position,
    /// Whether its entries are operands.
    pub(crate) lists_operands: bool,
    /// What is applied when the last child is done.
    pub(crate) attributes: DirectoryAttributes,
    pub(crate) origin: Origin,
    /// Owner and group of files that are made here; unknown in a directory that was there before,
    /// because setgid bits and mount options matter.
    pub(crate) new_owner: Option<(u32, u32)>,
    /// Held while names are made in the target: the kernel lets in one at a time, and waiting here
    /// costs less than spinning there.
    pub(crate) create: Mutex<()>,
}

impl CopyDirectory {
    pub(crate) fn target_name(&self) -> &CStr {
        self.target_name.as_deref().unwrap_or(&self.source_name)
    }
}

impl Directory for CopyDirectory {
    type Handle = Handles;

    fn entries(handle: &Handles) -> BorrowedFd<'_> {
        handle.source()
    }

    fn reopen(&self, parent: &Handles) -> Result<Handles> {
        // A link is followed only where it was accepted before, and the identity is verified all the same.
        let follow = |through| if through { Follow::Yes } else { Follow::No };
        let source = open_directory(parent.source(), &self.source_name, follow(self.through_link))?;
        let target =
            open_directory(parent.target(), self.target_name(), follow(self.target_through_link))?;
        self.verified(source, target)
    }

    fn reopen_from(&self, child: &Handles) -> Result<Handles> {
        let source = open_directory(child.source(), c"..", Follow::No)?;
        let target = open_directory(child.target(), c"..", Follow::No)?;
        self.verified(source, target)
    }

    fn is_remote(&self) -> bool {
        self.pair.is_remote()
    }
}

impl CopyDirectory {
    fn verified(&self, source: OwnedFd, target: OwnedFd) -> Result<Handles> {
        for (fd, expected) in [(&source, self.source_id), (&target, self.target_id)] {
            if identity(&fstat(fd)?) != expected {
                return Err(CallError::new(Call::Openat, Errno::STALE));
            }
        }
        Ok(Handles { source, target })
    }
}

/// Returns whether an ancestor of a directory, or the directory itself, is this source directory.
pub(crate) fn is_below(node: &Arc<Node>, source: Identity) -> bool {
    let mut node = node;
    loop {
        let Some(parent) = &node.parent else { return false };
        if node.source_id == source {
            return true;
        }
        node = parent;
    }
}
