//! One file's bytes to be moved: everything that moving them needs to know.

use std::ops::Range;
use std::os::fd::BorrowedFd;

use haul_sys::data::{ftruncate, pread};
use haul_sys::fs::{Kind, Stat, fstat};

use crate::cache::residency::{Asked, Cached, SAMPLED_BYTES, cached_bytes};
use crate::digest::block_digests::BlockDigests;
use crate::method::error::DataError;
use crate::method::pair::Pair;
use crate::method::policy::{DataPolicy, Tell};
use crate::method::sides::Which;
use crate::system::kit::Watch;
use crate::system::quirk::ReportedSize;
use crate::system::retry::retrying;

/// What happened to a source while its bytes were read, as far as `fstat` shows, and that description.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    #[default]
    None,
    /// Its mode, owner or number of names changed (`chmod`, `chown`, `ln`), which explains its new
    /// ctime; its size and mtime did not.
    Attributes(Stat),
    /// Its ctime changed and nothing else: it was renamed, or an attribute was set, or its bytes were
    /// written and its mtime was set back.
    Unexplained(Stat),
    /// Its size or mtime changed.
    Bytes,
}

/// A part of a source, and where it goes in the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Offset of the first byte in the source.
    pub source_offset: u64,
    /// Offset of the first byte in the target.
    pub target_offset: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// What lies behind the extent in the target.
    pub behind: Behind,
}

/// What lies behind an extent in the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// Nothing: the target ends where the extent does. What was written behind the first gap of a
    /// transfer that failed is cut off.
    Nothing,
    /// Bytes that stay. One worker moves the extent in order, in multiples of `unit_bytes`, so that
    /// nothing is written behind the units that the caller counts.
    Bytes {
        /// Number of bytes of a unit, at least 1.
        unit_bytes: u64,
    },
    /// Other parts of the same copy, which other processes write at the same time: nothing is cut, no
    /// space is reserved, and the size is left to the process that completes the file.
    OtherParts,
}

/// Who uses a job's open files. The position and the flags of an open file belong to all who use it
/// (open(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OpenFiles {
    /// Only the workers of this job.
    #[default]
    Own,
    /// One of the two is used by other threads as well, at the same time: methods that use its position do
    /// not fit, and its bytes take the way through the page cache, because `O_DIRECT` is a flag.
    Shared(Which),
}

/// Everything about one file that moving its bytes needs.
#[derive(Clone, Copy)]
pub struct FileJob<'a> {
    /// Where the bytes come from.
    pub source: BorrowedFd<'a>,
    /// Where they go: empty, and open for writing.
    pub target: BorrowedFd<'a>,
    /// What the source was when it was opened.
    pub stat: &'a Stat,
    /// What kind of file the target is.
    pub target_kind: Kind,
    /// The two file systems.
    pub pair: &'a Pair,
    /// The run's policy.
    pub policy: &'a DataPolicy,
    /// The part of the source that is wanted; `None` is the whole file, to the same offsets.
    pub extent: Option<Extent>,
    /// Digests of the blocks as they are read, where they are recorded.
    pub digests: Option<&'a BlockDigests>,
    /// Who else uses `source` and `target`.
    pub open_files: OpenFiles,
}

impl<'a> FileJob<'a> {
    /// Returns the job of moving a whole file to an empty regular one. `stat` describes the source as
    /// it was when it was opened.
    #[must_use]
    pub const fn whole(
        source: BorrowedFd<'a>,
        target: BorrowedFd<'a>,
        stat: &'a Stat,
        pair: &'a Pair,
        policy: &'a DataPolicy,
    ) -> FileJob<'a> {
        FileJob {
            source,
            target,
            stat,
            target_kind: Kind::Regular,
            pair,
            policy,
            extent: None,
            digests: None,
            open_files: OpenFiles::Own,
        }
    }

    /// Returns the same job where other threads use one of the open files at the same time.
    #[must_use]
    pub const fn sharing(self, which: Which) -> FileJob<'a> {
        FileJob { open_files: OpenFiles::Shared(which), ..self }
    }

    /// Moves only a part of the source.
    #[must_use]
    pub const fn part(self, extent: Extent) -> FileJob<'a> {
        FileJob { extent: Some(extent), ..self }
    }

    pub(crate) fn source_pages(&self) -> Asked<'a> {
        Asked { fd: self.source, quirk: self.pair.source }
    }

    pub(crate) fn target_pages(&self) -> Asked<'a> {
        Asked { fd: self.target, quirk: self.pair.target }
    }

    /// Returns the range of the source that is wanted.
    pub(crate) fn wanted(&self) -> Range<u64> {
        match self.extent {
            Some(extent) => extent.source_offset..extent.source_offset + extent.bytes,
            None => 0..self.stat.size,
        }
    }

    /// Returns the number of bytes that are wanted.
    pub(crate) fn bytes(&self) -> u64 {
        self.extent.map_or(self.stat.size, |extent| extent.bytes)
    }

    /// Returns where a byte of the source goes in the target.
    pub(crate) fn target_at(&self, source_offset: u64) -> u64 {
        match self.extent {
            Some(extent) => extent.target_offset + (source_offset - extent.source_offset),
            None => source_offset,
        }
    }

    /// Returns the range of the target to which a range of the source goes.
    pub(crate) fn in_target(&self, range: &Range<u64>) -> Range<u64> {
        self.target_at(range.start)..self.target_at(range.end)
    }

    /// Returns the offset in the source at which the target ends, so that what lies behind may be padding for
    /// a moment; `None` if the target has other bytes behind the job's.
    pub(crate) fn file_end(&self) -> Option<u64> {
        self.ends_target().then(|| self.wanted().end)
    }

    /// Returns the size by which the policy decides about the page cache: that of the whole file, where
    /// other processes move other parts.
    pub(crate) fn cached_bytes(&self) -> u64 {
        if self.is_part_among_others() { self.stat.size } else { self.bytes() }
    }

    /// Returns whether other processes write other parts of the target.
    pub(crate) fn is_part_among_others(&self) -> bool {
        self.extent.is_some_and(|extent| extent.behind == Behind::OtherParts)
    }

    /// Returns whether the target ends where the job's bytes do.
    pub(crate) fn ends_target(&self) -> bool {
        self.extent.is_none_or(|extent| extent.behind == Behind::Nothing)
    }

    /// Returns for how many files of the run residency is asked of this one.
    pub(crate) fn stands_for(&self) -> u64 {
        match self.policy.tell {
            Tell::Nothing => 0,
            Tell::Residency if self.stat.size < SAMPLED_BYTES => self.pair.small_file_stands_for(),
            Tell::Residency | Tell::Everything => 1,
        }
    }

    /// Returns what is cached of both files now.
    pub(crate) fn cached(&self) -> Cached {
        Cached {
            source: cached_bytes(self.source_pages(), 0, self.stat.size),
            target: cached_bytes(self.target_pages(), 0, self.stat.size),
        }
    }

    /// Sets the target's size to less than it will have, by the block that comes last.
    pub(crate) fn set_size_below(&self, watch: &Watch<'_>) -> Result<(), DataError> {
        let unit = DataPolicy::IO_UNIT as u64;
        let size = (self.target_at(self.wanted().end) - 1) / unit * unit;
        Ok(retrying(watch, || ftruncate(self.target, size))?)
    }

    /// Returns whether a source whose size is only claimed gives bytes behind that.
    pub(crate) fn has_more(&self, watch: &Watch<'_>) -> Result<bool, DataError> {
        if self.pair.source.reported_size != ReportedSize::Claimed {
            return Ok(false);
        }
        let mut byte = [0];
        Ok(retrying(watch, || pread(self.source, &mut byte, self.stat.size))? > 0)
    }

    /// Returns how the source differs from what it was when it was opened.
    pub(crate) fn change(&self) -> Result<Change, DataError> {
        let now = fstat(self.source)?;
        let was = self.stat;
        let shown = |stat: &Stat| (stat.nlink, stat.mode, stat.uid, stat.gid);
        Ok(if (now.size, now.mtime) != (was.size, was.mtime) {
            Change::Bytes
        } else if now.ctime == was.ctime {
            Change::None
        } else if shown(&now) == shown(was) {
            Change::Unexplained(now)
        } else {
            Change::Attributes(now)
        })
    }
}
