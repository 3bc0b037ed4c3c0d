//! Writes the maps of sparse files: GNU's own in blocks behind the header, and the three of extended
//! headers. Layouts: GNU tar's manual, "Storing Sparse Files".

use super::header::{BLOCK_BYTES, Block, beside, field, pad};
use super::member::{Member, Region};
use super::number::{write_base_256, write_octal};
use super::pax::push;

/// Regions in a header of GNU's layout, and in a block behind it.
const IN_HEADER: usize = 4;
const IN_BLOCK: usize = 21;

/// How extended headers describe sparse files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SparseVersion {
    /// A pair of records for each region.
    V00,
    /// One record with all regions.
    V01,
    /// The regions are at the beginning of the data.
    #[default]
    V10,
}

/// Writes a number of 12 bytes, in base 256 if it does not fit octal digits.
fn number(room: &mut [u8], value: u64) {
    let value = i64::try_from(value).unwrap_or(i64::MAX);
    if !write_octal(room, value) {
        write_base_256(room, value);
    }
}

fn fill(room: &mut [u8], regions: &[Region]) {
    for (place, region) in room.chunks_exact_mut(24).zip(regions) {
        let (offset, bytes) = place.split_at_mut(12);
        number(offset, region.offset);
        number(bytes, region.bytes);
    }
}

/// Writes the map of GNU's layout into a header, and returns the blocks that follow it.
pub(super) fn old_gnu(block: &mut Block, member: &Member, regions: &[Region]) -> Vec<u8> {
    let (first, rest) = regions.split_at(regions.len().min(IN_HEADER));
    fill(block.get_mut(field::GNU_SPARSE).unwrap_or_default(), first);
    number(block.get_mut(field::GNU_REAL_SIZE).unwrap_or_default(), member.size);
    if let Some(flag) = block.get_mut(field::GNU_EXTENDED) {
        *flag = u8::from(!rest.is_empty());
    }
    let mut out = Vec::with_capacity(rest.len().div_ceil(IN_BLOCK) * BLOCK_BYTES);
    let mut chunks = rest.chunks(IN_BLOCK).peekable();
    while let Some(chunk) = chunks.next() {
        let mut more = [0; BLOCK_BYTES];
        fill(more.get_mut(..IN_BLOCK * 24).unwrap_or_default(), chunk);
        if let Some(flag) = more.get_mut(IN_BLOCK * 24) {
            *flag = u8::from(chunks.peek().is_some());
        }
        out.extend_from_slice(&more);
    }
    out
}

/// Writes the records of an extended header.
pub(super) fn records(
    out: &mut Vec<u8>,
    member: &Member,
    regions: &[Region],
    version: SparseVersion,
) {
    let text = |number: u64| number.to_string().into_bytes();
    if version == SparseVersion::V10 {
        push(out, b"GNU.sparse.major", b"1");
        push(out, b"GNU.sparse.minor", b"0");
        push(out, b"GNU.sparse.name", &member.name);
        push(out, b"GNU.sparse.realsize", &text(member.size));
        return;
    }
    push(out, b"GNU.sparse.size", &text(member.size));
    push(out, b"GNU.sparse.numblocks", &text(regions.len() as u64));
    if version == SparseVersion::V01 {
        push(out, b"GNU.sparse.name", &member.name);
        let pair = |region: &Region| format!("{},{}", region.offset, region.bytes);
        let map: Vec<String> = regions.iter().map(pair).collect();
        push(out, b"GNU.sparse.map", map.join(",").as_bytes());
        return;
    }
    for region in regions {
        push(out, b"GNU.sparse.offset", &text(region.offset));
        push(out, b"GNU.sparse.numbytes", &text(region.bytes));
    }
}

/// Returns the map at the beginning of the data, in whole blocks.
pub(super) fn map_in_data(regions: &[Region]) -> Vec<u8> {
    let mut out = format!("{}\n", regions.len()).into_bytes();
    for region in regions {
        out.extend_from_slice(format!("{}\n{}\n", region.offset, region.bytes).as_bytes());
    }
    pad(&mut out);
    out
}

/// Returns the name that readers see that do not know these records: `DIR/GNUSparseFile.0/FILE`. GNU tar
/// writes the number of its process; here the same files give the same bytes.
pub(super) fn plain_name(original: &[u8]) -> Vec<u8> {
    beside(original, b"/GNUSparseFile.0/")
}

/// Cuts such a name so that it fits its field. It ends neither in a slash, with which readers take a member
/// without a type of its own for a directory, nor in a part of a character.
pub(super) fn cut_plain_name(name: &mut Vec<u8>) {
    let most = field::NAME.len();
    let is_inside = |at: &usize| name.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    // A character of UTF-8 has three such bytes at most; with more of them, it is no UTF-8.
    let end = (most - 3..=most).rev().find(|at| !is_inside(at)).unwrap_or(most);
    name.truncate(end);
    while name.ends_with(b"/") {
        name.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_where_readers_see_a_file() {
        let cut = |directory: &str| {
            let mut name = plain_name(format!("{directory}/f").as_bytes());
            cut_plain_name(&mut name);
            String::from_utf8(name).unwrap()
        };
        let long = |bytes: usize| "d".repeat(bytes);
        assert_eq!(cut(&long(83)), format!("{}/GNUSparseFile.0", long(83)));
        assert_eq!(cut(&long(81)), format!("{}/GNUSparseFile.0/f", long(81)));
        assert_eq!(cut(&long(99)), long(99));
        assert_eq!(cut(&format!("{}é", long(99))), long(99));
        assert_eq!(cut(&format!("{}/é", long(98))), long(98));
        let mut no_utf8 = vec![0x80; 200];
        cut_plain_name(&mut no_utf8);
        assert_eq!(no_utf8.len(), 100);
    }
}
