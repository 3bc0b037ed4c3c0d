//! When a person is asked, and what: GNU's rules, as pure functions of what was found.

use haul_sys::Errno;
use haul_sys::fs::{Kind, Stat};

use super::monitor::PromptReason;
use super::request::{Ask, EmptyDirectories, Policy, Protection};
use crate::request::Recursion;

/// What is in a directory, as far as somebody looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    /// Nobody looked.
    Unknown,
    /// Nothing.
    Empty,
    /// Something.
    Full,
    /// It cannot be looked into.
    Closed(Errno),
}

/// A directory is met twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Before it is looked into.
    Descend,
    /// When all that was in it is gone.
    Remove,
}

/// What is to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Consent {
    /// It may go.
    Given,
    /// If a person says so.
    Ask(PromptReason),
    /// It cannot go.
    Refused(Errno),
}

/// Tells whether entries have to be looked at before they go.
pub(super) fn looks(policy: &Policy) -> bool {
    policy.ask != Ask::Never
}

/// Tells whether something has to be asked for.
fn asks(policy: &Policy, protection: Protection) -> bool {
    match policy.ask {
        Ask::Never => false,
        Ask::Protected => protection == Protection::Protected,
        Ask::Always => true,
    }
}

/// Decides on anything that is no directory.
pub(super) fn for_entry(policy: &Policy, stat: &Stat, protection: Protection) -> Consent {
    // Permission bits mean nothing for a symbolic link.
    let link = stat.kind() == Kind::Symlink && policy.ask != Ask::Always;
    if link || !asks(policy, protection) {
        return Consent::Given;
    }
    Consent::Ask(PromptReason::Remove { kind: stat.kind(), size: stat.size })
}

/// Tells whether what is in a directory matters for the question.
pub(super) fn wants_inside(policy: &Policy, stage: Stage, protection: Protection) -> bool {
    asks(policy, protection) && (stage == Stage::Descend || policy.recursion == Recursion::No)
}

/// Decides on a directory.
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
        (Inside::Full, Stage::Descend) => Consent::Ask(PromptReason::Descend),
        (Inside::Closed(errno), _) => {
            let may_be_empty = policy.empty_directories == EmptyDirectories::Remove;
            match stage {
                _ if !may_be_empty || errno != Errno::ACCESS => Consent::Refused(errno),
                // It is asked for once, when its turn to be removed has come.
                Stage::Descend => Consent::Given,
                Stage::Remove => Consent::Ask(PromptReason::TryInaccessible),
            }
        }
        (Inside::Unknown | Inside::Empty | Inside::Full, _) => {
            Consent::Ask(PromptReason::Remove { kind: Kind::Directory, size: 0 })
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
    const REMOVE: Consent = Consent::Ask(PromptReason::Remove { kind: Kind::Directory, size: 0 });

    #[test]
    fn a_full_directory_is_asked_for_twice() {
        let ask = |stage, inside| for_directory(&ALWAYS, stage, inside, Protection::None);
        assert_eq!(ask(Stage::Descend, Inside::Full), Consent::Ask(PromptReason::Descend));
        assert_eq!(ask(Stage::Descend, Inside::Empty), REMOVE);
        assert_eq!(ask(Stage::Remove, Inside::Unknown), REMOVE);
    }

    #[test]
    fn what_can_be_written_to_needs_no_question_by_default() {
        let ask = |protection| for_directory(&SOMETIMES, Stage::Descend, Inside::Full, protection);
        assert_eq!(ask(Protection::None), Consent::Given);
        assert_eq!(ask(Protection::Protected), Consent::Ask(PromptReason::Descend));
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
