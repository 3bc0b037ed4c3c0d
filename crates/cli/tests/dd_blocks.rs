//! `haul dd` with blocks of the output's own size: aligned for direct I/O, collected in linear time,
//! of an available size; and a target that is longer than the written range.

use std::fs;

use super::support::run::{Call, Done, haul};
use super::support::scratch::Scratch;
use super::support::shell::noise;
use super::support::strace::{Strace, is_usable};
use super::support::volume::volumes;
use super::support::{Outcome, ignored};

fn dd<'w>(words: impl IntoIterator<Item = &'w str>, scratch: &Scratch) -> Call {
    Call::of(haul()).word("dd").words(words).in_dir(scratch.path())
}

/// Returns the number of copied bytes in a report.
fn reported_bytes(done: &Done) -> Outcome<usize> {
    let line = done.errors().lines().find(|line| line.contains(" copied, ")).map(str::to_owned);
    let line = line.ok_or_else(|| format!("no report: {done:?}"))?;
    Ok(line.split(' ').next().unwrap_or_default().parse()?)
}

#[test]
fn blocks_for_direct_writing_are_aligned() -> Outcome {
    let mut any = false;
    for volume in volumes()? {
        let scratch = Scratch::on(&volume)?;
        let bytes = noise(300_001);
        scratch.write("a", &bytes)?;
        let plain = dd(["if=a", "of=o", "bs=4096", "oflag=direct", "status=none"], &scratch);
        if plain.run()?.code() != Some(0) {
            continue;
        }
        any = true;
        for (ibs, obs) in [("512", "4096"), ("1000", "8192"), ("64k", "4k"), ("7", "16k")] {
            let words = [format!("ibs={ibs}"), format!("obs={obs}")];
            let call = dd(["if=a", "of=o", "oflag=direct", "status=none"], &scratch).words(&words);
            let done = call.run()?;
            assert_eq!(done.code(), Some(0), "{} {words:?}: {done:?}", volume.name);
            assert!(fs::read(scratch.at("o"))? == bytes, "{} {words:?}: other bytes", volume.name);
        }
    }
    if any { Ok(()) } else { ignored("a file system with direct I/O") }
}

#[test]
fn small_records_are_gathered_into_a_large_block_in_linear_time() -> Outcome {
    // If each record moved the bytes collected before it, that would be terabytes.
    let scratch = Scratch::new()?;
    let words = ["if=/dev/zero", "of=/dev/null", "ibs=512", "obs=64M", "count=262144"];
    let done = dd(words, &scratch).run()?;
    assert_eq!((done.code(), reported_bytes(&done)?), (Some(0), 128 << 20), "{done:?}");
    assert!(done.errors().contains("\n2+0 records out"), "{done:?}");
    Ok(())
}

#[test]
fn a_block_that_memory_cannot_hold_is_an_error() -> Outcome {
    let scratch = Scratch::new()?;
    for seek in ["seek=0", "seek=1"] {
        // Standard output is a pipe, which cannot be sought in.
        let done = dd(["if=/dev/zero", "obs=1PB", "count=1", seek], &scratch).run()?;
        assert_eq!(done.code(), Some(1), "{seek}: {done:?}");
        let told =
            "dd: memory exhausted by output buffer of size 1000000000000000 bytes (909 TiB)\n";
        assert_eq!(done.errors(), told, "{seek}");
    }
    Ok(())
}

#[test]
fn nothing_is_written_after_the_reported_bytes() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let (new, old) = (noise(24 << 20), vec![0x5a; 32 << 20]);
    scratch.write("a", &new)?;
    for options in [&["conv=notrunc", "bs=1000"][..], &["conv=notrunc", "ibs=512", "obs=4096"]] {
        for when in ["8+", "30+"] {
            scratch.write("o", &old)?;
            let call = dd(["if=a", "of=o"], &scratch).words(options);
            let inject = format!("pread64,read:error=EIO:when={when}");
            let strace = Strace::new(scratch.at("log")).trace("pread64,read").inject(&inject);
            let a = scratch.at("a").display().to_string();
            let done = strace.of_file(&a).wrap(call).run()?;
            let what = format!("{options:?} {when}: {done:?}");
            assert_eq!(done.code(), Some(1), "{what}");
            let told = reported_bytes(&done)?;
            let held = fs::read(scratch.at("o"))?;
            assert!(held[..told] == new[..told], "{what}: other bytes");
            assert!(held[told..] == old[told..], "{what}: more was written");
        }
    }
    Ok(())
}
