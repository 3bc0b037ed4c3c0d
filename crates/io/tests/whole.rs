//! Whole files by one worker: every method by name, every policy, every file system.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::Ordering;

use haul_io::transfer::move_file;
use haul_io::{Choice, DataError, DataPolicy, Kit, MethodId, Moved, Reflink, Sparse};
use haul_manifest::wait_until;
use haul_sys::Call;

use super::support::{Desk, MIB, Outcome, Place, SIZES, Source, demand_same, job, pair, places};

fn moved(
    place: &Place,
    source: &mut Source,
    policy: &DataPolicy,
) -> Outcome<Result<Moved, DataError>> {
    source.renew()?;
    let target = place.target()?;
    let pair = pair(&source.file, &target)?;
    let desk = Desk::default();
    Ok(move_file(&job(&*source, &target, &pair, policy), &mut Kit::new(), desk.watch()))
}

/// A refusal of the requested method is allowed; any other error is a failure.
fn is_refusal(answer: &Result<Moved, DataError>) -> bool {
    match answer {
        Err(DataError::Unfit { .. } | DataError::Refused { .. }) => true,
        Err(DataError::Call(error)) => error.call == Call::Ficlone,
        _ => false,
    }
}

fn choices() -> impl Iterator<Item = Choice> {
    std::iter::once(Choice::Auto).chain(MethodId::ALL.into_iter().map(Choice::Only))
}

#[test]
fn every_size_by_every_method_that_is_asked_for() -> Outcome {
    for place in places()? {
        for size in SIZES {
            let mut source = place.dense(size)?;
            for choice in choices() {
                let context = format!("{choice:?} on {} with {size} bytes", place.name);
                let policy = DataPolicy { choice, ..DataPolicy::default() };
                let answer = moved(&place, &mut source, &policy)?;
                if is_refusal(&answer) {
                    assert_ne!(choice, Choice::Auto, "{context}: {answer:?}");
                    assert_ne!(choice, Choice::Only(MethodId::ReadWrite), "{context}: {answer:?}");
                    continue;
                }
                let moved = answer.map_err(|error| format!("{context}: {error:?}"))?;
                assert_eq!(moved.bytes, size, "{context}");
                demand_same(&place.target_bytes()?, &source.bytes, &context);
            }
        }
    }
    Ok(())
}

const MAPS: [(u64, &[(u64, u64)]); 7] = [
    (4 * MIB, &[]),
    (4 * MIB, &[(4 * MIB - 4096, 4096)]),
    (4 * MIB, &[(0, 4096)]),
    (6 * MIB + 5, &[(MIB + 3, 10_000), (5 * MIB, 1)]),
    (12 * MIB, &[(0, 5 * MIB), (8 * MIB + 1, MIB)]),
    (12 * MIB + 77, &[(3 * MIB, 6 * MIB)]),
    (300_000, &[(100_000, 1)]),
];

#[test]
fn every_map_of_holes_by_every_method_and_policy() -> Outcome {
    for place in places()? {
        // Elsewhere no block can be shared, so that `Never` shows nothing more.
        let shares = matches!(place.name.as_str(), "xfs" | "xfs-noreflink" | "btrfs");
        for (size, pieces) in MAPS {
            for choice in choices() {
                // A new source: reading a hole through a mapping fills it on tmpfs.
                let mut source = place.sparse(size, pieces)?;
                for sparse in [Sparse::Auto, Sparse::Always, Sparse::Never] {
                    for reflink in &[Reflink::Auto, Reflink::Never][..1 + usize::from(shares)] {
                        let policy = DataPolicy {
                            choice,
                            sparse,
                            reflink: *reflink,
                            ..DataPolicy::default()
                        };
                        let context = format!("{policy:?} on {} {size} {pieces:?}", place.name);
                        let had = place.allocated("source")?;
                        let answer = moved(&place, &mut source, &policy)?;
                        if is_refusal(&answer) {
                            assert_ne!(choice, Choice::Auto, "{context}: {answer:?}");
                            continue;
                        }
                        answer.map_err(|error| format!("{context}: {error:?}"))?;
                        demand_same(&place.target_bytes()?, &source.bytes, &context);
                        if place.allocated("source")? > had {
                            // Only a mapping does that, and it is never chosen automatically.
                            assert_ne!(choice, Choice::Auto, "{context}: the source has grown");
                            source = place.sparse(size, pieces)?;
                        }
                        check_allocation(&place, &policy, size, pieces, &context)?;
                    }
                }
            }
        }
    }
    Ok(())
}

fn check_allocation(
    place: &Place,
    policy: &DataPolicy,
    size: u64,
    pieces: &[(u64, u64)],
    context: &str,
) -> Outcome {
    let held = place.allocated("target")?;
    let data: u64 = pieces.iter().map(|(_, length)| length + 2 * 65_536).sum();
    match policy.sparse {
        // XFS preallocates after each write that extends a file, as much as the file already has.
        Sparse::Auto | Sparse::Always if !place.name.starts_with("xfs") => {
            assert!(held <= data + 65_536, "{context}: {held} bytes allocated");
        }
        Sparse::Never => assert!(held + 65_536 >= size, "{context}: {held} bytes allocated"),
        Sparse::Auto | Sparse::Always => {}
    }
    Ok(())
}

#[test]
fn a_source_that_is_shorter_than_it_was_is_an_error() -> Outcome {
    for place in places()? {
        for size in [10_000, 3 * MIB, 9 * MIB] {
            for choice in choices() {
                let mut source = place.dense(size)?;
                let context = format!("{choice:?} on {} with {size} bytes", place.name);
                File::options().write(true).open(place.at("source"))?.set_len(size / 2)?;
                let policy =
                    DataPolicy { choice, reflink: Reflink::Never, ..DataPolicy::default() };
                let answer = moved(&place, &mut source, &policy)?;
                assert!(answer.is_err(), "{context}: {answer:?}");
                assert!(place.target_bytes()?.len() as u64 != size, "{context}: a full-size file");
            }
        }
    }
    Ok(())
}

#[test]
fn a_source_that_was_written_to_meanwhile_is_an_error() -> Outcome {
    for place in places()? {
        let mut source = place.dense(3 * MIB)?;
        let file = File::options().write(true).open(place.at("source"))?;
        let time = || file.metadata().and_then(|told| told.modified()).ok();
        let before = time();
        wait_until("the clock has ticked", || {
            file.write_all_at(b"new", 5).is_ok() && time() != before
        });
        for choice in choices() {
            let policy = DataPolicy { choice, ..DataPolicy::default() };
            let answer = moved(&place, &mut source, &policy)?;
            assert!(answer.is_err(), "{choice:?} on {}: {answer:?}", place.name);
        }
    }
    Ok(())
}

#[test]
fn a_stopped_run_moves_no_whole_file() -> Outcome {
    for place in places()? {
        let mut source = place.dense(9 * MIB)?;
        for choice in choices().filter(|choice| *choice != Choice::Only(MethodId::Reflink)) {
            source.renew()?;
            let target = place.target()?;
            let pair = pair(&source.file, &target)?;
            let desk = Desk::default();
            desk.stop.store(true, Ordering::Relaxed);
            let policy = DataPolicy { choice, reflink: Reflink::Never, ..DataPolicy::default() };
            let job = job(&source, &target, &pair, &policy);
            let answer = move_file(&job, &mut Kit::new(), desk.watch());
            assert!(answer.is_err(), "{choice:?} on {}: {answer:?}", place.name);
            assert!(place.target_bytes()?.len() < source.bytes.len(), "{choice:?}");
        }
    }
    Ok(())
}

/// One kit serves many files of many sizes by all methods, as a worker's does.
#[test]
fn a_kit_that_was_used_leaves_nothing_behind() -> Outcome {
    for place in places()? {
        let mut kit = Kit::new();
        for size in SIZES.into_iter().rev() {
            let mut source = place.dense(size)?;
            for choice in choices() {
                source.renew()?;
                let target = place.target()?;
                let pair = pair(&source.file, &target)?;
                let desk = Desk::default();
                let policy = DataPolicy { choice, ..DataPolicy::default() };
                let job = job(&source, &target, &pair, &policy);
                let answer = move_file(&job, &mut kit, desk.watch());
                if is_refusal(&answer) {
                    continue;
                }
                let context = format!("{choice:?} on {} with {size} bytes", place.name);
                answer.map_err(|error| format!("{context}: {error:?}"))?;
                demand_same(&place.target_bytes()?, &source.bytes, &context);
            }
        }
    }
    Ok(())
}
