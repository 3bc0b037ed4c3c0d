//! `--stats`: the summary of a run, and what a signal ended.

use std::time::Duration;

use haul_engine::monitor::Counts;
use haul_engine::relocate;
use haul_engine::remove::Mode;

use super::super::fact::{End, Summary};
use super::explain;
use crate::sizes::{self, counted};

/// Returns the text of `--stats`.
pub(in crate::report) fn stats(end: &End<'_>) -> String {
    let mut text = match end.summary {
        Summary::Copy(counts) | Summary::Sync(counts) => of_copy(counts, end.time),
        Summary::Move(counts) => of_move(counts, end.time),
        Summary::Remove(counts, mode) => of_removal(counts, end.time, mode),
    };
    text.push_str(&end.waiting.stats(!matches!(end.summary, Summary::Remove(..))));
    text
}

/// Adds each count that is not zero, with its noun.
fn add(parts: &mut Vec<String>, counts: &[(u64, &str, &str)]) {
    let counts = counts.iter().filter(|(count, ..)| *count > 0);
    parts.extend(counts.map(|(count, one, many)| counted(*count, one, many)));
}

fn of_copy(counts: &Counts, time: Duration) -> String {
    let mut parts = vec![counted(counts.files, "file", "files")];
    add(
        &mut parts,
        &[
            (counts.directories, "directory", "directories"),
            (counts.symlinks, "symbolic link", "symbolic links"),
            (counts.hard_links, "hard link", "hard links"),
            (counts.specials, "special file", "special files"),
            (counts.skipped, "skipped", "skipped"),
            (counts.deleted, "deleted", "deleted"),
            (counts.not_deleted, "kept by --max-delete", "kept by --max-delete"),
            (counts.failures, "failure", "failures"),
            (counts.warnings, "warning", "warnings"),
        ],
    );
    let methods: Vec<String> = counts
        .methods
        .iter()
        .zip(haul_io::MethodId::ALL)
        .filter(|(count, _)| **count > 0)
        .map(|(count, method)| format!("{} for {}", method.name(), sizes::grouped(*count)))
        .collect();
    let mut text = format!("copied:  {}\n", parts.join(", "));
    text.push_str(&format!(
        "bytes:   {} in {}, {}\n",
        sizes::bytes(counts.bytes),
        sizes::duration(time),
        sizes::rate(counts.bytes, time)
    ));
    if !methods.is_empty() {
        text.push_str(&format!("methods: {}\n", methods.join(", ")));
    }
    text.push_str(&explain::cached(counts));
    text.push_str(&explain::past_cache(&counts.ledger));
    text.push_str(&format!("workers: {}\n", counts.workers));
    text
}

fn of_move(counts: &relocate::Counts, time: Duration) -> String {
    let copied = &counts.copied;
    let mut parts = Vec::new();
    add(
        &mut parts,
        &[
            (counts.renamed, "renamed", "renamed"),
            (counts.exchanged, "exchanged", "exchanged"),
            (copied.entries(), "entry copied", "entries copied"),
            (counts.removed.entries(), "entry removed", "entries removed"),
            (counts.skipped, "skipped", "skipped"),
            (counts.failures, "failure", "failures"),
            (counts.warnings, "warning", "warnings"),
        ],
    );
    if parts.is_empty() {
        parts.push("nothing".to_owned());
    }
    let mut text = format!("moved:   {} in {}\n", parts.join(", "), sizes::duration(time));
    if copied.entries() > 0 {
        text.push_str(&format!(
            "bytes:   {}, {}; the target's file system was waited for {}\n",
            sizes::bytes(copied.bytes),
            sizes::rate(copied.bytes, time),
            counted(counts.batches, "time", "times")
        ));
        text.push_str(&explain::past_cache(&copied.ledger));
        text.push_str(&format!("workers: {}\n", copied.workers));
    }
    text
}

fn of_removal(counts: &Counts, time: Duration, mode: Mode) -> String {
    let mut parts = vec![counted(counts.files, "file", "files")];
    add(
        &mut parts,
        &[
            (counts.directories, "directory", "directories"),
            (counts.symlinks, "symbolic link", "symbolic links"),
            (counts.specials, "special file", "special files"),
            (counts.skipped, "skipped", "skipped"),
            (counts.failures, "failure", "failures"),
        ],
    );
    let verb = if mode == Mode::Pretend { "would remove" } else { "removed" };
    format!(
        "{verb}: {} in {}, {} a second\nworkers: {}\n",
        parts.join(", "),
        crate::sizes::duration(time),
        sizes::per_second(counts.entries(), time),
        counts.workers
    )
}

/// Returns the message about a resumed copy that found every entry as an earlier run left it.
pub(in crate::report) fn all_there(count: u64) -> String {
    let entries = counted(count, "entry is", "entries are");
    format!("nothing to copy: {entries} there and unchanged since an earlier run copied them")
}

/// Returns the message after a signal ended the run.
pub(in crate::report) fn stopped(counts: &Counts) -> String {
    format!(
        "interrupted: {} and {} were copied before; unfinished new files were removed",
        counted(counts.entries(), "entry", "entries"),
        sizes::bytes(counts.bytes)
    )
}
