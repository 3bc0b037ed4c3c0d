//! Parts of a file that other processes move: which there are, and what becomes of those that do not
//! arrive.

use std::ops::{ControlFlow, Range};
use std::os::unix::fs::FileExt as _;

use haul_io::method::Sharing;
use haul_io::transfer::{Arrived, Transfer};
use haul_io::{Behind, Cache, DataError, DataPolicy, Extent, FileJob, Kit, Sparse};
use haul_sys::{Call, CallError, Errno};

use super::support::{Desk, MIB, Outcome, demand_same, job, pair, places};

#[test]
fn parts_end_at_multiples_of_16_mib_and_never_with_the_file() -> Outcome {
    let place = places()?.swap_remove(0);
    for (mib, shares, expected) in [
        (16, 1, &[][..]),
        (18, 1, &[(0, 16)]),
        (64, 1, &[(0, 48)]),
        (100, 1, &[(0, 96)]),
        (100, 4, &[(0, 32), (32, 64), (64, 80), (80, 96)]),
        (1100, 1, &[(0, 256), (256, 512), (512, 768), (768, 1024), (1024, 1088)]),
    ] {
        let source = place.dense(1)?;
        let target = place.target()?;
        let pair = pair(&source.file, &target)?;
        let policy = DataPolicy { sparse: Sparse::Never, ..DataPolicy::default() };
        let mut stat = source.stat;
        stat.size = mib * MIB;
        let job = FileJob { stat: &stat, ..job(&source, &target, &pair, &policy) };
        let transfer = Transfer::new(&job, Sharing::Several);
        let parts = std::iter::from_fn(|| transfer.take_part(&job, shares, 16 * MIB));
        let parts: Vec<_> = parts.map(|part| (part.start / MIB, part.end / MIB)).collect();
        assert_eq!(parts, expected, "{mib} MiB, {shares} shares");
    }
    Ok(())
}

/// A worker of this process has drawn the first range, which ends at no multiple of 16 MiB.
#[test]
fn a_smallest_part_is_also_taken_between_two_multiples() -> Outcome {
    let place = places()?.swap_remove(0);
    let source = place.dense(60 * MIB)?;
    let target = place.target()?;
    let pair = pair(&source.file, &target)?;
    let policy = DataPolicy { sparse: Sparse::Never, ..DataPolicy::default() };
    let job = job(&source, &target, &pair, &policy);
    let (mut kit, desk) = (Kit::new(), Desk::default());
    let transfer = Transfer::new(&job, Sharing::Several);
    transfer.prepare(&job, &mut kit, desk.watch()).map_err(|error| format!("{error:?}"))?;
    let mut drawn = 0;
    transfer.work_and(&job, &mut kit, desk.watch(), &mut |bytes| {
        drawn += bytes;
        Ok(ControlFlow::Break(()))
    });
    assert!(drawn > 0 && drawn < 16 * MIB, "the worker drew {drawn} bytes");
    assert_eq!(transfer.take_part(&job, 100, 16 * MIB), Some(drawn..32 * MIB));
    assert_eq!(transfer.take_part(&job, 100, 16 * MIB), Some(32 * MIB..48 * MIB));
    Ok(())
}

/// The first 32 MiB go to another process, while this one moves the rest, and fails or does not.
#[test]
fn a_part_that_does_not_arrive_is_drawn_again_or_is_the_first_gap() -> Outcome {
    const FAILURE: CallError = CallError::new(Call::Fdatasync, Errno::IO);
    let place = places()?.swap_remove(0);
    let source = place.dense(40 * MIB)?;
    for (arrived, fails, length) in [
        (Arrived::Yes, false, 40 * MIB),
        (Arrived::No, false, 40 * MIB),
        // The first range that this process moves is the last one.
        (Arrived::Yes, true, 34 * MIB),
        (Arrived::No, true, 0),
    ] {
        let story = format!("{arrived:?}, fails: {fails}");
        let target = place.target()?;
        let pair = pair(&source.file, &target)?;
        let policy = DataPolicy::default();
        let whole = job(&source, &target, &pair, &policy);
        let (mut kit, desk) = (Kit::new(), Desk::default());
        let transfer = Transfer::new(&whole, Sharing::Several);
        transfer.prepare(&whole, &mut kit, desk.watch()).map_err(|error| format!("{error:?}"))?;
        let part = transfer.take_part(&whole, 1, 16 * MIB).ok_or("no part")?;
        assert_eq!(part, 0..32 * MIB);
        let mut after = |_| if fails { Err(FAILURE) } else { Ok(ControlFlow::Continue(())) };
        transfer.work_and(&whole, &mut kit, desk.watch(), &mut after);
        if arrived == Arrived::Yes {
            let before = target.metadata()?.len();
            move_part(&whole, &part, &desk)?;
            assert_eq!(target.metadata()?.len(), before, "{story}: the part changed the size");
        }
        transfer.return_part(&whole, &part, arrived);
        transfer.work(&whole, &mut kit, desk.watch());
        let moved = transfer.finish(&whole, &mut kit, desk.watch());
        let failure = fails.then_some(DataError::Call(FAILURE));
        assert_eq!(moved.as_ref().err().copied(), failure, "{story}");
        assert!(moved.is_err() || moved.is_ok_and(|moved| moved.bytes == length), "{story}");
        assert_eq!(transfer.arrived(&whole), length, "{story}");
        let got = place.target_bytes()?;
        assert_eq!(got.len() as u64, length, "{story}");
        demand_same(&got, &source.bytes[..got.len()], &story);
    }
    Ok(())
}

/// Moves a part as another process does.
fn move_part(whole: &FileJob<'_>, part: &Range<u64>, desk: &Desk) -> Outcome {
    let extent = Extent {
        source_offset: part.start,
        target_offset: part.start,
        bytes: part.end - part.start,
        behind: Behind::OtherParts,
    };
    let job = whole.part(extent);
    let (mut kit, transfer) = (Kit::new(), Transfer::new(&job, Sharing::Several));
    transfer.prepare(&job, &mut kit, desk.watch()).map_err(|error| format!("{error:?}"))?;
    transfer.work(&job, &mut kit, desk.watch());
    let moved = transfer.finish(&job, &mut kit, desk.watch());
    assert_eq!(moved.map(|moved| moved.bytes), Ok(part.end - part.start));
    Ok(())
}

/// What lies behind a part belongs to others, also where a request has to be padded.
#[test]
fn a_part_with_an_odd_end_neither_pads_nor_cuts() -> Outcome {
    const OLD: u8 = 0xa5;
    for place in places()? {
        let source = place.dense(4 * MIB)?;
        source.file.sync_all()?;
        for cache in [Cache::Keep, Cache::Drop, Cache::Direct] {
            let story = format!("{}: {cache:?}", place.name);
            let target = place.target()?;
            target.write_all_at(&vec![OLD; 4 << 20], 0)?;
            target.sync_all()?;
            let pair = pair(&source.file, &target)?;
            let policy = DataPolicy { cache, ..DataPolicy::default() };
            let whole = job(&source, &target, &pair, &policy);
            move_part(&whole, &(MIB..2 * MIB + 777), &Desk::default())?;
            let got = place.target_bytes()?;
            let (start, end) = (1 << 20, (2 << 20) + 777);
            demand_same(&got[start..end], &source.bytes[start..end], &story);
            let is_old = |bytes: &[u8]| bytes.iter().all(|byte| *byte == OLD);
            assert!(
                got.len() == 4 << 20 && is_old(&got[..start]) && is_old(&got[end..]),
                "{story}"
            );
        }
    }
    Ok(())
}

/// Before the last segment of a file is a hole that is larger than what is taken at a time.
#[test]
fn the_last_bytes_behind_a_hole_are_no_part() -> Outcome {
    let place = places()?.swap_remove(0);
    let source = place.sparse(300 * MIB, &[(0, 4096), (240 * MIB, 60 * MIB)])?;
    let target = place.target()?;
    let pair = pair(&source.file, &target)?;
    let policy = DataPolicy::default();
    let job = job(&source, &target, &pair, &policy);
    let transfer = Transfer::new(&job, Sharing::Several);
    let mut parts = Vec::new();
    while transfer.has_part(&job, 16 * MIB) {
        // The first segment is too short for one.
        parts.extend(transfer.take_part(&job, 1, 16 * MIB));
    }
    let bytes: u64 = parts.iter().map(|part| part.end - part.start).sum();
    assert!(bytes >= 32 * MIB && parts.iter().all(|part| part.end <= 298 * MIB), "{parts:?}");
    parts.iter().for_each(|part| transfer.return_part(&job, part, Arrived::No));
    let (mut kit, desk) = (Kit::new(), Desk::default());
    transfer.work(&job, &mut kit, desk.watch());
    let moved = transfer.finish(&job, &mut kit, desk.watch());
    assert!(moved.is_ok(), "{moved:?}");
    demand_same(&place.target_bytes()?, &source.bytes, "behind a hole");
    Ok(())
}
