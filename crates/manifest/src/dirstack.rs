//! The chain of directories from a root down to the current directory of a walk.
//!
//! A tree may be deeper than the number of files a process may have open. Only the lowest few
//! directories of the chain stay open; the walk reopens the others through `..` on the way up, and
//! accepts them only if they are still the same inode.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::failure::{Action, During, Step};
use crate::node::{Attributes, FileId, Place, open_reading};

/// How many directories above the current one stay open. With four, nearly every ascent needs no
/// `openat`, and two chains with their files still fit into twenty descriptors.
const OPEN_ANCESTORS: usize = 4;

struct Ancestor {
    id: FileId,
    fd: Option<OwnedFd>,
}

/// A chain of open directories, one of which is current.
pub(crate) struct DirStack {
    current: OwnedFd,
    current_id: FileId,
    ancestors: Vec<Ancestor>,
}

impl DirStack {
    pub(crate) fn new(root: OwnedFd) -> Step<Self> {
        let current_id = Attributes::of(&root)?.id;
        Ok(Self { current: root, current_id, ancestors: Vec::new() })
    }

    pub(crate) fn current(&self) -> BorrowedFd<'_> {
        self.current.as_fd()
    }

    /// Returns the inode number of the current directory.
    pub(crate) fn current_ino(&self) -> u64 {
        self.current_id.ino
    }

    /// Makes `child`, a subdirectory of the current directory, the current directory.
    pub(crate) fn push(&mut self, child: OwnedFd) -> Step<()> {
        let child_id = Attributes::of(&child)?.id;
        let parent = std::mem::replace(&mut self.current, child);
        self.ancestors.push(Ancestor { id: self.current_id, fd: Some(parent) });
        self.current_id = child_id;
        let too_many = self.ancestors.len().checked_sub(OPEN_ANCESTORS + 1);
        if let Some(ancestor) = too_many.and_then(|index| self.ancestors.get_mut(index)) {
            ancestor.fd = None;
        }
        Ok(())
    }

    /// Makes the parent the current directory, and returns the previous one, or `None` if that was
    /// the root.
    ///
    /// Fails with `ESTALE` if `..` no longer leads to the parent. The chain is then invalid and the
    /// walk must end.
    pub(crate) fn pop(&mut self) -> Step<Option<OwnedFd>> {
        let Some(ancestor) = self.ancestors.pop() else {
            return Ok(None);
        };
        let parent = match ancestor.fd {
            Some(fd) => fd,
            None => self.reopen_parent(ancestor.id)?,
        };
        self.current_id = ancestor.id;
        Ok(Some(std::mem::replace(&mut self.current, parent)))
    }

    fn reopen_parent(&self, id: FileId) -> Step<OwnedFd> {
        let place = Place::below(self.current(), c"..");
        let fd = open_reading(place, OFlags::DIRECTORY).during(Action::Return)?;
        let found = Attributes::of(&fd)?.id;
        if found == id { Ok(fd) } else { Err((Action::Return, Errno::STALE)) }
    }
}
