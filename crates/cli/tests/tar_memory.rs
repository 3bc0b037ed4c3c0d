//! Memory: what compressing takes follows what there is, and where it does not suffice, a message says so.

use std::fs;
use std::io::Write as _;

use haul_codec::{Encoder, Packing};

use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::shell::noise;
use super::support::{Outcome, has};

fn ours() -> Call {
    Call::of(haul()).word("tar")
}

/// Starts haul's tar with so many KiB of address space.
fn within(kib: u64) -> Call {
    let script = format!("ulimit -v {kib}; \"$0\" tar \"$@\"");
    Call::of("sh").words(["-c", &script]).word(haul())
}

#[test]
fn creation_takes_no_more_address_space_than_there_is() -> Outcome {
    let scratch = Scratch::new()?;
    let data = noise(5 << 20);
    for number in 0..24 {
        scratch.write(&format!("d/f{number}"), &data[number..])?;
    }
    let create = |call: Call, name: &str| {
        let words = ["--zstd", "--sort=name", "-cf", name, "d"];
        call.words(words).in_dir(scratch.path()).succeed()
    };
    create(ours().word("--jobs=32"), "free")?;
    // With 32 threads the stacks alone would take 64 MiB, and their frames 512 MiB.
    create(within(300_000).word("--jobs=32"), "tight")?;
    assert!(fs::read(scratch.at("free"))? == fs::read(scratch.at("tight"))?, "other bytes");
    let read = within(300_000).words(["--jobs=32", "-df", "tight"]);
    read.in_dir(scratch.path()).succeed()?;
    Ok(())
}

#[test]
fn memory_that_is_not_there_is_an_error_with_a_name() -> Outcome {
    let scratch = Scratch::new()?;
    let data = noise(20 << 20);
    scratch.write("f", &data)?;
    let mut failed = 0;
    for kib in (8..100).step_by(4).map(|mib| mib * 1024) {
        // The program itself has to be loaded.
        if within(kib).word("--version").run()?.code() != Some(0) {
            continue;
        }
        let create = within(kib).words(["--zstd", "--jobs=2", "-cf", "a", "f"]);
        let done = create.in_dir(scratch.path()).run()?;
        // The shell tells a signal by a status above 128.
        assert!(matches!(done.code(), Some(0 | 2)), "{kib}: {:?} {}", done.code(), done.errors());
        if done.code() == Some(2) {
            assert!(done.errors().starts_with("tar: "), "{kib}: {}", done.errors());
            failed += 1;
        }
    }
    assert!(failed > 0, "no limit was too small");
    Ok(())
}

#[test]
fn a_large_window_needs_an_option() -> Outcome {
    if !has("zstd")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("f", "f")?;
    let plain = ours().words(["-c", "f"]).in_dir(scratch.path()).succeed()?.stdout;
    for (long, code, option) in [
        ("27", 0, None),
        ("28", 2, None),
        ("31", 2, None),
        ("28", 0, Some("--memory=256M")),
        ("31", 0, Some("--memory=2G")),
    ] {
        let pack = Call::of("zstd").words(["-c", "--ultra"]).word(format!("--long={long}"));
        let packed = pack.input(plain.clone()).succeed()?.stdout;
        for input in [true, false] {
            fs::write(scratch.at("a"), &packed)?;
            let mut call = ours().words(option).words(["-t", "-f"]);
            call = if input { call.word("-").input(packed.clone()) } else { call.word("a") };
            let read = call.in_dir(scratch.path()).run()?;
            assert_eq!(read.code(), Some(code), "{long} {option:?}: {}", read.errors());
            assert_eq!(read.errors().contains("--memory=SIZE allows more"), code == 2, "{long}");
        }
    }
    Ok(())
}

/// Frames of zeros, each of 64 MiB and a few KiB in the file.
#[test]
fn frames_at_the_same_time_take_bounded_memory() -> Outcome {
    let scratch = Scratch::new()?;
    let zeros = vec![0; 64 << 20];
    let mut encoder = Encoder::packing(Vec::new(), Packing::Zstd { frame_bytes: 64 << 20 }, 1);
    encoder.write_all(&zeros)?;
    let frame = encoder.finish()?.0;
    fs::write(scratch.at("a"), frame.repeat(24))?;
    drop(zeros);
    let call = ours().words(["-tf", "a", "--jobs=24", "--memory=128M"]);
    let done = call.in_dir(scratch.path()).watching_memory().run()?;
    assert!(done.peak_bytes < 400 << 20, "{} MiB", done.peak_bytes >> 20);
    Ok(())
}
