//! The copying loop of `dd`: one record after the other, as GNU's does it, down to the counts.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use haul_io::stream::bulk::{self, Bulk};
use haul_sys::data::{Way, ftruncate, read, seek_set, seek_tell, set_way, write};
use haul_sys::fs::{Kind, OFlags, fdatasync, fstat, fsync};
use haul_sys::memory::AlignedBuffer;
use haul_sys::{Errno, errno_text};

use super::convert::Converter;
use super::operands::{Amount, Conv, LARGEST, Request, Status, common_multiple};
use super::report::{Counts, Teller};
use super::side::Side;
use crate::escape::{quote, quote_if_needed};

/// The run is over, and what is to be said about it was said.
pub(super) struct Quit;

/// The signals that are heard.
pub(super) struct Signals {
    pub(super) asked: &'static AtomicU32,
    pub(super) interrupted: &'static AtomicBool,
}

/// A copy under way.
pub(super) struct Dd {
    pub(super) request: Request,
    pub(super) input: Side,
    pub(super) output: Side,
    pub(super) teller: Teller,
    pub(super) counts: Counts,
    pub(super) signals: Signals,
    answered: u32,
    converter: Converter,
    pub(super) buffer: Option<AlignedBuffer>,
    /// What is gathered for the output, where that is blocked by itself.
    gathered: Vec<u8>,
    before: usize,
    partial: u64,
    ended_by_seek: bool,
    input_seeks: Result<(), Errno>,
}

pub(super) fn bytes_of(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Dd {
    pub(super) fn new(
        request: Request,
        input: Side,
        output: Side,
        teller: Teller,
        signals: Signals,
    ) -> Dd {
        let input_seeks = seek_tell(input.fd()).map(drop).map_err(|error| error.errno);
        Dd {
            converter: Converter::new(request.conv, request.cbs),
            request,
            input,
            output,
            teller,
            counts: Counts::default(),
            signals,
            answered: 0,
            buffer: None,
            gathered: Vec::new(),
            before: 0,
            partial: 0,
            ended_by_seek: false,
            input_seeks,
        }
    }

    pub(super) fn has(&self, conv: Conv) -> bool {
        self.request.conv.any(conv)
    }

    pub(super) fn say(&mut self, text: &str, errno: Option<Errno>) {
        match errno {
            Some(errno) => self.teller.say(&format!("{text}: {}", errno_text(errno))),
            None => self.teller.say(text),
        }
    }

    /// Answers the signals that have come.
    pub(super) fn heed(&mut self) -> Result<(), Quit> {
        self.counts.truncated = self.converter.truncated;
        let asked = self.signals.asked.load(Ordering::Relaxed);
        while self.answered != asked {
            self.answered = self.answered.wrapping_add(1);
            self.teller.report(&self.counts);
        }
        if self.signals.interrupted.load(Ordering::Relaxed) {
            self.teller.report(&self.counts);
            return Err(Quit);
        }
        Ok(())
    }

    /// Copies. `false` where something went wrong that did not end it.
    pub(super) fn run(&mut self) -> Result<bool, Quit> {
        if !self.request.skip.is_nothing() {
            self.skip_input()?;
        }
        if !self.request.seek.is_nothing() {
            self.seek_output()?;
        }
        if self.request.count.is_nothing() {
            return Ok(true);
        }
        self.in_bulk()?;
        let mut is_good = true;
        loop {
            self.teller.progress(&self.counts);
            let done = self.counts.read_full + self.counts.read_partial;
            let Amount { records, bytes } = self.request.count;
            if done >= records.saturating_add(u64::from(bytes > 0)) {
                break;
            }
            let wanted = if done >= records { bytes } else { self.request.ibs };
            match self.record(bytes_of(wanted), &mut is_good)? {
                Step::Next => {}
                Step::Ended => break,
                Step::Failed => return Ok(false),
            }
        }
        Ok(self.finish_output()? && is_good)
    }

    /// Moves what several workers can, when records are only counted and nothing changes.
    fn in_bulk(&mut self) -> Result<(), Quit> {
        let changes = Conv::SYNC.with(Conv::NOERROR).with(Conv::SPARSE);
        let is_plain = self.converter.is_idle()
            && !self.has(changes)
            && self.request.iflags.are_plain()
            && self.request.oflags.are_plain()
            // A descriptor that somebody else has as well is read and written from where it stands.
            && self.request.input.is_some()
            && self.request.output.is_some();
        let (Some(from), Some(to), true) = (self.input.offset, self.output.offset, is_plain) else {
            return Ok(());
        };
        let (ibs, obs) = (self.request.ibs, self.request.obs);
        let most = self.request.count.total(ibs).unwrap_or(LARGEST);
        let bytes = bulk::worth(self.input.fd(), self.output.fd(), from, most);
        if bytes == 0 {
            return Ok(());
        }
        let cuts = !self.has(Conv::NOTRUNC);
        let whole = {
            let bulk = Bulk {
                source: self.input.fd(),
                target: self.output.fd(),
                source_offset: from,
                target_offset: to,
                bytes,
                cuts,
            };
            let (teller, signals) = (&mut self.teller, &self.signals);
            let (answered, counts) = (&mut self.answered, self.counts);
            bulk::copy(&bulk, &mut |moved| {
                let counts = counted(counts, moved, ibs, obs);
                teller.progress(&counts);
                let asked = signals.asked.load(Ordering::Relaxed);
                while *answered != asked {
                    *answered = answered.wrapping_add(1);
                    teller.report(&counts);
                }
                !signals.interrupted.load(Ordering::Relaxed)
            })
        };
        // What is not a whole record for both sides is read again, and told by the plain loop.
        let unit = if self.has(Conv::TWO_BUFFERS) { common_multiple(ibs, obs) } else { Some(ibs) };
        let sound = unit.map_or(0, |unit| whole / unit * unit);
        self.counts = counted(self.counts, sound, ibs, obs);
        for (side, at) in [(&mut self.input, from), (&mut self.output, to)] {
            // Both were asked for their position before, so they have one.
            let _moved = seek_set(&side.fd, at + sound);
            side.offset = Some(at + sound);
        }
        self.heed()
    }

    /// Reads a record and writes what has come together.
    fn record(&mut self, wanted: usize, is_good: &mut bool) -> Result<Step, Quit> {
        self.heed()?;
        let pads = self.has(Conv::SYNC) && self.has(Conv::NOERROR);
        let mut buffer = self.take_buffer()?;
        if pads {
            buffer.fill(self.padding());
        }
        let read = self.read_record(&mut buffer, wanted);
        let answer = match read {
            Err(quit) => Err(quit),
            Ok(Ok(0)) => {
                self.input.nocache_end |= self.input.nocache;
                self.output.nocache_end |= self.output.nocache && !self.has(Conv::NOTRUNC);
                Ok(Step::Ended)
            }
            Ok(Ok(count)) => {
                self.input.advance(count as u64);
                if self.input.nocache {
                    let _advice = self.input.forget(count as u64);
                }
                self.put_record(&mut buffer, count)
            }
            Ok(Err(errno)) => self.failed_read(&mut buffer, errno, is_good),
        };
        self.buffer = Some(buffer);
        answer
    }

    fn padding(&self) -> u8 {
        if self.has(Conv::BLOCK.with(Conv::UNBLOCK)) { b' ' } else { 0 }
    }

    pub(super) fn take_buffer(&mut self) -> Result<AlignedBuffer, Quit> {
        match self.buffer.take() {
            Some(buffer) => Ok(buffer),
            None => AlignedBuffer::new(bytes_of(self.request.ibs)).map_err(|_| {
                let size = self.request.ibs;
                self.say(&format!("memory exhausted by input buffer of size {size} bytes"), None);
                Quit
            }),
        }
    }

    fn failed_read(
        &mut self,
        buffer: &mut AlignedBuffer,
        errno: Errno,
        is_good: &mut bool,
    ) -> Result<Step, Quit> {
        if !self.has(Conv::NOERROR) || self.teller.status() != Status::None {
            let name = quote(&self.input.name);
            self.say(&format!("error reading {name}"), Some(errno));
        }
        if !self.has(Conv::NOERROR) {
            // What was gathered is still written.
            *is_good = false;
            return Ok(Step::Ended);
        }
        self.teller.report(&self.counts);
        let bad = self.request.ibs - self.partial;
        let _advice = self.input.forget(bad);
        if !self.pass_bad(bad) {
            *is_good = false;
            self.input_seeks = Err(Errno::SPIPE);
        }
        if self.has(Conv::SYNC) && self.partial == 0 {
            return self.put_record(buffer, 0);
        }
        Ok(Step::Next)
    }

    /// Goes on behind a part of the input that cannot be read.
    fn pass_bad(&mut self, bytes: u64) -> bool {
        let name = quote_if_needed(&self.input.name);
        let errno = match self.input_seeks {
            Err(Errno::SPIPE) => return true,
            Err(errno) => errno,
            Ok(()) => {
                self.input.advance(bytes);
                let Some(wanted) = self.input.offset else {
                    let name = quote(&self.input.name);
                    self.say(&format!("offset overflow while reading file {name}"), None);
                    return false;
                };
                match seek_set(self.input.fd(), wanted) {
                    Ok(_) => return true,
                    Err(error) => error.errno,
                }
            }
        };
        self.say(&format!("{name}: cannot seek"), Some(errno));
        false
    }

    /// Counts a record, pads it, and passes it on.
    fn put_record(&mut self, buffer: &mut AlignedBuffer, filled: usize) -> Result<Step, Quit> {
        let ibs = bytes_of(self.request.ibs);
        let mut length = filled;
        if filled < ibs {
            self.counts.read_partial += 1;
            self.partial = filled as u64;
            if self.has(Conv::SYNC) {
                if !self.has(Conv::NOERROR)
                    && let Some(rest) = buffer.get_mut(filled..ibs)
                {
                    rest.fill(self.padding());
                }
                length = ibs;
            }
        } else {
            self.counts.read_full += 1;
            self.partial = 0;
        }
        let bytes = buffer.get(..length).unwrap_or(&[]);
        if self.has(Conv::TWO_BUFFERS) {
            return self.gather(bytes);
        }
        let (written, errno) = self.write_all(bytes)?;
        self.counts.bytes += written as u64;
        if written != length {
            return self.failed_write(errno);
        }
        if length == ibs {
            self.counts.written_full += 1;
        } else {
            self.counts.written_partial += 1;
        }
        Ok(Step::Next)
    }

    fn failed_write(&mut self, errno: Option<Errno>) -> Result<Step, Quit> {
        let name = quote(&self.output.name);
        self.say(&format!("error writing {name}"), errno);
        Ok(Step::Failed)
    }

    /// Takes bytes in, and writes whole blocks of the output's size out.
    fn gather(&mut self, bytes: &[u8]) -> Result<Step, Quit> {
        if self.converter.is_idle() {
            self.gathered.extend_from_slice(bytes);
        } else {
            self.converter.feed(bytes, &mut self.gathered);
        }
        self.write_gathered()?;
        Ok(Step::Next)
    }

    fn write_gathered(&mut self) -> Result<(), Quit> {
        let obs = bytes_of(self.request.obs);
        let gathered = std::mem::take(&mut self.gathered);
        let blocks = gathered.chunks_exact(obs);
        let rest = blocks.remainder().to_vec();
        for block in blocks {
            let (written, errno) = self.write_all(block)?;
            self.counts.bytes += written as u64;
            if written != obs {
                let name = quote(&self.output.name);
                self.say(&format!("writing to {name}"), errno);
                self.counts.written_partial += u64::from(written > 0);
                return Err(self.quit());
            }
            self.counts.written_full += 1;
        }
        self.gathered = rest;
        Ok(())
    }

    /// Ends the run in the middle, with a report.
    pub(super) fn quit(&mut self) -> Quit {
        let _synced = self.synchronize();
        self.counts.truncated = self.converter.truncated;
        self.teller.report(&self.counts);
        Quit
    }

    /// Writes what is left when the input has ended.
    fn finish_output(&mut self) -> Result<bool, Quit> {
        self.converter.finish(&mut self.gathered);
        self.write_gathered()?;
        let rest = std::mem::take(&mut self.gathered);
        if !rest.is_empty() {
            let (written, errno) = self.write_all(&rest)?;
            self.counts.bytes += written as u64;
            self.counts.written_partial += u64::from(written > 0);
            if written != rest.len() {
                self.failed_write(errno)?;
                return Ok(false);
            }
        }
        if self.ended_by_seek && !self.extend() {
            return Ok(false);
        }
        if self.has(Conv::FDATASYNC.with(Conv::FSYNC)) {
            self.teller.progress_before_sync(&self.counts);
        }
        Ok(true)
    }

    /// Makes a file as long as what was sought to at its end.
    fn extend(&mut self) -> bool {
        let Ok(stat) = fstat(self.output.fd()) else { return false };
        let Ok(at) = seek_tell(self.output.fd()) else { return true };
        if stat.kind() != Kind::Regular || stat.size >= at {
            return true;
        }
        match ftruncate(self.output.fd(), at) {
            Ok(()) => true,
            Err(error) => {
                let name = quote(&self.output.name);
                let text = format!("failed to truncate to {at} bytes in output file {name}");
                self.say(&text, Some(error.errno));
                false
            }
        }
    }

    /// Reads once, or until a whole record is there.
    pub(super) fn read_record(
        &mut self,
        buffer: &mut AlignedBuffer,
        wanted: usize,
    ) -> Result<Result<usize, Errno>, Quit> {
        let mut filled = 0;
        loop {
            let room = buffer.get_mut(filled..wanted).unwrap_or(&mut []);
            match self.read_once(room)? {
                Err(errno) => return Ok(Err(errno)),
                Ok(count) => {
                    filled += count;
                    if count == 0 || filled == wanted || !self.request.iflags.fullblock {
                        return Ok(Ok(filled));
                    }
                }
            }
        }
    }

    pub(super) fn read_once(&mut self, room: &mut [u8]) -> Result<Result<usize, Errno>, Quit> {
        let size = room.len();
        let is_direct = self.request.iflags.open.contains(OFlags::DIRECT);
        let was_partial = self.before > 0 && self.before < size;
        let answer = loop {
            self.heed()?;
            match read(self.input.fd(), &mut *room) {
                Ok(count) => break Ok(count),
                // Behind a last block that was short the position is not aligned any more.
                Err(error) if error.errno == Errno::INVAL && was_partial && is_direct => {
                    break Ok(0);
                }
                Err(error) if error.errno == Errno::INTR => {}
                Err(error) => break Err(error.errno),
            }
        };
        let count = answer.unwrap_or(0);
        if count > 0 && count < size {
            self.heed()?;
        }
        if count > 0 && self.request.warns && was_partial {
            if self.teller.status() != Status::None {
                let noun = if self.before == 1 { "byte" } else { "bytes" };
                let text = format!(
                    "warning: partial read ({} {noun}); suggest iflag=fullblock",
                    self.before
                );
                self.say(&text, None);
            }
            self.request.warns = false;
        }
        self.before = count;
        Ok(answer)
    }

    /// Writes all of it. Returns how much arrived, and why no more did.
    pub(super) fn write_all(&mut self, bytes: &[u8]) -> Result<(usize, Option<Errno>), Quit> {
        let is_direct = self.request.oflags.open.contains(OFlags::DIRECT);
        if is_direct && (bytes.len() as u64) < self.request.obs {
            self.leave_direct();
        }
        let mut done = 0;
        let mut why = None;
        while done < bytes.len() {
            self.heed()?;
            let left = bytes.get(done..).unwrap_or(&[]);
            self.ended_by_seek = self.has(Conv::SPARSE)
                && bytes.iter().all(|byte| *byte == 0)
                && self.seek_over(left.len());
            if self.ended_by_seek {
                done = bytes.len();
                break;
            }
            match write(self.output.fd(), left) {
                Ok(0) => {
                    why = Some(Errno::NOSPC);
                    break;
                }
                Ok(count) => done += count,
                Err(error) if error.errno == Errno::INTR => {}
                Err(error) => {
                    why = Some(error.errno);
                    break;
                }
            }
        }
        self.output.advance(done as u64);
        if self.output.nocache && done > 0 {
            let _advice = self.output.forget(done as u64);
        }
        Ok((done, why))
    }

    /// A last block that is too short for direct writing is written through the cache, made
    /// durable, and dropped from there.
    fn leave_direct(&mut self) {
        if let Err(error) = set_way(self.output.fd(), Way::Cached)
            && self.teller.status() != Status::None
        {
            let name = quote_if_needed(&self.output.name);
            self.say(&format!("failed to turn off O_DIRECT: {name}"), Some(error.errno));
        }
        self.request.oflags.open -= OFlags::DIRECT;
        self.output.nocache_end = true;
        let _advice = self.output.forget(0);
        self.request.conv = self.request.conv.with(Conv::FSYNC);
    }

    fn seek_over(&mut self, bytes: usize) -> bool {
        let sought = seek_tell(self.output.fd())
            .and_then(|at| seek_set(self.output.fd(), at + bytes as u64));
        if sought.is_err() {
            self.request.conv = self.request.conv.without(Conv::SPARSE);
        }
        sought.is_ok()
    }

    /// Makes the output durable as far as that is asked for; once.
    pub(super) fn synchronize(&mut self) -> bool {
        let mut is_good = true;
        let mut syncs = self.has(Conv::FSYNC);
        let name = quote(&self.output.name);
        if self.has(Conv::FDATASYNC)
            && let Err(error) = self.again(|output| fdatasync(output.fd()))
        {
            if !matches!(error, Errno::NOSYS | Errno::INVAL) {
                self.say(&format!("fdatasync failed for {name}"), Some(error));
                is_good = false;
            }
            syncs = true;
        }
        if syncs && let Err(error) = self.again(|output| fsync(output.fd())) {
            self.say(&format!("fsync failed for {name}"), Some(error));
            is_good = false;
        }
        self.request.conv = self.request.conv.without(Conv::FDATASYNC.with(Conv::FSYNC));
        is_good
    }

    pub(super) fn again(&self, call: impl Fn(&Side) -> haul_sys::Result<()>) -> Result<(), Errno> {
        loop {
            match call(&self.output) {
                Err(error) if error.errno == Errno::INTR => {}
                answer => return answer.map_err(|error| error.errno),
            }
        }
    }

    /// Drops what is asked to be dropped from the cache at the end.
    pub(super) fn drop_rest(&mut self) -> bool {
        let all = self.request.count.is_nothing();
        let mut is_good = true;
        let mut failed = Vec::new();
        for side in [&mut self.input, &mut self.output] {
            if all && side.nocache {
                if let Err(errno) = side.forget(0) {
                    failed.push((quote_if_needed(&side.name), errno));
                }
            } else if side.nocache || side.nocache_end {
                let _advice = side.forget(0);
            }
        }
        for (name, errno) in failed {
            self.say(&format!("failed to discard cache for: {name}"), Some(errno));
            is_good = false;
        }
        is_good
    }

    /// Ends with the last report.
    pub(super) fn finish(&mut self) -> Result<(), Quit> {
        self.heed()?;
        self.teller.report(&self.counts);
        Ok(())
    }
}

/// What became of a record.
pub(super) enum Step {
    Next,
    Ended,
    Failed,
}

/// Counts the records of bytes that went from file to file.
fn counted(counts: Counts, moved: u64, ibs: u64, obs: u64) -> Counts {
    Counts {
        read_full: counts.read_full + moved / ibs,
        written_full: counts.written_full + moved / obs,
        bytes: counts.bytes + moved,
        ..counts
    }
}
