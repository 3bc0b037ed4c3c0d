//! The beginning of a journal: whether its header can be read, and which modes a journal may have.

use std::os::fd::OwnedFd;

use haul_io::fully::read_fully;
use haul_sys::CallError;

use super::header::{self, BEGINNING_BYTES, Flaw};

/// Bits that let others write.
pub(crate) const OTHERS_WRITE: u32 = 0o022;

pub(super) enum Unread {
    Flaw(Flaw),
    Call(CallError),
}

pub(super) fn read_header(fd: &OwnedFd) -> Result<header::Header, Unread> {
    let beginning = read_up_to(fd, BEGINNING_BYTES).map_err(Unread::Call)?;
    let length = header::length(&beginning).map_err(Unread::Flaw)?;
    let bytes = read_up_to(fd, length).map_err(Unread::Call)?;
    header::read(&bytes).map_err(Unread::Flaw)
}

fn read_up_to(fd: &OwnedFd, most: usize) -> haul_sys::Result<Vec<u8>> {
    let mut bytes = vec![0; most];
    let filled = read_fully(fd, &mut bytes, 0)?;
    bytes.truncate(filled);
    Ok(bytes)
}
