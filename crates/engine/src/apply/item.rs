//! What the steps of a copy hand to one another: an entry that was found, and its open target.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use haul_io::block_digests::{BlockDigests, Piece};
use haul_sys::fs::Stat;
use haul_tree::Slot;

use crate::journal::Sum;
use crate::walk::node::Origin;

/// The source of an entry, once it is found.
pub(crate) enum Content {
    /// Bytes: a regular file, or a FIFO or device that is read like one. Opened, or to be opened
    /// when it is known that they are wanted.
    Data(Option<OwnedFd>),
    /// A directory.
    Directory,
    /// A symbolic link that is copied.
    Symlink,
    /// A FIFO, a socket or a device that is made anew.
    Special,
}

/// An entry that was found.
pub(crate) struct Item {
    pub(super) slot: Slot,
    pub(super) content: Content,
    /// What is copied.
    pub(super) stat: Stat,
    /// What the name itself is.
    pub(super) link: Stat,
    /// The name that what was there got.
    pub(super) backup: Option<CString>,
    /// The target, once it is made and waits for its bytes.
    pub(super) target: Option<Target>,
}

/// A regular file (or what stands in its place) that waits for its bytes.
pub(crate) struct Target {
    pub(crate) fd: OwnedFd,
    /// The mode it was made with; `None` if it was there before.
    pub(crate) mode: Option<u32>,
    /// What it was before, if it was there.
    pub(crate) before: Option<Stat>,
    /// Whether other names of the source wait for this one.
    pub(crate) leads_links: bool,
    /// The name that what was there got, to be given back if this does not come about.
    pub(crate) backup: Option<CString>,
    /// Who remembers its bytes, if anybody.
    pub(crate) digests: Option<Arc<BlockDigests>>,
    /// How it gets its name, if it has not got it yet.
    pub(crate) temporary: Option<Box<Temporary>>,
    /// What a later run can go on with, if this one does not complete it.
    pub(crate) partial: Option<Arc<Resumable>>,
}

impl Target {
    /// A file that is open, has its name, and of which nothing else is known.
    pub(super) fn open(fd: OwnedFd, digests: Option<Arc<BlockDigests>>) -> Target {
        Target {
            fd,
            mode: None,
            before: None,
            leads_links: false,
            backup: None,
            digests,
            temporary: None,
            partial: None,
        }
    }
}

/// What follows a file in its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Follow {
    /// Others that are worth a worker of their own.
    Large,
    /// None such.
    Small,
}

/// The items of a batch; kept, so that its memory is.
#[derive(Default)]
pub(crate) struct Batch {
    pub(super) items: Vec<Item>,
}

/// What the name is to be to the file that gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Onto {
    /// It was free.
    Free,
    /// It is another file's, which was seen, and whose owner and bits the new one takes over.
    Replaced(Stat),
    /// It is another file's, and the new one has nothing to do with that.
    Overwritten,
}

/// A directory other than the entry's own, and the name there.
pub(crate) struct Elsewhere {
    pub(super) directory: OwnedFd,
    pub(super) name: CString,
}

/// A file that is on its way to its name.
pub(crate) struct Temporary {
    pub(super) elsewhere: Option<Elsewhere>,
    /// The name that it has meanwhile, if it has one.
    pub(super) hidden: Option<CString>,
    pub(super) onto: Onto,
    pub(super) origin: Origin,
}

/// A large file that is on its way.
pub(crate) struct Resumable {
    /// How records of its pieces name it.
    pub(super) id: Sum,
    /// Who remembers the pieces: the one that proves the file, or one of its own.
    pub(super) digests: Arc<BlockDigests>,
    pub(super) is_own: bool,
    /// How many pieces of a digests that is not its own were told.
    pub(super) told: Mutex<usize>,
    /// Bytes that were moved since.
    pub(super) moved: AtomicU64,
    /// What an earlier run has told of it.
    pub(super) earlier: Mutex<Vec<Piece>>,
    /// Whether the journal tells of any piece, so that there is something to go on with.
    pub(super) is_told: AtomicBool,
}
