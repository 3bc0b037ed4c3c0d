//! Parts of a large file: those that other processes move of a file of this one, and those that this
//! process moves of theirs.
//!
//! The process that found the file makes and completes it. Another process opens source and target by
//! their names, verifies that they are the same files, moves the bytes of its part, and flushes them:
//! a part whose machine is lost afterwards must not be missing from a file that looks complete. If
//! anything of that fails, it reports nothing but that: the process that found the file then moves the
//! part itself, and reports what fails there.

use haul_sys::sync::Mutex;
use std::ffi::CString;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use haul_io::block_digests::{BlockDigests, Piece, Remember};
use haul_io::method::Sharing;
use haul_io::transfer::{Arrived, Transfer};
use haul_io::{Behind, DataError, Extent, FileJob, Moved};
use haul_sys::fs::{self, Follow, Kind, OpenHow, Stat, Time, birth, fdatasync, fstat, openat};
use haul_sys::{Call, CallError, Errno};
use haul_tree::Demand;

use super::find::follows_by_role;
use super::item::Target;
use super::sample;
use super::shared_file::{Ending, OpenTarget, SharedFile};
use crate::copy::among_ranks::answer::PartAnswer;
use crate::copy::among_ranks::last_part::PartFiles;
use crate::copy::context::Worker;
use crate::copy::entry::Entry;
use crate::copy::node::{Handles, Node};
use crate::copy::run::Run;
use crate::journal::piece_algorithm;
use crate::peers::state::{Foreign, PeerState};

/// Part of a large file, by what another process needs to find it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) source: CString,
    /// Path that the target has at present, and whether it may be a symbolic link.
    pub(crate) target: CString,
    pub(crate) may_be_link: bool,
    pub(crate) source_ino: u64,
    pub(crate) source_size: u64,
    pub(crate) source_mtime: Time,
    pub(crate) source_ctime: Time,
    pub(crate) target_ino: u64,
    /// Creation time of the target, if the file system records it. Local file systems of two machines
    /// may have the same inode numbers under the same names.
    pub(crate) target_birth: Option<Time>,
    /// First byte, and the one behind the last.
    pub(crate) range: (u64, u64),
    /// Whether digests of the bytes are needed.
    pub(crate) is_hashed: bool,
}

/// Parts of a file that may come back undone before no more are sent: another process may be unable to
/// open it, and would ask for the next one at once.
const REFUSALS_MAX: usize = 3;

/// Parts of a file that each other process has at a time, on average: all workers of a process share a
/// part, and while some end it the others begin the next one. With more of them, most of the file would be
/// divided at once, in large parts, and the process with the slowest one would end last.
const PARTS_EACH: usize = 2;

/// Returns how other processes find a target that is being written, if there are others and it has a
/// name.
pub(super) fn open_target(run: &Run<'_>, target: &Target, entry: &Entry<'_>) -> Option<OpenTarget> {
    if !run.has_others() {
        return None;
    }
    let (path, may_be_link) = match &target.temporary {
        None => (entry.target.to_owned(), entry.is_operand()),
        Some(file) => (file.hidden_path(entry.target)?, false),
    };
    // What cannot be described is not sent.
    let ino = fstat(&target.fd).ok()?.ino;
    Some(OpenTarget { path, ino, birth: birth(&target.fd).ok()?, may_be_link })
}

/// Returns whether there is a part of a file that another process could move.
pub(crate) fn may_split(run: &Run<'_>, file: &SharedFile) -> bool {
    let others = run.peers.as_ref().map_or(0, |peers| peers.count().saturating_sub(1));
    let job = file.job(&run.policy.data);
    file.open_target.is_some()
        && file.sent.load(Ordering::Relaxed) < PARTS_EACH * others
        && file.refused.load(Ordering::Relaxed) < REFUSALS_MAX
        && file.transfer.has_part(&job, least_part(run, file, &job))
}

/// Returns the size of the smallest part, as if the other processes had as many workers as this one.
fn least_part(run: &Run<'_>, file: &SharedFile, job: &FileJob<'_>) -> u64 {
    let processes = run.peers.as_ref().map_or(1, PeerState::count);
    file.transfer.least_part(job, run.budget.waiting_workers as u64, processes as u64)
}

/// Takes a part for another of so many processes; `None` if there is none at present.
pub(crate) fn take(
    run: &Run<'_>,
    file: &SharedFile,
    processes: usize,
) -> Option<(Range<u64>, Part)> {
    /// Shares of each process: the later a part is taken, the smaller it is, so that all end together.
    const SHARES: u64 = 2;
    let OpenTarget { path, ino, birth, may_be_link } = file.open_target.clone()?;
    let job = file.job(&run.policy.data);
    let least = least_part(run, file, &job);
    let range = file.transfer.take_part(&job, SHARES * processes as u64, least)?;
    file.sent.fetch_add(1, Ordering::Relaxed);
    let part = Part {
        source: file.source_name.clone(),
        target: path,
        may_be_link,
        source_ino: file.stat.ino,
        source_size: file.stat.size,
        source_mtime: file.stat.mtime,
        source_ctime: file.stat.ctime,
        target_ino: ino,
        target_birth: birth,
        range: (range.start, range.end),
        is_hashed: file.digests.is_some(),
    };
    Some((range, part))
}

/// Keeps a part that came back until a worker of the file looks at it. Does not block.
pub(crate) fn came_back(file: &SharedFile, range: &Range<u64>, answer: &[u8]) {
    file.sent.fetch_sub(1, Ordering::Relaxed);
    if answer.is_empty() {
        // Before a worker looks at it, many could follow.
        file.refused.fetch_add(1, Ordering::Relaxed);
    }
    let mut returned = file.returned.lock();
    returned.push((range.clone(), answer.to_vec()));
}

/// Takes back the parts that came back: what has not arrived is drawn again.
pub(super) fn take_back_all(run: &Run<'_>, file: &SharedFile) {
    // The lock is held by no worker that reads or writes.
    let next = || file.returned.lock().pop();
    while let Some((range, answer)) = next() {
        take_back(run, file, &range, PartAnswer::decode(&answer));
    }
}

fn take_back(run: &Run<'_>, file: &SharedFile, range: &Range<u64>, answer: PartAnswer) {
    let job = file.job(&run.policy.data);
    let pieces = match answer {
        PartAnswer::Arrived(pieces) => pieces,
        PartAnswer::NotMoved => return file.transfer.return_part(&job, range, Arrived::No),
        PartAnswer::NotFlushed => {
            // What that machine still has in memory could be written over what is moved here.
            let error = CallError::new(Call::Fdatasync, Errno::IO);
            file.transfer.return_part(&job, range, Arrived::No);
            return file.transfer.fail_part(range, DataError::Call(error));
        }
    };
    let arrived = match &file.digests {
        None => sample::is_here(run, file, range),
        // Bytes without a digest could be neither verified nor resumed from.
        Some(digests) => {
            let is_here = covers(&pieces, range) && sample::is_here(run, file, range);
            if is_here {
                digests.learn(&pieces);
            }
            is_here
        }
    };
    if !arrived {
        file.refused.fetch_add(1, Ordering::Relaxed);
        return file.transfer.return_part(&job, range, Arrived::No);
    }
    file.transfer.return_part(&job, range, Arrived::Yes);
    if let Some(partial) = &file.partial
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

impl SharedFile {
    /// Returns the files for another part.
    pub(crate) fn part_files(&self) -> PartFiles {
        let SharedFile { source, target, stat, pair, .. } = self;
        let (source, target) = (Arc::clone(source), Arc::clone(target));
        PartFiles { source, target, stat: *stat, pair: Arc::clone(pair) }
    }
}

/// Begins with a part of another process's file, and offers it to idle workers. The node has the
/// unit's token. Returns `None` if the part is not one of the source as it was described.
pub(crate) fn begin(
    worker: &mut Worker<'_, '_>,
    node: &Arc<Node>,
    files: PartFiles,
    part: &Part,
) -> Option<Arc<SharedFile>> {
    let run = worker.operation;
    let PartFiles { source, target, stat, pair } = files;
    let (start, end) = part.range;
    // The process that completes the file writes its last bytes.
    let bytes = end.checked_sub(start).filter(|_| end < stat.size)?;
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
        open_target: None,
        returned: Mutex::default(),
        refused: AtomicUsize::new(0),
        sent: AtomicUsize::new(0),
        source,
        target,
        source_of_samples: OnceLock::new(),
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
pub(crate) fn open(
    run: &Run<'_>,
    node: &Arc<Node>,
    handles: &Handles,
    part: &Part,
) -> Option<PartFiles> {
    let entry = Entry { node, source: &part.source, target: &part.target, rest: None };
    let read = OpenHow::READ.following(follows_by_role(run, &entry));
    let source = run.with_descriptors(|| openat(handles.source(), &part.source, read)).ok()?;
    let stat = fstat(&source).ok()?;
    let was = (part.source_ino, part.source_size, part.source_mtime, part.source_ctime);
    if stat.kind() != Kind::Regular || (stat.ino, stat.size, stat.mtime, stat.ctime) != was {
        return None;
    }
    // An operand may be copied into the file behind a link.
    let follow = if part.may_be_link { Follow::Yes } else { Follow::No };
    let write = OpenHow::WRITE.following(follow);
    let target = run.with_descriptors(|| openat(handles.target(), &part.target, write)).ok()?;
    let now = fstat(&target).ok()?;
    // Not all machines need to see creation times.
    let births = birth(&target).ok()?.zip(part.target_birth);
    let is_same = now.kind() == Kind::Regular
        && now.ino == part.target_ino
        && births.is_none_or(|(now, was)| now == was);
    if !is_same {
        return None;
    }
    let pair = run.pairs.of(stat.dev, source.as_fd(), now.dev, target.as_fd());
    Some(PartFiles { source: Arc::new(source), target: Arc::new(target), stat, pair })
}

/// Opens the files of another part of the same file once more. Each part has descriptors of its own: the
/// kernel tells each open file of a failed write-back once, and direct I/O is a flag of it.
pub(crate) fn open_anew(run: &Run<'_>, files: PartFiles) -> Option<PartFiles> {
    let source = run.with_descriptors(|| fs::open_anew(&files.source)).ok()?;
    let target = run.with_descriptors(|| fs::open_anew_for_writing(&files.target)).ok()?;
    Some(PartFiles { source: Arc::new(source), target: Arc::new(target), ..files })
}

/// Ends a part that this process moved for another one: flushes what was written, and tells that process
/// whether all bytes are on stable storage, and their digests. After that nothing of this process
/// reaches the file any more.
pub(super) fn end(run: &Run<'_>, file: &SharedFile, moved: &Result<Moved, DataError>) {
    let (Foreign::Part(token), Some(peers)) = (file.node.foreign, &run.peers) else { return };
    // Also what was written of a part that failed: the file's process writes it again.
    let answer = match fdatasync(&file.target) {
        Err(_) => PartAnswer::NotFlushed,
        Ok(()) if moved.is_ok() && is_unchanged(file) => {
            let pieces = file.digests.as_ref().map(|digests| digests.take_pieces());
            PartAnswer::Arrived(pieces.unwrap_or_default())
        }
        Ok(()) => PartAnswer::NotMoved,
    };
    peers.answer(token, answer.encode());
    peers.part_ended();
}

/// Returns whether the source is as it was when this process opened it.
fn is_unchanged(file: &SharedFile) -> bool {
    let of = |stat: &Stat| (stat.size, stat.mtime, stat.ctime);
    fstat(&file.source).is_ok_and(|now| of(&now) == of(&file.stat))
}
