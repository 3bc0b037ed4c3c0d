//! Every method by itself: one attempt at a range, without a next method.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::ops::Range;
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::AtomicU64;

use haul_io::method::{
    AtEnd, Attempt, Fit, LADDER, Method, Portion, RangeJob, Sharing, Want, Zeros,
};
use haul_io::sides::{Sides, Wanted, Way};
use haul_io::{DataPolicy, Kit, MethodId, OpenFiles, Pair};

use super::support::{Desk, MIB, Outcome, Place, SIZES, Source, demand_same, pair, places};

/// Makes one attempt at a range.
fn attempt(
    method: &dyn Method,
    (source, target): (&Source, &File),
    range: Range<u64>,
    (pair, sharing, zeros): (&Pair, Sharing, Zeros),
) -> (Fit, Attempt) {
    let policy = DataPolicy::default();
    let way = method.info().way;
    let sides = Sides::prepare(
        Wanted { fd: source.file.as_fd(), way },
        Wanted { fd: target.as_fd(), way },
        pair,
    );
    let left_out = AtomicU64::new(0);
    let want = Want {
        policy: &policy,
        file_bytes: source.stat.size,
        portion: if range == (0..source.stat.size) { Portion::File } else { Portion::Bytes },
        file_end: Some(source.stat.size),
        sharing,
        open_files: OpenFiles::Own,
        zeros,
        left_out: &left_out,
        way,
        sides: &sides,
        digests: None,
        notes: None,
    };
    let desk = Desk::default();
    let job = RangeJob {
        source: source.file.as_fd(),
        target: target.as_fd(),
        source_offset: range.start,
        target_offset: range.start,
        end: range.end,
        at_end: AtEnd::Stop,
        pair,
        want,
        watch: desk.watch(),
    };
    (method.fits(pair, &want), method.attempt(&job, &mut Kit::new()))
}

/// Returns how many bytes an attempt moved, and whether it is complete; panics if it failed.
fn came(attempt: Attempt, context: &str) -> (u64, bool) {
    assert!(!matches!(attempt, Attempt::Failed { .. }), "{context}: {attempt:?}");
    match attempt {
        Attempt::Done(bytes) => (bytes, true),
        Attempt::NextMethod { written, .. } | Attempt::Failed { written, .. } => (written, false),
    }
}

/// Prints on which file systems each method moved bytes.
fn tell(served: &BTreeMap<&str, Vec<String>>) -> Outcome {
    for method in LADDER {
        let name = method.info().name;
        let places = served.get(name).map_or_else(|| "nowhere".to_owned(), |at| at.join(", "));
        writeln!(std::io::stdout(), "{name} moved whole files on {places}")?;
    }
    Ok(())
}

#[test]
fn whole_files_of_every_size() -> Outcome {
    let mut served: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for place in places()? {
        for size in SIZES {
            let mut source = place.dense(size)?;
            for method in LADDER {
                let name = method.info().name;
                let context = format!("{name} on {} with {size} bytes", place.name);
                source.renew()?;
                let target = place.target()?;
                let pair = pair(&source.file, &target)?;
                let ends = (pair.is_refused(MethodId::Reflink), Sharing::Sole, Zeros::Write);
                let with = (&pair, ends.1, ends.2);
                let (fit, answer) = attempt(*method, (&source, &target), 0..size, with);
                let (bytes, ended) = came(answer, &context);
                drop(target);
                if ended {
                    assert_eq!(bytes, size, "{context}");
                    demand_same(&place.target_bytes()?, &source.bytes, &context);
                    let at = served.entry(name).or_default();
                    if !at.contains(&place.name) {
                        at.push(place.name.clone());
                    }
                } else {
                    // The bytes that arrived are right, because the next method continues after them.
                    let got = place.target_bytes()?;
                    let bytes = usize::try_from(bytes)?;
                    assert!(got.len() >= bytes, "{context}");
                    demand_same(&got[..bytes], &source.bytes[..bytes], &context);
                    let always = matches!(name, "read-write" | "sendfile");
                    assert!(!always || fit != Fit::Yes, "{context}: {answer:?}");
                }
            }
        }
    }
    tell(&served)
}

/// Ranges as workers draw them: from block to block, and the last one to the end.
#[test]
fn parts_leave_everything_around_them_alone() -> Outcome {
    let size = 6 * MIB + 777;
    let aligned = [0..2 * MIB, 2 * MIB..4 * MIB, 4 * MIB..6 * MIB, 6 * MIB..size];
    let unaligned = [1..2, 100..5000, 4097..MIB + 1, 2 * MIB - 1..2 * MIB + 1, size - 1..size];
    for place in places()? {
        let mut source = place.dense(size)?;
        for method in LADDER.iter().filter(|method| method.info().name != "reflink") {
            let info = method.info();
            let ranges = aligned.iter().chain(if info.way == Way::Direct {
                [].iter()
            } else {
                unaligned.iter()
            });
            for range in ranges {
                let context = format!("{} on {} of {range:?}", info.name, place.name);
                source.renew()?;
                let target = place.target()?;
                let background = vec![0xee; source.bytes.len()];
                target.write_all_at(&background, 0)?;
                let pair = pair(&source.file, &target)?;
                let with = (&pair, Sharing::Sole, Zeros::Write);
                let (_, answer) = attempt(*method, (&source, &target), range.clone(), with);
                let (bytes, ended) = came(answer, &context);
                assert!(!ended || bytes == range.end - range.start, "{context}: {answer:?}");
                drop(target);
                let mut expected = background;
                let moved = usize::try_from(range.start)?..usize::try_from(range.start + bytes)?;
                expected[moved.clone()].copy_from_slice(&source.bytes[moved]);
                demand_same(&place.target_bytes()?, &expected, &context);
            }
        }
    }
    Ok(())
}

/// A source that is shorter than reported ends the range, and no bytes are invented.
#[test]
fn a_source_that_ends_early_ends_the_range() -> Outcome {
    for place in places()? {
        for size in [100, 5000, 3 * MIB + 17] {
            let mut source = place.dense(size)?;
            for method in LADDER.iter().filter(|method| method.info().name != "reflink") {
                let context = format!("{} on {} with {size}", method.info().name, place.name);
                source.renew()?;
                let target = place.target()?;
                let pair = pair(&source.file, &target)?;
                let with = (&pair, Sharing::Sole, Zeros::Write);
                let range = 0..size + 2 * MIB;
                let (_, answer) = attempt(*method, (&source, &target), range, with);
                // A call may report the shorter source as an error.
                if let Attempt::Done(bytes) = answer {
                    assert_eq!(bytes, size, "{context}");
                    demand_same(&place.target_bytes()?, &source.bytes, &context);
                }
            }
        }
    }
    Ok(())
}

#[test]
fn zeros_are_left_out_where_they_are_to_be() -> Outcome {
    for place in places()? {
        let size = 3 * MIB + 100;
        let mut source = place.dense(size)?;
        let file = File::options().write(true).open(place.at("source"))?;
        file.write_all_at(&vec![0; usize::try_from(MIB)?], 500_000)?;
        source.bytes = std::fs::read(place.at("source"))?;
        for method in LADDER.iter() {
            let context = format!("{} on {}", method.info().name, place.name);
            source.renew()?;
            let target = place.target()?;
            let pair = pair(&source.file, &target)?;
            let with = (&pair, Sharing::Sole, Zeros::Skip);
            let (fit, answer) = attempt(*method, (&source, &target), 0..size, with);
            if !matches!(fit, Fit::Yes) {
                continue;
            }
            let (bytes, ended) = came(answer, &context);
            if ended {
                assert_eq!(bytes, size, "{context}");
                target.set_len(size)?;
                demand_same(&place.target_bytes()?, &source.bytes, &context);
            }
        }
    }
    Ok(())
}

/// A target that cannot be written is an error of every method, never a success and never a panic.
#[test]
fn a_target_that_cannot_be_written_is_an_error() -> Outcome {
    for place in places()? {
        let mut source = place.dense(5 * MIB)?;
        drop(place.target()?);
        for method in LADDER {
            source.renew()?;
            let target = File::open(place.at("target"))?;
            let pair = pair(&source.file, &target)?;
            let with = (&pair, Sharing::Sole, Zeros::Write);
            let (_, answer) = attempt(*method, (&source, &target), 0..5 * MIB, with);
            let context = format!("{} on {}: {answer:?}", method.info().name, place.name);
            assert!(!matches!(answer, Attempt::Done(_)), "{context}");
            let none = matches!(
                answer,
                Attempt::NextMethod { written: 0, .. } | Attempt::Failed { written: 0, .. }
            );
            assert!(none, "{context}");
            assert!(place.target_bytes()?.is_empty(), "{context}");
        }
    }
    Ok(())
}

/// A stop ends the attempt, and the target is shorter than the source.
#[test]
fn a_stop_is_heard() -> Outcome {
    use std::sync::atomic::Ordering;
    let place: Place = places()?.remove(0);
    let mut source = place.dense(9 * MIB)?;
    for method in LADDER.iter().filter(|method| method.info().name != "reflink") {
        source.renew()?;
        let target = place.target()?;
        let pair = pair(&source.file, &target)?;
        let policy = DataPolicy::default();
        let way = method.info().way;
        let sides = Sides::prepare(
            Wanted { fd: source.file.as_fd(), way },
            Wanted { fd: target.as_fd(), way },
            &pair,
        );
        let desk = Desk::default();
        desk.stop.store(true, Ordering::Relaxed);
        let want = Want {
            policy: &policy,
            file_bytes: source.stat.size,
            portion: Portion::File,
            file_end: Some(source.stat.size),
            sharing: Sharing::Sole,
            open_files: OpenFiles::Own,
            zeros: Zeros::Write,
            left_out: &AtomicU64::new(0),
            way,
            sides: &sides,
            digests: None,
            notes: None,
        };
        let job = RangeJob {
            source: source.file.as_fd(),
            target: target.as_fd(),
            source_offset: 0,
            target_offset: 0,
            end: source.stat.size,
            at_end: AtEnd::Stop,
            pair: &pair,
            want,
            watch: desk.watch(),
        };
        let answer = method.attempt(&job, &mut Kit::new());
        let context = format!("{}: {answer:?}", method.info().name);
        assert!(!matches!(answer, Attempt::Done(_)), "{context}");
        assert!(place.target_bytes()?.len() < source.bytes.len(), "{context}");
    }
    Ok(())
}
