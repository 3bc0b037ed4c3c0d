//! Delete profiles of the file systems of a removal: rows of [`haul_io::quirk`], looked up once
//! for each device.

use haul_sys::sync::Mutex;
use std::os::fd::BorrowedFd;

pub(super) use haul_io::quirk::Sequence;
use haul_io::quirk::{self, Quirk};

/// What a removal needs to know of a file system.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeleteProfile {
    /// Row of the table of file systems.
    pub(super) quirk: &'static Quirk,
    /// Number of low bits of an inode number that are the position in its allocation group, if workers
    /// should be in different groups.
    pub(super) group_bits: Option<u32>,
}

impl DeleteProfile {
    /// Profile of a file system of which nothing is known.
    pub(super) const PLAIN: DeleteProfile =
        DeleteProfile { quirk: &quirk::PLAIN, group_bits: None };
}

/// Delete profiles that a run has looked up, by device.
#[derive(Default)]
pub(super) struct DeleteProfiles(Mutex<Vec<(u64, DeleteProfile)>>);

impl DeleteProfiles {
    /// Returns the delete profile of an open directory's file system. The first call for a device
    /// looks it up.
    pub(super) fn of(&self, dev: u64, directory: BorrowedFd<'_>) -> DeleteProfile {
        self.known(dev).unwrap_or_else(|| self.look_up(dev, directory))
    }

    /// Returns the delete profile of a device that was looked up.
    pub(super) fn known(&self, dev: u64) -> Option<DeleteProfile> {
        let known = self.0.lock();
        known.iter().find(|(other, _)| *other == dev).map(|(_, profile)| *profile)
    }

    fn look_up(&self, dev: u64, directory: BorrowedFd<'_>) -> DeleteProfile {
        let mut known = self.0.lock();
        let quirk = quirk::of(directory);
        let profile = DeleteProfile { quirk, group_bits: quirk.inode_group_bits(directory) };
        known.push((dev, profile));
        profile
    }
}
