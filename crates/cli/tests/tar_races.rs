//! Another process changes the target while `haul tar -x` fills it: nothing outside the target changes.
//!
//! As in `races`, the run is stopped after each of its calls in turn, so that the test finds every race
//! window without knowing where it is.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;

use haul_manifest::Manifest;

use super::support::Outcome;
use super::support::judge::snapshot;
use super::support::run::Call;
use super::support::scratch::Scratch;
use super::support::stepper::{Stepped, is_usable, run};
use super::support::tar::ours;

/// Calls that look at names or change them; a stop after any other shows nothing new.
const RELEVANT: [i64; 19] = [
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_linkat,
    libc::SYS_renameat2,
    libc::SYS_symlinkat,
    libc::SYS_unlinkat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_fstat,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_ftruncate,
    libc::SYS_copy_file_range,
    libc::SYS_landlock_restrict_self,
];

/// The options of the runs. The last one's second directory does not exist, so there is no fence
/// by the kernel, and names are guarded by the way in which they are resolved alone.
const RUNS: [&[&str]; 5] = [
    &["-C", "t"],
    &["-C", "t", "--durable"],
    &["-C", "t", "--overwrite"],
    &["-C", "t", "-U"],
    &["-C", "t", "d", "-C", "missing", "missing"],
];

/// Makes an archive with files, a directory in another, links that lead out and do not, and a FIFO.
fn archive(scratch: &Scratch) -> Outcome {
    scratch.write("s/d/f", "archived")?;
    scratch.write("s/d/e/g", "archived")?;
    symlink("../../outside/f", scratch.at("s/d/l"))?;
    symlink("f", scratch.at("s/d/k"))?;
    fs::hard_link(scratch.at("s/d/f"), scratch.at("s/d/h"))?;
    Call::of("mkfifo").word(scratch.at("s/d/p")).succeed()?;
    ours()
        .words(["--sort=name", "-C", "s", "-cf", "a.tar", "d"])
        .in_dir(scratch.path())
        .succeed()?;
    Ok(())
}

/// Makes an empty target, and things outside it with the names that are in the archive.
fn furnish(scratch: &Scratch) -> Outcome {
    for name in ["t", "outside", "moved"] {
        scratch.clear(name)?;
    }
    fs::create_dir(scratch.at("t"))?;
    for name in ["f", "e/g", "h", "victim"] {
        scratch.write(&format!("outside/{name}"), "stays")?;
    }
    scratch.write("outside/empty", "")?;
    Ok(())
}

/// Returns whether something outside has another name now, which may be in the target.
fn has_new_names(scratch: &Scratch) -> Outcome<bool> {
    for name in ["f", "e/g", "h", "victim", "empty"] {
        if fs::symlink_metadata(scratch.at("outside").join(name))?.nlink() != 1 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Runs once for each call after which the change is possible, with a change after it; returns how often it could
/// be made.
fn sweep(
    options: &[&str],
    is_possible: &dyn Fn(&Scratch) -> bool,
    change: &dyn Fn(&Scratch) -> Outcome<bool>,
    check: &dyn Fn(&Scratch, &Stepped, usize, &Manifest),
) -> Outcome<usize> {
    if !is_usable()? {
        return Ok(usize::MAX);
    }
    let scratch = Scratch::new()?;
    archive(&scratch)?;
    furnish(&scratch)?;
    let call = ours().words(["-xpf", "a.tar", "--jobs=1"]).words(options).in_dir(scratch.path());
    let relevant = |number: u64| RELEVANT.iter().any(|call| call.cast_unsigned() == number);
    let mut moments = Vec::new();
    let whole = run(&call, &["a.tar"], &mut |stop| {
        if relevant(stop.call) && is_possible(&scratch) {
            moments.push(stop.returned - 1);
        }
        Ok(())
    })?;
    assert!(scratch.at("t/d/e/g").exists(), "{:?}", whole.done);
    let mut changes = 0;
    for at in moments.into_iter().filter(|at| *at >= whole.begun) {
        furnish(&scratch)?;
        let outside = snapshot(&scratch.at("outside"));
        let mut changed = false;
        let stepped = run(&call, &[], &mut |stop| {
            if stop.returned == at + 1 {
                changed = change(&scratch)?;
            }
            Ok(())
        })?;
        if changed {
            changes += 1;
            assert!(!stepped.hung, "after call {at}");
            assert!(
                matches!(stepped.done.code(), Some(0 | 2)),
                "after call {at}: {:?}",
                stepped.done
            );
            check(&scratch, &stepped, at, &outside);
        }
    }
    Ok(changes)
}

fn demand_contained(scratch: &Scratch, stepped: &Stepped, at: usize, outside: &Manifest) {
    let now = snapshot(&scratch.at("outside"));
    assert!(now == *outside, "after call {at} something outside changed: {:?}", stepped.done);
    let is_linked = has_new_names(scratch).unwrap_or(true);
    assert!(!is_linked, "after call {at} something outside got a name: {:?}", stepped.done);
}

/// Moves an entry out of the target and puts another one in its place; `false` if it is not there (yet).
fn swap(scratch: &Scratch, name: &str, plant: impl FnOnce(&Path) -> Outcome) -> Outcome<bool> {
    let path = scratch.at(name);
    if path.symlink_metadata().is_err() {
        return Ok(false);
    }
    fs::rename(&path, scratch.at("moved"))?;
    plant(&path)?;
    Ok(true)
}

#[test]
fn a_directory_that_becomes_a_link_is_not_entered() -> Outcome {
    for options in RUNS {
        for name in ["t/d", "t/d/e"] {
            let change = |scratch: &Scratch| {
                let outside = scratch
                    .at("outside")
                    .join(name.trim_start_matches("t/d").trim_start_matches('/'));
                swap(scratch, name, |path| Ok(symlink(outside, path)?))
            };
            let is_there = |scratch: &Scratch| scratch.at(name).symlink_metadata().is_ok();
            let changes = sweep(options, &is_there, &change, &demand_contained)?;
            assert!(changes > 5, "{options:?} {name}: {changes}");
        }
    }
    Ok(())
}

#[test]
fn a_name_that_becomes_a_link_is_not_written_through() -> Outcome {
    for options in RUNS {
        for name in ["t/d/f", "t/d/l", "t/d/p"] {
            let change = |scratch: &Scratch| {
                swap(scratch, name, |path| Ok(symlink(scratch.at("outside/victim"), path)?))
            };
            let is_there = |scratch: &Scratch| scratch.at(name).symlink_metadata().is_ok();
            let changes = sweep(options, &is_there, &change, &demand_contained)?;
            assert!(changes > 2, "{options:?} {name}: {changes}");
        }
    }
    Ok(())
}

/// Names that are planted before the member is made.
#[test]
fn a_link_that_is_planted_is_not_written_through() -> Outcome {
    for options in RUNS {
        for name in ["t/d/f", "t/d/e", "t/d/k"] {
            let is_free = |scratch: &Scratch| {
                let path = scratch.at(name);
                path.parent().is_some_and(Path::is_dir) && path.symlink_metadata().is_err()
            };
            let change = |scratch: &Scratch| {
                let possible = is_free(scratch);
                let victim = if name == "t/d/e" { "outside/e" } else { "outside/victim" };
                if !possible {
                    return Ok(false);
                }
                match symlink(scratch.at(victim), scratch.at(name)) {
                    // Another thread of the program has made the name meanwhile.
                    Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
                    answer => answer.map(|()| true).map_err(Into::into),
                }
            };
            let changes = sweep(options, &is_free, &change, &demand_contained)?;
            assert!(changes > 2, "{options:?} {name}: {changes}");
        }
    }
    Ok(())
}

/// The same with further names of files: not following symbolic links does not protect those. The owner
/// of a directory can only do this with files that belong to the same user.
#[test]
fn a_placeholder_that_becomes_another_file_is_left_alone() -> Outcome {
    let change = |scratch: &Scratch| {
        swap(scratch, "t/d/l", |path| Ok(fs::hard_link(scratch.at("outside/empty"), path)?))
    };
    let check = |scratch: &Scratch, stepped: &Stepped, at: usize, outside: &Manifest| {
        scratch.clear("t").unwrap_or_default();
        let now = snapshot(&scratch.at("outside"));
        assert!(now == *outside, "after call {at}: {:?}", stepped.done);
    };
    let is_there = |scratch: &Scratch| scratch.at("t/d/l").symlink_metadata().is_ok();
    let changes = sweep(RUNS[0], &is_there, &change, &check)?;
    assert!(changes > 2, "{changes}");
    Ok(())
}

/// A directory of the target is moved away while files are made in it: with the fence no file is made in
/// it any more; without, they are made in the moved directory and nowhere else.
#[test]
fn a_directory_that_is_moved_away_takes_nothing_else_with_it() -> Outcome {
    for options in RUNS {
        let is_there = |scratch: &Scratch| scratch.at("t/d/e").exists();
        let change = |scratch: &Scratch| {
            let is_possible = is_there(scratch);
            if is_possible {
                fs::rename(scratch.at("t/d/e"), scratch.at("outside/moved"))?;
            }
            Ok(is_possible)
        };
        let check = |scratch: &Scratch, stepped: &Stepped, at: usize, _: &Manifest| {
            scratch.clear("outside/moved").unwrap_or_default();
            assert!(!has_new_names(scratch).unwrap_or(true), "after call {at}: {:?}", stepped.done);
            let same = |name: &str| {
                fs::read(scratch.at("outside").join(name)).is_ok_and(|bytes| bytes == b"stays")
            };
            assert!(["f", "e/g", "h", "victim"].into_iter().all(same), "after call {at}");
        };
        let changes = sweep(options, &is_there, &change, &check)?;
        assert!(changes > 2, "{options:?}: {changes}");
    }
    Ok(())
}
