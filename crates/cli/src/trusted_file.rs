//! A file of settings in the user's folders, read only if no other user can have written it.
//!
//! `HOME` may be that of another user: `sudo`, `su` and `cron` keep it or set it so. Without this check
//! root obeys settings of that user. The rule is that of ssh for its configuration, and the owner is that
//! of the open file, so that no other file can take its place after the check.

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use haul_sys::fs::{Kind, OFlags, fstat};
use haul_sys::process::identity;

/// Permission to write for the group and for others.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// What was found under the name of such a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Its text.
    Text(String),
    /// The reason why it is ignored.
    Untrusted(String),
}

/// Reads at most `bytes_max` bytes of a file. Never blocks on a FIFO.
pub(crate) fn read(path: &Path, bytes_max: u64) -> io::Result<Found> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let stat = fstat(&file).map_err(|error| io::Error::from(error.errno))?;
    if stat.kind() != Kind::Regular {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let me = identity();
    // A group of the same number is the user's own, in which there is no other user.
    let is_private = stat.gid == me.gid && me.gid == me.uid;
    let mode = if is_private { stat.mode & !0o020 } else { stat.mode };
    if let Some(why) = distrust(stat.uid, mode, me.uid) {
        return Ok(Found::Untrusted(why));
    }
    let mut text = String::new();
    file.take(bytes_max).read_to_string(&mut text)?;
    Ok(Found::Text(text))
}

/// Returns why a user does not read a file with this owner and mode.
fn distrust(owner: u32, mode: u32, user: u32) -> Option<String> {
    if ![0, user].contains(&owner) {
        return Some(format!("it belongs to user {owner}, not to user {user} or root"));
    }
    (mode & WRITABLE_BY_OTHERS != 0)
        .then(|| "other users may write to it; 'chmod go-w' mends that".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ones_own_files_and_roots_are_trusted() {
        for (owner, mode, user, is_trusted) in [
            (1000, 0o644, 1000, true),
            (1000, 0o600, 1000, true),
            (0, 0o644, 1000, true),
            (1000, 0o644, 0, false),
            (1001, 0o644, 1000, false),
            (1000, 0o664, 1000, false),
            (1000, 0o646, 1000, false),
            (0, 0o666, 0, false),
        ] {
            assert_eq!(
                distrust(owner, mode, user).is_none(),
                is_trusted,
                "{owner} {mode:o} {user}"
            );
        }
    }
}
