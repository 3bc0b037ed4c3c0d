//! Reads and checks the regions of sparse files: what of a map is refused.

use super::extent::BYTES_MAX;
use super::header::{BLOCK_BYTES, Block, bytes, field};
use super::member::Region;
use super::number::parse_unsigned;
use super::refusal::Refusal;

/// Reads the regions of one block of a map. Only the last block may have room, or be wrong: GNU tar reads no further
/// block behind an empty entry, so that it and other readers would find the next header in different places.
pub(super) fn part_of_map(
    map: &[u8],
    more: bool,
    regions: &mut Vec<Region>,
) -> Result<(), Refusal> {
    let before = regions.len();
    let read = old_regions(map, regions);
    if more && (read.is_err() || regions.len() - before < map.len() / 24) {
        return Err(Refusal::SparseEnd);
    }
    read
}

/// Returns the regions in a header of star, and whether a block with more follows. Old versions put four there; later ones
/// have all regions in the blocks behind the header.
pub(super) fn map_of_star(block: &Block) -> (Vec<Region>, bool) {
    let mut regions = Vec::new();
    let map = bytes(block, field::STAR_SPARSE);
    let is_in_header = block[field::PREFIX.start] == 0 && map[10] != 0;
    if !is_in_header {
        return (regions, true);
    }
    let more = block[field::STAR_EXTENDED] != 0;
    // The member is refused, whatever its map says.
    let _malformed = part_of_map(map, more, &mut regions);
    (regions, more)
}

/// Reads regions of 24 bytes each; an empty one ends the list, and only empty ones follow it. Readers look
/// at the first byte of its offset, of its length, or of both.
fn old_regions(map: &[u8], regions: &mut Vec<Region>) -> Result<(), Refusal> {
    let mut has_ended = false;
    for pair in map.as_chunks::<24>().0 {
        let (offset, length) = pair.split_at(12);
        let is_empty = (offset.first() == Some(&0), length.first() == Some(&0));
        has_ended |= is_empty == (true, true);
        if has_ended && is_empty == (true, true) {
            continue;
        }
        if has_ended || is_empty != (false, false) {
            return Err(Refusal::SparseMap);
        }
        let region = Region { offset: parse_unsigned(offset)?, bytes: parse_unsigned(length)? };
        regions.push(region);
    }
    Ok(())
}

/// Returns the bytes of the data of regions for a reader that begins each at a block, at most [`BYTES_MAX`].
pub(super) fn stored_by(regions: &[Region]) -> u64 {
    let in_blocks = |bytes: u64| bytes.min(BYTES_MAX).next_multiple_of(BLOCK_BYTES as u64);
    let add = |sum: u64, region: &Region| (sum + in_blocks(region.bytes)).min(BYTES_MAX);
    regions.iter().fold(0, add)
}

/// Checks that regions are in order, do not overlap, are within the file, and are all data there is.
pub(super) fn check_regions(regions: &[Region], size: u64, stored: u64) -> Result<(), Refusal> {
    let (mut end, mut sum) = (0_u64, 0_u64);
    let mut is_ragged = false;
    for region in regions {
        // GNU tar has each region begin at a block, other readers directly behind the one before.
        if is_ragged && region.bytes > 0 {
            return Err(Refusal::SparseMap);
        }
        is_ragged |= !region.bytes.is_multiple_of(BLOCK_BYTES as u64);
        let next = region.offset.checked_add(region.bytes).ok_or(Refusal::SparseMap)?;
        if region.offset < end || next > size {
            return Err(Refusal::SparseMap);
        }
        end = next;
        sum += region.bytes;
    }
    if i64::try_from(size).is_err() {
        return Err(Refusal::SparseMap);
    }
    if sum == stored { Ok(()) } else { Err(Refusal::SparseSize) }
}
