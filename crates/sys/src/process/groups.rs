//! `getgroups` — the groups of the process:
//! <https://man7.org/linux/man-pages/man2/getgroups.2.html>

/// Returns whether the process is in a group, by its effective group or a supplementary one. A failure to read these
/// counts as no.
#[must_use]
pub fn is_in_group(gid: u32) -> bool {
    rustix::process::getegid().as_raw() == gid
        || rustix::process::getgroups()
            .is_ok_and(|groups| groups.iter().any(|group| group.as_raw() == gid))
}
