//! `statx(STATX_MNT_ID)`, `statx(STATX_MNT_ID_UNIQUE)` — which mount a file is reached through:
//! <https://man7.org/linux/man-pages/man2/statx.2.html>
//!
//! A bind mount has the device of what it shows, so only this distinguishes a mount point from an
//! ordinary directory.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};

use rustix::fs::{AtFlags, StatxFlags};

use crate::error::Named;
use crate::fs::pseudo::text;
use crate::fs::{OpenHow, openat};
use crate::{Call, Errno, Result};

/// Returns the number of the mount that holds `name`, which is not followed if it is a symbolic
/// link; `None` where neither the call (since 5.8) nor /proc has it.
///
/// An empty name means `directory` itself.
pub fn mount_id(directory: impl AsFd, name: &CStr) -> Result<Option<u64>> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH;
    let told = rustix::fs::statx(&directory, name, flags, StatxFlags::MNT_ID).named(Call::Statx);
    match told {
        Ok(told) if StatxFlags::from_bits_retain(told.stx_mask).contains(StatxFlags::MNT_ID) => {
            Ok(Some(told.stx_mnt_id))
        }
        // Containers answer EPERM for calls that they do not know.
        Err(error) if !matches!(error.errno, Errno::NOSYS | Errno::PERM) => Err(error),
        _ if name.is_empty() => Ok(listed(directory.as_fd())),
        _ => Ok(listed(openat(directory, name, OpenHow::HANDLE)?.as_fd())),
    }
}

/// Returns the number of the mount as /proc has it for a descriptor.
fn listed(fd: BorrowedFd<'_>) -> Option<u64> {
    let info = text(&format!("/proc/thread-self/fdinfo/{}", fd.as_raw_fd()), INFO_BYTES)?;
    info.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok())
}

/// More than the lines of a descriptor have.
const INFO_BYTES: usize = 4 << 10;

/// `STATX_MNT_ID_UNIQUE`, which rustix does not name.
const MNT_ID_UNIQUE: StatxFlags = StatxFlags::from_bits_retain(0x4000);

/// Returns a number of the mount that holds an open file, which no other mount gets until the machine is
/// booted again; `None` on kernels before 6.8. The number of [`mount_id`] is used again after an unmount.
pub fn unique_mount_id(fd: impl AsFd) -> Result<Option<u64>> {
    let told = rustix::fs::statx(fd, c"", AtFlags::EMPTY_PATH, MNT_ID_UNIQUE).named(Call::Statx)?;
    let knows = StatxFlags::from_bits_retain(told.stx_mask).contains(MNT_ID_UNIQUE);
    Ok(knows.then_some(told.stx_mnt_id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_and_a_name_in_it_share_a_mount() {
        let here = crate::fs::open_directory(crate::fs::CWD, c".", crate::fs::Follow::No).unwrap();
        let itself = mount_id(&here, c"").unwrap();
        assert_eq!(itself, mount_id(&here, c"src").unwrap());
        assert_ne!(itself, mount_id(crate::fs::CWD, c"/proc").unwrap());
        assert_eq!(itself, listed(here.as_fd()));
    }

    #[test]
    fn a_unique_number_is_the_same_for_all_files_of_a_mount() {
        let open = |name| crate::fs::open_directory(crate::fs::CWD, name, crate::fs::Follow::Yes);
        let (here, below) = (open(c".").unwrap(), open(c"src").unwrap());
        let number = unique_mount_id(&here).unwrap();
        assert_eq!(number, unique_mount_id(&below).unwrap());
        let other = unique_mount_id(open(c"/proc").unwrap()).unwrap();
        assert!(number.is_none() || number != other);
    }
}
