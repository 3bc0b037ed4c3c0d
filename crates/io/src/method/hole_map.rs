//! Where the data of a file with holes is, for callers that write such a map themselves.

use std::ops::Range;
use std::os::fd::BorrowedFd;

use haul_sys::Result;
use haul_sys::fs::Stat;

use crate::method::pair::Device;
use crate::system::quirk::HoleMap;
use crate::system::segment::{Map, Segments};

/// Returns the ranges of a file that have data, in order, or `None` if it has no holes or its file
/// system's map is not trusted. The description is that of the open file. Blocks.
pub fn data_ranges(file: BorrowedFd<'_>, stat: &Stat) -> Result<Option<Vec<Range<u64>>>> {
    if !has_hole_map(file, stat)? {
        return Ok(None);
    }
    let mut segments = Segments::new(Map::Ask, stat.size, stat.blocks * 512);
    let mut ranges: Vec<Range<u64>> = Vec::new();
    while let Some(range) = segments.next(file, u64::MAX)? {
        match ranges.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => ranges.push(range),
        }
    }
    let is_whole = matches!(&ranges[..], [only] if *only == (0..stat.size));
    Ok((!is_whole).then_some(ranges))
}

/// Returns whether a file may have holes, and its file system says truly where they are.
pub fn has_hole_map(file: BorrowedFd<'_>, stat: &Stat) -> Result<bool> {
    Ok(stat.may_have_holes() && Device::of(file)?.quirk.hole_map == HoleMap::Trusted)
}
