//! Files to move: created, opened, described and compared.

use std::error::Error;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};

use haul_io::{DataPolicy, Device, Pair, Watch};
use haul_io::{FileJob, OpenFiles};
use haul_sys::fs::{Kind, Stat, fstat, fstatfs};

/// The result of every test, so that none needs to unwrap.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error>>;

pub(crate) const MIB: u64 = 1 << 20;

/// Sizes around blocks, requests, draws, and other limits at which the behaviour changes.
pub(crate) const SIZES: [u64; 15] = [
    0,
    1,
    511,
    512,
    4095,
    4096,
    4097,
    65_537,
    256 * 1024,
    MIB - 1,
    2 * MIB,
    2 * MIB + 1,
    4 * MIB + 4095,
    8 * MIB - 512,
    9 * MIB + 123,
];

/// Reports that a test, or a part of it, cannot run here. libtest can only ignore tests beforehand,
/// and hides the output of `println` when a test passes; this output is shown.
pub(crate) fn ignored(needs: &str) -> Outcome {
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    Ok(writeln!(std::io::stdout(), "ignored: {name} needs {needs}")?)
}

/// A folder on a file system.
pub(crate) struct Place {
    pub(crate) name: String,
    dir: tempfile::TempDir,
}

/// Every file system that `cargo xtask test` prepares.
const EXPECTED: [&str; 7] =
    ["ext4", "ext4-4k", "xfs", "xfs-noreflink", "btrfs", "tmpfs", "overlayfs"];

/// Returns a folder on each test file system, or the one for temporary files if there is none.
pub(crate) fn places() -> Outcome<Vec<Place>> {
    let list = std::env::var("HAUL_TEST_FS").unwrap_or_default();
    let mut places = Vec::new();
    for (name, path) in list.split(':').filter_map(|one| one.split_once('=')) {
        places.push(Place { name: name.to_owned(), dir: tempfile::tempdir_in(path)? });
    }
    let missing: Vec<&str> =
        EXPECTED.into_iter().filter(|name| !places.iter().any(|one| one.name == *name)).collect();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        if std::env::var_os("HAUL_TEST_FS_REQUIRED").is_some_and(|value| value == "1") {
            return Err(format!("HAUL_TEST_FS lacks {missing}").into());
        }
        ignored(&format!("{missing} in HAUL_TEST_FS"))?;
    }
    if places.is_empty() {
        places.push(place_with_room()?);
    }
    Ok(places)
}

/// Returns a folder for files that would fill a test file system.
pub(crate) fn place_with_room() -> Outcome<Place> {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    Ok(Place { name: "target".to_owned(), dir })
}

impl Place {
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Makes a source of this size without holes, in which every 8 bytes depend on their offset.
    pub(crate) fn dense(&self, size: u64) -> Outcome<Source> {
        let mut bytes = Vec::new();
        for word in 0..size.div_ceil(8) {
            bytes.extend_from_slice(&mixed(word).to_le_bytes());
        }
        bytes.truncate(usize::try_from(size)?);
        fs::write(self.at("source"), &bytes)?;
        Source::open(&self.at("source"), bytes)
    }

    /// Makes a source with holes: pieces of data as (offset, length).
    pub(crate) fn sparse(&self, size: u64, pieces: &[(u64, u64)]) -> Outcome<Source> {
        let file = File::create(self.at("source"))?;
        file.set_len(size)?;
        for (offset, length) in pieces {
            file.write_all_at(&vec![0xd5; usize::try_from(*length)?], *offset)?;
        }
        let bytes = fs::read(self.at("source"))?;
        Source::open(&self.at("source"), bytes)
    }

    /// Makes a new, empty target.
    pub(crate) fn target(&self) -> Outcome<File> {
        let path = self.at("target");
        if path.exists() {
            fs::remove_file(&path)?;
        }
        // Opened as the engine opens it: for writing only.
        Ok(File::options().write(true).create_new(true).open(path)?)
    }

    /// Returns the bytes that are allocated for a file when its data is on storage: while ext4 writes it, blocks
    /// count twice for a moment, as reserved and as allocated.
    pub(crate) fn allocated(&self, name: &str) -> Outcome<u64> {
        let file = File::open(self.at(name))?;
        file.sync_all()?;
        Ok(fstat(&file)?.blocks * 512)
    }

    pub(crate) fn target_bytes(&self) -> Outcome<Vec<u8>> {
        Ok(fs::read(self.at("target"))?)
    }
}

/// Spreads a number over all bits, so that no two places of a file are equal.
fn mixed(word: u64) -> u64 {
    let word = (word + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (word ^ word >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// An open source, its description when it was opened, and its bytes.
pub(crate) struct Source {
    path: PathBuf,
    pub(crate) file: File,
    pub(crate) stat: Stat,
    pub(crate) bytes: Vec<u8>,
}

impl Source {
    fn open(path: &Path, bytes: Vec<u8>) -> Outcome<Source> {
        let file = File::open(path)?;
        let stat = fstat(&file)?;
        Ok(Source { path: path.to_owned(), file, stat, bytes })
    }

    /// Opens the source again: methods change how a descriptor reads, and each run has its own.
    pub(crate) fn renew(&mut self) -> Outcome {
        self.file = File::open(&self.path)?;
        Ok(())
    }
}

/// Returns the pair of the two file systems.
pub(crate) fn pair(source: &File, target: &File) -> Outcome<Pair> {
    let side = |file: &File| -> Outcome<_> {
        Ok(Device { dev: fstat(file)?.dev, quirk: haul_io::quirk::of_magic(fstatfs(file)?.magic) })
    };
    Ok(Pair::new(side(source)?, side(target)?))
}

/// Returns the job of moving a source into a target.
pub(crate) fn job<'a>(
    source: &'a Source,
    target: &'a File,
    pair: &'a Pair,
    policy: &'a DataPolicy,
) -> FileJob<'a> {
    FileJob {
        source: source.file.as_fd(),
        target: target.as_fd(),
        stat: &source.stat,
        target_kind: Kind::Regular,
        pair,
        policy,
        extent: None,
        digests: None,
        open_files: OpenFiles::Own,
    }
}

/// The stop flag and the byte counter of a run.
#[derive(Default)]
pub(crate) struct Desk {
    pub(crate) stop: AtomicBool,
    pub(crate) bytes: AtomicU64,
}

impl Desk {
    pub(crate) fn watch(&self) -> Watch<'_> {
        Watch { stop: &self.stop, bytes: &self.bytes, pace: None }
    }
}

/// Asserts that two files are equal; prints only the first difference.
pub(crate) fn demand_same(got: &[u8], expected: &[u8], context: &str) {
    assert_eq!(got.len(), expected.len(), "{context}: length");
    let first = || got.iter().zip(expected).position(|(got, expected)| got != expected);
    // Equality of slices is one memcmp; byte by byte it takes longer than the copy.
    assert!(got == expected, "{context}: bytes differ from {:?} on", first());
}
