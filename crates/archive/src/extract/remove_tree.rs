//! Removes a directory with all that is in it, for `--recursive-unlink`.

use std::ffi::{CStr, CString};
use std::ops::ControlFlow;
use std::os::fd::{AsFd as _, OwnedFd};

use haul_sys::fs::{
    DirectoryBuffer, Follow, Kind, for_each_entry, open_directory, rmdirat, statat, unlinkat,
};
use haul_sys::{Call, CallError, Errno, Result};

/// Bytes of a buffer of directory entries: the C library's size.
const ENTRIES_BYTES: usize = 32 << 10;

/// Directories that are open at a time; a deeper tree is not removed.
const DEPTH_MAX: usize = 256;

/// Removes a directory, relative to descriptors: a link in it is removed and never followed. Blocks.
/// Stops at the first name that cannot be removed.
pub(super) fn remove_tree(parent: &OwnedFd, leaf: &CStr) -> Result<()> {
    remove(parent, leaf, DEPTH_MAX)
}

fn remove(parent: &OwnedFd, leaf: &CStr, depth: usize) -> Result<()> {
    let directory = open_directory(parent, leaf, Follow::No)?;
    let depth = depth.checked_sub(1).ok_or(CallError::new(Call::Openat, Errno::NAMETOOLONG))?;
    let mut buffer = DirectoryBuffer::new(ENTRIES_BYTES);
    let mut names: Vec<(CString, Option<Kind>)> = Vec::new();
    while for_each_entry(directory.as_fd(), &mut buffer, |entry| {
        names.push((entry.name.to_owned(), entry.kind));
        ControlFlow::Continue(())
    })? {}
    for (name, kind) in names {
        let kind = match kind {
            Some(kind) => kind,
            None => statat(&directory, &name)?.kind(),
        };
        match kind {
            Kind::Directory => remove(&directory, &name, depth)?,
            _ => unlinkat(&directory, &name)?,
        }
    }
    rmdirat(parent, leaf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_removed_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("d/e/f")).unwrap();
        std::fs::create_dir(at("out")).unwrap();
        std::fs::write(at("out/x"), "").unwrap();
        std::os::unix::fs::symlink("../../out", at("d/e/l")).unwrap();
        let parent = OwnedFd::from(std::fs::File::open(folder.path()).unwrap());
        remove_tree(&parent, c"d").unwrap();
        assert!(!at("d").exists() && at("out/x").exists());
    }
}
