//! Index of the records of an earlier run: each entry looks it up, so it is small and immutable.

use std::collections::HashMap;

use haul_sys::fs::{Stat, Time};

use super::record::Read;
use super::sums::Sum;

/// Large file that the earlier run was writing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Begun {
    /// Checksum of the record, which identifies the file in the records of its pieces.
    pub(crate) id: Sum,
    /// Encoded description of the source at that time.
    pub(crate) source: Vec<u8>,
    pub(crate) ino: u64,
    pub(crate) hidden: Vec<u8>,
    /// Places of the piece records in the journal: offset and length.
    pub(crate) told: Vec<(u64, usize)>,
}

/// Contents of all records of a journal. A finished entry takes 16 bytes.
#[derive(Debug, Default)]
pub(super) struct Index {
    finished: Vec<Sum>,
    digests: HashMap<Sum, Vec<u8>>,
    /// Large files, by place.
    parts: HashMap<Vec<u8>, Begun>,
    /// Place of a large file, by the checksum of its record.
    places: HashMap<Sum, Vec<u8>>,
    directories: HashMap<Vec<u8>, u32>,
    /// Time at which a run was last complete.
    completed_at: Option<Time>,
}

impl Index {
    /// Adds a record of this length that the scan read at this offset.
    pub(super) fn take(&mut self, sum: Sum, record: &Read<'_>, offset: u64, bytes: usize) {
        match record {
            Read::Finished => self.finished.push(sum),
            Read::Part { source, ino, hidden, place } => {
                let begun = Begun {
                    id: sum,
                    source: source.to_vec(),
                    ino: *ino,
                    hidden: hidden.to_vec(),
                    told: Vec::new(),
                };
                // A later attempt at the same file invalidates the record of an earlier one.
                if let Some(before) = self.parts.insert(place.to_vec(), begun) {
                    self.places.remove(&before.id);
                }
                self.places.insert(sum, place.to_vec());
            }
            Read::Pieces { part } => {
                let place = self.places.get(part);
                if let Some(begun) = place.and_then(|place| self.parts.get_mut(place)) {
                    begun.told.push((offset, bytes));
                }
            }
            Read::Directory { mode, place } => {
                self.directories.insert(place.to_vec(), *mode);
            }
            Read::Digest { finished, digest } => {
                self.digests.insert(*finished, digest.to_vec());
            }
            Read::Complete { at, .. } => self.completed_at = Some(*at),
        }
    }

    /// Sorts the added records for the lookup.
    pub(super) fn settle(&mut self) {
        self.finished.sort_unstable();
        self.finished.dedup();
        self.finished.shrink_to_fit();
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

    pub(super) fn part(&self, place: &[u8]) -> Option<&Begun> {
        self.parts.get(place)
    }

    pub(super) fn directory(&self, place: &[u8]) -> Option<u32> {
        self.directories.get(place).copied()
    }

    #[cfg(test)]
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        (self.finished.len(), self.parts.len(), self.directories.len())
    }
}
