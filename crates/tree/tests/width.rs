//! Width: a directory with hundreds of thousands of entries, shared by workers.

use std::sync::atomic::{AtomicUsize, Ordering};

use haul_manifest::wait_until;
use haul_tree::Order;

use crate::support::{LARGE, Outcome, Toy, grow};

/// Entries of a wide directory.
const ENTRIES: usize = 300_000;

/// Makes a directory of that many names of two files; names are cheaper than files.
fn wide(top: &std::path::Path) -> Outcome {
    std::fs::write(top.join("0"), "")?;
    for index in 1..ENTRIES {
        std::fs::hard_link(top.join("0"), top.join(index.to_string()))?;
    }
    Ok(())
}

#[test]
fn each_of_300_000_entries_is_seen_once_by_one_of_the_workers() -> Outcome {
    let scratch = tempfile::tempdir_in("/dev/shm")?;
    wide(scratch.path())?;
    for workers in [1, 4] {
        let toy = Toy::new(8, |_, _| {});
        toy.walk(scratch.path(), workers)?;
        assert_eq!(toy.files.load(Ordering::Relaxed), ENTRIES, "{workers} workers");
        assert_eq!(toy.failures.lock().len(), 0);
        let threads = toy.threads.load(Ordering::Relaxed);
        assert!(workers > 1 || threads == 1, "{threads} threads");
    }
    Ok(())
}

/// Waits, as a worker that copies a large file, until a counter of the toy has reached a value.
fn wait_for(counter: &AtomicUsize, value: usize) {
    wait_until(&format!("{value} are counted"), || counter.load(Ordering::Relaxed) >= value);
}

#[test]
fn all_other_directories_are_walked_while_one_worker_has_a_large_file() -> Outcome {
    let scratch = tempfile::tempdir()?;
    grow(scratch.path(), 0, 3, 3)?;
    std::fs::write(scratch.path().join(LARGE.to_str()?), "")?;
    let toy = Toy::new(8, |toy, name| {
        if name == LARGE {
            wait_for(&toy.finished, 3 + 9 + 27);
        }
    });
    toy.walk(scratch.path(), 2)?;
    assert_eq!(toy.finished.load(Ordering::Relaxed), 2 + 3 + 9 + 27);
    Ok(())
}

#[test]
fn the_rest_of_a_directory_is_drawn_while_one_worker_has_a_large_file() -> Outcome {
    let scratch = tempfile::tempdir()?;
    grow(scratch.path(), 5000, 0, 0)?;
    std::fs::write(scratch.path().join(LARGE.to_str()?), "")?;
    let toy = Toy::new(8, |toy, name| {
        if name == LARGE {
            wait_for(&toy.files, 5000);
        }
    });
    toy.walk(scratch.path(), 2)?;
    assert_eq!(toy.files.load(Ordering::Relaxed), 5000);
    Ok(())
}

#[test]
fn a_listed_walk_has_one_worker_and_goes_down_at_once() -> Outcome {
    let scratch = tempfile::tempdir()?;
    grow(scratch.path(), 3, 3, 3)?;
    let mut toy = Toy::new(8, Toy::note);
    toy.order = Order::Listed;
    toy.walk(scratch.path(), 4)?;
    assert_eq!(toy.threads.load(Ordering::Relaxed), 1);
    assert_eq!(toy.files.load(Ordering::Relaxed), 3 * (1 + 3 + 9 + 27));
    assert_eq!(toy.seen.lock().values().sum::<usize>(), 3 * 40);
    Ok(())
}

#[test]
fn a_few_entries_start_no_thread() -> Outcome {
    let scratch = tempfile::tempdir()?;
    grow(scratch.path(), 3, 2, 2)?;
    let toy = Toy::new(8, |_, _| {});
    toy.walk(scratch.path(), 4)?;
    assert_eq!(toy.threads.load(Ordering::Relaxed), 1);
    Ok(())
}
