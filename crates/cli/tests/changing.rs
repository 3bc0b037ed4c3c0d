//! Sources that change while they are copied or moved: `mv` never removes what it did not copy, and a
//! copy is what one read of its source gives.

use std::cell::Cell;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use super::mv::{Two, hidden_names, mv};
use super::support::run::{Call, Done, cp};
use super::support::scratch::Scratch;
use super::support::strace::{Point, Strace, is_usable, occurrences, stopped_at};
use super::support::{Outcome, if_there};

/// Runs a command once for each call that it makes of these kinds, with a change after that call.
fn at_each_call(
    names: &[&str],
    (log, call): (&Path, &Call),
    prepare: impl Fn() -> Outcome,
    change: impl Fn() -> Outcome,
    mut judge: impl FnMut(&Point, &Done) -> Outcome,
) -> Outcome<usize> {
    prepare()?;
    let strace = Strace::new(log);
    strace.wrap(call.clone()).succeed()?;
    let lines = strace.lines()?;
    let mut tried = 0;
    for name in names {
        for point in occurrences(&lines, name) {
            prepare()?;
            let Some(done) = stopped_at(&log.with_extension("2"), call, &point, &change)? else {
                continue;
            };
            tried += 1;
            judge(&point, &done)?;
        }
    }
    Ok(tried)
}

fn append(path: &Path, bytes: &[u8]) -> Outcome {
    // A source that is gone has been moved, and nothing can be added to it any more.
    if let Some(mut file) = if_there(OpenOptions::new().append(true).open(path))? {
        file.write_all(bytes)?;
    }
    Ok(())
}

/// Writes other bytes of the same length and sets the mtime back.
fn rewrite_and_touch_back(path: &Path, bytes: &[u8]) -> Outcome {
    let Some(mut file) = if_there(OpenOptions::new().write(true).open(path))? else {
        return Ok(());
    };
    let before = file.metadata()?;
    file.write_all(bytes)?;
    let times = fs::FileTimes::new().set_modified(before.modified()?);
    Ok(file.set_times(times)?)
}

#[test]
fn a_directory_that_comes_into_a_moved_one_is_not_removed_with_it() -> Outcome {
    let Some(two) = Two::traced()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    let call = mv(["--jobs=1", "d", &two.far("d")]).in_dir(here.path());
    let prepare = || -> Outcome {
        here.clear_all()?;
        there.clear_all()?;
        here.write("d/sub/f", "copied")?;
        here.write("late/inner/precious", "never copied")?;
        fs::create_dir(here.at("empty"))?;
        Ok(())
    };
    let log = Scratch::new()?;
    let change = || -> Outcome {
        if here.at("d").exists() {
            fs::rename(here.at("late"), here.at("d/late"))?;
            fs::rename(here.at("empty"), here.at("d/empty"))?;
        }
        Ok(())
    };
    let names = ["getdents64", "renameat2", "syncfs", "fsync", "utimensat", "unlinkat"];
    let tried = at_each_call(&names, (&log.at("log"), &call), prepare, change, |point, done| {
        let found = ["late", "d/late"].map(|name| here.at(name)).into_iter();
        let found = found.chain([there.at("d/late")]);
        let kept = found.filter(|path| path.join("inner/precious").exists()).count();
        assert!(kept > 0, "{point:?}: {done:?}");
        let left = here.at("d").exists();
        assert_eq!(done.code(), Some(i32::from(left)), "{point:?}: {done:?}");
        Ok(())
    })?;
    assert!(tried > 10, "only {tried} points");
    Ok(())
}

#[test]
fn what_is_added_to_one_of_many_operands_is_not_lost() -> Outcome {
    let Some(two) = Two::traced()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    let call = mv(["--jobs=1", "-t", &two.far(""), "a", "b", "c"]).in_dir(here.path());
    let names = ["syncfs", "fsync", "renameat2", "newfstatat", "statx", "unlinkat"];
    for (label, change) in
        [("append", append as fn(&Path, &[u8]) -> Outcome), ("touch back", rewrite_and_touch_back)]
    {
        let prepare = || -> Outcome {
            there.clear_all()?;
            ["a", "b", "c"].iter().try_for_each(|name| here.write(name, "1234").map(|_| ()))
        };
        let log = Scratch::new()?;
        // Once it is removed, or has its last name, nothing can be added to it.
        let was_there = Cell::new(false);
        let change = || {
            was_there.set(here.at("b").exists());
            change(&here.at("b"), b"5678")
        };
        let tried =
            at_each_call(&names, (&log.at("log"), &call), prepare, change, |point, done| {
                let moved = if_there(fs::read(there.at("b")))?;
                let left = if_there(fs::read(here.at("b")))?;
                let shown = format!("{label} {point:?}: {moved:?} {left:?} {done:?}");
                // A change after the last check is lost with the name; that gap is one call wide.
                let in_the_gap =
                    matches!(point.name.as_str(), "newfstatat" | "statx") && done.code() == Some(0);
                let is_new = |bytes: &Option<Vec<u8>>| {
                    bytes.as_ref().is_some_and(|bytes| bytes.ends_with(b"5678"))
                };
                let was_gone = left.is_none() && done.code() == Some(0) && !is_new(&moved);
                if was_gone {
                    assert!(!was_there.get() || in_the_gap, "{shown}");
                } else {
                    assert!(is_new(&moved) || is_new(&left), "{shown}");
                }
                assert_eq!(done.code(), Some(i32::from(left.is_some())), "{shown}");
                let hidden = hidden_names(there.path())?;
                assert!(hidden.is_empty(), "{shown}: {hidden:?}");
                Ok(())
            })?;
        assert!(tried > 10, "only {tried} points");
    }
    Ok(())
}

#[test]
fn a_small_file_that_is_rewritten_is_copied_whole() -> Outcome {
    let scratch = Scratch::new()?;
    if !is_usable()? {
        return Ok(());
    }
    let (old, long, short) = (vec![b'o'; 5000], vec![b'n'; 150_000], vec![b's'; 70]);
    for options in [&["-r"][..], &["-a"], &["-r", "--atomic"], &["-r", "--method=read-write"]] {
        for new in [&long, &short] {
            let prepare = || -> Outcome {
                scratch.clear("t")?;
                ["s/a", "s/b", "s/c"]
                    .iter()
                    .try_for_each(|name| scratch.write(name, &old).map(|_| ()))
            };
            let call = cp(["--jobs=1"]).words(options).words(["s", "t"]).in_dir(scratch.path());
            let change = || Ok(fs::write(scratch.at("s/b"), new)?);
            let names =
                ["openat", "fstat", "fstatfs", "getdents64", "sendfile", "splice", "pread64"];
            let log = (&*scratch.at("log"), &call);
            let tried = at_each_call(&names, log, prepare, change, |point, done| {
                let copy = if_there(fs::read(scratch.at("t/b")))?;
                let is_whole = copy.as_ref().is_some_and(|copy| *copy == old || copy == new);
                let length = copy.map(|copy| copy.len());
                assert!(
                    is_whole || done.code() == Some(1),
                    "{options:?} {} {point:?}: {length:?} {done:?}",
                    new.len()
                );
                assert!(is_whole, "{options:?} {point:?}: {length:?} {done:?}");
                Ok(())
            })?;
            assert!(tried > 5, "only {tried} points");
        }
    }
    Ok(())
}

/// Changes a source while it is copied.
type Change = fn(&Scratch) -> Outcome;

#[test]
fn a_file_whose_ctime_alone_changes_keeps_its_copy() -> Outcome {
    let scratch = Scratch::new()?;
    if !is_usable()? {
        return Ok(());
    }
    let bytes = vec![7; 700_000];
    let changes: [(&str, i32, Change); 4] = [
        ("'s' changed while it was copied; it was copied again", 0, |scratch| {
            Ok(fs::set_permissions(scratch.at("s"), fs::Permissions::from_mode(0o640))?)
        }),
        ("'s' changed while it was copied; it was copied again", 0, |scratch| {
            Ok(fs::hard_link(scratch.at("s"), scratch.at("link"))?)
        }),
        ("'s' changed while it was copied; it was copied again", 0, |scratch| {
            // A rename changes the ctime of ext4's, XFS's and tmpfs's files.
            fs::rename(scratch.at("s"), scratch.at("link"))?;
            Ok(fs::rename(scratch.at("link"), scratch.at("s"))?)
        }),
        ("'s' changed while it was copied", 1, |scratch| {
            let file = File::options().append(true).open(scratch.at("s"))?;
            Ok((&file).write_all(b"more")?)
        }),
    ];
    for (said, code, change) in changes {
        for options in [&["--jobs=1"][..], &["--jobs=1", "--atomic", "-p"]] {
            scratch.clear_all()?;
            scratch.write("s", &bytes)?;
            let call = cp(options).words(["s", "t"]).in_dir(scratch.path());
            let log = scratch.at("log");
            let strace = Strace::new(&log);
            strace.wrap(call.clone()).succeed()?;
            let lines = strace.lines()?;
            let name = ["splice", "sendfile", "pread64"]
                .into_iter()
                .find(|name| lines.iter().any(|line| line.name == *name))
                .ok_or("no data call")?;
            scratch.clear("t")?;
            let ctime = fs::metadata(scratch.at("s"))?;
            let point = Point { name: name.to_owned(), occurrence: 1 };
            let done = stopped_at(&scratch.at("log2"), &call, &point, || change(&scratch))?
                .ok_or("never stopped")?;
            let now = fs::metadata(scratch.at("s"))?;
            if (now.ctime(), now.ctime_nsec()) == (ctime.ctime(), ctime.ctime_nsec()) {
                continue;
            }
            assert_eq!(done.code(), Some(code), "{said} {options:?}: {done:?}");
            assert!(done.errors().contains(said), "{said} {options:?}: {done:?}");
            let copy = if_there(fs::read(scratch.at("t")))?;
            assert_eq!(copy.is_some_and(|copy| copy == bytes), code == 0, "{said}: {done:?}");
        }
    }
    Ok(())
}
