//! Finds the data of a file with holes.

use std::ops::Range;
use std::os::fd::{AsFd as _, OwnedFd};

use haul_io::data_ranges;
use haul_io::fully::read_fully;
use haul_sys::Result;
use haul_sys::fs::Stat;

use super::plan::Holes;
use crate::format::{BLOCK_BYTES, Region};

/// Bytes that are read at a time.
const PIECE_BYTES: usize = 256 << 10;

/// Returns the regions of a file that have data, `most` at most; `None` if it is no sparse file. Blocks.
pub(super) fn regions(
    file: &OwnedFd,
    stat: &Stat,
    how: Holes,
    most: usize,
) -> Result<Option<Vec<Region>>> {
    let Some(found) = data_ranges(file.as_fd(), stat)? else { return Ok(None) };
    if how == Holes::Raw {
        return scan(file, stat.size).map(|regions| Some(joined(regions, most)));
    }
    let region = |range: Range<u64>| Region { offset: range.start, bytes: range.end - range.start };
    Ok(Some(joined(found.into_iter().map(region).collect(), most)))
}

/// Joins regions over the smallest holes, which become zeros in the archive, until there are `most` at most.
fn joined(mut regions: Vec<Region>, most: usize) -> Vec<Region> {
    let mut hole_bytes = BLOCK_BYTES as u64;
    while regions.len() > most {
        regions.dedup_by(|next, last| {
            let is_near = next.offset - (last.offset + last.bytes) <= hole_bytes;
            if is_near {
                last.bytes = next.offset + next.bytes - last.offset;
            }
            is_near
        });
        hole_bytes = hole_bytes.saturating_mul(2);
    }
    regions
}

/// Reads a whole file: each block that is not zero is data.
fn scan(file: &OwnedFd, size: u64) -> Result<Vec<Region>> {
    let mut piece = vec![0; PIECE_BYTES];
    let mut regions: Vec<Region> = Vec::new();
    let mut at = 0;
    while at < size {
        let count = read_fully(file, &mut piece, at)?;
        if count == 0 {
            break;
        }
        for block in piece[..count].chunks(BLOCK_BYTES) {
            let bytes = block.len() as u64;
            if block.iter().any(|byte| *byte != 0) {
                match regions.last_mut() {
                    Some(last) if last.offset + last.bytes == at => last.bytes += bytes,
                    _ => regions.push(Region { offset: at, bytes }),
                }
            }
            at += bytes;
        }
    }
    Ok(regions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_joined_over_the_smallest_holes() {
        let at = |block: u64, blocks: u64| Region { offset: block * 512, bytes: blocks * 512 };
        let regions = vec![at(0, 1), at(2, 1), at(9, 2), at(13, 1), at(100, 1)];
        assert_eq!(joined(regions.clone(), 5), regions);
        assert_eq!(joined(regions.clone(), 4), [at(0, 3), at(9, 2), at(13, 1), at(100, 1)]);
        assert_eq!(joined(regions.clone(), 3), [at(0, 3), at(9, 5), at(100, 1)]);
        assert_eq!(joined(regions, 1), [at(0, 101)]);
    }

    #[test]
    fn blocks_that_are_not_zero_are_data() {
        let mut bytes = vec![0; 5000];
        (bytes[600], bytes[1100], bytes[4999]) = (1, 1, 1);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, &bytes).unwrap();
        let file = OwnedFd::from(std::fs::File::open(path).unwrap());
        let expected = [Region { offset: 512, bytes: 1024 }, Region { offset: 4608, bytes: 392 }];
        assert_eq!(scan(&file, 5000).unwrap(), expected);
    }
}
