//! Removing what was archived (`--remove-files`), after the archive was written.
//!
//! What is removed is what was read: a file that has another identity, size or time by now stays.

use std::ffi::CString;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::Arc;

use haul_sys::fs::{
    CWD, Follow, Kind, Stat, open_directory, readlinkat, rmdirat, statat, statat_follow, unlinkat,
};
use haul_sys::{Call, CallError, Errno};

/// A file that is in the archive, completely.
#[derive(Clone, Debug)]
pub struct Archived {
    pub(super) root: Arc<OwnedFd>,
    pub(super) name: Vec<u8>,
    pub(super) stat: Stat,
}

impl Archived {
    /// Returns the device and the inode of the file.
    #[must_use]
    pub const fn file(&self) -> (u64, u64) {
        (self.stat.dev, self.stat.ino)
    }
    /// Returns the name of the file.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// Cuts the name into a directory that the user named, which links may lead to, and the rest, in which links have
    /// taken the place of directories that were read.
    fn parts(&self) -> (&[u8], &[u8]) {
        let (operand, below) = self.name.split_at_checked(self.operand_bytes).unwrap_or_default();
        let (parent, leaf) = split(operand);
        // These are no links, and `..` would lead out of what is above it.
        let is_dots = matches!(leaf, b"." | b"..");
        let cut = if is_dots && !below.is_empty() { operand.len() } else { parent.len() };
        let (above, mut rest) = self.name.split_at_checked(cut).unwrap_or_default();
        while let [b'/', behind @ ..] = rest {
            rest = behind;
        }
        if rest.is_empty() { (&self.name, b".") } else { (above, rest) }
    }

}

/// Why a file stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stays {
    /// It is another one than the one that was read, or was changed.
    Changed,
    /// It cannot be removed.
    Unlink(CallError),
    /// The directory cannot be removed.
    Rmdir(CallError),
}

/// Removes files, then directories, each after those below it. What stays is told. Blocks.
pub fn remove_archived(archived: &[Archived], follow: Follow, tell: &mut dyn FnMut(&[u8], &Stays)) {
    let is_directory = |one: &&Archived| one.stat.kind() == Kind::Directory;
    let files = archived.iter().filter(|one| !is_directory(one));
    let directories = archived.iter().rev().filter(is_directory);
    for one in files.chain(directories) {
        match remove(one, follow) {
            Ok(()) => {}
            // The same name was archived twice.
            Err(Stays::Unlink(error) | Stays::Rmdir(error)) if error.errno == Errno::NOENT => {}
            Err(stays) => tell(&one.name, &stays),
        }
    }
}

fn remove(archived: &Archived, follow: Follow) -> Result<(), Stays> {
    let Archived { root, name, stat } = archived;
    let is_directory = stat.kind() == Kind::Directory;
    let failed = |error| if is_directory { Stays::Rmdir(error) } else { Stays::Unlink(error) };
    let path = CString::new(name.clone())
        .map_err(|_| failed(CallError::new(Call::Unlinkat, Errno::INVAL)))?;
    let now = match follow {
        Follow::No => statat(&**root, &path),
        Follow::Yes => statat_follow(&**root, &path),
    };
    let now = now.map_err(failed)?;
    if !now.same_file(stat) || (!is_directory && !is_as_read(stat, &now)) {
        return Err(Stays::Changed);
    }
    if is_directory {
        match rmdirat(&**root, &path) {
            Err(error) if error.errno == Errno::INVAL => remove_root(root, stat, error),
            answer => answer,
        }
        .map_err(Stays::Rmdir)
    } else {
        unlinkat(&**root, &path).map_err(Stays::Unlink)
    }
}

/// Removes the directory that names are relative to, where its name is `.`, by its name in the one above;
/// not the directory of this process.
fn remove_root(root: &OwnedFd, stat: &Stat, error: CallError) -> Result<(), CallError> {
    if statat_follow(CWD, c".").is_ok_and(|own| own.same_file(stat)) {
        return Err(error);
    }
    // Without /proc its name cannot be found out, and it stays.
    let entry = CString::new(format!("/proc/self/fd/{}", root.as_raw_fd())).ok();
    let path = entry.and_then(|entry| readlinkat(CWD, &entry).ok());
    let leaf = path.and_then(|path| {
        let leaf = path.to_bytes().rsplit(|byte| *byte == b'/').next()?.to_vec();
        CString::new(leaf).ok()
    });
    let Some(leaf) = leaf else { return Err(error) };
    let above = open_directory(root, c"..", Follow::No)?;
    if !statat(&above, &leaf)?.same_file(stat) {
        return Err(error);
    }
    rmdirat(&above, &leaf)
}

/// Compares a file with what it was when it was read. The removal of another name changes the time of
/// its attributes.
fn is_as_read(before: &Stat, now: &Stat) -> bool {
    let is_same = (before.size, before.mtime) == (now.size, now.mtime);
    is_same && (before.nlink > 1 || before.ctime == now.ctime)
}
