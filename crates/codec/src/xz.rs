//! xz and its predecessor lzma, by liblzma.
//!
//! liblzma's own encoder for several threads cuts the data into blocks and says in the header of each
//! how long it is, so that readers can decode blocks at the same time. The size of a block is fixed
//! here, so the bytes do not depend on the number of threads.

use std::io;
use std::sync::Arc;

use liblzma::stream::{Action, Check, Error, LzmaOptions, MtStreamBuilder, Status, Stream};

use crate::decoding::DecodePlan;
use crate::encoding::{BlockFormat, Compress, Compressed, Job};
use crate::error::Damage;
use crate::library::{Library, Step};

/// The level of `xz` by default.
const LEVEL: u32 = 6;

/// Bytes of a block: three times the dictionary of the level, as `xz -T0` has it. An encoding thread
/// takes up to 166 MiB with it, says `xz -vv -T2`.
const BLOCK_BYTES: u64 = 24 << 20;

/// Memory of an encoding thread.
pub(crate) const JOB_BYTES: u64 = 166 << 20;

/// Memory that decoding may take at all: the dictionary of the largest preset is 64 MiB, and the
/// largest one of the format 4 GiB.
const MEMORY_MAX_BYTES: u64 = 1 << 30;

/// Memory of a thread that decodes a block of [`BLOCK_BYTES`]: its dictionary, and the block before
/// and behind it. Larger blocks are decoded by fewer threads, or by one.
const THREAD_BYTES: u64 = 64 << 20;

/// Room that is made for compressed bytes at a time.
const ROOM_BYTES: usize = 64 << 10;

fn damage(error: Error) -> Damage {
    match error {
        Error::Mem | Error::MemLimit => Damage::Memory,
        Error::Format => Damage::UnknownFormat,
        _ => Damage::Format,
    }
}

/// Which of the two formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Xz,
    /// The older format, or xz.
    Lzma,
}

/// The first bytes of an xz stream; the format of LZMA alone cannot begin with the first of them. See
/// <https://tukaani.org/xz/xz-file-format.txt>, section 2.1.1.
const MAGIC: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];

/// Bytes up to the type of check, of which the low half of the last one is.
const FLAGS_END: usize = MAGIC.len() + 2;

/// The place of the dictionary's size in the header of the format of LZMA alone.
const DICTIONARY: std::ops::Range<usize> = 1..5;

/// Types of check that liblzma compares: none, CRC-32, CRC-64, SHA-256.
const KNOWN_CHECKS: [u8; 4] = [0, 1, 4, 10];

/// Reads streams one behind the other, and zeros between them.
pub(crate) struct Decode {
    kind: Kind,
    plan: DecodePlan,
    stream: Option<Stream>,
    /// The first bytes of the stream.
    start: Vec<u8>,
    /// An error behind the bytes of the last stream.
    failed: Option<Damage>,
    /// Zeros behind the last stream: whole groups of four.
    padding: u64,
    has_stream: bool,
}

impl Decode {
    pub(crate) fn new(kind: Kind, plan: DecodePlan) -> Decode {
        let (start, failed) = (Vec::new(), None);
        Decode { kind, plan, stream: None, start, failed, padding: 0, has_stream: false }
    }

    /// Returns what is wrong behind the bytes of a stream that has ended. liblzma decodes a stream whose
    /// type of check it does not know, without a word, and has no flag that its threaded decoder heeds.
    fn doubt(&self) -> Option<Damage> {
        let flags = self.start.get(FLAGS_END - 1).filter(|_| self.start.starts_with(&MAGIC))?;
        let check = flags & 0x0f;
        (!KNOWN_CHECKS.contains(&check)).then_some(Damage::UnknownCheck(check))
    }

    /// Returns whether the last stream was in the format of LZMA alone, behind which nothing may follow.
    fn is_alone(&self) -> bool {
        self.has_stream && self.start.first() != MAGIC.first()
    }

    /// Returns whether the stream claims a dictionary of no bytes, as what is no stream of LZMA alone may do. `xz` refuses
    /// it; liblzma does not.
    fn has_no_dictionary(&self) -> bool {
        let is_alone = self.start.first() != MAGIC.first();
        is_alone
            && self.start.get(DICTIONARY).is_some_and(|size| size.iter().all(|byte| *byte == 0))
    }

    fn begin(&self) -> Result<Stream, Damage> {
        let threads = u32::try_from(self.plan.jobs.max(1)).unwrap_or(1);
        let in_flight = self.plan.memory.in_flight_bytes.min(MEMORY_MAX_BYTES);
        let stream = match self.kind {
            Kind::Xz => MtStreamBuilder::new()
                .threads(threads)
                .memlimit_threading((u64::from(threads) * THREAD_BYTES).min(in_flight))
                .memlimit_stop(MEMORY_MAX_BYTES)
                .decoder(),
            Kind::Lzma => Stream::new_auto_decoder(MEMORY_MAX_BYTES, 0),
        };
        stream.map_err(damage)
    }

    fn between(&mut self, bytes: &[u8], is_end: bool) -> Result<Option<Step>, Damage> {
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        if !self.has_stream || (zeros == 0 && !is_end) {
            let is_whole = self.padding.is_multiple_of(4);
            return if is_whole { Ok(None) } else { Err(Damage::Format) };
        }
        self.padding += zeros as u64;
        let may_end = self.padding.is_multiple_of(4);
        if is_end && !may_end {
            return Err(Damage::Format);
        }
        Ok(Some(Step { consumed: zeros, produced: 0, may_end }))
    }
}

impl Library for Decode {
    fn step(&mut self, bytes: &[u8], room: &mut [u8], is_end: bool) -> Result<Step, Damage> {
        if self.stream.is_none() {
            if let Some(damage) = self.failed {
                return Err(damage);
            }
            if self.is_alone() && !bytes.is_empty() {
                return Err(Damage::Format);
            }
            if let Some(step) = self.between(bytes, is_end)? {
                return Ok(step);
            }
            self.stream = Some(self.begin()?);
            self.start.clear();
            self.padding = 0;
        }
        let Some(stream) = &mut self.stream else { return Err(Damage::Format) };
        let action = if is_end { Action::Finish } else { Action::Run };
        let before = (stream.total_in(), stream.total_out());
        let status = stream.process(bytes, room, action).map_err(|error| match damage(error) {
            Damage::UnknownFormat if self.has_stream => Damage::Format,
            other => other,
        })?;
        let consumed = usize::try_from(stream.total_in() - before.0).unwrap_or(0);
        let produced = usize::try_from(stream.total_out() - before.1).unwrap_or(0);
        let missing = FLAGS_END.saturating_sub(self.start.len());
        self.start.extend(bytes.iter().take(consumed.min(missing)));
        // The header comes before all data, so none of them has been given.
        if self.has_no_dictionary() {
            return Err(Damage::UnknownFormat);
        }
        let has_ended = status == Status::StreamEnd;
        if has_ended {
            self.has_stream = true;
            self.stream = None;
            self.failed = self.doubt();
        }
        match self.failed {
            Some(damage) if produced == 0 => Err(damage),
            failed => Ok(Step { consumed, produced, may_end: has_ended && failed.is_none() }),
        }
    }
}

/// Writes one stream, in order, by threads of liblzma.
pub(crate) struct Encode {
    kind: Kind,
    threads: u32,
}

impl Encode {
    pub(crate) fn new(kind: Kind, jobs: usize) -> Encode {
        Encode { kind, threads: u32::try_from(jobs.max(1)).unwrap_or(1) }
    }
}

impl BlockFormat for Encode {
    fn head(&mut self) -> Vec<u8> {
        Vec::new()
    }

    fn compressor(&self) -> Arc<dyn Fn() -> Compress + Send + Sync> {
        let (kind, threads) = (self.kind, self.threads);
        Arc::new(move || {
            let mut stream = None;
            Box::new(move |job: Job| {
                let stream = match &mut stream {
                    Some(stream) => stream,
                    None => stream.insert(begin(kind, threads)?),
                };
                compress(stream, &job)
            })
        })
    }

    fn add(&mut self, _block: &Compressed) {}

    fn tail(&mut self) -> Vec<u8> {
        Vec::new()
    }
}

fn begin(kind: Kind, threads: u32) -> io::Result<Stream> {
    Ok(match kind {
        Kind::Xz => MtStreamBuilder::new()
            .threads(threads)
            .block_size(BLOCK_BYTES)
            .preset(LEVEL)
            .check(Check::Crc64)
            .encoder()?,
        Kind::Lzma => Stream::new_lzma_encoder(&LzmaOptions::new_preset(LEVEL)?)?,
    })
}

fn compress(stream: &mut Stream, job: &Job) -> io::Result<Compressed> {
    let action = if job.is_last { Action::Finish } else { Action::Run };
    let (mut left, mut bytes) = (job.bytes.as_slice(), Vec::new());
    loop {
        bytes.reserve(ROOM_BYTES);
        let before = stream.total_in();
        let status = stream.process_vec(left, &mut bytes, action)?;
        let consumed = usize::try_from(stream.total_in() - before).unwrap_or(0);
        left = &left[consumed..];
        let has_ended = status == Status::StreamEnd;
        if has_ended || (!job.is_last && left.is_empty()) {
            return Ok(Compressed { bytes, check: 0, bytes_in: job.bytes.len() as u64 });
        }
    }
}
