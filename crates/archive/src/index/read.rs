//! Reads an index and chooses ranges of the archive.

use std::io::{BufReader, Cursor, Read};
use std::ops::Range;

use super::MAGIC;
use crate::filter::{Filter, Memory, decoder};
use crate::format::{BLOCK_BYTES, EXTENDED_MAX_BYTES};

/// Ranges that are chosen at most. Neighbours are one range.
const RANGES_MAX: usize = 1 << 20;

/// Bytes of names that are looked at, for each byte of an index and for any: names that differ in little take
/// little room, but each costs its length.
const NAME_BYTES_MAX: u64 = 1024;
const NAME_BYTES_FREE: u64 = 64 << 20;

/// Returns the ranges of the members that are wanted, in order, and of what precedes the first
/// member; `None` if this is no index of an archive of so many bytes.
pub(super) fn ranges(
    index: Vec<u8>,
    archive_bytes: u64,
    wants: &mut dyn FnMut(&[u8]) -> bool,
) -> Option<Vec<Range<u64>>> {
    if !index.starts_with(&MAGIC) {
        return None;
    }
    let most = (index.len() as u64).saturating_mul(NAME_BYTES_MAX) + NAME_BYTES_FREE;
    let mut packed = Cursor::new(index);
    packed.set_position(MAGIC.len() as u64);
    let mut entries =
        BufReader::with_capacity(64 << 10, decoder(Filter::Zstd, packed, 1, Memory::default()));
    let mut ranges = Ranges(Vec::new());
    let (mut name, mut block, mut begun, mut looked_at) = (Vec::new(), 0_u64, None, 0);
    while let Some(gap) = number(&mut entries)? {
        let shared = usize::try_from(number(&mut entries)??).ok()?;
        let bytes = number(&mut entries)??;
        if shared > name.len() || bytes > EXTENDED_MAX_BYTES {
            return None;
        }
        name.truncate(shared);
        (&mut entries).take(bytes).read_to_end(&mut name).ok()?;
        if name.len() as u64 != shared as u64 + bytes || name.len() as u64 > EXTENDED_MAX_BYTES {
            return None;
        }
        looked_at += name.len() as u64;
        if looked_at > most {
            return None;
        }
        block = block.checked_add(gap)?;
        let offset = block.checked_mul(BLOCK_BYTES as u64)?;
        let is_behind = gap > 0 || begun.is_none();
        if offset >= archive_bytes || !is_behind {
            return None;
        }
        match begun.replace((offset, wants(&name))) {
            // Headers of the whole archive.
            None => ranges.add(0..offset)?,
            Some((start, true)) => ranges.add(start..offset)?,
            Some(_) => {}
        }
    }
    // An index without a member, which may be one that was cut off, saves nothing.
    let (start, is_wanted) = begun?;
    if is_wanted {
        ranges.add(start..archive_bytes)?;
    }
    Some(ranges.0)
}

struct Ranges(Vec<Range<u64>>);

impl Ranges {
    fn add(&mut self, range: Range<u64>) -> Option<()> {
        match self.0.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ if range.is_empty() => {}
            _ => self.0.push(range),
        }
        (self.0.len() <= RANGES_MAX).then_some(())
    }
}

/// Reads a number; `Some(None)` at the end, `None` if there is an error.
fn number(entries: &mut impl Read) -> Option<Option<u64>> {
    let mut value = 0_u64;
    for shift in (0..63).step_by(7) {
        let mut byte = [0];
        if entries.read(&mut byte).ok()? == 0 {
            return (shift == 0).then_some(None);
        }
        value |= u64::from(byte[0] & 0x7f) << shift;
        if byte[0] & 0x80 == 0 {
            return Some(Some(value));
        }
    }
    None
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "ranges are what is compared")]
mod tests {
    use super::super::IndexWriter;
    use super::*;

    fn index() -> Vec<u8> {
        let mut writer = IndexWriter::default();
        for (name, offset) in
            [(&b"d/"[..], 1024), (b"d/a", 2048), (b"d/b", 1 << 40), (b"e", (1 << 40) + 512)]
        {
            writer.add(name, offset).unwrap();
        }
        writer.finish().unwrap()
    }

    const END: u64 = (1 << 40) + 10_240;

    #[test]
    fn wanted_members_are_ranges() {
        let find =
            |wanted: &[&[u8]]| ranges(index(), END, &mut |name| wanted.contains(&name)).unwrap();
        assert_eq!(find(&[]), [0..1024]);
        assert_eq!(find(&[b"d/"]), [0..2048]);
        assert_eq!(find(&[b"d/b", b"e"]), [0..1024, 1 << 40..END]);
        assert_eq!(find(&[b"d/a"]), [0..1024, 2048..1 << 40]);
    }

    #[test]
    fn what_is_no_index_is_not_used() {
        let whole = index();
        assert_eq!(ranges(whole.clone(), 1 << 40, &mut |_| true), None);
        for length in 0..whole.len() {
            assert_eq!(ranges(whole[..length].to_vec(), END, &mut |_| true), None, "{length}");
        }
        for at in 0..whole.len() {
            let mut wrong = whole.clone();
            wrong[at] ^= 0x41;
            // The sum of the compressed data finds what is wrong, but for bits without a meaning.
            let found = ranges(wrong, END, &mut |_| true);
            assert!(found.is_none_or(|found| found == [0..END]), "{at}");
        }
    }
}
