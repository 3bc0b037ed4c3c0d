//! The blocks of bzip2 streams, decompressed by several workers and returned in order.
//!
//! No length says where a block ends, so the next magic number is taken for its end. Data may contain one, by
//! chance or on purpose: a worker then fails, because nothing but a whole block decodes
//! and has the block's check sum, and the parts around the number are decompressed as one. So bytes are
//! believed by check sums alone, those of the blocks and that of the stream. What is not in the middle of a
//! stream (no header, or something behind the last stream) is read in order, with the same answers.

use std::collections::VecDeque;
use std::sync::Arc;

use super::in_order::Bzip2;
use super::span::{BLOCK, CHECK_BITS, Done, END, MAGIC_BITS, Span, find};
use crate::decoding::{Decode, DecodePlan, Summary};
use crate::error::{Damage, DecodeError};
use crate::input::Input;
use crate::library::InOrder;
use crate::ordered::Ordered;
use crate::piece_queue::PieceQueue;

/// Most data of a block: 900,000 bytes, in which each 5 bytes stand for up to 259.
const DATA_BYTES_MAX: u64 = 900_000 / 5 * 259;

/// More bits than any block has: 900,001 codes of at most 20 bits, their tables, and what selects these.
const BLOCK_BITS_MAX: usize = 20 << 20;

/// Most parts that are joined to one before it counts as damaged: by chance a block in 10^8 has one magic number in
/// it, and each attempt decompresses the whole.
const JOINED_MAX: usize = 16;

/// Bytes of the header of a stream.
const HEADER_BYTES: usize = 4;

/// Returns how many blocks may be decompressed at the same time.
pub(super) fn most_in_flight(plan: DecodePlan) -> usize {
    let most = plan.memory.in_flight_bytes / DATA_BYTES_MAX;
    if plan.jobs < 2 { 1 } else { usize::try_from(most).unwrap_or(usize::MAX).min(2 * plan.jobs) }
}

/// A part of the input whose turn comes.
enum Item {
    /// From one magic number to the next, or to the end of the input.
    Block { span: Arc<Span>, is_submitted: bool },
    /// The end of a stream, with the header of the next one.
    End(Span),
}

impl Item {
    fn span(&self) -> &Span {
        match self {
            Item::Block { span, .. } => span,
            Item::End(span) => span,
        }
    }
}

/// Where the search for parts is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Between streams: where the first header, or something else, is.
    Outside,
    /// At a magic number, which begins at this bit of the first byte, in a stream of this level.
    Inside(usize, u8),
    /// At the end of the input, or behind a part that is no block.
    Behind,
}

/// The reader of streams.
pub(super) struct Blocks {
    workers: Ordered<Arc<Span>, Done>,
    items: VecDeque<Item>,
    place: Place,
    queue: PieceQueue,
    /// Check sum of the blocks of the stream that were returned.
    check: u32,
    streams: u64,
    bytes: u64,
    /// Why the source could not be read behind the parts that were found.
    later: Option<DecodeError>,
    /// The reader of what is not in the middle of a stream.
    in_order: Option<InOrder<Bzip2>>,
}

impl Blocks {
    pub(super) fn new(jobs: usize, most: usize) -> Blocks {
        let make = Arc::new(|| Box::new(|span: Arc<Span>| span.decode()) as Box<_>);
        Blocks {
            workers: Ordered::new(jobs, make).limit(most),
            items: VecDeque::new(),
            place: Place::Outside,
            queue: PieceQueue::default(),
            check: 0,
            streams: 0,
            bytes: 0,
            later: None,
            in_order: None,
        }
    }

    /// Finds parts, as many as may be in flight, and gives the blocks to the workers. A block that is alone is
    /// left to the calling thread.
    fn look_ahead(&mut self, input: &mut Input) {
        if self.later.is_none() {
            self.later = self.find_parts(input).err();
        }
        let waiting = self.items.iter().filter(|item| matches!(item, Item::Block { .. })).count();
        if waiting > 1 || self.workers.in_flight() > 0 {
            for item in &mut self.items {
                if let Item::Block { span, is_submitted: is_submitted @ false } = item {
                    *is_submitted = true;
                    self.workers.submit(Arc::clone(span));
                }
            }
        }
    }

    fn find_parts(&mut self, input: &mut Input) -> Result<(), DecodeError> {
        while self.items.len() < self.workers.most() {
            match self.place {
                Place::Outside => match level(input, 0)? {
                    Some(level) => {
                        input.take(HEADER_BYTES);
                        self.streams += 1;
                        self.place = Place::Inside(0, level);
                    }
                    None => break,
                },
                Place::Inside(bit, level) => {
                    let item = self.part(input, (bit, bit + 1), level)?;
                    self.items.push_back(item);
                }
                Place::Behind => break,
            }
        }
        Ok(())
    }

    /// Takes the part that begins at a bit of the first byte, to the first magic number `from` another one on.
    fn part(
        &mut self,
        input: &mut Input,
        (bit, mut from): (usize, usize),
        level_here: u8,
    ) -> Result<Item, DecodeError> {
        let end_bytes = (bit + MAGIC_BITS + CHECK_BITS).div_ceil(8);
        if word(input.bytes(), bit) == END && input.fill(end_bytes)? {
            let next = level(input, end_bytes)?;
            let bytes = end_bytes + next.map_or(0, |_| HEADER_BYTES);
            let span = Span::of(input.bytes(), (bit, bytes * 8), level_here);
            input.take(bytes);
            self.streams += u64::from(next.is_some());
            self.place = next.map_or(Place::Outside, |level| Place::Inside(0, level));
            return Ok(Item::End(span));
        }
        let found = loop {
            if let Some(found) = find(input.bytes(), from) {
                break Some(found);
            }
            // The last eight bytes were not looked at wholly.
            from = from.max((input.bytes().len() * 8).saturating_sub(64));
            if from > BLOCK_BITS_MAX || !input.read()? {
                break None;
            }
        };
        let end = found.unwrap_or(input.bytes().len() * 8);
        let span = Span::of(input.bytes(), (bit, end), level_here);
        let is_cut = found.is_none() && from <= BLOCK_BITS_MAX;
        input.take(end / 8);
        if found.is_none() {
            input.take(input.bytes().len());
        }
        self.place = found.map_or(Place::Behind, |_| Place::Inside(end % 8, level_here));
        let span = Arc::new(if is_cut { span.cut() } else { span });
        Ok(Item::Block { span, is_submitted: false })
    }

    /// Returns what became of a block.
    fn done(&mut self, span: &Arc<Span>, is_submitted: bool) -> Done {
        let taken = if is_submitted { self.workers.take() } else { None };
        // Also where no thread could be started.
        taken.unwrap_or_else(|| self.workers.do_here(Arc::clone(span)))
    }

    /// Adds the data of the next part to the queue.
    fn go_on(&mut self, input: &mut Input) -> Result<(), DecodeError> {
        self.look_ahead(input);
        match self.items.pop_front() {
            Some(Item::Block { span, is_submitted }) => {
                let done = self.done(&span, is_submitted);
                // While the caller reads this one.
                self.look_ahead(input);
                match done {
                    (pieces, None) => self.add(span.check(), pieces),
                    failed => self.join(&span, failed, input)?,
                }
            }
            Some(Item::End(span)) if span.check() == self.check => self.check = 0,
            Some(Item::End(_)) => return Err(Damage::Format.into()),
            None if self.later.is_some() => return self.later.take().map_or(Ok(()), Err),
            None if self.place == Place::Behind => return Err(Damage::UnexpectedEnd.into()),
            None => {
                let streams = self.streams;
                self.in_order = Some(InOrder::new(Bzip2::new(streams)));
            }
        }
        Ok(())
    }

    fn add(&mut self, check: u32, pieces: Vec<Vec<u8>>) {
        self.check = self.check.rotate_left(1) ^ check;
        self.bytes += pieces.iter().map(|piece| piece.len() as u64).sum::<u64>();
        self.queue.add(pieces);
    }

    /// Decompresses a part that is no block together with those behind it, until they are one.
    fn join(&mut self, span: &Span, failed: Done, input: &mut Input) -> Result<(), DecodeError> {
        let (mut whole, mut failed) = (span.clone(), failed);
        let mut joined = 0;
        while !whole.is_cut() && whole.bits() <= BLOCK_BITS_MAX && joined < JOINED_MAX {
            joined += 1;
            self.look_ahead(input);
            let next = match self.items.pop_front() {
                Some(next) => next,
                // What was taken for the end of the stream may have been none.
                None if self.place == Place::Outside => self.part(input, (0, 0), whole.level())?,
                None => break,
            };
            if let Item::Block { is_submitted: true, .. } = next {
                let _no_block = self.workers.take();
            }
            whole.append(next.span());
            match whole.decode() {
                (pieces, None) => {
                    self.add(whole.check(), pieces);
                    return Ok(());
                }
                // A check sum is compared when all data of a block are there.
                other if whole.is_cut() || other.0.len() > failed.0.len() => failed = other,
                _ => {}
            }
        }
        let (pieces, damage) = failed;
        let is_cut = whole.is_cut() && damage == Some(Damage::UnexpectedEnd);
        self.bytes += pieces.iter().map(|piece| piece.len() as u64).sum::<u64>();
        self.queue.add(pieces);
        Err(if is_cut { Damage::UnexpectedEnd } else { Damage::Format }.into())
    }
}

impl Decode for Blocks {
    fn next(&mut self, input: &mut Input) -> Result<Option<Vec<u8>>, DecodeError> {
        while self.in_order.is_none() && self.queue.wants_more() {
            if let Err(error) = self.go_on(input) {
                self.queue.fail(error);
            }
        }
        match &mut self.in_order {
            Some(in_order) if self.queue.wants_more() => in_order.next(input),
            _ => self.queue.take(),
        }
    }

    fn summary(&self) -> Summary {
        let rest = self.in_order.as_ref().map(Decode::summary).unwrap_or_default();
        Summary { last_bytes: self.bytes + rest.last_bytes, ..rest }
    }
}

/// Returns the last byte of the header of a stream that begins `at` there, if a block or an end follows it.
fn level(input: &mut Input, at: usize) -> Result<Option<u8>, DecodeError> {
    if !input.fill(at + HEADER_BYTES + 8)? {
        return Ok(None);
    }
    let bytes = &input.bytes()[at..];
    let magic = word(bytes, HEADER_BYTES * 8);
    Ok(match bytes {
        [b'B', b'Z', b'h', level @ b'1'..=b'9', ..] if magic == BLOCK || magic == END => {
            Some(*level)
        }
        _ => None,
    })
}

/// Returns the 48 bits at a bit; 0 if there are none.
fn word(bytes: &[u8], bit: usize) -> u64 {
    let word = bytes.get(bit / 8..).and_then(|rest| rest.first_chunk());
    word.map_or(0, |word| u64::from_be_bytes(*word) << (bit % 8) >> (64 - MAGIC_BITS))
}
