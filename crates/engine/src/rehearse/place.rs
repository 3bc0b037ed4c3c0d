//! Directories of a rehearsal: the source, and the target if it already exists.

use std::ffi::{CStr, CString};
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use haul_sys::fs::{Follow, fstat, may_write_at, open_directory};
use haul_sys::{CallError, Errno, Result};
use haul_tree::{Directory, Operand, verified};

use crate::copy::node::Side;
use crate::data::error::What;
use crate::data::selected::{self, Inside, Listing, Protection};
use crate::decide::Role;
use crate::names::at::{At, Sides};
use crate::names::by_identity::{Identity, identity};
use crate::names::path::join;
use crate::sync::extraneous::TargetWay;

/// Directory on both sides.
pub(super) struct RehearsedDirectory {
    /// Name in the parent's source; for an operand, the path as it was given.
    pub(super) source_name: CString,
    /// Name in the parent's target; for the list of operands, the path of the target.
    pub(super) target_name: CString,
    pub(super) source_id: Identity,
    /// Identity of the target directory; `None` if the copy would have to make it.
    pub(super) target_id: Option<Identity>,
    /// Whether the name of the source may be a link.
    pub(super) follow: Follow,
    pub(super) lists_operands: bool,
    /// Device of the operand.
    pub(super) root_dev: u64,
    /// Device of the target, or of the directory that the copy would make it in.
    pub(super) target_dev: u64,
    /// Whether the target allows new names; set on the first query.
    pub(super) writable: OnceLock<std::result::Result<(), Errno>>,
    /// The selection in the source.
    pub(super) within: Inside,
    /// The selection that protects entries of the target from removal.
    pub(super) protected: Protection,
    pub(super) target_way: TargetWay,
}

/// Open source directory, and its target directory if that exists.
pub(super) struct Handles {
    pub(super) source: OwnedFd,
    pub(super) target: Option<OwnedFd>,
}

/// A directory in the walk of a rehearsal.
pub(super) type Node = haul_tree::Node<RehearsedDirectory>;

impl Directory for RehearsedDirectory {
    type Handle = Handles;

    fn entries(handle: &Handles) -> BorrowedFd<'_> {
        handle.source.as_fd()
    }

    fn reopen(&self, parent: &Handles) -> Result<Handles> {
        let source = open_directory(&parent.source, &self.source_name, self.follow)?;
        let open = |above: &OwnedFd| open_directory(above, &self.target_name, Follow::Yes);
        self.verified(source, parent.target.as_ref(), open)
    }

    fn reopen_from(&self, child: &Handles) -> Result<Handles> {
        let open = |below: &OwnedFd| open_directory(below, c"..", Follow::No);
        self.verified(open(&child.source)?, child.target.as_ref(), open)
    }

    fn is_remote(&self) -> bool {
        false
    }
}

impl RehearsedDirectory {
    /// Returns where the names of its entries come from. The directories above an operand are as others.
    pub(super) fn listing(&self) -> Listing {
        let is_root = self.lists_operands && self.source_id == (0, 0);
        if is_root { Listing::Operands } else { Listing::Directory }
    }

    /// Returns the handles of a directory that was opened again, after a check of both sides.
    fn verified(
        &self,
        source: OwnedFd,
        beside: Option<&OwnedFd>,
        open: impl FnOnce(&OwnedFd) -> Result<OwnedFd>,
    ) -> Result<Handles> {
        let source = verified(source, self.source_id)?;
        let target = match (self.target_id, beside) {
            (Some(id), Some(beside)) => Some(verified(open(beside)?, id)?),
            // The target of a child exists only below one that exists.
            (Some(_), None) => return Err(CallError::new(haul_sys::Call::Openat, Errno::STALE)),
            (None, _) => None,
        };
        Ok(Handles { source, target })
    }
}

/// Directory that the rehearsal works in, and its descriptors.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) node: &'a Arc<Node>,
    pub(super) handles: &'a Handles,
}

impl Deref for Place<'_> {
    type Target = RehearsedDirectory;

    fn deref(&self) -> &RehearsedDirectory {
        self.node
    }
}

impl<'a> Place<'a> {
    pub(super) fn role(&self, operand: &Operand) -> Role {
        match (&operand.rest, self.lists_operands) {
            (Some(_), _) => Role::Leading,
            (None, true) => Role::Operand,
            (None, false) => Role::Inside,
        }
    }

    /// Returns the two names of an entry, if the directory exists on both sides.
    pub(super) fn sides(&self, operand: &'a Operand) -> Option<Sides<'a>> {
        let target = self.handles.target.as_ref()?;
        Some(Sides {
            source: self.source_of(operand),
            target: At { directory: target.as_fd(), name: &operand.target },
        })
    }

    pub(super) fn source_of(&self, operand: &'a Operand) -> At<'a> {
        At { directory: self.handles.source.as_fd(), name: &operand.source }
    }

    pub(super) fn path_of_source(&self, operand: &Operand) -> Vec<u8> {
        path_of(self.node, Some(&operand.source), Side::Source)
    }

    pub(super) fn path_of_target(&self, operand: &Operand) -> Vec<u8> {
        path_of(self.node, Some(&operand.target), Side::Target)
    }

    /// Returns the errno with which making a name in the target would fail.
    pub(super) fn may_make_names(&self) -> std::result::Result<(), Errno> {
        *self.writable.get_or_init(|| match &self.handles.target {
            Some(target) => may_write_at(target, c".").map_err(|error| error.errno),
            None => Ok(()),
        })
    }
}

/// Returns the path of a directory, or of an entry in it, as the user would type it.
pub(super) fn path_of(node: &Node, name: Option<&CStr>, side: Side) -> Vec<u8> {
    let mut names: Vec<&[u8]> = name.map(CStr::to_bytes).into_iter().collect();
    let mut at = Some(node);
    while let Some(node) = at {
        names.push(match side {
            Side::Source => node.source_name.to_bytes(),
            Side::Target => node.target_name.to_bytes(),
        });
        at = node.parent.as_deref();
    }
    names.reverse();
    join(&names)
}

/// Returns whether the directory itself or one of its ancestors is this source directory.
pub(super) fn is_below(node: &Arc<Node>, id: Identity) -> bool {
    let mut at = Some(node);
    while let Some(node) = at {
        if !node.is_root() && node.source_id == id {
            return true;
        }
        at = node.parent.as_ref();
    }
    false
}

/// Directory that the rehearsal has not read yet.
pub(super) struct Found {
    pub(super) parent: Arc<Node>,
    pub(super) operand: Operand,
    pub(super) id: Identity,
    /// Device of the directory.
    pub(super) dev: u64,
    /// Whether the name of the directory may be a link.
    pub(super) follow: Follow,
    pub(super) root_dev: u64,
    /// Whether the copy would merge the directory with an existing directory in the target.
    pub(super) merges: bool,
    /// Whether a link in the target leads to that.
    pub(super) through_link: bool,
}

impl Found {
    /// Opens the directory, and the directory in the target if it exists.
    pub(super) fn open(
        &self,
        parent: &Handles,
    ) -> std::result::Result<(RehearsedDirectory, Handles), (What, Option<Errno>)> {
        let operand = &self.operand;
        let fail = |what| move |error: CallError| (what, Some(error.errno));
        let source = open_directory(&parent.source, &operand.source, self.follow)
            .map_err(fail(What::ReadDirectory))?;
        let now = fstat(&source).map_err(fail(What::Stat))?;
        if identity(&now) != self.id {
            return Err((What::Replaced, Some(Errno::STALE)));
        }
        let target = match &parent.target {
            Some(target) if self.merges => Some(
                open_directory(target, &operand.target, Follow::Yes)
                    .map_err(fail(What::OpenDirectory))?,
            ),
            _ => None,
        };
        let described = target.as_ref().map(fstat).transpose().map_err(fail(What::StatTarget))?;
        let (listing, is_leading) = (self.parent.listing(), operand.rest.is_some());
        let named = (&*operand.source, is_leading);
        let within = selected::enter(&self.parent.within, listing, named, &source)?;
        let protected = match &target {
            Some(target) if !self.parent.protected.is_none() => {
                let path = path_of(&self.parent, Some(&operand.target), Side::Target);
                let shown = CString::new(path).unwrap_or_default();
                let own = if self.parent.lists_operands { &shown } else { &operand.target };
                let sides = [(&*operand.source, &source), (&**own, target)];
                self.parent.protected.enter(listing, sides)?
            }
            _ => Protection::NONE,
        };
        let above = (!self.parent.lists_operands).then_some(self.parent.target_way);
        let target_way = match &target {
            Some(target) => TargetWay::to(target.as_fd(), above, self.through_link),
            None => TargetWay::UNKNOWN,
        };
        let directory = RehearsedDirectory {
            source_name: operand.source.clone(),
            target_name: operand.target.clone(),
            source_id: self.id,
            target_id: described.as_ref().map(identity),
            follow: self.follow,
            lists_operands: operand.rest.is_some(),
            root_dev: self.root_dev,
            target_dev: described.map_or(self.parent.target_dev, |stat| stat.dev),
            writable: OnceLock::new(),
            within,
            protected,
            target_way,
        };
        Ok((directory, Handles { source, target }))
    }
}
