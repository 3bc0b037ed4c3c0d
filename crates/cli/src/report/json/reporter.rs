//! The reporter for programs.

use haul_engine::monitor::MovedFile;
use haul_engine::preflight::{Needs, Shortage};
use haul_engine::rehearse::Step;
use haul_sys::Errno;
use serde_json::{Value, json};

use super::super::fact::{End, Entry, Failed, Outcome, Paths};
use super::super::how::How;
use super::super::itemize;
use super::super::reporter::Reporter;
use super::super::words;
use super::{explain, summary};
use crate::json_line;
use crate::lossless::name;

/// One object a line, for every entry, every failure, and the summary, which is the last line.
pub(in crate::report) struct Json;

impl Reporter for Json {
    fn is_complete(&self) -> bool {
        true
    }

    fn entry(&self, entry: &Entry<'_>, _how: &How) -> Option<String> {
        // An entry that was begun is completed, or fails.
        if entry.outcome == Outcome::Begun {
            return None;
        }
        let mut line = json!({
            "event": "entry",
            "outcome": words::outcome(entry.outcome),
            "kind": entry.kind.map(words::kind),
        });
        add_paths(&mut line, entry.paths);
        if matches!(entry.paths, Paths::Pair(..)) {
            line["backup"] = entry.backup.map(name).into();
        }
        if let Some(changes) = itemize::changes_of_entry(entry) {
            line["changes"] = changes.into();
        }
        Some(json_line::line(line))
    }

    fn moved(&self, file: &MovedFile, _how: &How) -> String {
        let mut line = json!({
            "event": "transferred",
            "bytes": file.moved.bytes,
            "method": file.moved.method_name(),
            "explanation": file.moved.report.as_deref().map(explain::report),
            "named_under_lock": explain::named_under_lock(file.named),
        });
        add_paths(&mut line, Paths::Pair(&file.source, Some(&file.target)));
        json_line::line(line)
    }

    fn failure(&self, failed: &Failed<'_>) -> Option<String> {
        Some(failure(failed))
    }

    fn step(&self, step: &Step) -> String {
        let (verb, why) = words::intent(step.intent);
        let mut line = json!({
            "event": "would",
            "action": verb.replace(' ', "-"),
            "reason": why,
            "kind": words::kind(step.kind),
            "bytes": step.bytes,
            "decided_by": step.decided_by.as_deref().map(name),
        });
        if let Some(changes) = itemize::changes_of_step(step) {
            line["changes"] = changes.into();
        }
        add_paths(&mut line, Paths::Pair(&step.source, Some(&step.target)));
        json_line::line(line)
    }

    fn needs(&self, needs: &Needs, shortages: &[Shortage]) -> String {
        summary::needs(needs, shortages)
    }

    fn summary(&self, end: &End<'_>) -> Option<String> {
        Some(summary::line(end))
    }
}

/// Returns the line for a failure or a warning, which is also that of `--errors`.
pub(in crate::report) fn failure(failed: &Failed<'_>) -> String {
    let mut line = json!({
        "event": words::severity(failed.severity),
        "what": failed.what,
        "errno": failed.errno.map(Errno::raw_os_error),
        "error": failed.errno.map(haul_sys::errno_text),
        "message": failed.message.join("; "),
    });
    add_paths(&mut line, failed.paths);
    json_line::line(line)
}

/// Adds the paths of an entry to an object.
fn add_paths(line: &mut Value, paths: Paths<'_>) {
    match paths {
        Paths::One(path) => line["path"] = name(path),
        Paths::Pair(source, target) => {
            line["source"] = name(source);
            line["target"] = target.map(name).into();
        }
    }
}
