//! Another process changes the tree while it is removed: nothing outside it may be removed.
//!
//! As in `races`, the run is stopped after each of its calls in turn, so that the test finds every race
//! window without knowing where it is.

use std::fs;
use std::os::unix::fs::symlink;

use super::rm::rm;
use super::support::Outcome;
use super::support::judge::snapshot;
use super::support::run::Done;
use super::support::scratch::Scratch;
use super::support::strace::{Point, Strace, is_usable, stopped_at};

/// Makes a tree with a subdirectory, and entries outside that must stay.
fn furnish(scratch: &Scratch) -> Outcome {
    for name in ["t", "outside"] {
        scratch.clear(name)?;
    }
    for name in ["t/a/b/inner", "t/a/b/c/deep", "t/a/file", "t/z"] {
        scratch.write(name, "goes")?;
    }
    for name in ["outside/inner", "outside/c/deep", "outside/b/inner", "outside/victim"] {
        scratch.write(name, "stays")?;
    }
    Ok(())
}

/// Runs once for each call on the tree, with a change after it. Returns the number of changes.
fn sweep(
    options: &[&str],
    change: &dyn Fn(&Scratch) -> Outcome<bool>,
    check: &dyn Fn(&Scratch, &Done, &Point),
) -> Outcome<usize> {
    if !is_usable()? {
        return Ok(usize::MAX);
    }
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    let call = rm(options.iter().copied()).words(["--jobs=1", "t"]).in_dir(scratch.path());
    let log = scratch.at("log");
    let strace = Strace::new(&log);
    strace.wrap(call.clone()).succeed()?;
    let mut seen = std::collections::BTreeMap::new();
    let mut made = 0;
    for line in strace.lines()? {
        let occurrence = seen.entry(line.name.clone()).or_insert(0_usize);
        *occurrence += 1;
        let relevant = ["openat", "newfstatat", "fstat", "getdents64", "unlinkat", "statx"];
        let is_loader = line.text.contains(".so") || line.text.contains("/proc/");
        if !relevant.contains(&line.name.as_str()) || is_loader {
            continue;
        }
        let point = Point { name: line.name.clone(), occurrence: *occurrence };
        furnish(&scratch)?;
        let before = std::cell::Cell::new(false);
        let done = stopped_at(&log, &call, &point, || {
            before.set(change(&scratch)?);
            Ok(())
        })?;
        if let Some(done) = done.filter(|_| before.get()) {
            made += 1;
            check(&scratch, &done, &point);
        }
    }
    Ok(made)
}

fn outside_is_whole(scratch: &Scratch, point: &Point) {
    for name in ["inner", "c/deep", "b/inner", "victim"] {
        let path = scratch.at("outside").join(name);
        assert_eq!(fs::read(path).ok().as_deref(), Some(&b"stays"[..]), "{name} at {point:?}");
    }
}

#[test]
fn a_directory_that_becomes_a_link_leads_nowhere() -> Outcome {
    for options in [&["-rf"][..], &["-r"]] {
        let made = sweep(
            options,
            &|scratch| {
                let swapped = fs::rename(scratch.at("t/a/b"), scratch.at("moved")).is_ok()
                    && symlink("../../outside", scratch.at("t/a/b")).is_ok();
                Ok(swapped)
            },
            &|scratch, done, point| {
                outside_is_whole(scratch, point);
                assert!(matches!(done.code(), Some(0 | 1)), "{done:?} at {point:?}");
                // What could not be removed was reported.
                let left = scratch.at("t").symlink_metadata().is_ok();
                assert_eq!(left, done.code() == Some(1) && left, "{done:?} at {point:?}");
                assert!(!left || !done.errors().is_empty(), "{point:?}");
                scratch.clear("moved").unwrap();
            },
        )?;
        assert!(made > 3, "only {made} windows");
    }
    Ok(())
}

#[test]
fn a_directory_that_is_moved_away_is_not_followed() -> Outcome {
    for (from, to) in [("t/a/b", "outside/b/moved"), ("t/a", "outside/moved")] {
        let made = sweep(
            &["-rf"],
            &|scratch| Ok(fs::rename(scratch.at(from), scratch.at(to)).is_ok()),
            &|scratch, done, point| {
                outside_is_whole(scratch, point);
                assert!(matches!(done.code(), Some(0 | 1)), "{done:?} at {point:?}");
                assert!(scratch.at("outside").exists());
            },
        )?;
        assert!(made > 3, "only {made} windows");
    }
    Ok(())
}

#[test]
fn a_directory_that_is_swapped_for_another_does_not_fool_the_way_back() -> Outcome {
    let made = sweep(
        &["-rf"],
        &|scratch| {
            let swapped = fs::rename(scratch.at("t/a"), scratch.at("moved")).is_ok()
                && fs::rename(scratch.at("moved/b"), scratch.at("outside/b/moved")).is_ok();
            Ok(swapped)
        },
        &|scratch, _, point| {
            outside_is_whole(scratch, point);
            scratch.clear("moved").unwrap();
        },
    )?;
    assert!(made > 3, "only {made} windows");
    Ok(())
}

#[test]
fn two_removals_of_one_tree_print_nothing() -> Outcome {
    for _ in 0..5 {
        let scratch = Scratch::new()?;
        haul_manifest::parse_recipe("nested:files=5000,dirs=100,size=0")?
            .generate(&scratch.at("t"))
            .map_err(|failure| failure.to_string())?;
        let call = rm(["-rf", "--jobs=2", "t"]).in_dir(scratch.path());
        let (one, two) = (call.start()?, call.start()?);
        for done in [one.wait()?, two.wait()?] {
            assert_eq!((done.code(), done.errors()), (Some(0), String::new()));
        }
        assert!(!scratch.at("t").exists());
    }
    Ok(())
}

#[test]
fn writers_that_never_rest_do_not_keep_it_for_ever() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("outside/victim", "stays")?;
    let before = snapshot(&scratch.at("outside"));
    scratch.write("t/d/0", "")?;
    let stop = std::sync::atomic::AtomicBool::new(false);
    let done = std::thread::scope(|scope| {
        for writer in 0..2 {
            let (stop, directory) = (&stop, scratch.at("t/d"));
            scope.spawn(move || {
                let mut number = 0_u64;
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    number += 1;
                    // It may be removed already; then there is nothing to write to.
                    let _gone = fs::write(directory.join(format!("{writer}-{number}")), "");
                }
            });
        }
        let done = rm(["-rf", "t"]).in_dir(scratch.path()).run();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        done
    })?;
    match done.code() {
        Some(0) => assert!(!scratch.at("t").exists()),
        code => {
            assert_eq!(code, Some(1));
            assert!(done.errors().contains("Directory not empty"), "{}", done.errors());
        }
    }
    assert_eq!(snapshot(&scratch.at("outside")), before);
    Ok(())
}
