//! The line that `--verbose` prints for an entry, in the words of GNU's cp, mv and rm.

use haul_engine::error::Operation;
use haul_sys::fs::Kind;

use super::super::fact::{Entry, Outcome, Paths};
use super::super::how::How;
use crate::escape::quote;

/// Returns the line for an entry, if there is one.
pub(super) fn line(entry: &Entry<'_>, how: &How) -> Option<String> {
    let (source, target) = match entry.paths {
        Paths::Pair(source, target) => (source, target.unwrap_or_default()),
        Paths::One(path) => (path, path),
    };
    if entry.outcome == Outcome::Skipped {
        return how.debug.then(|| format!("skipped {}", quote(target)));
    }
    // The line is printed when the entry begins.
    if entry.outcome == Outcome::Copied {
        return None;
    }
    match entry.operation {
        Operation::Copy => Some(copied(entry, source, target)),
        Operation::Move => moved(entry, source, target),
        Operation::Remove => Some(removed(entry, source)),
    }
}

fn copied(entry: &Entry<'_>, source: &[u8], target: &[u8]) -> String {
    match entry.outcome {
        Outcome::Removed => format!("removed {}", quote(target)),
        // GNU cp quotes everything but these.
        Outcome::Parent => format!(
            "{} -> {}",
            String::from_utf8_lossy(source).escape_debug(),
            String::from_utf8_lossy(target).escape_debug()
        ),
        _ => with_backup(entry, format!("{} -> {}", quote(source), quote(target))),
    }
}

fn moved(entry: &Entry<'_>, source: &[u8], target: &[u8]) -> Option<String> {
    let (source, target) = (quote(source), quote(target));
    let line = match (entry.outcome, entry.kind) {
        // GNU mv is silent about further names.
        (Outcome::Linked, _) => return None,
        (Outcome::Begun, Some(Kind::Directory)) => {
            return Some(format!("created directory {target}"));
        }
        (Outcome::Begun, _) => format!("copied {source} -> {target}"),
        (Outcome::Exchanged, _) => format!("exchanged {source} <-> {target}"),
        (Outcome::Removed, Some(Kind::Directory)) => format!("removed directory {source}"),
        (Outcome::Removed, _) => format!("removed {source}"),
        _ => format!("renamed {source} -> {target}"),
    };
    Some(with_backup(entry, line))
}

fn removed(entry: &Entry<'_>, path: &[u8]) -> String {
    let verb = if entry.outcome == Outcome::WouldRemove { "would remove" } else { "removed" };
    let noun = if entry.kind == Some(Kind::Directory) { "directory " } else { "" };
    format!("{verb} {noun}{}", quote(path))
}

fn with_backup(entry: &Entry<'_>, line: String) -> String {
    match entry.backup {
        Some(backup) => format!("{line} (backup: {})", quote(backup)),
        None => line,
    }
}
