//! Open journal: answers which entries an earlier run has finished, and records those that this run
//! has finished.
//!
//! The journal collects records and writes them with one call for each group of files. After the
//! first failed write the journal writes no further records, because a reader stops at a torn
//! record.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use haul_io::block_digests::Piece;
use haul_io::fully::{read_fully, write_fully};
use haul_sys::data::ftruncate;
use haul_sys::fs::{Stat, Time, fdatasync, fstat, statat, unlinkat};

use super::index::{Begun, Index};
use super::record::{self, FinishedEntry, MOST_PIECES, Place, Position};
use super::scan::Scanned;
use super::sums::{Sum, Sums};
use crate::timestamp_precision::{self, precedes};

/// Whether a write to the journal has to be on stable storage before the run continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secure {
    /// Sync now, because no other flush covers the write soon.
    Yes,
    /// Do not sync: the flush of the next group covers the write.
    Later,
}

/// Place of a journal.
pub(super) struct Spot {
    pub(super) directory: OwnedFd,
    pub(super) name: CString,
    /// Path of the journal for display.
    pub(super) shown: Vec<u8>,
}

/// Journal that this run has locked.
pub(crate) struct Journal {
    fd: OwnedFd,
    spot: Spot,
    sums: Sums,
    before: Index,
    /// Time at which this run began.
    begun: Time,
    writing: Mutex<Writing>,
    broken: AtomicBool,
}

struct Writing {
    pending: Vec<u8>,
    /// Offset of the end of the last whole record.
    end: u64,
    records: u64,
}

/// State of a journal at the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The run removed the journal: no work remains, or the journal has no record that a later run
    /// could resume from.
    Removed,
    /// The journal stays for the next run.
    Kept,
}

impl Journal {
    /// Returns the journal in a file that this run has locked and scanned. The run begins now.
    pub(super) fn new(fd: OwnedFd, spot: Spot, sums: Sums, scanned: Scanned) -> Journal {
        let Scanned { index: before, end, records } = scanned;
        let begun = timestamp_precision::now();
        let writing = Mutex::new(Writing { pending: Vec::new(), end, records });
        Journal { fd, spot, sums, before, begun, writing, broken: AtomicBool::new(false) }
    }

    /// Returns the path of the journal for display.
    pub(crate) fn shown(&self) -> &[u8] {
        &self.spot.shown
    }

    fn lock(&self) -> MutexGuard<'_, Writing> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether recording has stopped because a write to the journal failed.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    /// Returns the position of a directory in the tree.
    pub(crate) fn below(&self, parent: Position, name: &std::ffi::CStr) -> Position {
        self.sums.of(&[&parent.to_le_bytes(), name.to_bytes()].concat())
    }

    /// Returns whether an earlier run finished any entry.
    pub(crate) fn knows_finished(&self) -> bool {
        self.before.has_finished()
    }

    /// Returns the record with which an earlier run finished this entry, if neither side has
    /// changed since then.
    pub(crate) fn finished(&self, entry: &FinishedEntry<'_>) -> Option<Sum> {
        let sum = self.sums.of(&record::finished(entry));
        self.before.is_finished(sum).then_some(sum)
    }

    /// Returns the digest of a finished file.
    pub(crate) fn digest(&self, finished: Sum) -> Option<Vec<u8>> {
        self.before.digest(finished).map(<[u8]>::to_vec)
    }

    /// Returns the record of a large file that an earlier run began.
    pub(crate) fn part(&self, place: Place<'_>) -> Option<&Begun> {
        self.before.part(&record::place(place))
    }

    /// Returns the mode that an earlier run made a directory with.
    pub(crate) fn directory(&self, place: Place<'_>) -> Option<u32> {
        self.before.directory(&record::place(place))
    }

    /// Returns the recorded pieces of a large file.
    pub(crate) fn pieces(&self, begun: &Begun) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for (offset, bytes) in &begun.told {
            let mut read = vec![0; *bytes];
            // The scan has just read and verified these records, and the journal is locked. The run
            // copies a piece again if a second read of its record fails.
            if read_fully(&self.fd, &mut read, *offset) == Ok(*bytes) {
                pieces.extend(record::read_pieces(&read));
            }
        }
        pieces
    }

    fn note(&self, record: &[u8]) -> Sum {
        let mut writing = self.lock();
        writing.records += 1;
        record::frame(&self.sums, record, &mut writing.pending)
    }

    /// Records an entry that is complete, is on stable storage and has its name.
    pub(crate) fn note_finished(&self, entry: &FinishedEntry<'_>, digest: Option<&[u8]>) {
        // A source that changed after this run began may change again without a later timestamp,
        // because the clocks of file systems have a coarse granularity.
        if self.is_broken() || !precedes(entry.source.ctime, self.begun) {
            return;
        }
        let sum = self.note(&record::finished(entry));
        if let Some(digest) = digest {
            self.note(&record::digest(sum, digest));
        }
    }

    /// Records that the run is writing a large file, and returns the identifier for the records of
    /// its pieces.
    pub(crate) fn note_part(
        &self,
        source: &Stat,
        ino: u64,
        hidden: &std::ffi::CStr,
        place: Place<'_>,
    ) -> Sum {
        self.note(&record::part(source, ino, hidden, place))
    }

    /// Records pieces of a large file that are on stable storage.
    pub(crate) fn note_pieces(&self, part: Sum, pieces: &[Piece], digest_bytes: usize) {
        for pieces in pieces.chunks(MOST_PIECES) {
            self.note(&record::pieces(part, pieces, digest_bytes));
        }
    }

    /// Records that the run is about to make a directory with a mode that is not its final mode.
    pub(crate) fn note_directory(&self, mode: u32, place: Place<'_>) {
        self.note(&record::directory(mode, place));
    }

    /// Writes the pending records. Returns the first failure, after which the journal records
    /// nothing more.
    pub(crate) fn write_out(&self, secure: Secure) -> haul_sys::Result<()> {
        let mut writing = self.lock();
        let mut pending = std::mem::take(&mut writing.pending);
        if self.is_broken() {
            return Ok(());
        }
        let written = write_fully(&self.fd, &pending, writing.end).and_then(|()| match secure {
            Secure::Yes => fdatasync(&self.fd),
            Secure::Later => Ok(()),
        });
        match written {
            Ok(()) => writing.end += pending.len() as u64,
            Err(_) => {
                self.broken.store(true, Ordering::Relaxed);
                // A reader also cuts a torn end.
                let _cut = ftruncate(&self.fd, writing.end);
            }
        }
        pending.clear();
        writing.pending = pending;
        written
    }

    /// Ends the journal: removes it if the run is complete or the journal has no record to resume
    /// from.
    pub(crate) fn end(&self, complete: bool) -> haul_sys::Result<Ended> {
        let is_empty = self.lock().records == 0;
        if !complete && !is_empty {
            return Ok(Ended::Kept);
        }
        let now = statat(&self.spot.directory, &self.spot.name);
        let is_ours = match (now, fstat(&self.fd)) {
            (Ok(now), Ok(ours)) => now.same_file(&ours),
            _ => false,
        };
        if is_ours {
            unlinkat(&self.spot.directory, &self.spot.name)?;
        }
        Ok(Ended::Removed)
    }
}
