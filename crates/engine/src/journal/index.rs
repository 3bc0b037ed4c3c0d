//! Index of the records of earlier runs, of all volumes of a journal: each entry looks it up, so it is
//! small and immutable.

use std::collections::{BTreeMap, HashMap};

use haul_sys::fs::{Stat, Time};

use super::record::{self, Position, Read, Unpublished};
use super::sums::Sum;
use crate::names::file_systems::Identified;

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

/// Whether a run was complete after a record was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Since {
    Complete,
    Incomplete,
}

/// Contents of all records of a journal. A finished entry takes 16 bytes.
#[derive(Debug, Default)]
pub(super) struct Index {
    finished: Vec<Sum>,
    digests: HashMap<Sum, Vec<u8>>,
    /// Large files, by place. Several attempts at one file may be recorded; each has its own hidden
    /// name. Volumes have no common order, so it is not known which one is the last.
    parts: BTreeMap<Vec<u8>, Vec<Begun>>,
    /// Records of pieces, by the checksum of the file's record, which may be in a volume that is read
    /// later.
    pieces: HashMap<Sum, Vec<Told>>,
    /// Number of runs that were complete, as the journal itself says.
    round: u64,
    /// The volume that is being read, and the round that its records belong to.
    reading: (u64, u64),
    /// Modes of directories that a run was about to make, with the rounds of the records.
    directories: HashMap<Vec<u8>, (u32, u64)>,
    /// Files that a run was about to publish, and the round, by the checksum of that record.
    publishing: HashMap<Sum, (Vec<Unpublished>, u64)>,
    /// Files that may have got their names without a record, and whether a run was complete since.
    unrecorded: HashMap<Unpublished, Since>,
    /// Time at which a run was last complete.
    completed_at: Option<Time>,
}

impl Index {
    /// Adds a record of this place. The records of one volume follow each other, and those of volume 0
    /// come first.
    pub(super) fn take(&mut self, sum: Sum, record: &Read<'_>, told: Told) {
        if self.reading.0 != told.volume {
            self.reading = (told.volume, 0);
        }
        let round = self.reading.1;
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
                let known = self.directories.entry(place.to_vec()).or_insert((*mode, round));
                if known.1 <= round {
                    *known = (*mode, round);
                }
            }
            Read::Digest { finished, digest } => {
                self.digests.insert(*finished, digest.to_vec());
            }
            Read::Complete { at, .. } => {
                self.completed_at = self.completed_at.max(Some(*at));
                if told.volume == 0 {
                    self.round += 1;
                    self.reading.1 = self.round;
                }
            }
            Read::Round { number } => self.reading.1 = *number,
            Read::Publishing { files } => {
                self.publishing.insert(sum, (files.to_vec(), round));
            }
            Read::Published { publishing } => {
                self.publishing.remove(publishing);
            }
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
        // Directories that were about to be made before a run was complete have their modes: what stands
        // there now is the user's. (A journal that is damaged before a mark counts fewer rounds than a volume.)
        let now = self.round;
        self.directories.retain(|_, (_, round)| *round >= now);
        for (files, round) in std::mem::take(&mut self.publishing).into_values() {
            let since = if round >= now { Since::Incomplete } else { Since::Complete };
            for file in files {
                let known = self.unrecorded.entry(file).or_insert(since);
                if since == Since::Incomplete {
                    *known = since;
                }
            }
        }
    }

    /// Returns whether there is nothing to resume from.
    pub(super) fn is_empty(&self) -> bool {
        self.finished.is_empty()
            && self.parts.is_empty()
            && self.directories.is_empty()
            && self.unrecorded.is_empty()
    }

    /// Returns whether an earlier run may have published this file, and did not record that. A file that was
    /// changed after a run was complete is the user's.
    pub(super) fn may_be_published(&self, file: Identified<'_>) -> bool {
        match self.unrecorded.get(&record::unpublished(file)) {
            None => false,
            Some(Since::Incomplete) => true,
            Some(Since::Complete) => !self.has_changed_since_completion(file.stat),
        }
    }

    /// Returns whether an earlier run may have published any file without recording it.
    pub(super) fn has_unrecorded(&self) -> bool {
        !self.unrecorded.is_empty()
    }

    /// Returns the number of runs that were complete.
    pub(super) fn round(&self) -> u64 {
        self.round
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

    /// Returns the large files of a directory, with their names and the attempts at each.
    pub(super) fn parts_in(&self, directory: Position) -> impl Iterator<Item = (&[u8], &[Begun])> {
        let beginning = directory.to_le_bytes();
        self.parts.range(beginning.to_vec()..).map_while(move |(place, attempts)| {
            Some((place.strip_prefix(&beginning)?, &**attempts))
        })
    }

    pub(super) fn directory(&self, place: &[u8]) -> Option<u32> {
        self.directories.get(place).map(|(mode, _)| *mode)
    }

    #[cfg(test)]
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        (self.finished.len(), self.parts.len(), self.directories.len())
    }
}
