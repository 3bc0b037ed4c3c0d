//! Directories of a rehearsal: the open source, and the target if it already exists.

use std::cell::OnceCell;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use haul_sys::fs::{Follow, fstat, may_write_at, open_directory};
use haul_sys::{CallError, Errno};

use crate::apply::existing::{At, Sides};
use crate::decide::Role;
use crate::error::What;
use crate::walk::node::{Identity, identity};
use crate::walk::path::join;
use haul_tree::Operand;

/// Directory on both sides.
pub(super) struct Place {
    pub(super) parent: Option<Rc<Place>>,
    pub(super) source: OwnedFd,
    /// Open target directory; `None` if the copy would have to make it.
    pub(super) target: Option<OwnedFd>,
    pub(super) source_id: Identity,
    pub(super) source_path: Vec<u8>,
    pub(super) target_path: Vec<u8>,
    pub(super) lists_operands: bool,
    /// Device of the operand.
    pub(super) root_dev: u64,
    /// Device of the target, or of the directory that the copy would make it in.
    pub(super) target_dev: u64,
    /// Whether the target allows new names; set on the first query.
    pub(super) writable: OnceCell<Result<(), Errno>>,
}

impl Place {
    /// Returns whether the directory itself or one of its ancestors is this source directory.
    pub(super) fn is_below(&self, id: Identity) -> bool {
        let mut at = Some(self);
        while let Some(place) = at {
            if place.parent.is_some() && place.source_id == id {
                return true;
            }
            at = place.parent.as_deref();
        }
        false
    }

    pub(super) fn role(&self, operand: &Operand) -> Role {
        match (&operand.rest, self.lists_operands) {
            (Some(_), _) => Role::Leading,
            (None, true) => Role::Operand,
            (None, false) => Role::Inside,
        }
    }

    /// Returns the two names of an entry, if the directory exists on both sides.
    pub(super) fn sides<'a>(&'a self, operand: &'a Operand) -> Option<Sides<'a>> {
        let target = self.target.as_ref()?;
        Some(Sides {
            source: self.source_of(operand),
            target: At { directory: target.as_fd(), name: &operand.target },
        })
    }

    pub(super) fn source_of<'a>(&'a self, operand: &'a Operand) -> At<'a> {
        At { directory: self.source.as_fd(), name: &operand.source }
    }

    pub(super) fn path_of_source(&self, operand: &Operand) -> Vec<u8> {
        join(&[&self.source_path, operand.source.to_bytes()])
    }

    pub(super) fn path_of_target(&self, operand: &Operand) -> Vec<u8> {
        join(&[&self.target_path, operand.target.to_bytes()])
    }

    /// Returns the errno with which making a name in the target would fail.
    pub(super) fn may_make_names(&self) -> Result<(), Errno> {
        *self.writable.get_or_init(|| match &self.target {
            Some(target) => may_write_at(target, c".").map_err(|error| error.errno),
            None => Ok(()),
        })
    }
}

/// Drops the parents in a loop: recursion over a long chain would overflow the stack.
impl Drop for Place {
    fn drop(&mut self) {
        let mut next = self.parent.take();
        while let Some(place) = next {
            next = Rc::into_inner(place).and_then(|mut place| place.parent.take());
        }
    }
}

/// Directory that the rehearsal has not read yet.
pub(super) struct Waiting {
    pub(super) parent: Rc<Place>,
    pub(super) operand: Operand,
    pub(super) id: Identity,
    /// Device of the directory.
    pub(super) dev: u64,
    /// Whether the name of the directory may be a link.
    pub(super) follows: Follow,
    pub(super) root_dev: u64,
    /// Whether the copy would merge the directory with an existing directory in the target.
    pub(super) merges: bool,
}

impl Waiting {
    /// Opens the directory, and the directory in the target if it exists.
    pub(super) fn open(&self) -> Result<Place, (What, Errno)> {
        let Waiting { parent, operand, .. } = self;
        let fail = |what| move |error: CallError| (what, error.errno);
        let source = open_directory(&parent.source, &operand.source, self.follows)
            .map_err(fail(What::ReadDirectory))?;
        let now = fstat(&source).map_err(fail(What::Stat))?;
        if identity(&now) != self.id {
            return Err((What::Replaced, Errno::STALE));
        }
        let target = match &parent.target {
            Some(target) if self.merges => Some(
                open_directory(target, &operand.target, Follow::Yes)
                    .map_err(fail(What::OpenDirectory))?,
            ),
            _ => None,
        };
        let target_dev = target.as_ref().and_then(|target| fstat(target).ok()).map(|stat| stat.dev);
        Ok(Place {
            parent: Some(Rc::clone(parent)),
            source,
            target,
            target_dev: target_dev.unwrap_or(parent.target_dev),
            source_id: self.id,
            source_path: parent.path_of_source(operand),
            target_path: parent.path_of_target(operand),
            lists_operands: operand.rest.is_some(),
            root_dev: self.root_dev,
            writable: OnceCell::new(),
        })
    }
}
