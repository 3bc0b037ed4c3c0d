//! Decides what happens to an operand whose target exists: a pure function with GNU mv's rules in
//! GNU's order.

use haul_sys::fs::{Kind, Stat};

use super::request::{Mode, Policy};
use crate::data::error::What;
use crate::data::request::{BackupKind, Existing};
use crate::names::timestamp_precision;

/// Facts about an operand and its target.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    /// State of the source itself.
    pub(super) source: Stat,
    /// State of the target itself.
    pub(super) target: Stat,
    /// State of the file that the source refers to, if the source is a symbolic link that
    /// resolves.
    pub(super) followed: Option<Stat>,
    /// Whether source and target are one directory entry.
    pub(super) same_name: bool,
    /// Whether the source is a symbolic link to the target's directory entry.
    pub(super) leads_to_target: bool,
    /// Whether this run moved another source to the target's name.
    pub(super) just_made: bool,
    /// Precision of the timestamps of the target's file system, in nanoseconds.
    pub(super) step_ns: i128,
    /// Whether `-u` meets an incomplete copy of the source: newer, of another size, and without bytes of its own.
    pub(super) is_cut_short: bool,
    /// Whether the source's last component is `.` or `..`.
    pub(super) is_dots: bool,
}

/// Action for an operand, after the user has agreed if a question was necessary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// The target is replaced or exchanged.
    Take,
    /// The target is renamed to its backup name first.
    BackUp,
    /// Source and target stay.
    Refuse(What),
}

/// Returns the result for an operand that needs no question: the target stays by policy, is the
/// source itself, or is not older. Returns `None` for all other operands.
pub(super) fn before_asking(pair: &Pair, policy: &Policy) -> Option<Result<(), What>> {
    if policy.keeps_existing() {
        return Some(match policy.existing {
            Existing::KeepAndFail => Err(What::NotReplacing),
            _ => Ok(()),
        });
    }
    if !is_safe(pair, policy) {
        return Some(Err(What::SameFile));
    }
    let is_kept = policy.existing == Existing::Older
        && pair.source.kind() != Kind::Directory
        && !is_older(pair)
        && !pair.is_cut_short;
    is_kept.then_some(Ok(()))
}

/// Returns the action for an operand, provided that the user does not object.
pub(super) fn decide(pair: &Pair, policy: &Policy) -> Action {
    let source_is_directory = pair.source.kind() == Kind::Directory;
    let target_is_directory = pair.target.kind() == Kind::Directory;
    let exchanges = policy.mode == Mode::Exchange;
    if source_is_directory != target_is_directory && policy.backup.is_none() && !exchanges {
        return Action::Refuse(if source_is_directory {
            What::OverNonDirectory
        } else {
            What::OverDirectory
        });
    }
    let numbers = policy.backup.as_ref().is_some_and(|backup| backup.kind == BackupKind::Numbered);
    if !target_is_directory && pair.just_made && !numbers && !exchanges {
        return Action::Refuse(What::JustCreated);
    }
    if policy.backup.is_some() && !pair.is_dots { Action::BackUp } else { Action::Take }
}

/// Compares times as GNU does for `-u`: across file systems with the precision of the target's.
pub(super) const fn is_older(pair: &Pair) -> bool {
    let step_ns = if pair.source.dev == pair.target.dev { 1 } else { pair.step_ns };
    timestamp_precision::is_older(pair.target.mtime, pair.source.mtime, step_ns)
}

/// GNU's `same_file_ok` for a move: returns whether no data is lost although both may be one file.
fn is_safe(pair: &Pair, policy: &Policy) -> bool {
    let same = pair.source.same_file(&pair.target);
    let source_is_link = pair.source.kind() == Kind::Symlink;
    let target_is_link = pair.target.kind() == Kind::Symlink;
    let backs_up = policy.backup.is_some();
    if source_is_link && target_is_link {
        return !pair.same_name && (backs_up || !same);
    }
    if backs_up {
        return !same || !pair.same_name;
    }
    if target_is_link {
        return true;
    }
    // Renaming one name of a file to another has no effect, and a concurrent rename can lose both
    // names.
    if same && pair.target.nlink > 1 && !pair.same_name {
        return false;
    }
    if !source_is_link {
        return !same;
    }
    let Some(followed) = pair.followed else { return true };
    if !followed.same_file(&pair.target) {
        return true;
    }
    // The source is a link, and the target is one of several names of a file. The move is safe if
    // the link refers to another of them.
    pair.target.nlink > 1 && !pair.leads_to_target
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::literals::{DIRECTORY, FILE, LINK, stat};
    use crate::data::request::{Backup, Existing};

    fn pair(source: Stat, target: Stat) -> Pair {
        Pair {
            source,
            target,
            followed: None,
            same_name: false,
            leads_to_target: false,
            just_made: false,
            step_ns: 1,
            is_cut_short: false,
            is_dots: false,
        }
    }

    fn plain() -> Policy {
        Policy::plain(0o022)
    }

    fn with_backup(kind: BackupKind) -> Policy {
        Policy { backup: Some(Backup { kind, suffix: b"~".to_vec() }), ..plain() }
    }

    #[test]
    fn a_file_takes_a_files_place_and_a_directory_a_directorys() {
        for mode in [FILE, DIRECTORY, LINK] {
            let pair = pair(stat(1, mode), stat(2, mode));
            assert_eq!(before_asking(&pair, &plain()), None);
            assert_eq!(decide(&pair, &plain()), Action::Take);
        }
    }

    #[test]
    fn directories_and_files_take_each_others_place_only_by_backup_or_exchange() {
        let onto_file = pair(stat(1, DIRECTORY), stat(2, FILE));
        assert_eq!(decide(&onto_file, &plain()), Action::Refuse(What::OverNonDirectory));
        let onto_directory = pair(stat(1, FILE), stat(2, DIRECTORY));
        assert_eq!(decide(&onto_directory, &plain()), Action::Refuse(What::OverDirectory));
        assert_eq!(decide(&onto_file, &with_backup(BackupKind::Simple)), Action::BackUp);
        let exchange = Policy { mode: Mode::Exchange, ..plain() };
        assert_eq!(decide(&onto_file, &exchange), Action::Take);
    }

    #[test]
    fn names_of_one_file_are_never_moved_onto_each_other() {
        let twin = Stat { nlink: 2, ..stat(1, FILE) };
        assert_eq!(before_asking(&pair(twin, twin), &plain()), Some(Err(What::SameFile)));
        let itself = Pair { same_name: true, ..pair(stat(1, FILE), stat(1, FILE)) };
        assert_eq!(before_asking(&itself, &plain()), Some(Err(What::SameFile)));
        assert_eq!(before_asking(&pair(twin, twin), &with_backup(BackupKind::Simple)), None);
    }

    #[test]
    fn a_link_replaces_what_it_leads_to_only_if_that_has_another_name() {
        let file = Stat { nlink: 2, ..stat(1, FILE) };
        let onto_other = Pair { followed: Some(file), ..pair(stat(9, LINK), file) };
        assert_eq!(before_asking(&onto_other, &plain()), None);
        let onto_referent = Pair { leads_to_target: true, ..onto_other };
        assert_eq!(before_asking(&onto_referent, &plain()), Some(Err(What::SameFile)));
        let file = stat(1, FILE);
        let last_name = Pair { followed: Some(file), ..pair(stat(9, LINK), file) };
        assert_eq!(before_asking(&last_name, &plain()), Some(Err(What::SameFile)));
    }

    #[test]
    fn update_keeps_what_is_not_older() {
        let older = Policy { existing: Existing::Older, ..plain() };
        let mut files = pair(stat(1, FILE), stat(2, FILE));
        assert_eq!(before_asking(&files, &older), Some(Ok(())));
        let unfinished = Pair { is_cut_short: true, ..files };
        assert_eq!(before_asking(&unfinished, &older), None);
        files.target.mtime.nanoseconds = 0;
        assert_eq!(before_asking(&files, &older), None);
        // Across file systems the target may be unable to store the fraction.
        files.target.dev = 2;
        assert_eq!(before_asking(&files, &older), None);
        files.step_ns = 1_000_000_000;
        assert_eq!(before_asking(&files, &older), Some(Ok(())));
        files.target.dev = 1;
        assert_eq!(before_asking(&files, &older), None);
        let none = Policy { existing: Existing::KeepAndFail, ..plain() };
        assert_eq!(before_asking(&files, &none), Some(Err(What::NotReplacing)));
    }

    #[test]
    fn what_was_just_moved_is_kept_unless_backups_have_numbers() {
        let made = Pair { just_made: true, ..pair(stat(1, FILE), stat(2, FILE)) };
        assert_eq!(decide(&made, &plain()), Action::Refuse(What::JustCreated));
        let simple = with_backup(BackupKind::Simple);
        assert_eq!(decide(&made, &simple), Action::Refuse(What::JustCreated));
        assert_eq!(decide(&made, &with_backup(BackupKind::Numbered)), Action::BackUp);
    }
}
