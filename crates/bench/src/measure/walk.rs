//! Walks a tree and opens its regular files, for warming, cooling and counting pages.

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

/// Calls `visit` for each regular file at or below `root`, opened for reading, in the order of the
/// directories. Follows no symbolic link.
pub(super) fn each_file(
    root: &Path,
    interrupt: &AtomicBool,
    visit: &mut dyn FnMut(&Path, &File) -> Result<()>,
) -> Result<()> {
    let mut waiting: Vec<PathBuf> = Vec::new();
    let meta = fs::symlink_metadata(root).map_err(Error::file("stat", root))?;
    if meta.is_dir() {
        waiting.push(root.to_owned());
    } else if meta.is_file() {
        return open_and(root, visit);
    }
    while let Some(directory) = waiting.pop() {
        if interrupt.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let entries = fs::read_dir(&directory).map_err(Error::file("list", &directory))?;
        for entry in entries {
            let entry = entry.map_err(Error::file("list", &directory))?;
            let kind = entry.file_type().map_err(Error::file("stat", &directory))?;
            if kind.is_dir() {
                waiting.push(entry.path());
            } else if kind.is_file() {
                open_and(&entry.path(), visit)?;
            }
        }
    }
    Ok(())
}

fn open_and(path: &Path, visit: &mut dyn FnMut(&Path, &File) -> Result<()>) -> Result<()> {
    // Opening must not block on a FIFO that a tool has created in place of a file.
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits();
    let flags = i32::try_from(flags).unwrap_or(0);
    let opened = fs::OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = opened.map_err(Error::file("open", path))?;
    visit(path, &file)
}
