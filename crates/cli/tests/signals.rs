//! A run that is ended: by its user, by a reader that closes the pipe, by SIGKILL.
//!
//! strace sends the signal at a given call, so that the tests cover every moment of a run
//! deterministically.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use haul_manifest::{parse_recipe, wait_until};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Signal, kill_process};

use super::support::run::{Call, Done, cp, haul};
use super::support::scratch::Scratch;
use super::support::shell::noise;
use super::support::strace::{Point, Strace, is_usable, points};
use super::support::{Outcome, entries, has};

const MIB: usize = 1 << 20;

/// Makes files for every way of moving bytes: small, large and shared by workers, with
/// holes, with a hole at the end.
fn furnish(dir: &Path) -> Outcome {
    fs::create_dir_all(dir.join("d"))?;
    for name in ["a", "b", "d/c"] {
        fs::write(dir.join(name), name.repeat(500))?;
    }
    let bytes = noise(9 * MIB);
    fs::write(dir.join("large"), &bytes)?;
    let holes = fs::File::create(dir.join("holes"))?;
    holes.set_len(12 * MIB as u64)?;
    holes.write_all_at(&bytes[..5 * MIB], 3 * MIB as u64)?;
    holes.write_all_at(b"end", 12 * MIB as u64 - 3)?;
    let trailing = fs::File::create(dir.join("trailing"))?;
    trailing.set_len(10 * MIB as u64)?;
    trailing.write_all_at(&bytes[..MIB], MIB as u64)?;
    Ok(())
}

/// The condition on the files of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Are {
    /// Equal to the source's.
    Whole,
    /// Equal to the source's if they have the same length.
    NotFalse,
}

/// Asserts the condition for every file of the target.
fn demand_files(source: &Path, target: &Path, are: Are, context: &str) -> Outcome {
    for entry in entries(target)? {
        let twin = source.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            demand_files(&twin, &entry.path(), are, context)?;
            continue;
        }
        let (ours, theirs) = (fs::read(entry.path())?, fs::read(&twin)?);
        let is_fine = ours == theirs || (are == Are::NotFalse && ours.len() != theirs.len());
        assert!(is_fine, "{context}: {} is not {are:?}", entry.path().display());
    }
    Ok(())
}

/// Runs a copy and sends it a signal at a call; `None` if it never makes that call.
fn signalled(
    scratch: &Scratch,
    call: &Call,
    name: &str,
    when: usize,
    signal: &str,
) -> Outcome<Option<Done>> {
    scratch.clear("t")?;
    let what = format!("{name}:signal={signal}:when={when}");
    // The log includes signals, so that it shows whether one was sent.
    let strace = Strace::new(scratch.at("log")).trace(name).inject(&what);
    let done = strace.wrap(call.clone()).run()?;
    let was_sent = strace.text()?.contains("--- SIG") || done.signal().is_some();
    Ok(was_sent.then_some(done))
}

/// Returns the calls of a run that move bytes or change files.
fn moments(scratch: &Scratch, call: &Call) -> Outcome<Vec<Point>> {
    const MOVING: [&str; 9] = [
        "openat",
        "sendfile",
        "splice",
        "pread64",
        "pwrite64",
        "ftruncate",
        "fallocate",
        "close",
        "fchmod",
    ];
    let strace = Strace::new(scratch.at("log"));
    scratch.clear("t")?;
    strace.wrap(call.clone()).succeed()?;
    let points = points(&strace.lines()?).into_iter();
    Ok(points.filter(|point| MOVING.contains(&point.name.as_str())).collect())
}

#[test]
fn an_interrupted_run_leaves_whole_files_and_dies_by_the_signal() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    furnish(&scratch.at("s"))?;
    let mut heard = 0;
    for jobs in ["--jobs=1", "--jobs=3"] {
        let call = cp(["-a", jobs, "s", "t"]).in_dir(scratch.path());
        for (signal, number, step) in [("INT", 2, 3), ("TERM", 15, 16), ("HUP", 1, 16)] {
            for point in moments(&scratch, &call)?.iter().step_by(step) {
                let (name, when) = (&point.name, point.occurrence);
                let Some(done) = signalled(&scratch, &call, name, when, signal)? else { continue };
                let context = format!("{jobs} SIG{signal} at {point:?}: {done:?}");
                heard += 1;
                // A signal that arrives with the last call finds the run complete.
                if done.code() == Some(0) {
                    demand_files(&scratch.at("s"), &scratch.at("t"), Are::Whole, &context)?;
                    continue;
                }
                assert_eq!(done.signal(), Some(number), "{context}");
                let is_told = done.errors().contains("cp: interrupted: ");
                // Each thread gets one; a second signal ends a run at once.
                if is_told {
                    demand_files(&scratch.at("s"), &scratch.at("t"), Are::Whole, &context)?;
                } else {
                    assert_ne!(jobs, "--jobs=1", "{context}");
                    demand_files(&scratch.at("s"), &scratch.at("t"), Are::NotFalse, &context)?;
                }
            }
        }
    }
    assert!(heard > 20, "only {heard} signals were heard");
    Ok(())
}

#[test]
fn an_interrupted_tree_has_whole_files_only() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    parse_recipe("nested:files=2000,dirs=40,size=3000")?
        .generate(&scratch.at("s"))
        .map_err(|failure| failure.to_string())?;
    for jobs in ["--jobs=1", "--jobs=3"] {
        let call = cp(["-r", jobs, "s", "t"]).in_dir(scratch.path());
        for when in [15, 100, 777, 1500] {
            let Some(done) = signalled(&scratch, &call, "openat", when, "INT")? else { continue };
            let context = format!("{jobs} at {when}: {done:?}");
            assert_eq!(done.signal(), Some(2), "{context}");
            if jobs == "--jobs=1" {
                assert!(done.errors().contains("cp: interrupted: "), "{context}");
                demand_files(&scratch.at("s"), &scratch.at("t"), Are::Whole, &context)?;
            } else {
                demand_files(&scratch.at("s"), &scratch.at("t"), Are::NotFalse, &context)?;
            }
        }
    }
    Ok(())
}

/// With SIGHUP and SIGINT ignored, as under `nohup` and in a shell's background jobs.
#[test]
fn an_ignored_signal_is_ignored() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    furnish(&scratch.at("s"))?;
    let call = cp(["-a", "s", "t"]).in_dir(scratch.path());
    let call = call.under(["sh", "-c", "trap '' HUP INT; exec \"$0\" \"$@\""]);
    for signal in ["HUP", "INT"] {
        let done = signalled(&scratch, &call, "openat", 20, signal)?.ok_or("no signal")?;
        assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""), "{signal}");
        demand_files(&scratch.at("s"), &scratch.at("t"), Are::Whole, signal)?;
    }
    Ok(())
}

/// SIGKILL after each call in turn; the remaining files may be short, but never wrong.
#[test]
fn a_killed_run_leaves_no_file_that_looks_complete_and_is_not() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    furnish(&scratch.at("s"))?;
    for jobs in ["--jobs=1", "--jobs=2"] {
        let call = cp(["-a", jobs, "s", "t"]).in_dir(scratch.path());
        let mut killed = 0;
        for point in moments(&scratch, &call)? {
            let done = signalled(&scratch, &call, &point.name, point.occurrence, "KILL")?;
            let context = format!("{jobs} killed at {point:?}");
            killed += usize::from(done.is_some_and(|done| done.signal() == Some(9)));
            demand_files(&scratch.at("s"), &scratch.at("t"), Are::NotFalse, &context)?;
        }
        assert!(killed > 20, "only {killed} were killed");
    }
    Ok(())
}

#[test]
fn a_reader_that_goes_away_ends_the_run_quietly() -> Outcome {
    if !has("bash")? || !has("head")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    parse_recipe("nested:files=4000,dirs=40,size=0")?
        .generate(&scratch.at("s"))
        .map_err(|failure| failure.to_string())?;
    for option in ["-rv", "-r --json"] {
        scratch.clear("t")?;
        let script = format!("\"$0\" cp {option} s t | head -1; exit ${{PIPESTATUS[0]}}");
        let call = Call::of("bash").words(["-c", &script]).word(haul()).in_dir(scratch.path());
        let done = call.run()?;
        assert_eq!((done.code(), done.errors().as_str()), (Some(141), ""), "{option}");
        assert_eq!(done.text().lines().count(), 1);
    }
    Ok(())
}

#[test]
fn a_signal_right_after_another_counts_as_one() -> Outcome {
    let scratch = Scratch::new()?;
    let pipe = scratch.at("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0)?;
    let running = cp(["pipe", "t"]).in_dir(scratch.path()).start()?;
    let mut writer = fs::File::options().write(true).open(&pipe)?;
    writer.write_all(b"begun")?;
    wait_until("there is a target", || scratch.at("t").exists());
    // Two different signals, which the kernel does not merge, as a service manager sends them.
    kill_process(running.pid(), Signal::TERM)?;
    kill_process(running.pid(), Signal::HUP)?;
    let done = running.wait()?;
    assert!(done.signal().is_some(), "{done:?}");
    assert!(!scratch.at("t").exists(), "what is unfinished goes: {done:?}");
    Ok(())
}
