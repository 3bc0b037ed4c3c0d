//! `--resume` after a complete run: the journal stays and is marked. The same command then finds every entry
//! in place and copies nothing, and copies whatever changed on either side.

use std::fs;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};

use haul_manifest::Aspects;

use super::resume::{
    COPY, again, become_old, furnish, here, is_marked, journal, kill, only_marked, read_sources,
};
use super::support::judge::{demand_equal, snapshot};
use super::support::run::{Call, Done, haul};
use super::support::scratch::Scratch;
use super::support::shell::noise;
use super::support::strace::{Strace, is_usable};
use super::support::{Outcome, hidden, schema};

const NOTHING: &str = "nothing to copy: 6 entries are there and unchanged";

/// Makes a scene in which a run with `--resume` is complete.
fn complete() -> Outcome<Option<Scratch>> {
    if !is_usable()? {
        return Ok(None);
    }
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    let done = here(&scratch, &COPY).succeed()?;
    assert_eq!((done.text().as_str(), done.errors().as_str()), ("", ""));
    only_marked(scratch.path())?;
    Ok(Some(scratch))
}

/// Runs a command that succeeds and may say something.
fn told(scratch: &Scratch, words: &[&str]) -> Outcome<Done> {
    let done = here(scratch, words).run()?;
    assert_eq!(done.code(), Some(0), "{done:?}");
    Ok(done)
}

fn shell(scratch: &Scratch, script: &str) -> Outcome {
    Call::of("sh").words(["-c", script]).in_dir(scratch.path()).succeed()?;
    Ok(())
}

#[test]
fn a_second_run_says_that_everything_is_there() -> Outcome {
    let Some(scratch) = complete()? else { return Ok(()) };
    let before = (snapshot(&scratch.at("t")), fs::read(journal(&scratch)?)?);
    for _ in 0..2 {
        let (done, lines) = again(&scratch, &COPY)?;
        assert!(done.errors().contains(NOTHING), "{done:?}");
        assert_eq!(read_sources(&lines), Vec::<String>::new());
        assert!(!lines.iter().any(|line| line.text.contains("O_TMPFILE")));
    }
    // The journal does not grow either.
    assert!(before == (snapshot(&scratch.at("t")), fs::read(journal(&scratch)?)?));
    let json: Vec<&str> = ["--json"].into_iter().chain(COPY).collect();
    let told = schema::lines("run", &told(&scratch, &json)?.text())?;
    let summary = told.last().ok_or("no summary")?;
    assert_eq!((summary["files"].as_u64(), summary["skipped"].as_u64()), (Some(0), Some(6)));
    // A copy that does not resume says nothing.
    let plain = here(&scratch, &["-a", "-T", "s", "u"]).succeed()?;
    assert_eq!(plain.errors(), "");
    Ok(())
}

#[test]
fn what_changed_since_a_complete_run_is_copied() -> Outcome {
    for (change, expected) in [
        ("echo more >> s/a", &["a"][..]),
        // The size and the time of change are as before; the time of the last status change is not.
        ("touch -r s/a r; printf x | dd of=s/a conv=notrunc 2>/dev/null; touch -r r s/a", &["a"]),
        ("touch -r t/a r; printf x | dd of=t/a conv=notrunc 2>/dev/null; touch -r r t/a", &["a"]),
        ("cp -p s/a s/x; mv s/x s/a", &["a"]),
        ("cp -p t/a t/x; mv t/x t/a", &["a"]),
        ("chmod 600 t/d/c", &["d/c"]),
        // A file with two names, changed without a trace in size and time of change.
        ("touch -r t/b r; printf x | dd of=t/b conv=notrunc 2>/dev/null; touch -r r t/b", &["b"]),
        ("rm -r t/d/e", &["d/e/f"]),
        ("echo new > s/d/new", &["d/new"]),
        ("truncate -s 0 t/a; echo new > s/d/new", &["a", "d/new"]),
    ] {
        let Some(scratch) = complete()? else { return Ok(()) };
        shell(&scratch, change)?;
        become_old();
        let (done, lines) = again(&scratch, &COPY)?;
        // Either name of a file with two may be found first.
        let read = read_sources(&lines);
        let is_right = read == expected || (expected == ["b"] && read == ["d/twin"]);
        assert!(is_right, "{change}: {read:?}");
        assert!(!done.errors().contains("nothing to copy"), "{change}: {done:?}");
        demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), change);
        // What was copied now is recorded, too.
        let (done, lines) = again(&scratch, &COPY)?;
        assert_eq!(read_sources(&lines), Vec::<String>::new(), "{change}");
        assert!(done.errors().contains("nothing to copy"), "{change}: {done:?}");
    }
    Ok(())
}

/// The clock of files advances in ticks, and a change in the tick in which the run marked its journal must
/// not look as if it came before.
#[test]
fn what_changes_at_once_after_a_complete_run_is_copied() -> Outcome {
    let Some(scratch) = complete()? else { return Ok(()) };
    for _ in 0..5 {
        let target = fs::OpenOptions::new().write(true).open(scratch.at("t/b"))?;
        target.write_all_at(b"x", 0)?;
        target.set_modified(fs::metadata(scratch.at("s/b"))?.modified()?)?;
        drop(target);
        // A tick passes between the last name and the mark.
        let slow = Strace::new(scratch.at("log")).inject("fdatasync:delay_exit=20000");
        slow.trace("fdatasync").wrap(here(&scratch, &COPY)).run()?;
        assert!(fs::read(scratch.at("t/b"))? == fs::read(scratch.at("s/b"))?);
    }
    Ok(())
}

#[test]
fn a_target_that_was_made_again_is_copied_to_as_by_a_first_run() -> Outcome {
    // `t` did not exist when the first run began, so the same command means `t` itself …
    let words = ["-a", "--resume", "s", "t"];
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    here(&scratch, &words).succeed()?;
    let done = told(&scratch, &words)?;
    assert!(done.errors().contains(NOTHING), "{done:?}");
    assert!(!scratch.at("t/s").exists());
    // … until it is another directory.
    shell(&scratch, "rm -r t; mkdir t; echo mine > t/a")?;
    here(&scratch, &words).succeed()?;
    demand_equal(&scratch.at("s"), &scratch.at("t/s"), Aspects::preserved(), "into it");
    assert_eq!(fs::read(scratch.at("t/a"))?, b"mine\n");
    shell(&scratch, "rm -r t")?;
    here(&scratch, &words).succeed()?;
    demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), "as a name again");
    // A file is the same.
    let words = ["--resume", "s/a", "f"];
    here(&scratch, &words).succeed()?;
    let ino = fs::metadata(scratch.at("f"))?.ino();
    let done = told(&scratch, &words)?;
    assert!(done.errors().contains("1 entry is there"), "{done:?}");
    assert_eq!(fs::metadata(scratch.at("f"))?.ino(), ino);
    shell(&scratch, "rm f; mkdir f")?;
    here(&scratch, &words).succeed()?;
    assert_eq!(fs::read(scratch.at("f/a"))?, fs::read(scratch.at("s/a"))?);
    Ok(())
}

#[test]
fn the_journal_of_a_complete_run_stands_in_the_way_of_no_other_command() -> Outcome {
    let Some(scratch) = complete()? else { return Ok(()) };
    let first = journal(&scratch)?;
    // With other options the copy is made again, and has the only journal.
    let other = ["-a", "--resume", "--sparse=always", "-T", "s", "t"];
    let done = here(&scratch, &other).succeed()?;
    assert_eq!(done.errors(), "");
    assert!(journal(&scratch)? != first);
    let done = told(&scratch, &other)?;
    assert!(done.errors().contains(NOTHING), "{done:?}");
    // A journal that the user names is used again for another copy; an incomplete one is not.
    let to = |target: &'static str| ["-a", "--journal=J", "-T", "s", target];
    here(&scratch, &to("u")).succeed()?;
    here(&scratch, &to("v")).succeed()?;
    assert!(is_marked(&scratch.at("J"))?);
    demand_equal(&scratch.at("s"), &scratch.at("v"), Aspects::preserved(), "another target");
    let file = fs::File::options().write(true).open(scratch.at("J"))?;
    file.set_len(file.metadata()?.len() - 1)?;
    let done = here(&scratch, &to("w")).run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert!(!scratch.at("w").exists());
    Ok(())
}

#[test]
fn a_run_after_a_complete_one_is_complete_only_at_its_end() -> Outcome {
    let Some(scratch) = complete()? else { return Ok(()) };
    // A new file, and a directory where the source has a link: this run records, fails, and does not mark.
    shell(&scratch, "echo new > s/d/new; rm t/link; mkdir t/link; touch t/link/taken")?;
    become_old();
    let done = here(&scratch, &COPY).run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert!(done.errors().contains("is kept: run the same command again"), "{done:?}");
    assert!(!is_marked(&journal(&scratch)?)?);
    shell(&scratch, "rm -r t/link")?;
    let done = told(&scratch, &COPY)?;
    assert!(!done.errors().contains("nothing to copy"), "{done:?}");
    only_marked(scratch.path())?;
    demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), "repaired");
    // `haul clean` removes it like every hidden file, and the command copies everything again.
    Call::of(haul()).words(["clean", "--older-than=0"]).word(scratch.path()).succeed()?;
    assert!(hidden(scratch.path())?.is_empty());
    let done = here(&scratch, &COPY).succeed()?;
    assert_eq!(done.errors(), "");
    Ok(())
}

#[test]
fn what_a_later_run_can_complete_stays_when_a_run_fails() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("s/d/big", noise(200 << 20))?;
    become_old();
    let words = ["-a", "--jobs=1", "--resume", "-T", "s", "t"];
    kill(&scratch, here(&scratch, &words), "fdatasync", 4)?;
    let begun = hidden(&scratch.at("t/d"))?;
    let strace = Strace::new(scratch.at("log")).trace("openat").of_file("big");
    let failed = strace.inject("openat:error=EACCES").wrap(here(&scratch, &words)).run()?;
    assert_eq!(failed.code(), Some(1), "{failed:?}");
    assert_eq!(hidden(&scratch.at("t/d"))?, begun, "{failed:?}");
    told(&scratch, &words)?;
    demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), "completed");
    assert_eq!(hidden(&scratch.at("t/d"))?.len(), 0);
    Ok(())
}

#[test]
fn what_no_run_will_complete_is_removed() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    for change in ["rm s/d/big", "mv s/d/big s/d/other", "ln s/d/big s/d/two", "echo new > s/d/big"]
    {
        let scratch = Scratch::new()?;
        scratch.write("s/d/big", noise(200 << 20))?;
        become_old();
        let words = ["-a", "--jobs=1", "--resume", "-T", "s", "t"];
        // The journal's header, then each part and its record.
        kill(&scratch, here(&scratch, &words), "fdatasync", 4)?;
        assert_eq!(hidden(&scratch.at("t/d"))?.len(), 1, "{change}");
        shell(&scratch, change)?;
        told(&scratch, &words)?;
        demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), change);
        assert_eq!(hidden(&scratch.at("t/d"))?.len(), 0, "{change}");
    }
    Ok(())
}
