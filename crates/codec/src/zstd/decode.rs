//! Decompresses frames: those that are small and say so by several workers, the others in order.

use std::collections::VecDeque;
use std::sync::Arc;

use zstd::bulk::Decompressor;
use zstd::stream::raw::{DParameter, Decoder, Operation as _};

use super::frame::{Ahead, CONTENT_BYTES_MAX, look};
use crate::decoding::{Decode as Decoding, DecodePlan, Memory, Summary};
use crate::error::{Damage, DecodeError};
use crate::input::Input;
use crate::ordered::Ordered;
use crate::piece::PIECE_BYTES;
use crate::piece_queue::PieceQueue;
use crate::spare::Spare;

/// The largest window that libzstd has, as a power of two: `--long=31`. A frame takes it only as far as its content
/// does.
const WINDOW_LOG_MAX: u32 = if cfg!(target_pointer_width = "64") { 31 } else { 30 };

/// The smallest window that libzstd may be limited to.
const WINDOW_LOG_MIN: u32 = 10;

/// A frame, and the bytes of its content.
type Job = (Vec<u8>, usize);

/// The reader of a stream.
pub(crate) struct Decode {
    plan: DecodePlan,
    workers: Ordered<Job, Result<Vec<u8>, Damage>>,
    /// Contents of the frames that workers have.
    in_flight: VecDeque<usize>,
    queue: PieceQueue,
    spare: Spare,
    /// The state in a frame that is decompressed in order.
    stream: Option<Decoder<'static>>,
    is_in_frame: bool,
    skip: u64,
    frames: u64,
    by_workers: u64,
    bytes: u64,
    /// What is wrong behind the frames that workers have.
    later: Option<DecodeError>,
}

impl Decode {
    /// Makes a reader that fills the buffers that the caller leaves in `spare`.
    pub(crate) fn new(plan: DecodePlan, spare: &Spare) -> Decode {
        let for_workers = spare.clone();
        let make = Arc::new(move || Box::new(worker(for_workers.clone())) as Box<_>);
        Decode {
            plan,
            workers: Ordered::new(plan.jobs, make).limit(plan.jobs + 1),
            in_flight: VecDeque::new(),
            queue: PieceQueue::default(),
            spare: spare.clone(),
            stream: None,
            is_in_frame: false,
            skip: 0,
            frames: 0,
            by_workers: 0,
            bytes: 0,
            later: None,
        }
    }

    /// Goes on until there are pieces, or the end.
    fn go_on(&mut self, input: &mut Input) -> Result<(), DecodeError> {
        while self.queue.wants_more() {
            if self.is_in_frame {
                self.step(input)?;
                continue;
            }
            self.keep_busy(input);
            if let Some(content) = self.in_flight.pop_front() {
                self.bytes += content as u64;
                let lost = || std::io::Error::other("no thread can be started");
                let done = self.workers.take().ok_or_else(|| DecodeError::Input(lost()))?;
                self.queue.add(Some(done?).filter(|content| !content.is_empty()));
                // While the caller reads this one.
                self.keep_busy(input);
            } else if let Some(error) = self.later.take() {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Gives the workers what they may have, unless something is wrong there.
    fn keep_busy(&mut self, input: &mut Input) {
        if self.later.is_none() {
            self.later = self.look_ahead(input).err();
        }
    }

    /// Gives frames to the workers, as many as may be in flight, and looks at what follows.
    fn look_ahead(&mut self, input: &mut Input) -> Result<(), DecodeError> {
        loop {
            if self.skip > 0 {
                self.skip(input)?;
                continue;
            }
            let in_flight: usize = self.in_flight.iter().sum();
            let most = self.plan.memory.in_flight_bytes;
            let is_full = self.in_flight.len() >= self.workers.most();
            if is_full || (in_flight > 0 && in_flight as u64 >= most) {
                return Ok(());
            }
            // A frame that would take all of it is decompressed as it comes.
            match look(input, if self.plan.jobs > 1 { most.min(CONTENT_BYTES_MAX) } else { 0 })? {
                Ahead::Whole { content, .. }
                    if in_flight > 0 && in_flight as u64 + content as u64 > most =>
                {
                    return Ok(());
                }
                Ahead::Whole { bytes, content } => {
                    let frame = input.bytes()[..bytes].to_vec();
                    input.take(bytes);
                    self.frames += 1;
                    self.by_workers += 1;
                    self.in_flight.push_back(content);
                    self.workers.submit((frame, content));
                }
                Ahead::Skippable(bytes) => {
                    self.frames += 1;
                    self.skip = bytes;
                }
                // What workers have comes before.
                _ if !self.in_flight.is_empty() => return Ok(()),
                Ahead::Frame => {
                    self.frames += 1;
                    self.is_in_frame = true;
                    return Ok(());
                }
                Ahead::End => {
                    self.queue.end();
                    return Ok(());
                }
                Ahead::Unknown if self.frames == 0 => return Err(Damage::UnknownFormat.into()),
                Ahead::Unknown => return Err(Damage::Format.into()),
            }
        }
    }

    fn skip(&mut self, input: &mut Input) -> Result<(), DecodeError> {
        if !input.fill(1)? {
            return Err(Damage::UnexpectedEnd.into());
        }
        let left = usize::try_from(self.skip).unwrap_or(usize::MAX);
        let count = input.bytes().len().min(left);
        input.take(count);
        self.skip -= count as u64;
        Ok(())
    }

    /// Decompresses a piece of the current frame.
    fn step(&mut self, input: &mut Input) -> Result<(), DecodeError> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            None => self.stream.insert(decoder(self.plan.memory).map_err(DecodeError::Input)?),
        };
        let mut piece = self.spare.filled(PIECE_BYTES);
        let mut filled = 0;
        while let Some(room) = piece.get_mut(filled..).filter(|room| !room.is_empty()) {
            let is_end = !input.fill(1)?;
            let answer = stream.run_on_buffers(input.bytes(), room);
            let done = match answer {
                Ok(done) => done,
                Err(error) => {
                    self.queue.fail(damage(&error).into());
                    break;
                }
            };
            input.take(done.bytes_read);
            filled += done.bytes_written;
            if done.remaining == 0 {
                self.is_in_frame = false;
                break;
            }
            if is_end && done.bytes_written == 0 {
                self.queue.fail(Damage::UnexpectedEnd.into());
                break;
            }
        }
        piece.truncate(filled);
        self.bytes += filled as u64;
        self.queue.add(Some(piece).filter(|piece| !piece.is_empty()));
        Ok(())
    }
}

impl Decoding for Decode {
    fn next(&mut self, input: &mut Input) -> Result<Option<Vec<u8>>, DecodeError> {
        if self.queue.wants_more()
            && let Err(error) = self.go_on(input)
        {
            self.queue.fail(error);
        }
        self.queue.take()
    }

    fn summary(&self) -> Summary {
        Summary {
            members: self.frames,
            last_bytes: self.bytes,
            by_workers: self.by_workers,
            ..Summary::default()
        }
    }
}

/// Returns the function that decompresses frames, each into one buffer: libzstd needs no window of its own
/// then, from which it would copy.
fn worker(spare: Spare) -> impl FnMut(Job) -> Result<Vec<u8>, Damage> {
    let mut kept = None;
    move |(frame, content)| {
        let mut state = match kept.take() {
            Some(state) => state,
            None => Decompressor::new().map_err(|_| Damage::Memory)?,
        };
        let mut bytes = spare.empty(content);
        let done = state.decompress_to_buffer(&frame, &mut bytes);
        let count = done.map_err(|error| damage(&error))?;
        // One that failed is not used again.
        kept = Some(state);
        if count == content { Ok(bytes) } else { Err(Damage::Length) }
    }
}

/// Returns the state of a stream.
fn decoder(memory: Memory) -> std::io::Result<Decoder<'static>> {
    let mut decoder = Decoder::new()?;
    let log = memory.window_bytes.checked_ilog2().unwrap_or(0);
    decoder.set_parameter(DParameter::WindowLogMax(log.clamp(WINDOW_LOG_MIN, WINDOW_LOG_MAX)))?;
    Ok(decoder)
}

/// Tells errors of libzstd apart; the crate gives their texts.
fn damage(error: &std::io::Error) -> Damage {
    let text = error.to_string();
    if text.contains("checksum") {
        Damage::Checksum
    } else if text.contains("memory") {
        Damage::Memory
    } else {
        Damage::Format
    }
}
