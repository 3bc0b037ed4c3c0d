//! One entry of a tree, pinned by an `O_PATH` descriptor.
//!
//! An `O_PATH` descriptor pins the inode without opening the file, so type, attributes, link text
//! and extended attributes all come from the same inode even while names change, and a FIFO or a
//! device in the tree is never opened.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, Stat, Statx, StatxFlags, fstat, fstatfs, major, minor, open,
    openat, statx,
};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::failure::{Action, During, Step};
use crate::values::{Kind, Rdev, Timestamp};

/// Whether a symbolic link given as a root is followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RootLinks {
    /// The link itself, as everywhere below the root.
    #[default]
    Keep,
    /// What the link points to.
    Follow,
}

/// The place of an entry: a directory and a name in it. A root is a whole path under the current
/// directory.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) dir: BorrowedFd<'a>,
    pub(crate) name: &'a CStr,
    pub(crate) links: RootLinks,
}

impl<'a> Place<'a> {
    pub(crate) fn below(dir: BorrowedFd<'a>, name: &'a CStr) -> Self {
        Self { dir, name, links: RootLinks::Keep }
    }

    pub(crate) fn root(name: &'a CStr, links: RootLinks) -> Self {
        Self { dir: CWD, name, links }
    }

    fn flags(self) -> OFlags {
        match self.links {
            RootLinks::Keep => OFlags::NOFOLLOW | OFlags::CLOEXEC,
            RootLinks::Follow => OFlags::CLOEXEC,
        }
    }
}

/// Identity of an inode on this machine, valid while a descriptor holds it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FileId {
    dev_major: u32,
    dev_minor: u32,
    pub(crate) ino: u64,
}

impl FileId {
    /// Returns the number of the device.
    pub(crate) const fn device(&self) -> (u32, u32) {
        (self.dev_major, self.dev_minor)
    }
}

/// Identity of a mount: its id since Linux 5.8, before that only the device, which a bind mount
/// shares with its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mount {
    Id(u64),
    Device(u32, u32),
}

/// The result of statx(2) in this crate's types.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attributes {
    pub(crate) id: FileId,
    pub(crate) mount: Mount,
    pub(crate) kind: Kind,
    pub(crate) mode: u16,
    pub(crate) size: u64,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) mtime: Timestamp,
    pub(crate) atime: Timestamp,
    pub(crate) ctime: Timestamp,
    pub(crate) nlink: u64,
    pub(crate) rdev: Rdev,
    /// Units of 512 bytes, whatever the file system's block size (stat(2)).
    pub(crate) blocks: u64,
    pub(crate) block_bytes: u64,
    /// Whether the inode has a time of its creation; `None` without statx(2).
    pub(crate) has_birth_time: Option<bool>,
}

impl Attributes {
    /// Reads the attributes of an open descriptor, `O_PATH` or not.
    pub(crate) fn of(fd: impl AsFd) -> Step<Self> {
        let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW;
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME | StatxFlags::MNT_ID;
        let told = match retry(|| statx(fd.as_fd(), c"", flags, wanted)) {
            Ok(raw) => Self::from_raw(&raw),
            // A filter of system calls may not know the newer call.
            Err(Errno::NOSYS | Errno::PERM | Errno::ACCESS | Errno::INVAL) => {
                Self::from_stat(&retry(|| fstat(fd.as_fd())).during(Action::Stat)?)
            }
            Err(errno) => return Err((Action::Stat, errno)),
        };
        told.ok_or((Action::Stat, Errno::OPNOTSUPP))
    }

    /// Takes what fstat(2) tells: not by which mount the file was reached.
    #[expect(
        clippy::cast_sign_loss,
        clippy::cast_possible_truncation,
        clippy::unnecessary_cast,
        reason = "the types of the fields differ between architectures; the values do not"
    )]
    fn from_stat(raw: &Stat) -> Option<Self> {
        let time =
            |seconds: i64, nanoseconds: u64| Timestamp { seconds, nanoseconds: nanoseconds as u32 };
        let (dev_major, dev_minor) = (major(raw.st_dev), minor(raw.st_dev));
        Some(Self {
            mount: Mount::Device(dev_major, dev_minor),
            id: FileId { dev_major, dev_minor, ino: raw.st_ino },
            kind: Kind::from_raw_mode(raw.st_mode as u16)?,
            mode: raw.st_mode as u16 & 0o7777,
            size: raw.st_size as u64,
            uid: raw.st_uid,
            gid: raw.st_gid,
            mtime: time(raw.st_mtime, raw.st_mtime_nsec as u64),
            atime: time(raw.st_atime, raw.st_atime_nsec as u64),
            ctime: time(raw.st_ctime, raw.st_ctime_nsec as u64),
            nlink: raw.st_nlink as u64,
            rdev: Rdev { major: major(raw.st_rdev), minor: minor(raw.st_rdev) },
            blocks: raw.st_blocks as u64,
            block_bytes: raw.st_blksize as u64,
            has_birth_time: None,
        })
    }

    fn from_raw(raw: &Statx) -> Option<Self> {
        let time = |t: &rustix::fs::StatxTimestamp| Timestamp {
            seconds: t.tv_sec,
            nanoseconds: t.tv_nsec,
        };
        let told = StatxFlags::from_bits_retain(raw.stx_mask);
        let device = Mount::Device(raw.stx_dev_major, raw.stx_dev_minor);
        Some(Self {
            mount: if told.contains(StatxFlags::MNT_ID) {
                Mount::Id(raw.stx_mnt_id)
            } else {
                device
            },
            id: FileId {
                dev_major: raw.stx_dev_major,
                dev_minor: raw.stx_dev_minor,
                ino: raw.stx_ino,
            },
            kind: Kind::from_raw_mode(raw.stx_mode)?,
            mode: raw.stx_mode & 0o7777,
            size: raw.stx_size,
            uid: raw.stx_uid,
            gid: raw.stx_gid,
            mtime: time(&raw.stx_mtime),
            atime: time(&raw.stx_atime),
            ctime: time(&raw.stx_ctime),
            nlink: u64::from(raw.stx_nlink),
            rdev: Rdev { major: raw.stx_rdev_major, minor: raw.stx_rdev_minor },
            blocks: raw.stx_blocks,
            block_bytes: u64::from(raw.stx_blksize),
            has_birth_time: Some(told.contains(StatxFlags::BTIME)),
        })
    }

    /// Returns whether less is allocated than the size needs, so that there may be holes.
    pub(crate) fn may_have_holes(&self) -> bool {
        self.blocks.saturating_mul(512) < self.size
    }
}

/// A pinned entry and its statx(2) attributes.
pub(crate) struct Node {
    pub(crate) fd: OwnedFd,
    pub(crate) attributes: Attributes,
}

impl Node {
    /// Pins the entry at `place` without opening the file.
    pub(crate) fn pin(place: Place<'_>) -> Step<Self> {
        let fd =
            retry(|| openat(place.dir, place.name, OFlags::PATH | place.flags(), Mode::empty()))
                .during(Action::Open)?;
        let attributes = Attributes::of(&fd)?;
        Ok(Self { fd, attributes })
    }

    /// Returns a path to the pinned inode, for calls that do not take `O_PATH` descriptors. It uses
    /// `thread-self`, because threads of one process may have separate descriptor tables.
    pub(crate) fn proc_path(&self) -> String {
        use std::os::fd::AsRawFd as _;
        format!("/proc/thread-self/fd/{}", self.fd.as_raw_fd())
    }

    /// Opens the entry's data for reading; only for regular files and directories.
    ///
    /// Fails with `ESTALE` if the name refers to another inode since it was pinned.
    pub(crate) fn open(&self, place: Place<'_>) -> Step<OwnedFd> {
        let kind = match self.attributes.kind {
            Kind::Directory => OFlags::DIRECTORY,
            Kind::Regular => OFlags::NONBLOCK,
            _ => return Err((Action::Open, Errno::OPNOTSUPP)),
        };
        let fd = open_reading(place, kind)
            .or_else(|errno| match errno {
                // Another process holds a lease (fcntl(2)), which the kernel has asked it to give up.
                // The pinned inode is a regular file and stays one, so that a call may block until
                // then; the name could have become a FIFO meanwhile.
                Errno::AGAIN => self.reopen(),
                _ => Err(errno),
            })
            .during(Action::Open)?;
        if Attributes::of(&fd)?.id != self.attributes.id {
            return Err((Action::Open, Errno::STALE));
        }
        Ok(fd)
    }

    /// Opens the pinned inode for reading, by no name that could mean another.
    fn reopen(&self) -> rustix::io::Result<OwnedFd> {
        retry(|| open(self.proc_path(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()))
    }
}

/// Opens for reading, without updating the access time where the kernel allows that.
///
/// `O_NOATIME` is refused with `EPERM` to all but the owner and root (open(2)); only on that error
/// the file is opened without the flag.
pub(crate) fn open_reading(place: Place<'_>, extra: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | place.flags() | extra;
    let open = |flags| retry(|| openat(place.dir, place.name, flags, Mode::empty()));
    match open(flags | OFlags::NOATIME) {
        Err(Errno::PERM) => open(flags),
        result => result,
    }
}

/// Repeats a call that a signal has interrupted.
pub(crate) fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}

/// Returns whether the file system that holds `fd` is known to report data segments reliably, and
/// to have unique inode numbers.
///
/// A file system that is not on the list, or has no type number, is not trusted. Numbers:
/// `linux/magic.h`; XFS: `fs/xfs/xfs_format.h`.
pub(crate) fn is_well_known(fd: impl AsFd) -> bool {
    const EXT4: u32 = 0xef53;
    const XFS: u32 = 0x5846_5342;
    const BTRFS: u32 = 0x9123_683e;
    const TMPFS: u32 = 0x0102_1994;
    const F2FS: u32 = 0xf2f5_2010;
    // The type of `f_type` differs between architectures; all the numbers fit its low 32 bits.
    fstatfs(fd.as_fd())
        .is_ok_and(|fs| matches!(fs.f_type as u32, EXT4 | XFS | BTRFS | TMPFS | F2FS))
}
