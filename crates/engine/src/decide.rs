//! What is to happen to an entry: the pure answer to facts and policy. No I/O, tested with literals.
//!
//! The rules are GNU cp's (`copy_internal`, `same_file_ok`), in the order in which it applies them,
//! for the first that holds gives the message.

use haul_sys::fs::{Kind, Stat};

use crate::error::What;
use crate::request::{Dereference, Existing, Force, Links, Make, ModePolicy, Policy, TargetLinks};

/// What is known of a name that is taken already.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    /// What the name is.
    pub(crate) link: Stat,
    /// What it leads to, if it is a symbolic link that leads anywhere.
    pub(crate) followed: Option<Stat>,
}

impl Taken {
    /// Returns what writing to the name would change: where a link leads, else the name itself.
    #[must_use]
    pub(crate) fn reached(&self) -> Option<Stat> {
        if self.link.kind() == Kind::Symlink { self.followed } else { Some(self.link) }
    }
}

/// What is known of an entry of the source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// What is copied: the link itself or what it leads to, as the policy says.
    pub(crate) stat: Stat,
    /// What the name itself is.
    pub(crate) link: Stat,
    /// Whether source and target are one and the same directory entry, by directory and name.
    pub(crate) same_name: bool,
}

/// What is to happen to an entry whose target name is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// The directory's entries go into the one that is there.
    Merge,
    /// The file that is there gets new contents, through a link if it is one.
    Overwrite,
    /// What is there is removed, and the entry made anew.
    Replace,
    /// What is there stays.
    Skip,
    /// What is there stays, and that is a failure.
    Refuse(What),
    /// Nothing is there after all: the name is made with the caller's usual call.
    Create,
}

/// What [`decide`] says, and whether a person has to agree first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    /// What is to happen.
    pub(crate) action: Action,
    /// Whether a person is asked first.
    pub(crate) ask: bool,
}

const fn plainly(action: Action) -> Decision {
    Decision { action, ask: false }
}

/// Decides what happens to an entry whose target name is taken.
#[must_use]
pub(crate) fn decide(found: &Found, taken: &Taken, policy: &Policy) -> Decision {
    let source = found.stat.kind();
    let Some(target) = seen_target(source, taken, policy) else {
        return plainly(through_dangling(policy));
    };
    match same_file(found, taken, &target, policy) {
        Same::Fine => {}
        Same::Nothing => return plainly(Action::Skip),
        Same::Refused => return plainly(Action::Refuse(What::SameFile)),
    }
    if source == Kind::Directory {
        return plainly(onto_directory(&target, taken, policy));
    }
    match policy.existing {
        Existing::Keep => return plainly(Action::Skip),
        Existing::KeepAndFail => return plainly(Action::Refuse(What::NotReplacing)),
        Existing::Older if !is_older(&target, &found.stat) => return plainly(Action::Skip),
        Existing::Older | Existing::Overwrite | Existing::Ask => {}
    }
    let ask = policy.existing == Existing::Ask;
    if target.kind() == Kind::Directory {
        return Decision { action: Action::Refuse(What::OverDirectory), ask };
    }
    Decision { action: over_file(source, &target, policy), ask }
}

/// Returns what the target looks like to the rules: the link itself, or what it leads to.
fn seen_target(source: Kind, taken: &Taken, policy: &Policy) -> Option<Stat> {
    let by_itself = (source != Kind::Regular
        && (!policy.reads_specials() || matches!(source, Kind::Directory | Kind::Symlink)))
        || matches!(policy.make, Make::HardLink | Make::SymbolicLink)
        || policy.force == Force::First;
    if by_itself { Some(taken.link) } else { taken.reached() }
}

const fn through_dangling(policy: &Policy) -> Action {
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

fn over_file(source: Kind, target: &Stat, policy: &Policy) -> Action {
    let split_names = policy.preserve.links == Links::Keep && target.nlink > 1;
    let cannot_be_written = policy.dereference == Dereference::Never && source != Kind::Regular;
    let is_link = matches!(policy.make, Make::HardLink | Make::SymbolicLink);
    if policy.force == Force::First {
        return Action::Replace;
    }
    if is_link {
        return if policy.force == Force::No { Action::Create } else { Action::Replace };
    }
    if policy.make == Make::Attributes {
        return Action::Overwrite;
    }
    if split_names || cannot_be_written {
        return Action::Replace;
    }
    if source != Kind::Regular && !policy.reads_specials() {
        return Action::Create;
    }
    Action::Overwrite
}

/// Compares times as GNU does for `-u`: the target is kept when it is not older.
fn is_older(target: &Stat, source: &Stat) -> bool {
    // A target that cannot hold nanoseconds has cut them off; comparing seconds only when the
    // target's nanoseconds are zero avoids copying the same file again and again.
    if target.mtime.nanoseconds == 0 {
        return target.mtime.seconds < source.mtime.seconds;
    }
    target.mtime < source.mtime
}

enum Same {
    Fine,
    Nothing,
    Refused,
}

/// GNU's `same_file_ok`: is it safe to go on although both may be one file?
fn same_file(found: &Found, taken: &Taken, target: &Stat, policy: &Policy) -> Same {
    let same = found.stat.same_file(target);
    if same && policy.make == Make::HardLink {
        return Same::Nothing;
    }
    let source_is_link = found.link.kind() == Kind::Symlink;
    let target_is_link = taken.link.kind() == Kind::Symlink;
    if policy.dereference == Dereference::Never {
        if source_is_link && target_is_link {
            return match (found.same_name, same) {
                (true, _) => Same::Refused,
                (false, true) => Same::Nothing,
                (false, false) => Same::Fine,
            };
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
    if policy.force == Force::First {
        if target_is_link {
            return Same::Fine;
        }
        if same_link && taken.link.nlink > 1 && !found.same_name {
            return Same::Fine;
        }
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
    if policy.dereference == Dereference::Never {
        let reached = taken.reached();
        if !reached.is_some_and(|reached| reached.same_file(&found.stat)) {
            return Same::Fine;
        }
        if policy.make == Make::HardLink {
            return if target_is_link { Same::Fine } else { Same::Nothing };
        }
    }
    Same::Refused
}

/// Returns the mode that a new file is made with, before the umask. Never wider than it ends.
#[must_use]
pub(crate) fn creation_mode(source: &Stat, policy: &Policy, owner_will_change: bool) -> u32 {
    let wanted = match policy.preserve.mode {
        ModePolicy::Default if source.kind() == Kind::Directory => 0o777,
        ModePolicy::Default => 0o666,
        ModePolicy::Usual | ModePolicy::Keep => source.permissions() & 0o777,
    };
    // Until the owner is right, the group and others are whoever they happen to be.
    if owner_will_change { wanted & 0o700 } else { wanted }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haul_sys::fs::Time;

    fn stat(ino: u64, mode: u32) -> Stat {
        let time = Time { seconds: 100, nanoseconds: 5 };
        Stat {
            dev: 1,
            ino,
            mode,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            size: 0,
            blocks: 0,
            block_bytes: 4096,
            atime: time,
            mtime: time,
            ctime: time,
        }
    }

    const FILE: u32 = 0o100_644;
    const DIRECTORY: u32 = 0o040_755;
    const LINK: u32 = 0o120_777;
    const FIFO: u32 = 0o010_600;

    fn found(stat: Stat) -> Found {
        Found { stat, link: stat, same_name: false }
    }

    fn taken(link: Stat) -> Taken {
        Taken { link, followed: None }
    }

    fn action(found: &Found, taken: &Taken, policy: &Policy) -> Action {
        decide(found, taken, policy).action
    }

    fn recursive() -> Policy {
        Policy {
            recursion: crate::request::Recursion::Yes,
            dereference: Dereference::Never,
            ..Policy::plain(0o022)
        }
    }

    #[test]
    fn a_file_over_a_file_is_overwritten() {
        let answer = action(&found(stat(1, FILE)), &taken(stat(2, FILE)), &recursive());
        assert_eq!(answer, Action::Overwrite);
    }

    #[test]
    fn one_inode_is_the_same_file_under_any_name() {
        let answer = action(&found(stat(1, FILE)), &taken(stat(1, FILE)), &recursive());
        assert_eq!(answer, Action::Refuse(What::SameFile));
        let plain = Policy::plain(0);
        let link = Taken { link: stat(2, LINK), followed: Some(stat(1, FILE)) };
        assert_eq!(action(&found(stat(1, FILE)), &link, &plain), Action::Refuse(What::SameFile));
    }

    #[test]
    fn directories_merge_and_never_replace_or_are_replaced() {
        let policy = recursive();
        let (file, directory) = (stat(1, FILE), stat(2, DIRECTORY));
        assert_eq!(action(&found(stat(3, DIRECTORY)), &taken(directory), &policy), Action::Merge);
        let over_directory = action(&found(file), &taken(directory), &policy);
        assert_eq!(over_directory, Action::Refuse(What::OverDirectory));
        let over_file = action(&found(directory), &taken(file), &policy);
        assert_eq!(over_file, Action::Refuse(What::OverNonDirectory));
    }

    #[test]
    fn a_link_to_a_directory_is_no_directory_unless_asked() {
        let link = Taken { link: stat(2, LINK), followed: Some(stat(3, DIRECTORY)) };
        let source = found(stat(1, DIRECTORY));
        let strict = recursive();
        assert_eq!(action(&source, &link, &strict), Action::Refuse(What::OverNonDirectory));
        let keep = Policy { target_links: TargetLinks::KeepDirectory, ..strict };
        assert_eq!(action(&source, &link, &keep), Action::Merge);
    }

    #[test]
    fn nothing_is_written_through_a_dangling_link() {
        let dangling = taken(stat(2, LINK));
        let answer = action(&found(stat(1, FILE)), &dangling, &Policy::plain(0));
        assert_eq!(answer, Action::Refuse(What::DanglingTarget));
    }

    #[test]
    fn links_and_fifos_replace_what_is_there() {
        let policy = recursive();
        assert_eq!(action(&found(stat(1, LINK)), &taken(stat(2, FILE)), &policy), Action::Replace);
        assert_eq!(action(&found(stat(1, FIFO)), &taken(stat(2, FILE)), &policy), Action::Replace);
    }

    #[test]
    fn update_compares_times_at_the_targets_resolution() {
        let policy = Policy { existing: Existing::Older, ..recursive() };
        let mut target = stat(2, FILE);
        let source = found(stat(1, FILE));
        assert_eq!(action(&source, &taken(target), &policy), Action::Skip);
        target.mtime.nanoseconds = 4;
        assert_eq!(action(&source, &taken(target), &policy), Action::Overwrite);
        target.mtime.nanoseconds = 0;
        assert_eq!(action(&source, &taken(target), &policy), Action::Skip);
    }

    #[test]
    fn a_file_is_narrow_until_its_owner_is_right() {
        let policy = recursive();
        assert_eq!(creation_mode(&stat(1, 0o104_755), &policy, false), 0o755);
        assert_eq!(creation_mode(&stat(1, 0o104_755), &policy, true), 0o700);
    }
}
