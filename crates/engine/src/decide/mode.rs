//! The permission bits that new files and directories are made with, and end with.

use haul_sys::fs::{Kind, Stat};

use crate::request::{ModePolicy, Policy};

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
