//! `--resume`: the same command continues where it ended, repeats only what is necessary, and trusts only
//! what it has verified.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use haul_manifest::{Aspects, wait_until};
use rustix::time::{ClockId, clock_gettime};

use super::support::judge::{demand_equal, snapshot};
use super::support::run::{Call, Done, USER, cp, haul};
use super::support::scratch::Scratch;
use super::support::shell::noise;
use super::support::strace::{Line, Strace, is_usable};
use super::support::{Outcome, allocated, has, hidden, is_root};

const MIB: usize = 1 << 20;

/// Lists the hidden files beside the target of an incomplete run.
pub(super) const COPY: [&str; 5] = ["-a", "--resume", "-T", "s", "t"];

pub(super) fn furnish(scratch: &Scratch) -> Outcome {
    for (name, bytes) in [("a", 1000), ("b", 2000), ("d/c", 3000), ("d/e/f", 4000)] {
        scratch.write(&format!("s/{name}"), vec![7; bytes])?;
    }
    fs::hard_link(scratch.at("s/b"), scratch.at("s/d/twin"))?;
    symlink("a", scratch.at("s/link"))?;
    become_old();
    Ok(())
}

/// Waits until files that were just made are older than a run that begins now: a run does not trust a
/// state that is younger than one tick of the kernel's clock.
pub(super) fn become_old() {
    let made = clock_gettime(ClockId::Realtime);
    wait_until("the clock has ticked", || clock_gettime(ClockId::RealtimeCoarse) > made);
}

/// Runs a command and kills it at the n-th call of this name.
pub(super) fn kill(scratch: &Scratch, call: Call, name: &str, occurrence: usize) -> Outcome {
    let what = format!("{name}:signal=KILL:when={occurrence}");
    let strace = Strace::new(scratch.at("log")).trace(name).inject(&what);
    strace.wrap(call).run()?;
    let text = strace.text()?;
    assert!(text.contains("killed by SIGKILL"), "it was not killed: {text}");
    Ok(())
}

pub(super) fn journal(scratch: &Scratch) -> Outcome<PathBuf> {
    let found = hidden(scratch.path())?;
    assert_eq!(found.len(), 1, "{found:?}");
    Ok(found[0].clone())
}

pub(super) fn here(scratch: &Scratch, words: &[&str]) -> Call {
    cp(words).in_dir(scratch.path())
}

/// Number of bytes of the record that marks a complete run, with its frame.
pub(super) const MARK_BYTES: u64 = 20 + 34;

/// Returns whether a journal ends with the mark of a complete run.
pub(super) fn is_marked(journal: &Path) -> Outcome<bool> {
    let bytes = fs::read(journal)?;
    let at = bytes.len() - usize::try_from(MARK_BYTES)?;
    Ok(bytes[at..at + 4] == 34_u32.to_le_bytes() && bytes[at + 20] == 7)
}

/// Runs to the end, and removes the last record: the run then looks as if it had been killed before it
/// marked its journal.
fn all_but_mark(scratch: &Scratch, words: &[&str], directory: &Path) -> Outcome {
    here(scratch, words).succeed()?;
    let found = hidden(directory)?;
    assert!(found.len() == 1 && is_marked(&found[0])?, "{found:?}");
    let file = fs::File::options().write(true).open(&found[0])?;
    Ok(file.set_len(file.metadata()?.len() - MARK_BYTES)?)
}

/// Makes a scene in which everything was copied, and the run ended before it marked its journal.
fn all_but_over() -> Outcome<Option<Scratch>> {
    if !is_usable()? {
        return Ok(None);
    }
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    all_but_mark(&scratch, &COPY, scratch.path())?;
    Ok(Some(scratch))
}

/// Runs again, demands that only the marked journal is left, and returns the calls.
pub(super) fn again(scratch: &Scratch, words: &[&str]) -> Outcome<(Done, Vec<Line>)> {
    let strace = Strace::new(scratch.at("log")).showing_paths();
    let done = strace.wrap(here(scratch, words)).run()?;
    assert_eq!(done.code(), Some(0), "{done:?}");
    only_marked(scratch.path())?;
    Ok((done, strace.lines()?))
}

/// Demands that a folder has one hidden file: the journal of a complete run.
pub(super) fn only_marked(folder: &Path) -> Outcome {
    let found = hidden(folder)?;
    assert!(found.len() == 1 && is_marked(&found[0])?, "{found:?}");
    Ok(())
}

/// Returns the files of the source from which bytes were read.
pub(super) fn read_sources(lines: &[Line]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for line in lines {
        let source = match line.name.as_str() {
            "read" | "pread64" | "splice" => line.text.split(',').next(),
            "sendfile" => line.text.split(',').nth(1),
            _ => None,
        };
        if let Some((_, name)) = source.and_then(|source| source.split_once("/s/")) {
            names.push(name.trim_end_matches('>').to_owned());
        }
    }
    names.sort();
    names.dedup();
    names
}

#[test]
fn what_is_finished_is_not_read_again() -> Outcome {
    let Some(scratch) = all_but_over()? else { return Ok(()) };
    let before = snapshot(&scratch.at("t"));
    let (_, lines) = again(&scratch, &COPY)?;
    assert_eq!(read_sources(&lines), Vec::<String>::new());
    let opened = lines.iter().filter(|line| line.text.contains("O_TMPFILE")).count();
    assert_eq!(opened, 0);
    demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), "gone on with");
    assert!(before == snapshot(&scratch.at("t")));
    Ok(())
}

#[test]
fn what_changed_on_either_side_is_copied_again() -> Outcome {
    for (change, expected) in [
        ("echo more >> s/a", "a"),
        ("touch s/a", "a"),
        ("cp -p s/a s/x; mv s/x s/a", "a"),
        ("echo other > t/a", "a"),
        ("touch -r t/a r; printf x | dd of=t/a conv=notrunc 2>/dev/null; touch -r r t/a", "a"),
        ("chmod 600 t/d/c", "d/c"),
        ("rm t/d/e/f", "d/e/f"),
        ("chmod 600 t/b", "b"),
    ] {
        let Some(scratch) = all_but_over()? else { return Ok(()) };
        Call::of("sh").words(["-c", change]).in_dir(scratch.path()).succeed()?;
        let (_, lines) = again(&scratch, &COPY)?;
        let read = read_sources(&lines);
        // Either name of a file with two may be found first.
        let is_right = read == [expected] || (expected == "b" && read == ["d/twin"]);
        assert!(is_right, "{change}: {read:?}");
        demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), change);
    }
    Ok(())
}

#[test]
fn a_journal_that_was_torn_anywhere_serves_as_far_as_it_is_whole() -> Outcome {
    let Some(scratch) = all_but_over()? else { return Ok(()) };
    let (path, whole) = (journal(&scratch)?, fs::read(journal(&scratch)?)?);
    for length in (0..whole.len()).step_by(11) {
        fs::write(&path, &whole[..length])?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        here(&scratch, &COPY).succeed()?;
        only_marked(scratch.path())?;
        demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), "torn");
    }
    Ok(())
}

#[test]
fn journals_that_are_not_ours_are_refused_and_nothing_is_touched() -> Outcome {
    for (planting, words) in [
        ("mv @ x; ln -s x @", "not a regular file"),
        ("rm @; mkdir @", "not a regular file"),
        ("rm @; mkfifo @", "not a regular file"),
        ("ln @ x", "several names"),
        ("chmod g+w @", "other users may write"),
        ("echo '#!/bin/sh' > @", "it is not a journal"),
        ("printf 'haulJRNL\\377\\0\\0\\0' > @", "another version"),
    ] {
        let Some(scratch) = all_but_over()? else { return Ok(()) };
        let path = journal(&scratch)?;
        let script = planting.replace('@', &path.display().to_string());
        Call::of("sh").words(["-c", &script]).in_dir(scratch.path()).succeed()?;
        fs::write(scratch.at("t/a"), "somebody's")?;
        let before = snapshot(scratch.path());
        let done = here(&scratch, &COPY).run()?;
        assert_eq!(done.code(), Some(1), "{planting}: {done:?}");
        assert!(done.errors().contains(words), "{planting}: {done:?}");
        assert!(before == snapshot(scratch.path()), "{planting}: {done:?}");
    }
    Ok(())
}

#[test]
fn journals_of_others_and_of_other_runs_are_refused() -> Outcome {
    let Some(scratch) = all_but_over()? else { return Ok(()) };
    let path = journal(&scratch)?;
    let name = format!("--journal={}", path.display());
    for other in [["-r", &name, "-T", "s", "t"], ["-a", &name, "-T", "s/d", "t"]] {
        let done = here(&scratch, &other).run()?;
        assert_eq!(done.code(), Some(1), "{done:?}");
        assert!(done.errors().contains("with other op"), "{done:?}");
    }
    // Options of speed and output do not make it another run.
    if has("flock")? {
        let script = format!("exec 9<{}; flock -n 9; exec \"$0\" cp \"$@\"", path.display());
        let call = Call::of("bash").words(["-c", &script]).word(haul()).words(COPY);
        let second = call.in_dir(scratch.path()).run()?;
        assert_eq!(second.code(), Some(1), "{second:?}");
        assert!(second.errors().contains("another run uses it"), "{second:?}");
    }
    if is_root()? {
        std::os::unix::fs::chown(&path, Some(USER), Some(USER))?;
        let done = here(&scratch, &COPY).run()?;
        assert!(done.errors().contains("belongs to another user"), "{done:?}");
        std::os::unix::fs::chown(&path, Some(0), Some(0))?;
    }
    again(&scratch, &["-a", "-v", "--jobs=1", "--resume", "-T", "s", "t"])?;
    let read_only = here(&scratch, &["-a", "--journal=/proc/journal", "-T", "s", "u"]).run()?;
    assert_eq!(read_only.code(), Some(1), "{read_only:?}");
    assert!(read_only.errors().contains("cannot open journal '/proc/journal'"), "{read_only:?}");
    assert!(!scratch.at("u").exists());
    Ok(())
}

#[test]
fn a_journal_that_cannot_be_written_is_told_and_the_copy_goes_on() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    for (fault, is_broken) in [
        ("pwrite64:error=EIO:when=2", true),
        ("pwrite64:error=ENOSPC:when=2+", true),
        ("pwrite64:error=ENOSPC:when=2", false),
        ("pwrite64:retval=5:when=2", false),
    ] {
        let scratch = Scratch::new()?;
        furnish(&scratch)?;
        let strace = Strace::new(scratch.at("log")).inject(fault);
        let done = strace.wrap(here(&scratch, &["-a", "--jobs=1", "--resume", "-T", "s", "t"]));
        let done = done.run()?;
        assert_eq!(done.code(), Some(0), "{fault}: {done:?}");
        assert_eq!(done.errors().contains("cannot write journal"), is_broken, "{done:?}");
        demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), fault);
        if is_broken {
            assert_eq!(hidden(scratch.path())?, Vec::<PathBuf>::new());
        } else {
            only_marked(scratch.path())?;
        }
    }
    Ok(())
}

#[test]
fn a_run_that_failed_keeps_its_journal_and_says_so() -> Outcome {
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    scratch.write("t/link/taken", "by a directory")?;
    let done = here(&scratch, &COPY).run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert!(done.errors().contains("is kept: run the same command again to resume"), "{done:?}");
    journal(&scratch)?;
    fs::remove_dir_all(scratch.at("t/link"))?;
    here(&scratch, &COPY).succeed()?;
    only_marked(scratch.path())?;
    demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), "second run");
    Ok(())
}

#[test]
fn the_target_means_what_it_meant_when_the_run_began() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    // By now `t` is a directory, into which a plain second `cp -a s t` would copy `s`.
    let words = ["-a", "--resume", "s", "t"];
    all_but_mark(&scratch, &words, scratch.path())?;
    again(&scratch, &words)?;
    demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), "as a name");
    // If it is one from the start, the journal is in it.
    fs::remove_file(journal(&scratch)?)?;
    all_but_mark(&scratch, &words, &scratch.at("t"))?;
    assert_eq!(here(&scratch, &words).run()?.code(), Some(0));
    only_marked(&scratch.at("t"))?;
    demand_equal(&scratch.at("s"), &scratch.at("t/s"), Aspects::preserved(), "into it");
    Ok(())
}

#[test]
fn questions_modes_and_digests_are_those_of_one_run() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    for mode in [0o555, 0o755] {
        fs::set_permissions(scratch.at("s/d"), fs::Permissions::from_mode(mode))?;
        for words in [
            vec!["-ri", "--resume", "-T", "s", "t"],
            vec!["-r", "--update=none-fail", "--resume", "-T", "s", "t"],
            vec!["-r", "--resume", "--sum-file=sums", "-T", "s", "t"],
            vec!["-r", "--resume", "--verify", "--sum-file=sums", "-T", "s", "t"],
        ] {
            scratch.clear("t")?;
            for journal in hidden(scratch.path())? {
                fs::remove_file(journal)?;
            }
            all_but_mark(&scratch, &words, scratch.path())?;
            let (done, lines) = again(&scratch, &words)?;
            // There is no question, because only the first run has created files there.
            assert!(!done.errors().contains("overwrite"), "{done:?}");
            assert_eq!(read_sources(&lines), Vec::<String>::new(), "{words:?}");
            let made = fs::metadata(scratch.at("t/d"))?.permissions().mode() & 0o7777;
            assert_eq!(made, mode, "{words:?}");
            if words.iter().any(|word| word.starts_with("--sum")) && has("b3sum")? {
                Call::of("b3sum").words(["-c", "sums"]).in_dir(scratch.path()).succeed()?;
            }
            if words.iter().any(|word| word.starts_with("--sum")) {
                assert_eq!(fs::read_to_string(scratch.at("sums"))?.lines().count(), 5);
            }
        }
    }
    Ok(())
}

#[test]
fn another_option_is_refused_and_the_way_out_is_told() -> Outcome {
    for (words, option) in [
        (&["-a", "--resume", "--sparse=always", "-T", "s", "t"][..], "--sparse"),
        (&["-r", "--resume", "-T", "s", "t"], "--preserve"),
        (&["-a", "--resume", "--verify", "-T", "s", "t"], "--verify"),
        (&["-a", "--resume", "-u", "-x", "-T", "s", "t"], "--update; -x"),
        (&["-a", "--resume", "s", "t"], "-t, -T"),
        (&["-a", "--resume", "-T", "./s/", "t"], "spelling"),
    ] {
        let Some(scratch) = all_but_over()? else { return Ok(()) };
        let (journal, before) = (journal(&scratch)?, snapshot(&scratch.at("t")));
        let done = here(&scratch, words).run()?;
        assert_eq!(done.code(), Some(1), "{words:?}: {done:?}");
        let errors = done.errors();
        let name = journal.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for part in [name.as_str(), option, "to resume it", "haul clean"] {
            assert!(errors.contains(part), "{words:?}, {part}: {errors}");
        }
        // Nothing was done: the first command can still be resumed.
        assert_eq!(hidden(scratch.path())?, std::slice::from_ref(&journal), "{words:?}");
        assert!(before == snapshot(&scratch.at("t")), "{words:?}");
        let (_, lines) = again(&scratch, &COPY)?;
        assert_eq!(read_sources(&lines), Vec::<String>::new(), "{words:?}");
    }
    Ok(())
}

#[test]
fn another_option_is_all_right_once_the_journal_is_gone() -> Outcome {
    let Some(scratch) = all_but_over()? else { return Ok(()) };
    let other = ["-a", "--resume", "--sparse=always", "-T", "s", "t"];
    fs::remove_file(journal(&scratch)?)?;
    here(&scratch, &other).succeed()?;
    // With an explicit journal the message is the same.
    let named = ["-a", "--journal=J", "-T", "s", "u"];
    here(&scratch, &named).succeed()?;
    let file = fs::File::options().write(true).open(scratch.at("J"))?;
    file.set_len(file.metadata()?.len() - MARK_BYTES)?;
    let done = here(&scratch, &["-a", "-x", "--journal=J", "-T", "s", "u"]).run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert!(done.errors().contains("refusing journal 'J'"), "{done:?}");
    assert!(done.errors().contains("(-x)"), "{done:?}");
    let done = here(&scratch, &["-a", "--journal=J", "-T", "s", "other"]).run()?;
    assert!(done.errors().contains("a command with other operands"), "{done:?}");
    Ok(())
}

#[test]
fn journals_of_other_copies_are_ignored() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    fs::create_dir(scratch.at("into"))?;
    scratch.write("other", "bytes")?;
    all_but_mark(&scratch, &["-a", "--resume", "s", "into"], &scratch.at("into"))?;
    // Files that look like a journal, or are unreadable, do not matter either.
    scratch.write("into/.haul-0123456789ab", "haulJRNL, but not quite")?;
    here(&scratch, &["-r", "--resume", "other", "into"]).succeed()?;
    assert_eq!(fs::read(scratch.at("into/other"))?, b"bytes");
    Ok(())
}

#[test]
fn what_contradicts_going_on_is_a_usage_error() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("s", "s")?;
    let list = here(&scratch, &["--resume", "--retry-failed=s"]).run()?;
    assert!(list.errors().contains("retry-failed"), "{list:?}");
    for option in ["-b", "-l", "-s", "--attributes-only", "--dry-run", "--preflight"] {
        let done = here(&scratch, &["--resume", option, "s", "t"]).run()?;
        assert_eq!(done.code(), Some(1), "{option}: {done:?}");
        assert!(done.errors().contains("--resume"), "{option}: {done:?}");
        assert!(!scratch.at("t").exists(), "{option}");
    }
    Ok(())
}

/// Makes a large file of which a killed run has recorded two parts of 64 MiB.
fn large(options: &[&str]) -> Outcome<Option<(Scratch, Vec<u8>)>> {
    if !is_usable()? {
        return Ok(None);
    }
    let scratch = Scratch::new()?;
    let bytes = noise(200 * MIB + 4321);
    scratch.write("s", &bytes)?;
    // The journal's header, then each part and its record.
    kill(&scratch, here(&scratch, options), "fdatasync", 6)?;
    assert_eq!(hidden(scratch.path())?.len(), 2);
    assert!(!scratch.at("t").exists());
    Ok(Some((scratch, bytes)))
}

/// Returns how many bytes of the large source were read.
fn bytes_read(lines: &[Line]) -> usize {
    let reads = lines.iter().filter(|line| {
        matches!(line.name.as_str(), "read" | "pread64" | "sendfile" | "splice")
            && line.text.contains("/s>")
    });
    let answers = reads.filter_map(|line| line.text.rsplit("= ").next());
    answers.filter_map(|answer| answer.trim().parse::<usize>().ok()).sum()
}

const LARGE: [&str; 4] = ["--jobs=1", "--resume", "s", "t"];

#[test]
fn a_large_file_goes_on_where_it_ended() -> Outcome {
    for options in [LARGE.to_vec(), ["--verify"].into_iter().chain(LARGE).collect()] {
        let Some((scratch, bytes)) = large(&options)? else { return Ok(()) };
        let (_, lines) = again(&scratch, &options)?;
        assert!(fs::read(scratch.at("t"))? == bytes, "{options:?}");
        let read = bytes_read(&lines);
        let left = bytes.len() - 128 * MIB;
        assert!((left..=left + 4 * MIB).contains(&read), "{options:?}: {read} bytes were read");
        assert_eq!(fs::metadata(scratch.at("t"))?.permissions().mode() & 0o077, 0o044);
    }
    Ok(())
}

#[test]
fn a_large_file_is_believed_as_far_as_it_is_what_was_recorded() -> Outcome {
    for (change, at_least, at_most) in [
        ("printf x | dd of=P bs=1 seek=70000000 conv=notrunc 2>/dev/null", 72, 80),
        ("truncate -s 50M P", 150, 156),
        ("touch P", 72, 77),
        ("rm P", 200, 201),
        ("ln P x", 200, 201),
        ("chmod g+w P", 200, 201),
        ("mv P x; ln -s x P", 200, 201),
        ("cp P x; mv x P", 200, 201),
        ("touch s", 200, 201),
        ("printf y | dd of=s bs=1 conv=notrunc 2>/dev/null", 200, 201),
    ] {
        let Some((scratch, _)) = large(&LARGE)? else { return Ok(()) };
        let found = hidden(scratch.path())?;
        let part = found.iter().max_by_key(|path| fs::metadata(path).map_or(0, |now| now.len()));
        let part = part.ok_or("no part")?.display().to_string();
        let script = change.replace('P', &part);
        Call::of("sh").words(["-c", &script]).in_dir(scratch.path()).succeed()?;
        let strace = Strace::new(scratch.at("log")).showing_paths();
        strace.wrap(here(&scratch, &LARGE)).succeed()?;
        let read = bytes_read(&strace.lines()?) / MIB;
        assert!((at_least..=at_most).contains(&read), "{change}: {read} MiB were read");
        assert!(fs::read(scratch.at("t"))? == fs::read(scratch.at("s"))?, "{change}");
    }
    Ok(())
}

#[test]
fn a_large_sparse_file_goes_on_and_keeps_its_holes() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let file = fs::File::create(scratch.at("s"))?;
    file.set_len(400 << 20)?;
    for part in 0..50_u64 {
        std::os::unix::fs::FileExt::write_all_at(&file, &noise(4 * MIB), part * (8 << 20))?;
    }
    kill(&scratch, here(&scratch, &["--jobs=3", "--resume", "s", "t"]), "fdatasync", 3)?;
    let held = allocated(&scratch.at("s"))?;
    again(&scratch, &["--jobs=3", "--resume", "s", "t"])?;
    assert!(fs::read(scratch.at("t"))? == fs::read(scratch.at("s"))?);
    let copied = allocated(&scratch.at("t"))?;
    assert!(copied <= held + (1 << 19), "{copied} bytes allocated, for the source {held}");
    Ok(())
}

#[test]
fn a_disk_that_was_full_and_a_signal_leave_what_was_recorded() -> Outcome {
    if !is_root()? || !has("unshare")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("s", noise(200 * MIB))?;
    for (first, resize) in [
        ("\"$0\" cp --resume s m/t", "mount -o remount,size=300m m"),
        (
            "\"$0\" cp --resume --bandwidth=70M s m/t & \
             until [ $(du -sm m | cut -f1) -ge 140 ]; do sleep 0.02; done; kill -TERM $!; wait $!",
            "true",
        ),
    ] {
        let size = if resize == "true" { "300m" } else { "150m" };
        let script = format!(
            "set -e; mkdir -p m; mount -t tmpfs -o size={size} none m
             if {first}; then echo finished; fi; ls -A m | wc -l; {resize}
             \"$0\" cp --resume --stats s m/t; cmp s m/t; ls m; umount m"
        );
        let call = Call::of("unshare").words(["-m", "--", "bash", "-c", &script]).word(haul());
        let done = call.in_dir(scratch.path()).run()?;
        assert_eq!((done.code(), done.text().as_str()), (Some(0), "2\nt\n"), "{done:?}");
        assert!(done.errors().contains("is kept: run the same command again"), "{done:?}");
        let all = done.errors().contains("bytes:   200.0 MiB");
        assert!(!all, "everything was copied again: {done:?}");
    }
    Ok(())
}

#[test]
fn the_power_goes_and_the_run_goes_on() -> Outcome {
    if !is_root()? || !has("unshare")? || !has("xfs_io")? || !has("mkfs.xfs")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    for index in 0..9000 {
        scratch.write(&format!("s/d{}/{index}", index % 7), index.to_string().repeat(30))?;
    }
    scratch.write("s/zlarge", noise(180 * MIB))?;
    for (make, after) in
        [("mkfs.ext4 -q -F", 0.2), ("mkfs.ext4 -q -F", 0.5), ("mkfs.xfs -q -f", 0.4)]
    {
        let script = format!(
            "set -e; mkdir -p m; rm -f image; truncate -s 600M image; {make} image
             mount -o loop image m
             (sleep {after}; xfs_io -x -c shutdown m) & \"$0\" cp -r --resume -T s m/t 2>/dev/null || true; wait
             umount m; mount -o loop image m
             \"$0\" cp -r --resume -T s m/t && diff -r -x '.haul-*' s m/t && echo whole
             ls -A m | grep -v lost+found; umount m"
        );
        let call = Call::of("unshare").words(["-m", "--", "bash", "-c", &script]).word(haul());
        let done = call.in_dir(scratch.path()).run()?;
        assert!(done.text().starts_with("whole\n"), "{make}: {done:?}");
        assert!(done.text().lines().any(|line| line == "t"), "{make}: {done:?}");
    }
    Ok(())
}
