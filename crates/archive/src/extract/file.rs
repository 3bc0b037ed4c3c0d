//! Makes one regular file: creates it, moves its bytes, sets its attributes.

use std::os::fd::{AsFd as _, OwnedFd};

use haul_io::attributes::Target;
use haul_io::digest::{Algorithm, Digest};
use haul_io::fully::read_fully;
use haul_io::sides::Which;
use haul_io::trail::{SourceTrail, TargetTrail};
use haul_io::transfer::move_file;
use haul_io::{Behind, DataError, Extent, FileJob, Kit, Watch};
use haul_sys::data::ftruncate;
use haul_sys::fs::{Stat, fstat};
use haul_sys::{CallError, Errno};

use super::attributes::Attributes;
use super::event::{Action, Event};
use super::extracted::{Extracted, Published};
use super::shared::{Content, Job, Shared};
use crate::format::{Member, Region};
use crate::sharing::{SHARED_BYTES, parts, policy_of};

/// Bytes of a file that are in memory at a time while they are hashed.
const PIECE_BYTES: usize = 256 << 10;

/// What became of the file of a job.
pub(super) enum Prepared {
    /// It is complete.
    Ready(Extracted),
    /// The name exists.
    Exists,
    /// This process, or the system, has no more of them.
    NoDescriptor(CallError),
    /// Nothing is left to do: it is there already, or it failed, which was told.
    Over,
}

impl Shared {
    /// Makes files of one directory, and returns those whose names exist, unless each is one of a file of its own
    /// that is overwritten.
    pub(super) fn make_all(&self, jobs: Vec<Job>, kit: &mut Kit) -> Vec<Job> {
        let mut returned = Vec::new();
        let mut ready = Vec::new();
        for job in jobs {
            // By the thread that reads the archive, in the order of the members.
            if self.writes_to_links(&job) {
                returned.push(job);
                continue;
            }
            let mut prepared = self.prepare(&job, kit);
            if let Prepared::NoDescriptor(_) = prepared
                && !ready.is_empty()
            {
                returned.extend(self.end_all(std::mem::take(&mut ready)));
                prepared = self.prepare(&job, kit);
            }
            match prepared {
                Prepared::Ready(new) if self.waits(&new) => ready.push((job, new)),
                Prepared::Ready(new) => returned.extend(self.end(job, new)),
                // By the thread that reads the archive, when no worker has a file open.
                Prepared::Exists | Prepared::NoDescriptor(_) => returned.push(job),
                Prepared::Over => {}
            }
        }
        returned.extend(self.end_all(ready));
        returned
    }

    /// Waits for files and publishes them. All are on their way to storage before the first is waited for, and
    /// there before the first name is given: a file system writes its journal for a file, and again for the
    /// next if names changed.
    fn end_all(&self, mut ready: Vec<(Job, Extracted)>) -> Vec<Job> {
        ready.retain(|(job, new)| self.wait(job, new));
        ready.into_iter().filter_map(|(job, new)| self.end(job, new)).collect()
    }

    /// Publishes a file; gives the job back if the name exists.
    fn end(&self, job: Job, new: Extracted) -> Option<Job> {
        match self.publish(&job, new) {
            // Without a descriptor it is made again when no worker has a file open.
            Published::Exists(new) | Published::NoDescriptor(new, _) => {
                self.discard(&job, &new);
                Some(job)
            }
            Published::Yes | Published::Failed => None,
        }
    }

    /// Makes the file of a job, complete but for its name.
    pub(super) fn prepare(&self, job: &Job, kit: &mut Kit) -> Prepared {
        if let Some(digest) = self.is_there(job) {
            self.monitor.event(&job.name, &Event::Kept);
            if let Some(digest) = digest {
                self.monitor.hashed(&job.name, &digest.finish());
            }
            return Prepared::Over;
        }
        let mut new = match self.open(job) {
            Ok(new) => new,
            Err(error) if matches!(error.errno, Errno::EXIST | Errno::LOOP) => {
                return Prepared::Exists;
            }
            Err(error) if matches!(error.errno, Errno::MFILE | Errno::NFILE) => {
                return Prepared::NoDescriptor(error);
            }
            Err(error) => {
                self.monitor.event(&job.name, &Event::Failed(Action::Open, error));
                return Prepared::Over;
            }
        };
        new.pages = self.pages_of(job);
        let filled = self.fill(job, &mut new, kit);
        match self.complete(job, new, filled) {
            Some(new) => Prepared::Ready(new),
            None => Prepared::Over,
        }
    }

    /// Writes the bytes of a file. Returns their digest, if it is wanted.
    fn fill(
        &self,
        job: &Job,
        new: &mut Extracted,
        kit: &mut Kit,
    ) -> Result<Option<Vec<u8>>, DataError> {
        let regions = job.member.data();
        let mut digest = self.hashes.map(Algorithm::start);
        let mut done = 0;
        for region in regions.iter().filter(|region| region.bytes > 0) {
            if let Some(digest) = &mut digest {
                digest.update_zeros_to(region.offset);
            }
            match (&job.content, &mut digest) {
                (Content::Bytes(bytes), digest) => {
                    let start = usize::try_from(done).unwrap_or(usize::MAX);
                    let end = start.saturating_add(usize::try_from(region.bytes).unwrap_or(0));
                    let bytes = bytes.get(start..end).ok_or(DataError::Changed)?;
                    self.write_in(new, bytes, region.offset)?;
                    if let Some(digest) = digest {
                        digest.update(bytes);
                    }
                }
                (Content::InArchive(offset), Some(digest)) => {
                    self.copy_hashed((&new.file, *region), offset + done, digest)?;
                }
                (Content::InArchive(offset), None) => {
                    let source = offset + done;
                    for (at, bytes) in parts(source, region.offset, region.bytes) {
                        let extent = Extent {
                            source_offset: source + at,
                            target_offset: region.offset + at,
                            bytes,
                            behind: Behind::Nothing,
                        };
                        self.move_extent(job, &new.file, extent, kit)?;
                    }
                }
            }
            done += region.bytes;
        }
        if job.member.regions.is_some() {
            ftruncate(&new.file, job.member.size)?;
        }
        Ok(digest.map(|mut digest| {
            digest.update_zeros_to(job.member.size);
            digest.finish()
        }))
    }

    /// Writes a region of a file from an offset of the archive, through memory.
    fn copy_hashed(
        &self,
        (file, region): (&OwnedFd, Region),
        offset: u64,
        digest: &mut Digest,
    ) -> Result<(), DataError> {
        let archive = self.archive.as_ref().ok_or(DataError::NoProgress)?;
        let mut piece = vec![0; PIECE_BYTES];
        let mut trail = TargetTrail::new(file.as_fd(), &self.policy.data);
        let mut source_trail = SourceTrail::new(archive.file.as_fd(), &self.policy.data);
        let mut done = 0;
        while done < region.bytes {
            let want = usize::try_from(region.bytes - done).unwrap_or(usize::MAX).min(PIECE_BYTES);
            let room = &mut piece[..want];
            let count = read_fully(archive.file.as_fd(), room, offset + done)?;
            if count < want {
                return Err(DataError::Changed);
            }
            let at = region.offset + done;
            self.write(file, room, at)?;
            trail.after_write(file.as_fd(), at..at + count as u64)?;
            let from = offset + done;
            source_trail.after_read(archive.file.as_fd(), &(from..from + count as u64));
            digest.update(room);
            done += count as u64;
        }
        source_trail.finish(archive.file.as_fd());
        trail.finish(file.as_fd())?;
        Ok(())
    }

    fn move_extent(
        &self,
        job: &Job,
        file: &OwnedFd,
        extent: Extent,
        kit: &mut Kit,
    ) -> Result<(), DataError> {
        let (Some(archive), Some(pair)) = (&self.archive, &job.pair) else {
            return Err(DataError::NoProgress);
        };
        let watch = Watch { stop: self.stop, bytes: &self.bytes, pace: None };
        // A part of a block cannot be shared.
        let policy = policy_of(&self.policy.data, extent.bytes < SHARED_BYTES);
        let whole =
            FileJob::whole(archive.file.as_fd(), file.as_fd(), &archive.stat, pair, &policy)
                .sharing(Which::Source);
        let source = archive.file.as_fd();
        archive.trail.before(source, &archive.stat, extent.bytes, &policy);
        let moved = move_file(&whole.part(extent), kit, watch);
        let from = extent.source_offset;
        archive.trail.after(source, &(from..from + extent.bytes));
        moved.map(|_| ())
    }

    /// Sets the attributes of a file whose bytes were written, or removes it if they were not.
    pub(super) fn complete(
        &self,
        job: &Job,
        mut new: Extracted,
        filled: Result<Option<Vec<u8>>, DataError>,
    ) -> Option<Extracted> {
        match filled {
            Ok(digest) => new.digest = digest,
            Err(error) => {
                self.discard(job, &new);
                self.monitor.event(&job.name, &Event::Incomplete(error));
                return None;
            }
        }
        self.start_writing(&new);
        let attributes = Attributes { made: new.made, ..self.attributes(&job.member, job.owner) };
        new.described = self.settle_open(&job.name, &job.member, &new.file, attributes);
        Some(new)
    }

    /// Sets the attributes of an open file or directory. Returns its description from before, if it could be
    /// described.
    pub(super) fn settle_open(
        &self,
        name: &[u8],
        member: &Member,
        file: &OwnedFd,
        attributes: Attributes,
    ) -> Option<Stat> {
        match fstat(file) {
            Ok(stat) => {
                self.settle(name, member, (Target::File(file.as_fd()), &stat), attributes);
                Some(stat)
            }
            Err(error) => {
                self.monitor.event(name, &Event::Failed(Action::Stat, error));
                None
            }
        }
    }
}
