//! Words that the text and the JSON of a run have in common.

use haul_engine::error::Severity;
use haul_engine::rehearse::{Intent, Reason};
use haul_io::report::Why;
use haul_io::sides::Way;
use haul_sys::fs::Kind;

use super::fact::Outcome;

/// Returns the word for what happened to an entry.
pub(super) const fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Copied => "copied",
        Outcome::Exchanged => "exchanged",
        Outcome::Linked => "linked",
        Outcome::Parent => "parent",
        Outcome::Removed => "removed",
        Outcome::Renamed => "renamed",
        Outcome::Skipped => "skipped",
        Outcome::WouldRemove => "would-remove",
    }
}

/// Returns the word for how bad a failure is.
pub(super) const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Failure => "failure",
        Severity::Warning => "warning",
    }
}

/// Returns the word for a kind of file.
pub(super) const fn kind(kind: Kind) -> &'static str {
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

/// Returns the verb for a step of a rehearsal, and the reason for the step.
pub(super) const fn intent(intent: Intent) -> (&'static str, &'static str) {
    match intent {
        Intent::Create => ("copy", "nothing is there"),
        Intent::Overwrite => ("overwrite", "a file is there"),
        Intent::Replace => ("replace", "what is there goes first"),
        Intent::BackUp => ("copy", "what is there gets a backup's name"),
        Intent::Merge => ("merge", "both are directories"),
        Intent::Link => ("link", "another name of a file before it"),
        Intent::Ask => ("ask about", "something is there"),
        Intent::Skip(reason) => (
            "skip",
            match reason {
                Reason::Exists => "something is there, and is to stay",
                Reason::NotOlder => "what is there is not older",
                Reason::SameFile => "both are one file",
                Reason::OtherDevice => "it is on another file system",
                Reason::GivenTwice => "it was given before",
            },
        ),
    }
}

/// Returns the reason for which a method was not used.
pub(super) fn why_not(why: Why) -> String {
    match why {
        Why::Unfit(reason) | Why::Unwise(reason) => reason.to_owned(),
        Why::Refused(error) => format!("refused, {error}"),
        Why::RefusedBefore => "refused before, between these file systems".to_owned(),
        Why::NotAsked => "another method was asked for".to_owned(),
        Why::NotPreferred => "the profile prefers another for this size".to_owned(),
    }
}

/// Returns the word for how the bytes of a side are accessed.
pub(super) const fn way(way: Way) -> &'static str {
    match way {
        Way::Cached => "cached",
        Way::Uncached => "uncached",
        Way::Direct => "direct",
    }
}
