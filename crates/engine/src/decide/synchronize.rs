//! Decides what happens to an entry whose name in the target is taken, where the target is to become the same as
//! the source. The rules are those of rsync(1).

use haul_sys::fs::{Kind, Stat};

use super::facts::{Action, Reason, Source, Taken};
use crate::data::error::What;
use crate::data::request::{Policy, TargetLinks};
use crate::data::synchronize::{Synchronize, is_same_time};

/// Returns the action for an entry whose target name is taken. No link in the target is followed, except to a
/// directory where the policy says so. A file is never written to: a new one replaces it.
#[must_use]
pub(super) fn decide(
    found: &Source<'_>,
    taken: &Taken,
    rules: &Synchronize,
    policy: &Policy,
) -> Action {
    let (source, target) = (found.stat, &taken.link);
    if found.is_directory() {
        return onto_directory(source, taken, rules, policy);
    }
    if taken.same_name {
        return Action::Refuse(What::SameFile);
    }
    if rules.only_missing {
        return Action::Skip(Reason::Exists);
    }
    if target.kind() == Kind::Directory {
        return Action::Clear;
    }
    if rules.keeps_newer && is_newer(source, taken, rules) {
        return Action::Skip(Reason::Newer);
    }
    if taken.is_in_basis {
        return Action::Replace;
    }
    let are_files = [source, target].iter().all(|stat| stat.kind() == Kind::Regular);
    let replace = if rules.in_place && are_files { Action::Overwrite } else { Action::Replace };
    let Some(compared) = taken.compared.filter(|compared| compared.is_same) else {
        return replace;
    };
    let changes = compared.changes;
    match changes.are_of_attributes() {
        false => Action::Skip(Reason::Same),
        // The other names of the file may belong to sources with other attributes, or to a snapshot.
        true if target.nlink > 1 => Action::Replace,
        true => Action::Adjust,
    }
}

fn onto_directory(source: &Stat, taken: &Taken, rules: &Synchronize, policy: &Policy) -> Action {
    let reached = match policy.target_links {
        TargetLinks::KeepDirectory => taken.reached().unwrap_or(taken.link),
        TargetLinks::Strict | TargetLinks::WriteDangling => taken.link,
    };
    match reached.kind() {
        Kind::Directory if source.same_file(&reached) => Action::Refuse(What::SameFile),
        Kind::Directory => Action::Merge,
        _ if rules.only_missing => Action::Skip(Reason::Exists),
        _ => Action::Replace,
    }
}

/// Returns whether both are regular files, and the target is the newer one.
fn is_newer(source: &Stat, taken: &Taken, rules: &Synchronize) -> bool {
    let target = &taken.link;
    let are_files = [source, target].iter().all(|stat| stat.kind() == Kind::Regular);
    let key = |stat: &Stat| (stat.mtime.seconds, stat.mtime.nanoseconds);
    are_files
        && match rules.window_s() {
            0 => {
                key(target) > key(source)
                    && !is_same_time(source.mtime, target.mtime, 0, taken.step_ns)
            }
            // As in rsync: the source has to be newer by at least the window.
            window => source.mtime.seconds.saturating_sub(target.mtime.seconds) < window,
        }
}

#[cfg(test)]
mod tests {
    use super::super::facts::{Facts, Role, TargetName};
    use super::super::tests::taken as taken_by;
    use super::super::{Decision, classify};
    use super::*;
    use crate::data::literals::{DIRECTORY, FIFO, FILE, LINK, stat};
    use crate::data::request::{Changes, Recursion, TimeChange};
    use crate::data::synchronize::Compared;

    fn policy(rules: Synchronize) -> Policy {
        Policy::archive().recursion(Recursion::Yes).synchronize(Some(rules))
    }

    fn taken(link: Stat, compared: Option<Compared>) -> Taken {
        Taken { compared, ..taken_by(link) }
    }

    fn action(source: &Stat, taken: &Taken, rules: Synchronize) -> Action {
        let source = Source::new(source, source, Role::Inside);
        let facts = Facts { source, target: TargetName::Taken(taken) };
        let Decision { action, ask } = classify(&facts, &policy(rules));
        assert!(!ask);
        action
    }

    const SAME: Compared = Compared { is_same: true, changes: NONE };
    const NONE: Changes = Changes { is_new: false, ..Changes::NEW };

    fn differing(changes: Changes) -> Option<Compared> {
        Some(Compared { is_same: true, changes })
    }

    #[test]
    fn kinds_that_differ_are_replaced_and_directories_make_way() {
        let rules = Synchronize::default;
        for (source, target, expected) in [
            (FILE, LINK, Action::Replace),
            (LINK, FILE, Action::Replace),
            (FIFO, FILE, Action::Replace),
            (DIRECTORY, FILE, Action::Replace),
            (DIRECTORY, LINK, Action::Replace),
            (FILE, DIRECTORY, Action::Clear),
            (LINK, DIRECTORY, Action::Clear),
            (DIRECTORY, DIRECTORY, Action::Merge),
        ] {
            let there = taken(stat(2, target), None);
            assert_eq!(
                action(&stat(1, source), &there, rules()),
                expected,
                "{source:o} {target:o}"
            );
            if expected != Action::Merge {
                let missing = rules().only_missing(true);
                let skipped = Action::Skip(Reason::Exists);
                assert_eq!(action(&stat(1, source), &there, missing), skipped, "{source:o}");
            }
        }
    }

    #[test]
    fn what_is_the_same_stays_or_gets_attributes_alone() {
        let (source, target) = (stat(1, FILE), stat(2, FILE));
        let of = |compared| action(&source, &taken(target, compared), Synchronize::default());
        assert_eq!(of(Some(SAME)), Action::Skip(Reason::Same));
        assert_eq!(of(Some(Compared { is_same: false, ..SAME })), Action::Replace);
        assert_eq!(of(differing(Changes { mode: true, ..NONE })), Action::Adjust);
        assert_eq!(of(differing(Changes { time: TimeChange::Kept, ..NONE })), Action::Adjust);
        assert_eq!(of(differing(Changes { acl: true, ..NONE })), Action::Adjust);
        assert_eq!(of(differing(Changes { xattr: true, mode: true, ..NONE })), Action::Adjust);
        // Other names of the file may belong to other sources.
        let several = Stat { nlink: 2, ..target };
        let mode = taken(several, differing(Changes { mode: true, ..NONE }));
        assert_eq!(action(&source, &mode, Synchronize::default()), Action::Replace);
        assert_eq!(
            action(&source, &taken(several, Some(SAME)), Synchronize::default()),
            Action::Skip(Reason::Same)
        );
    }

    #[test]
    fn a_newer_file_stays_if_asked_for() {
        let rules = || Synchronize::default().keeps_newer(true);
        let source = stat(1, FILE);
        let mut target = stat(2, FILE);
        target.mtime.seconds += 1;
        let differs = Some(Compared { is_same: false, ..SAME });
        let kept = Action::Skip(Reason::Newer);
        assert_eq!(action(&source, &taken(target, differs), rules()), kept);
        target.mtime.seconds -= 2;
        assert_eq!(action(&source, &taken(target, differs), rules()), Action::Replace);
        // Of another kind, it is in the way.
        let link = Stat { mode: LINK, ..target };
        assert_eq!(action(&source, &taken(link, None), rules()), Action::Replace);
    }

    #[test]
    fn one_entry_is_never_replaced_by_itself() {
        let file = stat(1, FILE);
        let itself = Taken { same_name: true, ..taken(file, Some(SAME)) };
        let refused = Action::Refuse(What::SameFile);
        assert_eq!(action(&file, &itself, Synchronize::default()), refused);
        let directory = stat(1, DIRECTORY);
        let itself = taken(directory, Some(SAME));
        assert_eq!(action(&directory, &itself, Synchronize::default()), refused);
    }

    #[test]
    fn kinds_that_are_not_asked_for_are_skipped() {
        let rules = Synchronize::default().symlinks(false).devices(false).specials(false);
        let policy = policy(rules);
        for (kind, expected) in [
            (LINK, Action::Skip(Reason::Kind)),
            (FIFO, Action::Skip(Reason::Kind)),
            (FILE, Action::Look),
            (DIRECTORY, Action::Look),
        ] {
            let found = stat(1, kind);
            let source = Source::new(&found, &found, Role::Inside);
            let facts = Facts { source, target: TargetName::Unseen };
            assert_eq!(classify(&facts, &policy).action, expected, "{kind:o}");
        }
    }

    #[test]
    fn nothing_is_made_where_only_existing_entries_are_wanted() {
        let found = stat(1, FILE);
        let source = Source::new(&found, &found, Role::Inside);
        let facts = Facts { source, target: TargetName::Free };
        let rules = Synchronize::default().only_existing(true);
        assert_eq!(classify(&facts, &policy(rules)).action, Action::Skip(Reason::Missing));
    }
}
