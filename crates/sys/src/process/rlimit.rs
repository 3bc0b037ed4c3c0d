//! `prlimit` — how many descriptors this process may have, and how large its files:
//! <https://man7.org/linux/man-pages/man2/getrlimit.2.html>

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::Named;
use crate::{Call, Result};

/// Returns the soft limit on descriptors; `u64::MAX` where there is none.
#[must_use]
pub fn nofile_limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Returns the soft and the hard limit on descriptors; `u64::MAX` where there is none.
#[must_use]
pub fn nofile_limits() -> (u64, u64) {
    let limit = getrlimit(Resource::Nofile);
    (limit.current.unwrap_or(u64::MAX), limit.maximum.unwrap_or(u64::MAX))
}

/// Returns the soft limit on the processes and threads of this user; `u64::MAX` where there is none.
#[must_use]
pub fn process_limit() -> u64 {
    getrlimit(Resource::Nproc).current.unwrap_or(u64::MAX)
}

/// Raises the soft limit on descriptors to the hard one, which needs no privilege, and returns it.
pub fn raise_nofile_limit() -> Result<u64> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })
            .named(Call::Prlimit)?;
    }
    Ok(limit.maximum.unwrap_or(u64::MAX))
}

/// Returns the maximum file size in bytes; a write beyond it causes `SIGXFSZ`.
#[must_use]
pub fn file_size_limit() -> u64 {
    getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX)
}
