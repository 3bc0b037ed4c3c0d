//! Large files that a later run can resume: the journal records pieces that are on stable storage
//! while the run still writes the file.
//!
//! Such a file has a hidden name from the start, because the kernel frees a file without a name
//! when its process ends. The run locks the file, and only its owner can access it.

use haul_sys::sync::Mutex;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use haul_io::block_digests::{BlockDigests, Piece, Remember};
use haul_io::hidden::is_hidden_name;
use haul_io::new_file::{Made, NewFile};
use haul_io::publish::Unpublished;
use haul_io::quirk::CopyRange;
use haul_io::recheck::{recheck, strip};
use haul_io::transfer::Transfer;
use haul_io::verification::Unverified;
use haul_io::{DataError, Pair};
use haul_sys::data::ftruncate;
use haul_sys::fs::{
    Access, Kind, OpenHow, Stat, fdatasync, fstat, openat, statat, statat_follow, try_lock,
    unlinkat,
};
use haul_sys::{Call, CallError, Errno};

use super::item::{Item, Resumable, Target};
use super::layout;
use crate::copy::context::{Worker, watch};
use crate::copy::entry::Entry;
use crate::copy::node::Node;
use crate::copy::run::Run;
use crate::data::request::{Make, Verify};
use crate::journal::{Begun, Journal, OTHERS_WRITE, Secure, Sum, piece_algorithm, spell_source};
use crate::names::file_systems::{Identified, Via};
use crate::names::timestamp_precision::precedes;

/// Minimum size of a resumable file: copying a smaller file again takes a second even on slow
/// storage.
const LARGE_BYTES: u64 = 128 << 20;

/// Number of bytes after which the run syncs the file and records its pieces. Writing that much
/// takes much longer than the flush itself, and other workers write in the meantime.
const RECORD_BYTES: u64 = 64 << 20;

/// Resumable file that the run made, or opened again.
pub(super) struct Opened {
    pub(super) made: Made,
    pub(super) partial: Resumable,
}

/// Returns whether the run copies a file so that a later run can resume it. This excludes a file
/// whose digest is taken in one pass, and a file that a server copies without returning its bytes.
/// It also excludes a file with several names if several processes carry out the run: its record is
/// found by the first name, and the names reach the process that makes them in any order. And it excludes a
/// source that had just changed: it may change again without a later timestamp.
pub(super) fn serves(run: &Run<'_>, entry: &Entry<'_>, item: &Item) -> bool {
    let Some(journal) = run.journal else { return false };
    let pair = &entry.node.pair;
    let is_elsewhere = pair.one_device() && pair.target.copy_range == CopyRange::Offloads;
    let in_order = run.policy.hashing.is_some_and(|hashing| hashing.verify == Verify::No);
    let has_known_name = run.peers.is_none() || item.stat.nlink == 1;
    !journal.is_broken()
        && has_known_name
        && precedes(item.stat.ctime, item.described_after)
        && item.stat.size >= LARGE_BYTES
        && item.stat.kind() == Kind::Regular
        && run.policy.make == Make::Copy
        && run.policy.data.choice == haul_io::Choice::Auto
        && !in_order
        && !is_elsewhere
}

/// Opens the incomplete file of an earlier run, or makes a file under a hidden name.
pub(super) fn open(
    run: &Run<'_>,
    entry: &Entry<'_>,
    item: &Item,
    new: &NewFile<'_>,
    layout: Option<&[u8]>,
) -> haul_sys::Result<Opened> {
    let handles = run.cache.of(entry.node)?;
    let via = Via::Name(handles.source(), entry.source);
    let source = run.file_systems.identified(via, &item.stat);
    if let Some(opened) = reopen(run, entry, source, new)? {
        return Ok(opened);
    }
    let new = NewFile { access: Access::ReadWrite, ..*new };
    let made = new.make_hidden(|call| run.creating(new.directory, c"", call))?;
    layout::give(run, entry, item, &made.file, layout);
    let hidden = made.name.hidden().unwrap_or_default();
    let id = match (run.journal, source, fstat(&made.file)) {
        // A file whose striping could not be set is begun anew by the next run.
        (Some(journal), Some(source), Ok(now)) if !journal.lacks(&item.stat) => {
            let id = journal.note_part(source, now.ino, hidden, entry.place());
            // Without the record on stable storage, a later run could not identify the file.
            run.write_journal(Secure::Yes);
            Some(id)
        }
        // Without a record the file is an ordinary hidden file.
        _ => None,
    };
    Ok(Opened { made, partial: Resumable::new(run, id, Vec::new()) })
}

/// Opens the file that an earlier run wrote, if the file certainly is that one and the source has
/// not changed. Removes a file of this user that is no longer useful.
fn reopen(
    run: &Run<'_>,
    entry: &Entry<'_>,
    source: Option<Identified<'_>>,
    new: &NewFile<'_>,
) -> haul_sys::Result<Option<Opened>> {
    let Some(journal) = run.journal else { return Ok(None) };
    let source = source.map(spell_source);
    for begun in journal.parts(entry.place()).iter().rev() {
        if let Some((file, hidden)) = reopen_attempt(run, source.as_deref(), new.directory, begun)?
        {
            let earlier = journal.pieces(begun);
            if earlier.is_empty() {
                // Their records cannot be read any more, so nothing says what the bytes are.
                ftruncate(&file, 0)?;
            }
            let made = Made { file, name: Unpublished::under(hidden), mode: new.mode };
            let partial = Resumable::new(run, Some(begun.id), earlier);
            return Ok(Some(Opened { made, partial }));
        }
    }
    Ok(None)
}

/// Opens the file of one attempt, and returns it with its hidden name.
fn reopen_attempt(
    run: &Run<'_>,
    source: Option<&[u8]>,
    directory: BorrowedFd<'_>,
    begun: &Begun,
) -> haul_sys::Result<Option<(OwnedFd, CString)>> {
    let Some((fd, hidden)) = open_attempt(run, directory, begun)? else { return Ok(None) };
    if source != Some(&begun.source) || !begun.has_pieces() {
        unlinkat(directory, &hidden)?;
        return Ok(None);
    }
    Ok(Some((fd, hidden)))
}

/// Opens and locks the file of one attempt, if it is there and no run is writing it.
fn open_attempt(
    run: &Run<'_>,
    directory: BorrowedFd<'_>,
    begun: &Begun,
) -> haul_sys::Result<Option<(OwnedFd, CString)>> {
    let Ok(hidden) = CString::new(begun.hidden.clone()) else { return Ok(None) };
    if !is_hidden_name(hidden.to_bytes()) {
        return Ok(None);
    }
    let how = OpenHow { access: Access::ReadWrite, ..OpenHow::WRITE };
    // A file that cannot be opened is not resumed.
    let Ok(fd) = openat(directory, &hidden, how) else { return Ok(None) };
    let is_ours = |now: &Stat| {
        now.kind() == Kind::Regular
            && now.ino == begun.ino
            && now.uid == run.me.0
            && now.nlink == 1
            && now.mode & OTHERS_WRITE == 0
    };
    if !is_ours(&fstat(&fd)?) || !try_lock(&fd).unwrap_or(false) {
        return Ok(None);
    }
    // Until it was locked, another process may have removed or published it.
    Ok(is_ours(&fstat(&fd)?).then_some((fd, hidden)))
}

/// Removes the hidden files of a directory whose entries are all handled, which earlier runs began and no
/// run will complete: the source is gone, or is not what it was.
pub(crate) fn discard_stale(run: &Run<'_>, journal: &Journal, node: &Arc<Node>) {
    // The target name of an operand is not that of its source.
    if node.lists_operands {
        return;
    }
    let mut begun = journal.parts_in(node.position).peekable();
    if begun.peek().is_none() {
        return;
    }
    // If the directory cannot be opened, they stay, and `haul clean` finds them.
    let Ok(handles) = run.cache.of(node) else { return };
    for (name, attempts) in begun {
        // A name that the journal has was a C string, so it has no NUL byte.
        let Ok(name) = CString::new(name) else { continue };
        let now = match described(handles.source(), &name) {
            Ok(stat) => {
                let via = Via::Name(handles.source(), &name);
                run.file_systems.identified(via, &stat).map(spell_source)
            }
            Err(error) if error.errno == Errno::NOENT => None,
            // What the source is now is not known.
            Err(_) => continue,
        };
        for attempt in attempts.iter().filter(|attempt| now.as_ref() != Some(&attempt.source)) {
            // What cannot be opened or removed stays, likewise.
            if let Ok(Some((_, hidden))) = open_attempt(run, handles.target(), attempt) {
                let _gone = unlinkat(handles.target(), &hidden);
            }
        }
    }
}

/// Describes a source, or what it leads to if it is a symbolic link.
fn described(directory: BorrowedFd<'_>, name: &CStr) -> haul_sys::Result<Stat> {
    let stat = statat(directory, name)?;
    if stat.kind() == Kind::Symlink { statat_follow(directory, name) } else { Ok(stat) }
}

impl Resumable {
    fn new(run: &Run<'_>, id: Option<Sum>, earlier: Vec<Piece>) -> Resumable {
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

    /// Returns the digests of the file's pieces.
    pub(super) fn digests(&self) -> &Arc<BlockDigests> {
        &self.digests
    }

    /// Returns the digests that verify the file, if the policy verifies it.
    pub(super) fn block_digests(&self) -> Option<Arc<BlockDigests>> {
        (!self.is_own).then(|| Arc::clone(&self.digests))
    }

    /// Keeps the pieces of an earlier run that still match their recorded digests, and lets the
    /// transfer copy the rest. The transfer copies a piece again if it cannot be read.
    pub(super) fn go_on(
        &self,
        worker: &mut Worker<'_, '_>,
        transfer: &Transfer,
        target: BorrowedFd<'_>,
        pair: &Pair,
    ) -> Result<(), DataError> {
        let earlier = std::mem::take(&mut *self.earlier.lock());
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
            *self.told.lock() = kept.len();
            self.digests.learn(&kept);
        }
        transfer.resume(ranges);
        Ok(())
    }

    /// Discards the pieces of an earlier run, because the run copies the file from its first byte
    /// on.
    pub(super) fn begin_anew(&self, target: &OwnedFd) -> haul_sys::Result<()> {
        let mut earlier = self.earlier.lock();
        if earlier.is_empty() {
            return Ok(());
        }
        earlier.clear();
        ftruncate(target, 0)
    }

    /// Forgets what was moved, because the run copies the file once more from its first byte on.
    pub(super) fn forget(&self) {
        *self.told.lock() = 0;
        self.moved.store(0, Ordering::Relaxed);
        self.digests.forget();
    }

    /// Counts moved bytes, and records the pieces in the journal once there are enough of them.
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

    /// Syncs the moved bytes, and then records the pieces. A failed sync makes the copy of the file
    /// fail.
    pub(super) fn record(&self, run: &Run<'_>, target: BorrowedFd<'_>) -> haul_sys::Result<()> {
        let journal = run.journal.filter(|journal| !journal.is_broken());
        let Some((journal, id)) = journal.zip(self.id) else { return Ok(()) };
        let mut told = self.told.lock();
        self.moved.store(0, Ordering::Relaxed);
        let pieces =
            if self.is_own { self.digests.take_pieces() } else { self.digests.pieces_since(*told) };
        if pieces.is_empty() {
            return Ok(());
        }
        fdatasync(target)?;
        *told += pieces.len();
        let digest_bytes = self.digests.algorithm.bytes.min(32);
        journal.note_pieces(id, &pieces, digest_bytes);
        run.write_journal(Secure::Yes);
        if !journal.is_broken() {
            self.is_told.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Returns whether an incomplete file is kept for a later run to resume. When the user stops the
/// run, the function does not flush; after a failure, it records the last pieces first.
pub(super) fn is_kept(run: &Run<'_>, target: &Target, error: DataError) -> bool {
    let Some(partial) = &target.partial else { return false };
    let is_sound = match error {
        DataError::Stopped => true,
        DataError::Call(CallError { call: Call::Fdatasync | Call::Fsync, .. }) => false,
        DataError::Call(_) => partial.record(run, target.fd.as_fd()).is_ok(),
        _ => false,
    };
    // A full disk may have no space for a further record; the earlier records stay valid.
    is_sound && partial.is_told.load(Ordering::Relaxed)
}
