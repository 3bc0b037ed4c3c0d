//! Decompresses a gzip stream: in order, and, where segments allow it, several at once.
//!
//! Workers decompress segments from where they look as if one could begin there. What a worker made
//! is accepted only in order, and only if the state before agrees: a member begins where the one
//! before ended, and data continue behind a restart mark, or at a point of an index, that is proved;
//! at a point, the bytes before it must also be those that the index has. Everything else is
//! decompressed here, in order, from the state that is known. So what is returned is what a reader in
//! order would return, whatever the bytes look like, and each member's check sum and length are
//! compared as there.

use std::collections::VecDeque;
use std::sync::Arc;

use super::finder::Finder;
use super::members::Members;
use super::point::{Points, Recent};
use super::point_cutter::PointCutter;
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

/// The same of a segment between two points: those are 3 MiB apart, or as much further as the next
/// block is long, which zlib makes of 4 MiB at most.
const MOST_BYTES_TO_POINT: usize = 8 << 20;

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

/// Where segments begin.
enum Cuts {
    /// Where the bytes look like it.
    Found(Box<Cutter>, Look),
    /// At the points of an index.
    Known(Box<PointCutter>),
}

/// The reader of a stream.
pub(crate) struct Decode {
    jobs: usize,
    garbage: Garbage,
    cuts: Cuts,
    /// The last bytes that were returned.
    recent: Recent,
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
    pub(crate) fn new(plan: DecodePlan, points: Points) -> Decode {
        let DecodePlan { jobs, garbage, .. } = plan;
        let mut state = Members::at_member(garbage);
        let (jobs, cuts) = match points {
            Points::Ignore if jobs > 1 => {
                (jobs, Cuts::Found(Box::new(Cutter::new()), Look::ForBegins))
            }
            Points::Follow(points) if jobs > 1 => {
                (jobs, Cuts::Known(Box::new(PointCutter::new(points))))
            }
            Points::Ignore | Points::Follow(_) => {
                (1, Cuts::Found(Box::new(Cutter::new()), Look::InOrder))
            }
            Points::Find(sink) => {
                state.finder = Some(Box::new(Finder::new(sink)));
                (1, Cuts::Found(Box::new(Cutter::new()), Look::InOrder))
            }
        };
        Decode {
            jobs,
            garbage,
            cuts,
            recent: Recent::default(),
            workers: Ordered::new(
                jobs,
                Arc::new(move || Box::new(move |segment: Arc<Segment>| make(&segment, garbage))),
            ),
            pending: VecDeque::new(),
            state,
            current: None,
            queue: PieceQueue::default(),
            trailing: Trailing::Nothing,
            by_workers: 0,
        }
    }

    /// Reads segments and gives them to the workers.
    fn look_ahead(&mut self, input: &mut Input) -> Result<(), DecodeError> {
        let most = if self.jobs > 1 { self.workers.most() } else { 1 };
        while self.pending.len() < most && !self.state.is_over() {
            let next = match &mut self.cuts {
                Cuts::Found(cutter, look) => cutter.next(input, *look)?,
                Cuts::Known(cutter) => cutter.next(input)?,
            };
            let Some(segment) = next else { return Ok(()) };
            let segment = Arc::new(segment);
            // What is read in order proves no mark and no point.
            let can_join = match (segment.begin, self.pending.back()) {
                (Begin::Member, None) => self.state.is_between_members(),
                (Begin::Member, Some(_)) => true,
                (Begin::Mark, None) => self.state.is_at_point(0),
                (Begin::Point(bits), None) => self.state.is_at_point(bits),
                (Begin::Mark | Begin::Point(_), Some(before)) => before.is_submitted,
                (Begin::Anywhere | Begin::End, _) => false,
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
            Begin::Mark => self.state.is_at_point(0),
            Begin::Point(bits) => self.state.is_at_point(bits) && self.is_recent(&segment.window),
            Begin::Anywhere | Begin::End => false,
        };
        let made = done.flatten().filter(|_| agrees);
        let mut taken = 0;
        if let Some(mut made) = made {
            // Also where the member's check is wrong, the member's bytes precede the error. A worker that
            // began within the member could not compare it, and went on with the members behind it.
            let of_member = made.state.bytes_of_unverified();
            let joined = self.state.join(made.state);
            if let (Err(_), Some(bytes)) = (joined, of_member) {
                made.pieces.truncate(usize::try_from(bytes).unwrap_or(usize::MAX));
            }
            self.add(made.pieces);
            joined?;
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
        let left = &segment.bytes[*taken..];
        let mut pieces = Pieces::of_compressed(left.len());
        self.state.set_window(&self.recent);
        let fed = self.state.feed(left, STEP_BYTES, &mut pieces);
        if let Ok(fed) = &fed {
            *taken += fed;
        }
        let is_done = *taken >= segment.bytes.len() || self.state.is_over();
        self.add(pieces);
        fed?;
        if is_done {
            self.current = None;
        }
        Ok(())
    }
}

impl Decode {
    /// Adds what was made to what is returned.
    fn add(&mut self, pieces: Pieces) {
        let pieces = pieces.into_pieces();
        if self.jobs > 1 {
            pieces.iter().for_each(|piece| self.recent.add(piece));
        }
        self.queue.add(pieces);
    }

    /// Tells whether the current member has these bytes before the next one.
    fn is_recent(&self, window: &[u8]) -> bool {
        self.recent.last(self.state.member_bytes()).ends_with(window)
    }

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
    let (mut state, most_bytes) = match (segment.begin, segment.next) {
        (Begin::Member, Begin::Point(_)) => (Members::at_member(garbage), MOST_BYTES_TO_POINT),
        (Begin::Member, _) => (Members::at_member(garbage), MOST_BYTES),
        (Begin::Mark, _) => (Members::at_point(garbage, 0, Vec::new()), MOST_BYTES),
        (Begin::Point(bits), _) => {
            (Members::at_point(garbage, bits, segment.window.clone()), MOST_BYTES_TO_POINT)
        }
        (Begin::Anywhere | Begin::End, _) => return None,
    };
    let length = segment.bytes.len();
    // The second empty block of a mark gives way to the proof.
    let (before, proved) = match segment.next {
        Begin::Mark => (length.checked_sub(SECOND_BYTES)?, Some((0, 0))),
        Begin::Point(bits) => (length, Some((segment.after, bits))),
        Begin::Member | Begin::Anywhere | Begin::End => (length, None),
    };
    let mut pieces = Pieces::of_compressed(before);
    let bytes = segment.bytes.get(..before)?;
    let taken = state.feed(bytes, most_bytes, &mut pieces).ok()?;
    if taken < before || state.is_over() {
        return (taken < before).then_some(Made { state, pieces, taken });
    }
    if proved.is_some_and(|(after, bits)| !state.prove_point(after, bits, &mut pieces)) {
        return None;
    }
    Some(Made { state, pieces, taken: length })
}
