//! What an earlier run has told: looked up by each entry, so it is small and never changes.

use std::collections::HashMap;

use super::record::Read;
use super::sums::Sum;

/// A large file that was being written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Begun {
    /// The checksum of the record, by which records of its pieces name it.
    pub(crate) id: Sum,
    /// The source as it was, spelled.
    pub(crate) source: Vec<u8>,
    pub(crate) ino: u64,
    pub(crate) hidden: Vec<u8>,
    /// Where in the journal its pieces are told: offset and length.
    pub(crate) told: Vec<(u64, usize)>,
}

/// Everything that the records of a journal tell. A finished entry takes 16 bytes.
#[derive(Debug, Default)]
pub(super) struct Index {
    finished: Vec<Sum>,
    digests: HashMap<Sum, Vec<u8>>,
    /// By place.
    parts: HashMap<Vec<u8>, Begun>,
    /// The place of a part, by its record's checksum.
    places: HashMap<Sum, Vec<u8>>,
    directories: HashMap<Vec<u8>, u32>,
}

impl Index {
    /// Takes in a record that was read at this offset.
    pub(super) fn take(&mut self, sum: Sum, record: &Read<'_>, (offset, bytes): (u64, usize)) {
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
                // A later attempt at the same file makes what an earlier one told worthless.
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
        }
    }

    /// Puts what was taken in into the order in which it is looked up.
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
