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
    /// Bytes that were searched for marks.
    #[cfg(test)]
    searched: std::cell::Cell<usize>,
}

impl Cutter {
    pub(super) fn new() -> Cutter {
        Cutter {
            mark: Finder::new(&MARK),
            member: Finder::new(&[0x1f, 0x8b, 8]),
            begin: Begin::Member,
            #[cfg(test)]
            searched: std::cell::Cell::new(0),
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
        let bytes = input.bytes()[..length].to_vec();
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
            let window = &bytes[..most];
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

    /// Finds the first member or mark from a place on. Little behind it is looked at: a stream of tiny
    /// members, or of marks, would be searched once for each of them.
    fn first(&self, window: &[u8], from: usize) -> Option<(usize, Begin)> {
        let mut from = from;
        loop {
            let rest = window.get(from..)?;
            let part = &rest[..rest.len().min(SEARCH_BYTES + HEADER_BYTES)];
            if let Some((at, begin)) = self.first_in(part) {
                return Some((from + at, begin));
            }
            if part.len() == rest.len() {
                return None;
            }
            // What is cut in two by the end of this part is found in the next.
            from += SEARCH_BYTES;
        }
    }

    fn first_in(&self, part: &[u8]) -> Option<(usize, Begin)> {
        let member = self.member_in(part);
        let until = member.map_or(part.len(), |at| (at + HEADER_BYTES).min(part.len()));
        let mark = self.mark_in(&part[..until]);
        match (mark, member) {
            // The mark counts if it ends before the header does, which is then within data, or behind it.
            (Some(end), Some(at)) if end < at + HEADER_BYTES => Some((end, Begin::Mark)),
            (_, Some(at)) => Some((at, Begin::Member)),
            (Some(end), None) => Some((end, Begin::Mark)),
            (None, None) => None,
        }
    }

    /// Finds the end of the first restart mark.
    fn mark_in(&self, bytes: &[u8]) -> Option<usize> {
        #[cfg(test)]
        self.searched.set(self.searched.get() + bytes.len());
        self.mark.find(bytes).map(|at| at + MARK.len())
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

/// Bytes of a header without optional fields, and at least those of a mark: RFC 1952, section 2.3.
const HEADER_BYTES: usize = 10;

/// Bytes that are searched at a time.
const SEARCH_BYTES: usize = 32 << 10;

/// Bytes that are read further while a segment is looked for.
const READ_AHEAD: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    /// A member of no bytes.
    const EMPTY: [u8; 20] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0];

    fn cut(bytes: Vec<u8>) -> (Vec<Segment>, usize) {
        let (mut input, mut cutter) = (Input::new(std::io::Cursor::new(bytes)), Cutter::new());
        let mut all = Vec::new();
        while let Some(segment) = cutter.next(&mut input, Look::ForBegins).unwrap() {
            all.push(segment);
        }
        (all, cutter.searched.get())
    }

    #[test]
    fn the_bytes_of_tiny_members_are_searched_once() {
        let bytes = EMPTY.repeat(10_000);
        let (segments, searched) = cut(bytes.clone());
        assert_eq!(segments.len(), 10_000_usize.div_ceil(MEMBERS_MAX));
        assert_eq!(segments.iter().flat_map(|it| it.bytes.clone()).collect::<Vec<_>>(), bytes);
        assert!(searched < 2 * bytes.len(), "{searched} of {}", bytes.len());
    }

    #[test]
    fn what_lies_across_parts_that_are_searched_is_found() {
        for (found, behind) in [(&EMPTY[..], 0), (&MARK, MARK.len())] {
            for shift in 0..=2 * HEADER_BYTES {
                let before = 1 + 3 * SEARCH_BYTES - HEADER_BYTES + shift;
                let (segments, _) = cut([&vec![7; before][..], found, &[7; 300]].concat());
                assert_eq!(segments[0].bytes.len(), before + behind, "{shift}");
            }
        }
    }

    #[test]
    fn what_begins_first_is_where_a_segment_ends() {
        let head = [&EMPTY[..10], &[7; MEMBER_BYTES_MIN]].concat();
        for (behind, length, next) in [
            ([&MARK[..], &EMPTY].concat(), MARK.len(), Begin::Mark),
            ([&EMPTY[..], &MARK].concat(), 0, Begin::Member),
            (MARK.to_vec(), MARK.len(), Begin::Mark),
            (vec![7; 100], 100, Begin::Anywhere),
        ] {
            let (segments, _) = cut([&head[..], &behind].concat());
            assert_eq!((segments[0].bytes.len(), segments[0].next), (head.len() + length, next));
        }
    }
}
