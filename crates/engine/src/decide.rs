//! What is to happen to an entry: the pure answer to facts and policy. No I/O, tested with literals.
//!
//! The rules are GNU cp's (`copy_internal`, `same_file_ok`), in the order in which it applies them,
//! for the first that holds gives the message.

use haul_sys::fs::{Kind, Stat};

use crate::error::What;
use crate::request::{
    BackupKind, Consent, Existing, Force, Links, Make, ModePolicy, Policy, TargetLinks,
};
use crate::timestamp_precision::is_older;

/// What is known of a name that is taken already.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    /// What the name is.
    pub(crate) link: Stat,
    /// What it leads to, if it is a symbolic link that leads anywhere.
    pub(crate) followed: Option<Stat>,
    /// Whether it is a symbolic link that leads in a circle.
    pub(crate) is_loop: bool,
    /// The step in which its file system keeps times, in nanoseconds.
    pub(crate) step_ns: i128,
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
    /// What the name leads to, if it is a symbolic link that leads anywhere.
    pub(crate) followed: Option<Stat>,
    /// Whether links are copied at this place, not what they lead to.
    pub(crate) keeps_links: bool,
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
    /// What is there gets another name, and the entry is made anew.
    BackUp,
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
        return plainly(through_dangling(taken, policy));
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
        Existing::Older if !is_older(target.mtime, found.stat.mtime, taken.step_ns) => {
            return plainly(Action::Skip);
        }
        Existing::Older | Existing::Overwrite => {}
    }
    let ask = match policy.consent {
        Consent::Denied => return plainly(Action::Skip),
        Consent::Ask => true,
        Consent::NotNeeded => false,
    };
    if target.kind() == Kind::Directory {
        return Decision { action: Action::Refuse(What::OverDirectory), ask };
    }
    Decision { action: over_file(found, &target, policy), ask }
}

/// Returns what the target looks like to the rules: the link itself, or what it leads to.
fn seen_target(source: Kind, taken: &Taken, policy: &Policy) -> Option<Stat> {
    if is_seen_itself(source, policy) { Some(taken.link) } else { taken.reached() }
}

/// Returns whether a link in the target's place is looked at itself, not what it leads to.
fn is_seen_itself(source: Kind, policy: &Policy) -> bool {
    (source != Kind::Regular
        && (!policy.reads_specials() || matches!(source, Kind::Directory | Kind::Symlink)))
        || matches!(policy.make, Make::HardLink | Make::SymbolicLink)
        || policy.force == Force::First
        || policy.backup.is_some()
}

const fn through_dangling(taken: &Taken, policy: &Policy) -> Action {
    if taken.is_loop {
        return match policy.force {
            Force::No => Action::Refuse(What::StatTarget),
            Force::IfUnopenable | Force::First => Action::Replace,
        };
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

fn over_file(found: &Found, target: &Stat, policy: &Policy) -> Action {
    let is_regular = found.stat.kind() == Kind::Regular;
    if policy.backup.is_some() {
        return Action::BackUp;
    }
    if policy.force == Force::First {
        return Action::Replace;
    }
    if policy.make == Make::Attributes {
        return if is_regular { Action::Overwrite } else { Action::Create };
    }
    let splits_names = policy.preserve.links == Links::Keep && target.nlink > 1;
    let cannot_be_written = found.keeps_links && !is_regular;
    if splits_names || cannot_be_written {
        return Action::Replace;
    }
    if matches!(policy.make, Make::HardLink | Make::SymbolicLink) {
        return if policy.force == Force::No { Action::Create } else { Action::Replace };
    }
    if !is_regular && !policy.reads_specials() {
        return Action::Create;
    }
    Action::Overwrite
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
    if found.keeps_links {
        if source_is_link && target_is_link {
            return two_links(found, same, policy);
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
    if policy.backup.is_some() {
        return backed_up(found, same_link, (source_is_link, target_is_link));
    }
    if policy.force == Force::First
        && (target_is_link || (same_link && taken.link.nlink > 1 && !found.same_name))
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
    if found.keeps_links {
        return what_links_lead_to(found, taken, policy);
    }
    Same::Refused
}

/// Two links are fine unless they are one and the same name.
const fn two_links(found: &Found, same: bool, policy: &Policy) -> Same {
    if found.same_name {
        return Same::Refused;
    }
    // Names of one link: with a backup it is made anew, without there is nothing to do.
    if same && policy.backup.is_none() { Same::Nothing } else { Same::Fine }
}

/// A backup keeps the data, so only a name that is both source and target is refused, and a file
/// whose link would come to lead to its own backup.
fn backed_up(
    found: &Found,
    same_link: bool,
    (source_is_link, target_is_link): (bool, bool),
) -> Same {
    let onto_own_referent = !found.keeps_links && source_is_link && !target_is_link;
    let refused = if same_link { found.same_name } else { onto_own_referent };
    if refused { Same::Refused } else { Same::Fine }
}

/// Without following: the copy of a link may not replace what the link leads to, nor the reverse.
fn what_links_lead_to(found: &Found, taken: &Taken, policy: &Policy) -> Same {
    let source = found.followed.unwrap_or(found.link);
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

/// Decides about a name that an operand of this run has got already, for a second operand.
pub(crate) fn over_just_created(source: Kind, taken: &Taken, policy: &Policy) -> Option<What> {
    if source == Kind::Directory
        || taken.link.kind() == Kind::Directory
        || !protects_just_made(policy)
    {
        return None;
    }
    let is_followed = taken.link.kind() == Kind::Symlink && !is_seen_itself(source, policy);
    Some(if is_followed { What::ThroughJustCreated } else { What::JustCreated })
}

/// Tells whether a second operand may not overwrite what the first has made: a numbered backup
/// keeps both.
pub(crate) fn protects_just_made(policy: &Policy) -> bool {
    policy.backup.as_ref().is_none_or(|backup| backup.kind != BackupKind::Numbered)
}

/// Returns the mode that a new file ends with, before the umask, where bits are not kept.
#[must_use]
pub(crate) fn usual_mode(source: &Stat, policy: &Policy) -> u32 {
    let kind = source.kind();
    match policy.preserve.mode {
        ModePolicy::Default if matches!(kind, Kind::Directory | Kind::Socket) => 0o777,
        ModePolicy::Default => 0o666,
        // A directory stays sticky; only a regular file could be run with its owner's rights.
        ModePolicy::Usual | ModePolicy::Keep if kind == Kind::Regular => {
            source.permissions() & 0o777
        }
        ModePolicy::Usual | ModePolicy::Keep => source.permissions(),
    }
}

/// Returns the mode that a new file is made with, before the umask. Never wider than it ends.
#[must_use]
pub(crate) fn creation_mode(source: &Stat, policy: &Policy, owner_will_change: bool) -> u32 {
    let wanted = usual_mode(source, policy);
    let kept = &policy.preserve;
    let is_directory = source.kind() == Kind::Directory;
    // Until the owner is right, the group and others are whoever they happen to be. What takes
    // long, a directory or a stream, is narrow all the while, as GNU's is.
    let takes_long = is_directory || source.kind() != Kind::Regular;
    if owner_will_change || (kept.ownership.wanted() && takes_long) {
        return wanted & 0o700;
    }
    if is_directory && kept.mode == ModePolicy::Keep { wanted & !0o022 } else { wanted }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Dereference;
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
        Found { stat, link: stat, followed: None, keeps_links: true, same_name: false }
    }

    fn taken(link: Stat) -> Taken {
        Taken { link, followed: None, is_loop: false, step_ns: 1 }
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
    fn attributes_alone_never_replace_anything() {
        let policy = Policy { make: Make::Attributes, ..recursive() };
        assert_eq!(action(&found(stat(1, LINK)), &taken(stat(2, FILE)), &policy), Action::Create);
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
        let followed = Found { keeps_links: false, ..found(stat(1, FILE)) };
        let link = Taken { followed: Some(stat(1, FILE)), ..taken(stat(2, LINK)) };
        assert_eq!(action(&followed, &link, &plain), Action::Refuse(What::SameFile));
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
        let link = Taken { followed: Some(stat(3, DIRECTORY)), ..taken(stat(2, LINK)) };
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
        assert_eq!(action(&source, &taken(target), &policy), Action::Overwrite);
        let coarse = Taken { step_ns: 1_000_000_000, ..taken(target) };
        assert_eq!(action(&source, &coarse, &policy), Action::Skip);
    }

    #[test]
    fn a_file_is_narrow_until_its_owner_is_right() {
        let policy = recursive();
        assert_eq!(creation_mode(&stat(1, 0o104_755), &policy, false), 0o755);
        assert_eq!(creation_mode(&stat(1, 0o104_755), &policy, true), 0o700);
    }
}
