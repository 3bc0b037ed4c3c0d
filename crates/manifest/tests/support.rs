//! Support for the tests: a scratch directory, a pair of equal trees, one expected difference.

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use haul_manifest::{
    Aspects, CompareOptions, Comparison, Item, What, compare, create_tree, remove_tree,
};
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, statat, utimensat};

/// Return type of every test, so that none needs to unwrap.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// A private directory for two trees.
pub(crate) struct Scratch {
    dir: tempfile::TempDir,
}

impl Scratch {
    pub(crate) fn new() -> Outcome<Self> {
        Self::below(Path::new(env!("CARGO_TARGET_TMPDIR")))
    }

    /// Creates the directory in a given one, which may be on another file system.
    pub(crate) fn below(parent: &Path) -> Outcome<Self> {
        Ok(Self { dir: tempfile::tempdir_in(parent)? })
    }

    pub(crate) fn a(&self) -> PathBuf {
        self.dir.path().join("a")
    }

    pub(crate) fn b(&self) -> PathBuf {
        self.dir.path().join("b")
    }

    /// Creates the same tree twice.
    pub(crate) fn twins(items: &[Item]) -> Outcome<Self> {
        let scratch = Self::new()?;
        for root in [scratch.a(), scratch.b()] {
            create_tree(&root, items.to_vec())?;
        }
        Ok(scratch)
    }

    pub(crate) fn compare(&self, aspects: Aspects) -> Comparison {
        compare(&self.a(), &self.b(), &CompareOptions::new(aspects))
    }

    /// Compares all aspects, and asserts that `expected` at `path` is the only difference.
    pub(crate) fn expect_only(&self, path: &str, expected: &What) {
        let comparison = self.compare(Aspects::all());
        let found: Vec<_> = comparison.differences().collect();
        assert_eq!(comparison.findings.len(), 1, "{:?}", comparison.findings);
        assert_eq!(found[0].path.as_bytes(), path.as_bytes());
        assert_eq!(found[0].what, *expected);
        assert_eq!(comparison.summary.differences.get(expected.label()), Some(&1));
    }
}

/// The trees may be too deep, or have modes too strict, for the standard library to remove.
impl Drop for Scratch {
    fn drop(&mut self) {
        for root in [self.a(), self.b()] {
            let result = remove_tree(&root);
            // A missing tree is not an error; an error during a panic adds no information.
            if root.symlink_metadata().is_ok() && !std::thread::panicking() {
                assert_eq!(result, Ok(()));
            }
        }
    }
}

/// Changes `path`, and restores the times of it and of its parent directory.
pub(crate) fn keeping_times(path: &Path, act: impl FnOnce(&Path) -> Outcome) -> Outcome {
    let parent = path.parent().unwrap_or(path);
    let before = [path, parent].map(|path| statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW));
    act(path)?;
    for (path, stat) in [path, parent].into_iter().zip(before) {
        let stat = stat?;
        let time = |tv_sec, tv_nsec: u64| Timespec { tv_sec, tv_nsec: tv_nsec.cast_signed() };
        let times = Timestamps {
            last_access: time(stat.st_atime, stat.st_atime_nsec),
            last_modification: time(stat.st_mtime, stat.st_mtime_nsec),
        };
        // The change may have removed it.
        match utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// Changes one byte of a file, which may lie in a hole, and nothing else.
pub(crate) fn flip_byte(path: &Path, offset: u64) -> Outcome {
    use std::os::unix::fs::FileExt as _;
    keeping_times(path, |path| {
        let file = fs::File::options().read(true).write(true).open(path)?;
        let mut byte = [0];
        file.read_exact_at(&mut byte, offset)?;
        file.write_all_at(&[!byte[0]], offset)?;
        Ok(())
    })
}

/// Reports that a test, or a part of it, cannot run here. libtest can only ignore tests in advance,
/// and hides the output of `eprintln` if a test passes; this output is visible.
pub(crate) fn ignored(needs: &str) -> Outcome {
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    Ok(writeln!(std::io::stderr(), "ignored: {name} needs {needs}")?)
}

/// Returns whether the test runs as root; if not, reports the test as ignored.
pub(crate) fn is_root() -> Outcome<bool> {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        ignored("root")?;
    }
    Ok(is_root)
}

/// Returns a path below a root from raw bytes.
pub(crate) fn below(root: &Path, path: &[u8]) -> PathBuf {
    root.join(std::ffi::OsStr::from_bytes(path))
}
