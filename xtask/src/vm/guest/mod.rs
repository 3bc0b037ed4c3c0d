//! The driver: what this program does within a machine, started by the first root.
//!
//! It makes each file system of its job, runs the checks on it, and says each result on the second serial port.
//! Everything that it makes is gone with the machine.

mod checks;
mod children;
mod disks;
mod judge;
mod line;
mod mounts;
mod perform;
mod servers;
mod tree;

use self::checks::{CHECKS, Check};
use self::line::Whose;
use self::mounts::{Cells, Far};
use super::extent::Extent;
use super::file_systems::FileSystem;
use super::outcome::{Message, Outcome, Verdict};
use super::spent::{Part, Spent};
use crate::command::{command, output};
use crate::error::{Context, Error, Result};
use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Where the host reads the results.
const PORT: &str = "/dev/ttyS1";

/// What the machine was booted for.
struct Job {
    haul: PathBuf,
    systems: Vec<&'static FileSystem>,
    filters: Vec<String>,
    extent: Extent,
}

impl Job {
    fn read(path: &str) -> Result<Self> {
        let text = fs::read_to_string(path).context("read", path)?;
        let value: Value = serde_json::from_str(&text).context("read", path)?;
        let words = |key: &str| -> Vec<String> {
            let all = value[key].as_array().into_iter().flatten();
            all.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let systems = words("on");
        Ok(Self {
            haul: value["haul"].as_str().unwrap_or_default().into(),
            systems: systems.iter().map(|on| FileSystem::of_name(on)).collect::<Result<_>>()?,
            filters: words("filters"),
            extent: Extent::of_name(value["extent"].as_str().unwrap_or_default())?,
        })
    }

    /// Whether the command line names a check, or none at all.
    fn selects(&self, name: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|part| name.contains(part.as_str()))
    }
}

/// Runs the job whose file the first argument names.
pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    let [path] = arguments else {
        return Err(Error::new("`vm-guest` is for the machines of `cargo xtask vm`"));
    };
    // This command formats disks.
    if !fs::read_to_string("/proc/cmdline").context("read", "/proc/cmdline")?.contains(path) {
        return Err(Error::new("this is no machine of `cargo xtask vm`"));
    }
    let job = Job::read(path)?;
    let port = OpenOptions::new().write(true).open(PORT).context("open", PORT)?;
    output(command("ip").args(["link", "set", "lo", "up"]))?;
    let cells = Cells::make()?;
    let mut driver = Driver { job, cells, port };
    for system in driver.job.systems.clone() {
        match driver.job.extent {
            Extent::All | Extent::Smoke => driver.run_on(system)?,
            Extent::Disks => driver.fail_disks(system)?,
        }
        driver.say(&Message::Done { on: system.name.to_owned() })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The job at work.
struct Driver {
    job: Job,
    cells: Cells,
    port: File,
}

impl Driver {
    fn say(&mut self, message: &Message) -> Result<()> {
        self.port.write_all(format!("{}\n", message.line()).as_bytes()).context("write to", PORT)
    }

    fn begin(&mut self, system: &FileSystem, command: &str, check: &str) -> Result<Outcome> {
        let outcome = Outcome::begun(system.name, command, check);
        self.say(&outcome.beginning())?;
        Ok(outcome)
    }

    /// Runs all checks on one file system.
    fn run_on(&mut self, system: &'static FileSystem) -> Result<()> {
        let mut mount = self.begin(system, "mount", "mount")?;
        let far = match Far::up(system, &self.cells) {
            Ok(far) => far,
            Err(cause) => {
                mount.verdict = Verdict::Absent;
                mount.text = cause.to_string().replace('\n', ";");
                return self.say(&Message::Ended(mount));
            }
        };
        tree::make(&self.cells, system.lacks)?;
        for check in CHECKS.iter().filter(|check| check.is_for(system)) {
            if self.job.selects(check.name) && (check.smoke || self.job.extent == Extent::All) {
                self.run_check(system, check)?;
            }
        }
        tree::remove(&self.cells)?;
        far.down()
    }

    fn run_check(&mut self, system: &FileSystem, check: &Check) -> Result<()> {
        let mut outcome = self.begin(system, check.command, check.name)?;
        let mut spent = Spent::default();
        outcome.judge(perform::perform(check, &self.cells, &self.job.haul, &mut spent));
        spent.on(Part::Tidy, || self.cells.clear())?;
        outcome.spent = spent;
        self.say(&Message::Ended(outcome))
    }

    /// Runs all checks of failing disks on one file system.
    fn fail_disks(&mut self, system: &'static FileSystem) -> Result<()> {
        let Some(format) = system.journaled() else { return Ok(()) };
        tree::make(&self.cells, system.lacks)?;
        let tree = self.cells.dir(Whose::Haul).join("near");
        let haul = self.job.haul.clone();
        let bench = disks::Bench { format, kept: &tree, haul: &haul };
        for check in disks::checks() {
            if !self.job.selects(check.name()) {
                continue;
            }
            let mut outcome = self.begin(system, check.command(), check.name())?;
            let mut spent = Spent::default();
            outcome.judge(spent.on(Part::Haul, || check.perform(bench)));
            outcome.spent = spent;
            self.say(&Message::Ended(outcome))?;
        }
        tree::remove(&self.cells)
    }
}
