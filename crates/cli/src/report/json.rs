//! JSON lines: one object a line, every name lossless.
//!
//! A name that is UTF-8 is a string; any other is `{"bytes":"<hexadecimal>"}`, as in `haul compare`.

use std::time::Duration;

use haul_engine::error::{Failure, Severity};
use haul_engine::monitor::{Counts, Event, MovedFile, Outcome};
use haul_sys::fs::Kind;
use serde_json::{Value, json};

use crate::lossless::name;

/// The word for a kind of file.
pub(super) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Regular => "file",
        Kind::Directory => "directory",
        Kind::Symlink => "symlink",
        Kind::Fifo => "fifo",
        Kind::Socket => "socket",
        Kind::BlockDevice => "block-device",
        Kind::CharDevice => "char-device",
        Kind::Unknown => "unknown",
    }
}

/// An entry.
pub(super) fn entry(event: &Event) -> String {
    let outcome = match event.outcome {
        Outcome::Copied => "copied",
        Outcome::Linked => "linked",
        Outcome::Parent => "parent",
        Outcome::Removed => "removed",
        Outcome::Skipped => "skipped",
    };
    json!({
        "event": "entry",
        "outcome": outcome,
        "kind": kind(event.kind),
        "source": name(&event.source),
        "target": name(&event.target),
        "backup": event.backup.as_deref().map(name),
    })
    .to_string()
}

/// A file whose bytes are there, and how they came.
pub(super) fn moved(file: &MovedFile) -> String {
    json!({
        "event": "moved",
        "bytes": file.moved.bytes,
        "method": haul_io::ladder::name(file.moved.line),
        "source": name(&file.source),
        "target": name(&file.target),
        "explanation": file.moved.report.as_deref().map(super::explain::json),
    })
    .to_string()
}

/// A failure or a warning.
pub(super) fn failure(failure: &Failure) -> String {
    json!({
        "event": match failure.severity {
            Severity::Failure => "failure",
            Severity::Warning => "warning",
        },
        "what": format!("{:?}", failure.what),
        "errno": failure.errno.map(haul_sys::Errno::raw_os_error),
        "error": failure.errno.map(haul_sys::errno_text),
        "source": name(&failure.source),
        "target": name(&failure.target),
        "message": crate::message::of_copy(failure),
    })
    .to_string()
}

/// The summary, always the last line.
pub(super) fn summary(counts: &Counts, time: Duration, stopped: bool) -> String {
    let methods: serde_json::Map<String, Value> = counts
        .methods
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
        .map(|(line, count)| (haul_io::ladder::name(line).to_owned(), Value::from(*count)))
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
        "cached": super::explain::counts_json(counts),
        "stopped": stopped,
    })
    .to_string()
}
