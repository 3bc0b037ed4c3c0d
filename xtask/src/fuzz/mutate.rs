//! Changes an input so that most of it stays as a parser expects it.

use haul_manifest::Numbers;

/// The unit of tar.
pub(crate) const BLOCK: usize = 512;

/// Where a tar header has its checksum (POSIX, pax, "ustar Interchange Format").
const SUM: std::ops::Range<usize> = 148..156;

/// The fields of a tar header: offset and length.
const FIELDS: [(usize, usize); 15] = [
    (0, 100),
    (100, 8),
    (108, 8),
    (116, 8),
    (124, 12),
    (136, 12),
    (156, 1),
    (157, 100),
    (257, 6),
    (263, 2),
    (265, 32),
    (297, 32),
    (329, 8),
    (337, 8),
    (345, 155),
];

/// Values that a field of a header may get.
const VALUES: [&[u8]; 18] = [
    b"",
    b"0",
    b"00000000000\0",
    b"77777777777\0",
    b"00000001000\0",
    b"00000000777 ",
    b"           ",
    b"\x80\0\0\0\0\0\0\0\0\0\x02\0",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\x80\x7f\xff\xff\xff\xff\xff\xff",
    b"-1",
    b"ustar\0",
    b"ustar ",
    b"../x",
    b"/x",
    b"a/",
    b"a\0b",
    b"\xff\n",
];

/// Kinds of members, as the type flag names them.
const KINDS: &[u8] = b"01234567xgLKSVMDNAX\0 z";

/// Changes bytes: one to three of single bytes, ends, repetitions, exchanges.
pub(crate) fn bytes(numbers: &mut Numbers, input: &mut Vec<u8>) {
    for _ in 0..numbers.between(1, 3) {
        byte_change(numbers, input);
    }
}

fn byte_change(numbers: &mut Numbers, input: &mut Vec<u8>) {
    if input.is_empty() {
        input.push(numbers.next() as u8);
        return;
    }
    let at = numbers.index(input.len());
    match numbers.below(9) {
        0..3 => input[at] ^= 1 << numbers.below(8),
        3 => input[at] = *numbers.pick(&[0, 1, 0x7f, 0x80, 0xff]),
        4 => input.truncate(at),
        5 => {
            let end = (at + numbers.index(64) + 1).min(input.len());
            input.drain(at..end);
        }
        6 => {
            let end = (at + numbers.index(64) + 1).min(input.len());
            let again = input[at..end].to_vec();
            input.splice(at..at, again);
        }
        7 => {
            let mut more = vec![0; numbers.index(600) + 1];
            if numbers.chance(50) {
                numbers.fill(&mut more);
            }
            input.extend(more);
        }
        _ => {
            let other = numbers.index(input.len());
            input.swap(at, other);
        }
    }
}

/// Changes an archive: headers with right checksums, blocks, ends, and sometimes bytes.
pub(crate) fn archive(numbers: &mut Numbers, input: &mut Vec<u8>) {
    for _ in 0..numbers.between(1, 3) {
        let headers: Vec<usize> =
            (0..input.len() / BLOCK).filter(|block| is_header(&input[block * BLOCK..])).collect();
        let blocks = input.len() / BLOCK;
        match numbers.below(10) {
            0..6 if !headers.is_empty() => {
                let at = *numbers.pick(&headers) * BLOCK;
                change_header(numbers, &mut input[at..at + BLOCK]);
            }
            6 if blocks > 0 => input.truncate(numbers.index(blocks) * BLOCK),
            7 if blocks > 0 => {
                let at = numbers.index(blocks) * BLOCK;
                input.drain(at..at + BLOCK);
            }
            8 if blocks > 0 => {
                let at = numbers.index(blocks) * BLOCK;
                let again = input[at..at + BLOCK].to_vec();
                let to = numbers.index(blocks) * BLOCK;
                input.splice(to..to, again);
            }
            _ => byte_change(numbers, input),
        }
    }
}

fn change_header(numbers: &mut Numbers, header: &mut [u8]) {
    let (at, length) = *numbers.pick(&FIELDS);
    let field = &mut header[at..at + length];
    match numbers.below(4) {
        _ if length == 1 => field[0] = *numbers.pick(KINDS),
        0 => {
            let index = numbers.index(field.len());
            field[index] = *numbers.pick(b"\x00 017/.-\x80\xff");
        }
        1 => field.fill(*numbers.pick(b"\x00 07a\xff")),
        _ => {
            let value = *numbers.pick(&VALUES);
            let count = value.len().min(length);
            field.fill(0);
            field[..count].copy_from_slice(&value[..count]);
        }
    }
    seal(header);
}

/// The sum of a header's bytes, those of the checksum taken for spaces.
fn sum(header: &[u8]) -> u64 {
    let bytes = header.iter().take(BLOCK).enumerate();
    bytes.map(|(at, byte)| if SUM.contains(&at) { 32 } else { u64::from(*byte) }).sum()
}

/// Makes the checksum of a header right.
/// Makes the checksum of a header right.
pub(super) fn seal(header: &mut [u8]) {
    let text = format!("{:06o}\0 ", sum(header));
    header[SUM].copy_from_slice(text.as_bytes());
}

/// Returns whether a block is a header with a right checksum.
pub(super) fn is_header(block: &[u8]) -> bool {
    if block.len() < BLOCK || block[0] == 0 {
        return false;
    }
    let text = String::from_utf8_lossy(&block[SUM]);
    let digits = text.trim_matches([' ', '\0']);
    u64::from_str_radix(digits, 8).is_ok_and(|said| said == sum(block))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(name: &str) -> Vec<u8> {
        let mut block = vec![0; BLOCK];
        block[..name.len()].copy_from_slice(name.as_bytes());
        seal(&mut block);
        block
    }

    #[test]
    fn a_changed_header_has_a_right_checksum() {
        for seed in 0..200 {
            let mut block = header("name");
            change_header(&mut Numbers::new(seed), &mut block);
            assert!(block[0] == 0 || is_header(&block), "seed {seed}");
        }
        let mut block = header("name");
        block[0] ^= 1;
        assert!(!is_header(&block));
    }

    #[test]
    fn gnu_tar_agrees_about_the_checksum() {
        let archive = [header("name"), vec![0; 2 * BLOCK]].concat();
        let path = std::env::temp_dir().join(format!("xtask-sum-{}", std::process::id()));
        std::fs::write(&path, archive).unwrap();
        let listed = std::process::Command::new("tar").arg("-tf").arg(&path).output().unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(String::from_utf8_lossy(&listed.stdout), "name\n");
    }

    #[test]
    fn a_seed_names_one_change_and_most_seeds_change_something() {
        let whole = [header("a"), vec![7; BLOCK], header("b"), vec![0; 2 * BLOCK]].concat();
        let mut changed = 0;
        for change in [bytes, archive] {
            for seed in 0..200 {
                let (mut one, mut two) = (whole.clone(), whole.clone());
                change(&mut Numbers::new(seed), &mut one);
                change(&mut Numbers::new(seed), &mut two);
                assert_eq!(one, two);
                changed += usize::from(one != whole);
            }
        }
        assert!(changed > 350, "{changed}");
        let mut empty = Vec::new();
        (0..50).for_each(|seed| archive(&mut Numbers::new(seed), &mut empty));
    }
}
