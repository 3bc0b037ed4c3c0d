//! Decides what happens to an entry; no other module makes this decision.
//!
//! The rules apply in the order in which the facts become known. A copy can therefore call the
//! function before it has looked at the target ([`Action::Look`]), and again afterwards.

use haul_sys::fs::Kind;

use super::facts::{
    Action, Decision, Facts, LinkText, Nesting, Occupant, Reason, Role, Seen, Source, Taken,
    TargetName,
};
use super::kinds::follows_links;
use super::taken;
use crate::data::error::What;
use crate::data::request::{Force, Make, Policy, Recursion};

/// Returns the decision for an entry.
#[must_use]
pub(crate) fn classify(facts: &Facts<'_>, policy: &Policy) -> Decision {
    if let Some(action) = left_out(&facts.source, policy) {
        return Decision::plain(action);
    }
    let taken = match facts.target {
        TargetName::Unseen => return Decision::plain(Action::Look),
        TargetName::Free if makes_nothing(policy) => {
            return Decision::plain(Action::Skip(Reason::Missing));
        }
        TargetName::Free if leads_nowhere(&facts.source, policy) => {
            return Decision::plain(Action::Refuse(What::RelativeLink));
        }
        TargetName::Free => return Decision::plain(Action::Create),
        TargetName::Taken(taken) => taken,
    };
    // A taken name in a directory that the run made belongs to another entry of the run with a
    // different spelling (on a target that ignores case), or to a file that another process put
    // there. The run never writes to that file.
    if taken.occupant == Occupant::OwnDirectory {
        return Decision::plain(Action::Collide);
    }
    if facts.source.seen == Seen::AsLink {
        return as_link(&facts.source, taken, policy);
    }
    on_taken(&facts.source, taken, policy)
}

/// Returns whether the run changes only entries that the target has.
pub(crate) fn makes_nothing(policy: &Policy) -> bool {
    policy.synchronize.as_ref().is_some_and(|rules| rules.only_existing)
}

/// Returns the action that does not depend on the target.
fn left_out(source: &Source<'_>, policy: &Policy) -> Option<Action> {
    // With backups, the run copies a file that is given twice again, and backs up the first copy.
    let counts = source.is_directory() || policy.backup.is_none();
    if source.seen == Seen::AsOperand && counts {
        return Some(Action::Skip(Reason::GivenTwice));
    }
    // As in rsync, only root makes devices: nothing makes way for one that cannot be made.
    let is_device = matches!(source.stat.kind(), Kind::BlockDevice | Kind::CharDevice);
    let makes_none = is_device && !policy.privileged;
    if policy
        .synchronize
        .as_ref()
        .is_some_and(|rules| makes_none || !rules.copies(source.stat.kind()))
    {
        return Some(Action::Skip(Reason::Kind));
    }
    if let Some(what) = refused_kind(source, policy) {
        return Some(Action::Refuse(what));
    }
    match source.nesting {
        Nesting::OperandTarget if source.role == Role::Inside => {
            Some(Action::Refuse(What::IntoItself))
        }
        Nesting::OwnAncestor if follows_links(policy) => Some(Action::Refuse(What::Cycle)),
        Nesting::Apart | Nesting::OwnAncestor | Nesting::OperandTarget => None,
    }
}

/// Returns whether the new name would be a symbolic link that does not lead to the source (`-s`).
fn leads_nowhere(source: &Source<'_>, policy: &Policy) -> bool {
    policy.make == Make::SymbolicLink
        && !source.is_directory()
        && source.link_text == LinkText::Relative
}

fn refused_kind(source: &Source<'_>, policy: &Policy) -> Option<What> {
    let kind = source.stat.kind();
    match (source.role, kind) {
        (Role::Leading, Kind::Directory) => None,
        (Role::Leading, _) => Some(What::NotADirectory),
        (_, Kind::Unknown) => Some(What::UnknownKind),
        (_, Kind::Directory) if policy.recursion == Recursion::No && !makes_unread(policy) => {
            Some(What::OmittedDirectory)
        }
        _ => None,
    }
}

/// Returns whether directories are made that are not read.
fn makes_unread(policy: &Policy) -> bool {
    policy.synchronize.as_ref().is_some_and(|rules| rules.lists_directories)
}

/// Decides about a taken name by the rules for existing files, and then by the origin of the file.
fn on_taken(source: &Source<'_>, taken: &Taken, policy: &Policy) -> Decision {
    let Decision { action, ask } = taken::decide(source, taken, policy);
    let action = match action {
        Action::Overwrite if taken.occupant == Occupant::BytesOfAnother && separates(policy) => {
            Action::Replace
        }
        action => action,
    };
    let takes_the_name = matches!(
        action,
        Action::Overwrite
            | Action::Replace
            | Action::Adjust
            | Action::Clear
            | Action::BackUp
            | Action::Collide
            // A dangling link that another operand has just made.
            | Action::Refuse(What::DanglingTarget)
    );
    let refusal = match (taken.occupant, action) {
        (Occupant::NameOfAnother, _) if takes_the_name => {
            taken::over_just_created(source.stat.kind(), taken, policy)
        }
        (Occupant::BytesOfAnother, Action::Overwrite) => Some(What::SharesJustCreated),
        (_, Action::BackUp) if taken.backup_is_source => Some(What::BackupDestroysSource),
        _ if takes_the_name && leads_nowhere(source, policy) => Some(What::RelativeLink),
        _ => None,
    };
    let action = match (refusal, action) {
        (Some(what), _) => Action::Refuse(what),
        (None, Action::BackUp) if taken.backup_is_made => Action::RefuseBackup,
        (None, action) => action,
    };
    Decision { action, ask }
}

/// Returns whether `-f` makes a new file of a name that leads to the bytes of another entry, as it does of a
/// file that cannot be opened.
pub(crate) fn separates(policy: &Policy) -> bool {
    policy.force == Force::IfUnopenable && policy.make == Make::Copy
}

/// Decides about a taken name for an entry that is to become another name of a file that the run
/// has already copied. The run removes the existing file even with `-u` when that file is newer, as
/// GNU cp does: the names belong to one file.
fn as_link(source: &Source<'_>, taken: &Taken, policy: &Policy) -> Decision {
    // The name may already belong to the same file, from an earlier run.
    if taken.occupant == Occupant::SameLink {
        return Decision::plain(Action::Create);
    }
    let decision = on_taken(source, taken, policy);
    match decision.action {
        Action::Skip(reason) if reason.keeps_the_copy() => {
            Decision { action: Action::Replace, ..decision }
        }
        Action::Adjust => Decision { action: Action::Replace, ..decision },
        _ => decision,
    }
}
