//! Writes records: as they are, or gathered into blocks of the output's size; and what comes after.

use haul_sys::data::{Way, ftruncate, seek_set, seek_tell, set_way, write};
use haul_sys::fs::{Kind, fdatasync, fstat, fsync};
use haul_sys::memory::AlignedBuffer;
use haul_sys::{CallError, Errno};

use super::monitor::{End, Quit, RecordError};
use super::order::Conv;
use super::run::{Run, Step, bytes_of};
use crate::system::fully::write_all;
use crate::system::retry::{again, through_signals_while};

/// Why a record was not written to its end.
enum Ended {
    /// The run is over.
    Quit(Quit),
    /// A write failed.
    Refused(Errno),
}

impl From<Quit> for Ended {
    fn from(quit: Quit) -> Ended {
        Ended::Quit(quit)
    }
}

impl From<CallError> for Ended {
    fn from(error: CallError) -> Ended {
        Ended::Refused(error.errno)
    }
}

impl Run<'_> {
    /// Takes bytes in, and writes whole blocks of the output's size out.
    pub(super) fn gather(&mut self, bytes: &[u8]) -> Result<Step, Quit> {
        if self.converter.is_idle() {
            self.push(bytes)?;
        } else {
            let mut converted = std::mem::take(&mut self.converted);
            self.converter.feed(bytes, &mut converted);
            self.told.counts.truncated = self.converter.truncated;
            self.push(&converted)?;
            converted.clear();
            self.converted = converted;
        }
        Ok(Step::Next)
    }

    /// Adds bytes to the block, and writes it whenever it is full.
    fn push(&mut self, mut bytes: &[u8]) -> Result<(), Quit> {
        let mut block = self.take_block()?;
        while !bytes.is_empty() {
            let room = &mut block[self.filled..];
            let (now, later) = bytes.split_at(bytes.len().min(room.len()));
            if let Some(room) = room.get_mut(..now.len()) {
                room.copy_from_slice(now);
            }
            self.filled += now.len();
            bytes = later;
            if self.filled == block.len() {
                self.filled = 0;
                self.write_block(&block)?;
            }
        }
        self.block = Some(block);
        Ok(())
    }

    fn write_block(&mut self, block: &[u8]) -> Result<(), Quit> {
        let (written, errno) = self.write_all(block)?;
        self.told.counts.bytes += written as u64;
        if written != block.len() {
            self.told.say(RecordError::WriteBlock(errno));
            self.told.counts.written_partial += u64::from(written > 0);
            return Err(self.quit());
        }
        self.told.counts.written_full += 1;
        Ok(())
    }

    /// Returns the buffer in which blocks of the output's size are made: on a page boundary, as direct
    /// writing wants it.
    pub(super) fn take_block(&mut self) -> Result<AlignedBuffer, Quit> {
        match self.block.take() {
            Some(block) => Ok(block),
            None => AlignedBuffer::new(bytes_of(self.order.obs)).map_err(|_| {
                self.told.say(RecordError::Memory { end: End::Output, bytes: self.order.obs });
                Quit
            }),
        }
    }

    /// Writes what is left when the input has ended.
    pub(super) fn finish_output(&mut self) -> Result<bool, Quit> {
        let mut converted = std::mem::take(&mut self.converted);
        self.converter.finish(&mut converted);
        if !converted.is_empty() {
            self.push(&converted)?;
        }
        let filled = std::mem::take(&mut self.filled);
        if filled > 0 {
            let block = self.take_block()?;
            let rest = &block[..filled];
            let (written, errno) = self.write_all(rest)?;
            self.told.counts.bytes += written as u64;
            self.told.counts.written_partial += u64::from(written > 0);
            if written != filled {
                self.told.say(RecordError::Write(errno));
                return Ok(false);
            }
        }
        if self.ended_by_seek && !self.extend() {
            return Ok(false);
        }
        if self.has(Conv::FDATASYNC.with(Conv::FSYNC)) {
            self.told.before_sync();
        }
        Ok(true)
    }

    /// Makes a file as long as what was sought to at its end.
    fn extend(&mut self) -> bool {
        let mut bytes = self.output.offset.unwrap_or_default();
        let ended = seek_tell(self.output.fd()).and_then(|at| {
            bytes = at;
            let stat = fstat(self.output.fd())?;
            if stat.kind() != Kind::Regular || stat.size >= at {
                return Ok(());
            }
            ftruncate(self.output.fd(), at)
        });
        if let Err(error) = ended {
            self.told.say(RecordError::Extend { bytes, errno: error.errno });
        }
        ended.is_ok()
    }

    /// Writes all of it. Returns how much arrived, and why no more did.
    pub(super) fn write_all(&mut self, bytes: &[u8]) -> Result<(usize, Option<Errno>), Quit> {
        if self.order.writes_direct && (bytes.len() as u64) < self.order.obs {
            self.leave_direct();
        }
        let (done, error) = write_all(bytes, |left, _| {
            self.ended_by_seek = false;
            if self.has(Conv::SPARSE) && bytes.iter().all(|byte| *byte == 0) {
                self.told.heed()?;
                self.ended_by_seek = self.seek_over(left.len());
                if self.ended_by_seek {
                    return Ok(left.len());
                }
            }
            let (told, fd) = (&mut self.told, self.output.fd());
            let answer = through_signals_while(&mut || told.heed(), || write(fd, left))?;
            answer.map_err(|error| Ended::Refused(error.errno))
        });
        let why = match error {
            Some(Ended::Quit(quit)) => return Err(quit),
            Some(Ended::Refused(errno)) => Some(errno),
            // Writeback reports an error only once, so nothing of this record counts.
            None => match self.trails.1.after_write_here(self.output.fd(), done) {
                Ok(()) => None,
                Err(error) => return Ok((0, Some(error.errno))),
            },
        };
        self.output.advance(done);
        if self.output.nocache && done > 0 {
            let _advice = self.output.forget(done);
        }
        Ok((bytes_of(done), why))
    }

    /// A last block that is too short for direct writing is written through the cache, made
    /// durable, and dropped from there.
    fn leave_direct(&mut self) {
        if let Err(error) = set_way(self.output.fd(), Way::Cached) {
            self.told.say(RecordError::LeaveDirect(error.errno));
        }
        self.order.writes_direct = false;
        self.output.nocache_end = true;
        let _advice = self.output.forget(0);
        self.order.conv = self.order.conv.with(Conv::FSYNC);
    }

    fn seek_over(&mut self, bytes: usize) -> bool {
        let sought = seek_tell(self.output.fd())
            .and_then(|at| seek_set(self.output.fd(), at + bytes as u64));
        if sought.is_err() {
            self.order.conv = self.order.conv.without(Conv::SPARSE);
        }
        sought.is_ok()
    }

    /// Makes the output durable as far as that is asked for; once.
    pub(super) fn synchronize(&mut self) -> bool {
        let mut is_good = true;
        let mut syncs = self.has(Conv::FSYNC);
        if self.has(Conv::FDATASYNC)
            && let Err(error) = again(|| fdatasync(self.output.fd()))
        {
            if !matches!(error.errno, Errno::NOSYS | Errno::INVAL) {
                self.told.say(RecordError::DataSync(error.errno));
                is_good = false;
            }
            syncs = true;
        }
        if syncs && let Err(error) = again(|| fsync(self.output.fd())) {
            self.told.say(RecordError::Sync(error.errno));
            is_good = false;
        }
        self.order.conv = self.order.conv.without(Conv::FDATASYNC.with(Conv::FSYNC));
        is_good
    }

    /// Drops what is asked to be dropped from the cache at the end.
    pub(super) fn drop_rest(&mut self) -> bool {
        let all = self.order.count.is_nothing();
        self.trails.0.finish(self.input.fd());
        let mut is_good = true;
        if let Err(error) = self.trails.1.finish(self.output.fd()) {
            self.told.say(RecordError::Sync(error.errno));
            is_good = false;
        }
        for (end, side) in [(End::Input, &mut self.input), (End::Output, &mut self.output)] {
            let asked = side.nocache || side.nocache_end;
            let forgotten = if asked { side.forget(0) } else { Ok(()) };
            if let (Err(errno), true) = (forgotten, all && side.nocache) {
                self.told.say(RecordError::Forget(end, errno));
                is_good = false;
            }
        }
        is_good
    }
}
