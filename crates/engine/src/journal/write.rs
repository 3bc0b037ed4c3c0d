//! A journal that is open: asked what an earlier run has finished, and told what this one has.
//!
//! Records are gathered and written with one call for each group of files. The first that cannot be
//! written is the last that is tried: behind a torn record nothing would be read.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use haul_io::block_digests::Piece;
use haul_io::fully::{read_fully, write_fully};
use haul_sys::data::ftruncate;
use haul_sys::fs::{Stat, Time, fdatasync, fstat, statat, unlinkat};

use super::index::{Begun, Index};
use super::record::{self, MOST_PIECES, Names, Place, Position};
use super::sums::{Sum, Sums};
use crate::timestamp_precision::precedes;

/// Whether what is written has to be on stable storage before anything else is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secure {
    /// It has, for nothing else will bring it there soon.
    Yes,
    /// The next group's flush takes it along.
    Later,
}

/// Where a journal is.
pub(super) struct Spot {
    pub(super) directory: OwnedFd,
    pub(super) name: CString,
    /// The path for people.
    pub(super) shown: Vec<u8>,
}

/// A journal, locked for this run.
pub(crate) struct Journal {
    fd: OwnedFd,
    spot: Spot,
    sums: Sums,
    before: Index,
    /// When this run began.
    begun: Time,
    writing: Mutex<Writing>,
    broken: AtomicBool,
}

struct Writing {
    pending: Vec<u8>,
    /// Where the last whole record ends.
    end: u64,
    records: u64,
}

/// What became of a journal at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It is gone: nothing is left to be done, or nothing was done that could be gone on with.
    Removed,
    /// The next run goes on with it.
    Kept,
}

impl Journal {
    pub(super) fn new(
        (fd, spot): (OwnedFd, Spot),
        sums: Sums,
        before: Index,
        (end, records): (u64, u64),
        begun: Time,
    ) -> Journal {
        let writing = Mutex::new(Writing { pending: Vec::new(), end, records });
        Journal { fd, spot, sums, before, begun, writing, broken: AtomicBool::new(false) }
    }

    /// The path for people.
    pub(crate) fn shown(&self) -> &[u8] {
        &self.spot.shown
    }

    fn lock(&self) -> MutexGuard<'_, Writing> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whether nothing more is recorded, for the journal could not be written.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    /// Returns where a directory is in the tree.
    pub(crate) fn below(&self, parent: Position, name: &std::ffi::CStr) -> Position {
        self.sums.of(&[&parent.to_le_bytes(), name.to_bytes()].concat())
    }

    /// Tells whether an earlier run finished anything.
    pub(crate) fn knows_finished(&self) -> bool {
        self.before.has_finished()
    }

    /// Returns the record by which an earlier run finished this entry, if both sides still are what
    /// they were then.
    pub(crate) fn finished(
        &self,
        source: &Stat,
        target: &Stat,
        place: Place<'_>,
        names: Names,
    ) -> Option<Sum> {
        let sum = self.sums.of(&record::finished(source, target, place, names));
        self.before.is_finished(sum).then_some(sum)
    }

    /// Returns the digest that was taken of a finished file.
    pub(crate) fn digest(&self, finished: Sum) -> Option<Vec<u8>> {
        self.before.digest(finished).map(<[u8]>::to_vec)
    }

    /// Returns what an earlier run has told of a large file.
    pub(crate) fn part(&self, place: Place<'_>) -> Option<&Begun> {
        self.before.part(&record::place(place))
    }

    /// Returns the mode with which an earlier run made a directory.
    pub(crate) fn directory(&self, place: Place<'_>) -> Option<u32> {
        self.before.directory(&record::place(place))
    }

    /// Returns the pieces that were told of a large file.
    pub(crate) fn pieces(&self, begun: &Begun) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for (offset, bytes) in &begun.told {
            let mut read = vec![0; *bytes];
            // It was read and checked a moment ago, and is locked; what cannot be read again is
            // copied again.
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

    /// Notes an entry that is complete, on stable storage, and has its name.
    pub(crate) fn note_finished(
        &self,
        source: &Stat,
        target: &Stat,
        place: Place<'_>,
        (names, digest): (Names, Option<&[u8]>),
    ) {
        // What changed after this run began may change again without a later time, for the clocks of
        // file systems tick slowly.
        if self.is_broken() || !precedes(source.ctime, self.begun) {
            return;
        }
        let sum = self.note(&record::finished(source, target, place, names));
        if let Some(digest) = digest {
            self.note(&record::digest(sum, digest));
        }
    }

    /// Notes that a large file is being written, and returns how its pieces name it.
    pub(crate) fn note_part(
        &self,
        source: &Stat,
        ino: u64,
        hidden: &std::ffi::CStr,
        place: Place<'_>,
    ) -> Sum {
        self.note(&record::part(source, ino, hidden, place))
    }

    /// Notes pieces of a large file, which are on stable storage.
    pub(crate) fn note_pieces(&self, part: Sum, pieces: &[Piece], digest_bytes: usize) {
        for pieces in pieces.chunks(MOST_PIECES) {
            self.note(&record::pieces(part, pieces, digest_bytes));
        }
    }

    /// Notes that a directory is about to be made with a mode that it is not to keep.
    pub(crate) fn note_directory(&self, mode: u32, place: Place<'_>) {
        self.note(&record::directory(mode, place));
    }

    /// Writes what was noted. The first failure is returned, and ends the recording.
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
                // A torn end is cut when the journal is read, too.
                let _cut = ftruncate(&self.fd, writing.end);
            }
        }
        pending.clear();
        writing.pending = pending;
        written
    }

    /// Ends the journal: it goes when all was done, or nothing that is worth going on with.
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
