//! The effects of the cache policies, measured.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

use haul_io::residency::{Asked, cached_bytes};
use haul_io::{Cache, DataPolicy, Reflink};
use haul_manifest::wait_until;
use haul_sys::data::{Advice, fadvise, pread};

use super::support::{Place, Workers, assert_equal, copy, make, places, quirk_of};

const MIB: u64 = 1 << 20;
const SIZE: u64 = 48 * MIB + 1000;

/// Bytes of two files that may stay cached although none should: a few pages that the kernel (a
/// flusher, readahead) holds at that moment.
const LEFT_BYTES: u64 = 64 << 10;

fn asked(file: &File) -> Asked<'_> {
    Asked { fd: file.as_fd(), quirk: quirk_of(file) }
}

fn cached(path: &Path) -> u64 {
    let file = File::open(path).unwrap();
    let size = file.metadata().unwrap().len();
    cached_bytes(asked(&file), 0, size).unwrap()
}

/// Pages under writeback are dropped when that ends, a little later.
fn cached_at_last(path: &Path) -> u64 {
    wait_until("its pages are dropped", || cached(path) <= LEFT_BYTES);
    cached(path)
}

fn forget(path: &Path) {
    let file = File::open(path).unwrap();
    file.sync_all().unwrap();
    fadvise(&file, 0, 0, Advice::DontNeed).unwrap();
}

fn has_a_device(place: &Place) -> bool {
    let has = !matches!(place.name.as_str(), "tmpfs" | "temporary");
    if !has {
        println!("ignored: {} may be nothing but page cache", place.name);
    }
    has
}

fn policy(cache: Cache) -> DataPolicy {
    DataPolicy { cache, reflink: Reflink::Never, ..DataPolicy::PLAIN }
}

#[test]
fn drop_and_direct_leave_nothing() {
    for place in places().iter().filter(|place| has_a_device(place)) {
        let (source, target) = (place.path.join("source"), place.path.join("target"));
        for size in [1, 100_000, MIB, SIZE] {
            make(&source, size, std::slice::from_ref(&(0..size)));
            for cache in [Cache::Drop, Cache::Direct] {
                for workers in [Workers::One, Workers::Several] {
                    let what = format!("{cache:?}, {size} bytes, {workers:?}, {}", place.name);
                    copy(&policy(cache), workers, &source, &target).unwrap();
                    let (one, two) = (cached(&source), cached_at_last(&target));
                    assert!(one <= LEFT_BYTES, "{what}: {one} bytes of the source are cached");
                    assert!(two <= LEFT_BYTES, "{what}: {two} bytes of the target are cached");
                    assert_equal(&what, &source, &target);
                }
            }
        }
    }
}

#[test]
fn keep_leaves_both() {
    for place in places() {
        let (source, target) = (place.path.join("source"), place.path.join("target"));
        make(&source, SIZE, std::slice::from_ref(&(0..SIZE)));
        copy(&policy(Cache::Keep), Workers::Several, &source, &target).unwrap();
        assert!(cached(&source) >= SIZE, "{}", place.name);
        assert!(cached(&target) >= SIZE, "{}", place.name);
    }
}

#[test]
fn restore_keeps_what_was_there_and_nothing_else() {
    for place in places().iter().filter(|place| has_a_device(place)) {
        let (source, target) = (place.path.join("source"), place.path.join("target"));
        make(&source, SIZE, std::slice::from_ref(&(0..SIZE)));
        for warm in [0..0, 0..4 * MIB, 8 * MIB..40 * MIB, 0..SIZE] {
            forget(&source);
            let file = File::open(&source).unwrap();
            // Readahead goes on after a read has returned.
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random).unwrap();
            let mut at = warm.start;
            while at < warm.end {
                let mut page = [0; 4096];
                pread(&file, &mut page, at).unwrap();
                at += 4096;
            }
            let before = cached(&source);
            copy(&policy(Cache::Restore), Workers::Several, &source, &target).unwrap();
            let after = cached(&source);
            let what = format!("{warm:?}, {}", place.name);
            assert!(after.abs_diff(before) <= LEFT_BYTES, "{what}: {before} before, {after} after");
            let left = cached_at_last(&target);
            assert!(left <= LEFT_BYTES, "{what}: {left} bytes of the target are cached");
            assert_equal(&what, &source, &target);
        }
    }
}

#[test]
fn a_range_that_is_not_cached_is_found_to_the_page() {
    for place in places().iter().filter(|place| has_a_device(place)) {
        let source = place.path.join("source");
        make(&source, SIZE, std::slice::from_ref(&(0..SIZE)));
        let file = File::open(&source).unwrap();
        let mut bytes = vec![0; SIZE as usize];
        let mut at = 0;
        while at < SIZE {
            at += pread(&file, &mut bytes, at).unwrap() as u64;
        }
        let dropped = 7 * MIB..9 * MIB + 8192;
        fadvise(&file, dropped.start, dropped.end - dropped.start, Advice::DontNeed).unwrap();
        let absent = haul_io::residency::absent(asked(&file), 0..SIZE);
        let total: u64 = absent.iter().map(|range| range.end - range.start).sum();
        let cached = cached_bytes(asked(&file), 0, SIZE).unwrap();
        assert_eq!(total, SIZE.next_multiple_of(4096) - cached, "{}: {absent:?}", place.name);
    }
}
