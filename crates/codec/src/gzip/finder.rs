//! Finds points while a stream is decompressed in order.
//!
//! The inflater stops at the end of each block, but does not tell how many bits of the last byte it
//! has read. So a block that could be a point is tried: it is decompressed from each of the eight
//! bits where it may begin, and the point is the bit from which the same bytes come out.

use super::inflate::{StreamEnd, inflate, raw_inflate};
use super::point::{Place, Point, PointSink, Recent, lead};

/// Original bytes between two points at least: less than a worker makes of a segment.
const SPACING_BYTES: u64 = 3 << 20;

/// Original bytes that a trial compares, where the blocks have as many.
const TRIED_BYTES: usize = 64 << 10;

/// Original bytes that a trial compares at least.
const TRIED_BYTES_MIN: usize = 4 << 10;

/// Compressed bytes that a trial reads at most.
const TRIED_INPUT_BYTES: usize = 256 << 10;

/// The beginning of a block that may become a point.
struct Candidate {
    /// Bytes of the file before the block, the byte in which it may begin included.
    byte: u64,
    original_bytes: u64,
    window: Vec<u8>,
    /// That byte, and what was read behind it.
    input: Vec<u8>,
    output: Vec<u8>,
}

/// Follows a stream.
pub(super) struct Finder {
    sink: PointSink,
    /// Bytes of the file that were read.
    byte: u64,
    original_bytes: u64,
    member_bytes: u64,
    /// Original bytes before the last point.
    told: u64,
    last: u8,
    recent: Recent,
    candidate: Option<Candidate>,
    /// Where the next member begins, if one follows.
    member: Option<u64>,
}

impl Finder {
    pub(super) fn new(sink: PointSink) -> Finder {
        Finder {
            sink,
            byte: 0,
            original_bytes: 0,
            member_bytes: 0,
            told: 0,
            last: 0,
            recent: Recent::default(),
            candidate: None,
            member: None,
        }
    }

    fn is_due(&self) -> bool {
        self.original_bytes - self.told >= SPACING_BYTES
    }

    fn tell(&mut self, point: Point) {
        self.told = point.original_bytes;
        (self.sink)(point);
    }

    /// Takes note of bytes outside of blocks.
    pub(super) fn passed(&mut self, bytes: usize) {
        self.byte += bytes as u64;
    }

    /// Takes note of the end of a member, which is so many bytes ahead.
    pub(super) fn member_ends(&mut self, ahead: usize) {
        self.member = Some(self.byte + ahead as u64);
    }

    /// Takes note of a member whose header was read.
    pub(super) fn member_begins(&mut self) {
        self.member_bytes = 0;
        if let Some(byte) = self.member.take().filter(|_| self.is_due()) {
            let (bit, original_bytes) = (8 * byte, self.original_bytes);
            self.tell(Point { bit, original_bytes, place: Place::Member });
        }
    }

    /// Takes note of the end of the last block.
    pub(super) fn data_end(&mut self) {
        self.candidate = None;
    }

    /// Takes note of what the inflater read and made.
    pub(super) fn inflated(&mut self, read: &[u8], made: &[u8]) {
        self.byte += read.len() as u64;
        self.original_bytes += made.len() as u64;
        self.member_bytes += made.len() as u64;
        self.last = read.last().copied().unwrap_or(self.last);
        self.recent.add(made);
        let Some(candidate) = &mut self.candidate else { return };
        if candidate.add(read, made) {
            self.try_candidate();
        }
    }

    /// Takes note of the end of a block.
    pub(super) fn block_ends(&mut self) {
        match &self.candidate {
            Some(candidate) if candidate.output.len() >= TRIED_BYTES_MIN => self.try_candidate(),
            Some(_) => return,
            None => {}
        }
        if self.candidate.is_none() && self.is_due() {
            self.candidate = Some(Candidate {
                byte: self.byte,
                original_bytes: self.original_bytes,
                window: self.recent.last(self.member_bytes).to_vec(),
                input: vec![self.last],
                output: Vec::new(),
            });
        }
    }

    fn try_candidate(&mut self) {
        let Some(candidate) = self.candidate.take() else { return };
        if let Some(bit) = candidate.find() {
            let Candidate { original_bytes, window, .. } = candidate;
            self.tell(Point { bit, original_bytes, place: Place::Block(window) });
        }
    }
}

impl Candidate {
    /// Adds what was read and made, as much as a trial needs. Returns whether there is as much.
    fn add(&mut self, read: &[u8], made: &[u8]) -> bool {
        fn fill(all: &mut Vec<u8>, bytes: &[u8], most: usize) -> bool {
            let count = most.saturating_sub(all.len()).min(bytes.len());
            all.extend_from_slice(&bytes[..count]);
            all.len() >= most
        }
        let has_input = fill(&mut self.input, read, TRIED_INPUT_BYTES);
        fill(&mut self.output, made, TRIED_BYTES) || has_input
    }

    /// Returns the bit of the file where the block begins.
    fn find(&self) -> Option<u64> {
        if self.output.len() < TRIED_BYTES_MIN {
            return None;
        }
        // The inflater has read at least a bit of the last byte. A stored block also comes out if its
        // header is thought to begin a bit too early, so the last bit is tried first.
        let inside = (1..8).rev().map(|bits| (bits, 8 * (self.byte - 1) + u64::from(bits)));
        let mut all = std::iter::once((0, 8 * self.byte)).chain(inside);
        all.find(|(bits, _)| self.yields(*bits)).map(|(_, bit)| bit)
    }

    /// Tells whether a block that begins at this bit yields the bytes that were made.
    fn yields(&self, bits: u8) -> bool {
        let Some((first, rest)) = self.input.split_first() else { return false };
        let mut state = raw_inflate();
        if !self.window.is_empty() && state.set_dictionary(&self.window).is_err() {
            return false;
        }
        let lead = if bits == 0 { Vec::new() } else { lead(*first, bits) };
        let (mut output, mut made) = (vec![0; self.output.len()], 0);
        for input in [lead.as_slice(), rest] {
            let did = inflate(&mut state, input, &mut output[made..]);
            made += did.produced;
            if did.end == StreamEnd::Damaged {
                return false;
            }
        }
        made == output.len() && output == self.output
    }
}
