//! Decompresses a gzip stream: in order, and, where segments allow it, several at once.
//!
//! Workers decompress segments from where they look as if one could begin there. What a worker made
//! is accepted only in order, and only if the state before agrees: a member begins where the one
//! before ended, and data continue behind a restart mark that is proved. Everything else is
//! decompressed here, in order, from the state that is known. So what is returned is what a reader in
//! order would return, whatever the bytes look like, and each member's check sum and length are
//! compared as there.

use std::collections::VecDeque;
use std::sync::Arc;

use super::members::Members;
use super::restart::SECOND_BYTES;
use super::segments::{Begin, Cutter, Look, Segment};
use crate::decoding::{Decode as Decoding, DecodePlan, Garbage, Summary, Trailing};
use crate::error::{Damage, DecodeError};
use crate::input::Input;
use crate::ordered::Ordered;
use crate::piece::Pieces;
use crate::piece_queue::PieceQueue;

/// Bytes that a worker makes of one segment at most; what is left is done in order. Four blocks of
/// our encoder.
const MOST_BYTES: usize = 4 << 20;

/// Bytes that are made in order at a time.
const STEP_BYTES: usize = 1 << 20;

/// What a worker made of a segment.
struct Made {
    state: Members,
    pieces: Pieces,
    /// Bytes of the segment that were taken.
    taken: usize,
}

/// A segment in flight.
struct Pending {
    segment: Arc<Segment>,
    is_submitted: bool,
}

/// The reader of a stream.
pub(crate) struct Decode {
    jobs: usize,
    garbage: Garbage,
    cutter: Cutter,
    workers: Ordered<Arc<Segment>, Option<Made>>,
    pending: VecDeque<Pending>,
    /// The state behind what was returned.
    state: Members,
    /// A segment that is decompressed in order, and how far.
    current: Option<(Arc<Segment>, usize)>,
    queue: PieceQueue,
    trailing: Trailing,
    by_workers: u64,
}

impl Decode {
    pub(crate) fn new(plan: DecodePlan) -> Decode {
        let DecodePlan { jobs, garbage } = plan;
        Decode {
            jobs,
            garbage,
            cutter: Cutter::new(),
            workers: Ordered::new(
                jobs,
                Arc::new(move || Box::new(move |segment: Arc<Segment>| make(&segment, garbage))),
            ),
            pending: VecDeque::new(),
            state: Members::at_member(garbage),
            current: None,
            queue: PieceQueue::default(),
            trailing: Trailing::Nothing,
            by_workers: 0,
        }
    }

    /// Reads segments and gives them to the workers.
    fn look_ahead(&mut self, input: &mut Input) -> Result<(), DecodeError> {
        let look = if self.jobs > 1 { Look::ForBegins } else { Look::InOrder };
        let most = if self.jobs > 1 { self.workers.most() } else { 1 };
        while self.pending.len() < most && !self.state.is_over() {
            let Some(segment) = self.cutter.next(input, look)? else { return Ok(()) };
            let segment = Arc::new(segment);
            // What is read in order proves no mark.
            let can_join = match (segment.begin, self.pending.back()) {
                (Begin::Member, None) => self.state.is_between_members(),
                (Begin::Member, Some(_)) => true,
                (Begin::Mark, None) => self.state.is_at_mark(),
                (Begin::Mark, Some(before)) => before.is_submitted,
                (Begin::Anywhere, _) => false,
            };
            let is_whole = segment.next != Begin::Anywhere;
            let is_submitted = self.jobs > 1 && can_join && is_whole;
            if is_submitted {
                self.workers.submit(Arc::clone(&segment));
            }
            self.pending.push_back(Pending { segment, is_submitted });
        }
        Ok(())
    }

    /// Takes the oldest segment. Returns `false` where there is none.
    fn accept(&mut self) -> Result<bool, Damage> {
        let Some(Pending { segment, is_submitted }) = self.pending.pop_front() else {
            return Ok(false);
        };
        let done = if is_submitted { self.workers.take() } else { None };
        let agrees = match segment.begin {
            Begin::Member => self.state.is_between_members(),
            Begin::Mark => self.state.is_at_mark(),
            Begin::Anywhere => false,
        };
        let made = done.flatten().filter(|_| agrees);
        let mut taken = 0;
        if let Some(made) = made {
            self.queue.add(made.pieces.into_pieces());
            self.state.join(made.state)?;
            taken = made.taken;
            self.by_workers += 1;
        }
        if taken < segment.bytes.len() {
            self.current = Some((segment, taken));
        }
        Ok(true)
    }

    /// Decompresses a part of the current segment.
    fn step(&mut self) -> Result<(), Damage> {
        let Some((segment, taken)) = &mut self.current else { return Ok(()) };
        let left = segment.bytes.get(*taken..).unwrap_or(&[]);
        let mut pieces = Pieces::default();
        let fed = self.state.feed(left, STEP_BYTES, &mut pieces);
        self.queue.add(pieces.into_pieces());
        *taken += fed?;
        if *taken >= segment.bytes.len() || self.state.is_over() {
            self.current = None;
        }
        Ok(())
    }
}

impl Decode {
    /// Goes on until there are pieces, or the end.
    fn go_on(&mut self, input: &mut Input) -> Result<(), DecodeError> {
        while self.queue.wants_more() {
            if self.current.is_some() {
                self.step()?;
                continue;
            }
            if !self.state.is_over() {
                self.look_ahead(input)?;
                if self.accept()? {
                    continue;
                }
            }
            if self.garbage == Garbage::Pass && self.pass_rest(input)? {
                continue;
            }
            self.queue.end();
            let trailing = self.state.end()?;
            if self.garbage == Garbage::Ignore {
                self.trailing = trailing;
            }
        }
        Ok(())
    }

    /// Passes on what is behind the last member. Returns `false` where there is nothing left.
    fn pass_rest(&mut self, input: &mut Input) -> Result<bool, DecodeError> {
        // A single byte shows at the end that it is no member.
        let is_over = self.state.is_over() || self.state.end().is_ok();
        let mut rest = std::mem::take(&mut self.state.rest);
        if is_over && rest.is_empty() {
            rest = match self.pending.pop_front() {
                Some(pending) => pending.segment.bytes.clone(),
                None => {
                    input.read()?;
                    let rest = input.bytes().to_vec();
                    input.take(rest.len());
                    rest
                }
            };
        }
        let has_rest = !rest.is_empty();
        self.queue.add(Some(rest).filter(|_| has_rest));
        Ok(has_rest)
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
        let (check, bytes) = self.state.last.unwrap_or((0, 0));
        Summary {
            members: self.state.count,
            last_bytes: bytes,
            check: Some(check),
            trailing: self.trailing,
            by_workers: self.by_workers,
            ..Summary::default()
        }
    }
}

/// Decompresses a segment from its beginning; `None` where its bytes are no valid data from there on,
/// which the reader in order then finds, too, or finds to be wrong.
fn make(segment: &Segment, garbage: Garbage) -> Option<Made> {
    let mut state = match segment.begin {
        Begin::Member => Members::at_member(garbage),
        Begin::Mark => Members::at_mark(garbage),
        Begin::Anywhere => return None,
    };
    let length = segment.bytes.len();
    let has_mark = segment.next == Begin::Mark;
    let before_mark = if has_mark { length.checked_sub(SECOND_BYTES)? } else { length };
    let mut pieces = Pieces::default();
    let bytes = segment.bytes.get(..before_mark)?;
    let taken = state.feed(bytes, MOST_BYTES, &mut pieces).ok()?;
    if taken < before_mark || state.is_over() {
        return (taken < before_mark).then_some(Made { state, pieces, taken });
    }
    if has_mark && !state.prove_mark() {
        return None;
    }
    Some(Made { state, pieces, taken: length })
}
