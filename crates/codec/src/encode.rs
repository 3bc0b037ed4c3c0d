//! The encoder: ordered bytes in, compressed blocks out.

use std::io::{self, Write};

use crate::cut::{BLOCK_BYTES, Cut, Cutter};
use crate::encoding::{BlockFormat, Compressed, Job};
use crate::gzip::{Gzip, Place, Point, PointSink, Stamp};
use crate::ordered::Ordered;
use crate::xz;
use crate::zstd::{Frames, OneFrame};

/// How a stream is to be compressed.
#[derive(Clone, Debug)]
pub struct EncodePlan {
    /// From 1, fast, to 9, small.
    pub level: u8,
    /// Workers that compress at the same time; the bytes are the same for any number.
    pub jobs: usize,
    /// Where the stream is cut into blocks.
    pub cut: Cut,
    /// What the header says.
    pub stamp: Stamp,
}

impl EncodePlan {
    /// gzip, level 6, one worker, no name and time in the header.
    pub const GZIP: EncodePlan =
        EncodePlan { level: 6, jobs: 1, cut: Cut::Even, stamp: Stamp::NONE };
}

/// How a stream is compressed in a format other than gzip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Zstandard, level 3, with check sums: independent frames of at most this many original bytes,
    /// up to 1 GiB, and a seek table behind them; or with 0 one frame and no table.
    Zstd {
        /// Original bytes of a frame at most.
        frame_bytes: u64,
    },
    /// The same, but a frame ends where [`Encoder::cut`] says.
    ZstdCut {
        /// Original bytes that room is made for.
        frame_bytes: u64,
    },
    /// xz, level 6: blocks of 24 MiB, with CRC-64.
    Xz,
    /// The format of LZMA alone, level 6: one block, so that one worker compresses it.
    Lzma,
}

/// Bytes of a frame at most, by the seekable format.
const FRAME_BYTES_MAX: u64 = 1 << 30;

/// Memory of a thread of libzstd in a single frame: its part of the data, and what it becomes.
const STREAM_JOB_BYTES: u64 = 32 << 20;

/// Room that is reserved for a block before its bytes come.
const RESERVED_BYTES_MAX: usize = 16 << 20;

/// Counts of a finished stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Original bytes.
    pub bytes_in: u64,
    /// Compressed bytes, with headers and trailers.
    pub bytes_out: u64,
    /// Bytes of headers and trailers.
    pub header_bytes: u64,
}

/// Compresses what is written to it, and writes the result to a sink.
///
/// At most two blocks of 1 MiB for each worker are in flight, with their results and the state of a
/// compressor for each worker: about 3.5 MiB for each job, and the block that is being filled. Of
/// Zstandard the blocks are frames, one more than there are workers; xz takes up to 166 MiB for each
/// job, as liblzma does.
pub struct Encoder<W> {
    sink: W,
    format: Box<dyn BlockFormat>,
    cutter: Cutter,
    workers: Ordered<Job, io::Result<Compressed>>,
    block: Vec<u8>,
    /// Bytes that room is made for in a block.
    usual_bytes: usize,
    /// Blocks in flight at most; with 0 the caller compresses them.
    in_flight_most: usize,
    /// Whether the block is complete; it waits to see whether it is the last.
    is_complete: bool,
    head: Vec<u8>,
    totals: Totals,
    points: Option<PointSink>,
    /// Original bytes before the last point.
    told: u64,
}

impl<W: Write> Encoder<W> {
    /// Makes an encoder. Nothing is written to the sink before the first block is complete.
    pub fn new(sink: W, plan: EncodePlan) -> Encoder<W> {
        let format = Box::new(Gzip::new(plan.level, plan.stamp));
        let workers = Ordered::new(plan.jobs, format.compressor());
        Encoder::with(sink, format, Cutter::new(plan.cut), workers)
    }

    /// Makes an encoder of another format. `jobs` workers compress at the same time; the bytes are the
    /// same for any number.
    pub fn packing(sink: W, packing: Packing, jobs: usize) -> Encoder<W> {
        Encoder::packing_within(sink, packing, jobs, u64::MAX)
    }

    /// Does the same with as many workers and frames in flight as so many bytes of memory suffice for, at least one:
    /// a frame in flight counts for its content twice, since what it becomes may be as large.
    pub fn packing_within(sink: W, packing: Packing, jobs: usize, memory_bytes: u64) -> Encoder<W> {
        let within = |job_bytes: u64| {
            let most = usize::try_from(memory_bytes / job_bytes).unwrap_or(usize::MAX);
            jobs.min(most).max(1)
        };
        // These keep a state from block to block, and have threads of their own.
        let in_order: Box<dyn BlockFormat> = match packing {
            Packing::Zstd { frame_bytes: 0 } => Box::new(OneFrame::new(within(STREAM_JOB_BYTES))),
            Packing::Xz => Box::new(xz::Encode::new(xz::Kind::Xz, within(xz::JOB_BYTES))),
            Packing::Lzma => Box::new(xz::Encode::new(xz::Kind::Lzma, jobs)),
            Packing::Zstd { frame_bytes } => {
                return Encoder::frames(sink, (frame_bytes, frame_bytes), jobs, memory_bytes);
            }
            Packing::ZstdCut { frame_bytes } => {
                return Encoder::frames(sink, (FRAME_BYTES_MAX, frame_bytes), jobs, memory_bytes);
            }
        };
        let workers = Ordered::new(1, in_order.compressor());
        Encoder::with(sink, in_order, Cutter::new(Cut::Even), workers)
    }

    /// Makes an encoder of frames of `most` bytes, with room for `usual` ones.
    fn frames(sink: W, (most, usual): (u64, u64), jobs: usize, memory_bytes: u64) -> Encoder<W> {
        let bytes = |count: u64| usize::try_from(count.min(FRAME_BYTES_MAX)).unwrap_or(1 << 30);
        let format = Box::new(Frames::new());
        // Beside the one that is being filled.
        let fit = usize::try_from(memory_bytes / (2 * usual.max(1))).unwrap_or(usize::MAX);
        let in_flight = (jobs + 1).min(fit.saturating_sub(1));
        let workers = Ordered::new(jobs.min(in_flight), format.compressor()).limit(in_flight);
        let mut encoder = Encoder::with(sink, format, Cutter::every(bytes(most)), workers);
        encoder.usual_bytes = bytes(usual);
        encoder.in_flight_most = in_flight;
        encoder
    }

    fn with(
        sink: W,
        mut format: Box<dyn BlockFormat>,
        cutter: Cutter,
        workers: Ordered<Job, io::Result<Compressed>>,
    ) -> Encoder<W> {
        let head = format.head();
        let usual_bytes = cutter.block_bytes();
        let totals = Totals { bytes_in: 0, bytes_out: 0, header_bytes: 0 };
        Encoder {
            sink,
            format,
            cutter,
            workers,
            block: Vec::new(),
            usual_bytes,
            in_flight_most: usize::MAX,
            is_complete: false,
            head,
            totals,
            points: None,
            told: 0,
        }
    }

    /// Tells where readers of a gzip stream can begin: at blocks, at least 1 MiB apart, which need no
    /// bytes before them. To be called before anything is written.
    pub fn tell_points(&mut self, sink: PointSink) {
        self.points = Some(sink);
    }

    /// Returns the sink.
    pub fn sink(&mut self) -> &mut W {
        &mut self.sink
    }

    /// Ends the block before the last `kept` bytes of what was written, which begin the next one. More
    /// bytes have to follow. Blocks as a write does.
    pub fn cut(&mut self, kept: usize) -> io::Result<()> {
        let begin = self.block.len().saturating_sub(kept);
        if begin == 0 {
            return Ok(());
        }
        let rest = self.block.split_off(begin);
        self.is_complete = true;
        self.submit()?;
        self.block.extend_from_slice(&rest);
        Ok(())
    }

    /// Gives bytes that readers skip, to be written behind the data: in Zstandard with a seek table.
    /// Other formats have no room for them.
    pub fn attach(&mut self, bytes: Vec<u8>) {
        self.format.attach(bytes);
    }

    /// Compresses what is left, writes the end of the stream and returns the sink. Blocks as the
    /// workers and the sink do; fails as the sink does.
    pub fn finish(mut self) -> io::Result<(W, Totals)> {
        let bytes = std::mem::take(&mut self.block);
        let last = Job { bytes, is_last: true };
        if self.workers.in_flight() == 0 && self.totals.bytes_in == 0 {
            let done = self.workers.do_here(last)?;
            self.put(&done)?;
        } else {
            self.workers.submit(last);
            while self.workers.in_flight() > 0 {
                self.pass_on()?;
            }
        }
        let tail = self.format.tail();
        self.totals.header_bytes += tail.len() as u64;
        self.write(&tail)?;
        Ok((self.sink, self.totals))
    }

    /// Gives the complete block to the workers.
    fn submit(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.is_complete) {
            return Ok(());
        }
        if self.in_flight_most == 0 {
            let bytes = std::mem::take(&mut self.block);
            let done = self.workers.do_here(Job { bytes, is_last: false })?;
            return self.put(&done);
        }
        while self.workers.in_flight() >= self.workers.most() {
            self.pass_on()?;
        }
        let room = self.usual_bytes.min(RESERVED_BYTES_MAX);
        let bytes = std::mem::replace(&mut self.block, Vec::with_capacity(room));
        self.workers.submit(Job { bytes, is_last: false });
        Ok(())
    }

    /// Writes the oldest block in flight.
    fn pass_on(&mut self) -> io::Result<()> {
        let done =
            self.workers.take().ok_or_else(|| io::Error::other("no thread can be started"))?;
        self.put(&done?)
    }

    fn put(&mut self, done: &Compressed) -> io::Result<()> {
        let Totals { bytes_in, bytes_out, .. } = self.totals;
        if let Some(points) = &mut self.points
            && bytes_in - self.told >= BLOCK_BYTES as u64
        {
            self.told = bytes_in;
            let place = Place::Block(Vec::new());
            points(Point { bit: 8 * bytes_out, original_bytes: bytes_in, place });
        }
        self.format.add(done);
        self.totals.bytes_in += done.bytes_in;
        let head = std::mem::take(&mut self.head);
        self.totals.header_bytes += head.len() as u64;
        self.write(&head)?;
        self.write(&done.bytes)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.totals.bytes_out += bytes.len() as u64;
        self.sink.write_all(bytes)
    }
}

impl<W: Write> Write for Encoder<W> {
    /// Takes all bytes. Blocks while as many blocks are in flight as there may be.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut left = bytes;
        while !left.is_empty() {
            self.submit()?;
            let (taken, is_complete) = self.cutter.take(self.block.len(), left);
            let (now, later) = left.split_at(taken);
            self.block.extend_from_slice(now);
            self.is_complete = is_complete;
            left = later;
        }
        Ok(bytes.len())
    }

    /// Does nothing: a block that is not complete waits for more bytes, or for the end.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
