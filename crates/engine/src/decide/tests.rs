//! Tests the decisions of [`classify`] with literals: each rule, and the precedence between two
//! rules.

use haul_sys::Errno;
use haul_sys::fs::Stat;

use super::*;
use crate::data::error::What;
use crate::data::literals::{DIRECTORY, FIFO, FILE, LINK, stat};
use crate::data::request::{
    Backup, BackupKind, Borders, Consent, Dereference, Existing, Force, Links, Make, Policy,
    Preserve, Recursion, TargetLinks,
};

/// Returns a name that a file has taken before the run, of which nothing more is known.
pub(super) fn taken(link: Stat) -> Taken {
    Taken {
        link,
        followed: None,
        unreachable: None,
        step_ns: 1,
        same_name: false,
        is_cut_short: false,
        compared: None,
        is_in_basis: false,
        backup_is_source: false,
        backup_is_made: false,
        occupant: Occupant::Older,
    }
}

fn inside(stat: &Stat) -> Source<'_> {
    Source::new(stat, stat, Role::Inside)
}

/// Returns the action before the run looks at the target.
fn first(source: Source<'_>, policy: &Policy) -> Action {
    classify(&Facts { source, target: TargetName::Unseen }, policy).action
}

/// Returns the action for a taken name.
fn over(source: Source<'_>, taken: &Taken, policy: &Policy) -> Action {
    classify(&Facts { source, target: TargetName::Taken(taken) }, policy).action
}

fn action(found: &Stat, taken: &Taken, policy: &Policy) -> Action {
    over(inside(found), taken, policy)
}

fn recursive() -> Policy {
    Policy { recursion: Recursion::Yes, dereference: Dereference::Never, ..Policy::plain(0o022) }
}

#[test]
fn attributes_alone_never_replace_anything() {
    let policy = Policy { make: Make::Attributes, ..recursive() };
    assert_eq!(action(&stat(1, LINK), &taken(stat(2, FILE)), &policy), Action::Collide);
}

#[test]
fn a_file_over_a_file_is_overwritten() {
    let answer = action(&stat(1, FILE), &taken(stat(2, FILE)), &recursive());
    assert_eq!(answer, Action::Overwrite);
}

#[test]
fn one_inode_is_the_same_file_under_any_name() {
    let answer = action(&stat(1, FILE), &taken(stat(1, FILE)), &recursive());
    assert_eq!(answer, Action::Refuse(What::SameFile));
    let plain = Policy::plain(0);
    let link = Taken { followed: Some(stat(1, FILE)), ..taken(stat(2, LINK)) };
    assert_eq!(action(&stat(1, FILE), &link, &plain), Action::Refuse(What::SameFile));
}

#[test]
fn directories_merge_and_never_replace_or_are_replaced() {
    let policy = recursive();
    let (file, directory) = (stat(1, FILE), stat(2, DIRECTORY));
    assert_eq!(action(&stat(3, DIRECTORY), &taken(directory), &policy), Action::Merge);
    let over_directory = action(&file, &taken(directory), &policy);
    assert_eq!(over_directory, Action::Refuse(What::OverDirectory));
    let over_file = action(&directory, &taken(file), &policy);
    assert_eq!(over_file, Action::Refuse(What::OverNonDirectory));
}

#[test]
fn a_link_to_a_directory_is_no_directory_unless_asked() {
    let link = Taken { followed: Some(stat(3, DIRECTORY)), ..taken(stat(2, LINK)) };
    let source = stat(1, DIRECTORY);
    let strict = recursive();
    assert_eq!(action(&source, &link, &strict), Action::Refuse(What::OverNonDirectory));
    let keep = Policy { target_links: TargetLinks::KeepDirectory, ..strict };
    assert_eq!(action(&source, &link, &keep), Action::Merge);
}

#[test]
fn nothing_is_written_through_a_dangling_link() {
    let dangling = taken(stat(2, LINK));
    let answer = action(&stat(1, FILE), &dangling, &Policy::plain(0));
    assert_eq!(answer, Action::Refuse(What::DanglingTarget));
}

#[test]
fn links_and_fifos_replace_what_is_there() {
    let policy = recursive();
    assert_eq!(action(&stat(1, LINK), &taken(stat(2, FILE)), &policy), Action::Replace);
    assert_eq!(action(&stat(1, FIFO), &taken(stat(2, FILE)), &policy), Action::Replace);
}

#[test]
fn update_compares_times_at_the_targets_resolution() {
    let policy = Policy { existing: Existing::Older, ..recursive() };
    let mut target = stat(2, FILE);
    let source = stat(1, FILE);
    assert_eq!(action(&source, &taken(target), &policy), Action::Skip(Reason::NotOlder));
    target.mtime.nanoseconds = 4;
    assert_eq!(action(&source, &taken(target), &policy), Action::Overwrite);
    target.mtime.nanoseconds = 0;
    assert_eq!(action(&source, &taken(target), &policy), Action::Overwrite);
    let coarse = Taken { step_ns: 1_000_000_000, ..taken(target) };
    assert_eq!(action(&source, &coarse, &policy), Action::Skip(Reason::NotOlder));
}

#[test]
fn update_replaces_what_a_killed_run_has_left() {
    let policy = Policy { existing: Existing::Older, ..recursive() };
    let (source, target) = (stat(1, FILE), stat(2, FILE));
    let unfinished = Taken { is_cut_short: true, ..taken(target) };
    assert_eq!(action(&source, &unfinished, &policy), Action::Overwrite);
    let never = Policy { consent: Consent::Denied, ..policy };
    assert_eq!(action(&source, &unfinished, &never), Action::Skip(Reason::Exists));
}

#[test]
fn a_link_that_cannot_be_followed_is_replaced_as_a_link() {
    let unreachable = |errno| Taken { unreachable: Some(errno), ..taken(stat(2, LINK)) };
    let policy = recursive();
    for errno in [Errno::NOTDIR, Errno::ACCESS, Errno::NAMETOOLONG, Errno::LOOP] {
        let link = unreachable(errno);
        assert_eq!(action(&stat(1, LINK), &link, &policy), Action::Replace, "{errno:?}");
        // A file would be written through it.
        let refused = Action::Refuse(What::StatTarget);
        assert_eq!(action(&stat(1, FILE), &link, &policy), refused, "{errno:?}");
        assert_eq!(link.errno_of(What::StatTarget), Some(errno));
        let first = Policy { force: Force::First, ..policy.clone() };
        assert_eq!(action(&stat(1, FILE), &link, &first), Action::Replace, "{errno:?}");
    }
    let forced = Policy { force: Force::IfUnopenable, ..policy };
    assert_eq!(action(&stat(1, FILE), &unreachable(Errno::LOOP), &forced), Action::Replace);
}

#[test]
fn a_link_to_the_source_is_refused_after_the_rules_for_a_taken_name() {
    let policy = Policy { make: Make::SymbolicLink, ..Policy::plain(0) };
    let file = stat(1, FILE);
    let source =
        Source { link_text: LinkText::Relative, ..Source::new(&file, &file, Role::Operand) };
    let refused = Action::Refuse(What::RelativeLink);
    assert_eq!(first(source, &policy), Action::Look);
    let free = Facts { source, target: TargetName::Free };
    assert_eq!(classify(&free, &policy).action, refused);
    assert_eq!(over(source, &taken(stat(2, FILE)), &policy), refused);
    for (existing, expected) in [
        (Existing::Keep, Action::Skip(Reason::Exists)),
        (Existing::Older, Action::Skip(Reason::NotOlder)),
        (Existing::KeepAndFail, Action::Refuse(What::NotReplacing)),
    ] {
        let policy = Policy { existing, ..policy.clone() };
        assert_eq!(over(source, &taken(stat(2, FILE)), &policy), expected);
    }
}

#[test]
fn a_backup_never_replaces_what_was_just_made() {
    let backup = Backup { kind: BackupKind::Simple, suffix: b"~".to_vec() };
    let policy = Policy { backup: Some(backup), ..recursive() };
    let made = Taken { backup_is_made: true, ..taken(stat(2, FILE)) };
    assert_eq!(action(&stat(1, FILE), &made, &policy), Action::RefuseBackup);
    assert_eq!(action(&stat(1, FILE), &taken(stat(2, FILE)), &policy), Action::BackUp);
}

#[test]
fn a_file_is_narrow_until_its_owner_is_right() {
    let policy = recursive();
    assert_eq!(creation_mode(&stat(1, 0o104_755), &policy, false), 0o755);
    assert_eq!(creation_mode(&stat(1, 0o104_755), &policy, true), 0o700);
}

#[test]
fn a_directory_that_has_a_default_acl_gets_no_more_writing_than_the_umask_grants() {
    for (umask, expected) in [(0o022, 0o1755), (0o002, 0o1775), (0o077, 0o1755), (0, 0o1777)] {
        let policy = Policy { recursion: Recursion::Yes, ..Policy::plain(umask) };
        assert_eq!(creation_mode(&stat(1, 0o041_777), &policy, false), expected, "{umask:o}");
    }
}

#[test]
fn a_kind_that_cannot_be_copied_is_refused_before_the_target_is_looked_at() {
    let (file, directory, unknown) = (stat(1, FILE), stat(1, DIRECTORY), stat(1, 0));
    let plain = Policy::plain(0);
    assert_eq!(first(inside(&file), &plain), Action::Look);
    assert_eq!(first(inside(&directory), &plain), Action::Refuse(What::OmittedDirectory));
    assert_eq!(first(inside(&directory), &recursive()), Action::Look);
    assert_eq!(first(inside(&unknown), &recursive()), Action::Refuse(What::UnknownKind));
    let leading = |stat| Source { role: Role::Leading, ..inside(stat) };
    assert_eq!(first(leading(&directory), &plain), Action::Look);
    assert_eq!(first(leading(&file), &plain), Action::Refuse(What::NotADirectory));
}

#[test]
fn a_border_empties_directories_alone() {
    let stay = Policy { borders: Borders::Stay, ..recursive() };
    assert_eq!(first(inside(&stat(1, FILE)), &stay), Action::Look);
    assert_eq!(first(inside(&stat(1, DIRECTORY)), &stay), Action::Look);
    assert!(!is_entered(1, 2, &stay) && is_entered(1, 1, &stay));
    assert!(is_entered(1, 2, &recursive()));
}

#[test]
fn links_are_followed_where_the_policy_says_so() {
    use haul_sys::fs::Follow::{No, Yes};
    for (dereference, operand, inside) in [
        (Dereference::Never, No, No),
        (Dereference::Operands, Yes, No),
        (Dereference::Always, Yes, Yes),
    ] {
        let policy = Policy { dereference, ..recursive() };
        assert_eq!(follows(Role::Operand, &policy), operand, "{dereference:?}");
        assert_eq!(follows(Role::Inside, &policy), inside, "{dereference:?}");
        assert_eq!(follows(Role::Leading, &policy), Yes, "{dereference:?}");
    }
}

#[test]
fn a_directory_is_never_copied_into_itself() {
    let directory = stat(1, DIRECTORY);
    let lying = |nesting, role| Source { nesting, role, ..inside(&directory) };
    let policy = recursive();
    let answer = first(lying(Nesting::OperandTarget, Role::Inside), &policy);
    assert_eq!(answer, Action::Refuse(What::IntoItself));
    assert_eq!(first(lying(Nesting::OperandTarget, Role::Operand), &policy), Action::Look);
    // A tree contains itself only through links.
    assert_eq!(first(lying(Nesting::OwnAncestor, Role::Inside), &policy), Action::Look);
    let follow = Policy { dereference: Dereference::Always, ..policy };
    let answer = first(lying(Nesting::OwnAncestor, Role::Inside), &follow);
    assert_eq!(answer, Action::Refuse(What::Cycle));
}

#[test]
fn an_operand_that_is_given_twice_is_left_out_unless_the_first_copy_is_backed_up() {
    let (file, directory) = (stat(1, FILE), stat(1, DIRECTORY));
    let again = |stat| Source { role: Role::Operand, seen: Seen::AsOperand, ..inside(stat) };
    let policy = recursive();
    assert_eq!(first(again(&file), &policy), Action::Skip(Reason::GivenTwice));
    assert_eq!(first(again(&directory), &policy), Action::Skip(Reason::GivenTwice));
    let backup = Some(Backup { kind: BackupKind::Numbered, suffix: Vec::new() });
    let backed_up = Policy { backup, ..policy };
    assert_eq!(first(again(&file), &backed_up), Action::Look);
    assert_eq!(first(again(&directory), &backed_up), Action::Skip(Reason::GivenTwice));
}

#[test]
fn a_relative_link_is_made_only_beside_its_source() {
    let (file, directory) = (stat(1, FILE), stat(1, DIRECTORY));
    let relative = |stat| Source { link_text: LinkText::Relative, ..inside(stat) };
    let policy = Policy { make: Make::SymbolicLink, ..recursive() };
    let created = |source, policy: &Policy| {
        classify(&Facts { source, target: TargetName::Free }, policy).action
    };
    assert_eq!(created(relative(&file), &policy), Action::Refuse(What::RelativeLink));
    assert_eq!(created(inside(&file), &policy), Action::Create);
    assert_eq!(created(relative(&directory), &policy), Action::Create);
    assert_eq!(created(relative(&file), &recursive()), Action::Create);
}

#[test]
fn what_another_operand_has_made_stays_unless_backups_have_numbers() {
    let (one, two) = (stat(1, FILE), stat(2, FILE));
    let named = Taken { occupant: Occupant::NameOfAnother, ..taken(two) };
    let policy = recursive();
    assert_eq!(action(&one, &named, &policy), Action::Refuse(What::JustCreated));
    let directories = Taken { link: stat(2, DIRECTORY), ..named };
    assert_eq!(action(&stat(1, DIRECTORY), &directories, &policy), Action::Merge);
    let backed_up =
        |kind| Policy { backup: Some(Backup { kind, suffix: Vec::new() }), ..recursive() };
    let simple = action(&one, &named, &backed_up(BackupKind::Simple));
    assert_eq!(simple, Action::Refuse(What::JustCreated));
    assert_eq!(action(&one, &named, &backed_up(BackupKind::Numbered)), Action::BackUp);
    // A link that another operand made has its own error, dangling or not.
    let link = Taken { link: stat(3, LINK), ..named };
    assert_eq!(action(&one, &link, &policy), Action::Refuse(What::ThroughJustCreated));
    // The bytes of the other operand may be reachable under another name.
    let bytes = Taken { occupant: Occupant::BytesOfAnother, ..taken(two) };
    assert_eq!(action(&one, &bytes, &policy), Action::Refuse(What::SharesJustCreated));
    let forced = Policy { force: Force::IfUnopenable, ..recursive() };
    assert_eq!(action(&one, &bytes, &forced), Action::Replace);
    let attributes = Policy { make: Make::Attributes, ..forced };
    assert_eq!(action(&one, &bytes, &attributes), Action::Refuse(What::SharesJustCreated));
    let kept = Policy { existing: Existing::Keep, ..policy };
    assert_eq!(action(&one, &bytes, &kept), Action::Skip(Reason::Exists));
    assert_eq!(action(&one, &named, &kept), Action::Skip(Reason::Exists));
}

#[test]
fn a_further_name_of_a_file_takes_what_is_there_away() {
    let file = Stat { nlink: 2, ..stat(1, FILE) };
    let preserve = Preserve { links: Links::Keep, ..Preserve::NOTHING };
    let policy = Policy { preserve, ..recursive() };
    assert!(is_tracked(Role::Inside, &file, &policy));
    assert!(!is_tracked(Role::Inside, &stat(1, FILE), &policy));
    assert!(!is_tracked(Role::Inside, &file, &recursive()));
    let by_link = Policy { dereference: Dereference::Operands, ..policy.clone() };
    assert!(is_tracked(Role::Operand, &stat(1, FILE), &by_link));
    let linked = Source { seen: Seen::AsLink, ..inside(&file) };
    let other = taken(stat(2, FILE));
    assert_eq!(over(linked, &other, &policy), Action::Overwrite);
    let same = Taken { occupant: Occupant::SameLink, ..other };
    assert_eq!(over(linked, &same, &policy), Action::Create);
    // The run also replaces a file that is not older, because the names belong to one file. It
    // keeps a file that the policy never replaces.
    let older = Policy { existing: Existing::Older, ..policy.clone() };
    assert_eq!(over(linked, &other, &older), Action::Replace);
    let kept = Policy { existing: Existing::Keep, ..policy.clone() };
    assert_eq!(over(linked, &other, &kept), Action::Skip(Reason::Exists));
    let both = Policy { consent: Consent::Denied, ..older };
    assert_eq!(over(linked, &other, &both), Action::Skip(Reason::Exists));
    let directory = taken(stat(2, DIRECTORY));
    assert_eq!(over(linked, &directory, &policy), Action::Refuse(What::OverDirectory));
}

#[test]
fn a_name_in_a_directory_of_our_own_making_is_not_written_to() {
    let planted = Taken { occupant: Occupant::OwnDirectory, ..taken(stat(2, FILE)) };
    assert_eq!(action(&stat(1, FILE), &planted, &recursive()), Action::Collide);
}

#[test]
fn a_backup_that_would_replace_the_source_is_refused() {
    let backup = Some(Backup { kind: BackupKind::Simple, suffix: b"~".to_vec() });
    let policy = Policy { backup, ..recursive() };
    let onto = Taken { backup_is_source: true, ..taken(stat(2, FILE)) };
    assert_eq!(action(&stat(1, FILE), &onto, &policy), Action::Refuse(What::BackupDestroysSource));
}
