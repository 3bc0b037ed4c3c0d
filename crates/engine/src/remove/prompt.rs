//! Decides when the user is asked, and about what: GNU's rules, as pure functions of the facts.

use haul_sys::Errno;
use haul_sys::fs::{Kind, Stat};

use super::request::{Ask, EmptyDirectories, Policy};
use crate::data::monitor::{PromptReason, Protection};
use crate::data::request::Recursion;

/// Content of a directory, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    /// The directory was not read.
    Unknown,
    /// The directory is empty.
    Empty,
    /// The directory has entries.
    Full,
    /// The directory cannot be read.
    Closed(Errno),
}

/// Stage of a directory: each directory reaches two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Before the worker reads its entries.
    Descend,
    /// After all its entries were removed.
    Remove,
}

/// Decision about an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Consent {
    /// The entry may be removed.
    Given,
    /// The entry may be removed if the user agrees.
    Ask(PromptReason),
    /// The entry cannot be removed.
    Refused(Errno),
}

/// Returns whether the state of an entry is necessary before its removal.
pub(super) fn looks(policy: &Policy) -> bool {
    policy.ask != Ask::Never
}

/// Returns whether the policy requires a question.
fn asks(policy: &Policy, protection: Protection) -> bool {
    match policy.ask {
        Ask::Never => false,
        Ask::Protected => protection == Protection::Protected,
        Ask::Always => true,
    }
}

/// Decides about an entry that is not a directory.
pub(super) fn for_entry(policy: &Policy, stat: &Stat, protection: Protection) -> Consent {
    // Permission bits have no meaning for a symbolic link.
    let link = stat.kind() == Kind::Symlink && policy.ask != Ask::Always;
    if link || !asks(policy, protection) {
        return Consent::Given;
    }
    Consent::Ask(PromptReason::Remove { kind: stat.kind(), size: stat.size, protection })
}

/// Returns whether the question depends on the content of a directory.
pub(super) fn wants_inside(policy: &Policy, stage: Stage, protection: Protection) -> bool {
    asks(policy, protection) && (stage == Stage::Descend || policy.recursion == Recursion::No)
}

/// Decides about a directory.
pub(super) fn for_directory(
    policy: &Policy,
    stage: Stage,
    inside: Inside,
    protection: Protection,
) -> Consent {
    if !asks(policy, protection) {
        return Consent::Given;
    }
    match (inside, stage) {
        (Inside::Full, Stage::Descend) => Consent::Ask(PromptReason::Descend(protection)),
        (Inside::Closed(errno), _) => {
            let may_be_empty = policy.empty_directories == EmptyDirectories::Remove;
            match stage {
                _ if !may_be_empty || errno != Errno::ACCESS => Consent::Refused(errno),
                // The question comes once, when the directory itself is to be removed.
                Stage::Descend => Consent::Given,
                Stage::Remove => Consent::Ask(PromptReason::TryInaccessible),
            }
        }
        (Inside::Unknown | Inside::Empty | Inside::Full, _) => {
            Consent::Ask(PromptReason::Remove { kind: Kind::Directory, size: 0, protection })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALWAYS: Policy = Policy { ask: Ask::Always, recursion: Recursion::Yes, ..Policy::PLAIN };
    const SOMETIMES: Policy = Policy { ask: Ask::Protected, ..ALWAYS };
    const EMPTY: Policy =
        Policy { recursion: Recursion::No, empty_directories: EmptyDirectories::Remove, ..ALWAYS };
    const REMOVE: Consent = Consent::Ask(PromptReason::Remove {
        kind: Kind::Directory,
        size: 0,
        protection: Protection::None,
    });

    #[test]
    fn a_full_directory_is_asked_for_twice() {
        let ask = |stage, inside| for_directory(&ALWAYS, stage, inside, Protection::None);
        let descend = Consent::Ask(PromptReason::Descend(Protection::None));
        assert_eq!(ask(Stage::Descend, Inside::Full), descend);
        assert_eq!(ask(Stage::Descend, Inside::Empty), REMOVE);
        assert_eq!(ask(Stage::Remove, Inside::Unknown), REMOVE);
    }

    #[test]
    fn what_can_be_written_to_needs_no_question_by_default() {
        let ask = |protection| for_directory(&SOMETIMES, Stage::Descend, Inside::Full, protection);
        assert_eq!(ask(Protection::None), Consent::Given);
        let descend = Consent::Ask(PromptReason::Descend(Protection::Protected));
        assert_eq!(ask(Protection::Protected), descend);
    }

    #[test]
    fn a_closed_directory_may_be_empty() {
        let closed = Inside::Closed(Errno::ACCESS);
        let ask = |policy, stage| for_directory(policy, stage, closed, Protection::None);
        assert_eq!(ask(&ALWAYS, Stage::Descend), Consent::Refused(Errno::ACCESS));
        assert_eq!(ask(&EMPTY, Stage::Descend), Consent::Given);
        assert_eq!(ask(&EMPTY, Stage::Remove), Consent::Ask(PromptReason::TryInaccessible));
    }
}
