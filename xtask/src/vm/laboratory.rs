//! Runs checks on kernels and file systems: boots as many machines as it takes, and collects the results.

use super::file_systems::FileSystem;
use super::initramfs;
use super::kernels::{Kernel, Unpacked};
use super::machine::{self, Acceleration, End, Machine};
use super::outcome::{Message, Outcome, Verdict};
use crate::error::{Context, Result};
use crate::workspace::Workspace;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time for the kernel, the root, and the first disk.
const BOOT: Duration = Duration::from_secs(180);

/// Time for all checks on one file system, several times what the slowest takes in software.
const EACH: Duration = Duration::from_secs(900);

/// The results of one kernel.
pub(super) struct Results {
    pub(super) kernel: &'static Kernel,
    pub(super) version: String,
    pub(super) outcomes: Vec<Outcome>,
}

/// What runs in the machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    All,
    /// The checks that a change is tested with.
    Smoke,
}

/// Everything that machines need.
pub(super) struct Laboratory {
    /// `target/vm`, with what is kept between runs.
    dir: PathBuf,
    /// The files of this run.
    run: PathBuf,
    acceleration: Option<Acceleration>,
}

impl Laboratory {
    /// Copies the programs that run in the machines, so that a build beside them changes nothing there.
    pub(super) fn open(workspace: &Workspace) -> Result<Self> {
        let dir = workspace.target.join("vm");
        let run = dir.join(format!("run-{}", std::process::id()));
        fs::create_dir_all(&run).context("create", run.display())?;
        let this = std::env::current_exe().context("find", "this program")?;
        for (from, name) in [(this, "xtask"), (workspace.release_binary(), "haul")] {
            fs::copy(&from, run.join(name)).context("copy", from.display())?;
        }
        Ok(Self { dir, run, acceleration: None })
    }

    /// The folder of what is kept.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Runs the checks whose names have one of the filters, all if there is none, on file systems of a kernel.
    pub(super) fn run(
        &mut self,
        kernel: &'static Kernel,
        systems: &[&FileSystem],
        filters: &[String],
        extent: Extent,
    ) -> Result<Results> {
        let unpacked = kernel.provide(&self.dir)?;
        let first_root = initramfs::provide(&unpacked, &self.run)?;
        let acceleration = match self.acceleration {
            Some(known) => known,
            None => machine::acceleration(&unpacked, &first_root, &self.run)?,
        };
        self.acceleration = Some(acceleration);
        println!("Linux {}, {}", unpacked.version, acceleration.name());
        let mut results = Results { kernel, version: unpacked.version.clone(), outcomes: vec![] };
        let mut left: Vec<&str> = systems.iter().map(|system| system.name).collect();
        while !left.is_empty() {
            let job = self.write_job(&left, filters, extent)?;
            let machine =
                Machine { kernel: &unpacked, initramfs: &first_root, dir: &self.run, acceleration };
            let mut record = Record { left, begun: None, outcomes: &mut results.outcomes };
            let count = u32::try_from(record.left.len()).unwrap_or(u32::MAX);
            let limit = BOOT + EACH.saturating_mul(count);
            let end = machine.run(&self.run.join("xtask"), &job, limit, |line| record.see(line))?;
            left = record.close(end);
            if end != End::Driver(0) {
                let kept = self.keep_console(&machine, &unpacked)?;
                println!("the console of the machine is in {}", kept.display());
            }
        }
        Ok(results)
    }

    fn write_job(&self, systems: &[&str], filters: &[String], extent: Extent) -> Result<PathBuf> {
        let path = self.run.join("job.json");
        let smoke = extent == Extent::Smoke;
        let haul = self.run.join("haul");
        let job = json!({"haul": haul, "on": systems, "filters": filters, "smoke": smoke});
        fs::write(&path, job.to_string()).context("write", path.display())?;
        Ok(path)
    }

    fn keep_console(&self, machine: &Machine<'_>, kernel: &Unpacked) -> Result<PathBuf> {
        let kept = self.dir.join(format!("console-{}.txt", kernel.version));
        fs::copy(machine.console(), &kept).context("keep", kept.display())?;
        Ok(kept)
    }

    /// Removes the files of this run.
    pub(super) fn close(self) -> Result<()> {
        fs::remove_dir_all(&self.run).context("remove", self.run.display())
    }
}

/// What a machine has said so far.
struct Record<'n, 'o> {
    /// Names of the file systems that are not done.
    left: Vec<&'n str>,
    /// The check that has begun.
    begun: Option<(String, String, String)>,
    outcomes: &'o mut Vec<Outcome>,
}

impl<'n> Record<'n, '_> {
    /// Reads a line of the driver, and prints what a person should see.
    fn see(&mut self, line: &str) {
        match Message::of_line(line) {
            Ok(Message::Begin { on, command, check }) => self.begun = Some((on, command, check)),
            Ok(Message::Ended(outcome)) => {
                self.begun = None;
                self.add(outcome);
            }
            Ok(Message::Done { on }) => self.left.retain(|name| *name != on),
            // What a program of the machine wrote there, or why there is no root.
            Err(_) => println!("  {line}"),
        }
    }

    fn add(&mut self, outcome: Outcome) {
        let Outcome { on, check, text, milliseconds, .. } = &outcome;
        match outcome.verdict {
            Verdict::Passed => println!("  {on}: {check} ... ok ({milliseconds} ms)"),
            Verdict::Failed => println!("  {on}: {check} ... FAILED: {text}"),
            Verdict::Absent => println!("  {on}: absent: {text}"),
        }
        self.outcomes.push(outcome);
    }

    /// Returns what is left for another machine. If this one ended in the middle of a check, that has failed, and
    /// its file system is not tried again.
    fn close(mut self, end: End) -> Vec<&'n str> {
        let lost = match (self.begun.take(), self.left.first()) {
            (Some(begun), _) => begun,
            (None, Some(first)) => ((*first).to_owned(), "machine".to_owned(), "start".to_owned()),
            (None, None) => return Vec::new(),
        };
        let (on, command, check) = lost;
        self.left.retain(|name| *name != on);
        let text = match end {
            End::Driver(status) => format!("the driver ended with {status}"),
            End::Early => "the machine did not end in order".to_owned(),
        };
        let verdict = Verdict::Failed;
        self.add(Outcome { on, command, check, verdict, text, milliseconds: 0 });
        self.left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(on: &str) -> String {
        let (on, command, check) = (on.to_owned(), "cp".to_owned(), "cp -a".to_owned());
        Message::Begin { on, command, check }.line()
    }

    #[test]
    fn a_machine_that_dies_has_failed_the_check_that_it_was_in() {
        let mut outcomes = Vec::new();
        let mut record = Record { left: vec!["a", "b", "c"], begun: None, outcomes: &mut outcomes };
        record.see(&Message::Done { on: "a".into() }.line());
        record.see(&begin("b"));
        record.see("a line of the kernel's");
        assert_eq!(record.close(End::Early), ["c"]);
        assert_eq!((outcomes[0].on.as_str(), outcomes[0].verdict), ("b", Verdict::Failed));
        assert_eq!(outcomes.len(), 1);
    }

    #[test]
    fn a_machine_that_never_starts_ends_the_loop() {
        let mut outcomes = Vec::new();
        let record = Record { left: vec!["a", "b"], begun: None, outcomes: &mut outcomes };
        assert_eq!(record.close(End::Early), ["b"]);
        let record = Record { left: vec!["b"], begun: None, outcomes: &mut outcomes };
        assert_eq!(record.close(End::Early), Vec::<&str>::new());
        assert_eq!(outcomes.len(), 2);
    }
}
