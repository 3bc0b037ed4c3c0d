//! Removal affects only the contents of the named directory, whatever its links point to.

use std::ffi::{CString, OsStr};
use std::fs::{self, File};
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use haul_manifest::{Action, Failure, remove_entry, remove_tree};
use rustix::mount::{UnmountFlags, mount_bind, unmount};

use crate::support::{Outcome, Scratch, is_root};

/// A mount that lasts until the end of the test.
struct Bound(PathBuf);

impl Bound {
    fn new(source: &Path, point: &Path) -> Outcome<Self> {
        mount_bind(source, point)?;
        Ok(Self(point.to_owned()))
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        let result = unmount(&self.0, UnmountFlags::DETACH);
        if !std::thread::panicking() {
            assert_eq!(result, Ok(()));
        }
    }
}

fn in_directory(directory: &Path, name: &str) -> Outcome<Result<(), Failure>> {
    let directory = File::open(directory)?;
    Ok(remove_entry(directory.as_fd(), &CString::new(name)?))
}

#[test]
fn what_is_mounted_in_a_tree_is_neither_entered_nor_taken_off() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    fs::create_dir(scratch.b())?;
    fs::write(scratch.b().join("precious"), "data")?;
    for (point, root) in [("sub/deep/point", "sub"), ("point", "point")] {
        let full = scratch.a().join(point);
        fs::create_dir_all(&full)?;
        // The same device on both sides: only the mount differs.
        let bound = Bound::new(&scratch.b(), &full)?;
        let whole = scratch.a().join(root);
        for removed in [remove_tree(&whole), in_directory(&scratch.a(), root)?] {
            let failure = removed.err().ok_or("it was removed")?;
            assert_eq!(failure.action, Action::EnterMount, "{failure}");
            assert!(failure.to_string().contains("what is mounted there"), "{failure}");
        }
        assert!(full.join("precious").exists());
        drop(bound);
        remove_tree(&whole)?;
        assert_eq!(fs::read(scratch.b().join("precious"))?, b"data");
    }
    Ok(())
}

#[test]
fn an_entry_of_an_open_directory_is_removed_wherever_its_path_leads_by_now() -> Outcome {
    let scratch = Scratch::new()?;
    fs::create_dir_all(scratch.a().join("tree/sub"))?;
    fs::create_dir_all(scratch.b().join("tree/sub"))?;
    fs::write(scratch.b().join("tree/precious"), "data")?;
    let directory = File::open(scratch.a())?;
    // Another process replaces the directory by a link to a similar one.
    let moved = scratch.a().with_file_name("moved");
    fs::rename(scratch.a(), &moved)?;
    std::os::unix::fs::symlink(scratch.b(), scratch.a())?;
    remove_entry(directory.as_fd(), c"tree")?;
    assert!(!moved.join("tree").exists());
    assert!(scratch.b().join("tree/precious").exists());
    // The link itself is an ordinary entry.
    remove_tree(&scratch.a())?;
    assert!(scratch.b().join("tree/precious").exists());
    Ok(())
}

#[test]
fn a_path_without_a_name_at_its_end_is_refused() -> Outcome {
    let scratch = Scratch::new()?;
    fs::create_dir_all(scratch.a().join("sub"))?;
    for path in [scratch.a().join("sub/.."), PathBuf::from("/"), PathBuf::new()] {
        let failure = remove_tree(&path).err().ok_or("it was removed")?;
        assert_eq!(failure.to_io_error().kind(), std::io::ErrorKind::InvalidInput);
    }
    assert!(remove_tree(Path::new(OsStr::from_bytes(b"a\0b"))).is_err());
    assert!(scratch.a().join("sub").exists());
    Ok(())
}
