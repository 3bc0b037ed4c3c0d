//! What a copy needs, held against what the target has, before the first byte is written.
//!
//! The sums come from a rehearsal. What is decided here is pure: needs and room in, shortages out.

use std::collections::HashSet;
use std::ffi::CStr;
use std::os::fd::BorrowedFd;

use haul_io::quirk::{self, Inode};
use haul_io::{Reflink, Sparse};
use haul_sys::Errno;
use haul_sys::fs::{FileSystem, Follow, Kind, Stat, fgetxattr, fstat, fstatfs, open_directory};

use crate::rehearse::Intent;
use crate::request::{Appearance, Keep, Make, Policy};
use crate::walk::node::Identity;
use crate::walk::path::directory_of;

/// What a copy would need, added up.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// Entries that would be made: each takes an inode.
    pub inodes: u64,
    /// Bytes of the contents.
    pub bytes: u64,
    /// Bytes that would have to be allocated.
    pub allocated: u64,
    /// Bytes whose blocks could be shared with the source, if the file system agrees.
    pub shareable: u64,
    /// By how much holes that are filled make it larger.
    pub from_holes: u64,
    /// By how much hard links that become files of their own make it larger.
    pub from_links: u64,
    /// The largest file.
    pub largest: u64,
    /// The longest name, in bytes.
    pub longest_name: usize,
    /// Symbolic links, FIFOs, sockets and devices.
    pub unusual: u64,
    /// Entries that would fail.
    pub failures: u64,
    /// What the target has.
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

/// Something that the target lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortage {
    /// Bytes: needed and free.
    Space(u64, u64),
    /// Inodes: needed and free.
    Inodes(u64, u64),
    /// The largest file is larger than files can be: its size and the limit.
    FileSize(u64, u64),
    /// The longest name is longer than names can be: its length and the limit.
    NameLength(usize, usize),
    /// Extended attributes are to be kept and cannot be.
    Xattrs,
    /// Owners and permissions are to be kept and cannot be.
    Owners,
    /// Links and special files, of which there are so many, cannot be made.
    Specials(u64),
}

impl Needs {
    /// Asks the file system that the target is on, or would be made on.
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

    /// Sees a name of a file with several that becomes a file of its own.
    pub(crate) fn see_split(&mut self, id: Identity, stat: &Stat) {
        if !self.split.insert(id) {
            self.from_links += stat.size.min(stat.blocks * 512);
        }
    }

    /// Adds an entry that would be made, or whose place would be taken.
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
        // With --atomic the old file stays until the new one is there.
        let freed = match old {
            Some(old) if policy.appearance == Appearance::Gradual => old.blocks * 512,
            _ => 0,
        };
        self.allocated += needed.saturating_sub(freed);
    }

    /// Returns bytes and inodes that are free in the target, where it could be asked.
    #[must_use]
    pub fn free(&self) -> Option<(u64, u64)> {
        self.room.map(|room| (room.system.available_bytes, room.system.free_inodes))
    }

    /// Lists what the target lacks.
    #[must_use]
    pub fn shortages(&self, policy: &Policy) -> Vec<Shortage> {
        let Some(room) = &self.room else { return Vec::new() };
        let system = &room.system;
        let mut list = Vec::new();
        if self.allocated > system.available_bytes {
            list.push(Shortage::Space(self.allocated, system.available_bytes));
        }
        // A file system that makes inodes as needed has none, and none free.
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
    use crate::literals::{FILE, stat};

    fn needs(available_bytes: u64, free_inodes: u64) -> Needs {
        let system = FileSystem {
            // FAT.
            magic: 0x4d44,
            block_bytes: 4096,
            available_bytes,
            free_inodes,
            inodes: 100,
            name_bytes_max: 255,
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
