//! Every method × file system × size class × number of workers: the same bytes, and the same holes.

use haul_io::{Cache, Choice, DataPolicy, MethodId, Reflink, Sparse};

use super::support::{
    Refused, Workers, allocated, assert_equal, copy, is_refusal, make, methods, places,
};

const MIB: u64 = 1 << 20;

/// Sizes at which errors have occurred: blocks, pages, requests, ranges, and one byte more and less.
const SIZES: [u64; 16] = [
    0,
    1,
    511,
    512,
    513,
    4095,
    4096,
    4097,
    MIB - 1,
    MIB,
    MIB + 1,
    4 * MIB,
    9 * MIB + 513,
    16 * MIB,
    17 * MIB - 1,
    33 * MIB + 4095,
];

/// Methods that must work on each file system, so that a test cannot pass because nothing ran.
fn must_serve(method: &str, place: &str) -> bool {
    match method {
        "read-write" | "sendfile" | "splice" | "mmap-write" => true,
        "direct" => !matches!(place, "tmpfs" | "temporary" | "overlayfs"),
        "uncached" => matches!(place, "ext4" | "ext4-4k" | "xfs" | "xfs-noreflink"),
        "reflink" => matches!(place, "xfs" | "btrfs"),
        _ => false,
    }
}

/// Returns the numbers of workers that make a difference: several share no file of less than 8 MiB.
fn workers(size: u64) -> &'static [Workers] {
    let all = &[Workers::One, Workers::Several];
    if size < 8 * MIB { &all[..1] } else { all }
}

fn policy(method: MethodId) -> DataPolicy {
    DataPolicy { choice: Choice::Only(method), ..DataPolicy::PLAIN }
}

#[test]
fn every_method_moves_every_size_on_every_file_system() {
    let mut refused = Refused::default();
    for place in places() {
        let (source, target) = (place.path.join("source"), place.path.join("target"));
        for size in SIZES {
            make(&source, size, std::slice::from_ref(&(0..size)));
            for (method, name) in methods() {
                for workers in workers(size) {
                    let what = format!("{name}, {size} bytes, {workers:?}, {}", place.name);
                    match copy(&policy(method), *workers, &source, &target) {
                        Ok(moved) => {
                            assert_equal(&what, &source, &target);
                            assert_eq!(moved.bytes, size, "{what}");
                        }
                        Err(error) if is_refusal(error) && !must_serve(name, &place.name) => {
                            refused.note(name, &place.name, error);
                        }
                        Err(error) => panic!("{what}: {error:?}"),
                    }
                }
            }
        }
    }
    refused.tell();
}

#[test]
fn requests_of_every_size_give_the_same_bytes() {
    for place in places() {
        let (source, target) = (place.path.join("source"), place.path.join("target"));
        let size = 9 * MIB + 513;
        make(&source, size, std::slice::from_ref(&(0..size)));
        for (method, name) in methods() {
            for io_bytes in [4096, 12 << 10, 8 << 20, 16 << 20] {
                let policy =
                    DataPolicy { io_bytes: Some(io_bytes), queue_depth: Some(3), ..policy(method) };
                let what = format!("{name}, requests of {io_bytes}, {}", place.name);
                match copy(&policy, Workers::Several, &source, &target) {
                    Ok(_) => assert_equal(&what, &source, &target),
                    Err(error) => assert!(is_refusal(error), "{what}: {error:?}"),
                }
            }
        }
    }
}

#[test]
fn every_cache_policy_copies_every_size() {
    for place in places() {
        let (source, target) = (place.path.join("source"), place.path.join("target"));
        for size in SIZES {
            make(&source, size, std::slice::from_ref(&(0..size)));
            for cache in [Cache::Auto, Cache::Keep, Cache::Drop, Cache::Direct, Cache::Restore] {
                // Elsewhere no block can be shared, so that `Never` shows nothing more.
                let shares = matches!(place.name.as_str(), "xfs" | "xfs-noreflink" | "btrfs");
                for reflink in &[Reflink::Auto, Reflink::Never][..1 + usize::from(shares)] {
                    for workers in workers(size) {
                        let policy = DataPolicy { cache, reflink: *reflink, ..DataPolicy::PLAIN };
                        let what = format!("{cache:?}, {size} bytes, {workers:?}, {}", place.name);
                        let moved = copy(&policy, *workers, &source, &target);
                        assert!(moved.is_ok(), "{what}: {moved:?}");
                        assert_equal(&what, &source, &target);
                    }
                }
            }
        }
    }
}

#[test]
fn holes_stay_holes_in_a_file_of_five_gib() {
    const SIZE: u64 = 5 << 30;
    let mut refused = Refused::default();
    let data = [0..MIB + 5, 2 << 30..(2 << 30) + 8192, SIZE - 4097..SIZE];
    for place in places() {
        let (source, target) = (place.path.join("source"), place.path.join("target"));
        make(&source, SIZE, &data);
        for (method, name) in methods() {
            let what = format!("{name}, sparse, {}", place.name);
            match copy(&policy(method), Workers::Several, &source, &target) {
                Ok(_) => {
                    assert_equal(&what, &source, &target);
                    let allocated = allocated(&target);
                    assert!(allocated <= 4 * MIB, "{what}: {allocated} bytes are allocated");
                }
                Err(error) if is_refusal(error) && !must_serve(name, &place.name) => {
                    refused.note(name, &place.name, error);
                }
                // overlayfs is not trusted about holes, so zeros are skipped, which few methods can.
                Err(error) if is_refusal(error) && place.name == "overlayfs" => {}
                Err(error) => panic!("{what}: {error:?}"),
            }
        }
        for cache in [Cache::Keep, Cache::Drop, Cache::Direct, Cache::Restore] {
            if place.name == "overlayfs" {
                // Reading five gibibytes of zeros four times would show nothing more.
                break;
            }
            let policy = DataPolicy { cache, reflink: Reflink::Never, ..DataPolicy::PLAIN };
            let what = format!("{cache:?}, sparse, {}", place.name);
            let moved = copy(&policy, Workers::Several, &source, &target);
            assert!(moved.is_ok(), "{what}: {moved:?}");
            assert_equal(&what, &source, &target);
            assert!(allocated(&target) <= 4 * MIB, "{what}");
        }
    }
    refused.tell();
}

#[test]
fn zeros_become_holes_also_with_direct_io() {
    for place in places() {
        let (source, target) = (place.path.join("source"), place.path.join("target"));
        let size = 12 * MIB + 100;
        make(&source, size, &[]);
        std::os::unix::fs::FileExt::write_all_at(
            &std::fs::File::options().write(true).open(&source).unwrap(),
            &vec![0; 8 << 20],
            0,
        )
        .unwrap();
        for cache in [Cache::Keep, Cache::Drop, Cache::Direct] {
            for workers in [Workers::One, Workers::Several] {
                let policy = DataPolicy { sparse: Sparse::Always, cache, ..DataPolicy::PLAIN };
                let what = format!("{cache:?}, {workers:?}, {}", place.name);
                copy(&policy, workers, &source, &target).unwrap();
                assert_equal(&what, &source, &target);
                assert!(allocated(&target) <= MIB, "{what}: {}", allocated(&target));
            }
        }
    }
}

#[test]
fn workers_that_are_refused_at_the_same_moment_all_continue() {
    for place in places() {
        let (source, target) = (place.path.join("source"), place.path.join("target"));
        let size = 8 * MIB + 1;
        make(&source, size, std::slice::from_ref(&(0..size)));
        // Each copy begins with the access path that the file system may refuse, in all workers at once.
        for _ in 0..40 {
            for cache in [Cache::Drop, Cache::Direct] {
                let policy = DataPolicy { cache, reflink: Reflink::Never, ..DataPolicy::PLAIN };
                let moved = copy(&policy, Workers::Several, &source, &target);
                assert!(moved.is_ok(), "{cache:?}, {}: {moved:?}", place.name);
            }
        }
    }
}
