//! Open journal: answers which entries an earlier run has finished, and records those that this run
//! has finished.
//!
//! The journal collects records and writes them with one call for each group of files. After the
//! first failed write the journal writes no further records, because a reader stops at a torn
//! record.

use haul_sys::sync::Mutex;
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use haul_io::block_digests::Piece;
use haul_io::fully::read_fully;
use haul_sys::data::ftruncate;
use haul_sys::fs::{Stat, Time, fdatasync, fstat};

use super::index::{Begun, Index, Told};
use super::lacking::Lacking;
use super::own_file::{Purpose, open_own, unlink_own, write_own};
use super::record::{
    self, FinishedEntry, MOST_FILES, MOST_PIECES, Names, Place, Position, TargetIdentity,
    Unpublished,
};
use super::scan::Scanned;
use super::shared::Shared;
use super::sums::{NONCE_BYTES, Sum, Sums};
use super::volumes::Set;
use crate::names::file_systems::Identified;
use crate::names::timestamp_precision::{self, precedes};

/// What a process has done of a run that keeps a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conclusion {
    /// Whether the process did its part without a failure, and was not stopped.
    pub is_complete: bool,
    /// Number of entries that an earlier run had finished.
    pub found: u64,
    /// Number of records that a later run may resume from.
    pub records: u64,
    /// Whether the process opened its volume of the journal. If it did not, that volume may have records
    /// of which no process of this run knows.
    pub has_joined: bool,
}

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

impl Spot {
    /// Returns the journal and its volumes.
    pub(super) fn set(&self, nonce: [u8; NONCE_BYTES]) -> Set<'_> {
        Set { directory: self.directory.as_fd(), journal: &self.name, nonce }
    }
}

/// Files of the journal that this process has locked and does not write: volumes of earlier runs.
#[derive(Default)]
pub(super) struct Kept {
    /// Their descriptors, which hold locks, by the numbers of the volumes.
    pub(super) locks: HashMap<u64, OwnedFd>,
    /// Number of their records.
    pub(super) records: u64,
}

/// Volume that this process writes.
pub(super) struct File {
    pub(super) fd: OwnedFd,
    /// Place of the journal, which is volume 0.
    pub(super) spot: Spot,
    pub(super) nonce: [u8; NONCE_BYTES],
    /// Number of the volume.
    pub(super) volume: u64,
    /// Number of volumes of the journal; some may not exist.
    pub(super) volumes: u64,
    pub(super) kept: Kept,
}

impl File {
    fn set(&self) -> Set<'_> {
        self.spot.set(self.nonce)
    }
}

/// Journal of which this process has locked the volume that it writes.
pub(crate) struct Journal {
    file: File,
    /// Target operand.
    target: CString,
    sums: Sums,
    before: Index,
    /// Number of entries that this run found finished.
    found: AtomicU64,
    /// Number of finished entries without a record.
    unrecorded: AtomicU64,
    /// Files of the source whose copies lack something.
    lacking: Lacking,
    writing: Mutex<Writing>,
    broken: AtomicBool,
}

struct Writing {
    pending: Vec<u8>,
    /// Offset of the end of the last whole record.
    end: u64,
    records: u64,
    /// End of the record that marks an earlier run as complete, if it was the last one.
    marked: Option<u64>,
}

/// Files that the run is about to publish.
pub(crate) struct Publishing {
    /// Checksums of the records about them.
    records: Vec<Sum>,
    /// Number of finished entries without a record at that time.
    unrecorded: u64,
}

/// State of a journal at the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The run removed the journal: no work remains, or the journal has no record that a later run
    /// could resume from.
    Removed,
    /// The journal stays for the next run, which resumes this one.
    Kept,
    /// The journal stays, marked as complete: a later run of the same command skips what has not
    /// changed.
    Complete,
}

impl Journal {
    /// Returns the journal with a volume that this process has locked and scanned, and with the index
    /// of all volumes.
    pub(super) fn new(file: File, scanned: Scanned, before: Index, target: &CStr) -> Journal {
        let Scanned { end, records, complete, round, .. } = scanned;
        let marked = complete.is_some().then_some(end);
        let (target, sums) = (target.to_owned(), Sums::new(file.nonce));
        let mut pending = Vec::new();
        // Only the journal itself says by its own records how many runs were complete.
        if file.volume != 0 && round != before.round() {
            record::frame(&sums, &record::round(before.round()), &mut pending);
        }
        let writing = Mutex::new(Writing { pending, end, records, marked });
        Journal {
            file,
            target,
            sums,
            before,
            found: AtomicU64::new(0),
            unrecorded: AtomicU64::new(0),
            lacking: Lacking::default(),
            writing,
            broken: AtomicBool::new(false),
        }
    }

    /// Returns what the other processes need to join the journal.
    pub(crate) fn shared(&self) -> Shared {
        let File { spot, nonce, volumes, .. } = &self.file;
        let path = CString::new(spot.shown.clone()).unwrap_or_default();
        Shared { path, nonce: *nonce, volumes: *volumes }
    }

    /// Records the number of volumes, on stable storage.
    pub(super) fn note_volumes(&self, count: u64) -> haul_sys::Result<()> {
        record::frame(&self.sums, &record::volumes(count), &mut self.writing.lock().pending);
        self.write_out(Secure::Yes)
    }

    /// Returns how many descriptors the locks on volumes of earlier runs take.
    pub(crate) fn locks(&self) -> u64 {
        self.file.kept.locks.len() as u64
    }

    /// Returns the path of the journal for display.
    pub(crate) fn shown(&self) -> &[u8] {
        &self.file.spot.shown
    }

    /// Returns whether recording has stopped because a write to the journal failed.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    /// Returns the position of a directory in the tree.
    pub(crate) fn below(&self, parent: Position, name: &CStr) -> Position {
        self.sums.of(&[&parent.to_le_bytes(), name.to_bytes()].concat())
    }

    /// Returns whether an earlier run finished any entry.
    pub(crate) fn knows_finished(&self) -> bool {
        self.before.has_finished()
    }

    /// Returns the record with which an earlier run finished this entry, if neither side has
    /// changed since then.
    pub(crate) fn finished(&self, entry: &FinishedEntry<'_>) -> Option<Sum> {
        // The record of a file with several names does not have the target's ctime. Once a run is
        // complete, though, haul makes no more names.
        if entry.names == Names::Several
            && self.before.has_changed_since_completion(entry.target.stat)
        {
            return None;
        }
        let sum = self.sums.of(&record::finished(entry));
        self.before.is_finished(sum).then_some(sum)
    }

    /// Counts an entry that an earlier run finished and that this run leaves as it is.
    pub(crate) fn count_found(&self) {
        self.found.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of entries that this run found finished.
    pub(crate) fn found(&self) -> u64 {
        self.found.load(Ordering::Relaxed)
    }

    /// Returns the digest of a finished file.
    pub(crate) fn digest(&self, finished: Sum) -> Option<Vec<u8>> {
        self.before.digest(finished).map(<[u8]>::to_vec)
    }

    /// Returns the records of a large file that earlier runs began, the last one of a volume behind
    /// earlier ones.
    pub(crate) fn parts(&self, place: Place<'_>) -> &[Begun] {
        self.before.parts(&record::place(place))
    }

    /// Returns the mode that a run, which was not complete, made a directory with. The mode of one that a
    /// complete run has left, or that was made since, is the user's.
    pub(crate) fn directory(&self, place: Place<'_>) -> Option<u32> {
        self.before.directory(&record::place(place))
    }

    /// Returns the recorded pieces of a large file.
    pub(crate) fn pieces(&self, begun: &Begun) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut others: HashMap<u64, Option<OwnedFd>> = HashMap::new();
        for Told { volume, offset, bytes } in &begun.told {
            let fd = if *volume == self.file.volume {
                Some(&self.file.fd)
            } else if let Some(fd) = self.file.kept.locks.get(volume) {
                Some(fd)
            } else {
                others.entry(*volume).or_insert_with(|| self.other_volume(*volume)).as_ref()
            };
            let Some(fd) = fd else { continue };
            let mut read = vec![0; *bytes];
            // The scan has verified these records, and a process only appends to its volume. The run
            // copies a piece again if a second read of its record fails.
            if read_fully(fd, &mut read, *offset) == Ok(*bytes) {
                pieces.extend(record::read_pieces(&read));
            }
        }
        pieces
    }

    /// Opens the volume of another process, to read it.
    fn other_volume(&self, volume: u64) -> Option<OwnedFd> {
        let set = self.file.set();
        open_own(set.directory, &set.name(volume), Purpose::Reading).ok()?
    }

    fn note(&self, record: &[u8]) -> Sum {
        let mut writing = self.writing.lock();
        writing.records += 1;
        record::frame(&self.sums, record, &mut writing.pending)
    }

    /// Records an entry that is complete, is on stable storage and has its name; `None` stands for one that a
    /// later run could not recognise. The source was described after this moment.
    pub(crate) fn note_finished(
        &self,
        entry: Option<&FinishedEntry<'_>>,
        described_after: Time,
        digest: Option<&[u8]>,
    ) {
        // A source that had changed just before may change again without a later timestamp, because the
        // clocks of file systems have a coarse granularity.
        let is_evidence = |entry: &&FinishedEntry<'_>| {
            let source = entry.source.stat;
            precedes(source.ctime, described_after) && !self.lacks(source)
        };
        let Some(entry) = entry.filter(is_evidence).filter(|_| !self.is_broken()) else {
            self.unrecorded.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let sum = self.note(&record::finished(entry));
        if let Some(digest) = digest {
            self.note(&record::digest(sum, digest));
        }
    }

    /// Remembers that the copy of a file lacks something, as the run has reported: none of its names gets a
    /// record, so that the next run copies it again.
    pub(crate) fn note_lacking(&self, source: &Stat) {
        self.lacking.insert(source);
    }

    /// Returns whether the copy of this source lacks something.
    pub(crate) fn lacks(&self, source: &Stat) -> bool {
        self.lacking.contains(source)
    }

    /// Records that the run is writing a large file, and returns the identifier for the records of
    /// its pieces.
    pub(crate) fn note_part(
        &self,
        source: Identified<'_>,
        ino: u64,
        hidden: &CStr,
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

    /// Records that the run is about to publish files, and returns what [`Self::note_published`] needs.
    pub(crate) fn note_publishing(&self, files: &[Identified<'_>]) -> Publishing {
        let files: Vec<Unpublished> = files.iter().map(|file| record::unpublished(*file)).collect();
        let mut writing = self.writing.lock();
        let note =
            |files| record::frame(&self.sums, &record::publishing(files), &mut writing.pending);
        let records = files.chunks(MOST_FILES).map(note).collect();
        Publishing { records, unrecorded: self.unrecorded.load(Ordering::Relaxed) }
    }

    /// Records that the files that have their names have records, too. If any has none, because its source
    /// had just changed, the next run needs to know the files of the group.
    pub(crate) fn note_published(&self, publishing: &Publishing) {
        let mut writing = self.writing.lock();
        if self.unrecorded.load(Ordering::Relaxed) > publishing.unrecorded {
            writing.records += 1;
            return;
        }
        for sum in &publishing.records {
            record::frame(&self.sums, &record::published(*sum), &mut writing.pending);
        }
    }

    /// Returns whether an earlier run of this copy may have published this file, and did not record that: it
    /// has the inode number, size and modification time of one that was about to be published, and was not
    /// changed after a run was complete.
    pub(crate) fn may_be_published(&self, file: Identified<'_>) -> bool {
        self.before.may_be_published(file)
    }

    /// Returns whether there may be any such file.
    pub(crate) fn knows_unpublished(&self) -> bool {
        self.before.has_unrecorded()
    }

    /// Returns whether the journal is on this device.
    pub(crate) fn is_on(&self, dev: u64) -> bool {
        fstat(&self.file.fd).is_ok_and(|stat| stat.dev == dev)
    }

    /// Returns the large files of a directory that earlier runs began: the name and the attempts at each.
    pub(crate) fn parts_in(&self, directory: Position) -> impl Iterator<Item = (&[u8], &[Begun])> {
        self.before.parts_in(directory)
    }

    /// Records that the run is about to make a directory with a mode that is not its final mode.
    pub(crate) fn note_directory(&self, mode: u32, place: Place<'_>) {
        self.note(&record::directory(mode, place));
    }

    /// Writes the pending records. Returns the first failure, after which the journal records
    /// nothing more.
    pub(crate) fn write_out(&self, secure: Secure) -> haul_sys::Result<()> {
        let mut writing = self.writing.lock();
        let mut pending = std::mem::take(&mut writing.pending);
        if self.is_broken() {
            return Ok(());
        }
        let written = write_own(&self.file.fd, &pending, writing.end).and_then(|()| match secure {
            Secure::Yes => fdatasync(&self.file.fd),
            Secure::Later => Ok(()),
        });
        match written {
            Ok(()) => writing.end += pending.len() as u64,
            Err(_) => {
                self.broken.store(true, Ordering::Relaxed);
                // A reader also cuts a torn end.
                let _cut = ftruncate(&self.file.fd, writing.end);
            }
        }
        pending.clear();
        writing.pending = pending;
        written
    }

    /// Returns the number of records that a later run may resume from, those of volumes included that
    /// no other process of this run writes.
    pub(crate) fn records(&self) -> u64 {
        self.writing.lock().records + self.file.kept.records
    }

    /// Ends the volume of a process that is not the first one: removes it if it has no record.
    pub(crate) fn end_volume(&self) -> haul_sys::Result<()> {
        if self.records() > 0 {
            return Ok(());
        }
        self.unlink(&self.file.set().name(self.file.volume))
    }

    /// Ends the journal of an incomplete run: removes it if no volume has a record to resume from. A
    /// process that did not join says nothing about its volume: an earlier run may have filled it, or
    /// may still be writing to it.
    pub(crate) fn end_incomplete(&self, others: Conclusion) -> haul_sys::Result<Ended> {
        let is_of_use = self.records() + others.records > 0 || !self.before.is_empty();
        if is_of_use || !others.has_joined {
            return Ok(Ended::Kept);
        }
        self.remove()
    }

    /// Ends the journal of a complete run: marks it, if it has records and the last one is no mark.
    /// Removes it if it has none or cannot be written, because the copy is complete without it. Other
    /// processes have written `others` records.
    ///
    /// Blocks until a file that is changed from now on gets a later time than the mark has: at most a tick
    /// of the kernel's clock (10 ms), or two seconds if the target's file system stores whole seconds.
    pub(crate) fn end_complete(&self, others: u64) -> haul_sys::Result<Ended> {
        let records = self.records() + others;
        let is_marked = {
            let writing = self.writing.lock();
            writing.marked == Some(writing.end) && writing.pending.is_empty()
        };
        if is_marked {
            return Ok(Ended::Complete);
        }
        let target = TargetIdentity::described(&self.target);
        let Some((target, stat)) = target.filter(|_| records > 0 && !self.is_broken()) else {
            return self.remove();
        };
        let marked_at = timestamp_precision::precise_now();
        self.note(&record::complete(target, marked_at));
        // From now on modes are the user's, also if the power fails.
        match self.write_out(Secure::Yes) {
            Ok(()) => {
                timestamp_precision::wait_for_times_after(marked_at, stat.ctime);
                Ok(Ended::Complete)
            }
            Err(_) => self.remove(),
        }
    }

    fn remove(&self) -> haul_sys::Result<Ended> {
        self.file.set().remove(self.file.volumes);
        self.unlink(&self.file.spot.name)?;
        Ok(Ended::Removed)
    }

    /// Removes the name of the file that this process has locked.
    fn unlink(&self, name: &CStr) -> haul_sys::Result<()> {
        unlink_own(self.file.spot.directory.as_fd(), name, &self.file.fd)
    }
}
