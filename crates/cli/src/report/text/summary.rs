//! `--stats`: the summary of a run, and what a signal ended.

use std::time::Duration;

use haul_engine::monitor::{Counts, ShardEnded};
use haul_engine::relocate;
use haul_engine::remove::Mode;
use haul_engine::request::Shard;

use super::super::fact::Summary;
use super::explain;
use crate::sizes::{self, counted};

/// Returns the text of `--stats`.
pub(in crate::report) fn stats(summary: &Summary<'_>, time: Duration) -> String {
    match summary {
        Summary::Copy(counts) => of_copy(counts, time),
        Summary::Move(counts) => of_move(counts, time),
        Summary::Remove(counts, mode) => of_removal(counts, time, *mode),
    }
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

/// Maximum number of shards that a message names.
const MOST_SHARDS: usize = 12;

/// Returns the message about a shard that has ended.
pub(in crate::report) fn shard_ended(shard: Shard, ended: &ShardEnded) -> String {
    let Shard { number, count } = shard;
    match ended {
        ShardEnded::Incomplete => format!(
            "shard {number} of {count} is not complete: run the same command again; the directories \
             get their attributes when all shards are complete"
        ),
        ShardEnded::Waits(others) => {
            let (word, verb) = if others.len() == 1 { ("shard", "is") } else { ("shards", "are") };
            let others = listed(others);
            format!("shard {number} of {count} is complete; {word} {others} {verb} not yet")
        }
        ShardEnded::All if count == 1 => {
            "shard 1 of 1 is complete: the copy is complete".to_owned()
        }
        ShardEnded::All => format!(
            "shard {number} of {count} is complete, and so are the others: the copy is complete"
        ),
        ShardEnded::Completing => format!(
            "nothing to do for shard {number} of {count}: all shards are complete, and another run goes \
             through the whole tree; if that fails, or something has changed since, run any shard again"
        ),
        ShardEnded::WithoutRest => format!(
            "all {count} shards are complete, but the last run over the whole tree is not: run shard \
             {number} again"
        ),
    }
}

/// Lists numbers in words: `1, 3 and 4`.
fn listed(numbers: &[u64]) -> String {
    let mut words: Vec<String> = numbers.iter().take(MOST_SHARDS).map(u64::to_string).collect();
    let more = numbers.len().saturating_sub(MOST_SHARDS);
    if more > 0 {
        words.push(format!("{more} more"));
    }
    match words.pop() {
        Some(last) if !words.is_empty() => format!("{} and {last}", words.join(", ")),
        last => last.unwrap_or_default(),
    }
}

/// Returns the message after a signal ended the run.
pub(in crate::report) fn stopped(counts: &Counts) -> String {
    format!(
        "interrupted: {} and {} were copied before; unfinished new files were removed",
        counted(counts.entries(), "entry", "entries"),
        sizes::bytes(counts.bytes)
    )
}
