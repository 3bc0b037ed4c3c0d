//! `prlimit` — how many descriptors this process may have, and how large its files:
//! <https://man7.org/linux/man-pages/man2/getrlimit.2.html>
//!
//! Not through rustix, whose `getrlimit` aborts if the call fails, as it may behind a filter of calls.

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::{Call, CallError, Errno, Result};

/// The soft limit on descriptors that the kernel gives the first process.
const NOFILE_DEFAULT: u64 = 1024;

/// What the kernel returns where there is no limit.
const UNLIMITED: u64 = u64::MAX;

/// Returns the soft and the hard limit of a resource.
fn limits(resource: i64) -> Result<[u64; 2]> {
    // As `struct rlimit64` of the kernel.
    let mut limits = [0_u64; 2];
    let no_new_limits = std::ptr::null::<u64>();
    // SAFETY: the kernel reads no new limits, and writes two numbers of 64 bits to `limits`, which lives until
    // the call is over.
    let answer = unsafe {
        libc::syscall(libc::SYS_prlimit64, 0, resource, no_new_limits, limits.as_mut_ptr())
    };
    if answer == 0 {
        return Ok(limits);
    }
    let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
    Err(CallError::new(Call::Prlimit, Errno::from_raw_os_error(errno)))
}

/// Returns the soft limit of a resource; `u64::MAX` where there is none, or it cannot be read.
fn soft_limit(resource: i64) -> u64 {
    limits(resource).map_or(UNLIMITED, |[soft, _]| soft)
}

/// Returns the soft limit on descriptors; `u64::MAX` where there is none, and 1024 if it cannot be read.
#[must_use]
pub fn nofile_limit() -> u64 {
    nofile_limits().0
}

/// Returns the soft and the hard limit on descriptors; `u64::MAX` where there is none, and 1024 for both if
/// they cannot be read.
#[must_use]
pub fn nofile_limits() -> (u64, u64) {
    let [soft, hard] =
        limits(i64::from(libc::RLIMIT_NOFILE)).unwrap_or([NOFILE_DEFAULT, NOFILE_DEFAULT]);
    (soft, hard)
}

/// Returns the soft limit on the processes and threads of this user; `u64::MAX` where there is none, or it
/// cannot be read.
#[must_use]
pub fn process_limit() -> u64 {
    soft_limit(i64::from(libc::RLIMIT_NPROC))
}

/// Returns the soft limit on address space in bytes; `u64::MAX` where there is none, or it cannot be read.
#[must_use]
pub fn address_space_limit() -> u64 {
    soft_limit(i64::from(libc::RLIMIT_AS))
}

/// Raises the soft limit on descriptors to the hard one, which needs no privilege, and returns the limit that
/// holds then: where it cannot be read or raised, as [`nofile_limit`].
pub fn raise_nofile_limit() -> u64 {
    let Ok([soft, hard]) = limits(i64::from(libc::RLIMIT_NOFILE)) else { return NOFILE_DEFAULT };
    let maximum = (hard != UNLIMITED).then_some(hard);
    let raise = || setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    if soft == hard || raise().is_ok() { hard } else { soft }
}

/// Returns the maximum file size in bytes; a write beyond it causes `SIGXFSZ`. `u64::MAX` where there is none,
/// or it cannot be read.
#[must_use]
pub fn file_size_limit() -> u64 {
    soft_limit(i64::from(libc::RLIMIT_FSIZE))
}
