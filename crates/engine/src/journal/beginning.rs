//! The beginning and the end of a journal: whether its header can be read, which modes a journal may
//! have, and whether its run is complete.

use std::os::fd::OwnedFd;

use haul_io::fully::read_fully;
use haul_sys::CallError;
use haul_sys::fs::{Time, fstat};

use super::header::{self, BEGINNING_BYTES, Flaw};
use super::record::{self, FRAME_BYTES, TargetIdentity};
use super::scan::is_complete;
use super::sums::Sums;

/// File mode of a journal.
pub(super) const MODE: u32 = 0o600;

/// Bits that let others write.
pub(crate) const OTHERS_WRITE: u32 = 0o022;

pub(super) enum Unread {
    Flaw(Flaw),
    Call(CallError),
}

pub(super) fn read_header(fd: &OwnedFd) -> Result<header::Header, Unread> {
    let beginning = read_up_to(fd, BEGINNING_BYTES, 0).map_err(Unread::Call)?;
    let length = header::length(&beginning).map_err(Unread::Flaw)?;
    let bytes = read_up_to(fd, length, 0).map_err(Unread::Call)?;
    header::read(&bytes).map_err(Unread::Flaw)
}

/// Returns whether the run of a journal is complete, without reading the other records. A journal
/// that cannot be read counts as incomplete.
pub(super) fn is_of_complete_run(fd: &OwnedFd, header: &header::Header) -> bool {
    let any = TargetIdentity { ino: 0, birth: None };
    let length = FRAME_BYTES + record::complete(any, Time { seconds: 0, nanoseconds: 0 }).len();
    read_last(fd, header, length).is_some_and(|last| is_complete(&Sums::new(header.nonce), &last))
}

/// Returns the last bytes of a file, so many of them, if it has them behind its header.
pub(super) fn read_last(fd: &OwnedFd, header: &header::Header, length: usize) -> Option<Vec<u8>> {
    let offset = fstat(fd).ok()?.size.checked_sub(length as u64)?;
    if offset < header.bytes {
        return None;
    }
    read_up_to(fd, length, offset).ok()
}

fn read_up_to(fd: &OwnedFd, most: usize, offset: u64) -> haul_sys::Result<Vec<u8>> {
    let mut bytes = vec![0; most];
    let filled = read_fully(fd, &mut bytes, offset)?;
    bytes.truncate(filled);
    Ok(bytes)
}
