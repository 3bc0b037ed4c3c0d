//! Recognises the target of an interrupted copy, for `-u`.
//!
//! Each write sets the time of a file, so what a killed run leaves is newer than its source, and by its time
//! alone `-u` would keep it for ever. But it is shorter than the source, has no bytes but those of the source,
//! and shows that it was not written by a person who shortened it: zeros where another worker had not written
//! yet, or space that was reserved for the rest. A plain beginning of the source shows nothing: its user may
//! have removed the end, so it stays, as with GNU cp. (Under `--resume` and `--atomic` no doubt is possible.)

use std::os::fd::OwnedFd;

use haul_io::fully::read_fully;
use haul_sys::fs::{Follow, Kind, OpenHow, Stat, fstat, openat};
use haul_sys::{Call, CallError, Errno};

use super::at::{At, Sides};
use crate::data::request::{Existing, Make, Policy};
use crate::decide::Taken;
use crate::names::timestamp_precision::is_older;

/// Number of bytes that are compared at once. The first block shows nearly all differences.
const COMPARED_BYTES: usize = 64 << 10;

/// Returns whether a taken name, which `-u` would keep, belongs to an incomplete copy of the source. Blocks
/// while it compares the bytes of a file that is newer and shorter than its source.
pub(crate) fn is_cut_short(
    sides: Sides<'_>,
    (source, follow): (&Stat, Follow),
    taken: &Taken,
    policy: &Policy,
) -> bool {
    let Some(target) = taken.reached() else { return false };
    policy.existing == Existing::Older
        && policy.make == Make::Copy
        && (source.kind(), target.kind()) == (Kind::Regular, Kind::Regular)
        && target.size < source.size
        && !is_older(target.mtime, source.mtime, taken.step_ns)
        && has_only_bytes_of(sides, (source, follow), &target).unwrap_or(false)
}

/// Space behind the end of a file that only a program reserves which knows how long the file will be.
const RESERVED_BYTES: u64 = 1 << 20;

/// Returns whether a file has nothing but bytes of the source, and zeros in the place of others or space for
/// them.
fn has_only_bytes_of(
    sides: Sides<'_>,
    (source, follow): (&Stat, Follow),
    target: &Stat,
) -> haul_sys::Result<bool> {
    let source = open(sides.source, follow, source)?;
    let is_reserved = target.allocated_bytes() >= target.size + RESERVED_BYTES;
    let target = open(sides.target, Follow::Yes, target)?;
    let (mut has_bytes, mut has_gap) = (false, false);
    let [mut expected, mut found] = [vec![0; COMPARED_BYTES], vec![0; COMPARED_BYTES]];
    let mut offset = 0;
    loop {
        let length = read_fully(&target, &mut found, offset)?;
        if length == 0 {
            return Ok(has_bytes && (has_gap || is_reserved));
        }
        let wanted = read_fully(&source, &mut expected[..length], offset)?;
        let mut is_alike = wanted == length;
        for (found, expected) in found[..length].iter().zip(&expected[..wanted]) {
            is_alike &= *found == 0 || found == expected;
            has_bytes |= *found != 0;
            has_gap |= *found == 0 && *expected != 0;
        }
        if !is_alike {
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
