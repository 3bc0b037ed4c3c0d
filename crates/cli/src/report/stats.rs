//! The summary for people.

use std::time::Duration;

use haul_engine::monitor::Counts;

use crate::sizes::{self, plural};

/// Returns the text of `--stats`.
pub(super) fn summary(counts: &Counts, time: Duration) -> String {
    let mut parts = vec![plural(counts.files, "file", "files")];
    let mut add = |count: u64, one: &str, many: &str| {
        if count > 0 {
            parts.push(plural(count, one, many));
        }
    };
    add(counts.directories, "directory", "directories");
    add(counts.symlinks, "symbolic link", "symbolic links");
    add(counts.hard_links, "hard link", "hard links");
    add(counts.specials, "special file", "special files");
    add(counts.skipped, "skipped", "skipped");
    add(counts.failures, "failure", "failures");
    add(counts.warnings, "warning", "warnings");
    let methods: Vec<String> = counts
        .methods
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
        .map(|(line, count)| format!("{} for {count}", haul_io::ladder::name(line)))
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
    text.push_str(&super::explain::counts_text(counts));
    text.push_str(&format!("workers: {}\n", counts.workers));
    text
}

/// Returns what is said when a signal ended the run.
pub(super) fn stopped(counts: &Counts) -> String {
    format!(
        "interrupted: {} entries and {} were copied before; unfinished files were removed",
        counts.entries(),
        sizes::bytes(counts.bytes)
    )
}
