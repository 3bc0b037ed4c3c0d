//! Archives whose writer ended early: none is taken for a complete one, by any program.

use std::fs;

use haul_codec::SeekTable;
use haul_manifest::noise;

use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::strace::{Strace, is_usable};
use super::support::tar::gnu_tar;
use super::support::{Outcome, has};

fn ours() -> Call {
    Call::of(haul()).word("tar")
}

/// Files around the size of a frame of 64 KiB, names that need headers of their own, and many members of one
/// block, also at the end.
fn furnish(scratch: &Scratch) -> Outcome {
    for number in 0..400 {
        scratch.write(&format!("d/a/empty{number}"), "")?;
        scratch.write(&format!("d/z/empty{number}"), "")?;
    }
    for (number, bytes) in [1, 512, 30_000, 60_000, 65_024, 65_536, 100_000].into_iter().enumerate()
    {
        scratch.write(&format!("d/m/f{number}"), noise(number as u64 + 1, bytes))?;
    }
    let long = "n".repeat(120);
    for number in 0..150 {
        scratch.write(&format!("d/n/{long}{number}"), "")?;
        scratch.write(&format!("d/o/f{number}"), noise(number, 900))?;
    }
    Ok(())
}

/// Returns what a file has up to each of its frames but the last.
fn prefixes(packed: &[u8]) -> Outcome<Vec<&[u8]>> {
    let bytes = SeekTable::table_bytes(packed).ok_or("no table")?;
    let table = SeekTable::read(&packed[packed.len() - bytes..], packed.len() as u64)
        .ok_or("no table of this file")?;
    let mut frames: Vec<_> =
        table.frames().iter().filter(|frame| frame.content_bytes > 0).collect();
    frames.pop();
    let mut end = 0;
    let ends = frames.iter().map(|frame| {
        end += frame.bytes as usize;
        end
    });
    Ok(ends.map(|end| &packed[..end]).collect())
}

#[test]
fn no_prefix_of_frames_is_a_complete_archive() -> Outcome {
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    for format in ["gnu", "oldgnu", "posix", "ustar"] {
        // Names that this format cannot have.
        let exclude = if format == "ustar" { "--exclude=d/n" } else { "--exclude=nothing" };
        let words = ["-cf", "a", "--zstd", "--frame=64K", "--sort=name", exclude, "d"];
        let create = ours().word(format!("--format={format}")).words(words);
        create.in_dir(scratch.path()).succeed()?;
        let packed = fs::read(scratch.at("a"))?;
        let cuts = prefixes(&packed)?;
        assert!(cuts.len() >= 10, "{format}: {}", cuts.len());
        for (number, cut) in cuts.into_iter().enumerate() {
            fs::write(scratch.at("cut"), cut)?;
            let list = |call: Call| call.words(["-tf", "cut"]).in_dir(scratch.path()).run();
            let read = list(ours())?;
            assert_eq!(read.code(), Some(2), "{format} {number}");
            assert!(!read.errors().is_empty(), "{format} {number}");
            if has("zstd")? {
                assert_eq!(list(gnu_tar().word("--zstd"))?.code(), Some(2), "{format} {number}");
            }
            if has("bsdtar")? {
                assert_ne!(list(Call::of("bsdtar"))?.code(), Some(0), "{format} {number}");
            }
        }
        let names = ours().words(["-tf", "a"]).in_dir(scratch.path()).succeed()?;
        let count = if format == "ustar" { 962 } else { 1113 };
        assert_eq!(names.text().lines().count(), count, "{format}");
        if has("zstd")? {
            let judged =
                gnu_tar().words(["--zstd", "-tf", "a"]).in_dir(scratch.path()).succeed()?;
            assert_eq!(judged.text(), names.text(), "{format}");
            let same = gnu_tar().words(["--zstd", "-df", "a"]).in_dir(scratch.path()).succeed()?;
            assert_eq!(same.text(), "", "{format}");
        }
        for name in ["d/a/empty399", "d/m/f5", "d/o/f149", "d/z/empty399"] {
            let read = ours()
                .words(["-xOf", "a", "--trust-index", name])
                .in_dir(scratch.path())
                .succeed()?;
            assert!(read.stdout == fs::read(scratch.at(name))?, "{format} {name}");
        }
    }
    Ok(())
}

#[test]
fn a_compressed_archive_that_ends_between_members_fails() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("d/f", "f")?;
    scratch.write("d/g", "g")?;
    let plain = ours().words(["-c", "--sort=name", "d"]).in_dir(scratch.path()).succeed()?.stdout;
    // The directory, a file of one block, and the other file.
    for (bytes, code) in [(0, 2), (512, 2), (1536, 2), (2560, 2), (3072, 0), (3584, 0), (10_240, 0)]
    {
        let part = &plain[..bytes];
        if bytes > 0 {
            // As GNU tar reads it.
            let read = ours().words(["-df-"]).in_dir(scratch.path()).input(part).run()?;
            assert_eq!(read.code(), Some(0), "{bytes}: {}", read.errors());
        }
        for words in [&["gzip"][..], &["zstd"], &["xz"], &["bzip2"]] {
            if !has(words[0])? {
                continue;
            }
            let packed = Call::of(words[0]).words(&words[1..]).word("-c").input(part).succeed()?;
            fs::write(scratch.at("a"), &packed.stdout)?;
            let program = format!("-I{}", words[0]);
            for task in [
                &["-t"][..],
                &["-d"],
                &["-x", "-C", "out"],
                &["-ti"],
                &["-t", &program],
                &["-t", "--no-seek"],
            ] {
                fs::create_dir_all(scratch.at("out"))?;
                let read = ours().words(task).words(["-f", "a"]).in_dir(scratch.path()).run()?;
                let context = format!("{words:?} {task:?} {bytes}: {}", read.errors());
                assert_eq!(read.code(), Some(code), "{context}");
                assert_eq!(read.errors().contains("blocks of zeros"), code == 2, "{context}");
            }
        }
    }
    Ok(())
}

#[test]
fn an_archive_that_was_cut_to_nothing_fails() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("empty", "")?;
    for option in ["-z", "-j", "-J", "--zstd", "--lzma", "-a", "-Icat"] {
        for task in ["-t", "-x", "-d"] {
            for input in [&["-f", "empty"][..], &["-f", "empty", "--no-seek"], &["-f-"]] {
                let read =
                    ours().words([option, task]).words(input).in_dir(scratch.path()).run()?;
                let context = format!("{option} {task} {input:?}: {}", read.errors());
                assert_eq!(read.code(), Some(2), "{context}");
                assert!(!read.errors().is_empty(), "{context}");
            }
        }
    }
    Ok(())
}

/// Options of `-c`, and the program that they need.
const KINDS: [(&[&str], Option<&str>); 5] = [
    (&[], None),
    (&["-z"], None),
    (&["--zstd", "--frame=64K"], None),
    (&["-J"], None),
    (&["-j"], Some("bzip2")),
];

#[test]
fn a_signal_leaves_no_unfinished_archive() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    for number in 0..30 {
        scratch.write(&format!("d/f{number}"), noise(number, 20_000))?;
    }
    scratch.write("d/large", noise(99, 3 << 20))?;
    let mut stopped = 0;
    for (options, program) in KINDS {
        if let Some(program) = program
            && !has(program)?
        {
            continue;
        }
        let signals = [("INT", 2), ("TERM", 15), ("HUP", 1)];
        for (signal, number) in signals.into_iter().take(if options.is_empty() { 3 } else { 1 }) {
            for (name, when) in
                [("openat", 40), ("pread64", 3), ("pwrite64", 2), ("write", 2), ("fstat", 40)]
            {
                for is_there in [false, true] {
                    scratch.clear("a")?;
                    if is_there {
                        scratch.write("a", "what was there")?;
                    }
                    let what = format!("{name}:signal={signal}:when={when}");
                    let call = ours().words(["-cf", "a", "--jobs=1"]).words(options).word("d");
                    let strace = Strace::new(scratch.at("log")).trace(name).inject(&what);
                    let done = strace.wrap(call.in_dir(scratch.path())).run()?;
                    let context = format!("{options:?} SIG{signal} {name} {is_there}: {done:?}");
                    if done.signal().is_none() {
                        // It makes fewer such calls.
                        assert_eq!(done.code(), Some(0), "{context}");
                    }
                    match fs::read(scratch.at("a")) {
                        // Complete, before the signal arrived.
                        Ok(bytes) if !bytes.is_empty() => {
                            let read = ours().words(["-df", "a"]).in_dir(scratch.path()).run()?;
                            assert_eq!(read.code(), Some(0), "{context} {}", read.errors());
                        }
                        Ok(_) => {
                            assert!(is_there, "{context}");
                            stopped += 1;
                        }
                        Err(_) => {
                            assert!(!is_there && done.signal() == Some(number), "{context}");
                            stopped += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(stopped > 40, "{stopped}");
    Ok(())
}
