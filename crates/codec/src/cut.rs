//! Where a stream is cut into blocks.

/// How a stream is cut into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Every block has the same size, but for the last.
    Even,
    /// The data decides, so that an insertion moves the cuts behind it along (`--rsyncable`).
    ByContent,
}

/// Bytes of a block at most. A block is compressed without the bytes before it, so a smaller one
/// costs size; with this one, a source tree of 30 MB takes no more than gzip's output (level 6).
pub(crate) const BLOCK_BYTES: usize = 1 << 20;

/// The smallest block that the data may decide on.
const LEAST_BYTES: usize = 32 << 10;

/// Bits of the rolling hash that are zero at a cut: one position in 2¹⁵, so blocks have 64 KiB on
/// average.
const CUT_MASK: u64 = !(u64::MAX >> 15);

/// One number for each byte value, see [`Cutter`].
const GEAR: [u64; 256] = gear();

/// Fills the table with the SplitMix64 sequence: fixed, so that the cuts of all versions agree.
const fn gear() -> [u64; 256] {
    let mut table = [0; 256];
    let (mut at, mut state) = (0, 0x6861_756c_u64);
    while at < 256 {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        table[at] = mixed ^ (mixed >> 31);
        at += 1;
    }
    table
}

/// Finds the ends of blocks. The hash is a gear hash: each byte shifts it by one bit and adds the
/// byte's number, so that it depends on the last 64 bytes alone.
#[derive(Debug)]
pub(crate) struct Cutter {
    cut: Cut,
    hash: u64,
    block_bytes: usize,
}

impl Cutter {
    pub(crate) fn new(cut: Cut) -> Cutter {
        Cutter { cut, hash: 0, block_bytes: BLOCK_BYTES }
    }

    /// Cuts into blocks of this size, at least one byte.
    pub(crate) fn every(block_bytes: usize) -> Cutter {
        Cutter { cut: Cut::Even, hash: 0, block_bytes: block_bytes.max(1) }
    }

    /// Returns the bytes of a block at most.
    pub(crate) fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    /// Returns how many of these bytes belong to the block that has `filled` already, and whether it
    /// ends there.
    pub(crate) fn take(&mut self, filled: usize, bytes: &[u8]) -> (usize, bool) {
        let room = self.block_bytes.saturating_sub(filled);
        if self.cut == Cut::ByContent {
            for (index, byte) in bytes.iter().take(room).enumerate() {
                let number = GEAR.get(usize::from(*byte)).copied().unwrap_or(0);
                self.hash = (self.hash << 1).wrapping_add(number);
                if self.hash & CUT_MASK == 0 && filled + index + 1 >= LEAST_BYTES {
                    return (index + 1, true);
                }
            }
        }
        if bytes.len() < room { (bytes.len(), false) } else { (room, true) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(cut: Cut, bytes: &[u8], step: usize) -> Vec<usize> {
        let (mut cutter, mut filled, mut at, mut ends) = (Cutter::new(cut), 0, 0, Vec::new());
        while at < bytes.len() {
            let (taken, is_end) = cutter.take(filled, &bytes[at..bytes.len().min(at + step)]);
            (at, filled) = (at + taken, filled + taken);
            if is_end {
                ends.push(at);
                filled = 0;
            }
        }
        ends
    }

    fn noise(bytes: usize) -> Vec<u8> {
        let mut state = 1_u64;
        std::iter::repeat_with(|| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 56) as u8
        })
        .take(bytes)
        .collect()
    }

    #[test]
    fn cuts_do_not_depend_on_how_the_bytes_arrive() {
        let bytes = noise(3 << 20);
        for cut in [Cut::Even, Cut::ByContent] {
            assert_eq!(ends(cut, &bytes, 1000), ends(cut, &bytes, 1 << 21), "{cut:?}");
        }
        assert_eq!(ends(Cut::Even, &bytes, 7777), [1 << 20, 2 << 20, 3 << 20]);
    }

    #[test]
    fn an_insertion_moves_the_cuts_behind_it_along() {
        let bytes = noise(3 << 20);
        let mut longer = b"inserted".to_vec();
        longer.extend_from_slice(&bytes);
        let cuts = ends(Cut::ByContent, &bytes, 4096);
        let moved: Vec<usize> = cuts.iter().map(|end| end + 8).collect();
        let found = ends(Cut::ByContent, &longer, 4096);
        let same = moved.iter().filter(|end| found.contains(end)).count();
        assert!(cuts.len() > 20, "{} cuts", cuts.len());
        assert!(same + 3 >= cuts.len(), "{same} of {} cuts moved along", cuts.len());
    }
}
