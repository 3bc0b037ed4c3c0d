//! One test in a process of its own: its result, its output, and its end after a time limit.

use super::suite::Case;
use crate::command;
use crate::error::{Context, Error, Result};
use crate::interrupt;
use crate::tally::NOTE;
use haul_sys::process::{Ready, open_child, wait_until};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Time for which a killed test may still exist.
const KILLED_LIMIT: Duration = Duration::from_secs(60);

/// How a test ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Passed,
    /// It could not run here, or not all of it: the reasons, as it printed them.
    Skipped(Vec<String>),
    /// What is wrong, in a few words.
    Failed(String),
}

impl Verdict {
    pub(super) fn is_failure(&self) -> bool {
        matches!(self, Self::Failed(_))
    }
}

/// What is known of a test that has ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) verdict: Verdict,
    /// Everything that it printed.
    pub(super) output: String,
    pub(super) elapsed: Duration,
    /// Processor time of it and of the processes that it waited for.
    pub(super) processor: Duration,
}

/// Runs one test to its end, or until `limit` has passed; then its processes are killed.
///
/// Whatever the test left running in its process group ends with it.
pub(super) fn run(
    case: &Case,
    variables: &[(&'static str, String)],
    limit: Duration,
    scratch: &Path,
) -> Result<Ended> {
    let name = scratch.join(format!("output-{:?}", std::thread::current().id()));
    let text = OpenOptions::new().append(true).create(true).open(&name);
    let text = text.context("create", name.display())?;
    let mut reader = File::open(&name).context("open", name.display())?;
    fs::remove_file(&name).context("remove", name.display())?;
    let errors = text.try_clone().context("open", name.display())?;

    let begun = Instant::now();
    let mut child = command::command(&case.binary.path)
        // With one thread libtest would run the test in its main thread, which has not its name.
        .args(["--exact", &case.name, "--include-ignored", "--nocapture", "--test-threads=2"])
        .current_dir(&case.binary.dir)
        .envs(variables.iter().cloned())
        .stdout(Stdio::from(text))
        .stderr(Stdio::from(errors))
        .spawn()
        .context("start", case.binary.path.display())?;
    let waited = wait(&mut child, limit);
    let elapsed = begun.elapsed();
    let mut output = Vec::new();
    reader.read_to_end(&mut output).context("read", "the output of a test")?;
    let output = String::from_utf8_lossy(&output).into_owned();
    let Waited { code, processor, hang } = waited?;
    let verdict = match hang {
        Some(stacks) => {
            let words = format!("did not end within {} s\n{stacks}", limit.as_secs());
            Verdict::Failed(words)
        }
        None => judge(&output, code),
    };
    Ok(Ended { verdict, output, elapsed, processor })
}

struct Waited {
    /// `None` after a signal.
    code: Option<i32>,
    processor: Duration,
    /// Where its processes were when the time was up.
    hang: Option<String>,
}

fn wait(child: &mut Child, limit: Duration) -> Result<Waited> {
    let group = Pid::from_child(child);
    interrupt::watch(group);
    let hang = match ends_within(child.id(), limit) {
        Ok(true) => None,
        Ok(false) => Some(stacks(group)),
        Err(error) => {
            interrupt::unwatch(group);
            return Err(error);
        }
    };
    if let Some(hang) = &hang {
        kill_process_group(group, Signal::KILL).ok();
        if !ends_within(child.id(), KILLED_LIMIT)? {
            // It hangs in the kernel, as on a file system that does not answer: nothing ends it.
            interrupt::unwatch(group);
            let hang = Some(format!("and cannot be killed\n{hang}"));
            return Ok(Waited { code: None, processor: Duration::ZERO, hang });
        }
    }
    let processor = processor_time(group);
    interrupt::unwatch(group);
    // What it started in its group ends with it; the leader is not reaped yet, so its number is its own.
    kill_process_group(group, Signal::KILL).ok();
    let status = child.wait().context("wait for", "a test")?;
    Ok(Waited { code: status.code(), processor, hang })
}

/// Waits for the end of a child, which is not reaped; returns false when the time is up.
fn ends_within(child: u32, limit: Duration) -> Result<bool> {
    let begun = Instant::now();
    let end = open_child(child).map_err(|error| Error::new(error.text()))?;
    loop {
        match wait_until(&end, Ready::ToRead, Some(limit.saturating_sub(begun.elapsed()))) {
            Err(error) if error.errno == haul_sys::Errno::INTR => {}
            answer => return answer.map_err(|error| Error::new(error.text())),
        }
    }
}

/// Decides by what libtest printed and returned.
fn judge(output: &str, code: Option<i32>) -> Verdict {
    let result = output.lines().rev().find_map(|line| line.strip_prefix("test result: "));
    match (code, result) {
        (Some(0), Some(line)) if line.starts_with("ok. 1 passed") => {
            let notes: Vec<_> = output.lines().filter_map(note).collect();
            if notes.is_empty() { Verdict::Passed } else { Verdict::Skipped(notes) }
        }
        (Some(0), _) => Verdict::Failed("was not found, or did not report its result".into()),
        (Some(_), Some(_)) => Verdict::Failed("failed".into()),
        (Some(code), None) => Verdict::Failed(format!("ended with status {code}, no result")),
        (None, _) => Verdict::Failed("was killed by a signal".into()),
    }
}

fn note(line: &str) -> Option<String> {
    let note = match line.strip_prefix("test ") {
        Some(rest) => rest.split_once(" ... ")?.1,
        None => line,
    };
    note.starts_with(NOTE).then(|| note.trim_end().to_owned())
}

/// Processor time of a process and of its children that it waited for (proc_pid_stat(5), fields 14 to 17).
fn processor_time(process: Pid) -> Duration {
    let name = format!("/proc/{}/stat", process.as_raw_nonzero());
    let text = fs::read_to_string(name).unwrap_or_default();
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks: u64 = fields
        .split_whitespace()
        .skip(11)
        .take(4)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second().max(1))
}

/// Describes each process of a group: its name, and the calls of the kernel in which its threads are.
fn stacks(group: Pid) -> String {
    let mut text = String::new();
    let number = group.as_raw_nonzero().get().to_string();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let dir = entry.path();
        let stat = fs::read_to_string(dir.join("stat")).unwrap_or_default();
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        if fields.split_whitespace().nth(2) != Some(&number) {
            continue;
        }
        // Its arguments are memory of the process, and reading them may hang as it does.
        let name = fs::read_to_string(dir.join("comm")).unwrap_or_default();
        writeln!(text, "  {} {}", entry.file_name().display(), name.trim()).ok();
        for thread in fs::read_dir(dir.join("task")).into_iter().flatten().flatten() {
            let of = |name| fs::read_to_string(thread.path().join(name)).unwrap_or_default();
            let (name, state) = (of("comm"), of("wchan"));
            writeln!(text, "    {}: {state} {}", name.trim(), of("syscall").trim()).ok();
            of("stack").lines().for_each(|line| {
                writeln!(text, "      {line}").ok();
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_could_not_run_has_not_passed() {
        let ok = "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured";
        assert_eq!(judge(ok, Some(0)), Verdict::Passed);
        let skipped =
            format!("running 1 test\nignored: no xfs\ntest a ... ignored: no btrfs\n{ok}");
        let notes = vec!["ignored: no xfs".to_owned(), "ignored: no btrfs".to_owned()];
        assert_eq!(judge(&skipped, Some(0)), Verdict::Skipped(notes));
        assert!(judge("it was ignored: not a note", None).is_failure());
        assert!(judge("test result: ok. 0 passed; 0 failed", Some(0)).is_failure());
        assert!(judge("test result: FAILED. 0 passed; 1 failed", Some(101)).is_failure());
        assert!(judge("thread aborted", Some(1)).is_failure());
    }

    #[test]
    fn a_process_that_hangs_is_described() {
        let mut child = command::command("sleep").arg("1000").spawn().unwrap();
        let group = Pid::from_child(&child);
        assert!(!ends_within(child.id(), Duration::from_millis(50)).unwrap());
        assert!(stacks(group).contains("sleep"));
        kill_process_group(group, Signal::KILL).unwrap();
        assert!(ends_within(child.id(), Duration::from_secs(60)).unwrap());
        child.wait().unwrap();
    }
}
