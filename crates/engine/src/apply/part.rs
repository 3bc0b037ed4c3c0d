//! Parts of a large file: those that other processes move of a file of this one, and those that this
//! process moves of theirs.
//!
//! The process that found the file makes and completes it. Another process opens source and target by
//! their names, verifies that they are the same files, moves the bytes of its part, and flushes them:
//! a part whose machine is lost afterwards must not be missing from a file that looks complete. If
//! anything of that fails, it reports nothing but that: the process that found the file then moves the
//! part itself, and reports what fails there.

use std::ffi::CString;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

use haul_io::block_digests::{BlockDigests, Piece, Remember};
use haul_io::method::Sharing;
use haul_io::transfer::{Arrived, Transfer};
use haul_io::{Behind, DataError, Extent, FileJob, Moved};
use haul_sys::fs::{Follow, Kind, OpenHow, Stat, Time, birth, fdatasync, fstat, openat};
use haul_tree::Demand;

use super::find::follows;
use super::item::Target;
use super::shared_file::{Ending, SharedFile};
use crate::context::Worker;
use crate::entry::Entry;
use crate::journal::piece_algorithm;
use crate::peers::copying::answer::arrived;
use crate::peers::state::Foreign;
use crate::run::Run;
use crate::walk::node::{Handles, Node};

/// Part of a large file, by what another process needs to find it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) source: CString,
    /// Name that the target has at present.
    pub(crate) target: CString,
    pub(crate) source_ino: u64,
    pub(crate) source_size: u64,
    pub(crate) source_mtime: Time,
    pub(crate) target_ino: u64,
    /// Creation time of the target, if the file system records it. Local file systems of two machines
    /// may have the same inode numbers under the same names.
    pub(crate) target_birth: Option<Time>,
    /// First byte, and the one behind the last.
    pub(crate) range: (u64, u64),
    /// Whether digests of the bytes are needed.
    pub(crate) is_hashed: bool,
}

/// Returns the path of a target from its entry's directory while the file is written, if it has one.
pub(super) fn written_name(target: &Target, entry: &Entry<'_>) -> Option<CString> {
    match &target.temporary {
        None => Some(entry.target.to_owned()),
        Some(file) => file.hidden_path(entry.target),
    }
}

/// Returns whether other processes could move parts of a file.
pub(crate) fn may_split(run: &Run<'_>, file: &SharedFile) -> bool {
    file.written_name.is_some() && file.transfer.can_part(&file.job(&run.policy.data))
}

/// Takes a part for another of so many processes; `None` if too little is left.
pub(crate) fn take(
    run: &Run<'_>,
    file: &SharedFile,
    processes: usize,
) -> Option<(Range<u64>, Part)> {
    /// Shares of each process: the later a part is taken, the smaller it is, so that all end together.
    const SHARES: u64 = 4;
    let target = file.written_name.clone()?;
    // What cannot be described is not sent.
    let now = fstat(&file.target).ok()?;
    let target_birth = birth(&file.target).ok()?;
    let job = file.job(&run.policy.data);
    let range = file.transfer.take_part(&job, SHARES * processes as u64)?;
    let part = Part {
        source: file.source_name.clone(),
        target,
        source_ino: file.stat.ino,
        source_size: file.stat.size,
        source_mtime: file.stat.mtime,
        target_ino: now.ino,
        target_birth,
        range: (range.start, range.end),
        is_hashed: file.digests.is_some(),
    };
    Some((range, part))
}

/// Takes back a part that another process had. `pieces` are the digests of its bytes, or none if it has
/// none; `None` if it did not move the part. The worker then draws what is left of the file.
pub(crate) fn take_back(
    run: &Run<'_>,
    file: &SharedFile,
    range: &Range<u64>,
    pieces: Option<Vec<Piece>>,
) {
    let job = file.job(&run.policy.data);
    let hashed = match (&file.digests, pieces) {
        (_, None) => None,
        (None, Some(_)) => Some(()),
        // Bytes without a digest could be neither verified nor resumed from.
        (Some(digests), Some(pieces)) => covers(&pieces, range).then(|| digests.learn(&pieces)),
    };
    let arrived = if hashed.is_some() { Arrived::Yes } else { Arrived::No };
    file.transfer.return_part(&job, range, arrived);
    if let (Arrived::Yes, Some(partial)) = (arrived, &file.partial)
        && let Err(error) = partial.advance(run, file.target.as_fd(), range.end - range.start)
    {
        file.transfer.fail_part(range, DataError::Call(error));
    }
}

/// Returns whether pieces are exactly the bytes of a range.
fn covers(pieces: &[Piece], range: &Range<u64>) -> bool {
    let mut bounds: Vec<_> = pieces.iter().map(|piece| (piece.offset, piece.bytes)).collect();
    bounds.sort_unstable();
    let end = bounds.into_iter().try_fold(range.start, |at, (offset, bytes)| {
        (offset == at && bytes > 0).then(|| offset.checked_add(bytes)).flatten()
    });
    end == Some(range.end)
}

/// Begins with a part of another process's file, and offers it to idle workers. The node has the
/// unit's token. Returns `None` if source or target are not what that process described.
pub(crate) fn adopt(
    worker: &mut Worker<'_, '_>,
    node: &Arc<Node>,
    handles: &Handles,
    part: &Part,
) -> Option<Arc<SharedFile>> {
    let run = worker.operation;
    let (source, target, stat) = open(run, node, handles, part)?;
    let (start, end) = part.range;
    // The process that completes the file writes its last bytes.
    let bytes = end.checked_sub(start).filter(|_| end < stat.size)?;
    let pair = run.pairs.of(stat.dev, source.as_fd(), fstat(&target).ok()?.dev, target.as_fd());
    let own = || Arc::new(BlockDigests::new(piece_algorithm(), Remember::Pieces));
    let digests = part.is_hashed.then(|| run.digests().unwrap_or_else(own));
    let extent =
        Extent { source_offset: start, target_offset: start, bytes, behind: Behind::OtherParts };
    let policy = &run.policy.data;
    let job = FileJob {
        digests: digests.as_deref(),
        ..FileJob::whole(source.as_fd(), target.as_fd(), &stat, &pair, policy).part(extent)
    };
    let transfer = Transfer::new(&job, Sharing::Several);
    let file = Arc::new(SharedFile {
        node: Arc::clone(node),
        source_name: part.source.clone(),
        target_name: part.target.clone(),
        written_name: None,
        source,
        target,
        stat,
        pair,
        transfer,
        extent: Some(extent),
        digests,
        partial: None,
        ending: Mutex::new(Some(Ending::Part)),
        workers: AtomicUsize::new(0),
    });
    file.join();
    if worker.demand() == Demand::Unstarted {
        worker.start();
    }
    worker.offer(&file);
    Some(file)
}

/// Opens the two files of a part, and verifies that they are those that the process described which
/// found them.
fn open(
    run: &Run<'_>,
    node: &Arc<Node>,
    handles: &Handles,
    part: &Part,
) -> Option<(OwnedFd, OwnedFd, Stat)> {
    let entry = Entry { node, source: &part.source, target: &part.target, rest: None };
    let read = OpenHow::READ.following(follows(run, &entry));
    let source = run.with_descriptors(|| openat(handles.source(), &part.source, read)).ok()?;
    let stat = fstat(&source).ok()?;
    let was = (part.source_ino, part.source_size, part.source_mtime);
    if stat.kind() != Kind::Regular || (stat.ino, stat.size, stat.mtime) != was {
        return None;
    }
    // An operand may be copied into the file behind a link.
    let follow = if entry.is_operand() { Follow::Yes } else { Follow::No };
    let write = OpenHow::WRITE.following(follow);
    let target = run.with_descriptors(|| openat(handles.target(), &part.target, write)).ok()?;
    let now = fstat(&target).ok()?;
    let is_same = now.kind() == Kind::Regular
        && now.ino == part.target_ino
        && birth(&target).ok()? == part.target_birth;
    is_same.then_some((source, target, stat))
}

/// Ends a part that this process moved for another one: tells that one if all bytes are on stable
/// storage, and their digests.
pub(super) fn end(run: &Run<'_>, file: &SharedFile, moved: &Result<Moved, DataError>) {
    let (Foreign::Unit(token), Some(peers)) = (file.node.foreign, &run.peers) else { return };
    if moved.is_ok() && fdatasync(&file.target).is_ok() {
        let pieces = file.digests.as_ref().map(|digests| digests.take_pieces());
        peers.answer(token, arrived(&pieces.unwrap_or_default()));
    }
}
