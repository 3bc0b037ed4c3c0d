//! A directory that is being copied: the data of the copy, and the descriptors on both sides.

use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::data::selected::{Inside, Listing, Protection};
use crate::names::by_identity::Identity;
use crate::names::path::join;
use haul_io::Pair;
use haul_sys::Result;
use haul_sys::fs::{Follow, open_directory};
use haul_tree::{Directory, verified};

use crate::journal::Position;
use crate::metadata::owners::Exchangeable;
use crate::metadata::{DirectoryAttributes, Kept};
use crate::peers::state::Foreign;
use crate::sync::extraneous::TargetWay;

/// The names of the directories in the target through which an entry is reached, from the target down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Route(pub(crate) u64);

/// Whether this run created a target directory. If so, the directory contains only entries of this
/// run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Made,
    Found,
}

/// Open descriptors of a source directory and its target directory.
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

/// A directory in the walk of a copy.
pub(crate) type Node = haul_tree::Node<CopyDirectory>;

/// Open directories of a copy.
pub(crate) type OpenDirectories = haul_tree::OpenDirectories<CopyDirectory>;

/// One directory that is being copied into another. The root of a run represents the list of
/// operands.
pub(crate) struct CopyDirectory {
    /// Name in the parent's source; for an operand, the path as it was given.
    pub(crate) source_name: CString,
    /// Name in the parent's target, if it differs.
    pub(crate) target_name: Option<CString>,
    pub(crate) source_id: Identity,
    pub(crate) target_id: Identity,
    /// The names that lead to it in the target.
    pub(crate) route: Route,
    /// Device of the operand that contains this directory.
    pub(crate) root_dev: u64,
    /// Whether the source name may be a symbolic link that is followed.
    pub(crate) through_link: bool,
    /// Whether the target name is a symbolic link that was accepted as a directory.
    pub(crate) target_through_link: bool,
    /// Whether an inherited access-control list changes the mode of files created here.
    pub(crate) inherits_acl: bool,
    pub(crate) pair: Arc<Pair>,
    /// Position in the tree, as the journal records it; 0 without a journal.
    pub(crate) position: Position,
    /// Whether its entries are operands.
    pub(crate) lists_operands: bool,
    /// Attributes that are applied when the last child is finished.
    pub(crate) attributes: DirectoryAttributes,
    pub(crate) origin: Origin,
    /// Owner and group of files that are created here. Unknown in a directory that existed before,
    /// because setgid bits and mount options can change them.
    pub(crate) new_owner: Option<(u32, u32)>,
    /// Whether other users may exchange the entries of the target directory.
    pub(crate) exchangeable: Exchangeable,
    /// Whether the target ignores case, once that is known.
    pub(crate) ignores_case: OnceLock<bool>,
    /// Names that the target had when they were read, if the file system ignores case.
    pub(crate) listed: OnceLock<HashSet<CString>>,
    /// Whether a failure of the directory itself was reported, not only of what is in it.
    pub(crate) is_lacking: AtomicBool,
    pub(crate) foreign: Foreign,
    /// The selection in the source.
    pub(crate) within: Inside,
    /// The selection that protects entries of the target from removal.
    pub(crate) protected: Protection,
    /// The way to the target directory, in a run that removes.
    pub(crate) target_way: TargetWay,
}

impl CopyDirectory {
    pub(crate) fn target_name(&self) -> &CStr {
        self.target_name.as_deref().unwrap_or(&self.source_name)
    }

    /// Returns where the names of its entries come from. The directories above an operand are as others.
    pub(crate) fn listing(&self) -> Listing {
        let is_root = self.lists_operands && self.source_id == (0, 0);
        if is_root { Listing::Operands } else { Listing::Directory }
    }

    /// Returns whether the directory itself has everything that it has to have, as far as the run has come.
    pub(crate) fn kept(&self) -> Kept {
        if self.is_lacking.load(Ordering::Relaxed) { Kept::NotAll } else { Kept::All }
    }

    /// Describes the directory once more, for a unit of another process, which applies its attributes.
    pub(crate) fn described_again(&self, foreign: Foreign) -> CopyDirectory {
        CopyDirectory {
            source_name: self.source_name.clone(),
            target_name: self.target_name.clone(),
            pair: Arc::clone(&self.pair),
            attributes: DirectoryAttributes::nothing(),
            ignores_case: OnceLock::new(),
            listed: OnceLock::new(),
            is_lacking: AtomicBool::new(false),
            foreign,
            within: self.within.clone(),
            protected: self.protected.clone(),
            ..*self
        }
    }
}

impl Directory for CopyDirectory {
    type Handle = Handles;

    fn entries(handle: &Handles) -> BorrowedFd<'_> {
        handle.source()
    }

    fn reopen(&self, parent: &Handles) -> Result<Handles> {
        // A symbolic link is followed only if it was accepted before. The identity is verified in
        // any case.
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
        let source = verified(source, self.source_id)?;
        Ok(Handles { source, target: verified(target, self.target_id)? })
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

/// Side of the copy that a path belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Source,
    Target,
}

/// Returns the path of an entry of a directory, as the user would type it.
pub(crate) fn of_entry(node: &Node, name: &CStr, side: Side) -> Vec<u8> {
    let mut names: Vec<&[u8]> = vec![name.to_bytes()];
    let mut at = Some(node);
    while let Some(node) = at {
        names.push(match side {
            Side::Source => node.source_name.to_bytes(),
            Side::Target => node.target_name().to_bytes(),
        });
        at = node.parent.as_deref();
    }
    names.reverse();
    join(&names)
}

/// Returns the path of the directory itself.
pub(crate) fn of_node(node: &Node, side: Side) -> Vec<u8> {
    let own = match side {
        Side::Source => node.source_name.as_c_str(),
        Side::Target => node.target_name(),
    };
    match node.parent.as_deref() {
        Some(parent) => of_entry(parent, own, side),
        None => own.to_bytes().to_vec(),
    }
}
