//! Plays a script: runs each step in both cells, and has the results judged.

use super::case::Script;
use super::judge::{self, Verdict};
use super::stage::{Cell, Stage};
use super::step::{By, Call, Naming, Step};
use crate::command::command;
use crate::error::Result;
use crate::flaw::Flaw;
use crate::trial::{self, Ends, Trial};
use haul_manifest::Timestamp;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The longest time of one step; on a busy machine most take a tenth of a second.
const STEP_LIMIT: Duration = Duration::from_secs(20);

/// The programs under test.
pub(crate) struct Tools {
    /// haul, by its absolute path.
    pub(crate) haul: PathBuf,
}

impl Tools {
    /// Makes the command of a call in a cell, with a fixed environment.
    pub(crate) fn command(&self, call: &Call, naming: Naming, cell: Cell, dir: &Path) -> Command {
        let is_haul = cell == Cell::Haul && call.by == By::Haul;
        let mut made = command(if is_haul { self.haul.as_os_str() } else { call.tool.as_ref() });
        if is_haul {
            made.arg(call.tool);
        } else {
            // So that both begin their messages with the same name.
            made.arg0(call.tool);
        }
        let words = call.words.iter().filter(|word| is_haul || !word.is_own);
        made.args(words.map(|word| naming.word(&word.text, dir)));
        for name in ["TAR_OPTIONS", "GZIP", "POSIXLY_CORRECT", "VERSION_CONTROL", "HAUL_OPTIONS"] {
            made.env_remove(name);
        }
        made.env("LC_ALL", "C").env("HOME", "/nonexistent").current_dir(dir);
        made
    }

    fn run(&self, step: &Step, cell: Cell, stage: &Stage) -> Result<Vec<Trial>> {
        let dir = stage.cell(cell);
        let command = |call| self.command(call, step.naming, cell, &dir);
        let commands = step.calls.iter().map(command).collect();
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| stage.path(cell, path));
        let ends = Ends { input: path(&step.input), output: path(&step.output) };
        trial::run(commands, &ends, STEP_LIMIT)
    }
}

/// What a round found: the steps as they were run, how the last one ended, and what is wrong after it.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) lines: Vec<String>,
    pub(crate) flaws: Vec<Flaw>,
}

/// Prepares the cells and plays a script; returns what was found, if anything was, and the number of steps.
pub(crate) fn play(
    case: &str,
    script: &Script,
    tools: &Tools,
    stage: &Stage,
) -> Result<(Option<Found>, u64)> {
    let mut lines = Vec::new();
    let begun = now();
    stage.prepare(&script.prepared)?;
    for step in &script.steps {
        lines.push(format!("$ {}", step.shown()));
        let gnu = tools.run(step, Cell::Gnu, stage)?;
        let haul = tools.run(step, Cell::Haul, stage)?;
        match judge::step(case, step, (&haul, &gnu), stage, begun) {
            Verdict::Same => {}
            Verdict::Accepted => break,
            Verdict::Wrong(flaws) => {
                let steps = lines.len() as u64;
                lines.extend(judge::ended("haul", &haul));
                lines.extend(judge::ended("GNU", &gnu));
                return Ok((Some(Found { lines, flaws }), steps));
            }
        }
    }
    Ok((None, lines.len() as u64))
}

/// The time as the kernel gives it to files: of the last tick, which may be some milliseconds ago.
fn now() -> Timestamp {
    const TICK: Duration = Duration::from_millis(20);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let since = since.saturating_sub(TICK);
    Timestamp {
        seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        nanoseconds: since.subsec_nanos(),
    }
}
