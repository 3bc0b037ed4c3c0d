//! Test folders, files with known bytes, and a copy by one worker or several.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use haul_io::method::Sharing;
use haul_io::transfer::{Transfer, is_worth_sharing, move_file};
use haul_io::{DataError, DataPolicy, Device, Kit, MethodId, Moved, Pair, Quirk, Watch, quirk};
use haul_io::{FileJob, OpenFiles};
use haul_sys::fs::{Kind, fstat, fstatfs};

/// A folder on a file system, removed when dropped.
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

impl Drop for Place {
    fn drop(&mut self) {
        let _left = std::fs::remove_dir_all(&self.path);
    }
}

/// Every file system that `cargo xtask test` prepares.
const EXPECTED: [&str; 7] =
    ["ext4", "ext4-4k", "xfs", "xfs-noreflink", "btrfs", "tmpfs", "overlayfs"];

/// Returns a folder on each test file system (`HAUL_TEST_FS`, `name=path:…`), or one for temporary
/// files if there are none.
pub(crate) fn places() -> Vec<Place> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let list = std::env::var("HAUL_TEST_FS").unwrap_or_default();
    let mut found: Vec<(String, PathBuf)> = list
        .split(':')
        .filter_map(|one| one.split_once('='))
        .map(|(name, path)| (name.to_owned(), path.into()))
        .collect();
    for name in EXPECTED {
        if !found.iter().any(|(other, _)| other == name) {
            let required = std::env::var_os("HAUL_TEST_FS_REQUIRED").is_some_and(|it| it == "1");
            assert!(!required, "HAUL_TEST_FS lacks {name}");
            println!("ignored: {name} is not in HAUL_TEST_FS");
        }
    }
    if found.is_empty() {
        found.push(("temporary".to_owned(), std::env::temp_dir()));
    }
    found
        .into_iter()
        .map(|(name, path)| {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = path.join(format!("haul-io-{}-{number}", std::process::id()));
            std::fs::create_dir(&path).unwrap();
            Place { name, path }
        })
        .collect()
}

/// Makes bytes that are never zero and nowhere the same for long.
pub(crate) fn bytes_at(offset: u64, length: usize) -> Vec<u8> {
    let before = (offset % 8) as usize;
    let mut bytes = Vec::with_capacity(before + length + 8);
    for word in offset / 8..(offset + length as u64).div_ceil(8) {
        let mixed = word.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 0x0101_0101_0101_0101;
        bytes.extend_from_slice(&mixed.to_be_bytes());
    }
    bytes.truncate(before + length);
    bytes.drain(..before);
    bytes
}

/// Makes a file with data in these ranges and holes elsewhere.
pub(crate) fn make(path: &Path, size: u64, data: &[Range<u64>]) {
    let file = File::create(path).unwrap();
    file.set_len(size).unwrap();
    for range in data {
        let mut at = range.start;
        while at < range.end {
            let length = (range.end - at).min(1 << 20) as usize;
            file.write_all_at(&bytes_at(at, length), at).unwrap();
            at += length as u64;
        }
    }
    file.sync_all().unwrap();
}

/// Panics unless both files have the same bytes and, in these ranges, the bytes of [`make`].
pub(crate) fn assert_equal(what: &str, source: &Path, target: &Path) {
    let (one, two) = (File::open(source).unwrap(), File::open(target).unwrap());
    let size = one.metadata().unwrap().len();
    assert_eq!(two.metadata().unwrap().len(), size, "{what}: sizes");
    // Only where one of them has data: both are zero elsewhere.
    let mut compared: Vec<Range<u64>> = Vec::new();
    for file in [&one, &two] {
        let earlier = compared.clone();
        let mut at = 0;
        while let Ok(start) = haul_sys::data::seek_data(file.as_fd(), at) {
            at = haul_sys::data::seek_hole(file.as_fd(), start).unwrap();
            let range = start..at.min(size);
            if !earlier.iter().any(|done| done.start <= range.start && range.end <= done.end) {
                compare(what, &one, &two, range.clone());
                compared.push(range);
            }
        }
    }
}

fn compare(what: &str, one: &File, two: &File, range: Range<u64>) {
    let (mut left, mut right) = (vec![0; 1 << 20], vec![0; 1 << 20]);
    let mut at = range.start;
    while at < range.end {
        let length = (range.end - at).min(1 << 20) as usize;
        one.read_exact_at(&mut left[..length], at).unwrap();
        two.read_exact_at(&mut right[..length], at).unwrap();
        // Equality of slices is one memcmp; byte by byte it takes longer than the copy.
        if left[..length] != right[..length] {
            let different = left.iter().zip(&right).position(|(a, b)| a != b);
            panic!("{what}: first difference at {different:?} from {at}");
        }
        at += length as u64;
    }
}

pub(crate) fn quirk_of(file: &File) -> &'static Quirk {
    quirk::of_magic(fstatfs(file).unwrap().magic)
}

/// The number of workers that move a file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Workers {
    One,
    /// Three, if several workers can share the file with this method.
    Several,
}

/// Copies a file to a new one.
pub(crate) fn copy(
    policy: &DataPolicy,
    workers: Workers,
    source: &Path,
    target: &Path,
) -> Result<Moved, DataError> {
    copy_while(policy, workers, (source, target), |_| {})
}

/// Copies a file to a new one, and calls a function on the source once it is open and described.
pub(crate) fn copy_while(
    policy: &DataPolicy,
    workers: Workers,
    (source, target): (&Path, &Path),
    meanwhile: impl FnOnce(&Path),
) -> Result<Moved, DataError> {
    let _absent = std::fs::remove_file(target);
    let from = File::open(source).unwrap();
    let to = File::options().write(true).create_new(true).open(target).unwrap();
    let stat = fstat(&from).unwrap();
    let to_stat = fstat(&to).unwrap();
    let pair = Pair::new(
        Device { dev: stat.dev, quirk: quirk_of(&from) },
        Device { dev: to_stat.dev, quirk: quirk_of(&to) },
    );
    let job = FileJob {
        source: from.as_fd(),
        target: to.as_fd(),
        stat: &stat,
        target_kind: Kind::Regular,
        pair: &pair,
        policy,
        extent: None,
        digests: None,
        open_files: OpenFiles::Own,
    };
    let (stop, bytes) = (AtomicBool::new(false), AtomicU64::new(0));
    let watch = Watch { stop: &stop, bytes: &bytes, pace: None };
    meanwhile(source);
    match workers {
        Workers::Several if is_worth_sharing(&job) => {
            let transfer = Transfer::new(&job, Sharing::Several);
            transfer.prepare(&job, &mut Kit::new(), watch)?;
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| transfer.work(&job, &mut Kit::new(), watch));
                }
            });
            transfer.finish(&job, &mut Kit::new(), watch)
        }
        _ => move_file(&job, &mut Kit::new(), watch),
    }
}

/// Returns every method and its name.
pub(crate) fn methods() -> impl Iterator<Item = (MethodId, &'static str)> {
    MethodId::ALL.into_iter().map(|method| (method, method.name()))
}

/// Returns the bytes that are allocated for a file when its data is on storage: while ext4 writes it, blocks count
/// twice for a moment, as reserved and as allocated.
pub(crate) fn allocated(path: &Path) -> u64 {
    let file = File::open(path).unwrap();
    file.sync_all().unwrap();
    fstat(file).unwrap().blocks * 512
}

/// Returns whether an error means that a method does not support this file or file system.
pub(crate) fn is_refusal(error: DataError) -> bool {
    matches!(error, DataError::Unfit { .. } | DataError::Refused { .. })
        || matches!(error, DataError::Call(error) if error.call == haul_sys::Call::Ficlone)
}

/// The refused methods and their file systems. A refusal is allowed, but is printed.
#[derive(Default)]
pub(crate) struct Refused {
    times: BTreeMap<String, u64>,
}

impl Refused {
    pub(crate) fn note(&mut self, method: &str, place: &str, error: DataError) {
        let why = match error {
            DataError::Refused { cause: error, .. } | DataError::Call(error) => {
                format!("{}: {}", error.call, error.text())
            }
            DataError::Unfit { why, .. } => why.to_owned(),
            other => format!("{other:?}"),
        };
        *self.times.entry(format!("{method} on {place}: {why}")).or_default() += 1;
    }

    pub(crate) fn tell(&self) {
        for (what, times) in &self.times {
            println!("ignored: {what} ({times} copies)");
        }
    }
}
