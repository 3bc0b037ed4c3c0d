//! Reads one record while the one before it is written.
//!
//! Never more than one: what was read and not written is what the next reader of the same open file
//! does not see. `count` bounds it as it bounds the plain loop; an input that can be sought in is put
//! back to where a run that failed has got to; and of one that cannot, what was read is written before
//! an interruption ends the run. Where a write may change what is read next, nothing is read ahead.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::Builder;
use std::time::Duration;

use haul_sys::Errno;
use haul_sys::fs::{Blocking, Kind, blocking, fstat};
use haul_sys::memory::AlignedBuffer;

use super::monitor::{Quit, Told};
use super::order::{Amount, Conv, Order};
use super::side::Side;
use super::take::{Taken, Taker};

/// The smallest record that is worth handing to another thread. Between pipes, 1 GiB took 1.1 to 1.2
/// of the plain loop's time in records of 64 KiB, 0.9 in ones of 256 KiB, 0.35 to 0.6 in ones of 1 MiB.
const LEAST_BYTES: u64 = 256 << 10;

/// The largest one: a second buffer of it is needed.
const MOST_BYTES: u64 = 64 << 20;

/// How many records are read before a thread is worth starting.
pub(super) const STARTS_AFTER: u32 = 2;

/// How long a signal may have to wait while there is no record, and a record for the end.
const HEED: Duration = Duration::from_millis(100);

/// A record, in the buffer that goes round.
pub(super) struct Record {
    pub(super) buffer: AlignedBuffer,
    pub(super) taken: Taken,
}

/// The records that are still to be read.
#[derive(Clone, Copy)]
pub(super) struct Left {
    /// How many are wanted in all.
    pub(super) count: Amount,
    /// Number of bytes of one.
    pub(super) ibs: u64,
    /// How many were read.
    pub(super) done: u64,
}

/// The thread that reads.
pub(super) struct Ahead {
    empty: SyncSender<AlignedBuffer>,
    records: Receiver<Record>,
    stop: Arc<AtomicBool>,
}

/// Returns whether reading ahead has no visible effect, and is worth it for records such as the last
/// one, of so many bytes.
pub(super) fn fits(order: &Order, input: &Side, output: &Side, last: u64) -> bool {
    if last < LEAST_BYTES
        || order.ibs > MOST_BYTES
        || order.conv.any(Conv::NOERROR)
        // A read that does not wait returns EAGAIN at once, and that is an error.
        || !matches!(blocking(input.fd()), Ok(Blocking::Yes))
    {
        return false;
    }
    let (Ok(from), Ok(to)) = (fstat(input.fd()), fstat(output.fd())) else { return false };
    // Terminals, tapes and what else is a character device may mind what they are asked for.
    let waits =
        matches!(from.kind(), Kind::Regular | Kind::BlockDevice | Kind::Fifo | Kind::Socket);
    let is_same = from.same_file(&to)
        || (from.kind() == Kind::BlockDevice
            && to.kind() == Kind::BlockDevice
            && from.rdev == to.rdev);
    waits && !is_same
}

impl Ahead {
    /// Starts to read. `None` where no thread can be started.
    pub(super) fn start(mut taker: Taker, input: &Arc<OwnedFd>, left: Left) -> Option<Ahead> {
        let Left { count, ibs, done } = left;
        let (empty, buffers) = sync_channel::<AlignedBuffer>(2);
        let (full, records) = sync_channel::<Record>(1);
        let (input, stop) = (Arc::clone(input), Arc::new(AtomicBool::new(false)));
        let ahead = Ahead { empty, records, stop: Arc::clone(&stop) };
        let work = move || {
            for (done, mut buffer) in (done..).zip(buffers) {
                let Some(wanted) = count.wanted(done, ibs) else { return };
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let room = usize::try_from(wanted).ok().and_then(|wanted| buffer.get_mut(..wanted));
                // What is begun is read to its end: no other process would see what was read of it.
                let taken = taker.record(input.as_fd(), room.unwrap_or(&mut []), &mut || Ok(()));
                let Ok(taken) = taken else { return };
                let is_last = !taken.answer.is_ok_and(|bytes| bytes > 0);
                if full.send(Record { buffer, taken }).is_err() || is_last {
                    return;
                }
            }
        };
        Builder::new().spawn(work).ok()?;
        Some(ahead)
    }

    /// What makes it stop reading when it is set.
    pub(super) fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Hands a buffer to be filled.
    pub(super) fn give(&self, buffer: AlignedBuffer) {
        // After its last record the thread is gone, and nothing is to be filled any more.
        let _given = self.empty.try_send(buffer);
    }

    /// Returns the next record.
    pub(super) fn next(&self, told: &mut Told<'_>) -> Result<Result<Record, Errno>, Quit> {
        loop {
            if told.is_ending {
                // A read that has begun is waited for; one that finds nothing to read is not.
                return self.records.recv_timeout(HEED).map(Ok).map_err(|_| told.end());
            }
            match self.records.recv_timeout(HEED) {
                Ok(record) => return Ok(Ok(record)),
                Err(RecvTimeoutError::Timeout) => told.heed()?,
                Err(RecvTimeoutError::Disconnected) => return Ok(Err(Errno::CANCELED)),
            }
        }
    }

    /// Ends the thread. Waits for it where no read of it can block, so that nothing is read
    /// any more when this returns.
    pub(super) fn end(self, input: &Side) {
        self.stop.store(true, Ordering::Relaxed);
        drop(self.empty);
        if input.offset.is_some() {
            // The sender is gone when the thread is.
            self.records.iter().for_each(drop);
        }
    }
}
