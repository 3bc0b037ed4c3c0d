//! Another process changes the trees while they are copied: nothing outside them may be read or changed.
//!
//! The run is stopped after every one of its calls in turn, the test changes the trees, and the run
//! continues. So each test finds its race window without knowing where it is.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::path::Path;

use haul_manifest::Manifest;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::support::judge::snapshot;
use super::support::run::{Call, Done, cp, haul};
use super::support::scratch::Scratch;
use super::support::strace::{Point, Strace, is_usable, points, stopped_at};
use super::support::{Outcome, entries};

/// Contents that must never be copied into the target.
const SECRET: &[u8] = b"SECRET";

/// Calls that touch neither tree, after which a stop would show nothing new.
const DULL: [&str; 14] = [
    "mmap",
    "munmap",
    "brk",
    "futex",
    "geteuid",
    "getegid",
    "getuid",
    "getgid",
    "getrandom",
    "sigaltstack",
    "fcntl",
    "fstatfs",
    "mprotect",
    "exit_group",
];

/// Makes a source with a file, a directory, a link and a FIFO, and things outside it.
fn furnish(scratch: &Scratch) -> Outcome {
    scratch.write("s/f", "harmless")?;
    scratch.write("s/sub/inner", "inner")?;
    symlink("f", scratch.at("s/link"))?;
    mknodat(CWD, scratch.at("s/pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0)?;
    rustix::fs::chmodat(
        CWD,
        scratch.at("s/pipe"),
        Mode::from_raw_mode(0o666),
        rustix::fs::AtFlags::empty(),
    )?;
    scratch.write("outside/secret", SECRET)?;
    scratch.write("outside/inner", SECRET)?;
    scratch.write("outside/victim", "victim")?;
    Ok(())
}

/// Runs the copy once undisturbed, and then once for each of its calls with a change after it.
/// Returns how often the change was made.
fn sweep(
    options: &[&str],
    change: &dyn Fn(&Scratch) -> Outcome<bool>,
    check: &dyn Fn(&Scratch, &Done, &Point, &Manifest),
) -> Outcome<usize> {
    if !is_usable()? {
        return Ok(usize::MAX);
    }
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    let call: Call = cp(options).words(["--jobs=1", "s", "t"]).in_dir(scratch.path());
    let strace = Strace::new(scratch.at("log"));
    strace.wrap(call.clone()).succeed()?;
    let points = points(&strace.lines()?);
    assert!(points.len() > 20, "{points:?}");
    let mut changes = 0;
    for point in points.iter().filter(|point| !DULL.contains(&point.name.as_str())) {
        for name in ["s", "t", "outside", "moved"] {
            scratch.clear(name)?;
        }
        furnish(&scratch)?;
        let outside = snapshot(&scratch.at("outside"));
        let mut changed = false;
        let done = stopped_at(&scratch.at("log"), &call, point, || {
            changed = change(&scratch)?;
            Ok(())
        })?;
        if let (Some(done), true) = (done, changed) {
            changes += 1;
            check(&scratch, &done, point, &outside);
        }
    }
    Ok(changes)
}

/// Reads every regular file below a folder that is no deeper than these tests make one.
fn contents(dir: &Path) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    // A link that the test itself has planted is not a copy.
    if !dir.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return found;
    }
    let mut look = || -> Outcome {
        for entry in entries(dir)? {
            let kind = entry.file_type()?;
            if kind.is_dir() {
                found.extend(contents(&entry.path()));
            } else if kind.is_file() {
                found.push(fs::read(entry.path())?);
            }
        }
        Ok(())
    };
    // A file that cannot be read might be the one that must not be there.
    look().unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    found
}

/// The secret must not be in the target, and nothing outside may have changed.
fn demand_contained(scratch: &Scratch, done: &Done, point: &Point, outside: &Manifest) {
    let leaked = contents(&scratch.at("t")).iter().any(|bytes| bytes == SECRET);
    assert!(!leaked, "after {point:?} the secret was copied: {done:?}");
    let now = snapshot(&scratch.at("outside"));
    assert!(*outside == now, "after {point:?} something outside changed: {done:?}");
}

/// Replaces an entry with another one; `false` if it does not exist (yet).
fn swap(path: &Path, moved: &Path, plant: impl FnOnce(&Path) -> Outcome) -> Outcome<bool> {
    if path.symlink_metadata().is_err() {
        return Ok(false);
    }
    fs::rename(path, moved)?;
    plant(path)?;
    Ok(true)
}

#[test]
fn a_file_that_becomes_a_link_is_not_followed() -> Outcome {
    for options in [["-a"], ["-r"], ["-rv"]] {
        let changes = sweep(
            &options,
            &|scratch| {
                swap(&scratch.at("s/f"), &scratch.at("moved"), |path| {
                    Ok(symlink("../outside/secret", path)?)
                })
            },
            &demand_contained,
        )?;
        assert!(changes > 20, "{changes}");
    }
    Ok(())
}

#[test]
fn a_directory_that_becomes_a_link_is_not_entered() -> Outcome {
    for options in [["-a"], ["-r"]] {
        let changes = sweep(
            &options,
            &|scratch| {
                swap(&scratch.at("s/sub"), &scratch.at("moved"), |path| {
                    Ok(symlink("../outside", path)?)
                })
            },
            &demand_contained,
        )?;
        assert!(changes > 20, "{changes}");
    }
    Ok(())
}

#[test]
fn another_directory_in_the_place_of_one_is_not_taken_for_it() -> Outcome {
    let changes = sweep(
        &["-r"],
        &|scratch| {
            swap(&scratch.at("s/sub"), &scratch.at("moved"), |path| {
                fs::create_dir(path)?;
                fs::write(path.join("inner"), SECRET)?;
                Ok(())
            })
        },
        // It was found as another file; both are inside the tree, so either may be copied, but a
        // mixture must not be reported as success.
        &|scratch, done, point, _| {
            let copied = contents(&scratch.at("t/sub"));
            let fine = copied.iter().all(|bytes| bytes == b"inner")
                || copied.iter().all(|bytes| bytes == SECRET);
            assert!(fine, "after {point:?}: {copied:?}");
            if copied.is_empty() {
                assert_ne!(done.code(), Some(0), "after {point:?}: {done:?}");
            }
        },
    )?;
    assert!(changes > 20, "{changes}");
    Ok(())
}

#[test]
fn a_file_that_becomes_a_fifo_does_not_block() -> Outcome {
    for options in [["-a"], ["-r"], ["-rv"]] {
        let changes = sweep(
            &options,
            &|scratch| {
                swap(&scratch.at("s/f"), &scratch.at("moved"), |path| {
                    Ok(mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0)?)
                })
            },
            // `run` itself fails if the command hangs.
            &|scratch, done, point, _| {
                let copied = scratch.at("t/f").symlink_metadata();
                let fine = match &copied {
                    Ok(metadata) if metadata.is_file() => {
                        fs::read(scratch.at("t/f")).is_ok_and(|bytes| bytes == b"harmless")
                    }
                    Ok(metadata) => metadata.file_type().is_fifo(),
                    Err(_) => done.code() == Some(1),
                };
                assert!(fine, "after {point:?}: {copied:?} {done:?}");
            },
        )?;
        assert!(changes > 20, "{changes}");
    }
    Ok(())
}

/// A link appears at a name of the target before the file is made.
#[test]
fn a_link_that_is_planted_in_the_target_is_not_written_through() -> Outcome {
    for options in [["-a"], ["-r"]] {
        for name in ["t/f", "t/sub/inner", "t/pipe", "t/link"] {
            let changes = sweep(
                &options,
                &|scratch| {
                    let path = scratch.at(name);
                    let free = path.symlink_metadata().is_err();
                    let possible = path.parent().is_some_and(Path::is_dir) && free;
                    if possible {
                        symlink(scratch.at("outside/victim"), &path)?;
                    }
                    Ok(possible)
                },
                &|scratch, done, point, outside| {
                    demand_contained(scratch, done, point, outside);
                    assert_eq!(done.code(), Some(1), "{name} after {point:?}: {done:?}");
                },
            )?;
            assert!(changes > 2, "{name}: {changes}");
        }
    }
    Ok(())
}

/// A created file is replaced by a link before its attributes are set.
#[test]
fn a_target_that_becomes_a_link_does_not_hand_its_attributes_on() -> Outcome {
    for name in ["t/f", "t/pipe", "t/link", "t/sub/inner"] {
        let changes = sweep(
            &["-a"],
            &|scratch| {
                let moved = scratch.at("moved");
                swap(&scratch.at(name), &moved, |path| {
                    Ok(symlink(scratch.at("outside/victim"), path)?)
                })
            },
            &demand_contained,
        )?;
        assert!(changes > 2, "{name}: {changes}");
    }
    Ok(())
}

/// The same with a hard link: not following symbolic links does not protect against that.
#[test]
fn a_target_that_becomes_a_hard_link_does_not_hand_its_attributes_on() -> Outcome {
    for name in ["t/f", "t/pipe", "t/link", "t/sub/inner"] {
        let changes = sweep(
            &["-a"],
            &|scratch| {
                let moved = scratch.at("moved");
                swap(&scratch.at(name), &moved, |path| {
                    // A change of the victim's link count does not matter here.
                    Ok(fs::hard_link(scratch.at("outside/victim"), path)?)
                })
            },
            &|scratch, done, point, outside| {
                fs::remove_file(scratch.at(name)).unwrap_or_default();
                demand_contained(scratch, done, point, outside);
            },
        )?;
        assert!(changes > 2, "{name}: {changes}");
    }
    Ok(())
}

/// A directory of the target is replaced by a link to one outside before its entries are made.
#[test]
fn a_target_directory_that_becomes_a_link_is_not_entered() -> Outcome {
    for options in [["-a"], ["-r"]] {
        for name in ["t", "t/sub"] {
            let changes = sweep(
                &options,
                &|scratch| {
                    let moved = scratch.at("moved");
                    swap(&scratch.at(name), &moved, |path| {
                        Ok(symlink(scratch.at("outside"), path)?)
                    })
                },
                &demand_contained,
            )?;
            assert!(changes > 2, "{name}: {changes}");
        }
    }
    Ok(())
}

/// With few descriptors, directories are reopened on the way up.
#[test]
fn a_directory_that_is_moved_away_is_not_left_by_its_new_parent() -> Outcome {
    if !super::support::has("prlimit")? {
        return Ok(());
    }
    let changes = sweep(
        &["-r"],
        &|scratch| {
            let (from, to) = (scratch.at("t/sub"), scratch.at("outside/sub"));
            let is_there = from.symlink_metadata().is_ok();
            if is_there {
                fs::rename(from, to)?;
            }
            Ok(is_there)
        },
        &|scratch, done, point, _| {
            let mut names: Vec<_> = fs::read_dir(scratch.at("outside"))
                .map(|entries| entries.flatten().map(|entry| entry.file_name()).collect())
                .unwrap_or_default();
            names.sort();
            assert_eq!(names, ["inner", "secret", "sub", "victim"], "after {point:?}: {done:?}");
        },
    )?;
    assert!(changes > 2, "{changes}");
    Ok(())
}

#[test]
fn a_source_that_vanishes_is_told() -> Outcome {
    let changes = sweep(
        &["-r"],
        &|scratch| {
            fs::remove_file(scratch.at("s/sub/inner"))?;
            fs::remove_dir(scratch.at("s/sub"))?;
            Ok(true)
        },
        &|scratch, done, point, _| {
            // If the change came too late, there is no message.
            let complete = fs::read(scratch.at("t/sub/inner")).is_ok_and(|bytes| bytes == b"inner");
            let unheard = scratch.at("t/sub").symlink_metadata().is_err();
            let told = done.code() == Some(1) && done.errors().contains("s/sub");
            assert!(complete || unheard || told, "after {point:?}: {done:?}");
        },
    )?;
    assert!(changes > 20, "{changes}");
    Ok(())
}

/// With POSIXLY_CORRECT the file that a dangling link refers to is created; a file that another process
/// creates there in the meantime is not overwritten.
#[test]
fn what_appears_behind_a_dangling_link_is_the_source_or_whole() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let theirs = vec![b't'; 20_000];
    let furnish = || -> Outcome {
        for name in ["link", "nowhere"] {
            scratch.clear(name)?;
        }
        scratch.write("f", "the source")?;
        Ok(symlink("nowhere", scratch.at("link"))?)
    };
    furnish()?;
    let call = cp(["--jobs=1", "f", "link"]).env("POSIXLY_CORRECT", "1").in_dir(scratch.path());
    let strace = Strace::new(scratch.at("log"));
    strace.wrap(call.clone()).succeed()?;
    assert_eq!(fs::read(scratch.at("nowhere"))?, b"the source");
    let mut refused = 0;
    for point in points(&strace.lines()?) {
        furnish()?;
        let done = stopped_at(&scratch.at("log2"), &call, &point, || {
            if !scratch.at("nowhere").exists() {
                scratch.write("nowhere", &theirs)?;
            }
            Ok(())
        })?;
        let Some(done) = done else { continue };
        let is = fs::read(scratch.at("nowhere"))?;
        if done.code() == Some(0) {
            assert!(is == b"the source", "{point:?}: {} bytes", is.len());
        } else {
            refused += 1;
            assert!(is == theirs, "{point:?}: {done:?}");
        }
    }
    assert!(refused > 0);
    Ok(())
}

/// A file that cannot be completed is removed by its name. Another process may have renamed a file of its own
/// there meanwhile, up to the last instant.
#[test]
fn an_incomplete_file_is_removed_and_none_that_has_taken_its_name() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    // The first page of a process's memory cannot be read, and no file may have more than 100 blocks.
    scratch.write("s/f", vec![b'x'; 1 << 20])?;
    Call::of(haul())
        .words(["tar", "-cf", "a.tar", "-C", "s", "f"])
        .in_dir(scratch.path())
        .succeed()?;
    let limited = ["sh", "-c", "trap '' XFSZ; ulimit -f 100; exec \"$0\" \"$@\""];
    for words in [
        &["cp", "--jobs=1", "-T", "/proc/self/mem", "t/f"][..],
        &["cp", "--jobs=1", "-b", "/proc/self/mem", "t/f"],
        &["tar", "-xf", "a.tar", "-C", "t"],
    ] {
        let call = Call::of(haul()).words(words).in_dir(scratch.path()).under(limited);
        let prepare = || -> Outcome {
            scratch.clear("t")?;
            fs::create_dir(scratch.at("t"))?;
            if words.contains(&"-b") {
                fs::write(scratch.at("t/f"), "older")?;
            }
            fs::write(scratch.at("theirs"), "theirs").map_err(Into::into)
        };
        prepare()?;
        let strace = Strace::new(scratch.at("log"));
        let done = strace.wrap(call.clone()).run()?;
        assert_ne!(done.code(), Some(0), "{words:?}");
        assert_eq!(scratch.at("t/f").exists(), words.contains(&"-b"), "{words:?}: {done:?}");
        let (mut counts, mut points) = (std::collections::HashMap::new(), Vec::new());
        let mut is_made = false;
        for line in strace.lines()? {
            let occurrence = counts.entry((line.pid, line.name.clone())).or_insert(0_usize);
            *occurrence += 1;
            is_made |=
                line.name == "openat" && line.text.contains("\"f\", O_WRONLY|O_CREAT|O_EXCL");
            is_made |=
                line.name == "openat" && line.text.contains("\"t/f\", O_WRONLY|O_CREAT|O_EXCL");
            if is_made && !DULL.contains(&&*line.name) {
                points.push(Point { name: line.name, occurrence: *occurrence });
            }
        }
        assert!(points.len() > 5, "{words:?}: {points:?}");
        let mut replaced = 0;
        for point in points {
            prepare()?;
            let mut is_replaced = false;
            let done = stopped_at(&scratch.at("log"), &call, &point, || {
                // Another thread may be at its call of this number before there is a file.
                is_replaced = words[0] == "cp" || scratch.at("t/f").exists();
                if is_replaced {
                    fs::rename(scratch.at("theirs"), scratch.at("t/f"))?;
                }
                Ok(())
            })?;
            let Some(done) = done.filter(|_| is_replaced) else { continue };
            replaced += 1;
            let context = format!("{words:?} after {point:?}: {done:?}");
            assert_ne!(done.code(), Some(0), "{context}");
            assert_eq!(fs::read_to_string(scratch.at("t/f"))?, "theirs", "{context}");
            for entry in entries(&scratch.at("t"))? {
                let name = entry.file_name();
                assert!(name == "f" || name == "f~", "{context}: {name:?}");
            }
        }
        assert!(replaced > 3, "{words:?}: {replaced}");
    }
    Ok(())
}
