//! What goes wrong: directories that vanish or are replaced, a stop, a panic, few descriptors.

use std::ffi::CString;
use std::sync::atomic::Ordering;

use haul_sys::Errno;

use crate::support::{Outcome, Toy, grow};

#[test]
fn a_directory_that_vanishes_is_reported_and_the_rest_is_walked() -> Outcome {
    let scratch = tempfile::tempdir()?;
    for name in ["a", "b", "c"] {
        std::fs::create_dir(scratch.path().join(name))?;
        std::fs::write(scratch.path().join(name).join("file"), "")?;
    }
    std::fs::write(scratch.path().join("first"), "")?;
    let victim = scratch.path().join("b");
    let toy = Toy::new(8, move |_, name| {
        if name == c"first" {
            std::fs::remove_dir_all(&victim).unwrap_or_default();
        }
    });
    toy.walk(scratch.path(), 1)?;
    let failures = toy.failures.lock();
    let expected = [(CString::from(c"b"), Errno::NOENT)];
    assert_eq!(
        failures.iter().map(|(name, error)| (name.clone(), error.errno)).collect::<Vec<_>>(),
        expected
    );
    assert_eq!(toy.files.load(Ordering::Relaxed), 3);
    Ok(())
}

#[test]
fn a_directory_that_is_replaced_while_it_is_closed_is_refused() -> Outcome {
    let scratch = tempfile::tempdir()?;
    let moved = scratch.path().join("d0/d0");
    let aside = scratch.path().join("aside");
    std::fs::create_dir_all(&moved)?;
    // Whichever is read first, the others are opened from a directory that was closed meanwhile, and is another then.
    for branch in ["a", "b", "c"] {
        let branch = moved.join(branch);
        let bottom = branch.join("d0/d0/d0/d0/d0/d0");
        std::fs::create_dir_all(&bottom)?;
        std::fs::write(bottom.join("file"), "")?;
    }
    let toy = Toy::new(2, move |_, name| {
        if name == c"file" {
            std::fs::rename(&moved, &aside).unwrap_or_default();
            std::fs::create_dir(&moved).unwrap_or_default();
            std::fs::write(moved.join("stranger"), "").unwrap_or_default();
        }
        assert_ne!(name, c"stranger");
    });
    toy.walk(scratch.path(), 1)?;
    let failures = toy.failures.lock();
    assert!(!failures.is_empty(), "the directory was opened again by its name");
    assert!(failures.iter().all(|(_, error)| error.errno == Errno::STALE), "{failures:?}");
    assert_eq!(toy.finished.load(Ordering::Relaxed), toy.entered.load(Ordering::Relaxed) + 1);
    Ok(())
}

#[test]
fn a_stop_ends_the_walk_and_every_directory_is_settled() -> Outcome {
    let scratch = tempfile::tempdir()?;
    grow(scratch.path(), 50, 6, 3)?;
    for workers in [1, 4] {
        let toy = Toy::new(8, |toy, _| {
            if toy.files.load(Ordering::Relaxed) >= 1000 {
                toy.stop.store(true, Ordering::Relaxed);
            }
        });
        toy.walk(scratch.path(), workers)?;
        let files = toy.files.load(Ordering::Relaxed);
        assert!((1000..1000 + 64 * workers).contains(&files), "{files}");
        assert_eq!(toy.finished.load(Ordering::Relaxed), toy.entered.load(Ordering::Relaxed) + 1);
    }
    Ok(())
}

#[test]
fn a_panic_in_one_worker_reaches_the_caller_and_the_others_end() -> Outcome {
    let scratch = tempfile::tempdir()?;
    grow(scratch.path(), 50, 6, 3)?;
    for workers in [1, 4] {
        let toy = Toy::new(8, |toy, _| {
            assert!(toy.files.load(Ordering::Relaxed) != 5000, "the toy panics");
        });
        let walked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            toy.walk(scratch.path(), workers).is_ok()
        }));
        assert!(walked.is_err(), "{workers} workers");
    }
    Ok(())
}

#[test]
fn twenty_descriptors_are_enough() -> Outcome {
    let scratch = tempfile::tempdir()?;
    grow(scratch.path(), 2, 3, 6)?;
    // A process of its own, since the limit is the process's.
    let words = ["--exact", "failures::a_cache_larger_than_the_limit_gives_way", "--nocapture"];
    let status = std::process::Command::new("sh")
        .arg("-c")
        .arg("ulimit -n 20; exec \"$@\"")
        .arg("sh")
        .arg(std::env::current_exe()?)
        .args(words)
        .env("HAUL_TREE_TOP", scratch.path())
        .output()?;
    let text = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(status.status.success() && text.contains("1 passed"), "{status:?}");
    Ok(())
}

#[test]
fn a_cache_larger_than_the_limit_gives_way() -> Outcome {
    let scratch = tempfile::tempdir()?;
    let given = std::env::var_os("HAUL_TREE_TOP").map(std::path::PathBuf::from);
    if given.is_none() {
        grow(scratch.path(), 2, 3, 6)?;
    }
    let toy = Toy::new(64, |_, _| {});
    toy.walk(given.as_deref().unwrap_or(scratch.path()), 2)?;
    assert_eq!(toy.failures.lock().len(), 0);
    assert_eq!(toy.entered.load(Ordering::Relaxed), 1 + 3 + 9 + 27 + 81 + 243 + 729);
    Ok(())
}
