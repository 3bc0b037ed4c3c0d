//! The bytes of a member: moved by a worker, or read and written by this thread.

use std::os::fd::{AsFd as _, OwnedFd};

use haul_io::digest::Algorithm;
use haul_io::fully::read_fully;
use haul_io::trail::SourceTrail;
use haul_sys::fs::{Stat, Time, TimePair, fstat, futimens};

use super::Creator;
use crate::create::archive_file::Output;
use crate::create::entry::Data;
use crate::create::found::Found;
use crate::create::placing::{Large, Placing, has_changed};
use crate::create::plan::{Atime, Event};
use crate::format::Region;

/// Bytes of a large file that are in memory at a time.
const PIECE_BYTES: usize = 1 << 20;

/// The same where nothing is read ahead: a record of the archive.
const RECORD_BYTES: usize = 20 * 512;

impl<'p, W: Output> Creator<'p, W> {
    /// Gives a large file to a worker, or returns the header and the data for this thread.
    pub(super) fn give(
        &mut self,
        found: &Found,
        header: Vec<u8>,
        data: Data,
        stat: &Stat,
    ) -> std::io::Result<Option<(Vec<u8>, Data)>> {
        let (file, regions) = match data {
            Data::File(file) => (file, vec![Region { offset: 0, bytes: stat.size }]),
            Data::Sparse(file, regions) => (file, regions),
            data => return Ok(Some((header, data))),
        };
        let bytes: u64 = regions.iter().map(|region| region.bytes).sum();
        let Some(placing) = self.placing() else {
            return Ok(Some((header, Data::Sparse(file, regions))));
        };
        let Some((archive, header_offset)) = self.sink.leave(header.len() as u64 + bytes)? else {
            return Ok(Some((header, Data::Sparse(file, regions))));
        };
        let (found, stat) = (found.clone(), *stat);
        self.place(placing, Large { found, file, stat, regions, archive, header, header_offset })?;
        Ok(None)
    }

    /// Returns the workers that move large files, which the first such file starts.
    fn placing(&mut self) -> Option<&'p Placing> {
        if self.placing.is_some()
            && let Some(start) = self.start.take()
            && !start()
        {
            // Without threads for them, large files are read by the thread that writes.
            self.placing = None;
        }
        self.placing
    }

    pub(super) fn shrank(&mut self, found: &Found, missing: u64) -> std::io::Result<()> {
        if missing > 0 {
            self.is_intact = false;
            self.tell(found.name(), &Event::Shrank(missing));
        }
        self.sink.zeros(missing)
    }

    pub(super) fn compare(&mut self, found: &Found, before: &Stat, after: &Stat, missing: u64) {
        if missing == 0 && has_changed(before, after) {
            self.is_intact = false;
            self.tell(found.name(), &Event::Changed);
        }
    }

    /// Writes the regions of a file that have data.
    pub(super) fn large(
        &mut self,
        found: &Found,
        file: &OwnedFd,
        stat: &Stat,
        regions: &[Region],
    ) -> std::io::Result<()> {
        let piece_bytes = if self.plan.reads_ahead { PIECE_BYTES } else { RECORD_BYTES };
        let mut piece = vec![0; piece_bytes];
        let mut left: u64 = regions.iter().map(|region| region.bytes).sum();
        let mut trail = SourceTrail::described(file.as_fd(), stat, &self.plan.data);
        let mut digest = self.plan.hashes.map(Algorithm::start);
        for region in regions {
            let (mut at, end) = (region.offset, region.offset + region.bytes);
            if let Some(digest) = &mut digest {
                digest.update_zeros_to(at);
            }
            while at < end {
                let want = usize::try_from(end - at).unwrap_or(usize::MAX).min(piece_bytes);
                let room = &mut piece[..want];
                match read_fully(file, room, at) {
                    Ok(0) => {
                        self.is_intact = false;
                        // A sparse file may have ended in a hole before.
                        let end = fstat(file).map_or(at, |now| now.size.min(at));
                        let event = Event::Shrank(stat.size - end);
                        self.tell(found.name(), &event);
                        return self.sink.zeros(left);
                    }
                    Ok(count) => {
                        let bytes = &room[..count];
                        self.sink.put(bytes)?;
                        if let Some(digest) = &mut digest {
                            digest.update(bytes);
                        }
                        trail.after_read(file.as_fd(), &(at..at + count as u64));
                        at += count as u64;
                        left -= count as u64;
                    }
                    Err(error) => {
                        self.is_intact = false;
                        self.tell(found.name(), &Event::Read(at, want as u64, error));
                        return self.sink.zeros(left);
                    }
                }
            }
        }
        trail.finish(file.as_fd());
        self.digest = digest.map(|mut digest| {
            digest.update_zeros_to(stat.size);
            digest.finish()
        });
        let after = fstat(file);
        if self.plan.atime == Atime::Replace {
            let times = TimePair { atime: stat.atime, mtime: Time::OMIT };
            // As GNU tar, which says nothing if the time cannot be set.
            let _unset = futimens(file, times);
        }
        match after {
            Ok(after) => self.compare(found, stat, &after, 0),
            Err(error) => {
                self.is_intact = false;
                self.tell(found.name(), &Event::Stat(error));
            }
        }
        Ok(())
    }
}
