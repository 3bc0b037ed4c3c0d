//! The members of a gzip stream, in order: a state that takes bytes as they come.
//!
//! It can also begin at a restart mark, in the middle of a member whose beginning another worker
//! decompresses. Then check sum and length count from the mark on, and [`Members::join`] completes
//! and compares them when the bytes before the mark are known.

use zlib_rs::{Inflate, InflateFlush, Status};

use super::final_block;
use super::header::{Header, MAGICS, OLDER, parse};
use super::restart::{END, SECOND_BYTES};
use crate::decoding::{Garbage, Trailing};
use crate::error::Damage;
use crate::piece::Pieces;

/// Bits of the window of deflate.
const WINDOW_BITS: u8 = 15;

/// Bytes that the lengths of the codes for code lengths take, with what is before them.
const FIRST_BYTES: usize = 10;

/// Check sum and length behind the data of a member.
const TRAILER_BYTES: usize = 8;

/// Makes the state of a deflate stream without a header of its own.
pub(crate) fn raw_inflate() -> Inflate {
    Inflate::new(false, WINDOW_BITS)
}

/// Whether a deflate stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    Not,
    Final,
    /// What follows is no deflate stream.
    Damaged,
}

/// What one call of [`inflate`] did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inflated {
    pub(crate) consumed: usize,
    pub(crate) produced: usize,
    pub(crate) end: StreamEnd,
}

/// Decompresses bytes into room.
pub(crate) fn inflate(state: &mut Inflate, bytes: &[u8], room: &mut [u8]) -> Inflated {
    let (before_in, before_out) = (state.total_in(), state.total_out());
    let status = state.decompress(bytes, room, InflateFlush::NoFlush);
    Inflated {
        consumed: usize::try_from(state.total_in() - before_in).unwrap_or(0),
        produced: usize::try_from(state.total_out() - before_out).unwrap_or(0),
        end: match status {
            Ok(Status::StreamEnd) => StreamEnd::Final,
            Ok(Status::Ok | Status::BufError) => StreamEnd::Not,
            Err(_) => StreamEnd::Damaged,
        },
    }
}

/// Where in a member the next byte is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// In a header, or between two members, or where nothing but zeros came.
    Header(Vec<u8>),
    Body,
    /// Behind a restart mark that is proved.
    Mark,
    Trailer(Vec<u8>),
    /// In zeros behind the last member.
    Zeros,
    /// In other bytes behind the last member.
    Garbage,
}

/// A member that began before a restart mark and ended behind it.
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
    /// Whether the current member began before the restart mark where this state began.
    is_relative: bool,
    unverified: Option<Unverified>,
    /// The first bytes of the data of the current member.
    first: Vec<u8>,
    garbage: Garbage,
    /// Bytes behind the last member that are to be passed on.
    pub(super) rest: Vec<u8>,
    /// Check sum and length of the last member that ended and was compared.
    pub(super) last: Option<(u32, u64)>,
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
        }
    }

    /// Begins behind a restart mark.
    pub(super) fn at_mark(garbage: Garbage) -> Members {
        Members { phase: Phase::Mark, is_relative: true, ..Members::at_member(garbage) }
    }

    /// Tells whether a member may begin here.
    pub(super) fn is_between_members(&self) -> bool {
        self.phase == Phase::Header(Vec::new())
    }

    /// Tells whether this is behind a restart mark that is proved.
    pub(super) fn is_at_mark(&self) -> bool {
        self.phase == Phase::Mark
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
            let taken = match &mut self.phase {
                Phase::Header(_) => self.header(left)?,
                Phase::Mark => {
                    self.phase = Phase::Body;
                    self.begin_body();
                    0
                }
                Phase::Body => self.body(left, most_bytes, pieces)?,
                Phase::Trailer(_) => self.trailer(left)?,
                Phase::Zeros => self.zeros(left),
                Phase::Garbage => left.len(),
            };
            left = left.get(taken..).unwrap_or(&[]);
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
        let mut at = 0;
        while pieces.bytes() < most_bytes {
            let room = pieces.room();
            let did = inflate(state, bytes.get(at..).unwrap_or(&[]), room);
            let produced = did.produced.min(room.len());
            self.check.update(room.get(..produced).unwrap_or(&[]));
            self.bytes += produced as u64;
            let is_filled = produced == room.len();
            pieces.advance(produced);
            at += did.consumed;
            match did.end {
                StreamEnd::Not if is_filled => {}
                // Room that is left means that there is nothing more to read.
                StreamEnd::Not => break,
                StreamEnd::Final => {
                    self.phase = Phase::Trailer(Vec::with_capacity(TRAILER_BYTES));
                    break;
                }
                StreamEnd::Damaged => return Err(Damage::Format),
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
            Phase::Header(_) | Phase::Body | Phase::Mark | Phase::Trailer(_) => {
                Err(Damage::UnexpectedEnd)
            }
        }
    }

    /// Takes the bytes before a restart mark, the first empty block of the mark included, and proves
    /// that the mark is one. Returns `false` if it is none; then this state can no longer be used.
    pub(super) fn prove_mark(&mut self) -> bool {
        let (Phase::Body, Some(state)) = (&self.phase, &mut self.state) else { return false };
        // A byte would mean that this is no empty block.
        let mut room = [0];
        let proof = inflate(state, &END, &mut room);
        self.phase = Phase::Mark;
        proof.end == StreamEnd::Final && proof.consumed == SECOND_BYTES && proof.produced == 0
    }

    /// Continues with the state of a worker that began where this one ends. The caller has checked
    /// that this one is between members, or at a proved mark, as that one was when it began.
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

/// Returns check sum and length of the bytes of a member before a mark and behind it.
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
