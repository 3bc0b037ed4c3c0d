//! haul's own options of `tar`: archives that share blocks, and archives that appear when complete.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use haul_manifest::Aspects;

use super::support::judge::demand_equal;
use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::strace::{Strace, is_usable};
use super::support::tar::{gnu_tar, is_current, ours};
use super::support::volume::volumes;
use super::support::{Outcome, has, ignored};

/// Sizes around the block and around the size from which blocks are shared.
const SIZES: [usize; 8] =
    [0, 100, 32_767, 32_768, 40_000, (256 << 10) + 1, 1 << 20, (3 << 20) + 4095];

/// Bytes that begin with the size, so that they can be found in an archive.
fn content(size: usize) -> Vec<u8> {
    let mut bytes = format!("<content of {size}>").into_bytes();
    let block: Vec<u8> = (0..8192_u32).map(|at| (at ^ at >> 5) as u8).collect();
    while bytes.len() < size {
        bytes.extend_from_slice(&block);
    }
    bytes.truncate(size);
    bytes
}

fn tree(scratch: &Scratch) -> Outcome {
    for size in SIZES {
        scratch.write(&format!("d/{size}"), content(size))?;
        scratch.write(&format!("d/{}/{size}", "long".repeat(30)), content(size))?;
    }
    let holes = fs::File::create(scratch.at("d/holes"))?;
    std::os::unix::fs::FileExt::write_all_at(&holes, &content(100_000), 1 << 20)?;
    holes.set_len(5 << 20)?;
    // Reading does not change a time of access that is later than all changes.
    let change = ["d", "-exec", "touch", "-m", "-d", "2001-02-03 04:05:06.789", "{}", "+"];
    Call::of("find").words(change).in_dir(scratch.path()).succeed()?;
    let access = ["d", "-exec", "touch", "-a", "-d", "2060-01-01", "{}", "+"];
    Call::of("find").words(access).in_dir(scratch.path()).succeed()?;
    Ok(())
}

#[test]
fn large_members_of_an_archive_file_are_those_of_gnu_tar() -> Outcome {
    if !has("tar")? {
        return Ok(());
    }
    for volume in volumes()? {
        let scratch = Scratch::on(&volume)?;
        tree(&scratch)?;
        for options in ["--format=gnu", "--format=posix", "--format=gnu -S", "-b1"] {
            if volume.name == "overlayfs" && options.ends_with("-S") {
                // haul does not trust its map of holes.
                continue;
            }
            if options.contains("posix") && !is_current()? {
                // Older versions put the number of their process into the header.
                continue;
            }
            let words = || options.split(' ').chain(["--sort=name", "-cf"]);
            let call = gnu_tar().words(words()).words(["g.tar", "d"]);
            call.in_dir(scratch.path()).succeed()?;
            let gnu = fs::read(scratch.at("g.tar"))?;
            for jobs in ["--jobs=1", "--jobs=5"] {
                let call = ours().word(jobs).words(words()).words(["h.tar", "d"]);
                call.in_dir(scratch.path()).succeed()?;
                assert!(fs::read(scratch.at("h.tar"))? == gnu, "{} {options} {jobs}", volume.name);
            }
        }
        fs::create_dir(scratch.at("x"))?;
        ours().words(["-xf", "h.tar", "-C", "x"]).in_dir(scratch.path()).succeed()?;
        demand_equal(&scratch.at("d"), &scratch.at("x/d"), Aspects::contents_only(), "");
    }
    Ok(())
}

#[test]
fn data_of_large_members_begin_at_blocks_and_every_tar_reads_them() -> Outcome {
    if !has("tar")? {
        return Ok(());
    }
    for volume in volumes()? {
        let scratch = Scratch::on(&volume)?;
        tree(&scratch)?;
        let create = |words: &[&str]| ours().words(words).in_dir(scratch.path()).succeed();
        create(&["-cf", "a.tar", "--reflink=auto", "--sort=name", "d"])?;
        let archive = fs::read(scratch.at("a.tar"))?;
        let piped = create(&["-cf", "-", "--reflink=auto", "--sort=name", "--jobs=1", "d"])?;
        assert!(piped.stdout == archive, "{}", volume.name);
        for size in SIZES.into_iter().filter(|size| *size >= 32 << 10) {
            let mark = format!("<content of {size}>");
            let places: Vec<usize> = archive
                .chunks(512)
                .enumerate()
                .filter(|(_, block)| block.starts_with(mark.as_bytes()))
                .map(|(number, _)| number * 512 % 4096)
                .collect();
            assert_eq!(places, [0, 0], "{} {size}", volume.name);
        }
        for (program, folder) in [("tar".into(), "gnu"), (haul(), "haul")] {
            fs::create_dir(scratch.at(folder))?;
            let tar = Call::of(&program);
            let tar = if folder == "haul" { tar.word("tar") } else { tar };
            let done =
                tar.words(["-xf", "a.tar", "-C", folder]).in_dir(scratch.path()).succeed()?;
            assert_eq!(done.errors(), "");
            let copy = scratch.at(folder).join("d");
            demand_equal(&scratch.at("d"), &copy, Aspects::contents_only(), folder);
        }
    }
    Ok(())
}

#[test]
fn blocks_are_shared_both_ways_or_it_is_an_error() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    for volume in volumes()? {
        let can = match volume.name.as_str() {
            "xfs" | "btrfs" => true,
            "ext4" | "ext4-4k" | "xfs-noreflink" | "tmpfs" => false,
            _ => continue,
        };
        let scratch = Scratch::on(&volume)?;
        scratch.write("d/large", content(1 << 20))?;
        scratch.write("d/odd", content(100_001))?;
        scratch.write("d/small", content(100))?;
        let run = |words: &[&str]| -> Outcome<(Option<i32>, usize)> {
            let log = Scratch::new()?;
            let strace = Strace::new(log.at("log")).trace("ioctl");
            let done = strace.wrap(ours().words(words).in_dir(scratch.path())).run()?;
            let clones = strace.text()?.matches("FICLONERANGE").count();
            Ok((done.code(), clones))
        };
        let created = run(&["-cf", "a.tar", "--reflink", "d"])?;
        if !can {
            assert_eq!(created.0, Some(2), "{}", volume.name);
            run(&["-cf", "a.tar", "--reflink=auto", "d"])?;
        } else {
            assert_eq!(created, (Some(0), 2), "{}", volume.name);
        }
        fs::create_dir(scratch.at("x"))?;
        let extracted = run(&["-xf", "a.tar", "--reflink=always", "-C", "x"])?;
        if can {
            assert_eq!(extracted, (Some(0), 2), "{}", volume.name);
            let copy = scratch.at("x/d");
            demand_equal(&scratch.at("d"), &copy, Aspects::contents_only(), &volume.name);
        } else {
            assert_eq!(extracted.0, Some(2), "{}", volume.name);
            assert!(!scratch.at("x/d/large").exists(), "{}", volume.name);
        }
        fs::create_dir(scratch.at("y"))?;
        let never = run(&["-xf", "a.tar", "--reflink=never", "-C", "y"])?;
        assert_eq!(never, (Some(0), 0), "{}", volume.name);
    }
    Ok(())
}

#[test]
fn an_archive_takes_the_place_of_the_old_one_when_it_is_complete() -> Outcome {
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    let names = || -> Outcome<usize> { Ok(fs::read_dir(scratch.path())?.count()) };
    for option in ["--atomic", "--durable"] {
        scratch.write("a.tar", "old")?;
        fs::set_permissions(scratch.at("a.tar"), fs::Permissions::from_mode(0o640))?;
        let before = names()?;
        let failing = [option, "-I", "false", "-cf", "a.tar", "d"];
        assert_eq!(ours().words(failing).in_dir(scratch.path()).run()?.code(), Some(2));
        assert_eq!(fs::read(scratch.at("a.tar"))?, b"old");
        assert_eq!(names()?, before, "{option}");
        for packing in ["--format=gnu", "--zstd", "-z"] {
            // While it is open its inode cannot be another file's.
            let old = fs::File::open(scratch.at("a.tar"))?;
            let words = [option, packing, "--sort=name", "-cf", "a.tar", "."];
            let done = ours().words(words).in_dir(scratch.path()).run()?;
            assert_eq!(done.code(), Some(0), "{option} {packing}: {}", done.errors());
            // Neither the old archive nor the new one is a member.
            assert!(
                done.errors().contains("archive cannot contain itself; not dumped"),
                "{packing}"
            );
            let new = fs::metadata(scratch.at("a.tar"))?;
            assert_ne!(new.ino(), old.metadata()?.ino(), "{option} {packing}");
            assert_eq!(new.mode() & 0o777, 0o640, "{option} {packing}");
            assert_eq!(names()?, before, "{option}");
            fs::create_dir(scratch.at("x"))?;
            ours().words(["-xf", "a.tar", "-C", "x"]).in_dir(scratch.path()).succeed()?;
            demand_equal(&scratch.at("d"), &scratch.at("x/d"), Aspects::contents_only(), packing);
            scratch.clear("x")?;
        }
    }
    Ok(())
}

#[test]
fn a_durable_archive_is_on_storage_before_it_has_its_name() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    let strace = Strace::new(scratch.at("log")).trace("fsync,linkat,renameat2,pwrite64");
    let words = ["--durable", "-cf", "a.tar", "d"];
    strace.wrap(ours().words(words).in_dir(scratch.path())).succeed()?;
    let calls: Vec<String> = strace.lines()?.into_iter().map(|line| line.name).collect();
    let at = |name: &str| calls.iter().position(|call| call == name);
    let last_write = calls.iter().rposition(|call| call == "pwrite64");
    // Before anything is written, `linkat` is asked whether it is allowed.
    let named = calls.iter().rposition(|call| call == "linkat").or_else(|| at("renameat2"));
    assert!(last_write < at("fsync") && at("fsync") < named, "{calls:?}");
    assert_eq!(calls.last().map(String::as_str), Some("fsync"), "{calls:?}");
    Ok(())
}

/// What makes no sense is refused with a sentence, before anything is written.
#[test]
fn options_without_a_meaning_are_refused() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("d", "d")?;
    for (words, text) in [
        ("-tf a --durable", "--durable is for -c"),
        ("-rf a --durable d", "--durable is for -c"),
        ("-cf - --atomic d", "--atomic needs the name of an archive"),
        ("-tf a --reflink", "--reflink is for -c and -x"),
        ("-rf a --reflink=auto d", "--reflink is for -c and -x"),
        ("-czf a --reflink=auto d", "--reflink cannot share the blocks of compressed archives"),
        ("-caf a.tgz --reflink d", "--reflink cannot share the blocks of compressed archives"),
        ("-cf - --reflink d", "--reflink=always needs the name of an archive"),
        ("-cf a --format=gnu --reflink d", "--reflink needs extended headers: --format=posix"),
        ("-cf a --reflink=maybe d", "--reflink"),
    ] {
        let done = ours().words(words.split(' ')).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(2), "{words}");
        assert!(done.errors().contains(text), "{words}: {}", done.errors());
        assert_eq!(fs::read_dir(scratch.path())?.count(), 1, "{words}");
    }
    Ok(())
}

/// Files of sysfs say that they have 4,096 bytes, and have fewer.
#[test]
fn a_file_whose_bytes_are_not_all_archived_stays_under_all_its_names() -> Outcome {
    const FILE: &str = "/sys/kernel/uevent_seqnum";
    if !Path::new(FILE).exists() {
        return ignored(FILE);
    }
    let scratch = Scratch::new()?;
    let words = ["-P", "-cf", "a.tar", "--remove-files", FILE, FILE];
    let done = ours().words(words).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(1), "{}", done.errors());
    assert!(done.errors().contains("shrank"), "{}", done.errors());
    // Sysfs would refuse it.
    assert!(!done.errors().contains("unlink"), "{}", done.errors());
    Ok(())
}

#[test]
fn files_in_many_directories_need_few_descriptors() -> Outcome {
    const DIRECTORIES: usize = 3000;
    let scratch = Scratch::new()?;
    for directory in 0..DIRECTORIES {
        scratch.write(&format!("s/{directory}/f"), "f")?;
    }
    ours().words(["-cf", "a.tar", "s"]).in_dir(scratch.path()).succeed()?;
    fs::create_dir(scratch.at("x"))?;
    // The second run gives every file back to the thread that reads.
    for round in 0..2 {
        let shell = "ulimit -n 700; exec \"$0\" \"$@\"";
        let call = Call::of("sh").words(["-c", shell]).word(haul());
        let call = call.words(["tar", "--jobs=2", "-xf", "a.tar", "-C", "x"]);
        let done = call.in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(0), "round {round}: {}", done.errors());
    }
    demand_equal(&scratch.at("s"), &scratch.at("x/s"), Aspects::contents_only(), "tree");
    Ok(())
}
