//! A run: one record after the other, as GNU's dd does it, down to the counts.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use haul_sys::Errno;
use haul_sys::data::{seek_set, seek_tell};
use haul_sys::fs::fstat;
use haul_sys::memory::AlignedBuffer;

use super::ahead::{self, Ahead, Left, Record};
use super::bulk::{self, Bulk};
use super::convert::Converter;
use super::monitor::{End, Monitor, Quit, RecordError, Told};
use super::order::{Conv, LARGEST, Order, Owner};
use super::side::Side;
use super::take::{Taken, Taker};
use crate::method::job::{Behind, Extent};
use crate::method::policy::DataPolicy;
use crate::method::trail::{SourceTrail, TargetTrail};
use crate::system::kit::BUFFER_BYTES;

/// A copy under way.
pub struct Run<'l> {
    pub(super) order: Order,
    pub(super) input: Side,
    pub(super) output: Side,
    pub(super) told: Told<'l>,
    pub(super) converter: Converter,
    pub(super) buffer: Option<AlignedBuffer>,
    /// A block of the output, where that is blocked by itself.
    pub(super) block: Option<AlignedBuffer>,
    /// Bytes of the block that are filled.
    pub(super) filled: usize,
    /// What a conversion makes of a record.
    pub(super) converted: Vec<u8>,
    pub(super) ended_by_seek: bool,
    policy: DataPolicy,
    /// The pages of what is moved record by record.
    pub(super) trails: (SourceTrail, TargetTrail),
    taker: Taker,
    ahead: Option<Ahead>,
    partial: u64,
    input_seeks: Result<(), Errno>,
}

/// What became of a record.
pub(super) enum Step {
    Next,
    Ended,
    Failed,
}

pub(super) fn bytes_of(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl<'l> Run<'l> {
    /// Prepares to do what is ordered; nothing is touched yet.
    #[must_use]
    pub fn new(
        order: Order,
        input: Side,
        output: Side,
        policy: DataPolicy,
        monitor: &'l mut dyn Monitor,
    ) -> Run<'l> {
        let input_seeks = seek_tell(input.fd()).map(drop).map_err(|error| error.errno);
        Run {
            converter: Converter::new(order.conv, order.cbs),
            taker: Taker::new(&order),
            order,
            input,
            output,
            told: Told::new(monitor),
            buffer: None,
            block: None,
            filled: 0,
            converted: Vec::new(),
            ended_by_seek: false,
            policy,
            trails: Default::default(),
            ahead: None,
            partial: 0,
            input_seeks,
        }
    }

    /// Does it: copies, makes durable, and reports. `false` where anything went wrong.
    pub fn all(&mut self) -> bool {
        let copied = self.copy();
        self.come_back(copied);
        let Ok(copied) = copied else { return false };
        let synced = self.synchronize();
        let dropped = self.drop_rest();
        if self.told.heed().is_err() {
            return false;
        }
        self.told.report();
        copied && synced && dropped
    }

    /// Gives the two open files back, to be closed; the input only if no thread reads it any more.
    #[must_use]
    pub fn into_files(self) -> (Option<OwnedFd>, Option<OwnedFd>) {
        (Arc::into_inner(self.input.fd), Arc::into_inner(self.output.fd))
    }

    pub(super) fn has(&self, conv: Conv) -> bool {
        self.order.conv.any(conv)
    }

    /// Ends the run in the middle, with a report.
    pub(super) fn quit(&mut self) -> Quit {
        let _synced = self.synchronize();
        self.told.end()
    }

    /// Copies. `false` where something went wrong that did not end it.
    fn copy(&mut self) -> Result<bool, Quit> {
        if !self.order.skip.is_nothing() {
            self.skip_input()?;
        }
        if !self.order.seek.is_nothing() {
            self.seek_output()?;
        }
        if self.order.count.is_nothing() {
            return Ok(true);
        }
        // Asked for before anything is moved, by this thread or by others.
        self.buffer = Some(self.take_buffer()?);
        if self.has(Conv::TWO_BUFFERS) {
            self.block = Some(self.take_block()?);
        }
        self.in_bulk()?;
        self.begin_trails();
        let mut is_good = true;
        let mut turns = 0_u32;
        loop {
            self.told.progress();
            let done = self.told.counts.read();
            let Some(wanted) = self.order.count.wanted(done, self.order.ibs) else { break };
            if turns == ahead::STARTS_AFTER {
                self.look_ahead();
            }
            turns = turns.saturating_add(1);
            match self.record(bytes_of(wanted), &mut is_good)? {
                Step::Next => {}
                Step::Ended => break,
                Step::Failed => return Ok(false),
            }
        }
        Ok(self.finish_output()? && is_good)
    }

    /// Looks at the ends whose pages nothing else has been said about.
    fn begin_trails(&mut self) {
        if !self.input.nocache && !self.order.reads_direct {
            self.trails.0 = SourceTrail::new(self.input.fd(), &self.policy);
        }
        if !self.output.nocache && !self.order.writes_direct {
            self.trails.1 = TargetTrail::new(self.output.fd(), &self.policy);
        }
    }

    /// Moves what several workers can, when records are only counted and nothing changes.
    fn in_bulk(&mut self) -> Result<(), Quit> {
        let changes = Conv::SYNC.with(Conv::NOERROR).with(Conv::SPARSE);
        let is_plain = self.converter.is_idle()
            && !self.has(changes)
            && self.order.is_plain
            // A descriptor that other processes share is read and written from where it stands.
            && self.order.owner == Owner::Us;
        let (Some(from), Some(to), true) = (self.input.offset, self.output.offset, is_plain) else {
            return Ok(());
        };
        let Order { ibs, obs, .. } = self.order;
        // What is not a whole record for both sides is read again, and counted by the plain loop.
        let unit = if self.has(Conv::TWO_BUFFERS) { common_multiple(ibs, obs) } else { Some(ibs) };
        let most = self.order.count.total(ibs).unwrap_or(LARGEST);
        let Some(unit_bytes) = unit else { return Ok(()) };
        let (input, output) = (self.input.fd(), self.output.fd());
        let Some((bulk, bytes)) = Bulk::find(input, output, from, most) else { return Ok(()) };
        let ends_there = fstat(output).is_ok_and(|stat| stat.size <= to);
        let (behind, bytes) = if ends_there || !self.has(Conv::NOTRUNC) {
            (Behind::Nothing, bytes)
        } else {
            (Behind::Bytes { unit_bytes }, bytes / unit_bytes * unit_bytes)
        };
        if matches!(behind, Behind::Bytes { .. }) && unit_bytes > BUFFER_BYTES as u64 {
            return Ok(());
        }
        let extent = Extent { source_offset: from, target_offset: to, bytes, behind };
        let counts = self.told.counts;
        let told = &mut self.told;
        let order = bulk::Order { extent, unit_bytes };
        let sound = bulk
            .copy(order, &self.policy, &mut |moved| told.goes_on(&counts.with(moved, ibs, obs)));
        self.told.counts = self.told.counts.with(sound, ibs, obs);
        for (end, at) in [(End::Input, from), (End::Output, to)] {
            self.move_to(end, at + sound)?;
        }
        self.told.heed()
    }

    /// Moves an end behind bytes that went by offsets. Records from here on are read and written where the
    /// descriptors stand, so a run whose end does not move there is over: it would copy bytes again.
    fn move_to(&mut self, end: End, to: u64) -> Result<(), Quit> {
        let side = if end == End::Input { &mut self.input } else { &mut self.output };
        match seek_set(&side.fd, to) {
            Ok(_) => {
                side.offset = Some(to);
                Ok(())
            }
            Err(error) => {
                self.told.say(RecordError::Move(end, error.errno));
                Err(self.quit())
            }
        }
    }

    /// Has the records from here on read while those before them are written, where that is safe.
    fn look_ahead(&mut self) {
        let last = if self.partial > 0 { self.partial } else { self.order.ibs };
        if !ahead::fits(&self.order, &self.input, &self.output, last) {
            return;
        }
        // Without a second buffer, or a thread, it goes on as it did.
        let Ok(second) = AlignedBuffer::new(bytes_of(self.order.ibs)) else { return };
        let Order { count, ibs, .. } = self.order;
        let left = Left { count, ibs, done: self.told.counts.read() };
        if let Some(ahead) = Ahead::start(self.taker, &self.input.fd, left) {
            self.told.reader = self.input.offset.is_none().then(|| ahead.stop());
            self.buffer.take().into_iter().chain([second]).for_each(|buffer| ahead.give(buffer));
            self.ahead = Some(ahead);
        }
    }

    /// Ends reading ahead, and puts an input that can be sought in to where this run has got to.
    fn come_back(&mut self, copied: Result<bool, Quit>) {
        let Some(ahead) = self.ahead.take() else { return };
        ahead.end(&self.input);
        self.told.reader = None;
        if let (Some(at), false) = (self.input.offset, copied == Ok(true)) {
            // The run has failed and says so; there is nothing to add.
            let _moved = seek_set(&self.input.fd, at);
        }
    }

    /// Reads a record and writes what has come together.
    fn record(&mut self, wanted: usize, is_good: &mut bool) -> Result<Step, Quit> {
        self.told.heed()?;
        let Record { mut buffer, taken } = match self.next(wanted)? {
            Ok(record) => record,
            Err(errno) => return Ok(self.ended_by(errno, is_good)),
        };
        self.warn(taken.partial);
        let answer = match taken.answer {
            Ok(0) => {
                self.input.nocache_end |= self.input.nocache;
                self.output.nocache_end |= self.output.nocache && !self.has(Conv::NOTRUNC);
                Ok(Step::Ended)
            }
            Ok(count) => {
                self.input.advance(count as u64);
                if self.input.nocache {
                    let _advice = self.input.forget(count as u64);
                }
                if let Some(end) = self.input.offset {
                    let range = end.saturating_sub(count as u64)..end;
                    self.trails.0.after_read(self.input.fd(), &range);
                }
                self.put_record(&mut buffer, count)
            }
            Err(errno) => self.failed_read(&mut buffer, errno, is_good),
        };
        match &self.ahead {
            Some(ahead) => ahead.give(buffer),
            None => self.buffer = Some(buffer),
        }
        answer
    }

    /// Reads the next record, or takes it from the thread that reads ahead.
    fn next(&mut self, wanted: usize) -> Result<Result<Record, Errno>, Quit> {
        if let Some(ahead) = &self.ahead {
            return ahead.next(&mut self.told);
        }
        let mut buffer = self.take_buffer()?;
        if self.has(Conv::SYNC) && self.has(Conv::NOERROR) {
            buffer.fill(self.padding());
        }
        let taken = self.take(&mut buffer, wanted)?;
        Ok(Ok(Record { buffer, taken }))
    }

    fn take(&mut self, buffer: &mut AlignedBuffer, wanted: usize) -> Result<Taken, Quit> {
        let room = &mut buffer[..wanted];
        let told = &mut self.told;
        self.taker.record(self.input.fd(), room, &mut || told.heed())
    }

    /// Reads a record that is not to be written.
    pub(super) fn read_here(
        &mut self,
        buffer: &mut AlignedBuffer,
        wanted: usize,
    ) -> Result<Result<usize, Errno>, Quit> {
        let taken = self.take(buffer, wanted)?;
        self.warn(taken.partial);
        Ok(taken.answer)
    }

    fn warn(&mut self, partial: Option<usize>) {
        if let (Some(bytes), true) = (partial, self.order.warns) {
            self.told.say(RecordError::Partial { bytes });
            self.order.warns = false;
        }
    }

    fn padding(&self) -> u8 {
        if self.has(Conv::BLOCK.with(Conv::UNBLOCK)) { b' ' } else { 0 }
    }

    pub(super) fn take_buffer(&mut self) -> Result<AlignedBuffer, Quit> {
        match self.buffer.take() {
            Some(buffer) => Ok(buffer),
            None => AlignedBuffer::new(bytes_of(self.order.ibs)).map_err(|_| {
                self.told.say(RecordError::Memory { end: End::Input, bytes: self.order.ibs });
                Quit
            }),
        }
    }

    /// What was gathered before the input could not be read is still written.
    fn ended_by(&mut self, errno: Errno, is_good: &mut bool) -> Step {
        self.told.say(RecordError::Read(errno));
        *is_good = false;
        Step::Ended
    }

    fn failed_read(
        &mut self,
        buffer: &mut AlignedBuffer,
        errno: Errno,
        is_good: &mut bool,
    ) -> Result<Step, Quit> {
        if !self.has(Conv::NOERROR) {
            return Ok(self.ended_by(errno, is_good));
        }
        self.told.say(RecordError::Bad(errno));
        self.told.report();
        let bad = self.order.ibs - self.partial;
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
        let errno = match self.input_seeks {
            Err(Errno::SPIPE) => return true,
            Err(errno) => errno,
            Ok(()) => {
                self.input.advance(bytes);
                let Some(wanted) = self.input.offset else {
                    self.told.say(RecordError::Offset);
                    return false;
                };
                match seek_set(self.input.fd(), wanted) {
                    Ok(_) => return true,
                    Err(error) => error.errno,
                }
            }
        };
        self.told.say(RecordError::Pass(errno));
        false
    }

    /// Counts a record, pads it, and passes it on.
    fn put_record(&mut self, buffer: &mut AlignedBuffer, filled: usize) -> Result<Step, Quit> {
        let ibs = bytes_of(self.order.ibs);
        let mut length = filled;
        if filled < ibs {
            self.told.counts.read_partial += 1;
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
            self.told.counts.read_full += 1;
            self.partial = 0;
        }
        let bytes = &buffer[..length];
        if self.has(Conv::TWO_BUFFERS) {
            return self.gather(bytes);
        }
        let (written, errno) = self.write_all(bytes)?;
        self.told.counts.bytes += written as u64;
        if written != length {
            self.told.say(RecordError::Write(errno));
            return Ok(Step::Failed);
        }
        if length == ibs {
            self.told.counts.written_full += 1;
        } else {
            self.told.counts.written_partial += 1;
        }
        Ok(Step::Next)
    }
}

/// Returns the least number that both divide, if it is one that a file can have.
fn common_multiple(one: u64, other: u64) -> Option<u64> {
    let (mut divisor, mut rest) = (one, other);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    one.checked_div(divisor)?.checked_mul(other)
}
