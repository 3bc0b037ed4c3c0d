//! Data that one step of a copy passes to the next: an entry that the run found, and its open
//! target.

use haul_sys::sync::Mutex;
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use haul_io::block_digests::{BlockDigests, Piece};
use haul_io::publish::Unpublished;
use haul_sys::fs::{Stat, Time};
use haul_tree::Slot;

use super::turn::Turn;
use crate::data::request::Changes;
use crate::decide::Contents;
use crate::journal::Sum;
use crate::metadata::{Flags, Kept};
use crate::names::at::OwnedAt;
use crate::names::by_identity::Identity;
use crate::names::known_names::SourceState;
use crate::sync::basis::{Basis, Search};

/// Entry that the run has found.
pub(crate) struct Item {
    pub(super) slot: Slot,
    pub(super) contents: Contents,
    /// Source of the bytes, once the run knows that it copies them.
    pub(super) source: Option<OwnedFd>,
    /// Description of what the run copies.
    pub(super) stat: Stat,
    /// A moment that precedes the description.
    pub(super) described_after: Time,
    /// Description of the name itself, without following a symbolic link.
    pub(super) link: Stat,
    /// Backup name of the file that had the target name.
    pub(super) backup: Option<CString>,
    /// Whether an earlier operand has a directory of this name.
    pub(super) is_shared: bool,
    /// Whether the existing file has the content already, and its attributes alone differ.
    pub(super) is_same: bool,
    /// What the run looks for in other directories.
    pub(super) search: Search,
    /// The entry of another directory that fits best, if the run looks for one and has found it.
    pub(super) basis: Option<Basis>,
    /// What a synchronisation changes, once the target name has been looked at and is taken.
    pub(super) changes: Option<Changes>,
    /// Target, once the run has made it and its bytes are still missing.
    pub(super) target: Option<Target>,
}

impl Item {
    /// Returns an entry of which the run knows only what it found. `link` describes the name itself.
    pub(super) fn found(
        slot: Slot,
        contents: Contents,
        [stat, link]: [Stat; 2],
        described_after: Time,
    ) -> Item {
        Item {
            slot,
            contents,
            source: None,
            stat,
            described_after,
            link,
            backup: None,
            is_shared: false,
            is_same: false,
            search: Search::Best,
            basis: None,
            changes: None,
            target: None,
        }
    }
}

/// Regular file, or a FIFO or device in place of one, whose bytes are still missing.
pub(crate) struct Target {
    pub(crate) fd: OwnedFd,
    /// Mode that the run made the file with; `None` if the file existed before.
    pub(crate) mode: Option<u32>,
    /// Identity of the file, if this run made it and has described it.
    pub(crate) id: Option<Identity>,
    /// A moment that precedes the description of the source.
    pub(crate) described_after: Time,
    /// Description of the file before the run opened it, if the file existed.
    pub(crate) before: Option<Stat>,
    /// Whether the name is a symbolic link to the file.
    pub(crate) through_link: bool,
    /// Whether another process had the source open for writing when the copy began: its state then proves
    /// nothing, because writes through a mapping need not change the times.
    pub(crate) may_change: bool,
    /// Right to write to the file, if other entries may lead to it.
    pub(crate) turn: Option<Turn>,
    /// State of the source by which its other names find this one, if it has others.
    pub(crate) leads_links: Option<SourceState>,
    /// Backup name of the file that had the target name, which the run restores if the copy fails.
    pub(crate) backup: Option<CString>,
    /// Block digests of the file's bytes, if the run takes any.
    pub(crate) digests: Option<Arc<BlockDigests>>,
    /// How the file gets its name; `None` once it has the name.
    pub(crate) temporary: Option<Box<Temporary>>,
    /// Record from which a later run can resume, if this run does not complete the file.
    pub(crate) partial: Option<Arc<Resumable>>,
    /// Flags of the source, once they have been read.
    pub(crate) flags: Flags,
    /// Whether the attributes that it got so far are complete.
    pub(crate) kept: Kept,
}

impl Target {
    /// Returns a target that is open and has its name, and about which nothing else is known.
    pub(super) fn open(
        fd: OwnedFd,
        described_after: Time,
        digests: Option<Arc<BlockDigests>>,
    ) -> Target {
        Target {
            fd,
            mode: None,
            id: None,
            described_after,
            before: None,
            through_link: false,
            may_change: false,
            turn: None,
            leads_links: None,
            backup: None,
            digests,
            temporary: None,
            partial: None,
            flags: Flags::default(),
            kept: Kept::All,
        }
    }
}

/// Files that follow in the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Upcoming {
    /// Other files that are large enough for a worker of their own.
    Large,
    /// No such files.
    Small,
}

/// Items of a batch; the worker reuses the value to keep its allocation.
#[derive(Default)]
pub(crate) struct Batch {
    pub(super) items: Vec<Item>,
}

/// State of the name, as seen from the file that gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Onto {
    /// The name was free.
    Free,
    /// The name belongs to another file that the run has described; the new file inherits its owner
    /// and permission bits.
    Replaced(Stat),
    /// Like [`Onto::Replaced`], but the name is a symbolic link to that file: the new file gets the
    /// name of the referent.
    Referent(Stat),
    /// The name belongs to another file, and the new file inherits nothing from it.
    Overwritten,
}

/// File that does not have its final name yet.
pub(crate) struct Temporary {
    /// Place of the name, if it is not in the entry's own directory.
    pub(super) elsewhere: Option<OwnedAt>,
    /// The file's name until then.
    pub(super) unpublished: Unpublished,
    pub(super) onto: Onto,
}

/// Large file that the run is writing and that a later run can resume.
pub(crate) struct Resumable {
    /// Identifier of the file in the journal records of its pieces.
    pub(super) id: Option<Sum>,
    /// Digests of the pieces: those that verify the file, or digests taken only for the journal.
    pub(super) digests: Arc<BlockDigests>,
    pub(super) is_own: bool,
    /// Number of pieces that the journal has recorded, if the digests also verify the file.
    pub(super) told: Mutex<usize>,
    /// Bytes that the run has moved since the last record.
    pub(super) moved: AtomicU64,
    /// Pieces that an earlier run recorded.
    pub(super) earlier: Mutex<Vec<Piece>>,
    /// Whether the journal has a record of any piece, so that a later run can resume.
    pub(super) is_told: AtomicBool,
}
