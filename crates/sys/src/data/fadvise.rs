//! `posix_fadvise` — tells the kernel how a file will be used:
//! <https://man7.org/linux/man-pages/man2/posix_fadvise.2.html>

use std::num::NonZeroU64;
use std::os::fd::AsFd;

use crate::error::Named;
use crate::{Call, Result};

/// The expected use of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// It will be read sequentially: the kernel doubles its readahead.
    Sequential,
    /// It will be read in no order: the kernel reads what is asked for and nothing ahead of it.
    Random,
    /// It will not be needed again: the kernel drops its clean pages from the cache.
    DontNeed,
}

/// Gives advice on a range; a length of 0 means up to the end.
pub fn fadvise(fd: impl AsFd, offset: u64, bytes: u64, advice: Advice) -> Result<()> {
    let advice = match advice {
        Advice::Sequential => rustix::fs::Advice::Sequential,
        Advice::Random => rustix::fs::Advice::Random,
        Advice::DontNeed => rustix::fs::Advice::DontNeed,
    };
    rustix::fs::fadvise(fd, offset, NonZeroU64::new(bytes), advice).named(Call::Fadvise)
}
