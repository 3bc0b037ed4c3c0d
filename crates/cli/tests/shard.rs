//! `cp --shard`: several runs make one copy, and each file is copied by exactly one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};

use haul_manifest::{Aspects, Kind, Limits, create_tree, random_tree};
use rustix::fs::{FlockOperation, flock};

use super::resume::become_old;
use super::support::judge::{compared, demand_equal, snapshot};
use super::support::run::{Call, Done, USER, cp};
use super::support::scratch::Scratch;
use super::support::strace::{Strace, is_usable};
use super::support::{Outcome, hidden, schema};

const COPY: [&str; 5] = ["-aT", "--journal=j", "--json", "s", "t"];

/// Message of the shard that completes the directories.
pub(super) const ALL: &str = "the copy is complete";

pub(super) fn shard(scratch: &Scratch, number: u64, count: u64, words: &[&str]) -> Call {
    cp([format!("--shard={number}/{count}")]).words(words).in_dir(scratch.path())
}

/// Runs a shard that succeeds, and returns what it says.
pub(super) fn succeed(scratch: &Scratch, number: u64, count: u64) -> Outcome<Done> {
    let done = shard(scratch, number, count, &COPY).run()?;
    assert_eq!(done.code(), Some(0), "shard {number} of {count}: {done:?}");
    Ok(done)
}

/// Makes a tree with directories that have old times, files, links to other directories, and
/// directories that are read-only.
pub(super) fn furnish(scratch: &Scratch) -> Outcome {
    for directory in 0..12 {
        for file in 0..4 {
            scratch.write(&format!("s/{}/d{directory}/{file}", directory % 3), [7; 100])?;
        }
    }
    for directory in 0..12 {
        let first = scratch.at(format!("s/{}/d{directory}/0", directory % 3));
        fs::hard_link(first, scratch.at(format!("s/{}/twin{directory}", (directory + 1) % 3)))?;
        symlink("nowhere", scratch.at(format!("s/{}/d{directory}/link", directory % 3)))?;
    }
    for directory in ["s/0/d0", "s/1/d1", "s/0", "s"] {
        let file = File::open(scratch.at(directory))?;
        file.set_permissions(fs::Permissions::from_mode(0o555))?;
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000))?;
    }
    become_old();
    Ok(())
}

/// Adds the targets of the files and links that a run made, by their JSON lines.
fn note_made(made: &mut BTreeMap<String, u32>, done: &Done) -> Outcome {
    for line in schema::lines("run", &done.text())? {
        let is_made = matches!(line["outcome"].as_str(), Some("copied" | "linked"));
        if is_made && line["kind"].as_str() != Some("directory") {
            *made.entry(line["target"].to_string()).or_default() += 1;
        }
    }
    Ok(())
}

/// Demands that each entry of the source that is no directory was made once.
fn demand_once(scratch: &Scratch, made: &BTreeMap<String, u32>, context: &str) {
    let source = snapshot(&scratch.at("s"));
    let files = source.entries.iter().filter(|entry| entry.kind != Kind::Directory).count();
    assert!(made.values().all(|times| *times == 1), "{context}: {made:?}");
    assert_eq!(made.len(), files, "{context}");
}

/// Returns the numbers from 1 to `count` in an order that depends on the seed.
fn shuffled(count: u64, seed: u64) -> Vec<u64> {
    let mut numbers: Vec<u64> = (1..=count).collect();
    numbers.sort_by_key(|number| (number + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    numbers
}

#[test]
fn shards_in_any_order_make_what_one_run_makes() -> Outcome {
    for (seed, count) in [(51, 1), (52, 2), (53, 3), (54, 5), (55, 5)] {
        let scratch = Scratch::new()?;
        create_tree(&scratch.at("s"), random_tree(seed, &Limits::default()))
            .map_err(|failure| failure.to_string())?;
        become_old();
        let mut made = BTreeMap::new();
        let numbers = shuffled(count, seed);
        for (turn, number) in numbers.iter().enumerate() {
            let done = succeed(&scratch, *number, count)?;
            note_made(&mut made, &done)?;
            let is_last = turn + 1 == numbers.len();
            assert_eq!(done.errors().contains(ALL), is_last, "{done:?}");
        }
        demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), &format!("{seed}"));
        demand_once(&scratch, &made, &format!("{seed}"));
        // All of them again: nothing is left to do, and nothing changes.
        let before = snapshot(&scratch.at("t"));
        for number in numbers {
            let done = succeed(&scratch, number, count)?;
            assert!(done.errors().contains(ALL), "{done:?}");
            let mut again = BTreeMap::new();
            note_made(&mut again, &done)?;
            assert!(again.is_empty(), "{again:?}");
        }
        assert!(before == snapshot(&scratch.at("t")), "{seed}");
    }
    Ok(())
}

#[test]
fn shards_at_the_same_time_make_one_copy_and_one_of_them_completes_it() -> Outcome {
    for (round, count) in [2, 3, 5, 8, 8].into_iter().enumerate() {
        let scratch = Scratch::public()?;
        furnish(&scratch)?;
        let is_root = rustix::process::geteuid().is_root();
        if is_root {
            // Directories that their owner may not write to are nothing to root.
            Call::of("chown")
                .words(["-R", &format!("{USER}:{USER}"), "."])
                .in_dir(scratch.path())
                .succeed()?;
            chown(scratch.path(), Some(USER), Some(USER))?;
            // A change of the owner is a change of the files.
            become_old();
        }
        let mut running = Vec::new();
        for number in 1..=count {
            let call = shard(&scratch, number, count, &["--jobs=2"]).words(COPY);
            running.push(if is_root { call.by_user() } else { call }.start()?);
        }
        let (mut made, mut last) = (BTreeMap::new(), 0);
        for running in running {
            let done = running.wait()?;
            assert_eq!(done.code(), Some(0), "{done:?}");
            note_made(&mut made, &done)?;
            last += u32::from(done.errors().contains(ALL));
        }
        assert_eq!(last, 1, "round {round}");
        demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), "at once");
        demand_once(&scratch, &made, "at once");
    }
    Ok(())
}

#[test]
fn directories_get_their_attributes_from_the_last_shard_only() -> Outcome {
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    let mode =
        |name: &str| Ok::<_, std::io::Error>(fs::metadata(scratch.at(name))?.mode() & 0o7777);
    for number in [2, 4, 1] {
        let done = succeed(&scratch, number, 4)?;
        assert!(done.errors().contains("shard 3") || number != 1, "{done:?}");
        assert_eq!(mode("t/0/d0")? & 0o200, 0o200, "a shard may have to write to it");
        assert!(fs::metadata(scratch.at("t"))?.mtime() != 1_000_000_000);
    }
    let done = succeed(&scratch, 3, 4)?;
    assert!(done.errors().contains(ALL), "{done:?}");
    assert_eq!((mode("t/0/d0")?, fs::metadata(scratch.at("t"))?.mtime()), (0o555, 1_000_000_000));
    demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), "in the end");
    Ok(())
}

#[test]
fn a_killed_shard_is_run_again_and_copies_the_rest() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    // Before the journal, while it copies, and while it marks its volume as complete.
    for (call, occurrence) in
        [("flock", 1), ("flock", 2), ("mkdirat", 3), ("linkat", 2), ("flock", 4)]
    {
        let scratch = Scratch::new()?;
        furnish(&scratch)?;
        succeed(&scratch, 2, 3)?;
        let what = format!("{call}:signal=KILL:when={occurrence}");
        let strace = Strace::new(scratch.at("log")).trace(call).inject(&what);
        let killed = strace.wrap(shard(&scratch, 1, 3, &["--jobs=1"]).words(COPY));
        killed.run()?;
        let text = strace.text()?;
        assert!(text.contains("killed by SIGKILL"), "{call} {occurrence}: {text}");
        let done = succeed(&scratch, 3, 3)?;
        assert!(done.errors().contains("shard 1 is not yet"), "{call} {occurrence}: {done:?}");
        let done = succeed(&scratch, 1, 3)?;
        assert!(done.errors().contains(ALL), "{call} {occurrence}: {done:?}");
        demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), call);
    }
    Ok(())
}

#[test]
fn a_last_shard_that_is_killed_while_it_completes_directories_completes_them_again() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    succeed(&scratch, 1, 2)?;
    let strace = Strace::new(scratch.at("log")).trace("utimensat");
    let strace = strace.inject("utimensat:signal=KILL:when=3");
    // Files get their times from a descriptor as well, so the shard first copies them all.
    let first = shard(&scratch, 2, 2, &COPY).run()?;
    assert!(first.errors().contains(ALL), "{first:?}");
    strace.wrap(shard(&scratch, 2, 2, &["--jobs=1"]).words(COPY)).run()?;
    assert!(strace.text()?.contains("killed by SIGKILL"), "{}", strace.text()?);
    let done = succeed(&scratch, 1, 2)?;
    assert!(done.errors().contains(ALL), "{done:?}");
    demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), "again");
    Ok(())
}

#[test]
fn a_failure_keeps_the_shard_and_the_directories_incomplete() -> Outcome {
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    // A directory stands where a file is to be copied.
    fs::create_dir_all(scratch.at("t/0/d0/1"))?;
    let mut failed = Vec::new();
    for number in 1..=3 {
        let done = shard(&scratch, number, 3, &COPY).run()?;
        assert!(!done.errors().contains(ALL), "{done:?}");
        if done.code() == Some(1) {
            let text = format!("shard {number} of 3 is not complete: run the same command again");
            assert!(done.errors().contains(&text), "{done:?}");
            failed.push(number);
        }
    }
    let [number] = failed[..] else { panic!("one shard has the file: {failed:?}") };
    assert!(fs::metadata(scratch.at("t"))?.mtime() != 1_000_000_000);
    fs::remove_dir(scratch.at("t/0/d0/1"))?;
    let done = succeed(&scratch, number, 3)?;
    assert!(done.errors().contains(ALL), "{done:?}");
    let mut made = BTreeMap::new();
    note_made(&mut made, &done)?;
    assert_eq!(made.into_keys().collect::<Vec<_>>(), ["\"t/0/d0/1\""]);
    demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), "in the end");
    Ok(())
}

#[test]
fn what_changed_after_a_complete_copy_is_copied_by_its_shard() -> Outcome {
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    for number in 1..=3 {
        succeed(&scratch, number, 3)?;
    }
    scratch.write("s/2/new", "new")?;
    become_old();
    let mut made = BTreeMap::new();
    for number in 1..=3 {
        note_made(&mut made, &succeed(&scratch, number, 3)?)?;
    }
    assert_eq!(made.into_iter().collect::<Vec<_>>(), [("\"t/2/new\"".to_owned(), 1)]);
    demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), "again");
    // A target that is gone is copied as by the first runs: the marks are those of another target.
    Call::of("rm").words(["-rf", "t"]).in_dir(scratch.path()).succeed()?;
    let done = succeed(&scratch, 2, 3)?;
    assert!(done.errors().contains("shards 1 and 3 are not yet"), "{done:?}");
    succeed(&scratch, 1, 3)?;
    assert!(succeed(&scratch, 3, 3)?.errors().contains(ALL));
    demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), "another target");
    Ok(())
}

#[test]
fn a_run_without_shards_takes_over_and_shards_take_over_from_it() -> Outcome {
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    // The hidden journal is beside the target for all of them.
    let words = ["-aT", "--json", "s", "t"];
    let mut made = BTreeMap::new();
    for number in [3, 1] {
        note_made(&mut made, &shard(&scratch, number, 3, &words).run()?)?;
    }
    let whole = cp(words).word("--resume").in_dir(scratch.path()).run()?;
    assert_eq!(whole.code(), Some(0), "{whole:?}");
    note_made(&mut made, &whole)?;
    demand_once(&scratch, &made, "a run for the rest");
    demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), "taken over");
    let done = shard(&scratch, 2, 3, &words).run()?;
    let mut again = BTreeMap::new();
    note_made(&mut again, &done)?;
    assert!(again.is_empty() && done.errors().contains(ALL), "{done:?}");
    demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), "taken over again");
    assert!(!hidden(scratch.path())?.is_empty());
    Ok(())
}

#[test]
fn a_shard_that_runs_excludes_itself_and_every_other_kind_of_run() -> Outcome {
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    succeed(&scratch, 1, 2)?;
    let open = |name: &str| File::options().read(true).write(true).open(scratch.at(name));
    // The locks of a first run of shard 1.
    let (journal, volume) = (open("j")?, open("j.1")?);
    flock(&journal, FlockOperation::LockShared)?;
    flock(&volume, FlockOperation::LockExclusive)?;
    let before = snapshot(&scratch.at("t"));
    for (call, text) in [
        (shard(&scratch, 1, 2, &COPY), "another run of this shard uses it"),
        (cp(COPY).in_dir(scratch.path()), "another run uses it"),
    ] {
        let done = call.run()?;
        assert_eq!(done.code(), Some(1), "{done:?}");
        assert!(done.errors().contains(text), "{done:?}");
    }
    assert!(before == snapshot(&scratch.at("t")));
    drop(volume);
    // The other shard may run meanwhile; but not while the directories are being completed.
    flock(&journal, FlockOperation::LockExclusive)?;
    let done = shard(&scratch, 2, 2, &COPY).run()?;
    assert!(done.code() == Some(1) && done.errors().contains("another run uses it"), "{done:?}");
    drop(journal);
    assert!(succeed(&scratch, 2, 2)?.errors().contains(ALL));
    // Of a complete copy, another run may look at the journal for a moment, as haul clean does.
    let journal = open("j")?;
    flock(&journal, FlockOperation::LockExclusive)?;
    let done = shard(&scratch, 1, 2, &COPY).run()?;
    assert!(done.code() == Some(1) && done.errors().contains("another run uses it"), "{done:?}");
    // While another run goes through the whole tree once more, a complete shard has nothing to do.
    let marked = journal.metadata()?.len();
    journal.set_len(marked - 1)?;
    let before =
        (snapshot(&scratch.at("t")), fs::read(scratch.at("j"))?, fs::read(scratch.at("j.0"))?);
    let done = succeed(&scratch, 1, 2)?;
    assert!(done.errors().contains("nothing to do for shard 1 of 2"), "{done:?}");
    let other = shard(&scratch, 1, 3, &COPY).run()?;
    assert!(other.code() == Some(1) && other.errors().contains("another run uses it"), "{other:?}");
    let after =
        (snapshot(&scratch.at("t")), fs::read(scratch.at("j"))?, fs::read(scratch.at("j.0"))?);
    assert!(before == after);
    Ok(())
}

#[test]
fn another_number_of_shards_or_other_options_are_refused_until_the_copy_is_complete() -> Outcome {
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    succeed(&scratch, 1, 2)?;
    let refused = |call: Call, text: &str| -> Outcome {
        let done = call.run()?;
        assert_eq!(done.code(), Some(1), "{done:?}");
        assert!(done.errors().contains(text), "{text}: {done:?}");
        Ok(())
    };
    refused(shard(&scratch, 1, 3, &COPY), "give --shard=I/2 to resume it")?;
    refused(shard(&scratch, 2, 2, &["-u"]).words(COPY), "with other options (--update)")?;
    let other = ["-aT", "--journal=j", "s/0", "t"];
    refused(shard(&scratch, 2, 2, &other), "a command with other operands")?;
    assert!(succeed(&scratch, 2, 2)?.errors().contains(ALL));
    // Then the same command may be divided in another way.
    let done = succeed(&scratch, 3, 3)?;
    assert!(done.errors().contains("shards 1 and 2 are not yet"), "{done:?}");
    Ok(())
}

/// Returns the paths of all entries below a directory that are no directories.
fn files_below(root: &Path) -> Outcome<BTreeSet<PathBuf>> {
    let (mut found, mut waiting) = (BTreeSet::new(), vec![root.to_path_buf()]);
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                waiting.push(entry.path());
            } else {
                found.insert(entry.path().strip_prefix(root)?.to_path_buf());
            }
        }
    }
    Ok(found)
}

/// A change of the trees while no shard runs.
type Change = dyn Fn(&Scratch) -> std::io::Result<()>;

/// Which shard a file belongs to changes with its number of names, and a directory may come after a
/// shard has ended. The last run goes through the whole tree.
#[test]
fn what_no_shard_has_met_is_copied_by_the_last_run() -> Outcome {
    let in_each = |act: fn(&Scratch, &str) -> std::io::Result<()>| {
        move |scratch: &Scratch| {
            (0..12).try_for_each(|at| act(scratch, &format!("s/{}/d{at}", at % 3)))
        }
    };
    let link = |scratch: &Scratch, directory: &str| {
        let name = directory.replace('/', "_");
        fs::hard_link(scratch.at(format!("{directory}/1")), scratch.at(format!("snap{name}")))
    };
    let unlink = |scratch: &Scratch, directory: &str| {
        let number = &directory[directory.find('d').unwrap_or(0) + 1..];
        let twin = number.parse::<usize>().map_err(std::io::Error::other)?;
        fs::remove_file(scratch.at(format!("s/{}/twin{twin}", (twin + 1) % 3)))
    };
    let rename = |scratch: &Scratch, directory: &str| {
        fs::rename(scratch.at(directory), scratch.at(format!("{directory}new")))
    };
    let add = |scratch: &Scratch, directory: &str| {
        fs::create_dir(scratch.at(format!("{directory}/more")))?;
        fs::write(scratch.at(format!("{directory}/more/file")), "later")
    };
    let away = |scratch: &Scratch| fs::rename(scratch.at("t"), scratch.at("t.old"));
    let changes: [(&str, Box<Change>); 5] = [
        ("another name of each file", Box::new(in_each(link))),
        ("a name less", Box::new(in_each(unlink))),
        ("directories renamed", Box::new(in_each(rename))),
        ("directories added", Box::new(in_each(add))),
        ("the target renamed", Box::new(away)),
    ];
    for (what, change) in changes {
        for (first, second) in [(1, 2), (2, 1)] {
            let scratch = Scratch::new()?;
            furnish(&scratch)?;
            let waits = succeed(&scratch, first, 2)?;
            assert!(!waits.errors().contains(ALL), "{what}: {waits:?}");
            change(&scratch)?;
            let mut done = succeed(&scratch, second, 2)?;
            if what == "the target renamed" {
                // The mark of the first shard is that of another target.
                assert!(!done.errors().contains(ALL), "{what}: {done:?}");
                done = succeed(&scratch, first, 2)?;
            }
            assert!(done.errors().contains(ALL), "{what}: {done:?}");
            // Names that were there before stay, as with any run into an existing tree.
            let (source, target) = (files_below(&scratch.at("s"))?, files_below(&scratch.at("t"))?);
            let missing: Vec<_> = source.difference(&target).collect();
            assert!(missing.is_empty(), "{what}, {first} first: {missing:?}");
            if matches!(what, "another name of each file" | "directories added") {
                let context = format!("{what}, {first} first");
                demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), &context);
            }
        }
    }
    Ok(())
}

#[test]
fn what_makes_no_sense_is_refused_by_name() -> Outcome {
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    for (words, text) in [
        (&["--dry-run", "-aT", "s", "t"][..], "--shard cannot be combined with --dry-run"),
        (&["--preflight", "-aT", "s", "t"], "combined with --preflight"),
        (&["-i", "-aT", "s", "t"], "combined with --interactive"),
        (&["-b", "-aT", "s", "t"], "combined with --backup"),
        (&["--sum-file=x", "-aT", "s", "t"], "combined with --sum-file"),
        (&["-l", "-aT", "s", "t"], "combined with --link"),
        (&["-s", "-aT", "s", "t"], "combined with --symbolic-link"),
        (&["--attributes-only", "-aT", "s", "t"], "combined with --attributes-only"),
        (&["--retry-failed=x"], "combined with --retry-failed"),
        (&["-a", "s", "t"], "--shard needs -T or -t"),
        (&["-a", "s/0/d0", "s/0/d0/", "-t", "."], "two operands would become 'd0'"),
        (&["-aT", "--journal=s/j", "s", "t"], "other ranks or shards write"),
        (&["-aT", "--shard=0/2", "s", "t"], "invalid --shard '0/2'"),
    ] {
        let done = shard(&scratch, 1, 2, words).run()?;
        assert_eq!(done.code(), Some(1), "{words:?}: {done:?}");
        assert!(done.errors().contains(text), "{words:?}: {done:?}");
    }
    assert!(!scratch.at("t").exists() && hidden(scratch.path())?.is_empty());
    Ok(())
}

#[test]
fn slurm_says_which_shard_a_task_is() -> Outcome {
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    let slurm = |variables: &[(&str, &str)]| -> Outcome<Done> {
        let call = cp(["--shard=slurm"]).words(COPY).in_dir(scratch.path());
        variables.iter().fold(call, |call, (name, value)| call.env(name, value)).run()
    };
    let done = slurm(&[])?;
    assert!(done.code() == Some(1) && done.errors().contains("SLURM_ARRAY_TASK_ID"), "{done:?}");
    let array = |id, last| {
        [
            ("SLURM_ARRAY_TASK_ID", id),
            ("SLURM_ARRAY_TASK_MIN", "0"),
            ("SLURM_ARRAY_TASK_MAX", last),
            ("SLURM_ARRAY_TASK_COUNT", "2"),
        ]
    };
    let done = slurm(&array("2", "2"))?;
    assert!(done.code() == Some(1) && done.errors().contains("a step of 1"), "{done:?}");
    assert!(!scratch.at("t").exists());
    let done = slurm(&array("1", "1"))?;
    assert!(done.errors().contains("shard 2 of 2 is complete; shard 1 is not yet"), "{done:?}");
    let done = slurm(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "2")])?;
    assert!(done.errors().contains(ALL), "{done:?}");
    demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), "slurm");
    Ok(())
}

#[test]
fn several_operands_and_parents_mean_the_same_to_each_shard() -> Outcome {
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    scratch.write("file", "bytes")?;
    for folder in ["t", "u", "v", "w"] {
        fs::create_dir(scratch.at(folder))?;
    }
    for (words, target, reference) in [
        (&["-a", "s/0", "s/1", "file"][..], "t", "u"),
        (&["-a", "--parents", "s/0/d0", "s/1/d1/2"], "v", "w"),
    ] {
        cp(words).word(reference).in_dir(scratch.path()).succeed()?;
        for number in [2, 3, 1] {
            let done = shard(&scratch, number, 3, words).word(target).run()?;
            assert_eq!(done.code(), Some(0), "{done:?}");
        }
        // The journal is in the target directory, and changes its times.
        for hidden in hidden(&scratch.at(target))? {
            fs::remove_file(hidden)?;
        }
        let aspects = Aspects::preserved();
        for name in fs::read_dir(scratch.at(reference))? {
            let name = name?.file_name();
            let (one, two) = (scratch.at(reference).join(&name), scratch.at(target).join(&name));
            assert!(compared(&one, &two, aspects).is_equal(), "{target}: {name:?}");
        }
    }
    Ok(())
}

#[test]
fn no_other_user_may_write_to_a_directory_between_two_shards() -> Outcome {
    for options in ["-rT", "-aT"] {
        let scratch = Scratch::new()?;
        for (name, mode) in [("s/open", 0o1777), ("s/set", 0o2775), ("s/closed", 0o500)] {
            scratch.write(&format!("{name}/file"), "bytes")?;
            fs::set_permissions(scratch.at(name), fs::Permissions::from_mode(mode))?;
        }
        become_old();
        let modes = |tree: &str| -> Outcome<Vec<u32>> {
            let mode =
                |name| Ok(fs::metadata(scratch.at(tree).join(name))?.permissions().mode() & 0o1777);
            ["open", "set", "closed"].into_iter().map(mode).collect()
        };
        let words = [options, "--journal=j", "s", "t"];
        for number in [1, 2] {
            let done = shard(&scratch, number, 2, &words).with_umask("000").run()?;
            assert_eq!(done.code(), Some(0), "{done:?}");
            if number == 1 {
                assert_eq!(modes("t")?, [0o700, 0o700, 0o700], "{options}");
            }
        }
        assert_eq!(modes("t")?, modes("s")?, "{options}");
    }
    Ok(())
}

#[test]
fn files_of_other_shards_are_not_described() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    for number in 0..200 {
        scratch.write(&format!("s/d/{number}"), "x")?;
    }
    // One of four shards has all files; each other one needs to look at those that might have several
    // names and belong to it, about a quarter, or at none if links are not kept. The last one of all would
    // look at everything, so one does not run.
    for (options, most) in [("-rT", 0), ("-aT", 100)] {
        let _gone = fs::remove_dir_all(scratch.at("t"));
        let mut seen = Vec::new();
        for number in [1, 2, 3] {
            let strace = Strace::new(scratch.at("log")).trace("newfstatat,openat").showing_paths();
            let words = [options, "--jobs=1", "--journal=j", "s", "t"];
            strace.wrap(shard(&scratch, number, 4, &words)).run()?;
            let looked = strace.lines()?.into_iter().filter(|line| line.text.contains("/s/d>, \""));
            seen.push(looked.count());
        }
        seen.sort_unstable();
        let has_all = seen[2] >= 200;
        assert!(seen[1] <= most && (has_all || seen[2] <= most), "{options}: {seen:?}");
        fs::remove_file(scratch.at("j"))?;
        for file in ["j.0", "j.1", "j.2", "j.3"] {
            fs::remove_file(scratch.at(file))?;
        }
    }
    Ok(())
}
