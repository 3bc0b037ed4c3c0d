//! The files of the tree that `verify` checks, and the digest of one of them.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use haul_io::digest::Algorithm;
use haul_io::retry::again;
use haul_manifest::Kind;
use haul_sys::data::{Advice, fadvise, read};
use haul_sys::fs::{CWD, OpenHow, openat};

/// Bytes of one read: they stay in the second-level cache until they are hashed.
pub(super) const READ_BYTES: usize = 256 << 10;

/// The files of a tree by their names: what each is, where it is, whether a line is about it.
pub(super) type Files = BTreeMap<Vec<u8>, (Kind, PathBuf, bool)>;

/// Reads a file from storage, as far as its pages can be dropped, and hashes it.
pub(super) fn digest(
    path: &Path,
    algorithm: &'static Algorithm,
    digest_bytes: usize,
    buffer: &mut [u8],
) -> Result<(Vec<u8>, u64), String> {
    let mut digest = algorithm.start_with(digest_bytes).ok_or_else(|| {
        format!("{} has no digests of {} digits", algorithm.name, digest_bytes * 2)
    })?;
    let told = |error: haul_sys::CallError| haul_sys::errno_text(error.errno);
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    let file: OwnedFd = openat(CWD, &name, OpenHow::READ).map_err(told)?;
    // What is read is evidence only if it comes from storage; where pages cannot be dropped (they
    // are dirty, or mapped), they are what the storage will get.
    let _dropped = fadvise(&file, 0, 0, Advice::DontNeed);
    let _ahead = fadvise(&file, 0, 0, Advice::Sequential);
    loop {
        match again(|| read(&file, &mut *buffer)).map_err(told)? {
            0 => break,
            bytes => digest.update(buffer.get(..bytes).unwrap_or(&[])),
        }
    }
    let bytes = digest.taken_bytes();
    Ok((digest.finish(), bytes))
}
