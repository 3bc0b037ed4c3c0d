//! One file, several workers: no range is moved twice or omitted, and the target is shorter than the
//! source until it is complete.

use std::fs::File;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use haul_io::method::Sharing;
use haul_io::quirk::CachedWrites;
use haul_io::transfer::{Arrived, Transfer};
use haul_io::{Choice, DataError, DataPolicy, FileJob, Kit, MethodId, Moved, Reflink, Sparse};

use super::support::{
    Desk, MIB, Outcome, Place, Source, demand_same, ignored, job, pair, place_with_room, places,
};

/// Moves a file with several workers. Returns the result, and the length of the target before the
/// last worker finished it.
fn share(
    place: &Place,
    source: &mut Source,
    policy: &DataPolicy,
    workers: usize,
) -> Outcome<(Result<Moved, DataError>, u64)> {
    source.renew()?;
    let target = place.target()?;
    let pair = pair(&source.file, &target)?;
    let desk = Desk::default();
    let job = job(&*source, &target, &pair, policy);
    let transfer = Transfer::new(&job, Sharing::Several);
    let mut kit = Kit::new();
    if let Err(error) = transfer.prepare(&job, &mut kit, desk.watch()) {
        return Ok((Err(error), 0));
    }
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| transfer.work(&job, &mut Kit::new(), desk.watch()));
        }
    });
    let before = target.metadata()?.len();
    Ok((transfer.finish(&job, &mut kit, desk.watch()), before))
}

fn choices() -> impl Iterator<Item = Choice> {
    std::iter::once(Choice::Auto).chain(MethodId::ALL.into_iter().map(Choice::Only))
}

#[test]
fn files_arrive_whole_from_several_workers() -> Outcome {
    for place in places()? {
        for size in [0, 1, 4096, 2 * MIB, 2 * MIB + 1, 9 * MIB + 123, 16 * MIB - 1] {
            let mut source = place.dense(size)?;
            for choice in choices() {
                for workers in [1, 2, 5] {
                    let policy = DataPolicy { choice, ..DataPolicy::default() };
                    let context =
                        format!("{choice:?} on {} {size} bytes {workers} workers", place.name);
                    let (answer, before) = share(&place, &mut source, &policy, workers)?;
                    if choice == Choice::Only(MethodId::Reflink) && answer.is_err()
                        || matches!(
                            answer,
                            Err(DataError::Unfit { .. } | DataError::Refused { .. })
                        )
                    {
                        assert_ne!(choice, Choice::Auto, "{context}: {answer:?}");
                        continue;
                    }
                    let moved = answer.map_err(|error| format!("{context}: {error:?}"))?;
                    demand_same(&place.target_bytes()?, &source.bytes, &context);
                    // A file that shares its source's blocks is complete at once.
                    let is_reflink = moved.method == Some(MethodId::Reflink);
                    assert!(is_reflink || size == 0 || before < size, "{context}: {before}");
                }
            }
        }
    }
    Ok(())
}

/// A second worker comes when the file has room for one, and leaves when it has none, as workers of a
/// copy do. Returns whether it came and whether it left; the first one waits for it.
fn two_as_the_file_has_room(transfer: &Transfer, job: &FileJob<'_>, desk: &Desk) -> (bool, bool) {
    let mut has_left = false;
    let has_room = || transfer.most_workers(job.pair) > 1;
    let (is_called, has_come, is_over) =
        (AtomicBool::new(false), AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let call = &mut |_| {
                is_called.store(has_room(), Ordering::Release);
                while has_room() && !has_come.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
                Ok(ControlFlow::Continue(()))
            };
            transfer.work_and(job, &mut Kit::new(), desk.watch(), call);
            is_over.store(true, Ordering::Release);
        });
        while !is_over.load(Ordering::Acquire) {
            if is_called.load(Ordering::Acquire) {
                has_come.store(true, Ordering::Release);
                let leave = &mut |_| {
                    let stays = has_room();
                    has_left |= !stays;
                    Ok(if stays { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
                };
                transfer.work_and(job, &mut Kit::new(), desk.watch(), leave);
            }
            std::thread::yield_now();
        }
    });
    (has_come.into_inner(), has_left)
}

#[test]
fn one_worker_begins_a_large_file_and_it_arrives_whole_however_many_go_on() -> Outcome {
    let place = place_with_room()?;
    let source = place.dense(256 * MIB + 123)?;
    // With a method that the user chose there is nothing to find out.
    let chosen = Choice::Only(MethodId::ReadWrite);
    for (choice, first) in [(Choice::Auto, 1), (chosen, 2)] {
        let policy = DataPolicy { choice, reflink: Reflink::Never, ..DataPolicy::default() };
        let target = place.target()?;
        let pair = pair(&source.file, &target)?;
        if pair.target.cached_writes != CachedWrites::InTurn {
            return ignored("a file system where one worker writes at a time");
        }
        let job = job(&source, &target, &pair, &policy);
        let (mut kit, desk) = (Kit::new(), Desk::default());
        let transfer = Transfer::new(&job, Sharing::Several);
        transfer.prepare(&job, &mut kit, desk.watch()).map_err(|error| format!("{error:?}"))?;
        assert_eq!(transfer.most_workers(&pair), first, "{choice:?}");
        // After its share it leaves at least until it is known whether it is worth its time.
        let came_and_left = two_as_the_file_has_room(&transfer, &job, &desk);
        assert_eq!(came_and_left, (true, choice == Choice::Auto), "{choice:?}");
        assert!(target.metadata()?.len() < source.stat.size, "{choice:?}: it looks complete");
        let moved = transfer.finish(&job, &mut kit, desk.watch());
        assert_eq!(moved.map(|moved| moved.bytes), Ok(source.stat.size), "{choice:?}");
        demand_same(&place.target_bytes()?, &source.bytes, "one worker, two, one");
    }
    Ok(())
}

/// A part that another process has not moved begins the file, and is moved when the position of the target is
/// behind it.
#[test]
fn a_first_range_that_comes_late_is_written_at_its_place_without_a_pipe() -> Outcome {
    let place = place_with_room()?;
    let source = place.dense(256 * MIB)?;
    let target = place.target()?;
    let pair = pair(&source.file, &target)?;
    let policy = DataPolicy { reflink: Reflink::Never, ..DataPolicy::default() };
    let job = job(&source, &target, &pair, &policy);
    let (mut kit, desk) = (Kit::short_of_descriptors(), Desk::default());
    let transfer = Transfer::new(&job, Sharing::Several);
    transfer.prepare(&job, &mut kit, desk.watch()).map_err(|error| format!("{error:?}"))?;
    let part = transfer.take_part(&job, 8, 16 * MIB).ok_or("no part")?;
    assert_eq!(part.start, 0);
    transfer.work(&job, &mut kit, desk.watch());
    transfer.return_part(&job, &part, Arrived::No);
    transfer.work(&job, &mut kit, desk.watch());
    let moved = transfer.finish(&job, &mut kit, desk.watch());
    assert_eq!(moved.map(|moved| moved.bytes), Ok(source.stat.size));
    demand_same(&place.target_bytes()?, &source.bytes, "the first range came last");
    Ok(())
}

#[test]
fn holes_stay_holes_with_several_workers() -> Outcome {
    let maps: [(u64, &[(u64, u64)]); 4] = [
        (20 * MIB, &[]),
        (20 * MIB, &[(0, 9 * MIB), (15 * MIB + 5, 100)]),
        (20 * MIB + 3, &[(5 * MIB + 1, 5 * MIB)]),
        (20 * MIB + 3, &[(20 * MIB, 3)]),
    ];
    for place in places()? {
        for (size, pieces) in maps {
            let mut source = place.sparse(size, pieces)?;
            for sparse in [Sparse::Auto, Sparse::Always, Sparse::Never] {
                for reflink in [Reflink::Auto, Reflink::Never] {
                    let policy = DataPolicy { sparse, reflink, ..DataPolicy::default() };
                    let context = format!("{policy:?} on {} {pieces:?}", place.name);
                    let (answer, before) = share(&place, &mut source, &policy, 3)?;
                    let moved = answer.map_err(|error| format!("{context}: {error:?}"))?;
                    demand_same(&place.target_bytes()?, &source.bytes, &context);
                    assert!(
                        moved.method == Some(MethodId::Reflink) || before < size,
                        "{context}: {before}"
                    );
                }
            }
        }
    }
    Ok(())
}

/// The failure of one worker stops all of them, and the target is shorter than the source.
#[test]
fn a_source_that_shrinks_fails_all_workers() -> Outcome {
    for place in places()? {
        for left in [0, 1, 5 * MIB, 16 * MIB - 1] {
            let mut source = place.dense(16 * MIB)?;
            File::options().write(true).open(place.at("source"))?.set_len(left)?;
            let policy = DataPolicy { reflink: Reflink::Never, ..DataPolicy::default() };
            let (answer, _) = share(&place, &mut source, &policy, 3)?;
            let context = format!("{} {left}: {answer:?}", place.name);
            assert!(answer.is_err(), "{context}");
            assert!((place.target_bytes()?.len() as u64) < 16 * MIB, "{context}");
        }
    }
    Ok(())
}

#[test]
fn a_stop_is_heard_by_all_workers() -> Outcome {
    let place: Place = places()?.remove(0);
    let mut source = place.dense(16 * MIB)?;
    source.renew()?;
    let target = place.target()?;
    let pair = pair(&source.file, &target)?;
    let policy = DataPolicy { reflink: Reflink::Never, ..DataPolicy::default() };
    let desk = Desk::default();
    let job = job(&source, &target, &pair, &policy);
    let transfer = Transfer::new(&job, Sharing::Several);
    let mut kit = Kit::new();
    transfer.prepare(&job, &mut kit, desk.watch()).map_err(|error| format!("{error:?}"))?;
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                // The first worker stops the others.
                desk.stop.store(true, Ordering::Relaxed);
                transfer.work(&job, &mut Kit::new(), desk.watch());
            });
        }
    });
    let answer = transfer.finish(&job, &mut kit, desk.watch());
    assert!(answer.is_err(), "{answer:?}");
    assert!(place.target_bytes()?.len() < source.bytes.len());
    Ok(())
}
