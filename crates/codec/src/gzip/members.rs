//! The members of a gzip stream, in order: a state that takes bytes as they come.
//!
//! It can also begin at a restart mark or a [point](super::point), in the middle of a member whose
//! beginning another worker decompresses. Then check sum and length count from there on, and
//! [`Members::join`] completes and compares them when the bytes before are known.

use zlib_rs::{Inflate, InflateFlush};

use super::final_block;
use super::finder::Finder;
use super::header::{Header, MAGICS, OLDER, parse};
use super::inflate::{StreamEnd, inflate, inflate_until, raw_inflate};
use super::point::{Recent, lead, proof};
use crate::decoding::{Garbage, Trailing};
use crate::error::Damage;
use crate::piece::Pieces;

/// Bytes that the lengths of the codes for code lengths take, with what is before them.
const FIRST_BYTES: usize = 10;

/// Check sum and length behind the data of a member.
const TRAILER_BYTES: usize = 8;

/// Where in a member the next byte is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// In a header, or between two members, or where nothing but zeros came.
    Header(Vec<u8>),
    Body,
    /// Where a block begins at this bit of the next byte, as was proved.
    Point(u8),
    Trailer(Vec<u8>),
    /// In zeros behind the last member.
    Zeros,
    /// In other bytes behind the last member.
    Garbage,
}

/// A member that began before a point and ended behind it.
#[derive(Clone, Copy, Debug)]
struct Unverified {
    check: u32,
    bytes: u64,
    said: Said,
}

/// What a trailer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Said {
    check: u32,
    length: u32,
}

/// The state.
pub(super) struct Members {
    phase: Phase,
    state: Option<Inflate>,
    check: crc32fast::Hasher,
    bytes: u64,
    /// Members that have begun.
    pub(super) count: u64,
    /// The bytes before a point, to which a block may refer.
    window: Vec<u8>,
    /// Whether the current member began before the point where this state began.
    is_relative: bool,
    unverified: Option<Unverified>,
    /// The first bytes of the data of the current member.
    first: Vec<u8>,
    garbage: Garbage,
    /// Bytes behind the last member that are to be passed on.
    pub(super) rest: Vec<u8>,
    /// Check sum and length of the last member that ended and was compared.
    pub(super) last: Option<(u32, u64)>,
    /// Looks for points, where they are wanted.
    pub(super) finder: Option<Box<Finder>>,
}

impl Members {
    /// Begins before a member.
    pub(super) fn at_member(garbage: Garbage) -> Members {
        Members {
            garbage,
            rest: Vec::new(),
            phase: Phase::Header(Vec::new()),
            state: None,
            check: crc32fast::Hasher::new(),
            bytes: 0,
            count: 0,
            is_relative: false,
            unverified: None,
            first: Vec::new(),
            last: None,
            window: Vec::new(),
            finder: None,
        }
    }

    /// Begins where a block begins at this bit of the next byte, from 0 to 7. Behind a restart mark
    /// the window is empty.
    pub(super) fn at_point(garbage: Garbage, bits: u8, window: Vec<u8>) -> Members {
        let phase = Phase::Point(bits);
        Members { phase, window, is_relative: true, ..Members::at_member(garbage) }
    }

    /// Tells whether a member may begin here.
    pub(super) fn is_between_members(&self) -> bool {
        self.phase == Phase::Header(Vec::new())
    }

    /// Tells whether a block begins at this bit of the next byte, as was proved.
    pub(super) fn is_at_point(&self, bits: u8) -> bool {
        self.phase == Phase::Point(bits)
    }

    /// Sets the bytes to which a block may refer that begins here, where it was proved that one does.
    pub(super) fn set_window(&mut self, recent: &Recent) {
        if matches!(self.phase, Phase::Point(_)) {
            self.window = recent.last(self.bytes).to_vec();
        }
    }

    /// Returns how many original bytes the current member has so far.
    pub(super) fn member_bytes(&self) -> u64 {
        self.bytes
    }

    /// Tells whether only bytes follow that are ignored.
    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Garbage
    }

    /// Decompresses bytes until all are taken, or `most_bytes` were made. Returns how many were taken.
    pub(super) fn feed(
        &mut self,
        bytes: &[u8],
        most_bytes: usize,
        pieces: &mut Pieces,
    ) -> Result<usize, Damage> {
        let mut left = bytes;
        while !left.is_empty() && !self.is_over() && pieces.bytes() < most_bytes {
            let is_body = self.phase == Phase::Body;
            let taken = match &mut self.phase {
                Phase::Header(_) => self.header(left)?,
                Phase::Point(bits) => {
                    let bits = *bits;
                    self.resume(left, bits, pieces)?
                }
                Phase::Body => self.body(left, most_bytes, pieces)?,
                Phase::Trailer(_) => self.trailer(left)?,
                Phase::Zeros => self.zeros(left),
                Phase::Garbage => left.len(),
            };
            if let Some(finder) = self.finder.as_mut().filter(|_| !is_body) {
                finder.passed(taken);
            }
            left = &left[taken..];
        }
        Ok(bytes.len() - left.len())
    }

    fn begin_body(&mut self) {
        self.first.clear();
        match &mut self.state {
            Some(state) => state.reset(false),
            None => self.state = Some(raw_inflate()),
        }
    }

    /// Begins with the block that begins at this bit.
    fn resume(&mut self, bytes: &[u8], bits: u8, pieces: &mut Pieces) -> Result<usize, Damage> {
        self.phase = Phase::Body;
        self.begin_body();
        let window = std::mem::take(&mut self.window);
        if let Some(state) = self.state.as_mut().filter(|_| !window.is_empty()) {
            state.set_dictionary(&window).map_err(|_| Damage::Format)?;
        }
        let Some(first) = bytes.first().filter(|_| bits > 0) else { return Ok(0) };
        let lead = lead(*first, bits);
        let taken = self.body(&lead, usize::MAX, pieces)?;
        // What they say is about the lead.
        self.first = vec![0; FIRST_BYTES];
        if taken == lead.len() { Ok(1) } else { Err(Damage::Format) }
    }

    fn header(&mut self, bytes: &[u8]) -> Result<usize, Damage> {
        let Phase::Header(begun) = &mut self.phase else { return Ok(0) };
        let before = begun.len();
        let is_padding = self.count > 0 && self.garbage == Garbage::Ignore;
        if before == 0 && is_padding && bytes.first() == Some(&0) {
            self.phase = Phase::Zeros;
            return Ok(1);
        }
        // A header that is all here is read where it is.
        begun.extend_from_slice(if before == 0 { &[] } else { bytes });
        let view = if before == 0 { bytes } else { begun.as_slice() };
        let is_member = view.get(..2).map(|magic| MAGICS.iter().any(|known| known == magic));
        let header = match is_member {
            Some(true) => parse(view)?,
            Some(false) if self.count == 0 => return Err(Damage::UnknownFormat),
            Some(false) if matches!(view, [0x1f, second, ..] if OLDER.contains(second)) => {
                return Err(Damage::OtherFormat);
            }
            Some(false) => {
                if self.garbage == Garbage::Pass {
                    self.rest = view.to_vec();
                }
                self.phase = Phase::Garbage;
                return Ok(bytes.len());
            }
            None => None,
        };
        let Some(Header { bytes: length, doubt, .. }) = header else {
            if before == 0 {
                begun.extend_from_slice(bytes);
            }
            return Ok(bytes.len());
        };
        // The caller was told of the first header's.
        if let Some(doubt) = doubt.filter(|_| self.count > 0) {
            return Err(doubt);
        }
        self.count += 1;
        if let Some(finder) = &mut self.finder {
            finder.member_begins();
        }
        self.phase = Phase::Body;
        self.begin_body();
        self.check = crc32fast::Hasher::new();
        self.bytes = 0;
        Ok(usize::try_from(length).unwrap_or(usize::MAX).saturating_sub(before))
    }

    fn body(
        &mut self,
        bytes: &[u8],
        most_bytes: usize,
        pieces: &mut Pieces,
    ) -> Result<usize, Damage> {
        let Some(state) = &mut self.state else { return Err(Damage::Format) };
        let missing = FIRST_BYTES.saturating_sub(self.first.len());
        self.first.extend(bytes.iter().take(missing));
        let stop = self.finder.as_ref().map_or(InflateFlush::NoFlush, |_| InflateFlush::Block);
        let mut at = 0;
        while pieces.bytes() < most_bytes {
            let room = pieces.room();
            let left = &bytes[at..];
            let did = inflate_until(state, left, room, stop);
            let produced = did.produced.min(room.len());
            let made = &room[..produced];
            self.check.update(made);
            self.bytes += produced as u64;
            if let Some(finder) = &mut self.finder {
                finder.inflated(&left[..did.consumed], made);
            }
            let is_filled = produced == room.len();
            pieces.advance(produced);
            at += did.consumed;
            match (did.end, &mut self.finder) {
                (StreamEnd::Not, _) if is_filled => {}
                // Room and bytes that are left mean that a block has ended.
                (StreamEnd::Not, Some(finder)) if did.consumed < left.len() => finder.block_ends(),
                // Room that is left means that there is nothing more to read.
                (StreamEnd::Not, _) => break,
                (StreamEnd::Final, finder) => {
                    if let Some(finder) = finder {
                        finder.data_end();
                    }
                    self.phase = Phase::Trailer(Vec::with_capacity(TRAILER_BYTES));
                    break;
                }
                (StreamEnd::Damaged, _) => return Err(Damage::Format),
            }
        }
        Ok(at)
    }

    fn trailer(&mut self, bytes: &[u8]) -> Result<usize, Damage> {
        let Phase::Trailer(begun) = &mut self.phase else { return Ok(0) };
        let taken = (TRAILER_BYTES - begun.len()).min(bytes.len());
        begun.extend(bytes.iter().take(taken));
        let Ok([a, b, c, d, e, f, g, h]) = <[u8; TRAILER_BYTES]>::try_from(begun.as_slice()) else {
            return Ok(taken);
        };
        let said = Said {
            check: u32::from_le_bytes([a, b, c, d]),
            length: u32::from_le_bytes([e, f, g, h]),
        };
        let check = self.check.clone().finalize();
        if std::mem::take(&mut self.is_relative) {
            self.unverified = Some(Unverified { check, bytes: self.bytes, said });
        } else {
            self.ended(check, self.bytes, said)?;
        }
        self.phase = Phase::Header(Vec::new());
        if let Some(finder) = &mut self.finder {
            finder.member_ends(taken);
        }
        Ok(taken)
    }

    /// Compares what was counted with what the trailer says.
    fn ended(&mut self, check: u32, bytes: u64, said: Said) -> Result<(), Damage> {
        if check != said.check {
            return Err(Damage::Checksum);
        }
        if (bytes & 0xffff_ffff) as u32 != said.length {
            return Err(Damage::Length);
        }
        self.last = Some((check, bytes));
        Ok(())
    }

    fn zeros(&mut self, bytes: &[u8]) -> usize {
        if bytes.iter().any(|byte| *byte != 0) {
            self.phase = Phase::Garbage;
        }
        bytes.len()
    }

    /// Tells that no byte follows; returns what there was behind the last member.
    pub(super) fn end(&mut self) -> Result<Trailing, Damage> {
        if self.garbage == Garbage::Pass
            && self.count > 0
            && let Phase::Header(begun) = &mut self.phase
            && begun.len() == 1
        {
            self.rest = std::mem::take(begun);
        }
        // What has no code could not have gone on, whatever had followed.
        if self.phase == Phase::Body && final_block::has_no_code(&self.first) {
            return Err(Damage::Format);
        }
        match &self.phase {
            Phase::Header(begun) if begun.is_empty() && self.count > 0 => Ok(Trailing::Nothing),
            Phase::Zeros => Ok(Trailing::Zeros),
            Phase::Garbage => Ok(Trailing::Garbage),
            Phase::Header(_) | Phase::Body | Phase::Point(_) | Phase::Trailer(_) => {
                Err(Damage::UnexpectedEnd)
            }
        }
    }

    /// Proves that a block begins where all bytes were taken, at this bit of the next byte. The bits
    /// before may complete bytes of the block before. Returns `false` if none begins there; then this
    /// state can no longer be used.
    pub(super) fn prove_point(&mut self, next: u8, bits: u8, pieces: &mut Pieces) -> bool {
        let (before, proof) = (pieces.bytes(), proof(next, bits));
        let (first, rest) = proof.split_at(1);
        if self.phase != Phase::Body || self.body(first, usize::MAX, pieces) != Ok(1) {
            return false;
        }
        let has_made = pieces.bytes() > before;
        let (Phase::Body, Some(state)) = (&self.phase, &mut self.state) else { return false };
        // A byte would mean that this is no empty block.
        let mut room = [0];
        let did = inflate(state, rest, &mut room);
        self.phase = Phase::Point(bits);
        let is_end = did.end == StreamEnd::Final && did.consumed == rest.len();
        is_end && did.produced == 0 && !(bits == 0 && has_made)
    }

    /// Returns how many bytes the member has behind the point where this state began, if it ended and its
    /// check waits for the bytes before the point.
    pub(super) fn bytes_of_unverified(&self) -> Option<u64> {
        self.unverified.map(|unverified| unverified.bytes)
    }

    /// Continues with the state of a worker that began where this one ends. The caller has checked
    /// that this one is between members, or at a proved point, as that one was when it began.
    pub(super) fn join(&mut self, next: Members) -> Result<(), Damage> {
        let before = std::mem::replace(self, next);
        self.count += before.count;
        let behind = self.last.take();
        self.last = before.last;
        if let Some(unverified) = self.unverified.take() {
            let (check, bytes) = combined(&before, unverified.check, unverified.bytes);
            self.ended(check, bytes, unverified.said)?;
        } else if self.is_relative {
            let (check, bytes) = combined(&before, self.check.clone().finalize(), self.bytes);
            self.check = crc32fast::Hasher::new_with_initial_len(check, bytes);
            self.bytes = bytes;
            self.is_relative = before.is_relative;
        }
        self.last = behind.or(self.last);
        Ok(())
    }
}

/// Returns check sum and length of the bytes of a member before a point and behind it.
fn combined(before: &Members, check: u32, bytes: u64) -> (u32, u64) {
    let mut all = before.check.clone();
    all.combine(&crc32fast::Hasher::new_with_initial_len(check, bytes));
    (all.finalize(), before.bytes + bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the state before the trailer of a member that contains `abc`, and the trailer.
    fn before_trailer() -> (Members, [u8; TRAILER_BYTES]) {
        let member = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 3, 0, 0xfc, 0xff, b'a', b'b', b'c'];
        let (mut state, mut pieces) = (Members::at_member(Garbage::Ignore), Pieces::default());
        let taken = state.feed(&member, usize::MAX, &mut pieces);
        assert_eq!((taken, pieces.bytes()), (Ok(member.len()), 3));
        let [a, b, c, d] = crc32fast::hash(b"abc").to_le_bytes();
        (state, [a, b, c, d, 3, 0, 0, 0])
    }

    #[test]
    fn lengths_are_compared_modulo_4_gib() {
        for beyond in [0, 1 << 32, 3 << 32] {
            let (mut state, trailer) = before_trailer();
            // As if so many bytes, which do not change the check sum, had come before.
            state.bytes += beyond;
            assert_eq!(state.feed(&trailer, 1, &mut Pieces::default()), Ok(TRAILER_BYTES));
            assert_eq!(state.last.map(|(_, bytes)| bytes), Some(3 + beyond));
            assert_eq!(state.end(), Ok(Trailing::Nothing));
        }
        let (mut state, trailer) = before_trailer();
        state.bytes += 1 << 31;
        let fed = state.feed(&trailer, 1, &mut Pieces::default());
        assert_eq!(fed, Err(Damage::Length));
    }
}
