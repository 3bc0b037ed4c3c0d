//! The one table of file systems: what copying, removing, durability and latency need to know of each,
//! as data. A file for each family, a line in [`TABLE`].

mod btrfs;
mod ext4;
mod f2fs;
mod fat;
mod local;
mod pseudo;
mod remote;
mod tmpfs;
mod xfs;

use std::os::fd::AsFd;

use haul_sys::Errno;
use haul_sys::fs::{Follow, fstatfs, inode_bits_in_group, open_directory};

/// What copies when `copy_file_range` is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyRange {
    /// The kernel splices through the page cache and holds the target's lock meanwhile: no
    /// better than reading and writing, and worse with several workers.
    Splices,
    /// The file system shares blocks or its server copies: bytes need not come here.
    Offloads,
}

/// Whether the size that `stat` tells is the number of bytes that reading gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportedSize {
    /// It is.
    True,
    /// A program or an unknown file system claims it: reading shows whether there is more.
    Claimed,
    /// It is a guess (0 in `/proc`, 4096 in `/sys`): read to the end.
    Guessed,
}

/// Whether `SEEK_DATA` and `SEEK_HOLE` are trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoleMap {
    /// The implementation has been right for years, also for dirty and unwritten ranges.
    Trusted,
    /// Unknown, or known to have lied: read everything, and skip writing zeros instead.
    Doubted,
}

/// Whether reserving a large file's space before writing it pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preallocate {
    /// It does: fewer, longer extents and less locking while several workers write.
    Pays,
    /// It costs, or defeats something else.
    Hurts,
}

/// What direct I/O comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectIo {
    /// The bytes go past the page cache, or the file system refuses.
    Real,
    /// The files are the page cache: the flag is taken and means nothing.
    Pretended,
}

/// Whose page cache a file of this file system has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Its own, of which `cachestat` tells.
    Own,
    /// Another file's below it: `cachestat` always finds none, but a mapping shows them.
    Below,
}

/// Where the bytes come from when they are not cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Latency {
    /// A device of this machine, for which a ring drives many requests by itself.
    Local,
    /// A server or a program: each request is a trip, which waits in a thread.
    Remote,
}

/// Whether writes of several workers to one file's cached pages go on at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachedWrites {
    /// One after another: the kernel holds the file's lock for the length of each. So one worker
    /// reads while the other writes, and a third would only spin for the lock: on two processors
    /// 1 GiB takes 0.76 of GNU cp's time with two workers and 0.88 with three (btrfs, Linux 6.18).
    InTurn,
    /// Not measured, or each write is a trip to a server that other trips need not wait for.
    Together,
}

/// What `syncfs` is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupSync {
    /// It brings every file and name to stable storage, as `fsync` on each of them would.
    Whole,
    /// It may stop short of the server's or the lower file system's storage: FUSE does not pass it on
    /// (`fuse_sync_fs` in the kernel's `fs/fuse/inode.c`), and an overlay does not hear of all the
    /// errors of what it lies on.
    Short,
}

/// What shows, after a flush that reported no error, that the bytes of one file are on stable storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// `fsync` of the file, which makes no I/O where the flush has done its work: the file system notes each
    /// failure for the file, and refuses the call once an error has made it read-only.
    Flush,
    /// The extents of the file, as `FS_IOC_FIEMAP` tells them: as many bytes as were written have blocks that
    /// were written. `fsync` of a file that is clean would cost a flush of the device, or proves nothing.
    Extents,
    /// Nothing: there is no storage behind the page cache.
    Memory,
}

/// What makes a name durable that was given by a rename.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameSync {
    /// `fsync` of the directory.
    Directory,
    /// A `syncfs` after the rename.
    FileSystem,
}

/// In which order the entries of a directory are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// As they are read.
    AsRead,
    /// By inode number.
    ByInode,
}

/// Whether a lock for each allocation group of the file system is held while files are made or
/// removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Groups {
    /// None that workers are known to wait for.
    Unknown,
    /// The group is the high bits of an inode number, as `XFS_IOC_FSGEOMETRY` tells; a directory's
    /// files are in the directory's group.
    OfInode,
}

/// How to remove many entries of one directory. Measured with 100,000 files in one directory on fresh
/// images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The order.
    pub sequence: Sequence,
    /// Number of workers that may remove entries of one directory.
    pub workers: usize,
    /// The same where entries take long, as large files do: their pages and blocks are given up
    /// outside the directory's lock. Four workers free memory faster than it can be had.
    pub large_workers: usize,
}

/// What a rename within a directory does to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rename {
    /// It changes the name.
    Plain,
    /// It may copy the file first, which then has another inode.
    CopiesFile,
}

/// Whether a directory lists the inode numbers that `stat` returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedInodes {
    /// It does, except for what is mounted there.
    True,
    /// Another file system or a server has others, or the directory may have none: libfuse lists
    /// 0xffffffff without `use_ino`, and overlayfs has two sources of numbers.
    Doubted,
}

/// What the file system keeps of a file beside its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inode {
    /// What POSIX asks for.
    Posix,
    /// What FAT's directory entries hold: no owner, one name, no symbolic links, FIFOs, sockets or
    /// devices, no holes, and times in even seconds.
    Fat,
}

/// What a file has behind its end when its length is set to more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extension {
    /// A hole.
    Hole,
    /// Perhaps zeros that the file system writes first, as FAT does.
    MayFill,
}

/// What the time of a file's last change (`st_ctime`) proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeTime {
    /// The file system sets it at each change, to a part of a second. A whole second is from a program that
    /// has built the file system as an image.
    Precise,
    /// The file system sets it at each change, to a whole second.
    Seconds,
    /// Nothing: it is not stored (FAT), or the program that built the image chose it.
    Free,
}

/// Which attributes of chattr(1) files have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chattr {
    /// None, or to ask for them would be a trip to a server or a program for each file.
    Nothing,
    /// Flags.
    Flags,
    /// Flags, and the project that a file counts for, which another call tells.
    FlagsAndProject,
    /// The same, all of which one call tells.
    AtOnce,
}

/// What is special about one file system.
#[derive(Debug, PartialEq, Eq)]
pub struct Quirk {
    /// The name for people.
    pub name: &'static str,
    /// `f_type` values, see statfs(2).
    pub magic: &'static [u32],
    /// Whether files can share blocks.
    pub reflinks: bool,
    /// What copies when `copy_file_range` is called.
    pub copy_range: CopyRange,
    /// Whether sizes are true.
    pub reported_size: ReportedSize,
    /// Whether `SEEK_DATA` and `SEEK_HOLE` are trusted.
    pub hole_map: HoleMap,
    /// Whether preallocation pays.
    pub preallocate: Preallocate,
    /// What direct I/O comes to.
    pub direct_io: DirectIo,
    /// Whose pages are cached.
    pub pages: Pages,
    /// Where the bytes come from.
    pub latency: Latency,
    /// Whether writes to cached pages go on at the same time.
    pub cached_writes: CachedWrites,
    /// What `syncfs` is worth.
    pub group_sync: GroupSync,
    /// What shows that one file is stored.
    pub evidence: Evidence,
    /// What makes a renamed name durable, where `syncfs` is worth something.
    pub name_sync: NameSync,
    /// How entries are removed.
    pub removal: Removal,
    /// What a rename does to a file.
    pub rename: Rename,
    /// What workers in different directories wait for.
    pub groups: Groups,
    /// What is kept of a file beside its bytes.
    pub inode: Inode,
    /// Which attributes of chattr(1) files have.
    pub chattr: Chattr,
    /// Whether directories list the inode numbers of files.
    pub listed_inodes: ListedInodes,
    /// What is behind a length that was set in advance.
    pub extension: Extension,
    /// What times of change prove.
    pub change_time: ChangeTime,
    /// Number of bytes of the largest file.
    pub file_bytes_max: u64,
}

impl Quirk {
    /// Returns whether each request may be a trip to a server.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        self.latency == Latency::Remote
    }

    /// Returns the number of low bits of an inode number that are the position in its allocation
    /// group, if workers should be in directories of different groups. Takes a directory of the file
    /// system. Makes one `ioctl` on XFS, and no call elsewhere; the kernel refuses it for a
    /// descriptor of `O_PATH`, so this opens the directory for it.
    #[must_use]
    pub fn inode_group_bits(&self, directory: impl AsFd) -> Option<u32> {
        match self.groups {
            Groups::OfInode => match inode_bits_in_group(&directory) {
                Err(error) if error.errno == Errno::BADF => {
                    inode_bits_in_group(open_directory(directory, c".", Follow::No).ok()?).ok()
                }
                bits => bits.ok(),
            },
            Groups::Unknown => None,
        }
    }
}

/// Conservative defaults for a file system that is not in the table.
pub static UNKNOWN: Quirk = Quirk {
    name: "unknown",
    magic: &[],
    // Asking costs one call per run, for a refusal is remembered.
    reflinks: true,
    copy_range: CopyRange::Offloads,
    reported_size: ReportedSize::Claimed,
    hole_map: HoleMap::Doubted,
    preallocate: Preallocate::Hurts,
    direct_io: DirectIo::Real,
    pages: Pages::Own,
    latency: Latency::Remote,
    cached_writes: CachedWrites::Together,
    group_sync: GroupSync::Short,
    extension: Extension::MayFill,
    ..LOCAL
};

/// What is assumed of a file system on a device of this machine of which no more is known.
pub static PLAIN: Quirk = LOCAL;

/// The base of the rows of file systems on devices of this machine.
const LOCAL: Quirk = Quirk {
    name: "",
    magic: &[],
    reflinks: false,
    copy_range: CopyRange::Splices,
    reported_size: ReportedSize::True,
    hole_map: HoleMap::Doubted,
    preallocate: Preallocate::Hurts,
    direct_io: DirectIo::Real,
    pages: Pages::Own,
    latency: Latency::Local,
    cached_writes: CachedWrites::InTurn,
    group_sync: GroupSync::Short,
    evidence: Evidence::Flush,
    name_sync: NameSync::Directory,
    // A second worker in one directory costs half as much again on most: it only waits for the lock.
    removal: Removal { sequence: Sequence::AsRead, workers: 1, large_workers: 4 },
    rename: Rename::Plain,
    groups: Groups::Unknown,
    inode: Inode::Posix,
    // A refusal costs one call a file, and only where attributes are kept.
    chattr: Chattr::Flags,
    listed_inodes: ListedInodes::True,
    extension: Extension::Hole,
    change_time: ChangeTime::Precise,
    file_bytes_max: u64::MAX,
};

/// The file systems that are known.
pub static TABLE: &[&Quirk] = &[
    &ext4::QUIRK,
    &xfs::QUIRK,
    &btrfs::QUIRK,
    &tmpfs::QUIRK,
    &tmpfs::RAMFS,
    &f2fs::QUIRK,
    &fat::QUIRK,
    &local::PLAIN,
    &local::EXFAT,
    &local::IMAGE,
    &local::SHARING,
    &remote::NFS,
    &remote::SMB,
    &remote::PARALLEL,
    &remote::FUSE,
    &remote::OVERLAY,
    &pseudo::PROC,
    &pseudo::SYSFS,
    &pseudo::OTHERS,
];

/// Returns what is special about the file system with this magic number.
#[must_use]
pub fn of_magic(magic: u32) -> &'static Quirk {
    TABLE.iter().find(|quirk| quirk.magic.contains(&magic)).copied().unwrap_or(&UNKNOWN)
}

/// Returns what is special about the file system of an open file; [`UNKNOWN`] if the kernel does not tell which one it is.
pub fn of(file: impl AsFd) -> &'static Quirk {
    fstatfs(file).map_or(&UNKNOWN, |system| of_magic(system.magic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_magic_number_is_claimed_twice() {
        for (index, quirk) in TABLE.iter().enumerate() {
            for magic in quirk.magic {
                assert!(!TABLE[..index].iter().any(|other| other.magic.contains(magic)));
            }
        }
    }

    #[test]
    fn a_row_that_trusts_syncfs_has_a_local_file_system() {
        for quirk in TABLE {
            let trusts = quirk.group_sync == GroupSync::Whole;
            assert!(!trusts || quirk.latency == Latency::Local, "{}", quirk.name);
        }
    }

    #[test]
    fn a_row_that_trusts_syncfs_names_what_shows_a_single_file() {
        let evidence = |magic| of_magic(magic).evidence;
        assert_eq!(evidence(0xef53), Evidence::Extents);
        assert_eq!(evidence(0x5846_5342), Evidence::Extents);
        assert_eq!(evidence(0x9123_683e), Evidence::Flush);
        assert_eq!(evidence(0xf2f5_2010), Evidence::Flush);
        assert_eq!(evidence(0x0102_1994), Evidence::Memory);
    }

    #[test]
    fn a_server_removes_with_one_worker_in_a_directory() {
        let nfs = of_magic(0x6969);
        assert_eq!((nfs.removal.workers, nfs.removal.large_workers), (1, 1));
        assert_eq!(of_magic(0xef53).removal.sequence, Sequence::ByInode);
        assert_eq!(of_magic(0xdead_beef).removal, PLAIN.removal);
    }

    #[test]
    fn the_unknown_is_not_believed_about_holes() {
        assert_eq!(of_magic(0xdead_beef).hole_map, HoleMap::Doubted);
    }
}
