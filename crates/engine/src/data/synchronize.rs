//! Rules of a synchronisation: which entries of the target are the same already, and which are removed.
//!
//! The words are those of rsync(1), whose options these rules are.

use std::ffi::CString;

use haul_io::digest::Algorithm;
use haul_sys::fs::{Kind, Time};

use super::attributes::{IdMap, ModeChanges};
use super::selected::Selected;
use super::setters::setters;

/// When an existing file counts as the same as its source, so that its bytes are not copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameBy {
    /// Size and modification time are equal. Times may differ by `window_s` seconds; with 0, a target whose time
    /// has a fraction of a second must have the source's, as far as its file system stores it.
    SizeAndTime {
        /// Seconds, at least 0.
        window_s: i64,
    },
    /// The sizes are equal (`--size-only`).
    Size,
    /// Sizes and bytes are equal (`-c`): both files are read.
    Content,
    /// Never (`-I`).
    Never,
}

/// Removal of entries of the target that the source does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delete {
    /// Maximum number of entries to remove (`--max-delete`).
    pub most: Option<u64>,
    /// Whether entries are removed although the source directory that is an operand has none. Without this, such a
    /// directory may be the mount point of a file system that is not mounted.
    pub from_empty: bool,
}

setters!(Delete {
    most: Option<u64>,
    from_empty: bool,
});

/// Which of the two is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// Owner and group.
    Both,
    /// The owner alone (`-o`).
    User,
    /// The group alone (`-g`).
    Group,
}

/// What a run does with an entry that the target does not have, and another directory has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BasisUse {
    /// A new name of that entry is made (`--link-dest`).
    Link,
    /// The entry is copied (`--copy-dest`).
    Copy,
    /// Nothing is made, and a regular file of the target goes (`--compare-dest`).
    Compare,
}

/// Directories, such as earlier snapshots, in which a run looks for entries that the target does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bases {
    /// What is done with an entry that is the same there.
    pub purpose: BasisUse,
    /// The directories in the order in which they are searched, as paths from the target directory.
    pub directories: Vec<CString>,
}

/// Where the part of a file stays that cannot be completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parts {
    /// Under the name of the file, if that is free (`--partial`).
    Named,
    /// In a directory of this path in the directory of the file (`--partial-dir`). It goes when the file is complete.
    Directory(CString),
}

/// Backups of entries that are replaced or removed (`--backup`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backups {
    /// Directory that gets the backups under their paths in the target, as a path from the target directory. Without
    /// one, a backup is beside the entry.
    pub directory: Option<CString>,
    /// What is appended to the names, without any slash.
    pub suffix: Vec<u8>,
}

/// Policy of a copy that makes a target the same as its source.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Synchronize {
    /// When an existing file counts as the same.
    pub same: SameBy,
    /// Whether a regular file of the target that is newer than its source stays (`-u`).
    pub keeps_newer: bool,
    /// Whether no entry is made that the target does not have (`--existing`).
    pub only_existing: bool,
    /// Whether no entry is changed that the target has, except directories (`--ignore-existing`).
    pub only_missing: bool,
    /// Whether symbolic links are copied (`-l`); otherwise they are skipped.
    pub symlinks: bool,
    /// Whether devices are copied.
    pub devices: bool,
    /// Whether FIFOs and sockets are copied.
    pub specials: bool,
    /// Whether access-control lists that differ alone make a difference (`-A`).
    pub acls: bool,
    /// Whether directories get the times of their sources, if times are preserved.
    pub directory_times: bool,
    /// Whether symbolic links get the times of their sources, if times are preserved.
    pub link_times: bool,
    /// Whether a directory is removed with its entries where the source has a file of its name (`--force`, `--delete`).
    pub clears_directories: bool,
    /// Removal of entries that the source does not have.
    pub delete: Option<Delete>,
    /// Entries of the target that no removal removes, by rules that concern the receiver, of the user and of merge files
    /// on both sides; `None` protects none.
    pub protected: Option<Selected>,
    /// Other directories that may have what the target does not have.
    pub bases: Option<Bases>,
    /// Backups of what is replaced or removed.
    pub backups: Option<Backups>,
    /// Which of owner and group are kept, if [`Preserve::ownership`](super::request::Preserve) asks for it.
    pub ownership: Ownership,
    /// Owners that become others.
    pub users: Option<IdMap>,
    /// Groups that become others.
    pub groups: Option<IdMap>,
    /// Whether numbers of users and groups count as if they had no names (`--numeric-ids`).
    pub numeric_ids: bool,
    /// Changes of the permission bits of the source (`--chmod`).
    pub modes: ModeChanges,
    /// Whether a file that exists becomes executable, or ceases to be, as its source is, where modes are not kept
    /// (`-E`).
    pub executability: bool,
    /// Whether directories above the target that are missing are made (`--mkpath`).
    pub makes_path: bool,
    /// Whether the directories above an operand get the attributes of the source, where the policy makes them (`-R`).
    pub implied_attributes: bool,
    /// Whether directories are made where they are not entered, and the entries of an operand that ends in a slash are copied (`-d`).
    pub lists_directories: bool,
    /// Whether directories are left out that have no entry but directories (`-m`).
    pub prunes_empty: bool,
    /// Whether symbolic links to directories are copied as directories (`-k`).
    pub copies_directory_links: bool,
    /// Whether symbolic links that lead out of the transfer are followed (`--copy-unsafe-links`).
    pub copies_unsafe_links: bool,
    /// Whether symbolic links that lead out of the transfer are skipped (`--safe-links`).
    pub skips_unsafe_links: bool,
    /// Whether the bytes of a file of the target are replaced, in place of the file (`--inplace`).
    pub in_place: bool,
    /// Where the part of a file stays that cannot be completed.
    pub parts: Option<Parts>,
    /// Digest that compares contents; without one, a fast one.
    pub comparing: Option<&'static Algorithm>,
}

setters!(Synchronize {
    same: SameBy,
    keeps_newer: bool,
    only_existing: bool,
    only_missing: bool,
    symlinks: bool,
    devices: bool,
    specials: bool,
    acls: bool,
    directory_times: bool,
    link_times: bool,
    clears_directories: bool,
    delete: Option<Delete>,
    protected: Option<Selected>,
    bases: Option<Bases>,
    backups: Option<Backups>,
    ownership: Ownership,
    users: Option<IdMap>,
    groups: Option<IdMap>,
    numeric_ids: bool,
    modes: ModeChanges,
    executability: bool,
    makes_path: bool,
    implied_attributes: bool,
    lists_directories: bool,
    prunes_empty: bool,
    copies_directory_links: bool,
    copies_unsafe_links: bool,
    skips_unsafe_links: bool,
    in_place: bool,
    parts: Option<Parts>,
    comparing: Option<&'static Algorithm>,
});

impl Synchronize {
    /// Returns whether entries of this kind are copied.
    pub(crate) const fn copies(&self, kind: Kind) -> bool {
        match kind {
            Kind::Symlink => self.symlinks,
            Kind::BlockDevice | Kind::CharDevice => self.devices,
            Kind::Fifo | Kind::Socket => self.specials,
            Kind::Regular | Kind::Directory | Kind::Unknown => true,
        }
    }

    /// Returns whether entries of this kind get the times of their sources, if times are preserved.
    pub(crate) const fn keeps_times(&self, kind: Kind) -> bool {
        match kind {
            Kind::Directory => self.directory_times,
            Kind::Symlink => self.link_times,
            _ => true,
        }
    }

    /// Returns the seconds by which equal times may differ.
    pub(crate) const fn window_s(&self) -> i64 {
        match self.same {
            SameBy::SizeAndTime { window_s } => window_s,
            SameBy::Size | SameBy::Content | SameBy::Never => 0,
        }
    }
}

/// The rules of `rsync -a`.
impl Default for Synchronize {
    fn default() -> Synchronize {
        Synchronize {
            same: SameBy::SizeAndTime { window_s: 0 },
            keeps_newer: false,
            only_existing: false,
            only_missing: false,
            symlinks: true,
            devices: true,
            specials: true,
            acls: false,
            directory_times: true,
            link_times: true,
            clears_directories: false,
            delete: None,
            protected: None,
            bases: None,
            backups: None,
            ownership: Ownership::Both,
            users: None,
            groups: None,
            numeric_ids: false,
            modes: ModeChanges::default(),
            executability: false,
            makes_path: false,
            implied_attributes: true,
            lists_directories: false,
            prunes_empty: false,
            copies_directory_links: false,
            copies_unsafe_links: false,
            skips_unsafe_links: false,
            in_place: false,
            parts: None,
            comparing: None,
        }
    }
}

/// What becomes of the modification time of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeChange {
    /// It stays, because it is the source's or is not compared.
    #[default]
    Same,
    /// It becomes the source's.
    Kept,
    /// It becomes the present time, because times are not preserved.
    Now,
}

/// What a synchronisation changes of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changes {
    /// Whether the entry is new, or replaces one of another kind.
    pub is_new: bool,
    /// Whether the entry is new, and was compared with one of another directory ([`Bases`]), which has its content.
    pub is_based: bool,
    /// Whether the bytes differ where they were compared, the text of a symbolic link, or the number of a device.
    pub content: bool,
    /// Whether the sizes of regular files differ.
    pub size: bool,
    /// The modification time.
    pub time: TimeChange,
    /// Whether the permission bits differ.
    pub mode: bool,
    /// Whether the owners differ.
    pub owner: bool,
    /// Whether the groups differ.
    pub group: bool,
    /// Whether the access-control lists differ.
    pub acl: bool,
    /// Whether other extended attributes differ.
    pub xattr: bool,
}

impl Changes {
    /// The changes of an entry that the target does not have.
    pub(crate) const NEW: Changes = Changes {
        is_new: true,
        is_based: false,
        content: false,
        size: false,
        time: TimeChange::Same,
        mode: false,
        owner: false,
        group: false,
        acl: false,
        xattr: false,
    };

    /// Returns whether the entry is the same as the one that it was compared with.
    #[must_use]
    pub fn are_none(&self) -> bool {
        Changes { is_based: false, ..*self } == Changes::default()
    }

    /// Returns whether the entry has to get attributes.
    pub(crate) fn are_of_attributes(&self) -> bool {
        self.mode
            || self.owner
            || self.group
            || self.acl
            || self.xattr
            || self.time == TimeChange::Kept
    }
}

/// Comparison of a source with the entry of the target that has its name and its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Compared {
    /// Whether the content of the target is the source's, by the rule of the run.
    pub(crate) is_same: bool,
    pub(crate) changes: Changes,
}

/// Returns whether two modification times are equal by the rule of [`SameBy::SizeAndTime`]. `step_ns` is the
/// precision of the target's file system in nanoseconds.
pub(crate) fn is_same_time(source: Time, target: Time, window_s: i64, step_ns: i128) -> bool {
    if window_s > 0 {
        return source.seconds.abs_diff(target.seconds) <= window_s.unsigned_abs();
    }
    // Programs that copy whole seconds only, such as older ones and archivers, leave no fraction.
    let is_whole = target.nanoseconds == 0;
    (is_whole && source.seconds == target.seconds)
        || crate::names::timestamp_precision::is_same(target, source, step_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: i64, nanoseconds: u32) -> Time {
        Time { seconds, nanoseconds }
    }

    #[test]
    fn a_fraction_counts_where_the_target_has_one() {
        for (source, target, window_s, step_ns, expected) in [
            (at(5, 7), at(5, 7), 0, 1, true),
            (at(5, 7), at(5, 8), 0, 1, false),
            (at(5, 7), at(5, 0), 0, 1, true),
            (at(5, 0), at(5, 7), 0, 1, false),
            (at(5, 7), at(6, 0), 0, 1, false),
            (at(5, 123_456_789), at(5, 123_456_700), 0, 100, true),
            (at(5, 0), at(4, 0), 0, 2_000_000_000, true),
            (at(5, 0), at(7, 9), 2, 1, true),
            (at(5, 0), at(8, 0), 2, 1, false),
            (at(-1, 0), at(1, 0), 2, 1, true),
        ] {
            let same = is_same_time(source, target, window_s, step_ns);
            assert_eq!(same, expected, "{source:?} {target:?}");
        }
    }
}
