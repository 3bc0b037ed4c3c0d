//! `--resume` without privileges: what a killed run has made may forbid writing, to files by
//! their modes and to directories. The same command completes the copy all the same.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};

use haul_manifest::Aspects;

use super::support::judge::demand_equal;
use super::support::run::{Call, Done, USER, cp};
use super::support::scratch::Scratch;
use super::support::stepper;
use super::support::strace::{Point, Strace, is_usable, stopped_at};
use super::support::{Outcome, hidden, ignored, is_root, schema};

/// Makes a tree of read-only files and directories, as archives and git have them, and gives it to the
/// user. Returns `false`, and the test is ignored, if that is not possible.
fn furnish(scratch: &Scratch) -> Outcome<bool> {
    if !is_root()? || !is_usable()? {
        ignored("root and strace")?;
        return Ok(false);
    }
    for directory in 0..4 {
        for file in 0..5 {
            scratch.write(&format!("s/{directory}/f{file}"), [directory; 300])?;
        }
    }
    for directory in 0..4 {
        let first = scratch.at(format!("s/{directory}/f0"));
        fs::hard_link(first, scratch.at(format!("s/{}/twin{directory}", (directory + 1) % 4)))?;
        symlink("f1", scratch.at(format!("s/{directory}/link")))?;
    }
    for path in everything(&scratch.at("s"))? {
        if !path.is_symlink() {
            let mode = if path.is_dir() { 0o555 } else { 0o444 };
            fs::set_permissions(&path, Permissions::from_mode(mode))?;
        }
        std::os::unix::fs::lchown(&path, Some(USER), Some(USER))?;
    }
    chown(scratch.path(), Some(USER), Some(USER))?;
    Ok(true)
}

/// Returns the paths of a tree, the deepest last.
fn everything(top: &Path) -> Outcome<Vec<PathBuf>> {
    let mut paths = vec![top.to_owned()];
    let mut next = 0;
    while let Some(path) = paths.get(next).cloned() {
        if path.is_dir() && !path.is_symlink() {
            for entry in fs::read_dir(&path)? {
                paths.push(entry?.path());
            }
        }
        next += 1;
    }
    Ok(paths)
}

fn run(scratch: &Scratch, options: &[&str]) -> Call {
    cp(options).words(["--journal=j", "-T", "s", "t"]).in_dir(scratch.path()).by_user()
}

/// Kills a run at the n-th call of this name. Returns whether there was one.
fn killed_at(scratch: &Scratch, options: &[&str], name: &str, occurrence: usize) -> Outcome<bool> {
    let log = scratch.at("log");
    let strace =
        Strace::new(&log).trace(name).inject(&format!("{name}:signal=KILL:when={occurrence}"));
    strace.wrap(run(scratch, options)).run()?;
    let is_killed = strace.text()?.contains("killed by SIGKILL");
    fs::remove_file(log)?;
    Ok(is_killed)
}

/// Kills the run with the last of these options at many points, after the others have succeeded, and demands
/// that the same commands complete the copy.
fn demand_completed(runs: &[&[&str]], least_kills: usize) -> Outcome {
    let mut kills = 0;
    for name in ["linkat", "renameat", "fchmod", "pwrite64", "mkdirat"] {
        for occurrence in [1, 2, 3, 4, 5, 8, 13, 21, 34] {
            let scratch = Scratch::new()?;
            let Some((last, earlier)) =
                runs.split_last().filter(|_| furnish(&scratch).is_ok_and(|it| it))
            else {
                return Ok(());
            };
            for options in earlier {
                assert_eq!(run(&scratch, options).run()?.code(), Some(0));
            }
            if !killed_at(&scratch, last, name, occurrence)? {
                break;
            }
            kills += 1;
            let what = format!("{runs:?}, {name}, {occurrence}");
            for options in runs {
                let done = run(&scratch, options).run()?;
                assert_eq!(done.code(), Some(0), "{what}: {done:?}");
            }
            let keeps = last.contains(&"-a");
            let aspects = if keeps { Aspects::preserved() } else { Aspects::contents_only() };
            demand_equal(&scratch.at("s"), &scratch.at("t"), aspects, &what);
            assert_eq!(hidden(&scratch.at("t"))?, Vec::<PathBuf>::new(), "{what}");
        }
    }
    assert!(kills >= least_kills, "{runs:?}: {kills}");
    Ok(())
}

#[test]
fn a_killed_copy_of_what_is_read_only_is_completed() -> Outcome {
    demand_completed(&[&["-a", "--jobs=1"]], 15)?;
    demand_completed(&[&["-r", "--jobs=1"]], 15)
}

#[test]
fn a_file_that_the_user_may_not_write_to_is_no_file_of_a_killed_run() -> Outcome {
    let scratch = Scratch::new()?;
    if !furnish(&scratch)? {
        return Ok(());
    }
    assert!(killed_at(&scratch, &["-r", "--jobs=1"], "linkat", 8)?);
    // Links are as writable as any entry of their directory.
    let is_file = |path: &PathBuf| path.is_file() && !path.is_symlink();
    let mine: Vec<_> = everything(&scratch.at("t"))?.into_iter().filter(is_file).collect();
    assert!(!mine.is_empty(), "no file was named");
    for mine in &mine {
        fs::remove_file(mine)?;
        fs::write(mine, "mine")?;
        fs::set_permissions(mine, Permissions::from_mode(0o444))?;
        chown(mine, Some(USER), Some(USER))?;
    }
    let done = run(&scratch, &["-r", "--jobs=1"]).run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert!(done.errors().contains("Permission denied"), "{done:?}");
    for mine in &mine {
        assert_eq!(fs::read(mine)?, b"mine", "{}", mine.display());
    }
    Ok(())
}

/// Returns how often a run has copied each target.
fn copied(done: &Done) -> Outcome<BTreeMap<String, u32>> {
    let mut times = BTreeMap::new();
    for line in schema::lines("run", &done.text())? {
        if line["outcome"] == "copied" && line["kind"] == "file" {
            *times.entry(line["target"].to_string()).or_default() += 1;
        }
    }
    Ok(times)
}

#[test]
fn files_that_change_after_a_run_begins_are_copied_once() -> Outcome {
    let scratch = Scratch::new()?;
    if !furnish(&scratch)? {
        return Ok(());
    }
    let call = run(&scratch, &["-a", "--jobs=1", "--json"]);
    // The run has begun, and has not looked at any file.
    let point = Point { name: "getdents64".to_owned(), occurrence: 1 };
    let change = || {
        for path in everything(&scratch.at("s"))? {
            if path.is_file() && !path.is_symlink() {
                fs::set_permissions(&path, Permissions::from_mode(0o440))?;
            }
        }
        super::resume::become_old();
        Ok(())
    };
    let done = stopped_at(&scratch.at("log"), &call, &point, change)?;
    let done = done.ok_or("the run did not read a directory")?;
    assert_eq!(done.code(), Some(0), "{done:?}");
    let times = copied(&done)?;
    assert_eq!(times.len(), 20, "{times:?}");
    assert!(times.values().all(|times| *times == 1), "{times:?}");
    Ok(())
}

/// A source that changes while it is copied has no record, so the next run copies it again: also if its
/// target is read-only.
#[test]
fn a_second_run_replaces_what_the_first_one_could_not_record() -> Outcome {
    let scratch = Scratch::new()?;
    if !furnish(&scratch)? || !stepper::is_usable()? {
        return Ok(());
    }
    fs::set_permissions(scratch.at("s/1"), Permissions::from_mode(0o755))?;
    let call = || run(&scratch, &["-r", "--jobs=1", "--resume"]);
    let source = scratch.at("s/1/f1");
    let touch = |_| Ok(fs::set_permissions(&source, Permissions::from_mode(0o444))?);
    let first = stepper::run(&call(), &["s/1"], &mut |stop| touch(stop))?.done;
    assert_eq!(first.code(), Some(0), "{first:?}");
    super::resume::become_old();
    let second = call().run()?;
    assert_eq!(second.code(), Some(0), "{second:?}");
    assert!(!second.errors().contains("nothing to copy"), "{second:?}");
    let third = call().run()?;
    assert!(third.errors().contains("nothing to copy"), "{third:?}");
    Ok(())
}
