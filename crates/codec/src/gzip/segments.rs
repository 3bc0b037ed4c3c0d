//! Cuts a compressed stream into segments where a worker may begin: before what looks like a member,
//! and behind what looks like a restart mark.
//!
//! Neither is known to be what it looks like: data may contain both by chance or on purpose. The
//! reader accepts what a worker made of a segment only if the segment before it ended in the right
//! state, see `decode.rs`.

use memchr::memmem::Finder;

use super::restart::MARK;
use crate::error::DecodeError;
use crate::input::Input;

/// What a segment begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// With what looks like a member.
    Member,
    /// Behind what looks like a restart mark.
    Mark,
    /// At this bit of its first byte, with a block, as an index says.
    Point(u8),
    /// Anywhere.
    Anywhere,
    /// Nowhere: nothing follows.
    End,
}

/// A part of the stream.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) begin: Begin,
    /// What the next one begins with.
    pub(super) next: Begin,
    pub(super) bytes: Vec<u8>,
    /// The bytes before a point, as an index says.
    pub(super) window: Vec<u8>,
    /// The first byte of the next segment, where that begins at a point.
    pub(super) after: u8,
}

/// Bytes of a segment at most: an incompressible block of the encoder and its mark fit in.
pub(super) const SEGMENT_BYTES_MAX: usize = (1 << 20) + (64 << 10);

/// Members that are one segment at most: 32 of BGZF are 2 MiB of data.
const MEMBERS_MAX: usize = 32;

/// Members smaller than this are one segment with those behind them.
const MEMBER_BYTES_MIN: usize = 64 << 10;

/// Bytes of a segment where no worker may begin: as much as is read at a time.
pub(super) const PLAIN_BYTES: usize = 256 << 10;

/// How a segment is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// For places where workers may begin.
    ForBegins,
    /// For nothing: one worker reads in order.
    InOrder,
}

/// Cuts a stream.
pub(super) struct Cutter {
    mark: Finder<'static>,
    member: Finder<'static>,
    begin: Begin,
}

impl Cutter {
    pub(super) fn new() -> Cutter {
        Cutter {
            mark: Finder::new(&MARK),
            member: Finder::new(&[0x1f, 0x8b, 8]),
            begin: Begin::Member,
        }
    }

    /// Returns the next segment; `None` at the end. Blocks as the source does.
    pub(super) fn next(
        &mut self,
        input: &mut Input,
        look: Look,
    ) -> Result<Option<Segment>, DecodeError> {
        let (length, next) = match look {
            Look::InOrder => {
                input.fill(1)?;
                (input.bytes().len().min(PLAIN_BYTES), Begin::Anywhere)
            }
            Look::ForBegins => self.find(input)?,
        };
        if length == 0 {
            return Ok(None);
        }
        let bytes = input.bytes().get(..length).unwrap_or(&[]).to_vec();
        input.take(length);
        let begin = std::mem::replace(&mut self.begin, next);
        Ok(Some(Segment { begin, next, bytes, window: Vec::new(), after: 0 }))
    }

    /// Returns where the segment ends, and what begins there.
    fn find(&self, input: &mut Input) -> Result<(usize, Begin), DecodeError> {
        // The first bytes of a segment are where it begins itself.
        let (mut from, mut members) = (1, 1);
        loop {
            let has_more = input.fill(from + READ_AHEAD)?;
            let bytes = input.bytes();
            let most = bytes.len().min(SEGMENT_BYTES_MAX);
            let window = bytes.get(..most).unwrap_or(bytes);
            while let Some((at, begin)) = self.first(window, from) {
                let is_small = at < MEMBER_BYTES_MIN && members < MEMBERS_MAX;
                if begin == Begin::Member && is_small {
                    (from, members) = (at + 1, members + 1);
                    continue;
                }
                return Ok((at, begin));
            }
            if !has_more {
                return Ok((most, Begin::Anywhere));
            }
            if most == SEGMENT_BYTES_MAX {
                return Ok((most, Begin::Anywhere));
            }
            // What is cut in two by the end of the window is found in the next.
            from = from.max(most.saturating_sub(MARK.len()));
        }
    }

    fn first(&self, window: &[u8], from: usize) -> Option<(usize, Begin)> {
        let rest = window.get(from..)?;
        let mark = self.mark.find(rest).map(|at| from + at + MARK.len());
        let rest = rest.get(..mark.map_or(rest.len(), |at| at - from)).unwrap_or(rest);
        let member = self.member_in(rest).map(|at| from + at);
        match (mark, member) {
            (_, Some(at)) => Some((at, Begin::Member)),
            (Some(at), None) => Some((at, Begin::Mark)),
            (None, None) => None,
        }
    }

    /// Finds what looks like the header of a member.
    fn member_in(&self, bytes: &[u8]) -> Option<usize> {
        self.member.find_iter(bytes).find(|at| {
            let field = |index: usize| bytes.get(at + index).copied();
            let is_plausible = |flags: u8, extra: u8, system: u8| {
                flags & 0xe0 == 0 && matches!(extra, 0 | 2 | 4) && (system <= 13 || system == 255)
            };
            match (field(3), field(8), field(9)) {
                (Some(flags), Some(extra), Some(system)) => is_plausible(flags, extra, system),
                _ => false,
            }
        })
    }
}

/// Bytes that are read further while a segment is looked for.
const READ_AHEAD: usize = 64 << 10;
