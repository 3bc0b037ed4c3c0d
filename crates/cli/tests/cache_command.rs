//! `haul cache`: what it says of the page cache is what the kernel says, and what it changes is counted in pages.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use haul_manifest::wait_until;
use haul_sys::data::{Advice, fadvise};
use haul_sys::memory::{cachestat, page_bytes};
use serde_json::Value;

use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::shell::cycle;
use super::support::volume::{volumes, with_a_device};
use super::support::{Outcome, ignored, is_root, schema};

const MIB: usize = 1 << 20;

/// Runs the command in a folder and returns its JSON lines, checked by their schema.
fn events(scratch: &Scratch, words: &[&str]) -> Outcome<Vec<Value>> {
    let call = Call::of(haul()).word("cache").word("--json").words(words);
    schema::lines("cache", &call.in_dir(scratch.path()).succeed()?.text())
}

/// Returns the last of the lines.
fn summary(scratch: &Scratch, words: &[&str]) -> Outcome<Value> {
    let last = events(scratch, words)?.pop().ok_or("no line")?;
    assert_eq!(last["event"], "summary");
    Ok(last)
}

/// Returns how many pages of a file are cached.
fn cached_pages(path: &Path) -> Outcome<u64> {
    Ok(cachestat(File::open(path)?, 0, 0)?.cached)
}

/// Makes a file whose bytes are on storage and not cached.
fn plant(path: &Path, bytes: usize) -> Outcome {
    std::fs::write(path, cycle(bytes))?;
    let file = File::open(path)?;
    file.sync_all()?;
    wait_until(&format!("{} is not cached", path.display()), || {
        fadvise(&file, 0, 0, Advice::DontNeed).is_ok() && cached_pages(path).is_ok_and(|it| it == 0)
    });
    Ok(())
}

/// Reads a range of a file and nothing ahead of it.
fn touch(path: &Path, offset: u64, bytes: usize) -> Outcome {
    let file = File::open(path)?;
    fadvise(&file, 0, 0, Advice::Random)?;
    Ok(file.read_exact_at(&mut vec![0; bytes], offset)?)
}

/// A folder on a device with cold files: `t/a` of 3 MiB, `t/d/b` of 2 MiB and a byte, `t/d/e` without a byte.
fn scenes() -> Outcome<Vec<Scratch>> {
    if cachestat(File::open(std::env::current_exe()?)?, 0, 0).is_err() {
        ignored("cachestat")?;
        return Ok(Vec::new());
    }
    let mut scenes = Vec::new();
    for volume in with_a_device()? {
        let scratch = Scratch::on(&volume)?;
        std::fs::create_dir_all(scratch.at("t/d"))?;
        plant(&scratch.at("t/a"), 3 * MIB)?;
        plant(&scratch.at("t/d/b"), 2 * MIB + 1)?;
        scratch.write("t/d/e", "")?;
        scenes.push(scratch);
    }
    Ok(scenes)
}

/// Attempts after which pages that are missing, or that stayed, are haul's mistake.
const ATTEMPTS: u32 = 10;

/// Makes an attempt that counts pages again until it succeeds: the kernel may reclaim pages at any time, and drops none
/// that something else holds at the moment. Its counters tell of that too late. A mistake is made each time.
fn undisturbed(mut attempt: impl FnMut() -> Outcome<Result<(), String>>) -> Outcome {
    for _ in 1..ATTEMPTS {
        if attempt()?.is_ok() {
            return Ok(());
        }
    }
    Ok(attempt()??)
}

#[expect(clippy::needless_pass_by_value, reason = "callers make both values for this")]
fn same<T: PartialEq + std::fmt::Debug>(found: T, expected: T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{found:?}, not {expected:?}")) }
}

#[test]
fn what_is_cached_is_summed_for_each_directory() -> Outcome {
    for scratch in scenes()? {
        undisturbed(|| {
            touch(&scratch.at("t/a"), MIB as u64, MIB / 2)?;
            touch(&scratch.at("t/d/b"), 0, 2 * MIB + 1)?;
            let page = page_bytes();
            let (a, b) = (MIB as u64 / 2, 2 * MIB as u64 + page);
            let lines = events(&scratch, &["t", "t/d/e"])?;
            let rows: Vec<_> = lines
                .iter()
                .map(|line| {
                    let path = line["path"].as_str().unwrap_or("all").to_owned();
                    (path, line["cached_bytes"].as_u64(), line["files"].as_u64())
                })
                .collect();
            let expected = [
                ("t", a + b, 3),
                ("t/a", a, 1),
                ("t/d", b, 2),
                ("t/d/b", b, 1),
                ("t/d/e", 0, 1),
                ("all", a + b, 3),
            ];
            let expected =
                expected.map(|(path, cached, files)| (path.to_owned(), Some(cached), Some(files)));
            Ok(same(rows, expected.to_vec()))
        })?;
        let deep = events(&scratch, &["--max-depth=0", "--all", "t"])?;
        assert_eq!(deep.len(), 2, "{deep:?}");
    }
    Ok(())
}

#[test]
fn a_second_name_of_a_file_counts_once() -> Outcome {
    for scratch in scenes()? {
        std::fs::hard_link(scratch.at("t/a"), scratch.at("t/d/a2"))?;
        assert_eq!(summary(&scratch, &["t"])?["size_bytes"], 5 * MIB + 1);
        // Each row has all that is below it, whichever name a worker meets first.
        let lines = events(&scratch, &["--all", "t", "t/d", "t", "t/d/b"])?;
        let rows: Vec<_> = lines
            .iter()
            .map(|line| {
                let path = line["path"].as_str().unwrap_or("all").to_owned();
                (path, line["size_bytes"].as_u64(), line["files"].as_u64())
            })
            .collect();
        let (a, b) = (3 * MIB as u64, 2 * MIB as u64 + 1);
        let expected = [
            ("t", a + b, 3),
            ("t/a", a, 1),
            ("t/d", a + b, 3),
            ("t/d/a2", a, 1),
            ("t/d/b", b, 1),
            ("t/d/e", 0, 1),
            ("all", a + b, 3),
        ];
        assert_eq!(
            rows,
            expected.map(|(path, size, files)| (path.into(), Some(size), Some(files)))
        );
    }
    Ok(())
}

#[test]
fn holes_are_not_read_and_do_not_count_against_the_limit() -> Outcome {
    for scratch in scenes()? {
        let path = scratch.at("sparse");
        let file = File::create(&path)?;
        file.set_len(9 * MIB as u64)?;
        file.write_all_at(&vec![7; MIB], 4 * MIB as u64)?;
        file.sync_all()?;
        drop(file);
        undisturbed(|| {
            // All of it is cached, the holes too, when it is saved.
            std::fs::read(&path)?;
            summary(&scratch, &["save", "list", "sparse"])?;
            scratch.clear("list2")?;
            let mut seen = Vec::new();
            for words in [
                &["warm", "sparse"][..],
                &["warm", "--limit=1M", "sparse"],
                &["restore", "--limit=1M", "list", "sparse"],
            ] {
                summary(&scratch, &["drop", "sparse"])?;
                let done = summary(&scratch, words)?;
                seen.push((
                    done["read_bytes"].as_u64(),
                    done["left_out_bytes"].as_u64(),
                    cached_pages(&path)?,
                ));
            }
            scratch.clear("list")?;
            let once = (Some(MIB as u64), Some(0), MIB as u64 / page_bytes());
            Ok(same(seen, vec![once; 3]))
        })?;
    }
    Ok(())
}

#[test]
fn what_is_cached_does_not_count_against_the_limit_of_a_restore() -> Outcome {
    for scratch in scenes()? {
        undisturbed(|| {
            touch(&scratch.at("t/a"), 0, 3 * MIB)?;
            summary(&scratch, &["save", "list", "t"])?;
            summary(&scratch, &["drop", "t"])?;
            touch(&scratch.at("t/a"), 0, 2 * MIB)?;
            let done = summary(&scratch, &["restore", "--limit=1M", "list", "t"])?;
            scratch.clear("list")?;
            let found = (done["read_bytes"].as_u64(), done["left_out_bytes"].as_u64());
            Ok(same(found, (Some(MIB as u64), Some(0))))
        })?;
    }
    Ok(())
}

#[test]
fn of_files_in_memory_the_pages_are_the_data() -> Outcome {
    for volume in volumes()?.into_iter().filter(|volume| volume.name == "tmpfs") {
        let scratch = Scratch::on(&volume)?;
        let file = scratch.write("new", vec![7; MIB])?;
        let shown = summary(&scratch, &["new"])?;
        assert_eq!(
            (&shown["cached_bytes"], &shown["memory_bytes"], &shown["dirty_bytes"]),
            (&MIB.into(), &MIB.into(), &0.into())
        );
        let call = Call::of(haul()).words(["cache", "drop", "--sync", "new"]);
        let text = call.in_dir(scratch.path()).succeed()?.text();
        let stays = "stays: 'new': 1.0 MiB, in memory only, as on tmpfs\n";
        assert!(text.starts_with(stays) && !text.contains("mapped"), "{text}");
        assert_eq!(std::fs::read(&file)?, vec![7; MIB]);
    }
    Ok(())
}

#[test]
fn changed_pages_are_dropped_only_when_they_are_written() -> Outcome {
    for scratch in scenes()? {
        let file = scratch.write("t/new", vec![7; MIB])?;
        let before = summary(&scratch, &["t/new"])?;
        assert_eq!(before["cached_bytes"], MIB);
        let done = summary(&scratch, &["drop", "--sync", "t"])?;
        assert_eq!(done["stays_bytes"], 0, "{done}");
        assert!(done["dropped_bytes"].as_u64() >= Some(MIB as u64), "{done}");
        assert_eq!(cached_pages(&file)?, 0);
        assert_eq!(std::fs::read(&file)?, vec![7; MIB]);
        // What is mapped and locked in memory stays, and is named.
        let stays = Call::of("python3").words(["-c", HOLDS]).word(&file).word(haul());
        let text = stays.in_dir(scratch.path()).succeed()?.text();
        let lines = schema::lines("cache", &text)?;
        assert_eq!(lines[0]["event"], "stays", "{text}");
        assert_eq!(lines[1]["stays_bytes"], MIB, "{text}");
    }
    Ok(())
}

/// Maps a file, touches each page, and drops its pages by the command.
const HOLDS: &str = "import mmap, subprocess, sys
with open(sys.argv[1], 'rb') as file:
    pages = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    sum(pages[at] for at in range(0, len(pages), 4096))
    subprocess.run([sys.argv[2], 'cache', 'drop', '--json', sys.argv[1]], check=True)";

#[test]
fn dropping_without_a_flush_loses_nothing() -> Outcome {
    for scratch in scenes()? {
        let file = scratch.write("t/new", vec![9; 4 * MIB])?;
        let done = summary(&scratch, &["drop", "t"])?;
        let told = done["dropped_bytes"].as_u64().unwrap_or_default()
            + done["stays_bytes"].as_u64().unwrap_or_default();
        assert!(told >= 4 * MIB as u64, "{done}");
        assert_eq!(std::fs::read(&file)?, vec![9; 4 * MIB]);
    }
    Ok(())
}

#[test]
fn files_are_read_up_to_the_limit_and_only_where_they_are_not_cached() -> Outcome {
    for scratch in scenes()? {
        let limited = summary(&scratch, &["warm", "--limit=1M", "--jobs=3", "t"])?;
        assert_eq!(
            (&limited["read_bytes"], &limited["left_out_bytes"]),
            (&MIB.into(), &(4 * MIB + 1).into())
        );
        undisturbed(|| {
            summary(&scratch, &["drop", "t"])?;
            touch(&scratch.at("t/a"), 0, MIB)?;
            let all = summary(&scratch, &["warm", "t"])?;
            let cached = [cached_pages(&scratch.at("t/a"))?, cached_pages(&scratch.at("t/d/b"))?];
            let page = page_bytes();
            let expected = [3 * MIB as u64 / page, 2 * MIB as u64 / page + 1];
            Ok(same((all["read_bytes"].as_u64(), cached), (Some(4 * MIB as u64 + 1), expected)))
        })?;
    }
    Ok(())
}

#[test]
fn a_large_file_is_read_by_all_workers() -> Outcome {
    for scratch in scenes()? {
        plant(&scratch.at("large"), 40 * MIB)?;
        undisturbed(|| {
            summary(&scratch, &["drop", "large"])?;
            let warmed = summary(&scratch, &["warm", "--jobs=4", "large"])?;
            let pages = cached_pages(&scratch.at("large"))?;
            let expected = (Some(40 * MIB as u64), 40 * MIB as u64 / page_bytes());
            Ok(same((warmed["read_bytes"].as_u64(), pages), expected))
        })?;
    }
    Ok(())
}

#[test]
fn the_saved_ranges_are_cached_again_and_no_others() -> Outcome {
    for scratch in scenes()? {
        undisturbed(|| {
            let page = page_bytes() as usize;
            touch(&scratch.at("t/a"), 5 * page as u64, 3 * page)?;
            touch(&scratch.at("t/a"), MIB as u64, MIB)?;
            touch(&scratch.at("t/d/b"), 2 * MIB as u64, 1)?;
            summary(&scratch, &["save", "list", "t"])?;
            let saved = std::fs::read_to_string(scratch.at("list"))?;
            schema::lines("cache-list", &saved)?;
            summary(&scratch, &["drop", "t"])?;
            let restored = summary(&scratch, &["restore", "list", "t"])?;
            summary(&scratch, &["save", "list2", "t"])?;
            let bytes = MIB + 3 * page + 1;
            let found =
                (restored["read_bytes"].as_u64(), std::fs::read_to_string(scratch.at("list2"))?);
            let ranges = found.1.matches("[").count();
            // Two lists of ranges with three ranges.
            if ranges != 5 {
                return Ok(Err(format!("{ranges} in {}", found.1)));
            }
            let same = same(found, (Some(bytes as u64), saved));
            summary(&scratch, &["drop", "t"])?;
            Ok(same)
        })?;
    }
    Ok(())
}

#[test]
fn a_file_that_changed_is_skipped_and_no_name_leads_out_of_the_tree() -> Outcome {
    for scratch in scenes()? {
        plant(&scratch.at("outside"), MIB)?;
        std::os::unix::fs::symlink("../outside", scratch.at("t/link"))?;
        std::os::unix::fs::symlink("..", scratch.at("t/up"))?;
        touch(&scratch.at("t/a"), 0, MIB)?;
        touch(&scratch.at("t/d/b"), 0, MIB)?;
        summary(&scratch, &["save", "list", "t"])?;
        let saved = std::fs::read_to_string(scratch.at("list"))?;
        let line = saved.lines().find(|line| line.contains("t/d/b") || line.contains("d/b"));
        let mut lines: Vec<String> = saved.lines().map(str::to_owned).collect();
        let outside = std::fs::metadata(scratch.at("outside"))?;
        for name in ["../outside", "link", "up/outside", "/etc/passwd", "d/../../outside"] {
            use std::os::unix::fs::MetadataExt as _;
            let mut value: Value = serde_json::from_str(line.ok_or("d/b is not listed")?)?;
            value["path"] = name.into();
            value["size_bytes"] = outside.len().into();
            value["mtime_seconds"] = outside.mtime().into();
            value["mtime_nanoseconds"] = outside.mtime_nsec().into();
            lines.insert(1, value.to_string());
        }
        let text = lines.join("\n").replace("\"files\":2,", "\"files\":7,");
        scratch.write("list", text.replace("\"files\":2}", "\"files\":7}") + "\n")?;
        let file = File::options().write(true).open(scratch.at("t/a"))?;
        file.set_len(MIB as u64)?;
        drop(file);
        plant(&scratch.at("outside"), 0)?;
        std::fs::write(scratch.at("outside"), vec![1; MIB])?;
        summary(&scratch, &["drop", "--sync", "t", "outside"])?;
        let restored = events(&scratch, &["restore", "list", "t"])?;
        let why = |name: &str| {
            let skipped = restored.iter().find(|line| line["path"] == name);
            skipped.and_then(|line| line["why"].as_str()).map(str::to_owned)
        };
        assert_eq!(why("a").as_deref(), Some("changed"), "{restored:?}");
        for name in ["../outside", "link", "up/outside", "/etc/passwd", "d/../../outside"] {
            assert_eq!(why(name).as_deref(), Some("missing"), "{name}: {restored:?}");
        }
        assert_eq!(why("d/b"), None);
        assert_eq!(cached_pages(&scratch.at("outside"))?, 0);
        assert_eq!(cached_pages(&scratch.at("t/a"))?, 0);
        let damaged = scratch.write("damaged", "{\"event\":\"cache\",\"version\":1}\n")?;
        let call = Call::of(haul()).words(["cache", "restore"]).word(damaged).word("t");
        let done = call.in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(1));
        assert!(done.errors().contains("its end is missing"), "{}", done.errors());
        // A list that lost a line in the middle.
        summary(&scratch, &["warm", "t"])?;
        scratch.clear("list3")?;
        summary(&scratch, &["save", "list3", "t"])?;
        let whole = std::fs::read_to_string(scratch.at("list3"))?;
        let shorter: Vec<_> = whole.lines().filter(|line| !line.contains("\"d/b\"")).collect();
        assert_eq!(shorter.len() + 1, whole.lines().count(), "{whole}");
        scratch.write("shorter", shorter.join("\n") + "\n")?;
        let call = Call::of(haul()).words(["cache", "restore", "shorter", "t"]);
        let done = call.in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(1));
        assert!(done.errors().contains("as its end says"), "{}", done.errors());
        // A file of the user's own is never replaced by a list.
        let call = Call::of(haul()).words(["cache", "save", "outside", "t"]);
        assert_eq!(call.in_dir(scratch.path()).run()?.code(), Some(1));
        assert_eq!(std::fs::read(scratch.at("outside"))?, vec![1; MIB]);
    }
    Ok(())
}

#[test]
fn of_files_of_others_nothing_is_claimed() -> Outcome {
    if !is_root()? {
        return ignored("root, to become another user");
    }
    let scratch = Scratch::public()?;
    let file = scratch.write("theirs", vec![1; MIB])?;
    let call = Call::of(haul()).words(["cache", "--json"]).word(&file).by_user();
    let lines = schema::lines("cache", &call.succeed()?.text())?;
    let last = lines.last().ok_or("no line")?;
    // Before Linux 6.14 cachestat(2) answers every reader, truly.
    let told = (last["unknown_files"].as_u64(), last["cached_bytes"].as_u64());
    assert!([(Some(1), Some(0)), (Some(0), Some(MIB as u64))].contains(&told), "{last}");
    // Without cachestat, mincore(2) would claim that all of it is cached.
    let filtered = Call::of(haul()).words(["cache", "--json"]).word(&file).by_user();
    let filtered = filtered.behind_filter(&[451], 38).succeed()?.text();
    assert!(filtered.contains("\"unknown_files\":1"), "{filtered}");
    Ok(())
}

#[test]
fn options_of_other_actions_and_missing_operands_are_refused() -> Outcome {
    for words in [
        &["cache"][..],
        &["cache", "drop"],
        &["cache", "save", "list"],
        &["cache", "save", "-", "t"],
        &["cache", "restore", "a", "b", "c"],
        &["cache", "--sync", "t"],
        &["cache", "warm", "--all", "t"],
        &["cache", "drop", "--limit=1M", "t"],
        &["cache", "--max-depth=x", "t"],
        &["cache", "/dev/null"],
        &["cache", "absent"],
    ] {
        let done = Call::of(haul()).words(words).run()?;
        assert_eq!(done.code(), Some(1), "{words:?}");
        assert!(!done.errors().is_empty(), "{words:?}");
    }
    Ok(())
}
