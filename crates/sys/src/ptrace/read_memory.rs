//! `process_vm_readv` — reads another process's memory:
//! <https://man7.org/linux/man-pages/man2/process_vm_readv.2.html>

use super::{Tid, last};
use crate::{Call, Result};

/// Reads up to `buffer.len()` bytes at `address` of `tid`'s memory and returns how many it read.
///
/// The kernel stops at the first page that is not mapped, so a range should not cross a page
/// boundary needlessly. Fails with `EFAULT` if the first byte cannot be read.
pub fn read_memory(tid: Tid, address: u64, buffer: &mut [u8]) -> Result<usize> {
    let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let address = usize::try_from(address).unwrap_or(0);
    let remote =
        libc::iovec { iov_base: std::ptr::without_provenance_mut(address), iov_len: buffer.len() };
    // SAFETY: the kernel writes at most `buffer.len()` bytes to `buffer`, which is borrowed
    // exclusively; the remote vector is an address in another process and never dereferenced here.
    let read = unsafe { libc::process_vm_readv(tid, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(read).map_err(|_| last(Call::ProcessVmReadv))
}
