//! A file to be verified, and where the bytes come from when it is read again.

use std::os::fd::BorrowedFd;

use crate::digest::block_digests::BlockDigests;
use crate::system::quirk::Quirk;

/// Where the bytes came from that were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifiedFrom {
    /// From storage.
    Storage,
    /// From the page cache, at least in part.
    Cache,
}

/// A file to be verified. It has to be open for reading, and written back.
#[derive(Clone, Copy)]
pub struct Unverified<'a> {
    /// The file.
    pub fd: BorrowedFd<'a>,
    /// Its file system.
    pub quirk: &'static Quirk,
    /// The size that it ought to have, as its source tells it, see [`crate::verify::verification::source_bytes`].
    pub bytes: u64,
    /// What was read of its source.
    pub digests: &'a BlockDigests,
}
