//! Operations are counted, not seconds: the number of system calls for fixed trees is pinned.
//!
//! A number here may decrease in a commit that makes haul faster. An increase costs time for every
//! file.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use haul_manifest::parse_recipe;

use super::support::run::{Call, cp, haul};
use super::support::scratch::Scratch;
use super::support::strace::{Line, Strace, is_usable, points};
use super::support::volume::volumes;
use super::support::{Outcome, ignored, which};

const FILES: usize = 1000;
const DIRECTORIES: usize = 10;

/// Calls for a small file that is compressed or decompressed, at most: gzip makes 17.
const CALLS_OF_GZIP: usize = 34;

/// Copies a tree of 1,000 files of 1 KiB in 10 directories, and counts the calls by name from the
/// engine's opening of the current directory on.
fn count(options: &[&str]) -> Outcome<BTreeMap<String, usize>> {
    count_in(&Scratch::new()?, options)
}

fn count_in(scratch: &Scratch, options: &[&str]) -> Outcome<BTreeMap<String, usize>> {
    let recipe = format!("nested:files={FILES},dirs={DIRECTORIES},size=1024");
    parse_recipe(&recipe)?.generate(&scratch.at("s")).map_err(|failure| failure.to_string())?;
    let strace = Strace::new(scratch.at("log"));
    strace.wrap(cp(options).words(["s", "t"]).in_dir(scratch.path())).succeed()?;
    let mut counts = BTreeMap::new();
    for point in points(&strace.lines()?.into_iter().filter(is_ours).collect::<Vec<_>>()) {
        *counts.entry(point.name).or_default() += 1;
    }
    Ok(counts)
}

/// With debug assertions, the standard library checks each descriptor that it drops.
fn is_ours(line: &Line) -> bool {
    !line.text.contains("F_GETFD")
}

fn of(counts: &BTreeMap<String, usize>, names: &[&str]) -> usize {
    names.iter().filter_map(|name| counts.get(*name)).sum()
}

#[test]
fn a_small_file_takes_six_calls() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let counts = count(&["-r", "--jobs=1"])?;
    // The tree also has a root.
    let directories = DIRECTORIES + 1;
    // Both sides of each file and of each directory, and the current directory.
    assert_eq!(of(&counts, &["openat"]), 2 * FILES + 2 * directories + 1, "{counts:?}");
    // The current directory and the target's may be described once more.
    let described = of(&counts, &["fstat"]);
    let least = FILES + 2 * directories;
    assert!((least..=least + 2).contains(&described), "{described} fstat: {counts:?}");
    assert_eq!(of(&counts, &["sendfile", "copy_file_range", "pwrite64"]), FILES, "{counts:?}");
    let closed = of(&counts, &["close"]);
    // At the end, standard output and standard error are closed to detect failed writes.
    let least = 2 * FILES + 2 * directories + 2;
    assert!((least..=least + 2).contains(&closed), "{closed} close: {counts:?}");
    assert_eq!(of(&counts, &["mkdirat"]), directories, "{counts:?}");
    assert_eq!(of(&counts, &["getdents64"]), 2 * directories, "{counts:?}");
    // The directories themselves, and the target operand.
    assert_eq!(of(&counts, &["newfstatat", "statx"]), directories + 1, "{counts:?}");
    let all: usize = counts.values().sum();
    let accounted = 6 * FILES + 10 * directories + 4;
    assert!(all <= accounted + 22, "{all} calls, {accounted} are accounted for: {counts:?}");
    Ok(())
}

#[test]
fn the_number_of_calls_is_the_same_in_every_run() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    assert_eq!(count(&["-r", "--jobs=1"])?, count(&["-r", "--jobs=1"])?);
    Ok(())
}

#[test]
fn several_workers_make_the_same_calls_for_files() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let (one, several) = (count(&["-r", "--jobs=1"])?, count(&["-r", "--jobs=4"])?);
    for name in ["openat", "fstat", "sendfile", "mkdirat"] {
        assert_eq!(one.get(name), several.get(name), "{name}");
    }
    Ok(())
}

/// On XFS, workers choose directories of different allocation groups, which the inode numbers of the
/// new directories have. One worker has no choice, and other file systems have no such locks.
#[test]
fn only_on_xfs_new_directories_are_described_for_several_workers() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    for volume in volumes()? {
        let is_xfs = volume.name.starts_with("xfs");
        for (jobs, of_targets) in [(1, 0), (3, if is_xfs { DIRECTORIES + 1 } else { 0 })] {
            let scratch = Scratch::on(&volume)?;
            let counts = count_in(&scratch, &["-r", &format!("--jobs={jobs}")])?;
            let of_sources = DIRECTORIES + 1;
            // The target operand is described once.
            let described = of(&counts, &["newfstatat", "statx"]);
            let name = &volume.name;
            assert_eq!(described, of_sources + 1 + of_targets, "{name}, {jobs}: {counts:?}");
            // The current directory is only a path, for which the first one fails.
            let of_groups = if is_xfs { 2 } else { 0 };
            assert_eq!(of(&counts, &["ioctl"]), of_groups, "{name}, {jobs}: {counts:?}");
        }
    }
    Ok(())
}

/// Beyond the six: one call that lists attributes, one that sets times, one that reads flags.
#[test]
fn an_archive_copy_of_a_small_file_takes_nine_calls() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let counts = count(&["-a", "--jobs=1"])?;
    let all: usize = counts.values().sum();
    let budget = 9 * FILES + 20 * (DIRECTORIES + 1) + 40;
    assert!(all <= budget, "{all} calls, more than {budget}: {counts:?}");
    Ok(())
}

/// A file of a kilobyte costs calls about its names and attributes, and the memory of its bytes: no huge
/// page, which the kernel would clear for each file, and no call that wakes a thread which does not wait.
#[test]
fn a_small_file_that_is_compressed_costs_little_memory_and_wakes_no_thread() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let recipe = format!("nested:files={FILES},dirs={DIRECTORIES},size=1024");
    parse_recipe(&recipe)?.generate(&scratch.at("s")).map_err(|failure| failure.to_string())?;
    for words in [["gzip", "--jobs=1", "-r", "s"], ["gunzip", "--jobs=1", "-r", "s"]] {
        let strace = Strace::new(scratch.at("log"));
        strace.wrap(Call::of(haul()).words(words).in_dir(scratch.path())).succeed()?;
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for point in points(&strace.lines()?.into_iter().filter(is_ours).collect::<Vec<_>>()) {
            *counts.entry(point.name).or_default() += 1;
        }
        assert!(of(&counts, &["madvise"]) < FILES / 10, "{words:?} {counts:?}");
        assert!(of(&counts, &["futex"]) < FILES / 10, "{words:?} {counts:?}");
        // The block that is read and the one that is written.
        assert!(of(&counts, &["mmap"]) < 2 * FILES + FILES / 10, "{words:?} {counts:?}");
        let all: usize = counts.values().sum();
        assert!(all < CALLS_OF_GZIP * FILES, "{words:?}: {all} calls: {counts:?}");
    }
    Ok(())
}

/// The number of processors is in files of /proc and /sys, whose reading takes two dozen calls.
#[test]
fn one_small_file_does_not_need_the_number_of_processors() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    for (words, asks) in [
        (&["cp", "f", "t"][..], false),
        (&["cp", "-a", "f", "t"], false),
        (&["mv", "t", "u"], false),
        (&["rm", "u"], false),
        (&["cat", "f"], false),
        (&["dd", "if=f", "of=v", "status=none"], false),
        (&["tee", "v"], false),
        (&["md5sum", "f"], false),
        (&["gzip", "f"], false),
        (&["gunzip", "f.gz"], false),
        (&["cp", "-r", "s", "t"], true),
    ] {
        if words != ["gunzip", "f.gz"] {
            scratch.write("f", "text")?;
        }
        scratch.write("s/f", "text")?;
        let strace = Strace::new(scratch.at("log"));
        strace.wrap(Call::of(haul()).words(words).in_dir(scratch.path())).succeed()?;
        let lines = strace.lines()?;
        let is_asking = |line: &Line| line.text.contains("cgroup");
        assert_eq!(lines.iter().any(is_asking), asks, "{words:?}: {lines:?}");
    }
    Ok(())
}

/// Rust's library would read /proc/self/maps before `main`, and install handlers with a stack of their own: 24 calls.
/// The one more looks whether a standard descriptor is closed.
#[test]
fn a_start_takes_one_call_more_than_that_of_gnus_cat() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let version =
        |cat: &PathBuf| -> Outcome<String> { Ok(Call::of(cat).word("--version").run()?.text()) };
    let Some(theirs) = which("cat") else { return ignored("GNU cat") };
    if !version(&theirs)?.starts_with("cat (GNU coreutils)") {
        return ignored("GNU cat");
    }
    let scratch = Scratch::new()?;
    scratch.write("f", "text")?;
    symlink(haul(), scratch.at("cat"))?;
    let before_the_first_file = |program: &Path| -> Outcome<usize> {
        let strace = Strace::new(scratch.at("log"));
        strace.wrap(Call::of(program).word("f").in_dir(scratch.path())).succeed()?;
        let lines: Vec<Line> = strace.lines()?.into_iter().filter(is_ours).collect();
        let opens = |line: &Line| line.name == "openat" && line.text.contains("\"f\"");
        let at = lines.iter().position(opens);
        Ok(at.ok_or_else(|| format!("{} does not open it: {lines:?}", program.display()))?)
    };
    let (ours, theirs) =
        (before_the_first_file(&scratch.at("cat"))?, before_the_first_file(&theirs)?);
    assert!(ours <= theirs + 1, "{ours} calls, those of GNU cat are {theirs}");
    Ok(())
}
