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
        Outcome::Adjusted => "adjusted",
        Outcome::Begun => "begun",
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
        Intent::Create => ("copy", "the target does not exist"),
        Intent::Overwrite => ("overwrite", "the target is a file"),
        Intent::Replace => ("replace", "the existing file is removed first"),
        Intent::BackUp => ("copy", "the existing file becomes a backup"),
        Intent::Merge => ("merge", "both are directories"),
        Intent::Link => ("link", "another name of an earlier file"),
        Intent::Adjust => ("adjust", "attributes differ"),
        Intent::Remove => ("remove", "the source does not have it"),
        Intent::Ask => ("ask about", "the target exists"),
        Intent::Skip(reason) => (
            "skip",
            match reason {
                Reason::Exists => "the target exists, and is kept",
                Reason::NotOlder => "the target is not older",
                Reason::SameFile => "both are the same file",
                Reason::GivenTwice => "it was specified before",
                Reason::Excluded => "it is not selected",
                Reason::Newer => "the target is newer",
                Reason::Same => "the target is the same",
                Reason::Missing => "the target does not have it",
                Reason::Kind => "entries of its kind are not copied",
            },
        ),
    }
}

/// Returns the reason for which a method was not used.
pub(crate) fn why_not(why: Why) -> String {
    match why {
        Why::Unfit(reason) | Why::Unwise(reason) => reason.to_owned(),
        Why::Refused(error) => format!("refused, {error}"),
        Why::RefusedBefore => "refused before, between these file systems".to_owned(),
        Why::NotAsked => "another method was selected".to_owned(),
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
