//! Runs checks on kernels and file systems: boots as many machines as it takes, and collects the results.

use super::extent::Extent;
use super::file_systems::FileSystem;
use super::initramfs;
use super::kernels::{Kernel, Unpacked};
use super::lock::lock;
use super::machine::{self, Acceleration, End, Machine};
use super::outcome::{Message, Outcome, Verdict};
use super::page;
use super::spent::Spent;
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
    pub(super) outcomes: Vec<Outcome>,
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
    pub(super) fn open(workspace: &Workspace, haul: &Path) -> Result<Self> {
        let dir = workspace.target.join("vm");
        let run = dir.join(format!("run-{}", std::process::id()));
        fs::create_dir_all(&run).context("create", run.display())?;
        let this = std::env::current_exe().context("find", "this program")?;
        for (from, name) in [(this.as_path(), "xtask"), (haul, "haul")] {
            fs::copy(from, run.join(name)).context("copy", from.display())?;
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
        let held = lock(&self.dir)?;
        let unpacked = kernel.provide(&self.dir)?;
        drop(held);
        let first_root = initramfs::provide(&unpacked, &self.run)?;
        let acceleration = match self.acceleration {
            Some(known) => known,
            None => self.try_acceleration(&unpacked, &first_root)?,
        };
        self.acceleration = Some(acceleration);
        println!("Linux {}, {}", unpacked.version, acceleration.name());
        let mut results = Results { kernel, outcomes: Vec::new() };
        let mut left: Vec<&str> = systems.iter().map(|system| system.name).collect();
        while !left.is_empty() {
            let job = self.write_job(&left, filters, extent)?;
            let machine =
                Machine { kernel: &unpacked, initramfs: &first_root, dir: &self.run, acceleration };
            let mut record = Record::new(left, &mut results.outcomes);
            let count = u32::try_from(record.left.len()).unwrap_or(u32::MAX);
            let limit = BOOT + EACH.saturating_mul(count);
            let keep =
                |outcomes: &[Outcome]| page::keep(&self.dir, kernel, &unpacked.version, outcomes);
            let end = machine.run(&self.run.join("xtask"), &job, limit, |line| record.see(line));
            // Also if a signal has ended the run.
            keep(record.outcomes)?;
            let end = end?;
            left = record.close(end);
            keep(&results.outcomes)?;
            if end != End::Driver(0) {
                let kept = self.keep_console(&machine, &unpacked)?;
                println!("the console of the machine is in {}", kept.display());
            }
        }
        Ok(results)
    }

    /// Finds out whether KVM works. That it does not is kept until this machine boots again.
    fn try_acceleration(&self, kernel: &Unpacked, initramfs: &Path) -> Result<Acceleration> {
        let id = "/proc/sys/kernel/random/boot_id";
        let boot = fs::read_to_string(id).context("read", id)?;
        let known = self.dir.join("no-kvm");
        if fs::read_to_string(&known).is_ok_and(|kept| kept == boot) {
            return Ok(Acceleration::Tcg);
        }
        let found = machine::acceleration(kernel, initramfs, &self.run)?;
        if found == Acceleration::Tcg {
            fs::write(&known, boot).context("write", known.display())?;
        }
        Ok(found)
    }

    fn write_job(&self, systems: &[&str], filters: &[String], extent: Extent) -> Result<PathBuf> {
        let path = self.run.join("job.json");
        let haul = self.run.join("haul");
        let extent = extent.name();
        let job = json!({"haul": haul, "on": systems, "filters": filters, "extent": extent});
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
    /// The time of the file system that is at work.
    spent: Spent,
    outcomes: &'o mut Vec<Outcome>,
}

impl<'n, 'o> Record<'n, 'o> {
    fn new(left: Vec<&'n str>, outcomes: &'o mut Vec<Outcome>) -> Self {
        Self { left, begun: None, spent: Spent::default(), outcomes }
    }

    /// Reads a line of the driver, and prints what a person should see.
    fn see(&mut self, line: &str) {
        match Message::of_line(line) {
            Ok(Message::Begin { on, command, check }) => self.begun = Some((on, command, check)),
            Ok(Message::Ended(outcome)) => {
                self.begun = None;
                self.add(outcome);
            }
            Ok(Message::Done { on }) => {
                println!("  {on}: done in {}", std::mem::take(&mut self.spent).shown());
                self.left.retain(|name| *name != on);
            }
            // What a program of the machine wrote there, or why there is no root.
            Err(_) => println!("  {line}"),
        }
    }

    fn add(&mut self, outcome: Outcome) {
        let Outcome { on, check, text, spent, .. } = &outcome;
        self.spent += *spent;
        match outcome.verdict {
            Verdict::Passed => println!("  {on}: {check} ... ok ({})", spent.shown()),
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
        let mut outcome = Outcome::begun(&on, &command, &check);
        outcome.judge(Ok(vec![text]));
        self.add(outcome);
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
        let mut record = Record::new(vec!["a", "b", "c"], &mut outcomes);
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
        let record = Record::new(vec!["a", "b"], &mut outcomes);
        assert_eq!(record.close(End::Early), ["b"]);
        let record = Record::new(vec!["b"], &mut outcomes);
        assert_eq!(record.close(End::Early), Vec::<&str>::new());
        assert_eq!(outcomes.len(), 2);
    }
}
