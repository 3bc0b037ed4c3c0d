//! Block digests: they remember in short what was read from a source, so that the target can be held
//! against it later.
//!
//! Each request's bytes are hashed between being read and being written, in whatever order workers
//! move them; so block digests know not only whether a target differs but where. One digest of all
//! bytes needs them in order, which is what a sum file wants where nothing is read a second time.

use haul_sys::sync::Mutex;

use crate::digest::{Algorithm, Digest};

/// What is remembered of a request's digest. Longer ones are cut: 256 bits are beyond any accident
/// and any forger.
const KEPT_BYTES: usize = 32;

/// Bytes that were read and written, in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where they begin.
    pub offset: u64,
    /// How many there are.
    pub bytes: u64,
    digest: [u8; KEPT_BYTES],
}

impl Piece {
    /// Makes a piece of what was recorded of it: the digest may be shorter than what is kept.
    #[must_use]
    pub fn new(offset: u64, bytes: u64, digest: &[u8]) -> Piece {
        let mut kept = [0; KEPT_BYTES];
        for (to, from) in kept.iter_mut().zip(digest) {
            *to = *from;
        }
        Piece { offset, bytes, digest: kept }
    }

    /// Returns what is kept of the digest; behind a shorter one there are zeros.
    #[must_use]
    pub const fn digest(&self) -> &[u8] {
        &self.digest
    }

    /// Tells whether bytes with this digest are the same.
    pub(crate) fn is(&self, digest: Digest) -> bool {
        self.digest == cut(digest)
    }
}

/// What is remembered of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remember {
    /// A digest of each request.
    Pieces,
    /// One digest of all bytes, which therefore have to come in order.
    Whole,
}

#[derive(Debug)]
enum Memory {
    Pieces(Vec<Piece>),
    Whole(Digest),
}

/// Remembers what was read of one file.
#[derive(Debug)]
pub struct BlockDigests {
    /// The algorithm.
    pub algorithm: &'static Algorithm,
    memory: Mutex<Memory>,
}

/// The digests of bytes that are about to be written.
pub(crate) struct BlockHash(Option<[u8; KEPT_BYTES]>);

impl BlockDigests {
    /// Makes digests of nothing yet.
    #[must_use]
    pub fn new(algorithm: &'static Algorithm, remember: Remember) -> BlockDigests {
        let memory = match remember {
            Remember::Pieces => Memory::Pieces(Vec::new()),
            Remember::Whole => Memory::Whole(algorithm.start()),
        };
        BlockDigests { algorithm, memory: Mutex::new(memory) }
    }

    /// Tells whether the bytes have to come in order.
    #[must_use]
    pub fn needs_order(&self) -> bool {
        matches!(*self.memory.lock(), Memory::Whole(_))
    }

    /// Forgets everything, for the file is copied again.
    pub fn forget(&self) {
        let mut memory = self.memory.lock();
        *memory = match *memory {
            Memory::Pieces(_) => Memory::Pieces(Vec::new()),
            Memory::Whole(_) => Memory::Whole(self.algorithm.start()),
        };
    }

    /// Looks at bytes that were read, before they are written.
    pub(crate) fn hash(&self, bytes: &[u8]) -> BlockHash {
        if self.needs_order() {
            return BlockHash(None);
        }
        let mut digest = self.algorithm.start();
        digest.update(bytes);
        BlockHash(Some(cut(digest)))
    }

    /// Records bytes that were looked at and of which these first ones arrived.
    pub(crate) fn record(&self, offset: u64, bytes: &[u8], arrived: u64, hash: BlockHash) {
        let whole = arrived == bytes.len() as u64;
        let arrived_bytes = &bytes[..usize::try_from(arrived).unwrap_or(usize::MAX)];
        if arrived == 0 {
            return;
        }
        let hash = if whole { hash } else { self.hash(arrived_bytes) };
        match (&mut *self.memory.lock(), hash.0) {
            (Memory::Pieces(pieces), Some(digest)) => {
                pieces.push(Piece { offset, bytes: arrived, digest });
            }
            (Memory::Whole(digest), _) => {
                digest.update_zeros(offset.saturating_sub(digest.taken_bytes()));
                digest.update(arrived_bytes);
            }
            (Memory::Pieces(_), None) => {}
        }
    }

    /// Returns the pieces that were recorded after the first so many, as they came.
    #[must_use]
    pub fn pieces_since(&self, first: usize) -> Vec<Piece> {
        match &*self.memory.lock() {
            // After the pieces were forgotten there may be fewer.
            Memory::Pieces(pieces) => pieces[first.min(pieces.len())..].to_vec(),
            Memory::Whole(_) => Vec::new(),
        }
    }

    /// Returns where the last of the pieces ends.
    pub(crate) fn end(&self) -> u64 {
        match &*self.memory.lock() {
            Memory::Pieces(pieces) => {
                pieces.iter().map(|piece| piece.offset + piece.bytes).max().unwrap_or(0)
            }
            Memory::Whole(_) => 0,
        }
    }

    /// Returns the pieces that were recorded, and forgets them.
    #[must_use]
    pub fn take_pieces(&self) -> Vec<Piece> {
        match &mut *self.memory.lock() {
            Memory::Pieces(pieces) => std::mem::take(pieces),
            Memory::Whole(_) => Vec::new(),
        }
    }

    /// Records pieces that were looked at by an earlier run.
    pub fn learn(&self, earlier: &[Piece]) {
        if let Memory::Pieces(pieces) = &mut *self.memory.lock() {
            pieces.extend_from_slice(earlier);
        }
    }

    /// Returns the pieces in the file's order.
    #[must_use]
    pub fn pieces(&self) -> Vec<Piece> {
        match &*self.memory.lock() {
            Memory::Pieces(pieces) => {
                let mut pieces = pieces.clone();
                pieces.sort_unstable_by_key(|piece| piece.offset);
                pieces
            }
            Memory::Whole(_) => Vec::new(),
        }
    }

    /// Returns the digest of all bytes of a file of this size, if it was taken.
    #[must_use]
    pub fn whole(&self, file_bytes: u64) -> Option<Vec<u8>> {
        let mut memory = self.memory.lock();
        let Memory::Whole(digest) = &mut *memory else { return None };
        digest.update_zeros(file_bytes.saturating_sub(digest.taken_bytes()));
        let digest = std::mem::replace(digest, self.algorithm.start());
        Some(digest.finish())
    }
}

fn cut(digest: Digest) -> [u8; KEPT_BYTES] {
    let digest = digest.finish();
    let mut kept = [0; KEPT_BYTES];
    for (to, from) in kept.iter_mut().zip(digest) {
        *to = from;
    }
    kept
}
