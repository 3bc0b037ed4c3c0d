//! Cuts a compressed stream into segments at points that the caller knows from an index.
//!
//! Nothing is believed: a segment between two points is accepted only if the one before ends in a
//! proved block boundary at the same bit and with the same window, see `decode.rs`. Points that are
//! in no order, too far apart or beyond the end only make more of the stream be read in order.

use std::iter::Peekable;

use super::point::{Place, Point, PointSource};
use super::segments::{Begin, PLAIN_BYTES, Segment};
use crate::error::DecodeError;
use crate::input::Input;

/// Bytes of a segment at most, whatever the points say.
const SEGMENT_BYTES_MAX: u64 = 6 << 20;

/// Cuts a stream.
pub(super) struct PointCutter {
    points: Peekable<PointSource>,
    /// Bytes of the stream before the next segment.
    at: u64,
    begin: Begin,
    window: Vec<u8>,
    /// Whether what follows is too long for a segment.
    is_plain: bool,
}

/// Where a segment ends.
struct Cut {
    bytes: usize,
    next: Begin,
    window: Vec<u8>,
}

impl PointCutter {
    pub(super) fn new(points: PointSource) -> PointCutter {
        PointCutter {
            points: points.peekable(),
            at: 0,
            begin: Begin::Member,
            window: Vec::new(),
            is_plain: false,
        }
    }

    /// Returns the next segment; `None` at the end. Blocks as the source does.
    pub(super) fn next(&mut self, input: &mut Input) -> Result<Option<Segment>, DecodeError> {
        let Cut { bytes, next, window } = self.cut(input)?;
        if bytes == 0 {
            return Ok(None);
        }
        let (segment, rest) = input.bytes().split_at_checked(bytes).unwrap_or((&[], &[]));
        let (bytes, after) = (segment.to_vec(), rest.first().copied().unwrap_or(0));
        input.take(bytes.len());
        self.at += bytes.len() as u64;
        let begin = std::mem::replace(&mut self.begin, next);
        let window = std::mem::replace(&mut self.window, window);
        Ok(Some(Segment { begin, next, bytes, window, after }))
    }

    fn cut(&mut self, input: &mut Input) -> Result<Cut, DecodeError> {
        while self.points.next_if(|point| point.bit / 8 <= self.at).is_some() {}
        let distance = self.points.peek().map(|point| point.bit / 8 - self.at);
        let is_near = distance.is_some_and(|distance| distance <= SEGMENT_BYTES_MAX);
        if is_near && let Some(Point { bit, place, .. }) = self.points.next() {
            let bytes = usize::try_from(bit / 8 - self.at).unwrap_or(usize::MAX);
            // The point's own byte is needed, too.
            if input.fill(bytes.saturating_add(1))? {
                let (next, window) = match place {
                    Place::Member => (Begin::Member, Vec::new()),
                    Place::Block(window) => (Begin::Point((bit % 8) as u8), window),
                };
                self.is_plain = false;
                return Ok(Cut { bytes, next, window });
            }
            return Ok(Cut { bytes: input.bytes().len(), next: Begin::End, window: Vec::new() });
        }
        let most = if self.is_plain { 1 } else { SEGMENT_BYTES_MAX as usize };
        if distance.is_none() && !input.fill(most)? {
            return Ok(Cut { bytes: input.bytes().len(), next: Begin::End, window: Vec::new() });
        }
        self.is_plain = true;
        input.fill(1)?;
        let bytes = input.bytes().len().min(PLAIN_BYTES);
        // A point that is far away stays where it is.
        let bytes = bytes.min(distance.map_or(bytes, |far| usize::try_from(far).unwrap_or(bytes)));
        Ok(Cut { bytes, next: Begin::Anywhere, window: Vec::new() })
    }
}
