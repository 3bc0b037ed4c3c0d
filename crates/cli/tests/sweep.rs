//! Every call fails once: the result is right, or the exit code says that it is not.
//!
//! The run is made once undisturbed, to learn its calls; then once for each call and errno. In CI
//! a part of that; all of it with `HAUL_SWEEP=full`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;

use haul_manifest::Aspects;

use super::support::Outcome;
use super::support::judge::{compared, shown, snapshot};
use super::support::run::{Done, cp};
use super::support::scratch::Scratch;
use super::support::strace::{Strace, is_usable, points};

const ERRNOS: [&str; 6] = ["EIO", "ENOSPC", "EACCES", "ENOMEM", "EINTR", "EAGAIN"];

/// Calls that are not about files and never fail, or whose failure is the C library's affair.
const SPARED: [&str; 16] = [
    "geteuid",
    "getegid",
    "getrandom",
    "umask",
    "futex",
    "exit",
    "exit_group",
    "rt_sigprocmask",
    "rt_sigaction",
    "rt_sigreturn",
    "restart_syscall",
    "set_robust_list",
    "rseq",
    "sigaltstack",
    "gettid",
    "munmap",
];

fn furnish(dir: &Path) -> Outcome {
    fs::create_dir_all(dir.join("d"))?;
    for (name, byte) in [("a", 1), ("b", 2), ("d/c", 3)] {
        fs::write(dir.join(name), [byte; 1024])?;
    }
    let large: Vec<u8> = (0..9 << 20).map(|n: u32| (n % 251) as u8).collect();
    fs::write(dir.join("large"), large)?;
    symlink("a", dir.join("link"))?;
    fs::hard_link(dir.join("b"), dir.join("d/twin"))?;
    Ok(())
}

/// Returns what is wrong with a result, if anything.
fn objection(scratch: &Scratch, done: &Done) -> Option<String> {
    let comparison = compared(&scratch.at("s"), &scratch.at("t"), Aspects::preserved());
    if done.code() == Some(0) {
        return (!comparison.is_equal()).then(|| format!("exit 0, but {}", shown(&comparison)));
    }
    if done.code() != Some(1) {
        return Some(format!("ended by {:?}", done.status));
    }
    if done.stderr.is_empty() {
        return Some("failed without a word".to_owned());
    }
    for name in ["a", "b", "d/c", "large", "d/twin"] {
        let (source, target) =
            (fs::read(scratch.at("s").join(name)), fs::read(scratch.at("t").join(name)));
        let (Ok(source), Ok(target)) = (source, target) else { continue };
        if source.len() == target.len() && source != target {
            return Some(format!("{name} looks complete and is not"));
        }
    }
    None
}

/// Which occurrences of a call fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Once,
    FromThenOn,
}

/// Puts older, longer files where the copies go.
fn plant_older(dir: &Path) -> Outcome {
    fs::create_dir_all(dir.join("d"))?;
    for name in ["a", "b", "d/c", "large"] {
        fs::write(dir.join(name), vec![9; 100_000])?;
    }
    symlink("elsewhere", dir.join("link"))?;
    Ok(())
}

/// Nothing is there yet.
fn plant_nothing(_: &Path) -> Outcome {
    Ok(())
}

/// Makes every call of a copy fail in turn.
fn sweep(options: &[&str], which: Which, plant: fn(&Path) -> Outcome) -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    furnish(&scratch.at("s"))?;
    let before = snapshot(&scratch.at("s"));
    let call = cp(options).words(["-T", "s", "t"]).in_dir(scratch.path());
    plant(&scratch.at("t"))?;
    let strace = Strace::new(scratch.at("log"));
    strace.wrap(call.clone()).succeed()?;
    let mut occurrences: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for point in points(&strace.lines()?) {
        occurrences.entry(point.name).or_default().push(point.occurrence);
    }
    occurrences.retain(|name, _| !SPARED.contains(&name.as_str()));
    let (mut injected, mut wrong) = (0, Vec::new());
    for (name, occurrences) in &occurrences {
        for (index, errno) in ERRNOS.iter().enumerate() {
            for occurrence in chosen(occurrences, index) {
                scratch.clear("t")?;
                plant(&scratch.at("t"))?;
                let sign = if which == Which::FromThenOn { "+" } else { "" };
                let what = format!("{name}:error={errno}:when={occurrence}{sign}");
                let strace = Strace::new(scratch.at("log")).trace(name).inject(&what);
                let done = strace.wrap(call.clone()).run()?;
                injected += usize::from(strace.has_injected()?);
                if let Some(objection) = objection(&scratch, &done) {
                    wrong.push(format!("{what}: {objection}\n  said {}", done.errors()));
                }
                if before != snapshot(&scratch.at("s")) {
                    return Err(format!("{what}: the source was changed: {done:?}").into());
                }
            }
        }
    }
    writeln!(std::io::stdout(), "{injected} faults injected into cp {}", options.join(" "))?;
    assert!(injected > 50, "only {injected} faults were injected");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

/// Chooses the occurrences that fail with an errno: all of them for the first errno, the first
/// and the last two for the others, unless everything is asked for.
fn chosen(occurrences: &[usize], errno: usize) -> Vec<usize> {
    let is_full = std::env::var_os("HAUL_SWEEP").is_some_and(|value| value == "full");
    if is_full || errno == 0 || occurrences.len() <= 3 {
        return occurrences.to_vec();
    }
    let ends = occurrences.iter().take(1).chain(occurrences.iter().rev().take(2));
    ends.copied().collect()
}

#[test]
fn each_call_of_an_archive_copy_fails_once_with_one_worker() -> Outcome {
    sweep(&["-a", "--jobs=1"], Which::Once, plant_nothing)
}

#[test]
fn each_call_of_an_archive_copy_fails_once_with_two_workers() -> Outcome {
    sweep(&["-a", "--jobs=2"], Which::Once, plant_nothing)
}

#[test]
fn each_call_of_an_archive_copy_fails_from_then_on() -> Outcome {
    sweep(&["-a", "--jobs=1"], Which::FromThenOn, plant_nothing)
}

#[test]
fn each_call_of_a_copy_over_older_files_fails_once() -> Outcome {
    sweep(&["-a", "--jobs=1"], Which::Once, plant_older)
}

#[test]
fn each_call_of_a_copy_that_removes_older_files_fails_once() -> Outcome {
    sweep(&["-a", "--jobs=1", "--remove-destination"], Which::Once, plant_older)
}
