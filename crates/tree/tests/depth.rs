//! Depth: chains of directories that no path could name, with few descriptors.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use haul_sys::fs::{CWD, Follow, mkdirat, open_directory, rmdirat};

use crate::support::{Outcome, Toy, grow};

/// Levels of a chain.
const DEPTH: usize = 100_000;

/// Makes a chain of directories and returns the descriptors of its top.
fn chain(top: &std::path::Path) -> Outcome<OwnedFd> {
    let path = CString::new(top.as_os_str().as_encoded_bytes())?;
    let mut directory = open_directory(CWD, &path, Follow::No)?;
    for _ in 0..DEPTH {
        mkdirat(&directory, c"d", 0o700)?;
        directory = open_directory(&directory, c"d", Follow::No)?;
    }
    Ok(directory)
}

/// Removes a chain from its end.
fn unchain(mut directory: OwnedFd) -> Outcome {
    for _ in 0..DEPTH {
        directory = open_directory(&directory, c"..", Follow::No)?;
        rmdirat(&directory, c"d")?;
    }
    Ok(())
}

#[test]
fn a_hundred_thousand_levels_need_few_descriptors_and_no_stack() -> Outcome {
    let scratch = tempfile::tempdir_in("/dev/shm")?;
    let end = chain(scratch.path())?;
    let toy = Toy::new(4, |_, _| {});
    let walked = toy.walk(scratch.path(), 2);
    unchain(end)?;
    walked?;
    assert_eq!(toy.failures.lock().len(), 0);
    assert_eq!(toy.entered.load(Ordering::Relaxed), DEPTH + 1);
    // And the list of operands.
    assert_eq!(toy.finished.load(Ordering::Relaxed), DEPTH + 2);
    Ok(())
}

#[test]
fn every_directory_is_finished_after_all_that_is_below_it() -> Outcome {
    let scratch = tempfile::tempdir()?;
    let top = scratch.path().join("top");
    std::fs::create_dir(&top)?;
    for (parent, child) in [("", "a"), ("a", "b"), ("a/b", "c"), ("", "x"), ("x", "y")] {
        std::fs::create_dir(top.join(parent).join(child))?;
    }
    for workers in [1, 4] {
        let toy = Toy::new(2, |_, _| {});
        toy.walk(&top, workers)?;
        let ends = toy.ends.lock();
        let at = |name: &str| ends.iter().position(|end| end.to_bytes() == name.as_bytes());
        for (below, above) in [("c", "b"), ("b", "a"), ("y", "x")] {
            assert!(at(below).is_some() && at(below) < at(above), "{below} {above}: {ends:?}");
        }
        assert_eq!(ends.last().map(|end| end.as_bytes().len()), Some(0), "the list comes last");
    }
    Ok(())
}

#[test]
fn every_entry_is_seen_once_however_few_directories_stay_open() -> Outcome {
    let scratch = tempfile::tempdir()?;
    grow(scratch.path(), 7, 4, 4)?;
    for (open, workers) in [(2, 1), (2, 4), (1000, 1), (1000, 4)] {
        let toy = Toy::new(open, |_, _| {});
        toy.walk(scratch.path(), workers)?;
        let directories = 1 + 4 + 16 + 64 + 256;
        assert_eq!(toy.entered.load(Ordering::Relaxed), directories, "{open} {workers}");
        assert_eq!(toy.files.load(Ordering::Relaxed), 7 * directories, "{open} {workers}");
        assert_eq!(toy.finished.load(Ordering::Relaxed), directories + 1, "{open} {workers}");
    }
    Ok(())
}
