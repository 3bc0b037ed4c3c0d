//! The 16-bit sums of the oldest `sum` programs: additions, not hashes; kept for what they verify.

use super::{Algorithm, Hasher, Length};

pub(super) const BSD: Algorithm = Algorithm {
    name: "bsd",
    tag: "BSD",
    program: "sum",
    prefix: "",
    bytes: 2,
    length: Length::Fixed,
    make: |_| Box::new(Bsd(0)),
};

pub(super) const SYSV: Algorithm = Algorithm {
    name: "sysv",
    tag: "SYSV",
    program: "sum",
    prefix: "",
    bytes: 2,
    length: Length::Fixed,
    make: |_| Box::new(SysV(0)),
};

/// Rotates right by one and adds.
#[derive(Clone)]
struct Bsd(u16);

impl Hasher for Bsd {
    fn update(&mut self, bytes: &[u8]) {
        let add = |sum: u16, byte: &u8| sum.rotate_right(1).wrapping_add(u16::from(*byte));
        self.0 = bytes.iter().fold(self.0, add);
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        self.0.to_be_bytes().to_vec()
    }
}

/// Adds in 32 bits and folds.
#[derive(Clone)]
struct SysV(u32);

impl Hasher for SysV {
    fn update(&mut self, bytes: &[u8]) {
        let add = |sum: u32, byte: &u8| sum.wrapping_add(u32::from(*byte));
        self.0 = bytes.iter().fold(self.0, add);
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        let folded = (self.0 & 0xffff) + (self.0 >> 16);
        let folded = (folded & 0xffff) + (folded >> 16);
        folded.to_be_bytes()[2..].to_vec()
    }
}
