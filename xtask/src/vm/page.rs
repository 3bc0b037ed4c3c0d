//! The results of all runs, kept below `target/vm`, and the page that shows them: docs/compatibility.md.

use super::expected;
use super::file_systems::FILE_SYSTEMS;
use super::kernels::{KERNELS, Kernel};
use super::lock::lock;
use super::outcome::{Outcome, Verdict};
use crate::error::{Context, Result};
use crate::workspace::Workspace;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

const PAGE: &str = "docs/compatibility.md";

const BEGINNING: &str = "\
# Compatibility

haul beside GNU's tools on stock kernels of Debian, in machines of QEMU. This page is the output of

    cargo xtask vm --record
    cargo xtask vm --disks --record

A cell has the number of checks of a command. Each runs haul in one folder and GNU's tool in another one of the same
file system, and passes if the exit status is the same, and the resulting trees in every attribute, and if a
copy is equal to its original in all that the file system holds. The results of runs with `--kernel`, `--on`,
`--smoke` and `--disks` add up: what is not here, or has `–`, was not run, or is absent for the reason below its table.
`xtask/src/vm/guest/checks.rs` has the command lines, `xtask/src/vm/file_systems.rs` how each file system is
made and mounted. No time counts here: most machines ran without hardware support.

Under *power cut*, dm-log-writes records all writes of a command. The disk as it was at each flush is mounted: after exit 0
it has the whole result at every flush, before that nothing is lost (`xtask/src/vm/guest/disks/cuts.rs`). Under *failing
disk*, the disk fails in the middle of a command, which has to end with status 1, and works again afterwards.
";

/// The kept results of a kernel.
struct Kept {
    version: String,
    outcomes: Vec<Outcome>,
}

fn file(dir: &Path, kernel: &str) -> PathBuf {
    dir.join(format!("results-{kernel}.json"))
}

impl Kept {
    /// Reads what earlier runs kept of a kernel; `None` if there is nothing.
    fn read(dir: &Path, kernel: &str) -> Result<Option<Self>> {
        let path = file(dir, kernel);
        let Ok(text) = fs::read_to_string(&path) else { return Ok(None) };
        let value: Value = serde_json::from_str(&text).context("read", path.display())?;
        let outcomes = value["outcomes"].as_array().into_iter().flatten();
        let outcomes = outcomes.map(Outcome::of_value).collect::<Result<_>>()?;
        let version = value["version"].as_str().unwrap_or_default().to_owned();
        Ok(Some(Self { version, outcomes }))
    }
}

/// Keeps results of a kernel, in place of earlier ones of the same checks. Results of another version of it are dropped.
pub(super) fn keep(dir: &Path, kernel: &Kernel, version: &str, outcomes: &[Outcome]) -> Result<()> {
    let _held = lock(dir)?;
    let mut all = match Kept::read(dir, kernel.name)? {
        Some(kept) if kept.version == version => kept.outcomes,
        _ => Vec::new(),
    };
    for outcome in outcomes {
        all.retain(|old| !is_replaced(old, outcome));
        all.push(outcome.clone());
    }
    let values: Vec<_> = all.iter().map(Outcome::value).collect();
    let path = file(dir, kernel.name);
    let value = json!({"version": version, "outcomes": values});
    fs::write(&path, value.to_string()).context("write", path.display())
}

fn is_replaced(old: &Outcome, new: &Outcome) -> bool {
    let is_absent = |one: &Outcome| one.verdict == Verdict::Absent;
    old.on == new.on && (old.check == new.check || is_absent(old) || is_absent(new))
}

/// Writes the page from everything that is kept.
pub(super) fn record(dir: &Path, workspace: &Workspace) -> Result<()> {
    let mut text = BEGINNING.to_owned();
    for kernel in KERNELS {
        if let Some(kept) = Kept::read(dir, kernel.name)? {
            text.push_str(&section(&kept));
        }
    }
    let path = workspace.root.join(PAGE);
    fs::write(&path, text).context("write", path.display())
}

/// Returns the table of one kernel, and the notes to it.
fn section(kept: &Kept) -> String {
    let mut columns: Vec<&str> = Vec::new();
    for outcome in kept.outcomes.iter().filter(|outcome| outcome.verdict != Verdict::Absent) {
        if outcome.command != "mount" && !columns.contains(&outcome.command.as_str()) {
            columns.push(&outcome.command);
        }
    }
    let mut text = format!("\n## Linux {}\n\n| | {} |\n", kept.version, columns.join(" | "));
    text.push_str(&format!("| --- |{}\n", " --- |".repeat(columns.len())));
    let (mut notes, mut absent): (Vec<String>, Vec<&Outcome>) = (Vec::new(), Vec::new());
    for system in FILE_SYSTEMS {
        let of_it: Vec<_> = kept.outcomes.iter().filter(|one| one.on == system.name).collect();
        if of_it.is_empty() {
            continue;
        }
        absent.extend(of_it.iter().copied().filter(|one| one.verdict == Verdict::Absent));
        let cells = columns.iter().map(|column| cell(&of_it, column, &mut notes));
        let cells: Vec<_> = cells.collect();
        text.push_str(&format!("| {} | {} |\n", system.name, cells.join(" | ")));
    }
    if !notes.is_empty() || !absent.is_empty() {
        text.push('\n');
    }
    for (index, note) in notes.iter().enumerate() {
        text.push_str(&format!("{}. {note}\n", index + 1));
    }
    if !notes.is_empty() && !absent.is_empty() {
        text.push('\n');
    }
    for outcome in absent {
        text.push_str(&format!("- {}: {}\n", outcome.on, outcome.text));
    }
    text
}

/// Returns the text of a cell; what did not pass becomes a note.
fn cell(of_it: &[&Outcome], column: &str, notes: &mut Vec<String>) -> String {
    let here = || of_it.iter().filter(|one| one.command == column);
    let passed = here().filter(|one| one.verdict == Verdict::Passed).count();
    let mut text = match here().count() {
        0 => return "–".to_owned(),
        all if all == passed => return all.to_string(),
        all => format!("{passed} of {all}"),
    };
    for failed in here().filter(|one| one.verdict == Verdict::Failed) {
        let reason = expected::reason(failed);
        let what =
            reason.map_or_else(|| format!("**open**: {}", failed.text.trim_end()), str::to_owned);
        let number = match notes.iter().position(|note| *note == what) {
            Some(index) => index + 1,
            None => {
                notes.push(what);
                notes.len()
            }
        };
        let mark = format!(" [{number}]");
        if !text.contains(&mark) {
            text.push_str(&mark);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::spent::Spent;

    fn outcome(on: &str, check: &str, verdict: Verdict) -> Outcome {
        Outcome {
            on: on.into(),
            command: check.split(' ').next().unwrap_or_default().into(),
            check: check.into(),
            verdict,
            text: if verdict == Verdict::Passed { String::new() } else { "why".into() },
            spent: Spent::default(),
        }
    }

    #[test]
    fn a_table_has_a_row_for_each_file_system_and_a_note_for_each_difference() {
        let outcomes = vec![
            outcome("ext4", "cp -r", Verdict::Passed),
            outcome("ext4", "cp -a", Verdict::Passed),
            outcome("ext4", "mv in", Verdict::Failed),
            outcome("ntfs3", "mount", Verdict::Absent),
        ];
        let text = section(&Kept { version: "6.1".into(), outcomes });
        let expected = "\n## Linux 6.1\n\n| | cp | mv |\n| --- | --- | --- |\n| ext4 | 2 | 0 of 1 [1] |\n\
            | ntfs3 | – | – |\n\n1. **open**: why\n\n- ntfs3: why\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_newer_result_replaces_an_older_one() {
        let old = outcome("ext4", "cp -a", Verdict::Failed);
        assert!(is_replaced(&old, &outcome("ext4", "cp -a", Verdict::Passed)));
        assert!(is_replaced(&old, &outcome("ext4", "mount", Verdict::Absent)));
        assert!(!is_replaced(&old, &outcome("ext4", "cp -r", Verdict::Passed)));
        assert!(!is_replaced(&old, &outcome("xfs", "cp -a", Verdict::Passed)));
    }
}
