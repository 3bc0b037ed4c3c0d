//! Where the frames of a compressed archive end: always within a member.
//!
//! Each frame is complete in itself, and programs take the end of the data between two members for the end
//! of the archive, with or without blocks of zeros before it. So if a frame ended between two members, an archive
//! that was cut off there, because its writer was killed, would be read as a complete one.

use crate::format::{BLOCK_BYTES, Member};

const BLOCK: u64 = BLOCK_BYTES as u64;

/// Where a member is in an archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Offset of its first header.
    pub begin: u64,
    /// Offset of its data.
    pub data: u64,
    /// Offset behind its data and their padding.
    pub end: u64,
}

impl Extent {
    /// Returns the place of a member that is about to be written.
    #[must_use]
    pub const fn of(member: &Member) -> Extent {
        let end = member.data_offset + member.stored_bytes.next_multiple_of(BLOCK);
        Extent { begin: member.header_offset, data: member.data_offset, end }
    }

    /// Returns whether readers notice if the archive ends at this offset: behind the first block, whose text
    /// or data are missing then, or among the data. Between two headers of one member some do not.
    fn may_be_cut(&self, at: u64) -> bool {
        let is_behind_first = at == self.begin + BLOCK && at < self.end;
        at.is_multiple_of(BLOCK) && (is_behind_first || (self.data..self.end).contains(&at))
    }

    /// Returns the last offset up to this one at which the member may be cut.
    fn last_cut(&self, at: u64) -> Option<u64> {
        let block = at - at % BLOCK;
        let places = [block.min(self.end.saturating_sub(BLOCK)), self.begin + BLOCK];
        places.into_iter().find(|place| *place <= at && self.may_be_cut(*place))
    }
}

/// Decides where frames end. Offsets are those of the archive before compression.
#[derive(Debug)]
pub struct FrameEnds {
    /// Bytes of a frame at most: whole blocks.
    most: u64,
    /// Where the frame began.
    begin: u64,
    member: Extent,
    /// The last offset in the frame at which it may end.
    last: Option<u64>,
    /// Whether the frame ends as soon as it may, so that more of the member is in the next one.
    is_full_enough: bool,
}

impl FrameEnds {
    /// Makes frames of so many bytes at most. A frame that has no member which may be cut becomes larger.
    #[must_use]
    pub const fn new(most: u64) -> FrameEnds {
        let most = most - most % BLOCK;
        let member = Extent { begin: 0, data: 0, end: 0 };
        FrameEnds { most, begin: 0, member, last: None, is_full_enough: false }
    }

    /// Says that a member begins where the archive is now. A frame that is at least half full and cannot hold all of
    /// it ends behind its first block.
    pub fn begin_member(&mut self, member: Extent) {
        let filled = member.begin - self.begin;
        let fits = member.end - self.begin <= self.most;
        self.member = member;
        self.is_full_enough = filled >= self.most / 2 && !fits;
    }

    /// Returns how many bytes before this offset the frame ends, if it ends before more are written; the next
    /// one begins there.
    pub fn end_before(&mut self, at: u64) -> Option<u64> {
        let is_full = at - self.begin >= self.most;
        let end = if (is_full || self.is_full_enough) && self.member.may_be_cut(at) {
            at
        } else if is_full {
            self.last?
        } else {
            return None;
        };
        (self.begin, self.last, self.is_full_enough) = (end, None, false);
        Some(at - end)
    }

    /// Returns how many bytes may be written at this offset before [`FrameEnds::end_before`] is asked again.
    #[must_use]
    pub fn room(&self, at: u64) -> u64 {
        let to_block = BLOCK - at % BLOCK;
        let left = (self.begin + self.most).saturating_sub(at);
        let left = if left == 0 { to_block } else { left };
        if self.is_full_enough { left.min(to_block) } else { left }
    }

    /// Says that the archive was written up to this offset.
    pub fn advance(&mut self, at: u64) {
        let place = self.member.last_cut(at).filter(|place| *place > self.begin);
        self.last = place.or(self.last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns where frames end in an archive of members with so many blocks of headers and bytes of data,
    /// written in pieces.
    fn ends(most: u64, members: &[(u64, u64)], piece: u64) -> Vec<u64> {
        let mut ends = FrameEnds::new(most);
        let (mut at, mut found) = (0, Vec::new());
        for (blocks, bytes) in members {
            let data = at + blocks * BLOCK;
            let member = Extent { begin: at, data, end: data + bytes.next_multiple_of(BLOCK) };
            ends.begin_member(member);
            while at < member.end {
                found.extend(ends.end_before(at).map(|kept| at - kept));
                at += piece.min(member.end - at).min(ends.room(at));
                ends.advance(at);
            }
        }
        found
    }

    #[test]
    fn a_frame_ends_behind_the_first_block_of_what_does_not_fit() {
        let most = 100 * BLOCK;
        // Sixty blocks, and then one that would need fifty: behind its header.
        assert_eq!(ends(most, &[(1, 59 * BLOCK), (1, 49 * BLOCK)], 999), [61 * BLOCK]);
        // Less than half full: full frames.
        assert_eq!(ends(most, &[(1, 39 * BLOCK), (1, 99 * BLOCK)], 999), [100 * BLOCK]);
        assert_eq!(ends(most, &[(1, 250 * BLOCK)], 1 << 20), [100 * BLOCK, 200 * BLOCK]);
    }

    #[test]
    fn no_frame_ends_between_members_or_their_headers() {
        let most = 20 * BLOCK;
        let mut state = 1_u64;
        for round in 0..2000 {
            let mut draw = |below: u64| {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                (state >> 33) % below
            };
            let mut members = Vec::new();
            for _ in 0..40 {
                // Up to five in a row that cannot be cut.
                members.extend((0..draw(6)).map(|_| (1, 0)));
                members.push((1 + draw(4), draw(12 * BLOCK)));
                let last = members.last_mut().unwrap();
                last.1 += u64::from(*last == (1, 0));
            }
            let found = ends(most, &members, 1 + draw(3 * BLOCK));
            assert_eq!(found, ends(most, &members, 1 + draw(40 * BLOCK)), "{round}");
            let mut allowed = Vec::new();
            let mut at = 0;
            for (blocks, bytes) in members {
                let data = at + blocks * BLOCK;
                let end = data + bytes.next_multiple_of(BLOCK);
                allowed.extend(Some(at + BLOCK).filter(|first| *first < end));
                allowed.extend((data..end).step_by(512));
                at = end;
            }
            assert!(found.iter().all(|end| allowed.contains(end)), "{round}");
            let begins = std::iter::once(&0).chain(&found);
            assert!(begins.zip(&found).all(|(begin, end)| end - begin <= most), "{round}");
            assert!(at < most || !found.is_empty(), "{round}");
        }
    }

    #[test]
    fn what_cannot_be_cut_is_one_frame() {
        let members = [(1, 0); 50];
        assert!(ends(10 * BLOCK, &members, 700).is_empty());
        let cut = [&members[..], &[(2, 0), (1, 0)]].concat();
        assert_eq!(ends(10 * BLOCK, &cut, 700), [51 * BLOCK]);
    }
}
