//! Decodes the words of the eBPF program's maps to a report's figures.
//!
//! Pure functions of plain arrays. The input is not trusted, and the fuzz tests below check that no
//! input causes a panic.

use crate::calls::{CALL_ROWS, ROWS, row_name};
use crate::{Faults, Tallies, Tally};

pub(super) const TALLY_WORDS: usize = 80;
pub(super) const UNIT_WORDS: usize = 22;
pub(super) const NAME_BYTES: usize = 800;
pub(super) const FILE_WORDS: usize = 21;
pub(super) const EVENT_WORDS: usize = 32;
const LATENCIES: usize = 8;
const SIZES: usize = 46;
const SIZE_BUCKETS: usize = 34;

/// The value of a tally: see `bpf/tally.h`.
pub(super) type TallyWords = [u64; TALLY_WORDS];
/// The value of a unit.
pub(super) type UnitWords = [u64; UNIT_WORDS];
/// The value of a name: see `bpf/files.h`.
pub(super) type NameValue = [u8; NAME_BYTES];
/// The value of a file's tally.
pub(super) type FileWords = [u64; FILE_WORDS];
/// The value of a call of the list: see `bpf/list.h`.
pub(super) type EventWords = [u64; EVENT_WORDS];

fn word(words: &[u64], index: usize) -> u64 {
    words.get(index).copied().unwrap_or(0)
}

/// Decodes the tally of a row; the errors are in a separate map.
pub(super) fn tally(row: usize, words: &TallyWords) -> Tally {
    let mut tally = Tally {
        count: word(words, 0),
        unfinished: word(words, 1),
        total_ns: word(words, 2),
        longest_ns: word(words, 3),
        bytes: word(words, 4),
        punted: word(words, 5),
        cpu_ns: (row < CALL_ROWS).then(|| word(words, 6)),
        ..Tally::default()
    };
    // The program's first bucket of latencies holds 0 and 1 ns; no call is that short.
    for (power, count) in words.iter().take(SIZES).skip(LATENCIES).enumerate() {
        tally.latencies.count_many(power + 1, *count);
    }
    for (index, count) in words.iter().skip(SIZES).enumerate() {
        tally.sizes.count_many(index, *count);
    }
    tally
}

/// A unit without its tallies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UnitFacts {
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) parent: u32,
    pub(super) start_ns: u64,
    pub(super) has_ended: bool,
    pub(super) before: (Faults, u64),
    pub(super) after: (Faults, u64),
    pub(super) command: String,
    pub(super) rows: Vec<usize>,
}

/// Decodes a unit.
pub(super) fn unit(words: &UnitWords) -> UnitFacts {
    let usage = |first| {
        let faults = Faults { minor: word(words, first), major: word(words, first + 1) };
        (faults, word(words, first + 2))
    };
    let name: Vec<u8> = [word(words, 10), word(words, 11)]
        .iter()
        .flat_map(|half| half.to_ne_bytes())
        .take_while(|byte| *byte != 0)
        .collect();
    let used = |row: &usize| word(words, 12 + row / 64) >> (row % 64) & 1 == 1;
    UnitFacts {
        pid: high(word(words, 0)),
        tid: low(word(words, 0)),
        parent: low(word(words, 1)),
        start_ns: word(words, 2),
        has_ended: word(words, 3) != 0,
        before: usage(4),
        after: usage(7),
        command: String::from_utf8_lossy(&name).into_owned(),
        rows: (0..ROWS).filter(used).collect(),
    }
}

/// Returns the upper half of a word.
pub(super) fn high(word: u64) -> u32 {
    u32::try_from(word >> 32).unwrap_or(0)
}

/// Returns the lower half of a word.
pub(super) fn low(word: u64) -> u32 {
    u32::try_from(word & 0xffff_ffff).unwrap_or(0)
}

/// The key of an error: unit, row and errno.
pub(super) fn error_key(key: u64) -> (u32, usize, i32) {
    let row = usize::from(u16::try_from(key >> 16 & 0xffff).unwrap_or(u16::MAX));
    (high(key), row, i32::try_from(key & 0xffff).unwrap_or(0))
}

/// Returns the tally of a row among the others.
pub(super) fn slot(tallies: &mut Tallies, row: usize) -> &mut Tally {
    let rows = if row < CALL_ROWS { &mut tallies.calls } else { &mut tallies.operations };
    rows.entry(row_name(row)).or_default()
}

/// A file's name as the program stored it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FileName {
    /// A path from the root, or a name in place of one.
    Whole(String),
    /// An argument that begins at the directory with this number (0 for the root).
    Below(u32, String),
}

/// Decodes a name: `struct name` of `bpf/files.h`.
pub(super) fn file_name(value: &NameValue) -> FileName {
    let number = |at: usize| {
        let bytes = value.get(at..at + 4).and_then(|four| four.try_into().ok());
        bytes.map_or(0, u32::from_ne_bytes)
    };
    let inode = u64::from(number(8)) | u64::from(number(12)) << 32;
    let (mode, flags, directory, length) = (number(16), number(20), number(24), number(28));
    let text = value.get(32..).unwrap_or_default();
    let text = text.get(..length as usize).unwrap_or(text);
    let is_truncated = flags & 1 == 1;
    if flags & 2 == 2 {
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        let mut name = String::from_utf8_lossy(text.get(..end).unwrap_or_default()).into_owned();
        if is_truncated {
            name.push('…');
        }
        return FileName::Below(directory, name);
    }
    let parts: Vec<String> = text
        .split(|byte| *byte == 0)
        .filter(|part| !part.is_empty() && *part != b"/")
        .map(|part| String::from_utf8_lossy(part).into_owned())
        .collect();
    FileName::Whole(match (parts.as_slice(), mode & 0xf000) {
        ([], 0x1000) => format!("pipe:[{inode}]"),
        ([], 0xc000) => format!("socket:[{inode}]"),
        ([name], _) if name.starts_with('[') => format!("anon_inode:{name}"),
        _ => {
            let start = if is_truncated { "…/" } else { "/" };
            start.to_owned() + &parts.iter().rev().cloned().collect::<Vec<_>>().join("/")
        }
    })
}

/// Decodes a file's tally. The errnos of failures are not recorded by file.
pub(super) fn file_tally(words: &FileWords) -> Tally {
    let mut tally = Tally {
        count: word(words, 0),
        total_ns: word(words, 2),
        bytes: word(words, 3),
        ..Tally::default()
    };
    if word(words, 1) > 0 {
        tally.errors.insert(0, word(words, 1));
    }
    let halves = words.iter().skip(4).flat_map(|pair| [low(*pair), high(*pair)]);
    for (index, count) in halves.take(SIZE_BUCKETS).enumerate() {
        tally.sizes.count_many(index, u64::from(count));
    }
    tally
}

/// A call of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) start_ns: u64,
    pub(super) elapsed_ns: u64,
    pub(super) cpu_ns: u64,
    pub(super) value: i64,
    pub(super) row: usize,
    pub(super) is_unfinished: bool,
    /// Numbers of names; 0 is none.
    pub(super) file: u32,
    pub(super) second_file: u32,
    pub(super) arguments: [u64; 6],
    pub(super) unit: u32,
    pub(super) second_path: Option<String>,
}

/// Decodes a call of the list.
pub(super) fn event(words: &EventWords) -> Event {
    let text: Vec<u8> = words
        .iter()
        .skip(14)
        .flat_map(|part| part.to_ne_bytes())
        .take_while(|byte| *byte != 0)
        .collect();
    let mut second_path = String::from_utf8_lossy(&text).into_owned();
    // The program ends every text with a NUL.
    if text.len() + 1 >= (EVENT_WORDS - 14) * 8 {
        second_path.push('…');
    }
    Event {
        pid: high(word(words, 0)),
        tid: low(word(words, 0)),
        start_ns: word(words, 1),
        elapsed_ns: word(words, 2),
        cpu_ns: word(words, 3),
        value: word(words, 4).cast_signed(),
        row: low(word(words, 5)) as usize,
        is_unfinished: high(word(words, 5)) == 1,
        file: low(word(words, 6)),
        second_file: high(word(words, 6)),
        arguments: std::array::from_fn(|index| word(words, 7 + index)),
        unit: low(word(words, 13)),
        second_path: (!second_path.is_empty()).then_some(second_path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_value(mode: u32, flags: u32, text: &[u8]) -> NameValue {
        let mut value = [0; NAME_BYTES];
        value[8] = 71;
        value[16..20].copy_from_slice(&mode.to_ne_bytes());
        value[20..24].copy_from_slice(&flags.to_ne_bytes());
        value[28..32].copy_from_slice(&u32::try_from(text.len()).unwrap().to_ne_bytes());
        value[32..32 + text.len()].copy_from_slice(text);
        value
    }

    #[test]
    fn paths_are_turned_round() {
        let whole = |mode, flags, text: &[u8]| match file_name(&name_value(mode, flags, text)) {
            FileName::Whole(path) => path,
            FileName::Below(..) => panic!("not an argument"),
        };
        assert_eq!(whole(0o100_644, 0, b"passwd\0etc\0/\0"), "/etc/passwd");
        assert_eq!(whole(0o100_644, 1, b"c\0b\0"), "…/b/c");
        assert_eq!(whole(0o040_755, 0, b"/\0"), "/");
        assert_eq!(whole(0o010_600, 0, b"\0"), "pipe:[71]");
        assert_eq!(whole(0o140_777, 0, b"\0"), "socket:[71]");
        assert_eq!(whole(0, 0, b"[eventpoll]\0/\0"), "anon_inode:[eventpoll]");
        assert_eq!(file_name(&name_value(0, 2, b"a/b\0")), FileName::Below(0, "a/b".into()));
    }

    #[test]
    fn the_program_has_the_same_figures() {
        let header = include_str!("../../bpf/tally.h");
        for line in [
            format!("#define CALL_ROWS {CALL_ROWS}\n"),
            format!("#define RING_ROWS {}\n", ROWS - CALL_ROWS),
            format!("#define LATENCY_BUCKETS {}\n", SIZES - LATENCIES),
            format!("#define SIZE_BUCKETS {SIZE_BUCKETS}\n"),
        ] {
            assert!(header.contains(&line), "{line}");
        }
        assert_eq!(SIZES + SIZE_BUCKETS, TALLY_WORDS);
        assert_eq!(12 + ROWS / 64, UNIT_WORDS);
    }

    proptest::proptest! {
        #[test]
        fn any_tally_decodes(seed: u64, index in 0..TALLY_WORDS) {
            let mut words = [seed; TALLY_WORDS];
            words[index] = !seed;
            tally(0, &words);
        }

        #[test]
        fn any_unit_decodes(words: [u64; UNIT_WORDS]) {
            let facts = unit(&words);
            proptest::prop_assert!(facts.rows.iter().all(|row| *row < ROWS));
        }

        #[test]
        fn any_name_decodes(bytes in proptest::collection::vec(proptest::num::u8::ANY, NAME_BYTES)) {
            let value: NameValue = bytes.try_into().unwrap();
            file_name(&value);
        }

        #[test]
        fn any_event_decodes(words: [u64; EVENT_WORDS]) {
            event(&words);
        }

        #[test]
        fn any_file_tally_decodes(words: [u64; FILE_WORDS], key: u64) {
            file_tally(&words);
            error_key(key);
        }
    }
}
