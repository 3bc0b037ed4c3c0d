//! Large files that a later run can go on with: pieces that are on stable storage are told to the
//! journal while the file is still being written.
//!
//! Such a file has a hidden name from the start, for one without a name is gone with its process. It
//! is locked, and only its owner can do anything with it.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use haul_io::block_digests::{BlockDigests, Piece, Remember};
use haul_io::hidden::is_hidden_name;
use haul_io::quirk::CopyRange;
use haul_io::recheck::{recheck, strip};
use haul_io::transfer::Transfer;
use haul_io::verification::Unverified;
use haul_io::{DataError, Pair};
use haul_sys::data::ftruncate;
use haul_sys::fs::{Access, Kind, OpenHow, Stat, fdatasync, fstat, openat, try_lock, unlinkat};
use haul_sys::{Call, CallError};

use super::item::{Item, Resumable, Target};
use super::sibling::sibling;
use crate::context::{Task, Worker, watch};
use crate::entry::Entry;
use crate::journal::{OTHERS_WRITE, Secure, Sum, piece_algorithm, spell_source};
use crate::request::{Make, Verify};
use crate::run::Run;

/// From this size on it is worth going on with a file: below, copying it again takes a second even
/// where storage is slow.
const LARGE_BYTES: u64 = 128 << 20;

/// Bytes after which what was written is secured and told. Waiting for that much takes much longer
/// than the flush itself, and others write meanwhile.
const RECORD_BYTES: u64 = 64 << 20;

/// A partial that was made, or opened again.
pub(super) struct Opened {
    pub(super) fd: OwnedFd,
    pub(super) hidden: CString,
    pub(super) partial: Resumable,
}

/// Tells whether a file is copied so that a later run can go on with it. Not where its digest is
/// taken in one go, nor where a server copies it without showing us its bytes.
pub(super) fn serves(run: &Run<'_>, task: &Task, item: &Item) -> bool {
    let Some(journal) = run.journal else { return false };
    let pair = &task.node.pair;
    let is_elsewhere = pair.one_device() && pair.target.copy_range == CopyRange::Offloads;
    let in_order = run.policy.hashing.is_some_and(|hashing| hashing.verify == Verify::No);
    !journal.is_broken()
        && item.stat.size >= LARGE_BYTES
        && item.stat.kind() == Kind::Regular
        && run.policy.make == Make::Copy
        && run.policy.data.choice == haul_io::Choice::Auto
        && !in_order
        && !is_elsewhere
}

/// Opens what an earlier run has begun, or makes a file under a hidden name.
pub(super) fn open(
    run: &Run<'_>,
    entry: &Entry<'_>,
    item: &Item,
    (directory, mode): (BorrowedFd<'_>, u32),
) -> haul_sys::Result<Opened> {
    if let Some(opened) = reopen(run, entry, &item.stat, directory)? {
        return Ok(opened);
    }
    let (fd, hidden) = sibling(run, directory, mode, Access::ReadWrite)?;
    let id = match (run.journal, fstat(&fd)) {
        (Some(journal), Ok(now)) => {
            let id = journal.note_part(&item.stat, now.ino, &hidden, entry.place());
            // Without the record nobody would know whose the file is.
            run.write_journal(Secure::Yes);
            id
        }
        // Without that it is a hidden file like others.
        _ => 0,
    };
    Ok(Opened { fd, hidden, partial: Resumable::new(run, id, Vec::new()) })
}

/// Opens the file that an earlier run wrote, if it certainly is that and the source did not change.
/// What is ours and of no use any more is removed.
fn reopen(
    run: &Run<'_>,
    entry: &Entry<'_>,
    source: &Stat,
    directory: BorrowedFd<'_>,
) -> haul_sys::Result<Option<Opened>> {
    let Some(journal) = run.journal else { return Ok(None) };
    let Some(begun) = journal.part(entry.place()) else { return Ok(None) };
    let Ok(hidden) = CString::new(begun.hidden.clone()) else { return Ok(None) };
    if !is_hidden_name(hidden.to_bytes()) {
        return Ok(None);
    }
    let how = OpenHow { access: Access::ReadWrite, ..OpenHow::WRITE };
    // Whatever cannot be opened is not gone on with.
    let Ok(fd) = openat(directory, &hidden, how) else { return Ok(None) };
    let now = fstat(&fd)?;
    let is_ours = now.kind() == Kind::Regular
        && now.ino == begun.ino
        && now.uid == run.me.0
        && now.nlink == 1
        && now.mode & OTHERS_WRITE == 0;
    if !is_ours || !try_lock(&fd).unwrap_or(false) {
        return Ok(None);
    }
    if begun.source != spell_source(source) || begun.told.is_empty() {
        unlinkat(directory, &hidden)?;
        return Ok(None);
    }
    let earlier = journal.pieces(begun);
    Ok(Some(Opened { fd, hidden, partial: Resumable::new(run, begun.id, earlier) }))
}

impl Resumable {
    fn new(run: &Run<'_>, id: Sum, earlier: Vec<Piece>) -> Resumable {
        let proving = run.digests();
        let is_own = proving.is_none();
        let own = || Arc::new(BlockDigests::new(piece_algorithm(), Remember::Pieces));
        Resumable {
            is_told: AtomicBool::new(!earlier.is_empty()),
            id,
            digests: proving.unwrap_or_else(own),
            is_own,
            told: Mutex::new(0),
            moved: AtomicU64::new(0),
            earlier: Mutex::new(earlier),
        }
    }

    /// Returns who looks at the file's bytes.
    pub(super) fn digests(&self) -> &Arc<BlockDigests> {
        &self.digests
    }

    /// Returns who proves the file, if that is wanted.
    pub(super) fn prover(&self) -> Option<Arc<BlockDigests>> {
        (!self.is_own).then(|| Arc::clone(&self.digests))
    }

    /// Keeps what an earlier run wrote as far as it is what was told, and lets the transfer go on
    /// behind it. What cannot be read is copied again.
    pub(super) fn go_on(
        &self,
        worker: &mut Worker<'_, '_>,
        (transfer, target, pair): (&Transfer, BorrowedFd<'_>, &Pair),
    ) -> Result<(), DataError> {
        let earlier =
            std::mem::take(&mut *self.earlier.lock().unwrap_or_else(PoisonError::into_inner));
        if earlier.is_empty() {
            return Ok(());
        }
        let bytes = fstat(target)?.size;
        let unverified =
            Unverified { fd: target, quirk: pair.target, bytes, digests: &self.digests };
        let kept = match recheck(&unverified, earlier, &watch(worker)) {
            Err(DataError::Stopped) => return Err(DataError::Stopped),
            answer => answer.unwrap_or_default(),
        };
        let ranges = strip(&unverified, &kept)?;
        if !self.is_own {
            let is_left = |piece: &&Piece| ranges.iter().any(|range| range.contains(&piece.offset));
            let kept: Vec<Piece> = kept.iter().filter(is_left).copied().collect();
            *self.told.lock().unwrap_or_else(PoisonError::into_inner) = kept.len();
            self.digests.learn(&kept);
        }
        transfer.resume(ranges);
        Ok(())
    }

    /// Forgets what an earlier run wrote, for the file is copied from its first byte on.
    pub(super) fn begin_anew(&self, target: &OwnedFd) -> haul_sys::Result<()> {
        let mut earlier = self.earlier.lock().unwrap_or_else(PoisonError::into_inner);
        if earlier.is_empty() {
            return Ok(());
        }
        earlier.clear();
        ftruncate(target, 0)
    }

    /// Hears that bytes were moved, and tells the journal when there are enough of them.
    pub(super) fn advance(
        &self,
        run: &Run<'_>,
        target: BorrowedFd<'_>,
        bytes: u64,
    ) -> haul_sys::Result<()> {
        if self.moved.fetch_add(bytes, Ordering::Relaxed) + bytes < RECORD_BYTES {
            return Ok(());
        }
        self.record(run, target)
    }

    /// Secures what was moved, and then tells the journal. A failure to secure it is the file's end.
    pub(super) fn record(&self, run: &Run<'_>, target: BorrowedFd<'_>) -> haul_sys::Result<()> {
        let Some(journal) = run.journal.filter(|journal| !journal.is_broken()) else {
            return Ok(());
        };
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        self.moved.store(0, Ordering::Relaxed);
        let pieces =
            if self.is_own { self.digests.take_pieces() } else { self.digests.pieces_since(*told) };
        if pieces.is_empty() {
            return Ok(());
        }
        fdatasync(target)?;
        *told += pieces.len();
        let digest_bytes = self.digests.algorithm.bytes.min(32);
        journal.note_pieces(self.id, &pieces, digest_bytes);
        run.write_journal(Secure::Yes);
        if !journal.is_broken() {
            self.is_told.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Tells whether what there is of a file is kept for a run that goes on, now that this one does not
/// complete it. Whoever stops a run does not want to wait for a flush; a failure leaves time to tell.
pub(super) fn is_kept(run: &Run<'_>, target: &Target, error: DataError) -> bool {
    let Some(partial) = &target.partial else { return false };
    let is_sound = match error {
        DataError::Stopped => true,
        DataError::Call(CallError { call: Call::Fdatasync | Call::Fsync, .. }) => false,
        DataError::Call(_) => partial.record(run, target.fd.as_fd()).is_ok(),
        _ => false,
    };
    // A disk that is full may take no further record; those before it are as good as ever.
    is_sound && partial.is_told.load(Ordering::Relaxed)
}
