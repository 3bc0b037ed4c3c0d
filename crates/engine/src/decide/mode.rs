//! Permission bits that the run makes new files and directories with, and their final bits.

use haul_sys::fs::{Kind, Stat};

use crate::data::request::{ModePolicy, Policy};

/// Bits that let the group and others write.
const WRITE_OF_OTHERS: u32 = 0o022;

/// Returns the final mode of a new file, before the umask, where the policy does not preserve the
/// mode.
#[must_use]
pub(crate) fn usual_mode(source: &Stat, policy: &Policy) -> u32 {
    let kind = source.kind();
    match policy.preserve.mode {
        ModePolicy::Default if matches!(kind, Kind::Directory | Kind::Socket) => 0o777,
        ModePolicy::Default => 0o666,
        // A directory keeps the sticky bit; only a regular file could run with its owner's rights.
        ModePolicy::Usual | ModePolicy::Keep if kind == Kind::Regular => {
            source.permissions() & 0o777
        }
        ModePolicy::Usual | ModePolicy::Keep => source.permissions(),
    }
}

/// Returns the mode of a file that replaces another one and has its permission bits otherwise, or that stays, if it becomes
/// executable or ceases to be (`-E`).
#[must_use]
pub(crate) fn replaced_mode(source: &Stat, target: &Stat, policy: &Policy) -> Option<u32> {
    let rules = policy.synchronize.as_ref().filter(|rules| rules.executability)?;
    let are_files = [source, target].iter().all(|stat| stat.kind() == Kind::Regular);
    if policy.preserve.mode == ModePolicy::Keep || !are_files {
        return None;
    }
    let wanted = rules.modes.of(source.kind(), source.permissions());
    let now = target.permissions();
    match (wanted & 0o111 != 0, now & 0o111 != 0) {
        (false, true) => Some(now & !0o111),
        (true, false) => Some(now | ((now & 0o444) >> 2)),
        _ => None,
    }
}

/// Returns the mode that the run makes a new file with, before the umask. Never wider than the
/// final mode.
#[must_use]
pub(crate) fn creation_mode(source: &Stat, policy: &Policy, owner_will_change: bool) -> u32 {
    let wanted = usual_mode(source, policy);
    let kept = &policy.preserve;
    let is_directory = source.kind() == Kind::Directory;
    // Until the run sets the owner, the group and others are arbitrary. Where that takes long, for
    // a directory or a stream, the mode stays narrow throughout, as in GNU cp.
    let takes_long = is_directory || source.kind() != Kind::Regular;
    if owner_will_change || (kept.ownership.wanted() && takes_long) {
        return wanted & 0o700;
    }
    match kept.mode {
        ModePolicy::Keep if is_directory => wanted & !WRITE_OF_OTHERS,
        // The kernel ignores the umask where the parent has a default ACL. As in GNU cp, the ACL of a new
        // directory grants no more writing than the umask does.
        _ if is_directory => wanted & !(policy.umask & WRITE_OF_OTHERS),
        _ => wanted,
    }
}
