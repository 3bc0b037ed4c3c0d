//! What the volumes of a journal have, read without the program's code.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Kind of a record: an entry that is complete.
pub(crate) const FINISHED: u8 = 1;

/// Kind of a record: pieces of a large file.
pub(crate) const PIECES: u8 = 4;

/// Kind of a record: the run is complete.
const COMPLETE: u8 = 7;

/// Returns the hidden files of a directory: the journal and its volumes.
pub(crate) fn volumes(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut hidden: Vec<PathBuf> = entries
        .filter(|path| path.file_name().unwrap().as_bytes().starts_with(b".haul-"))
        .collect();
    hidden.sort();
    hidden
}

/// Returns the kinds of the records of a volume.
fn kinds(volume: &Path) -> Vec<u8> {
    records(volume).into_iter().map(|(kind, _)| kind).collect()
}

/// Cuts a volume after its first record.
pub(crate) fn cut_after_first(volume: &Path) {
    let (_, end) = records(volume)[0];
    fs::File::options().write(true).open(volume).unwrap().set_len(end).unwrap();
}

/// Returns the kinds of the records of a volume, and where they end.
fn records(volume: &Path) -> Vec<(u8, u64)> {
    // The magic, the version, the random number, a flag, and the length of the description.
    const FIXED_BYTES: usize = 8 + 4 + 8 + 1 + 4;
    const SUM_BYTES: usize = 16;
    let bytes = fs::read(volume).unwrap_or_default();
    let number = |at: usize| {
        let bytes = bytes.get(at..at + 4)?.try_into().unwrap();
        Some(usize::try_from(u32::from_le_bytes(bytes)).unwrap())
    };
    let mut records = Vec::new();
    let Some(length) = number(FIXED_BYTES - 4) else { return records };
    let mut at = FIXED_BYTES + length + SUM_BYTES;
    while let (Some(length), Some(kind)) = (number(at), bytes.get(at + 4 + SUM_BYTES)) {
        at += 4 + SUM_BYTES + length;
        if at <= bytes.len() {
            records.push((*kind, at as u64));
        }
    }
    records
}

/// Returns how many records of a kind all volumes in a directory have.
pub(crate) fn count(directory: &Path, kind: u8) -> u64 {
    let of = |volume: &PathBuf| kinds(volume).iter().filter(|found| **found == kind).count() as u64;
    volumes(directory).iter().map(of).sum()
}

/// Returns the journals in a directory whose last record says that the run is complete.
pub(crate) fn marked(directory: &Path) -> Vec<PathBuf> {
    let is_marked = |path: &PathBuf| kinds(path).last() == Some(&COMPLETE);
    volumes(directory).into_iter().filter(is_marked).collect()
}
