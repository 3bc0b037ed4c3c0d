//! Common code of the tests: folders, running the program, comparing trees.

pub(crate) mod described;
pub(crate) mod failing;
pub(crate) mod fence;
pub(crate) mod filter;
pub(crate) mod gnu;
pub(crate) mod image;
pub(crate) mod judge;
pub(crate) mod mounting;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod scratch;
pub(crate) mod shell;
pub(crate) mod slow;
pub(crate) mod state;
pub(crate) mod stepper;
pub(crate) mod strace;
pub(crate) mod tar;
pub(crate) mod unallocatable;
pub(crate) mod versus;
pub(crate) mod volume;

use std::error::Error;
use std::fs::DirEntry;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The result of every test, so that none needs to unwrap.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Distinguishes a missing entry from one that cannot be examined, which is an error of every test.
pub(crate) fn if_there<T>(looked: std::io::Result<T>) -> Outcome<Option<T>> {
    match looked {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Lists a folder; a missing one is empty.
pub(crate) fn entries(dir: &Path) -> Outcome<Vec<DirEntry>> {
    let Some(entries) = if_there(std::fs::read_dir(dir))? else { return Ok(Vec::new()) };
    Ok(entries.collect::<std::io::Result<_>>()?)
}

/// Returns the bytes that are allocated for a file when its data is on storage: while ext4 writes it, blocks count
/// twice for a moment, as reserved and as allocated.
pub(crate) fn allocated(path: &Path) -> Outcome<u64> {
    let file = std::fs::File::open(path)?;
    file.sync_all()?;
    Ok(file.metadata()?.blocks() * 512)
}

/// Lists the entries with haul's hidden names in a folder, in order.
pub(crate) fn hidden(dir: &Path) -> Outcome<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = entries(dir)?.iter().map(DirEntry::path).collect();
    found.retain(|path| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".haul-"))
    });
    found.sort();
    Ok(found)
}

/// Reports that a test, or a part of it, cannot run here. libtest can only ignore tests beforehand,
/// and hides the output of `println` when a test passes; this output is shown.
pub(crate) fn ignored(needs: &str) -> Outcome {
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    Ok(writeln!(std::io::stdout(), "ignored: {name} needs {needs}")?)
}

/// Returns whether this runs as root; otherwise the test is ignored.
pub(crate) fn is_root() -> Outcome<bool> {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        ignored("root")?;
    }
    Ok(is_root)
}

/// Finds a program on PATH; without it the test is ignored.
pub(crate) fn has(program: &str) -> Outcome<bool> {
    let found = which(program).is_some();
    if !found {
        ignored(program)?;
    }
    Ok(found)
}

/// Finds a program on PATH or among the administrator's programs.
pub(crate) fn which(program: &str) -> Option<PathBuf> {
    let mut dirs: Vec<PathBuf> =
        std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    dirs.extend(["/usr/sbin".into(), "/sbin".into()]);
    dirs.into_iter().map(|dir| dir.join(program)).find(|path| path.is_file())
}
