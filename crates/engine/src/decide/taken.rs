//! Decides what happens to an entry whose name in the target is taken.
//!
//! The rules are those of GNU cp (`copy_internal`, `same_file_ok`), in the order in which it
//! applies them, because the first rule that matches determines the message.

use haul_sys::Errno;
use haul_sys::fs::{Follow, Kind, Stat};

use super::facts::{Action, Decision, Reason, Source, Taken};
use super::kinds::follows;
use super::synchronize;
use crate::data::error::What;
use crate::data::request::{
    BackupKind, Consent, Existing, Force, Links, Make, Policy, TargetLinks,
};
use crate::names::timestamp_precision::is_older;

/// Returns the decision for an entry whose target name is taken.
#[must_use]
pub(super) fn decide(found: &Source<'_>, taken: &Taken, policy: &Policy) -> Decision {
    if let Some(rules) = &policy.synchronize {
        return Decision::plain(synchronize::decide(found, taken, rules, policy));
    }
    let source = found.stat.kind();
    let Some(target) = seen_target(source, taken, policy) else {
        return Decision::plain(through_dangling(taken, policy));
    };
    match same_file(found, taken, &target, policy) {
        Same::Fine => {}
        Same::Nothing => return Decision::plain(Action::Skip(Reason::SameFile)),
        Same::Refused => return Decision::plain(Action::Refuse(What::SameFile)),
    }
    if source == Kind::Directory {
        return Decision::plain(onto_directory(&target, taken, policy));
    }
    match policy.existing {
        // `-n` wins over `-u`, as in GNU cp.
        Existing::Older if policy.consent == Consent::Denied => {
            return Decision::plain(Action::Skip(Reason::Exists));
        }
        Existing::Keep => return Decision::plain(Action::Skip(Reason::Exists)),
        Existing::KeepAndFail => return Decision::plain(Action::Refuse(What::NotReplacing)),
        Existing::Older
            if !is_older(target.mtime, found.stat.mtime, taken.step_ns) && !taken.is_cut_short =>
        {
            return Decision::plain(Action::Skip(Reason::NotOlder));
        }
        Existing::Older | Existing::Overwrite => {}
    }
    let ask = match policy.consent {
        Consent::Denied => return Decision::plain(Action::Skip(Reason::Exists)),
        Consent::Ask => true,
        Consent::NotNeeded => false,
    };
    if target.kind() == Kind::Directory {
        return Decision { action: Action::Refuse(What::OverDirectory), ask };
    }
    Decision { action: over_file(found, &target, policy), ask }
}

/// Returns whether the run copies links at this place as links.
fn keeps_links(found: &Source<'_>, policy: &Policy) -> bool {
    follows(found.role, policy) == Follow::No
}

/// Returns the target as the rules see it: the link itself, or its referent.
fn seen_target(source: Kind, taken: &Taken, policy: &Policy) -> Option<Stat> {
    if is_seen_itself(source, policy) { Some(taken.link) } else { taken.reached() }
}

/// Returns whether the rules look at a link in the target itself, not at its referent.
fn is_seen_itself(source: Kind, policy: &Policy) -> bool {
    (source != Kind::Regular
        && (!policy.reads_specials() || matches!(source, Kind::Directory | Kind::Symlink)))
        || matches!(policy.make, Make::HardLink | Make::SymbolicLink)
        || policy.force == Force::First
        || policy.backup.is_some()
}

fn through_dangling(taken: &Taken, policy: &Policy) -> Action {
    match (taken.unreachable, policy.force) {
        (None, _) => {}
        (Some(Errno::LOOP), Force::IfUnopenable | Force::First) => return Action::Replace,
        (Some(_), _) => return Action::Refuse(What::StatTarget),
    }
    match policy.target_links {
        TargetLinks::WriteDangling => Action::Overwrite,
        TargetLinks::Strict | TargetLinks::KeepDirectory => Action::Refuse(What::DanglingTarget),
    }
}

fn onto_directory(target: &Stat, taken: &Taken, policy: &Policy) -> Action {
    if target.kind() == Kind::Directory {
        return Action::Merge;
    }
    let leads_to_directory =
        taken.followed.is_some_and(|followed| followed.kind() == Kind::Directory);
    if policy.target_links == TargetLinks::KeepDirectory && leads_to_directory {
        return Action::Merge;
    }
    Action::Refuse(What::OverNonDirectory)
}

fn over_file(found: &Source<'_>, target: &Stat, policy: &Policy) -> Action {
    let is_regular = found.stat.kind() == Kind::Regular;
    if policy.backup.is_some() {
        return Action::BackUp;
    }
    if policy.force == Force::First {
        return Action::Replace;
    }
    if policy.make == Make::Attributes {
        return if is_regular { Action::Overwrite } else { Action::Collide };
    }
    let splits_names = policy.preserve.links == Links::Keep && target.nlink > 1;
    let cannot_be_written = keeps_links(found, policy) && !is_regular;
    if splits_names || cannot_be_written {
        return Action::Replace;
    }
    if matches!(policy.make, Make::HardLink | Make::SymbolicLink) {
        return if policy.force == Force::No { Action::Collide } else { Action::Replace };
    }
    if !is_regular && !policy.reads_specials() {
        return Action::Collide;
    }
    Action::Overwrite
}

enum Same {
    Fine,
    Nothing,
    Refused,
}

/// Returns whether the run may proceed although both names may belong to one file (GNU's
/// `same_file_ok`).
fn same_file(found: &Source<'_>, taken: &Taken, target: &Stat, policy: &Policy) -> Same {
    let same = found.stat.same_file(target);
    if same && policy.make == Make::HardLink {
        return Same::Nothing;
    }
    let source_is_link = found.link.kind() == Kind::Symlink;
    let target_is_link = taken.link.kind() == Kind::Symlink;
    if keeps_links(found, policy) {
        if source_is_link && target_is_link {
            return two_links(taken, same, policy);
        }
    } else {
        if !same {
            return Same::Fine;
        }
        if source_is_link && target_is_link && policy.force == Force::First {
            return Same::Fine;
        }
    }
    let same_link = found.link.same_file(&taken.link);
    // A backup keeps the data. The run therefore refuses only a name that is both source and
    // target, and a file whose link would lead to its own backup.
    if policy.backup.is_some() {
        let onto_own_referent = !keeps_links(found, policy) && source_is_link && !target_is_link;
        let is_refused = if same_link { taken.same_name } else { onto_own_referent };
        return if is_refused { Same::Refused } else { Same::Fine };
    }
    if policy.force == Force::First
        && (target_is_link || (same_link && taken.link.nlink > 1 && !taken.same_name))
    {
        return Same::Fine;
    }
    if !source_is_link && !target_is_link {
        if !same_link {
            return Same::Fine;
        }
        if policy.make == Make::HardLink {
            return Same::Nothing;
        }
    }
    if policy.make == Make::SymbolicLink && target_is_link {
        return Same::Fine;
    }
    if keeps_links(found, policy) {
        return what_links_lead_to(found, taken, policy);
    }
    Same::Refused
}

/// Returns whether one link may replace another: always, unless both are the same directory entry.
const fn two_links(taken: &Taken, same: bool, policy: &Policy) -> Same {
    if taken.same_name {
        return Same::Refused;
    }
    // Both names belong to one link: with a backup the run makes the link again, without one it
    // does nothing.
    if same && policy.backup.is_none() { Same::Nothing } else { Same::Fine }
}

/// Returns whether the run may proceed when it does not follow links: the copy of a link must not
/// replace the link's referent, nor the reverse.
fn what_links_lead_to(found: &Source<'_>, taken: &Taken, policy: &Policy) -> Same {
    let source = found.followed.unwrap_or(*found.link);
    let Some(target) = taken.reached() else { return Same::Fine };
    if found.followed.is_none() && found.link.kind() == Kind::Symlink {
        return Same::Fine;
    }
    if !source.same_file(&target) {
        return Same::Fine;
    }
    if policy.make == Make::HardLink {
        let target_is_link = taken.link.kind() == Kind::Symlink;
        return if target_is_link { Same::Fine } else { Same::Nothing };
    }
    Same::Refused
}

/// Decides about a name that an operand of this run already has, for a second operand.
pub(super) fn over_just_created(source: Kind, taken: &Taken, policy: &Policy) -> Option<What> {
    if source == Kind::Directory
        || taken.link.kind() == Kind::Directory
        || !protects_just_made(policy)
    {
        return None;
    }
    let is_followed = taken.link.kind() == Kind::Symlink && !is_seen_itself(source, policy);
    Some(if is_followed { What::ThroughJustCreated } else { What::JustCreated })
}

/// Returns whether the run refuses to overwrite the first operand's file for a second operand: a
/// numbered backup keeps both.
fn protects_just_made(policy: &Policy) -> bool {
    policy.backup.as_ref().is_none_or(|backup| backup.kind != BackupKind::Numbered)
}
