//! `FS_IOC_GETFLAGS`, `FS_IOC_SETFLAGS` — the flags of a file that chattr(1) sets:
//! <https://man7.org/linux/man-pages/man2/FS_IOC_SETFLAGS.2const.html>
//!
//! The numbers are those of `include/uapi/linux/fs.h`. rustix does not name all of them.

use std::ffi::CStr;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, IFlags, StatxFlags};

use crate::error::Named;
use crate::{Call, Result};

/// A set of flags of a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct InodeFlags(u32);

impl InodeFlags {
    /// No flag.
    pub const NONE: InodeFlags = InodeFlags(0);
    /// `s`: the blocks are to be overwritten when the file is removed.
    pub const SECURE_REMOVAL: InodeFlags = InodeFlags(0x1);
    /// `u`: the file is to be kept when it is removed.
    pub const UNDELETE: InodeFlags = InodeFlags(0x2);
    /// `c`: new bytes are compressed.
    pub const COMPRESS: InodeFlags = InodeFlags(0x4);
    /// `S`: each write waits until it is stored.
    pub const SYNC: InodeFlags = InodeFlags(0x8);
    /// `i`: the file cannot be changed, linked, renamed or removed.
    pub const IMMUTABLE: InodeFlags = InodeFlags(0x10);
    /// `a`: bytes can only be added at the end; likewise not linked, renamed or removed.
    pub const APPEND_ONLY: InodeFlags = InodeFlags(0x20);
    /// `d`: dump(8) leaves the file out.
    pub const NO_DUMP: InodeFlags = InodeFlags(0x40);
    /// `A`: the access time is not set.
    pub const NO_ATIME: InodeFlags = InodeFlags(0x80);
    /// `m`: new bytes are not compressed.
    pub const NO_COMPRESS: InodeFlags = InodeFlags(0x400);
    /// `j`: bytes go through the journal.
    pub const JOURNAL_DATA: InodeFlags = InodeFlags(0x4000);
    /// `t`: the last part of the file is not merged with those of others.
    pub const NO_TAIL: InodeFlags = InodeFlags(0x8000);
    /// `D`: each change of the directory waits until it is stored.
    pub const DIR_SYNC: InodeFlags = InodeFlags(0x1_0000);
    /// `T`: the directories in this one are unrelated.
    pub const TOP_DIR: InodeFlags = InodeFlags(0x2_0000);
    /// `C`: blocks are overwritten in place.
    pub const NO_COW: InodeFlags = InodeFlags(0x80_0000);
    /// `x`: the file is accessed past the page cache, in persistent memory.
    pub const DAX: InodeFlags = InodeFlags(0x200_0000);
    /// `P`: entries inherit the project of the directory.
    pub const PROJECT_INHERIT: InodeFlags = InodeFlags(0x2000_0000);

    /// Returns the flags of both sets.
    #[must_use]
    pub const fn and(self, other: InodeFlags) -> InodeFlags {
        InodeFlags(self.0 | other.0)
    }

    /// Returns the flags that both sets have.
    #[must_use]
    pub const fn common(self, other: InodeFlags) -> InodeFlags {
        InodeFlags(self.0 & other.0)
    }

    /// Returns the flags that the other set does not have.
    #[must_use]
    pub const fn without(self, other: InodeFlags) -> InodeFlags {
        InodeFlags(self.0 & !other.0)
    }

    /// Returns whether there is no flag.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns each flag as a set of its own, the highest number first.
    pub fn each(self) -> impl Iterator<Item = InodeFlags> {
        let one = move |bit| self.common(InodeFlags(1_u32 << bit));
        (0..u32::BITS).rev().map(one).filter(|flag| !flag.is_empty())
    }
}

/// Returns the flags of an open file or directory.
///
/// Fails with `ENOTTY` or `EOPNOTSUPP` where the file system has none, and with `EBADF` for a descriptor of
/// `O_PATH`.
pub fn inode_flags(fd: impl AsFd) -> Result<InodeFlags> {
    let flags = rustix::fs::ioctl_getflags(fd).named(Call::GetFlags)?;
    Ok(InodeFlags(flags.bits()))
}

/// Sets the flags of an open file or directory: all of them, so the caller adds to those that it has.
///
/// Fails with `EOPNOTSUPP` if the file system does not have one of them, and then sets none; with `EPERM` if
/// one needs a capability or the file is not the user's. May succeed without setting a flag: btrfs ignores
/// [`InodeFlags::NO_COW`] of a file that has bytes.
pub fn set_inode_flags(fd: impl AsFd, flags: InodeFlags) -> Result<()> {
    rustix::fs::ioctl_setflags(fd, IFlags::from_bits_retain(flags.0)).named(Call::SetFlags)
}

/// Returns whether statx(2) says of a name, without following a symbolic link, that it is
/// [`InodeFlags::IMMUTABLE`] or [`InodeFlags::APPEND_ONLY`].
pub fn is_pinned_at(directory: impl AsFd, name: &CStr) -> Result<bool> {
    /// `STATX_ATTR_IMMUTABLE` and `STATX_ATTR_APPEND`.
    const PINNED: u64 = 0x10 | 0x20;
    let told = rustix::fs::statx(directory, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty())
        .named(Call::Statx)?;
    Ok(told.stx_attributes.bits() & PINNED != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Errno;
    use crate::fs::{CWD, Follow, open_directory};

    #[test]
    fn sets_are_split_into_single_flags() {
        let two = InodeFlags::IMMUTABLE.and(InodeFlags::NO_COW);
        let each: Vec<InodeFlags> = two.each().collect();
        assert_eq!(each, [InodeFlags::NO_COW, InodeFlags::IMMUTABLE]);
        assert!(two.without(InodeFlags::NO_COW).common(InodeFlags::NO_COW).is_empty());
        assert_eq!(InodeFlags::NONE.each().count(), 0);
    }

    #[test]
    fn a_file_system_of_the_kernel_has_none() {
        let proc = open_directory(CWD, c"/proc", Follow::Yes).unwrap();
        assert_eq!(inode_flags(&proc).unwrap_err().errno, Errno::NOTTY);
        assert_eq!(is_pinned_at(CWD, c"/proc"), Ok(false));
    }
}
