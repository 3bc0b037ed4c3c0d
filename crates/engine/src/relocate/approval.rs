//! Decides which entries of a source may be removed: those that were copied and have not changed
//! since.
//!
//! An entry is approved if the run has copied this inode in its present state. In three cases the
//! state proves nothing: it changed, the clock is too coarse to show a change, or an earlier run
//! copied the entry. The entry is then compared with its copy, byte by byte and attribute by
//! attribute. An entry that passes neither check stays. The state of a directory shows changes only
//! before its first entry is removed, so afterwards its mode and owner have to be the same.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use haul_io::fully::read_fully;
use haul_io::hidden::name_below;
use haul_io::quirk::Evidence;
use haul_sys::CallError;
use haul_sys::fs::{
    Follow, Kind, OpenHow, Stat, Time, fstat, open_directory, openat, readlinkat, statat,
};

use super::copy_place;
use super::linked::LinkedFiles;
use crate::copy::copied_entries::CopiedEntries;
use crate::data::monitor::Candidate;
use crate::metadata::copied_attributes;
use crate::names::at::{At, OwnedAt};
use crate::names::path::split;
use crate::names::timestamp_precision;

/// Number of bytes that are compared at once: both blocks fit into the cache of one core.
pub(super) const COMPARED_BYTES: usize = 256 << 10;

/// The entries that this run has copied.
pub(super) struct Copied {
    pub(super) entries: CopiedEntries,
    /// Time before the first of them was read.
    pub(super) since: Time,
    /// Whether an operand of the same batch failed and its copy was removed. An entry that was
    /// copied there must be found in the copy of its present operand.
    pub(super) has_failed_operands: bool,
    /// Files with several names, in the state after this run removed one of the names.
    pub(super) with_fewer_names: CopiedEntries,
}

impl Copied {
    /// Creates an empty record. The caller creates it before it reads any source.
    pub(super) fn new() -> Copied {
        Copied {
            entries: CopiedEntries::default(),
            since: timestamp_precision::now(),
            has_failed_operands: false,
            with_fewer_names: CopiedEntries::default(),
        }
    }

    /// Returns whether an entry was copied in its present state and, by its times, did not change
    /// within the same tick of its file system's clock. Removing a name of a file sets its ctime,
    /// so for such a file the check uses its mtime.
    fn proves(&self, stat: &Stat) -> bool {
        match stat.kind() {
            Kind::Directory => self.entries.contains(stat) && self.entries.contains_directory(stat),
            _ => {
                (timestamp_precision::precedes(stat.ctime, self.since)
                    && self.entries.contains(stat))
                    || (timestamp_precision::precedes(stat.mtime, self.since)
                        && self.with_fewer_names.contains(stat))
            }
        }
    }
}

/// Decides which entries are removed.
pub(super) struct Approval<'a> {
    /// The copied entries; `None` if an earlier run has copied them.
    pub(super) copied: Option<&'a Copied>,
    /// The directory that contains the copies.
    pub(super) directory: BorrowedFd<'a>,
    /// The name in that directory that each source was copied to. The key is the source without
    /// trailing slashes.
    pub(super) copies: HashMap<Vec<u8>, Vec<u8>>,
    /// Copies of files with several names, also of earlier batches.
    pub(super) linked: &'a LinkedFiles,
    /// What shows on the copies' file system that one of them is stored.
    pub(super) evidence: Evidence,
}

/// Length from which ext4 keeps the text of a symbolic link in a block (`ext4_inode_is_fast_symlink`).
/// Before Linux 5.19 that block is allocated when it is written back, which may fail without an error.
const LINK_BLOCK_BYTES: u64 = 60;

impl Approval<'_> {
    /// Returns whether an entry may be removed. Blocks while it compares the entry with its copy.
    pub(super) fn approves(&self, candidate: &Candidate<'_>) -> bool {
        let stat = candidate.stat;
        let is_verified =
            !self.has_to_be_read(stat) && self.copied.is_some_and(|copied| copied.proves(stat));
        let was_taken_away = self.copied.is_some_and(|copied| copied.has_failed_operands);
        if is_verified {
            return !was_taken_away || self.has_twin(candidate);
        }
        match (stat.kind(), self.copied) {
            (Kind::Directory, Some(copied)) => {
                copied.entries.contains_directory(stat)
                    && self.has_same_list(candidate).unwrap_or(false)
                    && (!was_taken_away || self.has_twin(candidate))
            }
            (Kind::Directory, None) => self.has_twin(candidate),
            _ => self.is_copied(candidate).unwrap_or(false),
        }
    }

    /// Returns whether only the copy itself, read after the flush, shows that it is stored. A file has shown
    /// that when it was copied, and a link has no extents to show.
    fn has_to_be_read(&self, stat: &Stat) -> bool {
        let is_long_link = stat.kind() == Kind::Symlink && stat.size >= LINK_BLOCK_BYTES;
        is_long_link && self.evidence == Evidence::Extents
    }

    /// Records that a copied file has not changed except that it has one name less.
    pub(super) fn unlinked(&self, before: &Stat, after: &Stat) {
        let is_same = (before.size, before.mtime) == (after.size, after.mtime);
        let Some(copied) = self.copied.filter(|_| is_same) else { return };
        self.linked.unlinked(after);
        if copied.proves(before) {
            copied.with_fewer_names.insert(after);
        }
    }

    /// Keeps the links between an approved entry and names of its file that are copied in other
    /// batches. Fails with the path of the entry's copy.
    pub(super) fn keep_links(&self, candidate: &Candidate<'_>) -> Result<(), (Vec<u8>, CallError)> {
        if self.copied.is_none() {
            return Ok(());
        }
        let path = || self.path_of_copy(&(candidate.path)());
        let kept = self.linked.keep_links(self.directory, candidate.stat, path);
        kept.map_err(|error| (path().unwrap_or_default(), error))
    }

    /// Returns the path of an entry's copy, relative to the directory of the copies.
    fn path_of_copy(&self, path: &[u8]) -> Option<Vec<u8>> {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        ends.chain([path.len()]).find_map(|end| {
            let (source, rest) = path.split_at_checked(end)?;
            let path = [self.copies.get(source)?, rest].concat();
            Some(if self.copied.is_none() { named_below(path) } else { path })
        })
    }

    /// Finds the place of an entry's copy: its directory, which is opened without following
    /// symbolic links, and its name there.
    fn place_of_copy(&self, path: &[u8]) -> Option<(OwnedFd, CString)> {
        let OwnedAt { directory, name } =
            copy_place::find(self.directory, &self.path_of_copy(path)?)?;
        Some((directory, name))
    }

    /// Returns whether an entry of the same kind and size exists at the place of the copy.
    fn has_twin(&self, candidate: &Candidate<'_>) -> bool {
        let stat = candidate.stat;
        self.place_of_copy(&(candidate.path)()).is_some_and(|(directory, name)| {
            statat(&directory, &name).is_ok_and(|there| {
                there.kind() == stat.kind()
                    && !there.same_file(stat)
                    && (stat.kind() != Kind::Regular || there.size == stat.size)
            })
        })
    }

    /// Returns whether a directory and its copy have the same extended attributes. Returns `None` if
    /// the comparison is impossible.
    fn has_same_list(&self, candidate: &Candidate<'_>) -> Option<bool> {
        let open = |directory: BorrowedFd<'_>, name: &CStr| {
            open_directory(directory, name, Follow::No).and_then(|fd| Ok((fstat(&fd)?, fd))).ok()
        };
        let (stat, source) = open(candidate.directory, candidate.name)?;
        let attributes = copied_attributes(source.as_fd()).ok()?;
        let (directory, name) = self.place_of_copy(&(candidate.path)())?;
        let (_, copy) = open(directory.as_fd(), &name)?;
        let is_same = attributes == copied_attributes(copy.as_fd()).ok()?;
        Some(is_same && stat.same_file(candidate.stat))
    }

    /// Returns whether an entry whose state proves nothing has the owner and the mode of its copy.
    fn has_same_owner_and_mode(&self, stat: &Stat, there: &Stat) -> bool {
        // The copy of an earlier run may lack what the target could not store.
        let Some(copied) = self.copied else { return true };
        // In the state that was copied, only the clock is too coarse for certainty.
        let is_known = copied.entries.contains(stat) || copied.with_fewer_names.contains(stat);
        // Some file systems give symbolic links another mode; it has no effect.
        let is_link = stat.kind() == Kind::Symlink;
        let is_same_mode = is_link || stat.permissions() == there.permissions();
        is_known || (is_same_mode && (stat.uid, stat.gid) == (there.uid, there.gid))
    }

    /// Compares an entry with its copy. Returns `None` if the comparison is impossible.
    fn is_copied(&self, candidate: &Candidate<'_>) -> Option<bool> {
        let stat = candidate.stat;
        let (directory, name) = self.place_of_copy(&(candidate.path)())?;
        let there = statat(&directory, &name).ok()?;
        let is_alike = stat.kind() == there.kind() && !there.same_file(stat);
        if !is_alike || !self.has_same_owner_and_mode(stat, &there) {
            return Some(false);
        }
        let step_ns = timestamp_precision::step_ns(&there, &directory);
        let copy = At { directory: directory.as_fd(), name: &name };
        Some(match stat.kind() {
            Kind::Regular => {
                stat.size == there.size
                    && timestamp_precision::is_same(there.mtime, stat.mtime, step_ns)
                    && self.is_same_file(candidate, copy, &there)?
            }
            Kind::Symlink => {
                let text = readlinkat(candidate.directory, candidate.name).ok()?;
                text == readlinkat(&directory, &name).ok()?
            }
            _ => stat.rdev == there.rdev,
        })
    }

    /// Compares two files. Both must have the given states before and after the comparison. The
    /// source is examined last, and by name, because the removal of that name comes next.
    fn is_same_file(&self, candidate: &Candidate<'_>, copy: At<'_>, there: &Stat) -> Option<bool> {
        let source = openat(candidate.directory, candidate.name, OpenHow::READ).ok()?;
        let copy = openat(copy.directory, copy.name, OpenHow::READ).ok()?;
        let is_still = |now: haul_sys::Result<Stat>, seen: &Stat| {
            now.is_ok_and(|now| now.same_file(seen) && now.is_unchanged(seen))
        };
        // Mode and attributes of an entry that this run has copied may have changed since. For an
        // entry that an earlier run has copied, the attributes that the target could not store are
        // unknown.
        let keeps_attributes = self.copied.is_none()
            || (candidate.stat.permissions() == there.permissions()
                && copied_attributes(source.as_fd()).ok()?
                    == copied_attributes(copy.as_fd()).ok()?);
        let mut buffers = [vec![0; COMPARED_BYTES], vec![0; COMPARED_BYTES]];
        let same = keeps_attributes
            && is_still(fstat(&source), candidate.stat)
            && same_bytes(&source, &copy, &mut buffers).ok()?;
        drop(source);
        Some(
            same && is_still(fstat(&copy), there)
                && is_still(statat(candidate.directory, candidate.name), candidate.stat),
        )
    }
}

/// Returns the path that an entry had before the run that was killed set it aside to remove it.
fn named_below(path: Vec<u8>) -> Vec<u8> {
    let (directory, name) = split(&path);
    match name_below(name) {
        Some(own) => [directory, own].concat(),
        None => path,
    }
}

/// Compares the bytes of two open files, from the beginning to the end of both.
pub(super) fn same_bytes(
    one: impl AsFd,
    other: impl AsFd,
    [left, right]: &mut [Vec<u8>; 2],
) -> haul_sys::Result<bool> {
    let mut offset = 0;
    loop {
        let length = read_fully(&one, left, offset)?;
        let twin = read_fully(&other, right, offset)?;
        if left.get(..length) != right.get(..twin) {
            return Ok(false);
        }
        if length == 0 {
            return Ok(true);
        }
        offset += length as u64;
    }
}
