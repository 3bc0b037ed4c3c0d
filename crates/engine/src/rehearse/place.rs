//! Directories of a rehearsal: a source that is open, and the target if it is there already.

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

/// A directory on both sides.
pub(super) struct Place {
    pub(super) parent: Option<Rc<Place>>,
    pub(super) source: OwnedFd,
    /// Nothing, if it would be made only then.
    pub(super) target: Option<OwnedFd>,
    pub(super) source_id: Identity,
    pub(super) source_path: Vec<u8>,
    pub(super) target_path: Vec<u8>,
    pub(super) lists_operands: bool,
    /// The device of the operand.
    pub(super) root_dev: u64,
    /// The device of the target, or of the directory that it would be made in.
    pub(super) target_dev: u64,
    /// Whether names can be made in the target, once that was asked.
    pub(super) writable: OnceCell<Result<(), Errno>>,
}

impl Place {
    /// Tells whether an ancestor (or the directory itself) is this source directory.
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

    /// Returns an entry's two names, if the directory is there on both sides.
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

    /// Returns what making a name in the target would fail with.
    pub(super) fn may_make_names(&self) -> Result<(), Errno> {
        *self.writable.get_or_init(|| match &self.target {
            Some(target) => may_write_at(target, c".").map_err(|error| error.errno),
            None => Ok(()),
        })
    }
}

/// A chain of many parents must not be dropped by recursion.
impl Drop for Place {
    fn drop(&mut self) {
        let mut next = self.parent.take();
        while let Some(place) = next {
            next = Rc::into_inner(place).and_then(|mut place| place.parent.take());
        }
    }
}

/// A directory that is to be looked into.
pub(super) struct Waiting {
    pub(super) parent: Rc<Place>,
    pub(super) operand: Operand,
    pub(super) id: Identity,
    /// The device that it is on.
    pub(super) dev: u64,
    /// Whether its name may be a link.
    pub(super) follows: Follow,
    pub(super) root_dev: u64,
    /// Whether there is one in the target that it is merged with.
    pub(super) merges: bool,
}

impl Waiting {
    /// Opens the directory, and the one in the target if it is there.
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
