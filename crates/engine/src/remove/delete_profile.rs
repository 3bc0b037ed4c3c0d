//! What a file system likes when it is deleted from, as data.
//!
//! Measured with 100,000 files in one directory on fresh images:
//! ext4 keeps inodes in tables on disk, in which deletion in the order of numbers walks forwards,
//! while its directories are in the order of hashes. On XFS and btrfs that order changes nothing, and
//! a second deleter in one directory costs half as much again, for it only waits for the lock.

use std::os::fd::BorrowedFd;
use std::sync::{Mutex, PoisonError};

use haul_io::{quirk, quirk::Latency};
use haul_sys::fs::fstatfs;

/// In which order the entries of a directory are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sequence {
    /// As they are read.
    AsRead,
    /// By inode number.
    ByInode,
}

/// What one file system likes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DeleteProfile {
    magic: u32,
    pub(super) sequence: Sequence,
    /// How many workers may delete in one directory.
    pub(super) deleters: usize,
    /// How many where entries take long, as large files do: their pages and blocks are given up outside
    /// the directory's lock. Four free memory faster than it can be had.
    pub(super) large_deleters: usize,
    /// Whether each removal is a trip to somewhere else, so that many workers may wait at once: in
    /// one directory its lock lets only one of them on its way, in others each has its own.
    pub(super) latency: Latency,
}

/// What is assumed of all others: nothing that could hurt.
pub(super) static PLAIN: DeleteProfile = DeleteProfile {
    magic: 0,
    sequence: Sequence::AsRead,
    deleters: 1,
    large_deleters: 4,
    latency: Latency::Local,
};

/// Servers and programs: all of a removal happens there, and takes as long as the directory is locked.
static FAR: DeleteProfile = DeleteProfile {
    magic: 0,
    sequence: Sequence::AsRead,
    deleters: 1,
    large_deleters: 1,
    latency: Latency::Remote,
};

/// Those that nobody has looked at, which may be either.
static UNKNOWN: DeleteProfile = DeleteProfile {
    magic: 0,
    sequence: Sequence::AsRead,
    deleters: 1,
    large_deleters: 4,
    latency: Latency::Remote,
};

static TABLE: &[DeleteProfile] = &[
    // ext2, ext3 and ext4.
    DeleteProfile {
        magic: 0xEF53,
        sequence: Sequence::ByInode,
        deleters: 2,
        large_deleters: 4,
        latency: Latency::Local,
    },
    // XFS puts directories into its allocation groups in turn and files beside their directory. In
    // the order of inodes a group's directories follow one another, so that workers that have halves
    // of the list are in different groups; in the order of names they would want the same group's
    // lock at the same time, directory after directory.
    DeleteProfile {
        magic: 0x5846_5342,
        sequence: Sequence::ByInode,
        deleters: 1,
        large_deleters: 4,
        latency: Latency::Local,
    },
];

/// The file systems that a run has met, by device.
#[derive(Default)]
pub(super) struct DeleteProfiles(Mutex<Vec<(u64, &'static DeleteProfile)>>);

impl DeleteProfiles {
    /// Returns what the file system of an open directory likes, asking it the first time.
    pub(super) fn of(&self, dev: u64, directory: BorrowedFd<'_>) -> &'static DeleteProfile {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, delete_profile)) = known.iter().find(|(other, _)| *other == dev) {
            return delete_profile;
        }
        // One that will not say what it is, is treated like one that nobody knows.
        let magic = fstatfs(directory).map_or(0, |told| told.magic);
        let delete_profile = TABLE
            .iter()
            .find(|delete_profile| delete_profile.magic == magic)
            .unwrap_or_else(|| {
                let quirk = quirk::of_magic(magic);
                match quirk.latency {
                    _ if std::ptr::eq(quirk, &raw const quirk::UNKNOWN) => &UNKNOWN,
                    Latency::Local => &PLAIN,
                    Latency::Remote => &FAR,
                }
            });
        known.push((dev, delete_profile));
        delete_profile
    }
}
