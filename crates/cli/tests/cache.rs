//! The effects of `--cache`, measured by asking the kernel which pages it has; and the messages where
//! direct or uncached I/O is refused.

use std::fs::File;
use std::path::Path;

use haul_manifest::wait_until;
use haul_sys::memory::cachestat;

use super::support::run::{Call, cp, haul};
use super::support::scratch::Scratch;
use super::support::shell::{demand, noise};
use super::support::strace::{Strace, is_usable};
use super::support::volume::with_a_device;
use super::support::{Outcome, ignored};

const MIB: usize = 1 << 20;

/// Pages of both files that may stay cached: a few that the kernel (a flusher, readahead) holds at
/// that moment.
const LEFT_PAGES: u64 = 16;

/// Returns whether the kernel tells how many pages of a file are cached (Linux 6.5).
fn is_told() -> Outcome<bool> {
    if cachestat(File::open(std::env::current_exe()?)?, 0, 0).is_err() {
        ignored("cachestat")?;
        return Ok(false);
    }
    Ok(true)
}

/// Returns how many pages of a file are cached.
fn cached_pages(path: &Path) -> Outcome<u64> {
    Ok(cachestat(File::open(path)?, 0, 0)?.cached)
}

/// Returns how many pages the kernel has reclaimed since the machine started, to have free memory. A page
/// that was cached may be among them, whatever a program does.
fn reclaimed() -> Outcome<u64> {
    let counters = std::fs::read_to_string("/proc/vmstat")?;
    let stolen = |line: &str| line.strip_prefix("pgsteal_")?.split(' ').nth(1)?.parse::<u64>().ok();
    Ok(counters.lines().filter_map(stolen).sum())
}

/// Pages under writeback are dropped when that ends, a little later.
fn wait_for_few_pages(path: &Path, what: &str) {
    let is_dropped = || cached_pages(path).is_ok_and(|left| left <= LEFT_PAGES);
    wait_until(&format!("the pages of the target are dropped: {what}"), is_dropped);
}

/// Makes a source of this size: warm, or only on the device.
fn plant(path: &Path, bytes: usize, warm: bool) -> Outcome {
    std::fs::write(path, noise(bytes))?;
    let file = File::open(path)?;
    file.sync_all()?;
    if !warm {
        haul_sys::data::fadvise(&file, 0, 0, haul_sys::data::Advice::DontNeed)?;
    }
    Ok(())
}

/// Runs a command that is to keep the cached pages of a file, and calls `count` for how many there were
/// before and are now. The kernel may reclaim pages at any time, and counts a batch of them only when it has
/// dealt with all of it: so pages that are missing fail the test only if they are missing each time.
fn keeps_what_was_cached(mut count: impl FnMut() -> Outcome<(u64, u64)>, what: &str) -> Outcome {
    for attempt in 1.. {
        let reclaimed_before = reclaimed()?;
        let (before, after) = count()?;
        if after + LEFT_PAGES >= before || reclaimed()? != reclaimed_before {
            break;
        }
        assert!(attempt < 3, "{what}: {after} pages of the source, {before} before");
    }
    Ok(())
}

#[test]
fn a_copy_leaves_no_more_in_the_page_cache_than_it_promises() -> Outcome {
    if !is_told()? {
        return Ok(());
    }
    for volume in with_a_device()? {
        let scratch = Scratch::on(&volume)?;
        let (source, target) = (scratch.at("s"), scratch.at("t"));
        for bytes in [1, 100_000, 24 * MIB + 77] {
            for (cache, warm) in [
                ("drop", true),
                ("drop", false),
                ("direct", true),
                ("direct", false),
                ("restore", true),
                ("restore", false),
            ] {
                for jobs in ["--jobs=1", "--jobs=3"] {
                    let option = format!("--cache={cache}");
                    let what = format!("{option} {jobs}, {bytes} bytes, {warm}, {}", volume.name);
                    let count = || {
                        plant(&source, bytes, warm)?;
                        let before = cached_pages(&source)?;
                        cp([&option, jobs, "--reflink=never", "s", "t"])
                            .in_dir(scratch.path())
                            .succeed()?;
                        let one = cached_pages(&source)?;
                        wait_for_few_pages(&target, &what);
                        let stays = if cache == "restore" { before } else { 0 };
                        assert!(
                            one <= stays + LEFT_PAGES,
                            "{what}: {one} pages of the source, {before} before"
                        );
                        assert!(std::fs::read(&source)? == std::fs::read(&target)?, "{what}");
                        scratch.clear("t")?;
                        Ok((stays, one))
                    };
                    keeps_what_was_cached(count, &what)?;
                }
            }
        }
    }
    Ok(())
}

#[test]
fn the_ends_of_a_pipe_leave_nothing_that_was_not_there() -> Outcome {
    if !is_told()? {
        return Ok(());
    }
    for volume in with_a_device()? {
        let scratch = Scratch::on(&volume)?;
        for line in
            ["haul read s | haul write t", "haul write t < s", "haul read - < s | haul write t"]
        {
            for warm in [false, true] {
                let what = format!("{line}, {warm}, {}", volume.name);
                let (source, target) = (scratch.at("s"), scratch.at("t"));
                let count = || {
                    plant(&source, 24 * MIB + 77, warm)?;
                    let before = cached_pages(&source)?;
                    demand(scratch.path(), line)?;
                    let one = cached_pages(&source)?;
                    wait_for_few_pages(&target, &what);
                    assert!(one <= before + LEFT_PAGES, "{what}: {one} pages, {before} before");
                    demand(scratch.path(), "cmp s t")?;
                    scratch.clear("t")?;
                    Ok((before, one))
                };
                keeps_what_was_cached(count, &what)?;
            }
        }
    }
    Ok(())
}

/// The errnos of a seccomp filter (containers), of `kernel.io_uring_disabled` (both `EPERM`) and of
/// a kernel without io_uring.
#[test]
fn a_ring_that_is_refused_is_told_and_replaced() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    for volume in with_a_device()? {
        let scratch = Scratch::on(&volume)?;
        plant(&scratch.at("s"), 9 * MIB + 5, true)?;
        for errno in ["EPERM", "ENOSYS"] {
            let strace = Strace::new(scratch.at("log"))
                .trace("io_uring_setup")
                .inject(&format!("io_uring_setup:error={errno}"));
            let words = ["--cache=direct", "--explain", "--reflink=never", "s", "t"];
            let done = strace.wrap(cp(words).in_dir(scratch.path())).run()?;
            let what = format!("{errno}, {}: {done:?}", volume.name);
            assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""), "{what}");
            assert!(done.text().starts_with("'s' -> 't': direct, "), "{what}");
            assert!(done.text().contains("not ring: the kernel allows no io_uring here"), "{what}");
            assert!(std::fs::read(scratch.at("s"))? == std::fs::read(scratch.at("t"))?, "{what}");
            scratch.clear("t")?;
        }
    }
    Ok(())
}

/// Lines of the shell that move the bytes of `s`, each with a place for `--cache`, and whether they write `t`.
const MOVERS: &[(&str, bool)] = &[
    ("cat CACHE s >t", true),
    ("cat CACHE s | cat >/dev/null", false),
    ("cat -n CACHE s >/dev/null", false),
    ("tee CACHE t <s >/dev/null", true),
    ("dd CACHE if=s of=t bs=1M status=none", true),
    ("dd CACHE bs=100K status=none <s >t", true),
    ("split CACHE -b 64M s p && mv paa t", true),
    ("split CACHE -l 1000000 s p && mv paa t", true),
    ("split CACHE -n 1/1 s >/dev/null", false),
    ("read CACHE s >/dev/null", false),
    ("write CACHE t <s", true),
    ("verify CACHE --against=sums s", false),
    ("verify CACHE --against=u w", false),
];

#[test]
fn every_command_that_moves_data_takes_the_policy() -> Outcome {
    if !is_told()? {
        return Ok(());
    }
    for volume in with_a_device()? {
        let scratch = Scratch::on(&volume)?;
        let (source, target) = (scratch.at("s"), scratch.at("t"));
        plant(&source, 9 * MIB + 5, false)?;
        for folder in ["u", "w"] {
            std::fs::create_dir(scratch.at(folder))?;
        }
        std::fs::hard_link(&source, scratch.at("u/s"))?;
        std::fs::copy(&source, scratch.at("w/s"))?;
        let sh = |line: &str| {
            let call = Call::of("sh").words(["-c", line]).in_dir(scratch.path());
            call.env("HAUL", &haul().display().to_string())
        };
        sh("\"$HAUL\" sha256sum s >sums").succeed()?;
        let pages = std::fs::metadata(&source)?.len().div_ceil(4096);
        for (line, writes) in MOVERS {
            // Where the target can share the source's blocks, no byte need be read.
            let may_share = !volume.name.starts_with("ext4");
            let policies: &[_] =
                if may_share { &["drop", "direct"] } else { &["drop", "direct", "keep"] };
            for policy in policies.iter().copied() {
                let line =
                    format!("\"$HAUL\" {}", line.replace("CACHE", &format!("--cache={policy}")));
                let files: &[_] = if *writes { &[&source, &target] } else { &[&source] };
                for file in files {
                    if policy == "keep" {
                        keeps_what_was_cached(
                            || {
                                // It is not cached before, so that the command leaves the pages.
                                plant(&source, 9 * MIB + 5, false)?;
                                sh(&line).succeed()?;
                                Ok((pages, cached_pages(file)?))
                            },
                            &line,
                        )?;
                    } else {
                        sh(&line).succeed()?;
                        wait_for_few_pages(file, &format!("{}: {line}", volume.name));
                    }
                }
            }
            let refused = format!("\"$HAUL\" {}", line.replace("CACHE", "--cache=most"));
            let errors = sh(&refused).run()?.errors();
            assert!(errors.contains("invalid argument"), "{line}: {errors}");
        }
    }
    Ok(())
}

#[test]
fn small_pieces_leave_nothing_that_was_not_there() -> Outcome {
    if !is_told()? {
        return Ok(());
    }
    for volume in with_a_device()? {
        let scratch = Scratch::on(&volume)?;
        let source = scratch.at("s");
        // Pieces whose ends share a page, and whole pages of which the kernel reads others ahead.
        for (bytes, piece) in [(9 * MIB + 5, "100000"), (9 * MIB + 5, "64K"), (24 * MIB + 77, "3M")]
        {
            for (cache, warm) in
                [("drop", true), ("drop", false), ("restore", true), ("restore", false)]
            {
                let words = ["split", &format!("--cache={cache}"), "-a4", "-b", piece, "s", "p/"];
                let what = format!("{words:?}, {warm}, {}", volume.name);
                let count = || {
                    scratch.clear("p")?;
                    std::fs::create_dir(scratch.at("p"))?;
                    plant(&source, bytes, warm)?;
                    let before = cached_pages(&source)?;
                    Call::of(haul()).words(words).in_dir(scratch.path()).succeed()?;
                    let after = cached_pages(&source)?;
                    let stays = if cache == "restore" { before } else { 0 };
                    assert!(after <= stays + LEFT_PAGES, "{what}: {after} pages, {before} before");
                    let mut pieces = Vec::new();
                    for piece in std::fs::read_dir(scratch.at("p"))? {
                        pieces.push(piece?.path());
                    }
                    // Of some hundred pieces, a few pages that a flusher holds.
                    let are_dropped = || {
                        let left = pieces.iter().filter_map(|piece| cached_pages(piece).ok());
                        left.sum::<u64>() <= 4 * LEFT_PAGES
                    };
                    wait_until(
                        &format!("the pages of the pieces are dropped: {what}"),
                        are_dropped,
                    );
                    Ok((stays, after))
                };
                keeps_what_was_cached(count, &what)?;
            }
        }
    }
    Ok(())
}
