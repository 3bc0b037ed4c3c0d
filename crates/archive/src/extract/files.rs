//! Regular files: who makes each, a worker or this thread.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use bytes::Bytes;
use haul_io::digest::{Algorithm, HOLES_MAX_BYTES};
use haul_io::trail::TargetTrail;
use haul_io::{DataError, Device, Pair, Reflink};
use haul_sys::{Call, CallError, Errno};

use super::crew::Crew;
use super::event::Action;
use super::extracted::{Extracted, Published};
use super::extractor::{Extractor, Then};
use super::file::Prepared;
use super::lacks_descriptors;
use super::shared::{Content, Job, without_names};
use crate::descriptors::are_few;
use crate::format::{Member, ReadError, Reader};
use crate::source::Source;

/// Files of a stream up to this size are made by workers, from memory.
const SMALL_BYTES: u64 = 1 << 20;

/// Files of an archive that can be read by offset are moved by workers from this size on; the bytes of
/// smaller ones were read with their headers.
const MOVED_BYTES: u64 = 32 << 10;

/// Bytes of a larger file of a stream that are in memory at a time.
const PIECE_BYTES: usize = 256 << 10;

impl Extractor {
    pub(super) fn pair(&mut self, parent: &Arc<OwnedFd>) -> Option<Arc<Pair>> {
        if let Some((last, pair)) = &self.last_pair
            && Arc::ptr_eq(last, parent)
        {
            return Some(Arc::clone(pair));
        }
        let archive = self.shared.archive.as_ref()?;
        let target = Device::of(&**parent).ok()?;
        let known = self.pairs.iter().find(|pair| pair.target_dev == target.dev);
        let pair = match known {
            Some(pair) => Arc::clone(pair),
            None => {
                let pair = Arc::new(Pair::new(Device::of(&*archive.file).ok()?, target));
                self.pairs.push(Arc::clone(&pair));
                pair
            }
        };
        self.last_pair = Some((Arc::clone(parent), Arc::clone(&pair)));
        Some(pair)
    }

    /// Returns whether so many bytes of a file are moved by offset, and not through memory. Where no page of the
    /// archive stays, what was read ahead with the headers would be read twice.
    fn may_move(&self, bytes: u64) -> bool {
        let is_read_once = bytes > SMALL_BYTES || self.shared.stay(bytes);
        bytes >= MOVED_BYTES
            && (self.shared.policy.data.reflink == Reflink::Always || (is_read_once && !are_few()))
    }

    pub(super) fn file<S: Source>(
        &mut self,
        reader: &mut Reader<S>,
        member: Box<Member>,
        name: &[u8],
    ) -> Result<(), ReadError> {
        let holes = member.size.saturating_sub(member.stored_bytes);
        if self.shared.hashes.is_some() && holes > HOLES_MAX_BYTES {
            self.failed(name, Action::Hash, CallError::new(Call::Read, Errno::FBIG));
            return Ok(());
        }
        let Some(place) = self.place(name, Action::Open) else { return Ok(()) };
        let pair = self.pair(&place.parent);
        let owner = self.owner(&member);
        let member = without_names(member);
        let stored = member.stored_bytes;
        let is_in_archive =
            self.shared.archive.is_some() && pair.is_some() && self.may_move(stored);
        let through_link = place.through_link;
        let content = if is_in_archive {
            Content::InArchive(self.archive_offset + member.data_offset)
        } else {
            Content::Bytes(Bytes::new())
        };
        let number = self.number;
        let mut job = Job { number, name: name.to_vec(), place, member, owner, content, pair };
        if !is_in_archive && stored > SMALL_BYTES {
            return self.large(reader, &job);
        }
        if is_in_archive {
            // An archive that ends within the file gives no file that looks complete.
            reader.finish_member()?;
        } else {
            let mut data = self.room.take(usize::try_from(stored).unwrap_or(0));
            reader.read(&mut data)?;
            job.content = Content::Bytes(data.freeze());
        }
        if through_link {
            // The place has another name, which is not in the table of names.
            self.drain();
            self.make_here(&job);
            return Ok(());
        }
        if !self.has_worker() {
            self.make_here(&job);
            return Ok(());
        }
        self.in_flight.add();
        if self.queue.push(job) {
            self.drain();
        }
        Ok(())
    }

    /// Starts a worker, unless all have started. Returns `false` if there is none, because no thread
    /// can be started.
    pub(super) fn has_worker(&mut self) -> bool {
        let (shared, queue) = (&self.shared, &self.queue);
        self.crew.get_or_insert_with(|| Crew::new(shared, queue)).has_worker()
    }

    /// Makes a large file of a stream, piece by piece.
    pub(super) fn large<S: Source>(
        &mut self,
        reader: &mut Reader<S>,
        job: &Job,
    ) -> Result<(), ReadError> {
        if job.place.through_link || self.shared.writes_to_links(job) {
            self.drain();
        }
        let mut may_free = true;
        let new = loop {
            match self.shared.open(job) {
                Ok(new) => break new,
                Err(error) if lacks_descriptors(error) && std::mem::take(&mut may_free) => {
                    self.free_descriptors();
                }
                Err(error) => match self.recover(&job.name, &job.place, &job.member, error) {
                    Then::Retry => {}
                    Then::Skip => return Ok(()),
                    Then::Fail => {
                        self.failed(&job.name, Action::Open, error);
                        return Ok(());
                    }
                },
            }
        };
        match self.copy(reader, job, &new.file) {
            Ok(filled) => {
                if let Some(new) = self.shared.complete(job, new, filled)
                    && self.shared.wait(job, &new)
                {
                    self.publish(job, new);
                }
                Ok(())
            }
            Err(error) => {
                self.shared.discard(job, &new);
                Err(error)
            }
        }
    }

    /// Waits until no worker has a file open, and closes directories that stay open to be fast.
    pub(super) fn free_descriptors(&mut self) {
        self.drain();
        self.places.forget();
        self.last_pair = None;
    }

    /// Makes a file in this thread, whatever exists.
    pub(super) fn make_here(&mut self, job: &Job) {
        let mut may_free = true;
        loop {
            match self.shared.prepare(job, &mut self.kit) {
                Prepared::Ready(new) => {
                    if self.shared.wait(job, &new) {
                        self.publish(job, new);
                    }
                    return;
                }
                Prepared::NoDescriptor(_) if std::mem::take(&mut may_free) => {
                    self.free_descriptors();
                    continue;
                }
                Prepared::NoDescriptor(error) => {
                    return self.failed(&job.name, Action::Open, error);
                }
                Prepared::Over => return,
                Prepared::Exists => {}
            }
            let error = CallError::new(Call::Openat, Errno::EXIST);
            match self.recover(&job.name, &job.place, &job.member, error) {
                Then::Retry => {}
                Then::Skip => return,
                Then::Fail => return self.failed(&job.name, Action::Open, error),
            }
        }
    }

    /// Gives a complete file its name, whatever exists.
    pub(super) fn publish(&mut self, job: &Job, mut new: Extracted) {
        let mut may_free = true;
        loop {
            match self.shared.publish(job, new) {
                Published::Yes | Published::Failed => return,
                Published::Exists(back) => new = back,
                Published::NoDescriptor(back, _) if std::mem::take(&mut may_free) => {
                    self.free_descriptors();
                    new = back;
                    continue;
                }
                Published::NoDescriptor(back, error) => {
                    self.shared.discard(job, &back);
                    return self.failed(&job.name, Action::Publish, error);
                }
            }
            let error = CallError::new(Call::Openat, Errno::EXIST);
            match self.recover(&job.name, &job.place, &job.member, error) {
                Then::Retry => {}
                Then::Skip => return self.shared.discard(job, &new),
                Then::Fail => {
                    self.shared.discard(job, &new);
                    return self.failed(&job.name, Action::Open, error);
                }
            }
        }
    }

    pub(super) fn copy<S: Source>(
        &mut self,
        reader: &mut Reader<S>,
        job: &Job,
        file: &OwnedFd,
    ) -> Result<Result<Option<Vec<u8>>, DataError>, ReadError> {
        let mut piece = vec![0; PIECE_BYTES];
        let mut trail = TargetTrail::new(file.as_fd(), &self.shared.policy.data);
        let mut digest = self.shared.hashes.map(Algorithm::start);
        for region in job.member.data() {
            if let Some(digest) = &mut digest {
                digest.update_zeros_to(region.offset);
            }
            let mut done = 0;
            while done < region.bytes {
                let want = usize::try_from(region.bytes - done).unwrap_or(usize::MAX);
                let room = &mut piece[..want.min(PIECE_BYTES)];
                let count = reader.read(room)?;
                let bytes = &room[..count];
                let at = region.offset + done;
                let written = self
                    .shared
                    .write(file, bytes, at)
                    .and_then(|()| trail.after_write(file.as_fd(), at..at + count as u64));
                if let Err(error) = written {
                    return Ok(Err(error.into()));
                }
                if let Some(digest) = &mut digest {
                    digest.update(bytes);
                }
                done += count as u64;
            }
        }
        if let Err(error) = trail.finish(file.as_fd()) {
            return Ok(Err(error.into()));
        }
        if job.member.regions.is_some()
            && let Err(error) = haul_sys::data::ftruncate(file, job.member.size)
        {
            return Ok(Err(error.into()));
        }
        Ok(Ok(digest.map(|mut digest| {
            digest.update_zeros_to(job.member.size);
            digest.finish()
        })))
    }
}
