//! Recognises what an interrupted copy has left, for `-u`.
//!
//! Each write sets the time of a file, so what a killed run or a power cut leaves is newer than its source, and by
//! its time alone `-u` would keep it for ever. No time that is set meanwhile lasts until the next write, and no
//! mark helps: another program may have been killed, and after a power cut a file may be empty that a run had
//! finished. So the bytes decide. A file that is shorter than its source, or padded to a whole block, and has none
//! but the source's bytes, or zeros in their place, is copied again: nothing is in it that the copy does not have.
//! (GNU cp keeps it.)
//! Attributes that a killed run had not set yet show nothing, so they stay: their user may have set them.

use std::os::fd::OwnedFd;

use haul_io::fully::read_fully;
use haul_sys::fs::{Follow, Kind, OpenHow, Stat, fstat, openat};
use haul_sys::{Call, CallError, Errno};

use crate::data::request::{Existing, Make, Policy};
use crate::decide::Taken;
use crate::names::at::{At, Sides};
use crate::names::timestamp_precision::is_older;

/// Number of bytes that are compared at once. The first block shows nearly all differences.
const COMPARED_BYTES: usize = 64 << 10;

/// Most bytes to a multiple of which the end of a file is padded with zeros, until it gets its size: a write past the page
/// cache has whole blocks, and the largest blocks of file systems have 64 KiB.
const PADDED_BYTES: u64 = 64 << 10;

/// Returns whether a taken name, which `-u` would keep, belongs to an incomplete copy of the source. Blocks
/// while it compares the bytes of a file that is newer than its source and has another size.
pub(crate) fn is_cut_short(
    sides: Sides<'_>,
    (source, follow): (&Stat, Follow),
    taken: &Taken,
    policy: &Policy,
) -> bool {
    let Some(target) = taken.reached() else { return false };
    policy.existing == Existing::Older
        && policy.make == Make::Copy
        && !is_older(target.mtime, source.mtime, taken.step_ns)
        && holds_nothing_else(sides, (source, follow), &target)
}

/// Returns whether both are files of different sizes, and the target has no byte that the source has not at the same
/// place. Blocks while it compares them.
pub(crate) fn holds_nothing_else(
    sides: Sides<'_>,
    (source, follow): (&Stat, Follow),
    target: &Stat,
) -> bool {
    (source.kind(), target.kind()) == (Kind::Regular, Kind::Regular)
        && target.size != source.size
        && target.size <= source.size.next_multiple_of(PADDED_BYTES)
        && has_only_bytes_of(sides, (source, follow), target).unwrap_or(false)
}

/// Returns whether a file has nothing but bytes of the source, and zeros in the place of others and behind them.
fn has_only_bytes_of(
    sides: Sides<'_>,
    (source, follow): (&Stat, Follow),
    target: &Stat,
) -> haul_sys::Result<bool> {
    let source = open(sides.source, follow, source)?;
    let target = open(sides.target, Follow::Yes, target)?;
    let [mut expected, mut found] = [vec![0; COMPARED_BYTES], vec![0; COMPARED_BYTES]];
    let mut offset = 0;
    loop {
        let length = read_fully(&target, &mut found, offset)?;
        if length == 0 {
            return Ok(true);
        }
        let wanted = read_fully(&source, &mut expected[..length], offset)?;
        expected[wanted..length].fill(0);
        let mut pairs = found[..length].iter().zip(&expected[..length]);
        if !pairs.all(|(found, expected)| *found == 0 || found == expected) {
            return Ok(false);
        }
        offset += length as u64;
    }
}

/// Opens a file that was described.
fn open(at: At<'_>, follow: Follow, described: &Stat) -> haul_sys::Result<OwnedFd> {
    let file = openat(at.directory, at.name, OpenHow::READ.following(follow))?;
    let is_same = fstat(&file)?.same_file(described);
    if is_same { Ok(file) } else { Err(CallError::new(Call::Openat, Errno::STALE)) }
}
