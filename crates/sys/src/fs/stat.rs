//! `fstat`, `fstatat` — what a file is: <https://man7.org/linux/man-pages/man2/stat.2.html>
//!
//! One plain struct for both, because the callers compare the file behind a name with an open file.

use std::ffi::CStr;
use std::os::fd::AsFd;

use rustix::fs::AtFlags;

use crate::error::Named;
use crate::{Call, Result};

/// A point in time as file systems keep it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time {
    /// Seconds since 1970-01-01 UTC; negative before it.
    pub seconds: i64,
    /// Nanoseconds within the second, 0 to 999,999,999.
    pub nanoseconds: u32,
}

impl Time {
    /// Leaves a time as it is, where a pair of times is set (`UTIME_OMIT`).
    pub const OMIT: Time = Time { seconds: 0, nanoseconds: 0x3fff_fffe };
}

/// The seven kinds of file that POSIX and Linux know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A Unix-domain socket.
    Socket,
    /// A block device.
    BlockDevice,
    /// A character device.
    CharDevice,
    /// A kind that this kernel reports and haul does not know.
    Unknown,
}

impl Kind {
    /// Reads the kind from the format bits of `st_mode`.
    #[must_use]
    pub const fn of_mode(mode: u32) -> Kind {
        match mode & libc::S_IFMT {
            libc::S_IFREG => Kind::Regular,
            libc::S_IFDIR => Kind::Directory,
            libc::S_IFLNK => Kind::Symlink,
            libc::S_IFIFO => Kind::Fifo,
            libc::S_IFSOCK => Kind::Socket,
            libc::S_IFBLK => Kind::BlockDevice,
            libc::S_IFCHR => Kind::CharDevice,
            _ => Kind::Unknown,
        }
    }
}

/// Result of `stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The device that holds the file.
    pub dev: u64,
    /// The inode number.
    pub ino: u64,
    /// Format and permission bits.
    pub mode: u32,
    /// The number of names.
    pub nlink: u64,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// The device that a device file represents.
    pub rdev: u64,
    /// The size in bytes; for a symbolic link the length of its text.
    pub size: u64,
    /// Allocated units of 512 bytes.
    pub blocks: u64,
    /// The preferred request size in bytes.
    pub block_bytes: u32,
    /// The last access.
    pub atime: Time,
    /// The last change of the data.
    pub mtime: Time,
    /// The last change of data or attributes.
    pub ctime: Time,
}

impl Stat {
    /// Returns the kind of file.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        Kind::of_mode(self.mode)
    }

    /// Returns the twelve permission bits.
    #[must_use]
    pub const fn permissions(&self) -> u32 {
        self.mode & 0o7777
    }

    /// Returns whether both describe the same inode.
    #[must_use]
    pub const fn same_file(&self, other: &Stat) -> bool {
        self.ino == other.ino && self.dev == other.dev
    }

    /// Returns whether size, mtime and ctime are what an earlier description says. A write changes at
    /// least one of them, as far as the file system's clock can show it.
    #[must_use]
    pub fn is_unchanged(&self, before: &Stat) -> bool {
        (self.size, self.mtime, self.ctime) == (before.size, before.mtime, before.ctime)
    }

    /// Returns how many bytes are allocated.
    #[must_use]
    pub const fn allocated_bytes(&self) -> u64 {
        self.blocks.saturating_mul(512)
    }

    /// Returns whether fewer blocks are allocated than the size needs, the sign of holes.
    #[must_use]
    pub const fn may_have_holes(&self) -> bool {
        self.blocks < self.size / 512
    }
}

#[expect(
    clippy::unnecessary_cast,
    reason = "the fields' types differ between the architectures that haul supports"
)]
fn convert(stat: &rustix::fs::Stat) -> Stat {
    Stat {
        dev: stat.st_dev as u64,
        ino: stat.st_ino as u64,
        mode: stat.st_mode as u32,
        nlink: stat.st_nlink as u64,
        uid: stat.st_uid,
        gid: stat.st_gid,
        rdev: stat.st_rdev as u64,
        size: u64::try_from(stat.st_size).unwrap_or(0),
        blocks: u64::try_from(stat.st_blocks).unwrap_or(0),
        block_bytes: u32::try_from(stat.st_blksize).unwrap_or(4096),
        atime: Time { seconds: stat.st_atime as i64, nanoseconds: stat.st_atime_nsec as u32 },
        mtime: Time { seconds: stat.st_mtime as i64, nanoseconds: stat.st_mtime_nsec as u32 },
        ctime: Time { seconds: stat.st_ctime as i64, nanoseconds: stat.st_ctime_nsec as u32 },
    }
}

/// Returns the attributes of an open file.
pub fn fstat(fd: impl AsFd) -> Result<Stat> {
    rustix::fs::fstat(fd).named(Call::Fstat).map(|stat| convert(&stat))
}

/// Returns the attributes of a name in a directory, without following a symbolic link.
pub fn statat(directory: impl AsFd, name: &CStr) -> Result<Stat> {
    rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
        .named(Call::Fstat)
        .map(|stat| convert(&stat))
}

/// Returns the attributes of the file that a name in a directory leads to, following symbolic
/// links.
pub fn statat_follow(directory: impl AsFd, name: &CStr) -> Result<Stat> {
    rustix::fs::statat(directory, name, AtFlags::empty())
        .named(Call::Fstat)
        .map(|stat| convert(&stat))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_come_from_the_format_bits() {
        assert_eq!(Kind::of_mode(0o100_644), Kind::Regular);
        assert_eq!(Kind::of_mode(0o040_755), Kind::Directory);
        assert_eq!(Kind::of_mode(0o010_600), Kind::Fifo);
        assert_eq!(Kind::of_mode(0), Kind::Unknown);
    }
}
