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

/// Returns the regions of a file that have data; `None` if it is no sparse file. Blocks.
pub(super) fn regions(file: &OwnedFd, stat: &Stat, how: Holes) -> Result<Option<Vec<Region>>> {
    let Some(found) = data_ranges(file.as_fd(), stat)? else { return Ok(None) };
    if how == Holes::Raw {
        return scan(file, stat.size).map(Some);
    }
    let region = |range: Range<u64>| Region { offset: range.start, bytes: range.end - range.start };
    Ok(Some(found.into_iter().map(region).collect()))
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
        for block in piece.get(..count).unwrap_or_default().chunks(BLOCK_BYTES) {
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
