//! Makes an index while an archive is written.

use std::io::Write as _;

use haul_codec::{Encoder, Packing};

use super::MAGIC;
use crate::format::BLOCK_BYTES;

/// An index that is being made. It is kept compressed: names are as in the headers, without what they
/// have in common with the one before.
pub struct IndexWriter {
    packed: Encoder<Vec<u8>>,
    last_name: Vec<u8>,
    last_block: u64,
}

impl Default for IndexWriter {
    fn default() -> IndexWriter {
        let packed = Encoder::packing(Vec::new(), Packing::Zstd { frame_bytes: 0 }, 1);
        IndexWriter { packed, last_name: Vec::new(), last_block: 0 }
    }
}

impl IndexWriter {
    /// Adds a member whose headers begin at this offset, which is behind that of the member before.
    pub fn add(&mut self, name: &[u8], offset: u64) -> std::io::Result<()> {
        let block = offset / BLOCK_BYTES as u64;
        let pairs = name.iter().zip(&self.last_name);
        let shared = pairs.take_while(|(one, other)| one == other).count();
        let rest = &name[shared..];
        let mut entry = Vec::with_capacity(rest.len() + 12);
        number(block.saturating_sub(self.last_block), &mut entry);
        number(shared as u64, &mut entry);
        number(rest.len() as u64, &mut entry);
        entry.extend_from_slice(rest);
        self.packed.write_all(&entry)?;
        self.last_block = block;
        self.last_name.truncate(shared);
        self.last_name.extend_from_slice(rest);
        Ok(())
    }

    /// Returns the index.
    pub fn finish(self) -> std::io::Result<Vec<u8>> {
        let (packed, _totals) = self.packed.finish()?;
        Ok([&MAGIC[..], &packed].concat())
    }
}

/// Writes a number in groups of seven bits, the lowest first.
fn number(value: u64, entry: &mut Vec<u8>) {
    let mut left = value;
    while left > 0x7f {
        entry.push((left & 0x7f) as u8 | 0x80);
        left >>= 7;
    }
    entry.push((left & 0x7f) as u8);
}
