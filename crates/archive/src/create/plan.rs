//! What the caller wants archived, and what it is told: plain data.

use std::borrow::Cow;
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use haul_io::DataPolicy;
use haul_io::digest::Algorithm;
use haul_sys::CallError;
use haul_sys::fs::Follow;

use super::mode::ModeChange;
use super::removal::Archived;
use super::tag::{Tag, TagScope};
use super::walk::Sort;
use crate::attributes::Attributes;
use crate::format::{
    Boundary, EXTENDED_REGIONS_MAX, Member, Moment, PaxOptions, REGIONS_MAX, SparseVersion,
    Unwritable, WriteFormat,
};
use crate::sharing::SHARED_BYTES;
use crate::transform::NameOf;

/// Files from this size on begin at a boundary: below it blocks are not shared, see the method
/// `reflink` of `haul-io`.
const ALIGNED_BYTES: u64 = 32 << 10;

/// An owner or group that members get instead of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// The name, which may be empty.
    pub name: Vec<u8>,
    /// The number; `None` keeps that of the file.
    pub id: Option<u64>,
}

/// How the holes of a file are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holes {
    /// The file system is asked.
    Seek,
    /// Blocks of zeros are holes.
    Raw,
}

/// What happens to the time of access of a file that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atime {
    /// The file system sets it.
    Change,
    /// It is set again to what it was.
    Replace,
    /// The file is opened so that it does not change, which only its owner may.
    Keep,
}

/// Which files are left out because they are older.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Newer {
    /// The first time that is new enough.
    pub since: Moment,
    /// Whether a change of attributes makes a file new, too.
    pub by_change: bool,
}

/// How an archive is created.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its format.
    pub format: WriteFormat,
    /// The order of a directory's entries.
    pub sort: Sort,
    /// Whether symbolic links are followed (`-h`).
    pub follow: Follow,
    /// Whether every name of a file is archived as a file of its own.
    pub copies_hard_links: bool,
    /// Whether a file with one name may come twice, as when operands overlap; then it becomes a hard
    /// link, and every file is remembered.
    pub names_may_repeat: bool,
    /// Whether names of owners are left out.
    pub numeric_owner: bool,
    /// The owner of all members.
    pub owner: Option<Owner>,
    /// The group of all members.
    pub group: Option<Owner>,
    /// Owners that members get instead of these.
    pub owner_map: HashMap<u32, Owner>,
    /// Groups likewise.
    pub group_map: HashMap<u32, Owner>,
    /// Files that mark directories to be left out; later ones count first.
    pub tags: Vec<Tag>,
    /// A change of all permissions.
    pub mode: Option<ModeChange>,
    /// The time of all members.
    pub mtime: Option<Moment>,
    /// Whether only later times are replaced by `mtime`.
    pub clamps_mtime: bool,
    /// Whether names may begin with `/` and contain `..`.
    pub absolute_names: bool,
    /// Whether directories of other file systems are not entered.
    pub stays_on_device: bool,
    /// How sparse files are written; `None` writes their holes as zeros.
    pub sparse: Option<SparseVersion>,
    /// Device and inode of the archive, and of the one that it replaces, which are never archived.
    pub archive: Vec<(u64, u64)>,
    /// Device and inode of other files that the run writes, which are not archived either.
    pub outputs: Vec<(u64, u64)>,
    /// Attributes that members get beside their usual ones.
    pub attributes: Attributes,
    /// Changes of extended headers.
    pub pax: PaxOptions,
    /// How holes are found.
    pub holes: Holes,
    /// Whether files with names that are not archived are told.
    pub checks_links: bool,
    /// What happens to the time of access of files that are read.
    pub atime: Atime,
    /// Files that are older are left out.
    pub newer: Option<Newer>,
    /// Whether files are read before it is their turn to be written.
    pub reads_ahead: bool,
    /// Whether the data of large files begin at [`SHARED_BYTES`] of the archive, so that their blocks can
    /// be shared. The format has to be [`WriteFormat::Posix`].
    pub aligns: bool,
    /// How the bytes of large files are moved into an archive that is a regular file.
    pub data: DataPolicy,
    /// Whether the data of files are neither read nor written: the archive goes nowhere.
    pub skips_data: bool,
    /// How the bytes of files are hashed on their way into the archive, for [`Report::Hashed`].
    pub hashes: Option<&'static Algorithm>,
    /// Bytes of small files in memory at most, if less than there may be otherwise.
    pub memory_bytes: u64,
    /// A flag that ends the moves of large files once it is set, after which writing fails. The run sets it,
    /// too, if the archive cannot be written.
    pub stop: Option<&'static AtomicBool>,
    /// Bytes of successive members that have one block each, at most; the next one gets another header,
    /// where the format has some, so that frames can end within a member; see
    /// [`FrameEnds`](super::FrameEnds). `None` is any number.
    pub uncut_max_bytes: Option<u64>,
    /// Number of workers, at least 1.
    pub workers: usize,
    /// The most of them on a remote file system, if they mostly wait for it; at least [`Plan::workers`].
    pub waiting_workers: usize,
}

impl Plan {
    /// Returns the plan of an archive of everything as it is, in a format, by one worker.
    #[must_use]
    pub fn new(format: WriteFormat) -> Plan {
        Plan {
            format,
            sort: Sort::None,
            follow: Follow::No,
            copies_hard_links: false,
            names_may_repeat: false,
            numeric_owner: false,
            owner: None,
            group: None,
            owner_map: HashMap::new(),
            group_map: HashMap::new(),
            tags: Vec::new(),
            mode: None,
            mtime: None,
            clamps_mtime: false,
            absolute_names: false,
            stays_on_device: false,
            sparse: None,
            archive: Vec::new(),
            outputs: Vec::new(),
            attributes: Attributes::default(),
            pax: PaxOptions::default(),
            holes: Holes::Seek,
            checks_links: false,
            atime: Atime::Change,
            newer: None,
            reads_ahead: true,
            aligns: false,
            data: DataPolicy::PLAIN,
            skips_data: false,
            hashes: None,
            memory_bytes: u64::MAX,
            stop: None,
            uncut_max_bytes: None,
            workers: 1,
            waiting_workers: 1,
        }
    }

    /// Returns whether so many bytes of data begin at a boundary.
    pub(super) const fn is_aligned(&self, data_bytes: u64) -> bool {
        self.aligns && data_bytes >= ALIGNED_BYTES
    }

    /// Returns the boundary at which the data of a member begin whose headers begin at an offset.
    pub(super) fn boundary(&self, data_bytes: u64, offset: u64) -> Option<Boundary> {
        self.is_aligned(data_bytes).then_some(Boundary { offset, bytes: SHARED_BYTES })
    }

    /// Returns whether other threads than the one that writes may read files.
    pub(super) fn may_read_elsewhere(&self) -> bool {
        self.reads_ahead && self.atime != Atime::Replace
    }

    /// Returns the number of regions that a sparse file is written with at most, so that it is read again. The
    /// empty one at its end is another one.
    pub(super) fn regions_max(&self) -> usize {
        let is_in_header = matches!(self.sparse, Some(SparseVersion::V00 | SparseVersion::V01));
        let most = match is_in_header && self.format == WriteFormat::Posix {
            true => EXTENDED_REGIONS_MAX,
            false => REGIONS_MAX,
        };
        most - 1
    }

    /// Returns whether files are written without their holes.
    pub(super) const fn keeps_holes(&self) -> bool {
        self.sparse.is_some() && self.format.has_sparse()
    }
}

/// A name that the user gave.
#[derive(Clone, Debug)]
pub struct Operand {
    /// The directory that it is relative to.
    pub directory: Arc<OwnedFd>,
    /// The name.
    pub name: Vec<u8>,
    /// Whether everything below it is archived, too.
    pub recurses: bool,
    /// Which patterns leave names out, for [`Monitor::is_excluded`].
    pub scope: usize,
    /// A number by which the caller knows it.
    pub number: usize,
}

/// What happened to a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It cannot be described.
    Stat(CallError),
    /// It cannot be opened.
    Open(CallError),
    /// The target of a symbolic link cannot be read.
    Readlink(CallError),
    /// A directory cannot be read.
    ReadDirectory(CallError),
    /// Bytes cannot be read: where, how many, and why. Zeros take their place.
    Read(u64, u64, CallError),
    /// It has this name since a run that was about to remove it was killed.
    SetAside(Vec<u8>),
    /// It was removed after its directory was read.
    Removed,
    /// It changed while it was read.
    Changed,
    /// It ended this many bytes early. Zeros take their place.
    Shrank(u64),
    /// It is a socket, which archives cannot have.
    Socket,
    /// The format has no such kind of file.
    UnknownKind,
    /// It is the archive.
    IsArchive,
    /// The run writes it, see [`Plan::outputs`].
    IsOutput,
    /// The format cannot express it.
    Unwritable(Unwritable),
    /// A file of this name marks the directory.
    Tagged(Vec<u8>, TagScope),
    /// It is older than what is wanted.
    Unchanged,
    /// The file has further names that are not in the archive.
    MissingLinks,
    /// Extended attributes, a list or the context cannot be read.
    Attributes(CallError),
    /// They are too large for an extended header that is read again, and not archived.
    AttributesTooLarge,
    /// It is wanted with its digest, and its holes are too large to be hashed.
    HolesTooLarge,
}

/// What an event means for the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Nothing.
    Warning,
    /// The archive differs from the files.
    Differs,
    /// A file is missing or incomplete.
    Failure,
}

impl Event {
    /// Returns what the event means for the run.
    #[must_use]
    pub const fn severity(&self) -> Severity {
        match self {
            Event::Socket
            | Event::IsArchive
            | Event::IsOutput
            | Event::Tagged(..)
            | Event::Unchanged
            | Event::SetAside(_)
            | Event::MissingLinks
            | Event::Attributes(_) => Severity::Warning,
            Event::Removed | Event::Changed | Event::Shrank(_) => Severity::Differs,
            _ => Severity::Failure,
        }
    }
}

/// What is reported while an archive is written, in the order of the archive.
#[derive(Clone, Copy)]
pub enum Report<'a> {
    /// A member is about to be written.
    Member {
        /// The member. Its offsets are those in the archive.
        member: &'a Member,
        /// Name of its file.
        original: &'a [u8],
        /// Number of the operand that the file is, or is below.
        operand: usize,
    },
    /// A member was written, and nothing happened to its file meanwhile. The function describes the file, for
    /// [`remove_archived`](super::remove_archived).
    Archived(&'a dyn Fn() -> Archived),
    /// The bytes of a regular file are in the archive, and nothing happened to the file meanwhile. Not reported of a
    /// name that is archived as a hard link.
    Hashed {
        /// Name of the file.
        name: &'a [u8],
        /// Digest of the bytes, holes read as zeros.
        digest: &'a [u8],
    },
    /// The device and the inode of a file whose bytes and attributes are not all in the archive, or not as they are now;
    /// also if another name of it was archived.
    Damaged((u64, u64)),
    /// Something happened to a name.
    Event(&'a [u8], &'a Event),
    /// The beginning of a name was removed.
    Removed {
        /// The beginning.
        beginning: &'a [u8],
        /// Whether the name is the target of a hard link.
        of_link: bool,
    },
    /// The thread that writes members waited so long for files.
    Waited(Duration),
}

/// Decides about names, and receives the reports.
pub trait Monitor {
    /// Returns whether a name, with all below it, is left out. `scope` is that of its operand. Called by
    /// the thread that walks.
    fn is_excluded(&self, name: &[u8], scope: usize) -> bool;

    /// Returns the name that a member or the target of a link gets instead of its own.
    fn renamed<'n>(&self, name: &'n [u8], of: NameOf) -> Cow<'n, [u8]>;

    /// Receives a report.
    fn report(&self, report: Report<'_>);
}
