//! `sendfile` — moves bytes from a file's page cache into another descriptor:
//! <https://man7.org/linux/man-pages/man2/sendfile.2.html>
//!
//! It writes at the target's file offset, so only one worker at a time can use a target.

use std::os::fd::AsFd;

use crate::error::Named;
use crate::{Call, Result};

/// Moves up to `bytes` from an offset of the source to the target's position.
///
/// May move less; never more than 0x7ffff000 bytes. 0 is the source's end.
pub fn sendfile(source: impl AsFd, offset: u64, target: impl AsFd, bytes: usize) -> Result<usize> {
    let mut from = offset;
    rustix::fs::sendfile(target, source, Some(&mut from), bytes).named(Call::Sendfile)
}
