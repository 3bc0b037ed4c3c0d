//! Runs one check: its steps in both cells, and the comparison of what they have made.

use super::checks::{Check, Step};
use super::judge;
use super::line::{self, Whose};
use super::mounts::Cells;
use crate::command::command;
use crate::error::{Context, Error, Result};
use crate::trial::{self, Status, Trial};
use crate::vm::spent::{Part, Spent};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The longest time of a step: several times what the slowest takes without hardware support.
pub(super) const LIMIT: Duration = Duration::from_secs(180);

/// What a command has made when it is killed.
const SOME: Made = Made { folder: "far/out/b", entries: 6 };

/// Lines of a program that has failed.
const SAID: usize = 6;

pub(super) const POLL: Duration = Duration::from_millis(5);

/// A check at work.
struct Performance<'a> {
    cells: &'a Cells,
    haul: &'a Path,
    spent: &'a mut Spent,
    /// What programs that failed, in both cells, have said. It explains differences.
    said: Vec<String>,
}

/// Runs a check and returns what is wrong; fails if it could not be carried out.
pub(super) fn perform(
    check: &Check,
    cells: &Cells,
    haul: &Path,
    spent: &mut Spent,
) -> Result<Vec<String>> {
    let mut performance = Performance { cells, haul, spent, said: Vec::new() };
    let mut flaws = Vec::new();
    for step in check.steps {
        flaws.extend(performance.run(step)?);
    }
    performance.spent.on(Part::Judge, || judge(check, cells, &mut flaws));
    if !flaws.is_empty() {
        flaws.append(&mut performance.said);
    }
    Ok(flaws)
}

/// Compares what the steps have made.
fn judge(check: &Check, cells: &Cells, flaws: &mut Vec<String>) {
    for folder in ["far", "near/work"] {
        let [haul, gnu] = Cells::ALL.map(|whose| cells.dir(whose).join(folder));
        flaws.extend(judge::beside_gnu(&gnu, &haul, check.keeps));
    }
    if let Some((original, copy)) = check.equal {
        let dir = cells.dir(Whose::Haul);
        let (original, copy) = (dir.join(original), dir.join(copy));
        flaws.extend(judge::with_original(&original, &copy, check.keeps));
    }
}

impl Performance<'_> {
    /// Runs one step in its cells, and returns what is wrong with the exit statuses.
    fn run(&mut self, step: &Step) -> Result<Option<String>> {
        match step {
            Step::Tool(line) => {
                let ours = self.line(Whose::Haul, Whose::Haul, line)?;
                let theirs = self.line(Whose::Gnu, Whose::Gnu, line)?;
                for (name, trials) in [("haul", &ours), ("GNU's", &theirs)] {
                    let text = worst(trials).map(|trial| trial.stderr.lines().take(SAID));
                    let text = text.map(|lines| lines.collect::<Vec<_>>().join(" / "));
                    self.said.extend(text.map(|text| format!("{name} says {text}")));
                }
                Ok(different(line, &ours, &theirs))
            }
            Step::Setup(line) => {
                for cell in Cells::ALL {
                    if let Some(flaw) = failed(line, &self.line(cell, Whose::Gnu, line)?) {
                        return Err(Error::new(format!("set-up by GNU's tools: {flaw}")));
                    }
                }
                Ok(None)
            }
            Step::Haul(line) => Ok(failed(line, &self.line(Whose::Haul, Whose::Haul, line)?)),
            Step::Gnu(line) => match failed(line, &self.line(Whose::Gnu, Whose::Gnu, line)?) {
                Some(flaw) => Err(Error::new(format!("GNU's tools: {flaw}"))),
                None => Ok(None),
            },
            Step::Has(name, part) => {
                let path = self.cells.dir(Whose::Haul).join(name);
                let text = fs::read(&path).context("read", path.display())?;
                let is_there = String::from_utf8_lossy(&text).contains(part);
                Ok((!is_there).then(|| format!("{name} of {} bytes has no {part:?}", text.len())))
            }
            Step::Killed(line) => self.spent.on(Part::Haul, || killed(line, self.cells, self.haul)),
        }
    }

    /// Runs a line in a cell.
    fn line(&mut self, cell: Whose, program: Whose, line: &str) -> Result<Vec<Trial>> {
        let part = if program == Whose::Haul { Part::Haul } else { Part::Gnu };
        self.spent.on(part, || run_line(line, program, self.haul, &self.cells.dir(cell)))
    }
}

/// Runs a line in a folder, by haul or by GNU's tools, to its end.
pub(super) fn run_line(line: &str, whose: Whose, haul: &Path, dir: &Path) -> Result<Vec<Trial>> {
    let read = line::read(line, whose, dir);
    let commands = read.programs.iter();
    let commands = commands.map(|words| tool(words, whose, haul, dir)).collect();
    trial::run(commands, &read.ends, LIMIT)
}

/// Returns one program of a line, by haul or by GNU.
fn tool(words: &[&str], whose: Whose, haul: &Path, dir: &Path) -> Command {
    let mut tool = match (whose, words) {
        (Whose::Gnu, [program, arguments @ ..]) => {
            let mut tool = command(program);
            tool.args(arguments);
            tool
        }
        _ => {
            let mut tool = command(haul);
            tool.args(words);
            tool
        }
    };
    tool.current_dir(dir).env("LC_ALL", "C");
    tool
}

fn worst(trials: &[Trial]) -> Option<&Trial> {
    trials.iter().find(|trial| !trial.status.is_success())
}

/// Returns what a line that must succeed has failed with.
pub(super) fn failed(line: &str, trials: &[Trial]) -> Option<String> {
    worst(trials).map(|trial| format!("`{line}`: {:?}: {}", trial.status, said(trial)))
}

fn different(line: &str, ours: &[Trial], theirs: &[Trial]) -> Option<String> {
    let status = |trials| worst(trials).map_or(Status::Exited(0), |trial| trial.status);
    let (our, their) = (status(ours), status(theirs));
    if our == their && our != Status::TimedOut {
        return None;
    }
    let said = |trials| worst(trials).map(said).unwrap_or_default();
    let (we_say, they_say) = (said(ours), said(theirs));
    Some(format!("`{line}`: {our:?} ({we_say}), GNU's {their:?} ({they_say})"))
}

/// The first line of what a program said.
fn said(trial: &Trial) -> String {
    trial.stderr.lines().next().unwrap_or_default().to_owned()
}

/// A command of haul in the middle of its work.
pub(super) enum Midway {
    Running(Child),
    /// It was too fast, or failed.
    Ended(ExitStatus),
}

/// A folder whose entries show that a command is in the middle of its work.
pub(super) struct Made {
    pub(super) folder: &'static str,
    pub(super) entries: usize,
}

/// Starts a command of haul, and stops it when a folder has its entries.
pub(super) fn midway(line: &str, haul: &Path, dir: &Path, made: &Made) -> Result<Midway> {
    let read = line::read(line, Whose::Haul, dir);
    let words = read.programs.first().map_or(&[][..], Vec::as_slice);
    let mut tool = tool(words, Whose::Haul, haul, dir);
    let mut child = tool.stderr(Stdio::null()).spawn().context("run", "haul")?;
    let begun = Instant::now();
    let is_made = || fs::read_dir(dir.join(made.folder)).map_or(0, Iterator::count) >= made.entries;
    while !is_made() && begun.elapsed() < LIMIT {
        if let Some(status) = child.try_wait().context("wait for", "haul")? {
            return Ok(Midway::Ended(status));
        }
        std::thread::sleep(POLL);
    }
    if is_made() {
        kill_process_group(Pid::from_child(&child), Signal::STOP).context("stop", "haul")?;
        return Ok(Midway::Running(child));
    }
    kill_process_group(Pid::from_child(&child), Signal::KILL).context("kill", "haul")?;
    child.wait().context("wait for", "haul")?;
    Err(Error::new(format!("`{line}` has not made {} in {} s", made.folder, LIMIT.as_secs())))
}

/// Starts a command of haul, and kills it when some files are there.
fn killed(line: &str, cells: &Cells, haul: &Path) -> Result<Option<String>> {
    let mut child = match midway(line, haul, &cells.dir(Whose::Haul), &SOME)? {
        Midway::Running(child) => child,
        Midway::Ended(status) => {
            return Ok(Some(format!("`{line}`: ended with {status} before it was killed")));
        }
    };
    kill_process_group(Pid::from_child(&child), Signal::KILL).context("kill", "haul")?;
    let status = child.wait().context("wait for", "haul")?;
    match status.signal() {
        Some(9) => Ok(None),
        _ => Ok(Some(format!("`{line}`: {status} although it was killed"))),
    }
}
