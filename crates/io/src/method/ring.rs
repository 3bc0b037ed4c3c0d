//! `ring`: past the page cache with many requests in flight, driven by one worker (io_uring).
//!
//! At a queue depth of 8 one worker keeps a disk as busy as threads do, for a tenth of the
//! processor time: buffers and files are registered, and the worker sleeps while the device works.
//! Requests end in any order, so the last block of a file is written when all others have arrived:
//! until then the target is shorter than the source.

use haul_sys::data::ftruncate;
use haul_sys::sync::Answer;
use haul_sys::uring::{Completion, Operation, Ring as SysRing};
use haul_sys::{Call, CallError, Errno};

use super::{
    Attempt, Cause, Fit, Info, Method, MethodId, RangeJob, Several, Sharing, Want, Zeros, ended,
};
use crate::method::pair::Pair;
use crate::method::sides::{Way, Which};
use crate::system::gentle;
use crate::system::kit::Kit;
use crate::system::retry::{Retries, retrying};

pub(super) struct Ring;

/// Bytes of one request.
const REQUEST_BYTES: usize = 1 << 20;

/// Requests in flight: from 8 on one worker keeps a disk of 1–2 GB/s busy (measured, 6.18), and
/// storage that is further away wants a few more.
const DEPTH: usize = 16;

/// The most memory of one ring's buffers, which are pinned.
const BUFFERS_BYTES: usize = 256 << 20;

/// Below this size a ring has nothing to overlap, and registering costs more than it saves.
const WORTH_BYTES: u64 = 4 << 20;

static INFO: Info = Info {
    name: "ring",
    summary: "past the page cache with a deep queue, io_uring(7)",
    several: Several::Cannot,
    way: Way::Direct,
};

/// Whether this process may have a ring, once the kernel was asked.
static IS_ALLOWED: Answer = Answer::unknown();

impl Method for Ring {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn fits(&self, pair: &Pair, want: &Want<'_>) -> Fit {
        if want.way != Way::Direct {
            return Fit::No("the page cache is to be used");
        }
        if IS_ALLOWED.get() == Some(false) {
            return Fit::No(
                "the kernel allows no io_uring here (seccomp, kernel.io_uring_disabled, or too old)",
            );
        }
        if want.sharing == Sharing::Several {
            return Fit::No("several workers write this file, and a ring is one worker's");
        }
        if want.zeros == Zeros::Skip {
            return Fit::No("zeros are to become holes");
        }
        if pair.is_remote() {
            return Fit::Unwise(
                "requests to a server wait in threads, of which the kernel has one for a file's writes",
            );
        }
        if want.sides.way(Which::Source) != Way::Direct {
            return Fit::Unwise(
                "the source takes no direct I/O, and cached requests do not overlap",
            );
        }
        if want.sides.way(Which::Target) != Way::Direct {
            return Fit::Unwise(
                "the target takes no direct I/O, and cached requests do not overlap",
            );
        }
        if want.file_bytes < WORTH_BYTES {
            return Fit::Unwise("too small for a queue");
        }
        Fit::Yes
    }

    fn attempt(&self, job: &RangeJob<'_>, kit: &mut Kit) -> Attempt {
        let policy = job.want.policy;
        let bytes = job.watch.request_bytes(policy.request_bytes(REQUEST_BYTES));
        let depth = policy.depth(DEPTH, bytes, BUFFERS_BYTES);
        let ring = match kit.ring(depth, bytes) {
            Ok(ring) => ring,
            Err(error) => return ended(0, error),
        };
        let align = u64::from(job.want.sides.align());
        let is_aligned = job.source_offset.is_multiple_of(align)
            && job.target_offset.is_multiple_of(align)
            && (job.want.file_end.is_some() || job.end.is_multiple_of(align));
        if !is_aligned {
            return ended(0, CallError::new(Call::RingRead, Errno::INVAL));
        }
        if let Err(error) = ring.attach(job.source, job.target) {
            return ended(0, error);
        }
        let mut queue = Queue::new(job, ring.slots(), ring.slot_bytes(), align);
        queue.run(ring);
        let attempt = queue.answer();
        if ring.in_flight() > 0 || ring.detach().is_err() {
            kit.lose_ring();
        }
        attempt
    }
}

/// Tells whether a ring will serve between two file systems, as far as that can be known.
pub(crate) fn ring_serves(pair: &Pair) -> bool {
    !pair.is_remote()
        && !pair.is_refused(MethodId::Ring)
        && IS_ALLOWED.get_or_find(haul_sys::uring::is_allowed)
}

/// What a slot holds.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    busy: bool,
    /// Where its bytes lie in the source.
    offset: u64,
    /// Bytes of the file that it is for.
    bytes: usize,
    /// Bytes that were read so far.
    filled: usize,
    /// Bytes to write, `filled` with padding, and how many are written.
    length: usize,
    written: usize,
}

/// Waits until a request is over, and returns it.
fn next_done(ring: &mut SysRing) -> haul_sys::Result<Option<Completion>> {
    ring.submit_and_wait()?;
    Ok(ring.completion())
}

/// Returns how many bytes a request has moved, if one is over.
fn bytes_of(done: Option<&Option<Completion>>) -> usize {
    let done = done.and_then(Option::as_ref);
    done.map_or(0, |done| done.result.unwrap_or(0))
}

struct Queue<'j, 'a> {
    job: &'j RangeJob<'a>,
    slots: Vec<Slot>,
    slot_bytes: u64,
    align: usize,
    /// The first byte that no request covers yet.
    next: u64,
    /// Where the source ends, as far as is known.
    end: u64,
    /// Where the last block of the file begins, which waits for all others; `end` if the range
    /// does not end the file.
    held_from: u64,
    padded: bool,
    retries: Retries,
    error: Option<Cause>,
    /// Everything before this offset has arrived once nothing is busy.
    broken_at: u64,
}

impl<'j, 'a> Queue<'j, 'a> {
    fn new(job: &'j RangeJob<'a>, slots: usize, slot_bytes: usize, align: u64) -> Queue<'j, 'a> {
        let slot_bytes = slot_bytes as u64;
        let ends_file = Some(job.end) == job.want.file_end && job.end > job.source_offset;
        let blocks = (job.end - job.source_offset).saturating_sub(1) / slot_bytes;
        let held_from = if ends_file { job.source_offset + blocks * slot_bytes } else { job.end };
        Queue {
            job,
            slots: vec![Slot::default(); slots],
            slot_bytes,
            align: usize::try_from(align).unwrap_or(1),
            next: job.source_offset,
            end: job.end,
            held_from,
            padded: false,
            retries: Retries::new(),
            error: None,
            broken_at: u64::MAX,
        }
    }

    /// Keeps the slots busy until the range is moved or something went wrong, and then waits for
    /// what is in flight.
    fn run(&mut self, ring: &mut SysRing) {
        loop {
            if self.job.watch.stopped() {
                self.error.get_or_insert(Cause::Stopped);
            }
            if self.error.is_none() {
                self.ask(ring);
            }
            if ring.in_flight() == 0 {
                return;
            }
            match gentle::measured(|| next_done(ring), |done| bytes_of(done.as_ref().ok())) {
                Ok(done) => done.into_iter().for_each(|done| self.took(ring, done)),
                // The signal may be the one that stops the run, which the next round checks.
                Err(error) if error.errno == Errno::INTR => {}
                Err(error) => {
                    // Nothing more can be heard of what is in flight; dropping the ring waits.
                    self.error.get_or_insert(Cause::Call(error));
                    self.break_at_busy();
                    return;
                }
            }
            while let Some(done) = gentle::measured(|| ring.completion(), |it| bytes_of(Some(it))) {
                self.took(ring, done);
            }
        }
    }

    fn is_busy(&self) -> bool {
        self.slots.iter().any(|slot| slot.busy)
    }

    /// Asks for the next parts of the source in all slots that are free.
    fn ask(&mut self, ring: &mut SysRing) {
        for index in 0..gentle::window(self.slots.len()) {
            if self.next >= self.end || (self.next >= self.held_from && self.is_busy()) {
                return;
            }
            if self.slots.get(index).is_none_or(|slot| slot.busy) {
                continue;
            }
            let bytes = (self.end - self.next).min(self.slot_bytes);
            let bytes = usize::try_from(bytes).unwrap_or(0);
            let slot = Slot { busy: true, offset: self.next, bytes, ..Slot::default() };
            self.next += bytes as u64;
            self.set(index, slot);
            self.read(ring, index, slot);
        }
    }

    fn set(&mut self, index: usize, slot: Slot) {
        if let Some(place) = self.slots.get_mut(index) {
            *place = slot;
        }
    }

    fn read(&mut self, ring: &mut SysRing, index: usize, slot: Slot) {
        let aligned = slot.bytes.next_multiple_of(self.align).min(ring.slot_bytes());
        let rest = aligned.saturating_sub(slot.filled);
        if let Err(error) = ring.read(index, slot.filled, rest, slot.offset + slot.filled as u64) {
            self.fail(index, Cause::Call(error));
        }
    }

    fn write(&mut self, ring: &mut SysRing, index: usize, slot: Slot) {
        let rest = slot.length.saturating_sub(slot.written);
        let to = self.job.target_at(slot.offset) + slot.written as u64;
        if let Err(error) = ring.write(index, slot.written, rest, to) {
            self.fail(index, Cause::Call(error));
        }
    }

    /// Gives a slot up whose bytes did not arrive.
    fn fail(&mut self, index: usize, cause: Cause) {
        self.error.get_or_insert(cause);
        if let Some(slot) = self.slots.get_mut(index) {
            slot.busy = false;
            self.broken_at = self.broken_at.min(slot.offset);
        }
    }

    fn break_at_busy(&mut self) {
        for slot in self.slots.iter().filter(|slot| slot.busy) {
            self.broken_at = self.broken_at.min(slot.offset);
        }
    }

    /// Goes on with a slot of which a request is over.
    fn took(&mut self, ring: &mut SysRing, done: Completion) {
        let Some(slot) = self.slots.get(done.slot).copied() else { return };
        match done.result {
            Err(error) if self.error.is_none() && self.retries.allow(error) => {
                match done.operation {
                    Operation::Read => self.read(ring, done.slot, slot),
                    Operation::Write => self.write(ring, done.slot, slot),
                }
            }
            Err(error) => self.fail(done.slot, Cause::Call(error)),
            Ok(count) => match done.operation {
                Operation::Read => self.filled(ring, done.slot, slot, count),
                Operation::Write => self.emptied(ring, done.slot, slot, count),
            },
        }
    }

    fn filled(&mut self, ring: &mut SysRing, index: usize, mut slot: Slot, count: usize) {
        slot.filled = (slot.filled + count).min(slot.bytes);
        if self.error.is_some() {
            return self.fail(index, Cause::Stopped);
        }
        if slot.filled < slot.bytes {
            if count > 0 && slot.filled.is_multiple_of(self.align) {
                self.set(index, slot);
                return self.read(ring, index, slot);
            }
            // The source ends here, before its reported end.
            self.end = self.end.min(slot.offset + slot.filled as u64);
            if slot.filled == 0 {
                slot.busy = false;
                return self.set(index, slot);
            }
        }
        slot.length = slot.filled.next_multiple_of(self.align).min(ring.slot_bytes());
        if slot.length > slot.filled && self.job.want.file_end.is_none() {
            // The source ended early.
            let odd = CallError::new(Call::RingWrite, Errno::INVAL);
            return self.fail(index, Cause::Call(odd));
        }
        if slot.length > slot.filled {
            self.padded = true;
            if let Some(padding) =
                ring.bytes(index).and_then(|bytes| bytes.get_mut(slot.filled..slot.length))
            {
                padding.fill(0);
            }
        }
        self.set(index, slot);
        self.write(ring, index, slot);
    }

    fn emptied(&mut self, ring: &mut SysRing, index: usize, mut slot: Slot, count: usize) {
        if count == 0 {
            let full = CallError::new(Call::RingWrite, Errno::NOSPC);
            return self.fail(index, Cause::Call(full));
        }
        let before = slot.written.min(slot.filled);
        slot.written += count;
        if slot.written < slot.length {
            // A short answer in the middle of a block is written again from the block's start.
            slot.written = slot.written / self.align * self.align;
        }
        self.job.watch.moved(slot.written.min(slot.filled).saturating_sub(before) as u64);
        slot.busy = slot.written < slot.length;
        self.set(index, slot);
        if slot.busy {
            if self.error.is_some() {
                return self.fail(index, Cause::Stopped);
            }
            self.write(ring, index, slot);
        }
    }

    /// Says how it ended, once nothing is in flight.
    fn answer(&self) -> Attempt {
        let job = self.job;
        let arrived = self.next.min(self.end).min(self.broken_at).max(job.source_offset);
        let written = arrived - job.source_offset;
        match self.error {
            Some(Cause::Call(error)) => ended(written, error),
            Some(cause) => Attempt::Failed { written, cause },
            None => {
                if self.padded
                    && let Err(error) =
                        retrying(&job.watch, || ftruncate(job.target, job.target_at(self.end)))
                {
                    return Attempt::Failed { written, cause: Cause::Call(error) };
                }
                Attempt::Done(written)
            }
        }
    }
}
