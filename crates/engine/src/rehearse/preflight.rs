//! Preflight of a copy: compares its needs with what the target has, before the first write.
//!
//! The sums come from a rehearsal. The decision is pure: it takes needs and room, and returns
//! shortages.

use std::collections::HashSet;
use std::ffi::CStr;
use std::os::fd::BorrowedFd;

use haul_io::quirk::{self, Inode};
use haul_io::{Reflink, Sparse};
use haul_sys::Errno;
use haul_sys::fs::{FileSystem, Follow, Kind, Stat, fgetxattr, fstat, fstatfs, open_directory};

use crate::data::request::{Appearance, Keep, Make, Policy};
use crate::names::by_identity::Identity;
use crate::names::path::directory_of;
use crate::rehearse::Intent;

/// Total needs of a copy.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// Number of entries that would be created: each takes an inode.
    pub inodes: u64,
    /// Bytes of content.
    pub bytes: u64,
    /// Bytes that would have to be allocated.
    pub allocated: u64,
    /// Bytes that could share blocks with the source, if the file system agrees.
    pub shareable: u64,
    /// Bytes that the copy needs in addition because holes are filled.
    pub from_holes: u64,
    /// Bytes that the copy needs in addition because hard links become separate files.
    pub from_links: u64,
    /// Size of the largest file.
    pub largest: u64,
    /// Length of the longest name, in bytes.
    pub longest_name: usize,
    /// Number of symbolic links, FIFOs, sockets and devices.
    pub unusual: u64,
    /// Number of entries that would fail.
    pub failures: u64,
    /// Number of entries that a synchronisation would keep because of its limit on removals.
    pub not_deleted: u64,
    /// Room in the target.
    room: Option<Room>,
    split: HashSet<Identity>,
}

#[derive(Clone, Copy, Debug)]
struct Room {
    system: FileSystem,
    dev: u64,
    holds_xattrs: bool,
    keeps_holes: bool,
}

/// A shortage of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortage {
    /// Bytes: needed and free.
    Space(u64, u64),
    /// Inodes: needed and free.
    Inodes(u64, u64),
    /// The largest file exceeds the file size limit: its size and the limit.
    FileSize(u64, u64),
    /// The longest name exceeds the name length limit: its length and the limit.
    NameLength(usize, usize),
    /// Extended attributes must be kept and the target cannot store them.
    Xattrs,
    /// Owners and permissions must be kept and the target cannot store them.
    Owners,
    /// The target cannot create links and special files. The value is their number.
    Specials(u64),
}

impl Needs {
    /// Queries the file system that contains the target, or would contain it.
    pub(crate) fn measure_target(&mut self, base: BorrowedFd<'_>, target: &CStr) {
        let parent = directory_of(target.to_bytes());
        let opened = open_directory(base, target, Follow::Yes)
            .or_else(|_| open_directory(base, &parent, Follow::Yes));
        let Ok(directory) = opened else { return };
        let (Ok(system), Ok(stat)) = (fstatfs(&directory), fstat(&directory)) else { return };
        let asked = fgetxattr(&directory, c"user.haul");
        let holds_xattrs = !asked.is_err_and(|error| error.errno == Errno::OPNOTSUPP);
        let keeps_holes = quirk::of_magic(system.magic).inode == Inode::Posix;
        self.room = Some(Room { system, dev: stat.dev, holds_xattrs, keeps_holes });
    }

    pub(crate) fn see_name(&mut self, bytes: usize) {
        self.longest_name = self.longest_name.max(bytes);
    }

    /// Adds a name of a file with several names that becomes a separate file.
    pub(crate) fn see_split(&mut self, id: Identity, stat: &Stat) {
        if !self.split.insert(id) {
            self.from_links += stat.size.min(stat.blocks * 512);
        }
    }

    /// Adds an entry that would be created, or that would replace an existing one.
    pub(crate) fn add(&mut self, stat: &Stat, intent: Intent, old: Option<&Stat>, policy: &Policy) {
        if !matches!(intent, Intent::Overwrite | Intent::Merge) {
            self.inodes += 1;
        }
        let block = self.room.map_or(4096, |room| room.system.block_bytes.max(1));
        let is_made = intent != Intent::Merge;
        match stat.kind() {
            Kind::Regular if policy.make == Make::Copy => {}
            Kind::Directory if is_made => {
                self.allocated += block;
                return;
            }
            Kind::Regular | Kind::Directory => return,
            _ => {
                self.unusual += 1;
                return;
            }
        }
        let whole = stat.size.div_ceil(block).saturating_mul(block);
        let keeps_holes =
            policy.data.sparse != Sparse::Never && self.room.is_none_or(|room| room.keeps_holes);
        let held = (stat.blocks * 512).min(whole);
        let needed = if keeps_holes { held } else { whole };
        self.bytes += stat.size;
        self.largest = self.largest.max(stat.size);
        self.from_holes += needed - held.min(needed);
        let is_shared = policy.data.reflink != Reflink::Never
            && self.room.is_some_and(|room| {
                room.dev == stat.dev && quirk::of_magic(room.system.magic).reflinks
            });
        if is_shared {
            self.shareable += needed;
            return;
        }
        // With --atomic the old file stays until the new one is complete.
        let freed = match old {
            Some(old) if policy.appearance == Appearance::Gradual => old.blocks * 512,
            _ => 0,
        };
        self.allocated += needed.saturating_sub(freed);
    }

    /// Returns the free bytes and inodes of the target's file system, if it could be queried.
    #[must_use]
    pub fn free(&self) -> Option<(u64, u64)> {
        self.room.map(|room| (room.system.available_bytes, room.system.free_inodes))
    }

    /// Lists the shortages of the target.
    #[must_use]
    pub fn shortages(&self, policy: &Policy) -> Vec<Shortage> {
        let Some(room) = &self.room else { return Vec::new() };
        let system = &room.system;
        let mut list = Vec::new();
        if self.allocated > system.available_bytes {
            list.push(Shortage::Space(self.allocated, system.available_bytes));
        }
        // A file system that creates inodes as needed reports none, and none free.
        if system.inodes > 0 && self.inodes > system.free_inodes {
            list.push(Shortage::Inodes(self.inodes, system.free_inodes));
        }
        if self.longest_name > system.name_bytes_max && system.name_bytes_max > 0 {
            list.push(Shortage::NameLength(self.longest_name, system.name_bytes_max));
        }
        let quirk = quirk::of_magic(system.magic);
        let is_fat = quirk.inode == Inode::Fat;
        if self.largest > quirk.file_bytes_max {
            list.push(Shortage::FileSize(self.largest, quirk.file_bytes_max));
        }
        if is_fat && self.unusual > 0 {
            list.push(Shortage::Specials(self.unusual));
        }
        if is_fat && policy.preserve.ownership == Keep::Must {
            list.push(Shortage::Owners);
        }
        if policy.preserve.xattr == Keep::Must && !room.holds_xattrs {
            list.push(Shortage::Xattrs);
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::literals::{FILE, stat};

    fn needs(available_bytes: u64, free_inodes: u64) -> Needs {
        let system = FileSystem {
            // FAT.
            magic: 0x4d44,
            block_bytes: 4096,
            available_bytes,
            free_inodes,
            inodes: 100,
            name_bytes_max: 255,
            is_read_only: false,
        };
        let room = Room { system, dev: 1, holds_xattrs: false, keeps_holes: false };
        Needs { room: Some(room), ..Needs::default() }
    }

    fn file(size: u64, blocks: u64) -> Stat {
        Stat { dev: 2, size, blocks, ..stat(1, FILE) }
    }

    #[test]
    fn holes_that_are_filled_count() {
        let mut needs = needs(1 << 20, 10);
        let policy = Policy::plain(0);
        needs.add(&file(1 << 20, 8), Intent::Create, None, &policy);
        assert_eq!((needs.allocated, needs.from_holes), (1 << 20, (1 << 20) - 4096));
        assert_eq!(needs.shortages(&policy), []);
        needs.add(&file(1, 8), Intent::Create, None, &policy);
        let expected = [Shortage::Space((1 << 20) + 4096, 1 << 20)];
        assert_eq!(needs.shortages(&policy), expected);
    }

    #[test]
    fn what_is_overwritten_makes_room() {
        let mut needs = needs(0, 0);
        let policy = Policy::plain(0);
        let old = file(8192, 16);
        needs.add(&file(4096, 8), Intent::Overwrite, Some(&old), &policy);
        assert_eq!((needs.allocated, needs.inodes), (0, 0));
        assert_eq!(needs.shortages(&policy), []);
    }

    #[test]
    fn limits_of_the_file_system_are_told_with_figures() {
        let mut needs = needs(u64::MAX, 1);
        let policy = Policy::plain(0);
        needs.see_name(300);
        for _ in 0..2 {
            needs.add(&file(5 << 30, 8), Intent::Create, None, &policy);
        }
        let list = needs.shortages(&policy);
        assert!(list.contains(&Shortage::Inodes(2, 1)), "{list:?}");
        assert!(list.contains(&Shortage::NameLength(300, 255)), "{list:?}");
        assert!(list.contains(&Shortage::FileSize(5 << 30, u64::from(u32::MAX))), "{list:?}");
    }
}
