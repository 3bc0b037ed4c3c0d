//! The 32-bit CRCs of `cksum`: POSIX's, which takes the length in behind the bytes, and the one that
//! all other programs mean.

use crc_fast::CrcAlgorithm;

use super::{Algorithm, Hasher, Length};

pub(super) const CRC: Algorithm = Algorithm {
    name: "crc",
    tag: "CRC",
    program: "cksum",
    prefix: "",
    bytes: 4,
    length: Length::Fixed,
    make: |_| Box::new(Crc::new(CrcAlgorithm::Crc32Cksum, Behind::Length)),
};

pub(super) const CRC32B: Algorithm = Algorithm {
    name: "crc32b",
    tag: "CRC32B",
    program: "cksum",
    prefix: "",
    bytes: 4,
    length: Length::Fixed,
    make: |_| Box::new(Crc::new(CrcAlgorithm::Crc32IsoHdlc, Behind::Nothing)),
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Behind {
    Nothing,
    Length,
}

#[derive(Clone)]
struct Crc {
    digest: crc_fast::Digest,
    taken: u64,
    behind: Behind,
}

impl Crc {
    fn new(algorithm: CrcAlgorithm, behind: Behind) -> Crc {
        Crc { digest: crc_fast::Digest::new(algorithm), taken: 0, behind }
    }
}

impl Hasher for Crc {
    fn update(&mut self, bytes: &[u8]) {
        self.taken += bytes.len() as u64;
        self.digest.update(bytes);
    }

    fn finish(mut self: Box<Self>) -> Vec<u8> {
        if self.behind == Behind::Length {
            // The lowest byte first, and no more bytes than the number has.
            let used = (u64::BITS - self.taken.leading_zeros()).div_ceil(8) as usize;
            let length = self.taken.to_le_bytes();
            self.digest.update(&length[..used]);
        }
        // The upper half of the answer is empty.
        self.digest.finalize().to_be_bytes()[4..].to_vec()
    }
}
