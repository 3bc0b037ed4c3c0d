//! Where a run begins: `skip` in its input and `seek` in its output, by seeking or by reading over.

use haul_sys::Errno;
use haul_sys::data::{read, seek_end, seek_set};
use haul_sys::fs::{Kind, fstat};

use super::monitor::{Quit, RecordError};
use super::order::{Amount, Conv, LARGEST};
use super::run::{Run, bytes_of};
use crate::system::retry::through_signals_while;

impl Run<'_> {
    pub(super) fn skip_input(&mut self) -> Result<(), Quit> {
        let Amount { records, bytes } = self.order.skip;
        let ibs = self.order.ibs;
        let total = self.order.skip.total(ibs);
        let mut is_short = false;
        let sought = match (total, self.input.offset) {
            (Some(total), Some(at)) => at
                .checked_add(total)
                .filter(|to| *to <= LARGEST)
                .ok_or(Errno::OVERFLOW)
                .and_then(|to| seek_set(self.input.fd(), to).map_err(|error| error.errno)),
            (Some(_), None) => Err(Errno::SPIPE),
            (None, _) => Err(Errno::OVERFLOW),
        };
        match sought {
            Ok(to) => {
                let stat = fstat(self.input.fd());
                let size = stat.ok().filter(|stat| stat.kind() == Kind::Regular && stat.size > 0);
                is_short = size.is_some_and(|stat| stat.size < to);
                self.input.offset = Some(size.map_or(to, |stat| to.min(stat.size)));
            }
            Err(errno) => {
                if seek_end(self.input.fd(), 0).is_ok() {
                    self.told.say(RecordError::Skip(errno));
                    return Err(self.quit());
                }
                is_short |= !self.read_over(records, bytes)?;
            }
        }
        if is_short {
            self.told.say(RecordError::SkipShort);
        }
        Ok(())
    }

    /// Skips by reading; `false` if the input ended before.
    fn read_over(&mut self, records: u64, bytes: u64) -> Result<bool, Quit> {
        let mut buffer = self.take_buffer()?;
        let (mut records, mut bytes) = (records, bytes);
        let mut is_whole = true;
        while records > 0 || bytes > 0 {
            let wanted = if records > 0 { self.order.ibs } else { bytes };
            match self.read_here(&mut buffer, bytes_of(wanted))? {
                Ok(0) => {
                    is_whole = false;
                    break;
                }
                Ok(count) => {
                    self.input.advance(count as u64);
                    is_whole &= count as u64 == wanted;
                }
                Err(errno) => {
                    self.told.say(RecordError::Read(errno));
                    if self.has(Conv::NOERROR) {
                        self.told.report();
                    }
                    return Err(self.quit());
                }
            }
            if records > 0 {
                records -= 1;
            } else {
                bytes = 0;
            }
        }
        self.buffer = Some(buffer);
        Ok(is_whole)
    }

    pub(super) fn seek_output(&mut self) -> Result<(), Quit> {
        let total = self.order.seek.total(self.order.obs);
        let target = total.zip(self.output.offset);
        let sought = match target {
            Some((total, at)) => at
                .checked_add(total)
                .filter(|to| *to <= LARGEST)
                .ok_or(Errno::OVERFLOW)
                .and_then(|to| seek_set(self.output.fd(), to).map_err(|error| error.errno)),
            None if total.is_none() => Err(Errno::OVERFLOW),
            None => Err(Errno::SPIPE),
        };
        match sought {
            Ok(to) => {
                self.output.offset = Some(to);
                Ok(())
            }
            Err(errno) if seek_end(self.output.fd(), 0).is_ok() => {
                self.told.say(RecordError::Seek(errno));
                Err(self.quit())
            }
            Err(errno) => self.read_output_over(errno),
        }
    }

    /// Moves an output on that cannot be sought in: by reading it, and behind its end with zeros.
    fn read_output_over(&mut self, errno: Errno) -> Result<(), Quit> {
        let is_blocked = self.has(Conv::TWO_BUFFERS);
        let mut buffer = if is_blocked { self.take_block()? } else { self.take_buffer()? };
        let Amount { mut records, mut bytes } = self.order.seek;
        let mut reads = true;
        while records > 0 || bytes > 0 {
            let size = bytes_of(if records > 0 { self.order.obs } else { bytes });
            let room = &mut buffer[..size];
            if reads {
                let (told, fd) = (&mut self.told, self.output.fd());
                let answer = through_signals_while(&mut || told.heed(), || read(fd, &mut *room))?;
                match answer {
                    Ok(0) => {
                        reads = false;
                        continue;
                    }
                    Ok(_) => {}
                    Err(_) => {
                        self.told.say(RecordError::Seek(errno));
                        return Err(self.quit());
                    }
                }
            } else {
                room.fill(0);
                let (written, why) = self.write_all(room)?;
                if written != size {
                    self.told.say(RecordError::WriteBlock(why));
                    return Err(self.quit());
                }
            }
            if records > 0 {
                records -= 1;
            } else {
                bytes = 0;
            }
        }
        *(if is_blocked { &mut self.block } else { &mut self.buffer }) = Some(buffer);
        Ok(())
    }
}
