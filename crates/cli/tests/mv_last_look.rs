//! The last look of `haul mv` at a source before it is removed, while other processes rename files to its name.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::mv::{Two, hidden_names, mv};
use super::support::Outcome;
use super::support::scratch::Scratch;
use super::support::shell::demand;
use super::support::strace::{Point, Strace, occurrences, stopped_at};

/// Returns whether any file below a folder has these bytes.
fn has_bytes(dir: &Path, bytes: &[u8]) -> Outcome<bool> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let is_found = if kind.is_dir() {
            has_bytes(&entry.path(), bytes)?
        } else {
            kind.is_file() && fs::read(entry.path())? == bytes
        };
        if is_found {
            return Ok(true);
        }
    }
    Ok(false)
}

#[test]
fn a_file_that_gets_a_name_meanwhile_is_not_removed_in_the_place_of_the_moved_one() -> Outcome {
    let Some(two) = Two::traced()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    let mut tried = 0;
    for (make, name) in [
        ("mkdir d; echo f >d/f", "d/f"),
        ("echo f >f", "f"),
        ("mkdir d; echo f >d/f; ln d/f d/g", "d/f"),
        ("mkdir d; mkfifo d/f", "d/f"),
        ("mkdir d; ln -s x d/f", "d/f"),
    ] {
        let operand = name.split('/').next().ok_or("no name")?;
        let call = mv(["--jobs=1", operand, &two.far("")]).in_dir(here.path());
        let prepare = || -> Outcome {
            here.clear_all()?;
            there.clear_all()?;
            demand(here.path(), make)?;
            here.write("new", "NEW")?;
            Ok(())
        };
        prepare()?;
        let strace = Strace::new(there.at("log"));
        strace.wrap(call.clone()).succeed()?;
        let lines = strace.lines()?;
        for call_name in ["newfstatat", "openat", "renameat2", "unlinkat"] {
            for point in occurrences(&lines, call_name).rev().take(7) {
                prepare()?;
                let log = Scratch::new()?;
                let mut is_replaced = false;
                let done = stopped_at(&log.at("log"), &call, &point, || {
                    // The directory may be gone already.
                    is_replaced = fs::rename(here.at("new"), here.at(name)).is_ok();
                    Ok(())
                })?;
                let Some(done) = done.filter(|_| is_replaced) else { continue };
                tried += 1;
                let context = format!("{make} {point:?}: {done:?}");
                let is_kept = has_bytes(here.path(), b"NEW")? || has_bytes(there.path(), b"NEW")?;
                assert!(is_kept, "{context}");
                // What appears in a directory keeps it, which the run reports.
                let stays = here.at(operand).is_dir();
                if operand != name {
                    assert_eq!(done.code(), Some(i32::from(stays)), "{context}");
                }
                assert_eq!(hidden_names(here.path())?, [""; 0], "{context}");
            }
        }
    }
    assert!(tried > 20, "only {tried} points");
    Ok(())
}

#[test]
fn a_file_whose_name_is_taken_while_it_is_looked_at_stays_under_another_one() -> Outcome {
    let Some(two) = Two::traced()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    here.write("d/f", "moved")?;
    let call = mv(["--jobs=1", "d", &two.far("")]).in_dir(here.path());
    // The file is written to under its hidden name, and its own name is taken.
    let strace = Strace::new(there.at("log"));
    strace.wrap(call.clone()).succeed()?;
    let count = strace.lines()?.iter().filter(|line| line.name == "renameat2").count();
    here.clear_all()?;
    there.clear_all()?;
    here.write("d/f", "moved")?;
    let point = Point { name: "renameat2".to_owned(), occurrence: count };
    let log = Scratch::new()?;
    let done = stopped_at(&log.at("log"), &call, &point, || {
        let hidden = hidden_names(&here.at("d"))?;
        fs::write(here.at("d").join(hidden.first().ok_or("no hidden name")?), "later")?;
        here.write("d/f", "other")?;
        Ok(())
    })?;
    let Some(done) = done else { return Err("no rename".into()) };
    let line = "mv: 'd/f' was replaced while it was moved, and its name was taken: it stays as 'd/f.~1~'\n";
    assert_eq!((done.code(), done.errors()), (Some(1), line.to_owned()));
    assert_eq!(fs::read(here.at("d/f"))?, b"other");
    assert_eq!(fs::read(here.at("d/f.~1~"))?, b"later");
    Ok(())
}

/// What could not be copied is removed under its hidden name. Another process may have renamed an entry of its own
/// there meanwhile, up to the last instant.
#[test]
fn an_unfinished_copy_is_removed_and_nothing_that_has_taken_its_name() -> Outcome {
    let Some(two) = Two::traced()? else { return Ok(()) };
    let (here, there, log) = (&two.here, &two.there, Scratch::new()?);
    // No file may have more than 100 blocks.
    let limited = ["sh", "-c", "trap '' XFSZ; ulimit -f 100; exec \"$0\" \"$@\""];
    let call = mv(["--jobs=1", "d", &two.far("")]).in_dir(here.path()).under(limited);
    let prepare = || -> Outcome {
        here.clear_all()?;
        there.clear_all()?;
        here.write("d/small", "small")?;
        here.write("d/sub/inner", "inner")?;
        here.write("d/large", vec![b'x'; 1 << 20])?;
        Ok(())
    };
    prepare()?;
    let strace = Strace::new(log.at("log"));
    let done = strace.wrap(call.clone()).run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert_eq!(fs::read_dir(there.path())?.count(), 0, "{done:?}");
    let lines = strace.lines()?;
    let mut replaced = 0;
    for call_name in ["newfstatat", "openat", "getdents64", "unlinkat", "mkdirat"] {
        for point in occurrences(&lines, call_name).rev().take(8) {
            prepare()?;
            let mut taken = None;
            let done = stopped_at(&log.at("log"), &call, &point, || {
                let Some(hidden) = hidden_names(there.path())?.into_iter().next() else {
                    return Ok(());
                };
                // An empty one may not be claimed yet: then what has its name is the copy.
                if fs::read_dir(there.at(&hidden))?.next().is_none() {
                    return Ok(());
                }
                fs::rename(there.at(&hidden), there.at("moved"))?;
                there.write(&format!("{hidden}/precious"), "precious")?;
                taken = Some(hidden);
                Ok(())
            })?;
            let (Some(done), Some(taken)) = (done, taken) else { continue };
            replaced += 1;
            let context = format!("{point:?}: {done:?}");
            assert_eq!(done.code(), Some(1), "{context}");
            let kept = fs::read_to_string(there.at(&taken).join("precious"));
            assert_eq!(kept.ok().as_deref(), Some("precious"), "{context}");
            assert_eq!(fs::metadata(here.at("d/large"))?.len(), 1 << 20, "{context}");
            assert_eq!(fs::read(here.at("d/sub/inner"))?, b"inner", "{context}");
        }
    }
    assert!(replaced > 8, "only {replaced} points");
    Ok(())
}

/// A copy that becomes a hard link to that of an earlier batch is replaced. What another process has put at its name,
/// up to the last instant, is not.
#[test]
fn a_name_that_is_taken_before_it_becomes_a_link_stays_the_other_files() -> Outcome {
    let Some(two) = Two::traced()? else { return Ok(()) };
    let (here, there, log) = (&two.here, &two.there, Scratch::new()?);
    let call = mv(["--jobs=1", "w/c", "w", &two.far("")]).in_dir(here.path());
    let prepare = || -> Outcome {
        here.clear_all()?;
        there.clear_all()?;
        here.write("w/d", "one")?;
        // An operand within another ends a batch.
        Ok(fs::hard_link(here.at("w/d"), here.at("w/c"))?)
    };
    prepare()?;
    let strace = Strace::new(log.at("log"));
    strace.wrap(call.clone()).succeed()?;
    assert_eq!(fs::metadata(there.at("w/d"))?.nlink(), 2);
    let lines = strace.lines()?;
    let mut taken = 0;
    for name in ["linkat", "newfstatat"] {
        for point in occurrences(&lines, name) {
            prepare()?;
            let mut is_taken = false;
            let done = stopped_at(&log.at("log"), &call, &point, || {
                // The copy has its name, and the link still has a hidden one.
                is_taken = there.at("w/d").exists()
                    && !hidden_names(&there.at("w"))?.is_empty()
                    && fs::metadata(there.at("w/d"))?.nlink() == 1;
                if is_taken {
                    there.write("new", "theirs")?;
                    fs::rename(there.at("new"), there.at("w/d"))?;
                }
                Ok(())
            })?;
            let Some(done) = done.filter(|_| is_taken) else { continue };
            taken += 1;
            let context = format!("{point:?}: {done:?}");
            assert_eq!(fs::read_to_string(there.at("w/d"))?, "theirs", "{context}");
            assert_eq!(fs::read_to_string(there.at("c"))?, "one", "{context}");
            assert_eq!(hidden_names(&there.at("w"))?, [""; 0], "{context}");
        }
    }
    assert!(taken > 0);
    Ok(())
}
