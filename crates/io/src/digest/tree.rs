//! BLAKE3 of one file on several cores.
//!
//! BLAKE3 is a tree, so that parts of a file can be hashed by any thread and joined later. Each worker
//! draws a subtree. What is cached it hashes where it is, in a window whose pages are mapped by one
//! call (their faults would cost as much as a copy; so mapped it takes 0.82 of the time of reading);
//! the rest it reads into a buffer of its own. No thread reads for the others.

use haul_sys::sync::Mutex;
use std::num::NonZero;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use blake3::hazmat::{
    ChainingValue, HasherExt, Mode, hash_derive_key_context, left_subtree_len,
    merge_subtrees_non_root, merge_subtrees_root_xof,
};
use blake3::{Hasher, OutputReader};
use haul_sys::CallError;
use haul_sys::fs::fstat;

use super::pane::{PANE_BYTES, Pane};
use crate::system::fully::read_fully;
use crate::system::gentle;
use crate::system::kit::BUFFER_BYTES;

/// Bytes of a subtree: what is hashed where it lies is one.
const SUBTREE_BYTES: u64 = PANE_BYTES;

/// What BLAKE3 is to do.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Keying {
    /// Hash.
    #[default]
    None,
    /// Authenticate with a key.
    Key([u8; 32]),
    /// Derive a key for this context.
    Context(String),
}

impl Keying {
    /// Starts a hasher.
    #[must_use]
    pub fn hasher(&self) -> Hasher {
        match self {
            Keying::None => Hasher::new(),
            Keying::Key(key) => Hasher::new_keyed(key),
            Keying::Context(context) => Hasher::new_derive_key(context),
        }
    }
}

/// Tells whether a file of this size is worth several workers.
#[must_use]
pub const fn is_worth_a_tree(file_bytes: u64) -> bool {
    file_bytes >= 2 * SUBTREE_BYTES
}

/// Hashes a file of this size with so many workers. `None` if it has another size by now, or is one
/// that answers in odd pieces: then it has to be read in order.
pub fn hash_tree(
    file: BorrowedFd<'_>,
    file_bytes: u64,
    keying: &Keying,
    workers: NonZero<usize>,
) -> Result<Option<OutputReader>, CallError> {
    let count = usize::try_from(file_bytes.div_ceil(SUBTREE_BYTES)).unwrap_or(usize::MAX);
    let values: Mutex<Vec<ChainingValue>> = Mutex::new(vec![[0; 32]; count]);
    let (next, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
    let failure: Mutex<Option<CallError>> = Mutex::new(None);
    let work = || {
        let mut hands = Hands { buffer: vec![0; BUFFER_BYTES], pane: Pane::new(), may_map: true };
        while !ended.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                break;
            }
            let start = index as u64 * SUBTREE_BYTES;
            let end = file_bytes.min(start + SUBTREE_BYTES);
            match subtree(file, start..end, keying, &mut hands) {
                Ok(Some(value)) => {
                    let mut values = values.lock();
                    if let Some(place) = values.get_mut(index) {
                        *place = value;
                    }
                }
                Ok(None) => ended.store(true, Ordering::Relaxed),
                Err(error) => {
                    ended.store(true, Ordering::Relaxed);
                    *failure.lock() = Some(error);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..workers.get().min(count) {
            // Where no more threads are allowed it goes on with those there are.
            if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    if let Some(error) = failure.into_inner() {
        return Err(error);
    }
    // A mapping shows zeros behind the end: the size has to be what it was. And it is unknown how much
    // there is only by reading has to find no more.
    let is_as_told = fstat(file)?.size == file_bytes;
    let grown = read_fully(file, &mut [0; 1], file_bytes)? > 0;
    if ended.into_inner() || grown || !is_as_told || count < 2 {
        return Ok(None);
    }
    let values = values.into_inner();
    let context;
    let mode = match keying {
        Keying::None => Mode::Hash,
        Keying::Key(key) => Mode::KeyedHash(key),
        Keying::Context(text) => {
            context = hash_derive_key_context(text);
            Mode::DeriveKeyMaterial(&context)
        }
    };
    let (left, right) = halves(&values, file_bytes);
    let left_bytes = left.len() as u64 * SUBTREE_BYTES;
    let (left, right) = (join(left, left_bytes, mode), join(right, file_bytes - left_bytes, mode));
    Ok(Some(merge_subtrees_root_xof(&left, &right, mode)))
}

/// Cuts the subtrees of so many bytes where their common root has its two children.
fn halves(values: &[ChainingValue], bytes: u64) -> (&[ChainingValue], &[ChainingValue]) {
    let left = usize::try_from(left_subtree_len(bytes) / SUBTREE_BYTES).unwrap_or(values.len());
    values.split_at(left.min(values.len()))
}

fn join(values: &[ChainingValue], bytes: u64, mode: Mode<'_>) -> ChainingValue {
    if let [one] = values {
        return *one;
    }
    let (left, right) = halves(values, bytes);
    let left_bytes = left.len() as u64 * SUBTREE_BYTES;
    let (left, right) = (join(left, left_bytes, mode), join(right, bytes - left_bytes, mode));
    merge_subtrees_non_root(&left, &right, mode)
}

/// What a worker gets bytes with.
struct Hands {
    buffer: Vec<u8>,
    pane: Pane,
    may_map: bool,
}

/// Hashes a subtree; `None` if the file ends before it.
fn subtree(
    file: BorrowedFd<'_>,
    range: Range<u64>,
    keying: &Keying,
    hands: &mut Hands,
) -> Result<Option<ChainingValue>, CallError> {
    gentle::rest();
    if let Some(value) = subtree_in_place(file, range.clone(), keying, hands) {
        return Ok(Some(value));
    }
    let mut hasher = keying.hasher();
    hasher.set_input_offset(range.start);
    let mut offset = range.start;
    while offset < range.end {
        let most = usize::try_from(range.end - offset).unwrap_or(usize::MAX);
        let most = most.min(hands.buffer.len());
        let room = &mut hands.buffer[..most];
        gentle::rest();
        let filled = gentle::request(|| read_fully(file, &mut *room, offset))?;
        if filled < room.len() {
            return Ok(None);
        }
        hasher.update(room);
        offset += filled as u64;
    }
    Ok(Some(hasher.finalize_non_root()))
}

/// Hashes a subtree where it lies in the page cache. `None` where it does not, or not any more:
/// reading finds out what is the matter.
fn subtree_in_place(
    file: BorrowedFd<'_>,
    range: Range<u64>,
    keying: &Keying,
    hands: &mut Hands,
) -> Option<ChainingValue> {
    if !hands.may_map {
        return None;
    }
    let Ok(shown) = hands.pane.show(file, range.start, range.end - range.start) else {
        // Nor could the next part be.
        hands.may_map = false;
        return None;
    };
    shown?.look(|shown| {
        let mut hasher = keying.hasher();
        hasher.set_input_offset(range.start);
        hasher.update(shown);
        hasher.finalize_non_root()
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn the_tree_is_the_hash_whatever_the_size_and_the_workers() {
        // As a program does; then cached parts are hashed in place.
        haul_sys::memory::allow_looking();
        let unit = SUBTREE_BYTES as usize;
        let whole: Vec<u8> = (0..5 * unit + 4097).map(|at| (at * 31 + at / 977) as u8).collect();
        for bytes in [unit + 1, 2 * unit, 2 * unit + 1, 3 * unit - 1, 5 * unit + 4097] {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&whole[..bytes]).unwrap();
            for keying in
                [Keying::None, Keying::Key([7; 32]), Keying::Context("haul test".to_owned())]
            {
                let mut expected = [0; 100];
                keying.hasher().update(&whole[..bytes]).finalize_xof().fill(&mut expected);
                for workers in [1, 3] {
                    let workers = NonZero::new(workers).unwrap();
                    let tree = hash_tree(file.as_fd(), bytes as u64, &keying, workers).unwrap();
                    let mut digest = [0; 100];
                    tree.unwrap().fill(&mut digest);
                    assert_eq!(digest, expected, "{bytes} {keying:?}");
                }
            }
            let workers = NonZero::new(2).unwrap();
            for told in [bytes as u64 - 1, bytes as u64 + 1] {
                let tree = hash_tree(file.as_fd(), told, &Keying::None, workers).unwrap();
                assert!(tree.is_none(), "{bytes} told as {told}");
            }
        }
    }
}
