//! Parts of a file: every method moves a part to another offset, and leaves the rest of the target as
//! the job says.

use std::fs;
use std::ops::ControlFlow;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicBool, Ordering};

use haul_io::method::Sharing;
use haul_io::residency::{Asked, cached_bytes};
use haul_io::sides::Which;
use haul_io::transfer::{Transfer, move_file};
use haul_io::{
    Behind, Cache, Choice, DataError, DataPolicy, Device, Extent, FileJob, Kit, MethodId,
};
use haul_manifest::wait_until;

use super::support::{Desk, MIB, Outcome, Place, demand_same, job, pair, places};

/// Bytes of the target before the job, in which no source looks like this.
const OLD: u8 = 0xa5;

/// Bytes that may stay in the page cache: pages that the kernel (readahead) holds at that moment.
const LEFT_BYTES: u64 = 64 << 10;

/// Parts of a source of 5 MiB and 123 bytes: (offset in the source, offset in the target, bytes).
const PARTS: [(u64, u64, u64); 6] = [
    (0, 0, 4096),
    (4096, 8192, 64 << 10),
    (MIB, 0, 4 * MIB),
    (3 * MIB, MIB, 2 * MIB + 123),
    (1, 5000, 300_001),
    (MIB + 512, 512, MIB),
];

fn choices() -> impl Iterator<Item = Choice> {
    std::iter::once(Choice::Auto).chain(MethodId::ALL.into_iter().map(Choice::Only))
}

#[test]
fn a_part_goes_to_its_offset_by_every_method() -> Outcome {
    for place in places()? {
        let mut source = place.dense(5 * MIB + 123)?;
        for choice in choices() {
            for (source_offset, target_offset, bytes) in PARTS {
                source.renew()?;
                let context =
                    format!("{}: {choice:?} {source_offset} {target_offset} {bytes}", place.name);
                let target = place.target()?;
                target.write_all_at(&vec![OLD; usize::try_from(target_offset)?], 0)?;
                let pair = pair(&source.file, &target)?;
                let policy = DataPolicy { choice, ..DataPolicy::PLAIN };
                let extent =
                    Extent { source_offset, target_offset, bytes, behind: Behind::Nothing };
                let job = FileJob { extent: Some(extent), ..job(&source, &target, &pair, &policy) };
                let desk = Desk::default();
                let moved = match move_file(&job, &mut Kit::new(), desk.watch()) {
                    // A method may refuse; it leaves nothing that looks like the source.
                    Err(DataError::Unfit { .. } | DataError::Refused { .. })
                        if choice != Choice::Auto =>
                    {
                        assert_ne!(choice, Choice::Only(MethodId::ReadWrite), "{context}");
                        continue;
                    }
                    answer => answer.map_err(|error| format!("{context}: {error:?}"))?,
                };
                assert_eq!(moved.bytes, bytes, "{context}");
                let got = place.target_bytes()?;
                let (before, part) = got.split_at(usize::try_from(target_offset)?);
                assert!(before.iter().all(|byte| *byte == OLD), "{context}: before the part");
                let from = usize::try_from(source_offset)?;
                let expected = &source.bytes[from..from + usize::try_from(bytes)?];
                demand_same(part, expected, &context);
            }
        }
    }
    Ok(())
}

/// Returns the position and the flags of an open file, as the kernel shows them.
fn position_and_flags(file: &fs::File) -> std::io::Result<String> {
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd()))?;
    Ok(text.lines().take(2).collect())
}

fn flags(file: &fs::File) -> std::io::Result<String> {
    Ok(position_and_flags(file)?.split("flags:").skip(1).collect())
}

/// Returns how many bytes of a range are in the page cache; 0 where pages cannot be dropped or counted.
fn cached(file: &fs::File, range: std::ops::Range<u64>) -> Outcome<u64> {
    let device = Device::of(file).map_err(|error| format!("{error:?}"))?;
    if device.quirk.name == "tmpfs" {
        return Ok(0);
    }
    let asked = Asked { fd: file.as_fd(), quirk: device.quirk };
    // Pages under writeback are dropped when that ends, a little later.
    // Where pages belong to the file below, the kernel tells nothing of one open for writing.
    let left = || cached_bytes(asked, range.start, range.end - range.start).unwrap_or(0);
    wait_until("its pages are dropped", || left() <= LEFT_BYTES);
    Ok(left())
}

#[test]
fn shared_open_files_keep_their_position_and_flags_by_every_method() -> Outcome {
    for place in places()? {
        // The block of most disks is an eighth of a file system's.
        for (shared, source_offset, target_offset) in
            [(Which::Target, 0, 4096), (Which::Target, 0, 512), (Which::Source, 512, 0)]
        {
            move_with_shared_file(&place, shared, source_offset, target_offset)?;
        }
    }
    Ok(())
}

fn move_with_shared_file(
    place: &Place,
    shared: Which,
    source_offset: u64,
    target_offset: u64,
) -> Outcome {
    const BYTES: u64 = 2 * MIB + 123;
    let source = place.dense(BYTES)?;
    // Dirty pages cannot be dropped.
    source.file.sync_all()?;
    for cache in [Cache::Keep, Cache::Auto, Cache::Drop, Cache::Direct, Cache::Restore] {
        for choice in choices() {
            let context =
                format!("{}: {shared:?} {target_offset} {choice:?} {cache:?}", place.name);
            let target = place.target()?;
            let bytes = BYTES - source_offset;
            target.write_all_at(&[OLD; 5000], target_offset + bytes)?;
            target.sync_all()?;
            let pair = pair(&source.file, &target)?;
            let policy = DataPolicy { choice, cache, ..DataPolicy::PLAIN };
            let behind = Behind::Bytes { unit_bytes: MIB };
            let extent = Extent { source_offset, target_offset, bytes, behind };
            let job = job(&source, &target, &pair, &policy).sharing(shared).part(extent);
            let (ours, theirs) = match shared {
                Which::Source => (&target, &source.file),
                Which::Target => (&source.file, &target),
            };
            let state = || position_and_flags(theirs);
            let (before, ours_before) = (state()?, flags(ours)?);
            let (ended, desk) = (AtomicBool::new(false), Desk::default());
            let moved = std::thread::scope(|scope| -> Outcome<_> {
                let looking = scope.spawn(|| -> std::io::Result<bool> {
                    let mut is_same = true;
                    while is_same && !ended.load(Ordering::Relaxed) {
                        is_same = state()? == before;
                    }
                    Ok(is_same)
                });
                let moved = move_file(&job, &mut Kit::new(), desk.watch());
                ended.store(true, Ordering::Relaxed);
                let is_same = looking.join().map_err(|_| "the looking thread panicked")??;
                assert!(is_same, "{context}: during the move");
                Ok(moved)
            })?;
            assert_eq!(state()?, before, "{context}");
            assert_eq!(flags(ours)?, ours_before, "{context}: other parts are moved with it");
            if choice == Choice::Auto && matches!(cache, Cache::Drop | Cache::Direct) {
                let left = cached(&source.file, source_offset..BYTES)?;
                assert!(left <= LEFT_BYTES, "{context}: {left} of the source");
                // A page that two requests share stays; the archive's pages go at its end.
                if target_offset.is_multiple_of(4096) {
                    let left = cached(&target, target_offset..target_offset + bytes)?;
                    assert!(left <= LEFT_BYTES, "{context}: {left} of the target");
                }
            }
            let found = place.target_bytes()?;
            let found = found.get(usize::try_from(target_offset)?..).unwrap_or_default();
            let (found, after) =
                found.split_at_checked(usize::try_from(bytes)?).unwrap_or_default();
            assert!(after == [OLD; 5000], "{context}: what lies behind the part");
            if choice == Choice::Auto {
                moved.map_err(|error| format!("{context}: {error:?}"))?;
                let wanted = source.bytes.get(usize::try_from(source_offset)?..);
                demand_same(found, wanted.unwrap_or_default(), &context);
            }
        }
    }
    Ok(())
}

#[test]
fn several_workers_move_a_part_and_leave_what_lies_before_it() -> Outcome {
    for place in places()? {
        let source = place.dense(9 * MIB + 123)?;
        let target = place.target()?;
        target.write_all_at(&[OLD; 5000], 0)?;
        let pair = pair(&source.file, &target)?;
        let policy = DataPolicy::default();
        let extent = Extent {
            source_offset: 77,
            target_offset: 5000,
            bytes: 9 * MIB,
            behind: Behind::Nothing,
        };
        let job = FileJob { extent: Some(extent), ..job(&source, &target, &pair, &policy) };
        let desk = Desk::default();
        let transfer = Transfer::new(&job, Sharing::Several);
        transfer.prepare(&job, &mut Kit::new(), desk.watch()).map_err(|e| format!("{e:?}"))?;
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| transfer.work(&job, &mut Kit::new(), desk.watch()));
            }
        });
        let moved = transfer.finish(&job, &mut Kit::new(), desk.watch());
        assert_eq!(moved.map(|moved| moved.bytes), Ok(9 * MIB), "{}", place.name);
        assert_eq!(transfer.arrived(&job), 9 * MIB, "{}", place.name);
        let got = place.target_bytes()?;
        assert!(got[..5000].iter().all(|byte| *byte == OLD), "{}", place.name);
        demand_same(&got[5000..], &source.bytes[77..77 + (9 << 20)], &place.name);
    }
    Ok(())
}

#[test]
fn a_part_before_other_bytes_moves_in_units_and_is_never_cut() -> Outcome {
    let place = places()?.swap_remove(0);
    let source = place.dense(MIB)?;
    let target = place.target()?;
    target.write_all_at(&vec![OLD; 3 << 20], 0)?;
    let pair = pair(&source.file, &target)?;
    let policy = DataPolicy { choice: Choice::Only(MethodId::ReadWrite), ..DataPolicy::default() };
    let behind = Behind::Bytes { unit_bytes: 1000 };
    // The source has less than what is asked for.
    let extent = Extent { source_offset: 24, target_offset: 10, bytes: 2_000_000, behind };
    let job = FileJob { extent: Some(extent), ..job(&source, &target, &pair, &policy) };
    let desk = Desk::default();
    let transfer = Transfer::new(&job, Sharing::Sole);
    transfer.prepare(&job, &mut Kit::new(), desk.watch()).map_err(|e| format!("{e:?}"))?;
    let mut draws = Vec::new();
    transfer.work_and(&job, &mut Kit::new(), desk.watch(), &mut |bytes| {
        draws.push(bytes);
        Ok(ControlFlow::Continue(()))
    });
    let answer = transfer.finish(&job, &mut Kit::new(), desk.watch());
    assert_eq!(answer.map(|moved| moved.bytes), Err(DataError::Changed));
    assert_eq!(draws, [262_000; 4]);
    assert_eq!(transfer.arrived(&job), MIB - 24);
    let got = place.target_bytes()?;
    assert_eq!(got.len(), 3 << 20, "what lies behind the part was cut");
    demand_same(&got[10..10 + (1 << 20) - 24], &source.bytes[24..], "the part");
    assert!(got[10 + (1 << 20) - 24..].iter().all(|byte| *byte == OLD));
    Ok(())
}

#[test]
fn a_worker_that_leaves_after_its_range_leaves_the_rest_to_others() -> Outcome {
    let place = places()?.swap_remove(0);
    let source = place.dense(6 * MIB)?;
    let target = place.target()?;
    let pair = pair(&source.file, &target)?;
    let policy = DataPolicy::default();
    let job = job(&source, &target, &pair, &policy);
    let desk = Desk::default();
    let transfer = Transfer::new(&job, Sharing::Several);
    transfer.prepare(&job, &mut Kit::new(), desk.watch()).map_err(|e| format!("{e:?}"))?;
    let mut drawn = 0;
    transfer.work_and(&job, &mut Kit::new(), desk.watch(), &mut |bytes| {
        drawn += bytes;
        Ok(ControlFlow::Break(()))
    });
    assert!(drawn > 0 && drawn < 6 * MIB, "{drawn} bytes in one range");
    assert!(!transfer.is_over());
    transfer.work(&job, &mut Kit::new(), desk.watch());
    let moved = transfer.finish(&job, &mut Kit::new(), desk.watch());
    assert_eq!(moved.map(|moved| moved.bytes), Ok(6 * MIB));
    demand_same(&place.target_bytes()?, &source.bytes, "both workers");
    Ok(())
}

#[test]
fn what_was_written_behind_a_gap_is_cut_and_the_gap_is_told() -> Outcome {
    let place = places()?.swap_remove(0);
    let source = place.dense(6 * MIB)?;
    let target = place.target()?;
    let pair = pair(&source.file, &target)?;
    let policy = DataPolicy::default();
    let extent =
        Extent { source_offset: 0, target_offset: 100, bytes: 6 * MIB, behind: Behind::Nothing };
    let job = FileJob { extent: Some(extent), ..job(&source, &target, &pair, &policy) };
    let desk = Desk::default();
    let transfer = Transfer::new(&job, Sharing::Several);
    transfer.prepare(&job, &mut Kit::new(), desk.watch()).map_err(|e| format!("{e:?}"))?;
    let stopped = haul_sys::CallError::new(haul_sys::Call::Read, haul_sys::Errno::CANCELED);
    transfer.work_and(&job, &mut Kit::new(), desk.watch(), &mut |_| {
        desk.stop.store(true, Ordering::Relaxed);
        Err(stopped)
    });
    let answer = transfer.finish(&job, &mut Kit::new(), desk.watch());
    assert_eq!(answer.map(|moved| moved.bytes), Err(DataError::Call(stopped)));
    assert_eq!(transfer.arrived(&job), 2 * MIB);
    assert_eq!(fs::metadata(place.at("target"))?.len(), 2 * MIB + 100);
    Ok(())
}
