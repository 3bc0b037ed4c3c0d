//! The last line of a run, and what a rehearsal found.

use std::time::Duration;

use haul_engine::monitor::Counts;
use haul_engine::preflight::{Needs, Shortage};
use haul_engine::relocate;
use serde_json::{Value, json};

use super::super::fact::{End, Summary};
use super::explain;
use crate::json_line;

/// Returns the summary of a run.
pub(super) fn line(end: &End<'_>) -> String {
    let (time, stopped) = (end.time, end.stopped);
    let mut line = match end.summary {
        Summary::Copy(counts) => of_copy(counts, time, stopped),
        Summary::Sync(counts) => {
            let mut line = of_copy(counts, time, stopped);
            line["deleted"] = counts.deleted.into();
            line["not_deleted"] = counts.not_deleted.into();
            line
        }
        Summary::Move(counts) => of_move(counts, time, stopped),
        Summary::Remove(counts, _) => of_removal(counts, time, stopped),
    };
    end.waiting.describe(&mut line);
    json_line::line(line)
}

fn of_copy(counts: &Counts, time: Duration, stopped: bool) -> Value {
    let methods: serde_json::Map<String, Value> = counts
        .methods
        .iter()
        .zip(haul_io::MethodId::ALL)
        .filter(|(count, _)| **count > 0)
        .map(|(count, method)| (method.name().to_owned(), Value::from(*count)))
        .collect();
    json!({
        "event": "summary",
        "files": counts.files,
        "directories": counts.directories,
        "symlinks": counts.symlinks,
        "hard_links": counts.hard_links,
        "specials": counts.specials,
        "skipped": counts.skipped,
        "bytes": counts.bytes,
        "failures": counts.failures,
        "warnings": counts.warnings,
        "seconds": time.as_secs_f64(),
        "workers": counts.workers,
        "methods": methods,
        "cached": explain::cached(counts),
        "past_cache": counts.ledger.past_bytes,
        "stopped": stopped,
    })
}

fn of_move(counts: &relocate::Counts, time: Duration, stopped: bool) -> Value {
    let tally = |counts: &Counts| -> Value {
        json!({
            "files": counts.files,
            "directories": counts.directories,
            "symlinks": counts.symlinks,
            "hard_links": counts.hard_links,
            "specials": counts.specials,
            "bytes": counts.bytes,
        })
    };
    json!({
        "event": "summary",
        "renamed": counts.renamed,
        "exchanged": counts.exchanged,
        "skipped": counts.skipped,
        "copied": tally(&counts.copied),
        "removed": tally(&counts.removed),
        "syncs": counts.batches,
        "failures": counts.failures,
        "warnings": counts.warnings,
        "seconds": time.as_secs_f64(),
        "workers": counts.copied.workers,
        "stopped": stopped,
    })
}

fn of_removal(counts: &Counts, time: Duration, stopped: bool) -> Value {
    json!({
        "event": "summary",
        "files": counts.files,
        "directories": counts.directories,
        "symlinks": counts.symlinks,
        "specials": counts.specials,
        "skipped": counts.skipped,
        "failures": counts.failures,
        "seconds": time.as_secs_f64(),
        "workers": counts.workers,
        "stopped": stopped,
    })
}

/// Returns what a copy needs and what the target lacks.
pub(super) fn needs(needs: &Needs, shortages: &[Shortage]) -> String {
    let free = needs.free();
    json_line::line(json!({
        "event": "preflight",
        "entries": needs.inodes,
        "bytes": needs.bytes,
        "allocated": needs.allocated,
        "shareable": needs.shareable,
        "from_holes": needs.from_holes,
        "from_links": needs.from_links,
        "failures": needs.failures,
        "free_bytes": free.map(|free| free.0),
        "free_inodes": free.map(|free| free.1),
        "shortages": shortages.iter().map(|one| format!("{one:?}")).collect::<Vec<_>>(),
    }))
}
