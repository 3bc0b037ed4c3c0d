//! What `--dry-run` prints for people.

use haul_engine::preflight::Needs;
use haul_engine::rehearse::Step;

use super::super::words;
use crate::escape::quote;
use crate::sizes::{bytes, counted};

/// Returns the line for a step.
pub(super) fn step(step: &Step) -> String {
    let (verb, why) = words::intent(step.intent);
    let by = match &step.decided_by {
        Some(rule) => format!("; by {}", String::from_utf8_lossy(rule)),
        None => String::new(),
    };
    format!("would {verb} {} -> {} ({why}{by})", quote(&step.source), quote(&step.target))
}

/// Returns the line with what a copy needs.
pub(super) fn needs(needs: &Needs) -> String {
    let mut text = format!(
        "would make {}, {} of contents, {} to be allocated",
        counted(needs.inodes, "entry", "entries"),
        bytes(needs.bytes),
        bytes(needs.allocated)
    );
    for (amount, what) in [
        (needs.shareable, "shared with the source"),
        (needs.from_holes, "more for holes that are filled"),
        (needs.from_links, "more for hard links that are split"),
    ] {
        if amount > 0 {
            text.push_str(&format!(", {} {what}", bytes(amount)));
        }
    }
    if let Some((free, _)) = needs.free() {
        text.push_str(&format!("; {} are free", bytes(free)));
    }
    text
}
