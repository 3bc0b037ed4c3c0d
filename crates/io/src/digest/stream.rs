//! A digest that is being taken: bytes go in by pieces, and the digest comes out once.

use std::fmt::{self, Write as _};

use super::Hasher;

/// Bytes of the largest holes that a digest is worth: the largest file of ext4 has 16 TiB, which take hours. A header of
/// an archive can claim half a million times as much.
pub const HOLES_MAX_BYTES: u64 = 16 << 40;

/// A digest of bytes that are still coming in.
pub struct Digest {
    hasher: Box<dyn Hasher>,
    taken_bytes: u64,
}

impl Digest {
    pub(super) fn new(hasher: Box<dyn Hasher>) -> Digest {
        Digest { hasher, taken_bytes: 0 }
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.taken_bytes += bytes.len() as u64;
        self.hasher.update(bytes);
    }

    /// Takes this many zeros, as a hole reads.
    pub fn update_zeros(&mut self, mut bytes: u64) {
        // As much as a hasher takes at full speed, and little enough to stay in the first cache.
        static ZEROS: [u8; 16 << 10] = [0; 16 << 10];
        while bytes > 0 {
            let piece = usize::try_from(bytes).unwrap_or(ZEROS.len()).min(ZEROS.len());
            self.update(&ZEROS[..piece]);
            bytes -= piece as u64;
        }
    }

    /// Takes zeros until so many bytes were taken in all: the hole that ends at this offset of a file.
    pub fn update_zeros_to(&mut self, end: u64) {
        self.update_zeros(end.saturating_sub(self.taken_bytes));
    }

    /// Returns how many bytes were taken so far.
    #[must_use]
    pub fn taken_bytes(&self) -> u64 {
        self.taken_bytes
    }

    /// Returns the digest.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.hasher.finish()
    }

    /// Returns the digest in hexadecimal digits.
    #[must_use]
    pub fn finish_hex(self) -> String {
        hex(&self.finish())
    }
}

impl Clone for Digest {
    fn clone(&self) -> Digest {
        Digest { hasher: self.hasher.fork(), taken_bytes: self.taken_bytes }
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({} bytes so far)", self.taken_bytes)
    }
}

/// Spells bytes as lower-case hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
