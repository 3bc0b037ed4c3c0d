//! A move across file systems that is interrupted: by a kill at each of its calls, by a signal; by a power
//! cut in `sweep`. Every file is complete in one of its two places, and the same command completes the move.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use haul_sys::data::{Advice, fadvise};

use super::mv::{Two, hidden_names, mv};
use super::support::image::Image;
use super::support::mounting::unmount;
use super::support::run::{Call, Done, haul};
use super::support::scratch::Scratch;
use super::support::shell::noise;
use super::support::strace::{Point, Strace, is_usable, points, stopped_at};
use super::support::{Outcome, if_there};

/// Every file that is moved, and its size.
const FILES: [(&str, usize); 5] =
    [("d/one", 1000), ("d/two", 70_000), ("d/e/three", 10), ("d/e/twin", 10), ("f", 5000)];

/// Calls that do not affect files, so that a kill at the next one is equivalent.
const SPARED: [&str; 10] = [
    "fcntl",
    "gettid",
    "futex",
    "munmap",
    "mmap",
    "brk",
    "mprotect",
    "madvise",
    "sigaltstack",
    "exit_group",
];

/// Returns the contents of a file: one byte, different for each file, repeated.
fn bytes(name: &str, size: usize) -> Vec<u8> {
    // The two names of one file have the same contents.
    let name = if name == "d/e/twin" { "d/e/three" } else { name };
    vec![name.bytes().fold(1, u8::wrapping_add); size]
}

fn furnish(here: &Scratch, there: &Scratch) -> Outcome {
    for name in ["d", "f"] {
        here.clear(name)?;
    }
    there.clear_all()?;
    for (name, size) in FILES.into_iter().filter(|(name, _)| *name != "d/e/twin") {
        here.write(name, bytes(name, size))?;
    }
    fs::hard_link(here.at("d/e/three"), here.at("d/e/twin"))?;
    there.write("f", "old")?;
    Ok(())
}

/// Returns what is wrong with the places of the files, if anything.
fn objections(here: &Path, there: &Path) -> Outcome<Vec<String>> {
    let mut wrong = Vec::new();
    for (name, size) in FILES {
        let whole = bytes(name, size);
        let source = if_there(fs::read(here.join(name)))?;
        let target = if_there(fs::read(there.join(name)))?;
        if source.as_ref() != Some(&whole) && target.as_ref() != Some(&whole) {
            wrong.push(format!("{name} is in neither place"));
        }
        let is_old = name == "f" && target.as_deref() == Some(b"old");
        if target.is_some_and(|target| target != whole) && !is_old {
            wrong.push(format!("{name} looks moved and is not whole"));
        }
    }
    Ok(wrong)
}

/// Returns what is wrong with a move that reported success, if anything.
fn incomplete(here: &Path, there: &Path) -> Outcome<Vec<String>> {
    let mut wrong = objections(here, there)?;
    for (name, _) in FILES {
        if here.join(name).exists() || !there.join(name).exists() {
            wrong.push(format!("{name} is not moved"));
        }
    }
    Ok(wrong)
}

/// Returns whether an exit code and messages are those of a rerun that completes a move, some of whose
/// operands may be complete.
fn is_fitting(done: &Done) -> bool {
    let lines = done.errors();
    let is_known =
        |line: &str| line.starts_with("mv: cannot stat") || line.contains("has the name");
    lines.lines().all(is_known) && done.code() == Some(i32::from(!lines.is_empty()))
}

/// Returns the calls of a run at which the test kills it.
fn worthwhile(strace: &Strace) -> Outcome<Vec<Point>> {
    let all = points(&strace.lines()?);
    Ok(all.into_iter().filter(|point| !SPARED.contains(&point.name.as_str())).collect())
}

/// Returns a call of a move of `d` at which the copy has its name and a part of the source remains.
fn amid_removal(two: &Two, call: &Call) -> Outcome<Point> {
    furnish(&two.here, &two.there)?;
    let strace = Strace::new(two.here.at("log"));
    strace.wrap(call.clone()).succeed()?;
    let removals = strace.lines()?.into_iter().filter(|line| line.name == "unlinkat").count();
    Ok(Point { name: "unlinkat".to_owned(), occurrence: removals - 3 })
}

fn killed_at(log: PathBuf, point: &Point, call: Call) -> Outcome {
    let what = format!("{}:signal=KILL:when={}", point.name, point.occurrence);
    Strace::new(log).trace(&point.name).inject(&what).wrap(call).run()?;
    Ok(())
}

#[test]
fn killed_at_any_call_nothing_is_lost_and_a_rerun_completes() -> Outcome {
    let Some(two) = Two::traced()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    let call = mv(["--jobs=1", "d", "f", &two.far("")]).in_dir(here.path());
    furnish(here, there)?;
    let strace = Strace::new(here.at("log"));
    strace.wrap(call.clone()).succeed()?;
    let points = worthwhile(&strace)?;
    assert!(points.len() > 60, "only {} calls", points.len());
    let mut wrong = Vec::new();
    for point in &points {
        furnish(here, there)?;
        killed_at(here.at("log"), point, call.clone())?;
        let mut found = objections(here.path(), there.path())?;
        let again = call.run()?;
        found.extend(incomplete(here.path(), there.path())?);
        // A kill between the last removal and that of its note leaves the note.
        let left = hidden_names(there.path())?;
        if !is_fitting(&again) || left.iter().any(|name| !name.ends_with(".done")) {
            found.push(format!("rerun: {again:?}, left {left:?}"));
        }
        if !found.is_empty() {
            wrong.push(format!("{point:?}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

fn said_text(done: &Done) -> String {
    String::from_utf8_lossy(&done.stdout).into_owned()
}

#[test]
fn a_source_that_was_about_to_be_removed_gets_its_name_back() -> Outcome {
    let Some(two) = Two::traced()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    let long = "n".repeat(240);
    for name in ["f", &long] {
        here.write(name, "moved")?;
        let call = mv(["--jobs=1", name, &two.far("")]).in_dir(here.path());
        let point = Point { name: "unlinkat".to_owned(), occurrence: 1 };
        killed_at(there.at("log"), &point, call.clone())?;
        assert_eq!(fs::read(there.at(name))?, b"moved");
        let left = hidden_names(here.path())?;
        let [hidden] = &left[..] else { return Err(format!("left {left:?}").into()) };
        let again = call.run()?;
        let line = format!(
            "mv: cannot stat '{name}': No such file or directory\n\
             mv: '{name}' has the name '{hidden}' since a run that removed it was killed; 'haul clean' gives it \
             its own name back\n"
        );
        assert_eq!((again.code(), again.errors()), (Some(1), line));
        // A name of 226 bytes and more is cut.
        let own = &name[..name.len().min(226)];
        let clean = || Call::of(haul()).word("clean").in_dir(here.path());
        let said = clean().words(["."]).run()?;
        assert_eq!(
            said_text(&said),
            format!(
                "left './{hidden}': younger than 60 seconds; --older-than=0 removes it, if no command runs that may \
                 have made it\n"
            )
        );
        let line =
            format!("'./{hidden}' to './{own}': a run was about to remove it when it was killed\n");
        let said = clean().words(["--older-than=0", "--dry-run", "."]).run()?;
        assert_eq!((said.code(), said_text(&said)), (Some(0), format!("would rename {line}")));
        let said = clean().words(["--older-than=0", "."]).run()?;
        assert_eq!((said.code(), said_text(&said)), (Some(0), format!("renamed {line}")));
        assert_eq!(fs::read(here.at(own))?, b"moved");
        assert_eq!(hidden_names(here.path())?, [""; 0]);
        here.clear_all()?;
    }
    Ok(())
}

#[test]
fn a_directory_that_was_renamed_by_its_move_is_known_again() -> Outcome {
    let Some(two) = Two::traced()? else { return Ok(()) };
    let call = mv(["--jobs=1", "d", &two.far("new")]).in_dir(two.here.path());
    let point = amid_removal(&two, &call)?;
    furnish(&two.here, &two.there)?;
    killed_at(two.here.at("log"), &point, call.clone())?;
    assert!(two.here.at("d").exists() && two.there.at("new").exists());
    // Data that another process wrote to the rest of the source is kept.
    two.here.write("d/added", "added")?;
    let done = call.run()?;
    assert_eq!(done.code(), Some(1), "{}", done.errors());
    assert!(done.errors().contains("'d/added' changed while it was moved"), "{}", done.errors());
    assert_eq!(fs::read(two.here.at("d/added"))?, b"added");
    assert!(!two.there.at("new/d").exists(), "the copy was taken for a directory to move into");
    Ok(())
}

#[test]
fn what_is_added_while_it_is_moved_stays() -> Outcome {
    let Some(two) = Two::traced()? else { return Ok(()) };
    added_while_moved(&two)
}

/// A file written just after the copy may have a time before the copy's beginning.
#[test]
fn what_is_added_stays_where_times_are_whole_seconds() -> Outcome {
    let scratch = Scratch::new()?;
    // Inodes of this size have no room for fractions of a second.
    let Some(image) = Image::made_with(&scratch, "ext4", &["-I", "128"])? else { return Ok(()) };
    if !is_usable()? {
        return Ok(());
    }
    added_while_moved(&Two {
        here: Scratch::below(&image.mount)?,
        there: Scratch::below(scratch.path())?,
    })
}

fn added_while_moved(two: &Two) -> Outcome {
    let (here, there) = (&two.here, &two.there);
    furnish(here, there)?;
    let call = mv(["--jobs=1", "d", &two.far("")]).in_dir(here.path());
    let point = Point { name: "syncfs".to_owned(), occurrence: 1 };
    let done = stopped_at(&here.at("log"), &call, &point, || {
        here.write("d/e/late", "late")?;
        here.write("d/one", "written again")?;
        Ok(())
    })?;
    let done = done.ok_or("the move never waited")?;
    assert_eq!(done.code(), Some(1), "{}", done.errors());
    assert_eq!(fs::read(here.at("d/e/late"))?, b"late");
    assert_eq!(fs::read(here.at("d/one"))?, b"written again");
    assert_eq!(fs::read(there.at("d/one"))?, bytes("d/one", 1000));
    assert!(!here.at("d/two").exists() && !here.at("d/e/three").exists());
    Ok(())
}

#[test]
fn an_interrupted_move_goes_on_with_what_it_has() -> Outcome {
    let Some(two) = Two::traced()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    furnish(here, there)?;
    for n in 0..50 {
        here.write(&format!("d/many/{n}"), vec![1; 1000])?;
    }
    let call = mv(["--jobs=1", "d", &two.far("")]).in_dir(here.path());
    let strace = Strace::new(here.at("log"));
    let cut = strace.trace("sendfile").inject("sendfile:signal=INT:when=30");
    let done = cut.wrap(call.clone()).run()?;
    assert!(done.errors().contains("run the same command again to resume"), "{}", done.errors());
    assert_eq!(hidden_names(there.path())?.len(), 1);
    // Files that another process added to the unfinished copy, or altered, are not published.
    let unfinished = there.at(hidden_names(there.path())?.concat());
    let copied = fs::read_dir(unfinished.join("many"))?.count();
    assert!(copied > 5, "only {copied} files were copied");
    let spoilt = fs::read_dir(unfinished.join("many"))?.next().ok_or("no file")??.path();
    let told = spoilt.metadata()?;
    fs::write(&spoilt, vec![0; 1000])?;
    fs::File::open(&spoilt)?.set_modified(told.modified()?)?;
    fs::write(unfinished.join("planted"), "planted")?;
    let strace = Strace::new(here.at("log2")).trace("sendfile");
    strace.wrap(call).succeed()?;
    let again = strace.lines()?.len();
    assert!(again < 55 - copied + 5, "{again} files were copied again, {copied} were there");
    for n in 0..50 {
        assert_eq!(fs::read(there.at(format!("d/many/{n}")))?, vec![1; 1000], "{n}");
    }
    assert!(!there.at("d/planted").exists() && !here.at("d").exists());
    assert_eq!(hidden_names(there.path())?, [""; 0]);
    Ok(())
}

fn clean(two: &Two, words: &[&str]) -> Outcome<String> {
    let call = Call::of(haul()).words(["clean", "--older-than=0"]).words(words);
    Ok(call.word(two.there.path()).succeed()?.text())
}

#[test]
fn clean_spares_what_a_move_would_go_on_with() -> Outcome {
    let Some(two) = Two::traced()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    let call = mv(["--jobs=1", "d", &two.far("new")]).in_dir(here.path());
    let amid_removal = amid_removal(&two, &call)?;
    // The files have been flushed, and the directory has its note.
    let waiting = Point { name: "syncfs".to_owned(), occurrence: 2 };

    // Half copied, by a running command.
    furnish(here, there)?;
    let mut said = String::new();
    stopped_at(&here.at("log"), &call, &waiting, || {
        said = clean(&two, &["--moves"])?;
        Ok(())
    })?;
    assert_eq!(
        said.matches("a running command uses it").count(),
        2,
        "the copy and its note: {said}"
    );
    assert!(there.at("new/e/three").exists() && !here.at("d").exists());

    // Half copied, by a killed command.
    furnish(here, there)?;
    killed_at(here.at("log"), &waiting, call.clone())?;
    let said = clean(&two, &[])?;
    assert_eq!(said.matches("run the same mv again to resume").count(), 2, "{said}");
    assert_eq!(hidden_names(there.path())?.len(), 2);
    let said = clean(&two, &["-n", "--moves"])?;
    assert_eq!(said.matches("would remove").count(), 2, "{said}");
    let said = clean(&two, &["--moves"])?;
    assert_eq!(said.matches("removed").count(), 2, "{said}");
    assert_eq!(hidden_names(there.path())?, [""; 0]);
    assert_eq!(fs::read(here.at("d/two"))?, bytes("d/two", 70_000));

    // The copy of a single file is always made again.
    let file = mv(["--jobs=1", "f", &two.far("new")]).in_dir(here.path());
    let waiting = Point { name: "syncfs".to_owned(), occurrence: 1 };
    killed_at(here.at("log"), &waiting, file)?;
    assert_eq!(clean(&two, &[])?.matches("removed").count(), 1);

    // Published, and the source partly removed.
    furnish(here, there)?;
    killed_at(here.at("log"), &amid_removal, call.clone())?;
    let said = clean(&two, &[])?;
    let source = here.at("d").display().to_string();
    assert!(
        said.contains(&format!("{source}' is moved; run the same mv again to remove")),
        "{said}"
    );
    here.clear("d")?;
    assert_eq!(clean(&two, &[])?.matches("removed").count(), 1);
    assert_eq!(hidden_names(there.path())?, [""; 0]);
    // Files with similar names that are not haul's stay.
    there.write(".haul-mv-mine", "mine")?;
    assert_eq!(clean(&two, &["--moves"])?, "");
    Ok(())
}

#[test]
fn clean_that_does_not_see_a_running_move_makes_it_fail_and_lose_nothing() -> Outcome {
    let Some(two) = Two::traced()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    let call = mv(["--jobs=1", "d", &two.far("new")]).in_dir(here.path());
    furnish(here, there)?;
    let waiting = Point { name: "syncfs".to_owned(), occurrence: 1 };
    let mut said = String::new();
    let done = stopped_at(&here.at("log"), &call, &waiting, || {
        // As on a file system, or another client of a server, that does not show the lock.
        let unseen = ["strace", "-f", "-qqq", "-o", "/dev/null", "-e", "trace=flock", "-e"];
        let unseen = unseen.iter().chain(&["inject=flock:retval=0", "--"]);
        let clean = Call::of(haul()).words(["clean", "--older-than=0", "--moves"]);
        said = clean.word(there.path()).under(unseen).run()?.text();
        Ok(())
    })?;
    let done = done.ok_or("no flush")?;
    assert!(said.contains("removed"), "{said}");
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert_eq!(objections(here.path(), there.path())?, [""; 0]);
    assert!(here.at("d/e/twin").exists() && !there.at("new").exists(), "{done:?}");
    Ok(())
}

#[test]
fn clean_stays_on_the_file_system_of_what_an_interrupted_move_left() -> Outcome {
    let Some(two) = Two::traced()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    for below in ["", "e"] {
        furnish(here, there)?;
        let call = mv(["--jobs=1", "d", &two.far("new")]).in_dir(here.path());
        let waiting = Point { name: "syncfs".to_owned(), occurrence: 1 };
        killed_at(here.at("log"), &waiting, call)?;
        let copy = hidden_names(there.path())?.into_iter().find(|name| !name.ends_with(".done"));
        let point = there.at(copy.ok_or("no copy")?).join(below);
        Call::of("mount").words(["-t", "tmpfs", "none"]).word(&point).succeed()?;
        fs::write(point.join("file"), "precious")?;
        let clean = Call::of(haul()).words(["clean", "--older-than=0", "--moves"]);
        let done = clean.word(there.path()).run()?;
        // What is left of the copy may have another name.
        let mut found = Vec::new();
        for name in hidden_names(there.path())? {
            found.extend(if_there(fs::read(there.at(name).join(below).join("file")))?);
        }
        for name in hidden_names(there.path())? {
            let point = there.at(name).join(below);
            if point.join("file").exists() {
                unmount(&point)?;
            }
        }
        assert_eq!(found.concat(), b"precious", "{below}: {done:?}");
        assert_eq!(done.code(), Some(1), "{below}: {done:?}");
    }
    Ok(())
}

/// Storage has lost what a killed move wrote, and the page cache still has it: the next one does not take that
/// for a copy.
#[test]
fn what_storage_lost_of_an_interrupted_move_is_copied_again() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let Some(image) = Image::new(&scratch, "ext4")? else { return Ok(()) };
    let whole = noise(70_000);
    scratch.write("d/file", &whole)?;
    scratch.write("d/other", "other")?;
    let call = mv(["--jobs=1", "d", "ext4/new"]).in_dir(scratch.path());
    let waiting = Point { name: "syncfs".to_owned(), occurrence: 1 };
    killed_at(scratch.at("log"), &waiting, call.clone())?;
    image.sync()?;
    let disk = scratch.at("ext4.img");
    let stored = fs::read(&disk)?;
    let at = stored.windows(64).position(|bytes| bytes == &whole[..64]).ok_or("no such bytes")?;
    let writer = fs::File::options().write(true).open(&disk)?;
    writer.write_all_at(&[0; 4096], u64::try_from(at)?)?;
    call.succeed()?;
    assert!(!scratch.at("d").exists());
    image.sync()?;
    let copy = fs::File::open(image.mount.join("new/file"))?;
    fadvise(&copy, 0, 0, Advice::DontNeed).map_err(|error| error.to_string())?;
    assert!(fs::read(image.mount.join("new/file"))? == whole, "storage has other bytes");
    Ok(())
}
