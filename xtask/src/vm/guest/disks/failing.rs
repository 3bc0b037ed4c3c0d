//! Disks that fail while a command runs: what it says, and what the disk has when it works again.

use super::bench::{Bench, DIR};
use super::halves::{Halves, SECTORS};
use super::law::Law;
use super::mapper::{Mapped, need};
use crate::error::{Context, Error, Result};
use crate::vm::guest::checks::Keeps;
use crate::vm::guest::judge;
use crate::vm::guest::perform::{LIMIT, Made, Midway, POLL, midway};
use rustix::process::{Pid, Signal, kill_process_group};
use std::path::Path;
use std::process::Child;
use std::time::Instant;

const DISK: &str = "/dev/vdb";

/// One command on a disk that fails when it has made some files.
pub(in crate::vm::guest) struct Failing {
    pub(super) name: &'static str,
    /// By GNU's tools, before the command.
    set_up: &'static [&'static str],
    line: &'static str,
    failure: Failure,
    /// What must hold when the disk works again.
    law: Law,
    /// The command that then completes the work, and two names that must be equal after it.
    again: Option<(&'static str, &'static str, &'static str)>,
}

/// How the disk fails.
enum Failure {
    /// Each request fails, as if the disk was pulled out.
    Everything,
    /// Writes fail, reads do not.
    Writes,
}

/// The disk fails when the copy begins, under its own or a hidden name.
const FIRST: Made = Made { folder: "far/d", entries: 1 };

const TREE: &str = "kept/tree";
const SOMEWHERE: Law = Law::Somewhere { tree: TREE, folders: &["kept/work/in", "far/d/out"] };
const MV: &str = "mv --bandwidth=1M kept/work/in far/d/out";

pub(super) const FAILING: &[Failing] = &[
    Failing {
        name: "failing disk: cp --durable",
        set_up: &["mkdir far/d"],
        line: "cp -aT --durable --bandwidth=1M kept/tree far/d/out",
        failure: Failure::Everything,
        law: Law::Mounts,
        again: Some(("cp -aT --durable kept/tree far/d/out", TREE, "far/d/out")),
    },
    Failing {
        name: "failing disk: cp --atomic --durable, writes",
        set_up: &["mkdir far/d"],
        line: "cp -aT --atomic --durable --bandwidth=1M kept/tree far/d/out",
        failure: Failure::Writes,
        law: Law::Whole { tree: TREE, folder: "far/d/out" },
        again: None,
    },
    Failing {
        name: "failing disk: cp --resume",
        set_up: &["mkdir far/d"],
        line: "cp -aT --resume --bandwidth=1M kept/tree far/d/out",
        failure: Failure::Everything,
        law: Law::Mounts,
        again: Some(("cp -aT --resume kept/tree far/d/out", TREE, "far/d/out")),
    },
    Failing {
        name: "failing disk: mv",
        set_up: &["mkdir far/d", "cp -a kept/tree kept/work/in"],
        line: MV,
        failure: Failure::Everything,
        law: SOMEWHERE,
        again: None,
    },
    Failing {
        name: "failing disk: mv, writes",
        set_up: &["mkdir far/d", "cp -a kept/tree kept/work/in"],
        line: MV,
        failure: Failure::Writes,
        law: SOMEWHERE,
        again: None,
    },
];

impl Failure {
    /// The table of the disk that has failed.
    fn table(&self) -> String {
        match self {
            Self::Everything => format!("0 {SECTORS} error"),
            // Never up, always down, with one feature.
            Self::Writes => format!("0 {SECTORS} flakey {DISK} 0 0 3600 1 error_writes"),
        }
    }
}

impl Failing {
    /// Runs the command on a disk that fails, and returns what is wrong.
    pub(super) fn perform(&self, bench: Bench<'_>) -> Result<Vec<String>> {
        need("dm-flakey")?;
        let disk = Mapped::create("vm-failing", &sound())?;
        let halves = Halves::of(&disk.path())?;
        let done = self.on(&disk, &halves, bench);
        halves.remove()?;
        disk.remove()?;
        bench.tidy()?;
        done
    }

    fn on(&self, disk: &Mapped, halves: &Halves, bench: Bench<'_>) -> Result<Vec<String>> {
        halves.format(bench)?;
        let mut flaws = Vec::new();
        let failed = halves.with(bench, || {
            bench.gnu(self.set_up)?;
            bench.gnu(&["sync"])?;
            self.fail(disk, bench)
        });
        disk.replace(&sound())?;
        flaws.extend(failed?);
        let found = halves.with(bench, || self.look(bench));
        // A file system that cannot be mounted again is what a user would find.
        flaws.extend(found.unwrap_or_else(|cause| Some(cause.to_string())));
        Ok(flaws)
    }

    /// Lets the disk fail in the middle of the command, which must end and must not succeed.
    fn fail(&self, disk: &Mapped, bench: Bench<'_>) -> Result<Option<String>> {
        let mut child = match midway(self.line, bench.haul, Path::new(DIR), &FIRST)? {
            Midway::Running(child) => child,
            Midway::Ended(status) => {
                return Err(Error::new(format!("ended with {status} before the disk failed")));
            }
        };
        let replaced = disk.replace(&self.failure.table());
        kill_process_group(Pid::from_child(&child), Signal::CONT).context("continue", "haul")?;
        replaced?;
        let line = self.line;
        Ok(match code(&mut child)? {
            Some(1) => None,
            Some(code) => Some(format!("`{line}`: exit status {code} on a disk that failed")),
            None => Some(format!("`{line}`: no exit status on a disk that failed")),
        })
    }

    /// Returns what is wrong on the disk that works again.
    fn look(&self, bench: Bench<'_>) -> Result<Option<String>> {
        let dir = Path::new(DIR);
        let flaw = self.law.flaw(dir)?;
        let (Some((line, original, copy)), None) = (self.again, &flaw) else { return Ok(flaw) };
        if let Some(flaw) = bench.haul(line)? {
            return Ok(Some(flaw));
        }
        let flaws = judge::with_original(&dir.join(original), &dir.join(copy), Keeps::Contents);
        Ok((!flaws.is_empty()).then(|| flaws.join("; ")))
    }
}

/// The table of a disk that works.
fn sound() -> String {
    format!("0 {SECTORS} linear {DISK} 0")
}

/// Waits for a command; returns its exit status, `None` if a signal or the limit of time has ended it.
fn code(child: &mut Child) -> Result<Option<i32>> {
    let begun = Instant::now();
    while begun.elapsed() < LIMIT {
        if let Some(status) = child.try_wait().context("wait for", "haul")? {
            return Ok(status.code());
        }
        std::thread::sleep(POLL);
    }
    child.kill().context("end", "haul")?;
    child.wait().context("wait for", "haul")?;
    Ok(None)
}
