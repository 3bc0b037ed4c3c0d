//! Compressed archives: what haul writes, the formats' own programs, GNU tar and bsdtar read, and the
//! other way round; the bytes are the same for any number of jobs.

use std::fs;
use std::io::Write as _;

use haul_archive::index::IndexWriter;
use haul_codec::{Encoder, Packing};

use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::tar::gnu_tar;
use super::support::{Outcome, has};

fn ours() -> Call {
    Call::of(haul()).word("tar")
}

/// Returns bytes that compress to about half.
fn text(bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    std::iter::repeat_with(|| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        b'a' + (state >> 60) as u8
    })
    .take(bytes)
    .collect()
}

/// Files around the sizes of frames of 64 KiB, and of gzip's blocks.
fn tree(scratch: &Scratch) -> Outcome {
    for (number, bytes) in
        [0, 1, 511, 65_535, 65_536, 65_537, 30_000, 40_000, 100_000, 150_001, 700_000]
            .into_iter()
            .enumerate()
    {
        scratch.write(&format!("d/f{number}"), text(bytes, number as u64 + 1))?;
    }
    scratch.write("d/e/deep", "deep")?;
    Ok(())
}

/// Options, and the program that tests a file of that format.
const PACKED: &[(&[&str], &str)] = &[
    (&["-z"], "gzip"),
    (&["--zstd"], "zstd"),
    (&["--zstd", "--frame=64K"], "zstd"),
    (&["--zstd", "--frame=0"], "zstd"),
    (&["-J"], "xz"),
    (&["--lzma"], "xz"),
];

#[test]
fn other_programs_read_what_is_written_and_jobs_change_no_byte() -> Outcome {
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    let create = |words: &[&str]| {
        let fixed = ["-c", "--sort=name", "--format=gnu", "--mtime=@5"];
        ours().words(fixed).words(words).word("d").in_dir(scratch.path()).succeed()
    };
    let plain = create(&["--jobs=1"])?.stdout;
    for (options, program) in PACKED {
        let one = create(&[options, &["--jobs=1"][..]].concat())?.stdout;
        for jobs in ["--jobs=2", "--jobs=5"] {
            let same = create(&[options, &[jobs][..]].concat())?.stdout;
            assert!(same == one, "{options:?} {jobs}");
        }
        fs::write(scratch.at("a"), &one)?;
        if has(program)? {
            let judged = Call::of(program).words(["-dc"]).input(one.clone()).succeed()?;
            assert!(judged.stdout == plain, "{program} {options:?}");
        }
        if has("bsdtar")? {
            let judged = Call::of("bsdtar").words(["-xOf", "a", "d/f10"]);
            let judged = judged.in_dir(scratch.path()).succeed()?;
            assert!(judged.stdout == text(700_000, 11), "bsdtar {options:?}");
        }
        if has("tar")? && has(program)? {
            let judged = gnu_tar().word("-t").words(options.iter().take(1)).word("-fa");
            let judged = judged.in_dir(scratch.path()).succeed()?;
            assert_eq!(judged.text(), ours().word("-t").input(plain.clone()).succeed()?.text());
        }
        for words in [&["-tf", "a"][..], &["-tf", "a", "--no-seek"], &["-t"]] {
            let listed = ours().words(words).in_dir(scratch.path()).input(one.clone()).succeed()?;
            assert_eq!(listed.text().lines().count(), 14, "{options:?} {words:?}");
        }
    }
    Ok(())
}

#[test]
fn archives_that_are_cut_off_or_damaged_fail() -> Outcome {
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    for (options, _) in PACKED {
        let packed = ours().word("-c").words(*options).word("d").in_dir(scratch.path());
        let packed = packed.succeed()?.stdout;
        for part in [1, 2, 5, 7, 9] {
            let cut = &packed[..packed.len() * part / 10];
            let read = ours().words(["-xO"]).input(cut).run()?;
            assert_eq!(read.code(), Some(2), "{options:?} {part}");
            if options[0] == "--lzma" {
                continue;
            }
            // All other formats have sums.
            let mut wrong = packed.clone();
            wrong[packed.len() * part / 10] ^= 0x10;
            let read = ours().words(["-xO"]).input(wrong).run()?;
            assert_eq!(read.code(), Some(2), "{options:?} {part}, changed");
        }
        let more = [&packed[..], b"this is no archive"].concat();
        assert_eq!(ours().word("-t").input(more).run()?.code(), Some(2), "{options:?}");
    }
    Ok(())
}

#[test]
fn archives_of_other_programs_are_read() -> Outcome {
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    let plain = ours().words(["-c", "d"]).in_dir(scratch.path()).succeed()?.stdout;
    let wanted = text(150_001, 10);
    for words in [
        &["gzip", "-1"][..],
        &["bzip2"],
        &["xz", "-T2", "--block-size=100000"],
        &["xz", "-0"],
        &["xz", "--format=lzma"],
        &["zstd", "--long=30"],
        &["zstd", "--ultra", "--long=31", "-1"],
        &["zstd", "--single-thread", "--no-check"],
        &["pzstd", "-p", "3"],
    ] {
        if !has(words[0])? {
            continue;
        }
        let packed = Call::of(words[0]).words(&words[1..]).word("-c").input(plain.clone());
        let packed = packed.succeed()?.stdout;
        for jobs in ["--jobs=1", "--jobs=3"] {
            let read = ours()
                .words([jobs, "--memory=2G", "-xO", "-f-", "d/f9"])
                .input(packed.clone())
                .succeed()?;
            assert!(read.stdout == wanted, "{words:?} {jobs}");
        }
    }
    Ok(())
}

#[test]
fn single_members_are_read_without_the_rest() -> Outcome {
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    let words = ["-cf", "a", "--zstd", "--frame=64K", "d"];
    ours().words(words).in_dir(scratch.path()).succeed()?;
    let packed = fs::read(scratch.at("a"))?;
    let read = |name: &str| {
        ours().words(["-xOf", "a", "--trust-index", name]).in_dir(scratch.path()).run()
    };
    let sizes = [0, 1, 511, 65_535, 65_536, 65_537, 30_000, 40_000, 100_000, 150_001];
    for (number, bytes) in sizes.into_iter().enumerate() {
        let done = read(&format!("d/f{number}"))?;
        assert_eq!(done.errors(), "");
        assert!(done.stdout == text(bytes, number as u64 + 1), "d/f{number}");
    }
    assert_eq!(
        ours().words(["-tf", "a", "--trust-index", "d/e"]).in_dir(scratch.path()).succeed()?.text(),
        "d/e/\nd/e/deep\n"
    );
    let missing = read("d/missing")?;
    assert_eq!(missing.code(), Some(2));
    assert!(missing.errors().starts_with("tar: d/missing: Not found in archive\n"));
    // One frame is damaged: only the members in it and a reader of everything notice.
    let mut damaged = packed.clone();
    damaged[packed.len() / 2] ^= 1;
    fs::write(scratch.at("a"), &damaged)?;
    let codes: Vec<_> = (0..11)
        .map(|number| Ok(read(&format!("d/f{number}"))?.code()))
        .collect::<Result<_, Box<dyn std::error::Error>>>()?;
    assert!(codes.contains(&Some(0)) && codes.contains(&Some(2)), "{codes:?}");
    for words in [&["-tf", "a"][..], &["-tf", "a", "--no-seek", "d/f1"]] {
        let all = ours().words(words).in_dir(scratch.path()).run()?;
        assert_eq!(all.code(), Some(2), "{words:?}");
    }
    Ok(())
}

/// The index tells only where the members with these names are.
#[test]
fn options_about_other_members_need_them() -> Outcome {
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    let create = ["-c", "--sort=name", "d"];
    ours().words(create).words(["-f", "plain"]).in_dir(scratch.path()).succeed()?;
    let packed = ["--zstd", "--frame=64K", "-f", "packed"];
    ours().words(create).words(packed).in_dir(scratch.path()).succeed()?;
    for words in ["-K d/f3 d/f5", "--show-omitted-dirs d/e/deep", "-R d/f5", "-K d/f5 d/f3"] {
        let list = |archive: &str| {
            let call = ours().words(["-tf", archive, "--trust-index"]).words(words.split(' '));
            call.in_dir(scratch.path()).run()
        };
        let (plain, packed) = (list("plain")?, list("packed")?);
        assert_eq!(packed.text(), plain.text(), "{words}");
        assert_eq!(packed.errors(), plain.errors(), "{words}");
        assert_eq!(packed.code(), plain.code(), "{words}");
    }
    Ok(())
}

#[test]
fn a_damaged_index_never_changes_what_is_read() -> Outcome {
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    let words = ["-cf", "a", "--zstd", "--frame=64K", "d"];
    ours().words(words).in_dir(scratch.path()).succeed()?;
    let packed = fs::read(scratch.at("a"))?;
    let wanted = text(30_000, 7);
    // The index and the seek table are at the end.
    for back in (1..1400).step_by(37) {
        let mut wrong = packed.clone();
        let at = packed.len() - back;
        wrong[at] ^= 0x5a;
        fs::write(scratch.at("a"), &wrong)?;
        let done =
            ours().words(["-xOf", "a", "--trust-index", "d/f6"]).in_dir(scratch.path()).run()?;
        match done.code() {
            Some(0) => assert!(done.stdout == wanted, "{back}"),
            code => assert_eq!(code, Some(2), "{back}"),
        }
        fs::write(scratch.at("a"), &packed[..at])?;
        let done =
            ours().words(["-xOf", "a", "--trust-index", "d/f6"]).in_dir(scratch.path()).run()?;
        assert!(done.code() == Some(2) || done.stdout == wanted, "{back}");
    }
    Ok(())
}

/// Returns a compressed archive with an index that has a header among the data of `README` as a member.
fn lying(scratch: &Scratch) -> Outcome<Vec<u8>> {
    scratch.write("evil/install.sh", "echo evil\n")?;
    let member = ours().words(["-c", "install.sh"]).in_dir(scratch.at("evil")).succeed()?.stdout;
    scratch.write("README", &member[..1024])?;
    scratch.write("install.sh", "echo good\n")?;
    let plain = ours().words(["-c", "README", "install.sh"]).in_dir(scratch.path()).succeed()?;
    let mut index = IndexWriter::default();
    for (name, offset) in [("README", 0), ("install.sh", 512), ("other", 1536)] {
        index.add(name.as_bytes(), offset)?;
    }
    let packing = Packing::Zstd { frame_bytes: 16 << 20 };
    let mut encoder = Encoder::packing(Vec::new(), packing, 1);
    encoder.write_all(&plain.stdout)?;
    encoder.attach(index.finish()?);
    Ok(encoder.finish()?.0)
}

#[test]
fn an_index_that_lies_decides_nothing_unless_it_is_trusted() -> Outcome {
    let scratch = Scratch::new()?;
    fs::write(scratch.at("a"), lying(&scratch)?)?;
    let read = |words: &[&str]| {
        let call = ours().words(words).words(["-f", "a", "install.sh"]);
        Ok::<_, Box<dyn std::error::Error>>(call.in_dir(scratch.path()).succeed()?.text())
    };
    for words in [&["-xO"][..], &["-xO", "-n"], &["-xO", "--no-seek"], &["-xO", "--zstd"]] {
        assert_eq!(read(words)?, "echo good\n", "{words:?}");
    }
    assert_eq!(read(&["-d"])?, "");
    assert_eq!(read(&["-t"])?, "install.sh\n");
    // The test would not show anything if this index were not used.
    assert_eq!(read(&["-xO", "--trust-index"])?, "echo evil\n");
    Ok(())
}

#[test]
fn options_of_compression_are_checked() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("f", "x")?;
    for (words, text) in [
        ("-cz --frame=1M f", "--frame is for -c with --zstd"),
        ("-t --zstd --frame=1M", "--frame is for -c with --zstd"),
        ("-c --zstd --frame=1 f", "--frame is 0, or from 64K to 1G"),
        ("-c --zstd --trust-index f", "--trust-index is for -x, -t and -d"),
        ("-czJ f", "Conflicting compression options"),
    ] {
        let done = ours().words(words.split(' ')).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(2), "{words}");
        assert!(done.errors().contains(text), "{words}: {}", done.errors());
    }
    ours().words(["-caf", "a.tzst", "--frame=1M", "f"]).in_dir(scratch.path()).succeed()?;
    assert!(fs::read(scratch.at("a.tzst"))?.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]));
    Ok(())
}
