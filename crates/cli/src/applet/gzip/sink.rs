//! Where an output goes: nowhere, to standard output, or to a file with many writes in flight.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use haul_io::DataPolicy;
use haul_io::stream::{
    Block, Durable, End, Place, Pool, StreamError, Target, WritePlan, Writer, Zeros, write_all,
};
use haul_sys::CallError;

/// An output.
pub(super) enum Sink {
    /// Nothing is written.
    Nothing,
    /// Bytes go on as they come: to a pipe, a terminal, a device.
    Stream {
        fd: OwnedFd,
        stop: &'static AtomicBool,
    },
    Blocks(Box<Blocks>),
}

/// An output of large writes.
pub(super) struct Blocks {
    writer: Writer,
    pool: Arc<Pool>,
    block: Option<Block>,
    filled: usize,
    stop: &'static AtomicBool,
}

/// Requests in flight to one output: half of what a copy has, because a processor is the slower side,
/// and a run may take 64 MiB for two workers.
const DEPTH: usize = 4;

impl Sink {
    /// Makes an output of a regular file.
    pub(super) fn file(
        file: &Arc<OwnedFd>,
        place: Place,
        policy: &DataPolicy,
        stop: &'static AtomicBool,
    ) -> Result<Sink, CallError> {
        let mut policy = policy.clone();
        policy.queue_depth.get_or_insert(DEPTH);
        let target = Target { file: Arc::clone(file), base: 0, end: End::Exact, place };
        let plan = WritePlan { policy, size: None, zeros: Zeros::Write, stop };
        let writer = Writer::new(vec![target], plan)?;
        let block_bytes = writer.block_bytes();
        let pool = Pool::new(block_bytes, writer.holds(block_bytes) + 2);
        Ok(Sink::Blocks(Box::new(Blocks { writer, pool, block: None, filled: 0, stop })))
    }

    /// Writes what is left. With [`Durable::Yes`] the bytes are then on stable storage.
    pub(super) fn finish(self, durable: Durable) -> Result<(), StreamError> {
        match self {
            Sink::Nothing | Sink::Stream { .. } => Ok(()),
            Sink::Blocks(blocks) => blocks.finish(durable),
        }
    }
}

impl Blocks {
    fn put(&mut self) -> Result<(), StreamError> {
        let Some(mut block) = self.block.take() else { return Ok(()) };
        block.set_filled(0..std::mem::take(&mut self.filled));
        self.writer.put(block)?;
        self.writer.error(0).map_or(Ok(()), Err)
    }

    fn add(&mut self, bytes: &[u8]) -> Result<usize, StreamError> {
        let mut block = match self.block.take() {
            Some(block) => block,
            None => self.pool.take(self.stop)?.ok_or(StreamError::Stopped)?,
        };
        let room = &mut block.own_room()?[self.filled..];
        let count = room.len().min(bytes.len());
        if let (Some(room), Some(bytes)) = (room.get_mut(..count), bytes.get(..count)) {
            room.copy_from_slice(bytes);
        }
        let is_full = count == room.len();
        self.filled += count;
        self.block = Some(block);
        if is_full {
            self.put()?;
        }
        Ok(count)
    }

    fn finish(mut self, durable: Durable) -> Result<(), StreamError> {
        self.put()?;
        let outcomes = self.writer.finish(durable);
        outcomes.iter().find_map(|outcome| outcome.error).map_or(Ok(()), Err)
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Nothing => Ok(bytes.len()),
            Sink::Stream { fd, stop } => {
                write_all(&*fd, bytes, stop).map_err(io::Error::other)?;
                Ok(bytes.len())
            }
            Sink::Blocks(blocks) => blocks.add(bytes).map_err(io::Error::other),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the error of a stream that an error of the standard library's kind carries.
pub(super) fn stream_error(error: &io::Error) -> Option<StreamError> {
    error.get_ref().and_then(|inner| inner.downcast_ref()).copied()
}
