//! Large files that workers move into the archive by offset, while the writer goes on behind them.
//!
//! The header of such a member is written after its data, so that the archive of a run that is killed
//! never shows a member without its bytes.

use haul_sys::sync::Mutex;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use haul_io::digest::{Algorithm, Digest};
use haul_io::fully::{read_fully, write_fully};
use haul_io::sides::Which;
use haul_io::trail::{SourceTrail, TargetTrail};
use haul_io::transfer::move_file;
use haul_io::{Behind, DataError, DataPolicy, Device, Extent, FileJob, Kit, Pair, Reflink, Watch};
use haul_sys::fs::{Stat, fstat};
use haul_sys::{Call, CallError, Errno};

use super::found::Found;
use super::line::Line;
use super::plan::Event;
use crate::descriptors::share;
use crate::format::Region;
use crate::sharing::{SHARED_BYTES, parts, policy_of};

/// What is moved at a time: two of these are what a file that shrinks may leave to be read again.
const UNIT_BYTES: u64 = 1 << 20;

/// Bytes that are read at a time where no method moves them.
const PIECE_BYTES: usize = 256 << 10;

/// A file whose place in the archive is known.
pub(super) struct Large {
    pub(super) found: Found,
    pub(super) file: OwnedFd,
    pub(super) stat: Stat,
    pub(super) regions: Vec<Region>,
    pub(super) archive: Arc<OwnedFd>,
    pub(super) header: Vec<u8>,
    /// Where the header goes in the file of the archive; the data are behind it.
    pub(super) header_offset: u64,
}

/// What became of it.
pub(super) struct Placed {
    pub(super) found: Found,
    pub(super) stat: Stat,
    /// What happened to the file; nothing if its bytes are those of a file that did not change.
    pub(super) event: Option<Event>,
    /// The digest of its bytes, if it is wanted and nothing happened.
    pub(super) digest: Option<Vec<u8>>,
    /// Why the archive could not be written.
    pub(super) failed: Option<CallError>,
}

/// The workers' line and what they share.
pub(super) struct Placing {
    pub(super) line: Line<Box<Large>, Placed>,
    policy: DataPolicy,
    hashes: Option<&'static Algorithm>,
    /// By the source's device.
    pairs: Mutex<Vec<Arc<Pair>>>,
    /// Ends the moves: the plan's flag, or one of its own.
    asked: Option<&'static AtomicBool>,
    abandoned: AtomicBool,
}

/// How a range ended.
enum Ended {
    Whole,
    /// The file has so many bytes; zeros took the place of the others.
    Shrank(u64),
    /// So many bytes at this offset could not be read; zeros took their place.
    Unread(u64, u64, CallError),
}

impl Placing {
    /// Moves files for so many workers.
    pub(super) fn new(
        workers: usize,
        policy: DataPolicy,
        hashes: Option<&'static Algorithm>,
        stop: Option<&'static AtomicBool>,
    ) -> Placing {
        // Each worker has one in hand and one that waits.
        let most = share(workers.saturating_mul(2)) as u64;
        Placing {
            line: Line::new(most),
            policy,
            hashes,
            pairs: Mutex::default(),
            asked: stop,
            abandoned: AtomicBool::new(false),
        }
    }

    /// Ends the moves.
    pub(super) fn abandon(&self) {
        self.stop().store(true, Ordering::Relaxed);
        self.line.abandon();
    }

    fn stop(&self) -> &AtomicBool {
        self.asked.unwrap_or(&self.abandoned)
    }

    /// Moves files until no more come. Blocks.
    pub(super) fn work(&self) {
        let mut kit = Kit::new();
        while let Some((number, large)) = self.line.take() {
            let placed = self.place(*large, &mut kit);
            self.line.finish(number, placed);
        }
    }

    fn place(&self, large: Large, kit: &mut Kit) -> Placed {
        let mut digest = self.hashes.map(Algorithm::start);
        let moved = self.move_regions(&large, kit, digest.as_mut());
        let Large { found, file, stat, archive, header, header_offset, .. } = large;
        let mut placed = Placed { found, stat, event: None, digest: None, failed: None };
        match moved {
            Ok(Ended::Whole) => {
                placed.event = match fstat(&file) {
                    Ok(after) => has_changed(&stat, &after).then_some(Event::Changed),
                    Err(error) => Some(Event::Stat(error)),
                };
            }
            Ok(Ended::Shrank(bytes)) => {
                placed.event = Some(Event::Shrank(stat.size.saturating_sub(bytes)));
            }
            Ok(Ended::Unread(at, bytes, error)) => {
                placed.event = Some(Event::Read(at, bytes, error));
            }
            Err(error) => placed.failed = Some(error),
        }
        if placed.event.is_none() {
            placed.digest = digest.map(|mut digest| {
                digest.update_zeros_to(placed.stat.size);
                digest.finish()
            });
        }
        if placed.failed.is_none() {
            placed.failed = write_fully(archive.as_fd(), &header, header_offset).err();
        }
        placed
    }

    fn move_regions(
        &self,
        large: &Large,
        kit: &mut Kit,
        mut digest: Option<&mut Digest>,
    ) -> Result<Ended, CallError> {
        let mut at = large.header_offset + large.header.len() as u64;
        let mut answer = Ended::Whole;
        for region in &large.regions {
            answer = match (answer, digest.as_deref_mut()) {
                (Ended::Whole, Some(digest)) => {
                    digest.update_zeros_to(region.offset);
                    let range = region.offset..region.offset + region.bytes;
                    self.copy(large, range, at, Some(digest))?
                }
                (Ended::Whole, None) => self.move_region(large, *region, at, kit)?,
                // What is behind the end of the file is zeros, too.
                (ended, _) => {
                    self.zeros(&large.archive, at, region.bytes)?;
                    ended
                }
            };
            at += region.bytes;
        }
        Ok(answer)
    }

    fn move_region(
        &self,
        large: &Large,
        region: Region,
        at: u64,
        kit: &mut Kit,
    ) -> Result<Ended, CallError> {
        for (done, bytes) in parts(region.offset, at, region.bytes) {
            let extent = Extent {
                source_offset: region.offset + done,
                target_offset: at + done,
                bytes,
                behind: Behind::Bytes { unit_bytes: UNIT_BYTES },
            };
            let arrived = AtomicU64::new(0);
            if let Err(error) = self.move_extent(large, extent, &arrived, kit) {
                // Not even a flush at the end would say so again.
                if let Some(lost) = error.of_writeback() {
                    return Err(lost);
                }
                let whole = region.offset + region.bytes;
                let from = extent.source_offset + arrived.load(Ordering::Relaxed).min(bytes);
                self.check_sharing(error)?;
                return self.copy(large, from..whole, at + (from - region.offset), None);
            }
        }
        Ok(Ended::Whole)
    }

    /// Returns the error that ends the archive because blocks were to be shared and cannot be.
    fn check_sharing(&self, error: DataError) -> Result<(), CallError> {
        match error {
            DataError::Call(error) if self.policy.reflink == Reflink::Always => Err(error),
            _ => Ok(()),
        }
    }

    fn move_extent(
        &self,
        large: &Large,
        extent: Extent,
        arrived: &AtomicU64,
        kit: &mut Kit,
    ) -> Result<(), DataError> {
        let pair = self.pair(large)?;
        let Extent { source_offset, target_offset, bytes, .. } = extent;
        // A part of a block, and what does not begin at one, cannot be shared.
        let is_part = bytes < SHARED_BYTES
            || !source_offset.is_multiple_of(SHARED_BYTES)
            || !target_offset.is_multiple_of(SHARED_BYTES);
        let policy = policy_of(&self.policy, is_part);
        let watch = Watch { stop: self.stop(), bytes: arrived, pace: None };
        let whole =
            FileJob::whole(large.file.as_fd(), large.archive.as_fd(), &large.stat, &pair, &policy)
                .sharing(Which::Target);
        move_file(&whole.part(extent), kit, watch).map(|_| ())
    }

    fn pair(&self, large: &Large) -> Result<Arc<Pair>, CallError> {
        let mut pairs = self.pairs.lock();
        if let Some(pair) = pairs.iter().find(|pair| pair.source_dev == large.stat.dev) {
            return Ok(Arc::clone(pair));
        }
        let pair = Pair::new(Device::of(&large.file)?, Device::of(&*large.archive)?);
        let pair = Arc::new(pair);
        pairs.push(Arc::clone(&pair));
        Ok(pair)
    }

    /// Fails if the archive has failed, so that its bytes have no reader.
    fn go_on(&self) -> Result<(), CallError> {
        if self.stop().load(Ordering::Relaxed) {
            return Err(CallError::new(Call::Write, Errno::CANCELED));
        }
        Ok(())
    }

    /// Copies a range piece by piece, which shows its bytes, and where the file ends or cannot be read.
    fn copy(
        &self,
        large: &Large,
        range: std::ops::Range<u64>,
        target: u64,
        mut digest: Option<&mut Digest>,
    ) -> Result<Ended, CallError> {
        let mut piece = vec![0; PIECE_BYTES];
        let source = large.file.as_fd();
        let mut trail = SourceTrail::described(source, &large.stat, &self.policy);
        let mut archive_trail = TargetTrail::new(large.archive.as_fd(), &self.policy);
        let (mut at, mut target) = (range.start, target);
        while at < range.end {
            self.go_on()?;
            let want = usize::try_from(range.end - at).unwrap_or(usize::MAX).min(PIECE_BYTES);
            let room = &mut piece[..want];
            let ended = match read_fully(&large.file, room, at) {
                Ok(0) => Ended::Shrank(at),
                Ok(count) => {
                    let bytes = &room[..count];
                    write_fully(large.archive.as_fd(), bytes, target)?;
                    trail.after_read(source, &(at..at + count as u64));
                    let written = target..target + count as u64;
                    archive_trail.after_write(large.archive.as_fd(), written)?;
                    if let Some(digest) = digest.as_deref_mut() {
                        digest.update(bytes);
                    }
                    at += count as u64;
                    target += count as u64;
                    continue;
                }
                Err(error) => Ended::Unread(at, want as u64, error),
            };
            self.zeros(&large.archive, target, range.end - at)?;
            return Ok(ended);
        }
        trail.finish(source);
        archive_trail.finish(large.archive.as_fd())?;
        Ok(Ended::Whole)
    }

    fn zeros(&self, archive: &OwnedFd, at: u64, bytes: u64) -> Result<(), CallError> {
        let zeros = vec![0; PIECE_BYTES];
        let mut done = 0;
        while done < bytes {
            self.go_on()?;
            let count = usize::try_from(bytes - done).unwrap_or(usize::MAX).min(PIECE_BYTES);
            write_fully(archive, &zeros[..count], at + done)?;
            done += count as u64;
        }
        Ok(())
    }
}

/// Returns whether a file that did not shrink changed while it was read.
pub(super) fn has_changed(before: &Stat, after: &Stat) -> bool {
    after.ctime != before.ctime || after.size > before.size
}
