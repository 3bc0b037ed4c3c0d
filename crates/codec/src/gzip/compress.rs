//! Compresses blocks for a gzip member.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use libdeflater::{CompressionLvl, Compressor};

use super::header::Stamp;
use super::{final_block, restart};
use crate::encoding::{BlockFormat, Compress, Compressed, Job};

/// The level where a plan asks for one that does not exist.
const USUAL_LEVEL: u8 = 6;

/// The level that promises the smallest result.
const SMALLEST_LEVEL: u8 = 9;

/// Levels of libdeflate of which the shortest result counts there for a small block. Each chooses its codes
/// in another way, and for some hundred bytes any of them may be the shortest.
const LEVELS_OF_SMALL: [i32; 4] = [12, 9, 6, 1];

/// Bytes of a small block: all these levels take a few milliseconds for so many.
const SMALL_BYTES: usize = 32 << 10;

/// The member that is being written.
pub(crate) struct Gzip {
    level: u8,
    stamp: Stamp,
    check: crc32fast::Hasher,
    bytes: u64,
}

impl Gzip {
    pub(crate) fn new(level: u8, stamp: Stamp) -> Gzip {
        let level = if (1..=9).contains(&level) { level } else { USUAL_LEVEL };
        Gzip { level, stamp, check: crc32fast::Hasher::new(), bytes: 0 }
    }
}

impl BlockFormat for Gzip {
    fn head(&mut self) -> Vec<u8> {
        self.stamp.header(self.level)
    }

    fn compressor(&self) -> Arc<dyn Fn() -> Compress + Send + Sync> {
        let (usual, is_smallest) = (i32::from(self.level), self.level == SMALLEST_LEVEL);
        Arc::new(move || {
            Box::new(move |job: Job| {
                if is_smallest && job.bytes.len() <= SMALL_BYTES {
                    compress(&LEVELS_OF_SMALL, &job)
                } else {
                    compress(&[usual], &job)
                }
            })
        })
    }

    fn add(&mut self, block: &Compressed) {
        self.check.combine(&crc32fast::Hasher::new_with_initial_len(block.check, block.bytes_in));
        self.bytes += block.bytes_in;
    }

    fn tail(&mut self) -> Vec<u8> {
        let check = self.check.clone().finalize();
        // RFC 1952: the length modulo 2³².
        let length = (self.bytes & 0xffff_ffff) as u32;
        [check.to_le_bytes(), length.to_le_bytes()].concat()
    }
}

std::thread_local! {
    /// The compressors that a thread has used, by level: to make one costs as much as to compress a small file.
    static COMPRESSORS: RefCell<BTreeMap<i32, Compressor>> = const { RefCell::new(BTreeMap::new()) };
}

/// Compresses bytes at a level.
fn deflate(level: i32, data: &[u8]) -> io::Result<Vec<u8>> {
    COMPRESSORS.with_borrow_mut(|compressors| {
        let make = || Compressor::new(CompressionLvl::new(level).unwrap_or_default());
        let compressor = compressors.entry(level).or_insert_with(make);
        let mut bytes = vec![0; compressor.deflate_compress_bound(data.len())];
        let length = compressor
            .deflate_compress(data, &mut bytes)
            .map_err(|error| io::Error::other(error.to_string()))?;
        bytes.truncate(length);
        Ok(bytes)
    })
}

/// Compresses a block at each level, and returns the shortest result; if it is not the last block,
/// others can follow it.
fn compress(levels: &[i32], job: &Job) -> io::Result<Compressed> {
    let mut shortest: Option<Vec<u8>> = None;
    for level in levels {
        let bytes = deflate(*level, &job.bytes)?;
        if shortest.as_ref().is_none_or(|shortest| bytes.len() < shortest.len()) {
            shortest = Some(bytes);
        }
    }
    let mut bytes = shortest.ok_or_else(|| io::Error::other("there is no compressor"))?;
    if !job.is_last {
        let last = final_block::find(&bytes)
            .ok_or_else(|| io::Error::other("libdeflate made a stream that cannot be read"))?;
        if let Some(byte) = bytes.get_mut(last.flag_bit / 8) {
            *byte &= !(1 << (last.flag_bit % 8));
        }
        restart::mark(&mut bytes, last.end_bit);
    }
    let check = crc32fast::hash(&job.bytes);
    Ok(Compressed { bytes, check, bytes_in: job.bytes.len() as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_is_written_modulo_4_gib() {
        let mut gzip = Gzip::new(6, Stamp::NONE);
        for bytes_in in [1 << 32, 5] {
            gzip.add(&Compressed { bytes: Vec::new(), check: 0, bytes_in });
        }
        assert_eq!(gzip.tail().split_at(4).1, [5, 0, 0, 0]);
    }
}
