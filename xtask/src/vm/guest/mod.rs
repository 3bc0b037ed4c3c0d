//! The driver: what this program does within a machine, started by the first root.
//!
//! It makes each file system of its job, runs the checks on it, and says each result on the second serial port.
//! Everything that it makes is gone with the machine.

mod checks;
mod children;
mod judge;
mod line;
mod mounts;
mod perform;
mod servers;
mod tree;

use self::checks::{CHECKS, Check};
use self::mounts::{Cells, Far};
use super::file_systems::FileSystem;
use super::outcome::{Message, Outcome, Verdict};
use crate::command::{command, output};
use crate::error::{Context, Error, Result};
use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Where the host reads the results.
const PORT: &str = "/dev/ttyS1";

/// What the machine was booted for.
struct Job {
    haul: PathBuf,
    systems: Vec<&'static FileSystem>,
    filters: Vec<String>,
    /// Whether only the checks of the smoke run.
    smoke: bool,
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
            smoke: value["smoke"].as_bool().unwrap_or(false),
        })
    }

    fn selects(&self, check: &Check) -> bool {
        let named = self.filters.is_empty()
            || self.filters.iter().any(|part| check.name.contains(part.as_str()));
        named && (check.smoke || !self.smoke)
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
    let mut port = OpenOptions::new().write(true).open(PORT).context("open", PORT)?;
    output(command("ip").args(["link", "set", "lo", "up"]))?;
    let cells = Cells::make()?;
    for system in &job.systems {
        run_on(system, &job, &cells, &mut port)?;
        say(&mut port, &Message::Done { on: system.name.to_owned() })?;
    }
    Ok(ExitCode::SUCCESS)
}

fn say(port: &mut File, message: &Message) -> Result<()> {
    port.write_all(format!("{}\n", message.line()).as_bytes()).context("write to", PORT)
}

/// Runs all checks on one file system.
fn run_on(system: &'static FileSystem, job: &Job, cells: &Cells, port: &mut File) -> Result<()> {
    let begin = |command: &str, check: &str| {
        let (command, check) = (command.to_owned(), check.to_owned());
        Message::Begin { on: system.name.to_owned(), command, check }
    };
    say(port, &begin("mount", "mount"))?;
    let far = match Far::up(system, cells) {
        Ok(far) => far,
        Err(cause) => {
            let text = cause.to_string().replace('\n', ";");
            let outcome = outcome(system, ("mount", "mount"), Verdict::Absent, text);
            return say(port, &Message::Ended(outcome));
        }
    };
    tree::make(cells, system.lacks)?;
    for check in CHECKS.iter().filter(|check| job.selects(check)) {
        say(port, &begin(check.command, check.name))?;
        let begun = Instant::now();
        let found = perform::perform(check, cells, &job.haul);
        let (verdict, text) = match found {
            Ok(flaws) if flaws.is_empty() => (Verdict::Passed, String::new()),
            Ok(flaws) => (Verdict::Failed, flaws.join("; ")),
            Err(error) => (Verdict::Failed, error.to_string().replace('\n', ";")),
        };
        let mut ended = outcome(system, (check.command, check.name), verdict, text);
        ended.milliseconds = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        say(port, &Message::Ended(ended))?;
        cells.clear()?;
    }
    tree::remove(cells)?;
    far.down()
}

fn outcome(
    system: &FileSystem,
    (command, check): (&str, &str),
    verdict: Verdict,
    text: String,
) -> Outcome {
    Outcome {
        on: system.name.to_owned(),
        command: command.to_owned(),
        check: check.to_owned(),
        verdict,
        text,
        milliseconds: 0,
    }
}
