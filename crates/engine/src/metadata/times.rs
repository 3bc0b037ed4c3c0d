//! Access and modification times, in nanoseconds.

use std::os::fd::BorrowedFd;

use haul_sys::fs::{Stat, futimens};

use super::{Lost, times_of};
use crate::data::error::What;
use crate::data::request::Keep;

/// Sets the source's times on the target.
pub(super) fn keep(target: BorrowedFd<'_>, stat: &Stat, keep: Keep) -> Option<Lost> {
    let error = futimens(target, times_of(stat)).err()?;
    Lost::by(keep, What::Times, error.errno)
}
