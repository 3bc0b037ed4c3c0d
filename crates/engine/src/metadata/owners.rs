//! Owners of the files that this process makes.
//!
//! A process that has made a name and then opens it may open another file: a user who may write to the
//! directory can exchange the two in between. So the owner of a file that was opened by name shows only
//! who made *that* file, and what a new file in it will belong to follows from the process. A file of
//! another owner is not the process's own, unless the file system gives that owner to all files: FAT
//! with `uid=`, a server that maps root to another user.

use haul_sys::sync::Mutex;
use std::os::fd::{AsFd, BorrowedFd};

use haul_io::hidden::make_hidden;
use haul_sys::Result;
use haul_sys::fs::{OpenHow, Stat, fstat, openat, unlinkat};
use haul_sys::process::Identity;
use haul_tree::has_no_entry;

/// Bits that let the group and others exchange entries of a directory.
const WRITE_OF_OTHERS: u32 = 0o022;

/// Set-group-ID bit: the entries of such a directory get its group.
const INHERITS_GROUP: u32 = 0o2000;

/// The owner and group of this process, and what file systems make of them.
pub(crate) struct Owners {
    user: u32,
    group: u32,
    /// Devices whose file systems give the files of this process another owner, and that owner.
    assigned: Mutex<Vec<(u64, u32)>>,
}

impl Owners {
    /// Returns the owners of a process with this user and group.
    pub(crate) fn of(process: &Identity) -> Owners {
        Owners { user: process.uid, group: process.gid, assigned: Mutex::default() }
    }

    /// Returns whether a file can be one that this process has made. If its owner is another one, makes
    /// a file in a directory of the same file system to see which owner that gets.
    pub(crate) fn is_own(&self, file: &Stat, directory: BorrowedFd<'_>) -> Result<bool> {
        let assigned = (file.dev, file.uid);
        let known = || self.assigned.lock();
        if file.uid == self.user || known().contains(&assigned) {
            return Ok(true);
        }
        let made = owner_of_new(directory)?;
        if made == assigned {
            known().push(made);
        }
        Ok(made == assigned)
    }

    /// Returns whether the process is root's.
    pub(crate) const fn is_root(&self) -> bool {
        self.user == 0
    }

    /// Returns whether an open directory can be the one that this process has just made under the name by
    /// which it was opened. A directory that only this user may exchange is not searched for entries.
    pub(crate) fn is_just_made(
        &self,
        directory: BorrowedFd<'_>,
        stat: &Stat,
        exchangeable: Exchangeable,
    ) -> Result<bool> {
        Ok(self.is_own(stat, directory)?
            && (exchangeable == Exchangeable::No || has_no_entry(directory)?))
    }

    /// Returns the owner and group of a file that this process makes in a directory of its own; `None` if
    /// only the file itself shows them, because the file system assigns them in another way.
    pub(crate) fn of_new_file(&self, directory: &Stat) -> Option<(u32, u32)> {
        let has_group = directory.gid == self.group || directory.mode & INHERITS_GROUP != 0;
        (directory.uid == self.user && has_group).then_some((directory.uid, directory.gid))
    }

    /// Returns whether other users may exchange the entries of a directory. Where it has an access-control
    /// list, the group's bits are the most that the list grants.
    pub(crate) fn exchangeable(&self, directory: &Stat) -> Exchangeable {
        let is_private = directory.uid == self.user && directory.mode & WRITE_OF_OTHERS == 0;
        if is_private { Exchangeable::No } else { Exchangeable::Yes }
    }
}

/// Whether other users may exchange the entries of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exchangeable {
    No,
    Yes,
}

/// Returns the device and the owner of a new file of this process in a directory.
fn owner_of_new(directory: BorrowedFd<'_>) -> Result<(u64, u32)> {
    let how = OpenHow::new_file(0o600);
    let (file, name) = make_hidden(|name| openat(directory, name, how))?;
    let made = fstat(file.as_fd());
    unlinkat(directory, &name)?;
    made.map(|stat| (stat.dev, stat.uid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    use haul_sys::fs::{CWD, Follow, mkdirat, open_directory};
    use haul_sys::process::identity;

    fn own() -> (tempfile::TempDir, std::os::fd::OwnedFd, Stat) {
        let folder = tempfile::tempdir().unwrap();
        let path = CString::new(folder.path().as_os_str().as_encoded_bytes()).unwrap();
        let directory = open_directory(CWD, &path, Follow::No).unwrap();
        let stat = fstat(&directory).unwrap();
        (folder, directory, stat)
    }

    #[test]
    fn a_directory_with_an_entry_was_not_just_made() {
        let (_folder, directory, stat) = own();
        let owners = Owners::of(&identity());
        let is = |exchangeable| {
            let opened = open_directory(&directory, c".", Follow::No).unwrap();
            owners.is_just_made(opened.as_fd(), &stat, exchangeable).unwrap()
        };
        assert!(is(Exchangeable::Yes));
        mkdirat(&directory, c"entry", 0o700).unwrap();
        assert!(!is(Exchangeable::Yes));
        assert!(is(Exchangeable::No));
    }

    #[test]
    fn a_directory_of_another_owner_was_not_made_by_this_process() {
        let (_folder, directory, stat) = own();
        let owners = Owners::of(&identity());
        let other = Stat { uid: stat.uid + 1, ..stat };
        assert!(!owners.is_own(&other, directory.as_fd()).unwrap());
        assert!(has_no_entry(&directory).unwrap(), "the file that was made for it is gone");
        assert_eq!(owners.exchangeable(&other), Exchangeable::Yes);
        assert_eq!(owners.of_new_file(&other), None);
    }

    #[test]
    fn an_owner_that_the_file_system_assigns_is_believed() {
        let (_folder, directory, stat) = own();
        // As for root where a server maps root to this user.
        let owners = Owners { user: stat.uid + 1, ..Owners::of(&identity()) };
        assert!(owners.is_own(&stat, directory.as_fd()).unwrap());
        assert!(owners.is_own(&stat, directory.as_fd()).unwrap());
        assert_eq!(*owners.assigned.lock(), [(stat.dev, stat.uid)]);
        assert_eq!(owners.of_new_file(&stat), None);
    }

    #[test]
    fn a_new_file_has_the_group_of_the_process_or_of_a_directory_that_passes_it_on() {
        let (_folder, _, stat) = own();
        let owners = Owners::of(&identity());
        let own = Stat { gid: owners.group, ..stat };
        assert_eq!(owners.of_new_file(&own), Some((owners.user, owners.group)));
        let other = Stat { gid: owners.group + 1, ..own };
        assert_eq!(owners.of_new_file(&other), None);
        let passed_on = Stat { mode: other.mode | INHERITS_GROUP, ..other };
        assert_eq!(owners.of_new_file(&passed_on), Some((owners.user, owners.group + 1)));
        let shared = Stat { mode: own.mode | 0o020, ..own };
        assert_eq!(owners.exchangeable(&shared), Exchangeable::Yes);
        assert_eq!(owners.exchangeable(&Stat { mode: 0o040_755, ..own }), Exchangeable::No);
    }
}
