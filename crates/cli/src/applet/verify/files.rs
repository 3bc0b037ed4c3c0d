//! The files of the tree that `verify` checks, and the digest of one of them.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::os::fd::AsFd;

use haul_io::DataPolicy;
use haul_io::digest::Algorithm;
use haul_io::retry::again;
use haul_io::trail::SourceTrail;
use haul_sys::data::{Advice, fadvise, read};
use haul_sys::fs::{Kind, OpenHow, Wait, openat};

/// Bytes of one read: they stay in the second-level cache until they are hashed.
const READ_BYTES: usize = 256 << 10;

/// A file of the tree.
pub(super) struct File {
    pub(super) kind: Kind,
    /// Whether a line of the sums names it.
    pub(super) is_listed: bool,
}

/// The entries of a tree that are not directories, by their paths below it.
pub(super) type Files = BTreeMap<Vec<u8>, File>;

/// Reads files one after the other.
pub(super) struct Hasher<'p> {
    policy: &'p DataPolicy,
    buffer: Vec<u8>,
}

impl<'p> Hasher<'p> {
    /// Keeps the page cache as a policy says.
    pub(super) fn new(policy: &'p DataPolicy) -> Hasher<'p> {
        Hasher { policy, buffer: vec![0; READ_BYTES] }
    }

    /// Reads a file from storage, as far as its pages can be dropped, and hashes it. Follows no
    /// symbolic link.
    pub(super) fn digest(
        &mut self,
        directory: impl AsFd,
        name: &CStr,
        algorithm: &'static Algorithm,
        digest_bytes: usize,
    ) -> Result<(Vec<u8>, u64), String> {
        let mut digest = algorithm.start_with(digest_bytes).ok_or_else(|| {
            format!("{} has no digests of {} digits", algorithm.name, digest_bytes * 2)
        })?;
        let told = |error: haul_sys::CallError| haul_sys::errno_text(error.errno);
        // A FIFO that took the file's place would wait for a writer.
        let file =
            openat(directory, name, OpenHow { wait: Wait::No, ..OpenHow::READ }).map_err(told)?;
        let mut trail = SourceTrail::new(file.as_fd(), self.policy);
        // What is read is evidence only if it comes from storage; where pages cannot be dropped (they
        // are dirty, or mapped), they are what the storage will get.
        let _dropped = fadvise(&file, 0, 0, Advice::DontNeed);
        let _ahead = fadvise(&file, 0, 0, Advice::Sequential);
        loop {
            match again(|| read(&file, &mut self.buffer)).map_err(told)? {
                0 => break,
                bytes => {
                    trail.after_read_here(file.as_fd(), bytes as u64);
                    digest.update(&self.buffer[..bytes]);
                }
            }
        }
        trail.finish(file.as_fd());
        let bytes = digest.taken_bytes();
        Ok((digest.finish(), bytes))
    }
}
