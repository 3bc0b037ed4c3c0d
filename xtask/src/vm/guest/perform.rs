//! Runs one check: its steps in both cells, and the comparison of what they have made.

use super::checks::{Check, Step};
use super::judge;
use super::line::{self, Whose};
use super::mounts::Cells;
use crate::command::command;
use crate::error::{Context, Error, Result};
use crate::trial::{self, Status, Trial};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The longest time of a step: several times what the slowest takes without hardware support.
const LIMIT: Duration = Duration::from_secs(180);

/// Entries of `far/out/b` after which a command is killed.
const MADE: usize = 6;

const POLL: Duration = Duration::from_millis(2);

/// Runs a check and returns what is wrong; fails if it could not be carried out.
pub(super) fn perform(check: &Check, cells: &Cells, haul: &Path) -> Result<Vec<String>> {
    let mut flaws = Vec::new();
    for step in check.steps {
        flaws.extend(run_step(step, cells, haul)?);
    }
    for folder in ["far", "near/work"] {
        let [haul, gnu] = Cells::ALL.map(|whose| cells.dir(whose).join(folder));
        flaws.extend(judge::beside_gnu(&gnu, &haul, check.keeps));
    }
    if let Some((original, copy)) = check.equal {
        let dir = cells.dir(Whose::Haul);
        let (original, copy) = (dir.join(original), dir.join(copy));
        flaws.extend(judge::with_original(&original, &copy, check.keeps));
    }
    Ok(flaws)
}

/// Runs one step in its cells, and returns what is wrong with the exit statuses.
fn run_step(step: &Step, cells: &Cells, haul: &Path) -> Result<Option<String>> {
    let run = |cell: Whose, program: Whose, line: &str| -> Result<Vec<Trial>> {
        let dir = cells.dir(cell);
        let read = line::read(line, program, &dir);
        let commands = read.programs.iter();
        let commands = commands.map(|words| tool(words, program, haul, &dir)).collect();
        trial::run(commands, &read.ends, LIMIT)
    };
    match step {
        Step::Tool(line) => {
            let ours = run(Whose::Haul, Whose::Haul, line)?;
            let theirs = run(Whose::Gnu, Whose::Gnu, line)?;
            Ok(different(line, &ours, &theirs))
        }
        Step::Setup(line) => {
            for cell in Cells::ALL {
                if let Some(flaw) = failed(line, &run(cell, Whose::Gnu, line)?) {
                    return Err(Error::new(format!("set-up by GNU's tools: {flaw}")));
                }
            }
            Ok(None)
        }
        Step::Haul(line) => Ok(failed(line, &run(Whose::Haul, Whose::Haul, line)?)),
        Step::Gnu(line) => match failed(line, &run(Whose::Gnu, Whose::Gnu, line)?) {
            Some(flaw) => Err(Error::new(format!("GNU's tools: {flaw}"))),
            None => Ok(None),
        },
        Step::Killed(line) => killed(line, cells, haul),
    }
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

fn failed(line: &str, trials: &[Trial]) -> Option<String> {
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

/// Starts a command of haul, and kills it when some files are there.
fn killed(line: &str, cells: &Cells, haul: &Path) -> Result<Option<String>> {
    let dir = cells.dir(Whose::Haul);
    let read = line::read(line, Whose::Haul, &dir);
    let Some(words) = read.programs.first() else { return Ok(None) };
    let mut tool = tool(words, Whose::Haul, haul, &dir);
    let mut child = tool.stderr(Stdio::null()).spawn().context("run", "haul")?;
    let begun = Instant::now();
    let made = || fs::read_dir(dir.join("far/out/b")).map_or(0, Iterator::count);
    while made() < MADE && begun.elapsed() < LIMIT {
        if let Some(status) = child.try_wait().context("wait for", "haul")? {
            return Ok(Some(format!("`{line}`: ended with {status} before it was killed")));
        }
        std::thread::sleep(POLL);
    }
    kill_process_group(Pid::from_child(&child), Signal::KILL).context("kill", "haul")?;
    let status = child.wait().context("wait for", "haul")?;
    match std::os::unix::process::ExitStatusExt::signal(&status) {
        Some(9) => Ok(None),
        _ => Ok(Some(format!("`{line}`: {status} although it was killed"))),
    }
}
