//! Index of the records of earlier runs, of all volumes of a journal: each entry looks it up, so it is
//! small and immutable.

use std::collections::HashMap;

use haul_sys::fs::{Stat, Time};

use super::record::Read;
use super::sums::Sum;

/// Place of a record: the volume, and where the record is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(super) volume: u64,
    pub(super) offset: u64,
    pub(super) bytes: usize,
}

/// Large file that an earlier run was writing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Begun {
    /// Checksum of the record, which identifies the file in the records of its pieces.
    pub(crate) id: Sum,
    /// Encoded description of the source at that time.
    pub(crate) source: Vec<u8>,
    pub(crate) ino: u64,
    pub(crate) hidden: Vec<u8>,
    /// Places of the piece records in the journal.
    pub(super) told: Vec<Told>,
}

impl Begun {
    /// Returns whether any piece of the file is recorded.
    pub(crate) const fn has_pieces(&self) -> bool {
        !self.told.is_empty()
    }
}

/// Contents of all records of a journal. A finished entry takes 16 bytes.
#[derive(Debug, Default)]
pub(super) struct Index {
    finished: Vec<Sum>,
    digests: HashMap<Sum, Vec<u8>>,
    /// Large files, by place. Several attempts at one file may be recorded; each has its own hidden
    /// name. Volumes have no common order, so it is not known which one is the last.
    parts: HashMap<Vec<u8>, Vec<Begun>>,
    /// Records of pieces, by the checksum of the file's record, which may be in a volume that is read
    /// later.
    pieces: HashMap<Sum, Vec<Told>>,
    directories: HashMap<Vec<u8>, u32>,
    /// Time at which a run was last complete.
    completed_at: Option<Time>,
}

impl Index {
    /// Adds a record of this place.
    pub(super) fn take(&mut self, sum: Sum, record: &Read<'_>, told: Told) {
        match record {
            Read::Finished => self.finished.push(sum),
            Read::Part { source, ino, hidden, place } => {
                let (source, hidden) = (source.to_vec(), hidden.to_vec());
                let begun = Begun { id: sum, source, ino: *ino, hidden, told: Vec::new() };
                let attempts = self.parts.entry(place.to_vec()).or_default();
                if attempts.iter().all(|attempt| attempt.id != sum) {
                    attempts.push(begun);
                }
            }
            Read::Pieces { part } => self.pieces.entry(*part).or_default().push(told),
            Read::Directory { mode, place } => {
                self.directories.insert(place.to_vec(), *mode);
            }
            Read::Digest { finished, digest } => {
                self.digests.insert(*finished, digest.to_vec());
            }
            Read::Complete { at, .. } => self.completed_at = Some(*at),
            Read::Volumes { .. } => {}
        }
    }

    /// Prepares the lookup, after the records of all volumes were added.
    pub(super) fn settle(&mut self) {
        self.finished.sort_unstable();
        self.finished.dedup();
        self.finished.shrink_to_fit();
        for begun in self.parts.values_mut().flatten() {
            begun.told = self.pieces.remove(&begun.id).unwrap_or_default();
        }
        self.pieces = HashMap::new();
    }

    /// Returns whether there is nothing to resume from.
    pub(super) fn is_empty(&self) -> bool {
        self.finished.is_empty() && self.parts.is_empty() && self.directories.is_empty()
    }

    pub(super) fn has_finished(&self) -> bool {
        !self.finished.is_empty()
    }

    pub(super) fn is_finished(&self, sum: Sum) -> bool {
        self.finished.binary_search(&sum).is_ok()
    }

    /// Returns whether a file was changed after a run was complete, as its ctime shows.
    pub(super) fn has_changed_since_completion(&self, target: &Stat) -> bool {
        self.completed_at.is_some_and(|at| target.ctime > at)
    }

    pub(super) fn digest(&self, finished: Sum) -> Option<&[u8]> {
        self.digests.get(&finished).map(Vec::as_slice)
    }

    /// Returns the attempts at a large file; in one volume a later one follows an earlier one.
    pub(super) fn parts(&self, place: &[u8]) -> &[Begun] {
        self.parts.get(place).map_or(&[], Vec::as_slice)
    }

    pub(super) fn directory(&self, place: &[u8]) -> Option<u32> {
        self.directories.get(place).copied()
    }

    #[cfg(test)]
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        (self.finished.len(), self.parts.len(), self.directories.len())
    }
}
