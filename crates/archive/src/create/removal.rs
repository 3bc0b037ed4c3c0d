//! Removing what was archived (`--remove-files`), after the archive was written.
//!
//! What is removed is what was read: a file that has another identity, size or time by now stays. It is looked at and
//! removed in the same open directory, so that no other user can make the name lead to another one between, and for
//! the last time under a hidden name (`haul_io::last_check`).

use std::ffi::CString;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::sync::Arc;

use haul_io::last_check::{self, LastNames, OtherName};
use haul_sys::fs::{
    CWD, Follow, Kind, Stat, open_directory, readlinkat, rmdirat, statat, statat_follow,
};
use haul_sys::{Call, CallError, Errno};

use crate::extract::place::{Place, Places, split};

/// A file that is in the archive, completely.
#[derive(Clone, Debug)]
pub struct Archived {
    pub(super) root: Arc<OwnedFd>,
    pub(super) name: Vec<u8>,
    /// Bytes of the operand at the beginning of the name.
    pub(super) operand_bytes: usize,
    pub(super) stat: Stat,
}

impl Archived {
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

    /// Returns the device and the inode of the file.
    #[must_use]
    pub const fn file(&self) -> (u64, u64) {
        (self.stat.dev, self.stat.ino)
    }
}

/// Why a file stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stays {
    /// It is another one than the one that was read, or was changed.
    Changed,
    /// The same, and it could not get its name back: it has this one.
    Beside(OtherName),
    /// It cannot be removed.
    Unlink(CallError),
    /// The directory cannot be removed.
    Rmdir(CallError),
}

impl From<last_check::Stays> for Stays {
    fn from(stays: last_check::Stays) -> Stays {
        match stays {
            last_check::Stays::Changed => Stays::Changed,
            last_check::Stays::Beside(name) => Stays::Beside(name),
            last_check::Stays::Failed(error) => Stays::Unlink(error),
        }
    }
}

/// Removes files, then directories, each after those below it. What stays is told. Blocks.
pub fn remove_archived(archived: &[Archived], follow: Follow, tell: &mut dyn FnMut(&[u8], &Stays)) {
    let is_directory = |one: &&Archived| one.stat.kind() == Kind::Directory;
    let files = archived.iter().filter(|one| !is_directory(one));
    let directories = archived.iter().rev().filter(is_directory);
    let mut opened = Opened { follow, last: None, last_names: LastNames::default() };
    for one in files.chain(directories) {
        match remove(one, &mut opened) {
            Ok(()) => {}
            // The same name was archived twice.
            Err(Stays::Unlink(error) | Stays::Rmdir(error)) if error.errno == Errno::NOENT => {}
            Err(stays) => tell(&one.name, &stays),
        }
    }
}

/// The directories that files are removed from.
struct Opened {
    follow: Follow,
    /// Those below the last directory that the user named: what it is relative to, its name, and what is open.
    last: Option<(Arc<OwnedFd>, Vec<u8>, Places)>,
    last_names: LastNames,
}

impl Opened {
    /// Opens the directory of a file. Fails with `ELOOP` or `ENOTDIR` if a link is on the way that was none when the
    /// directory was read.
    fn place(&mut self, archived: &Archived) -> Result<Place, CallError> {
        let root = &archived.root;
        let (above, rest) = match self.follow {
            Follow::No => archived.parts(),
            // What was followed to read a file is followed again.
            Follow::Yes => (&b""[..], archived.name.as_slice()),
        };
        let is_last = |(last, name, _): &&mut (Arc<OwnedFd>, Vec<u8>, Places)| {
            Arc::ptr_eq(last, root) && name == above
        };
        let place = match self.last.as_mut().filter(is_last) {
            Some((.., places)) => places.existing(rest)?,
            None => {
                let mut places = match self.follow {
                    Follow::Yes => Places::following(Arc::clone(root)),
                    Follow::No if above.is_empty() => Places::within(Arc::clone(root)),
                    Follow::No => {
                        let within = [above, b"/."].concat();
                        let place = Places::following(Arc::clone(root)).existing(&within)?;
                        Places::within(place.parent)
                    }
                };
                let place = places.existing(rest)?;
                self.last = Some((Arc::clone(root), above.to_vec(), places));
                place
            }
        };
        if place.through_link && self.follow == Follow::No {
            return Err(CallError::new(Call::Openat, Errno::LOOP));
        }
        Ok(place)
    }
}

fn remove(archived: &Archived, opened: &mut Opened) -> Result<(), Stays> {
    let Archived { root, stat, .. } = archived;
    let is_directory = stat.kind() == Kind::Directory;
    let failed = |error| if is_directory { Stays::Rmdir(error) } else { Stays::Unlink(error) };
    let Place { parent, leaf, .. } = opened.place(archived).map_err(|error| match error.errno {
        Errno::LOOP | Errno::NOTDIR => Stays::Changed,
        _ => failed(error),
    })?;
    let now = match opened.follow {
        Follow::No => statat(&*parent, &leaf),
        Follow::Yes => statat_follow(&*parent, &leaf),
    };
    let now = now.map_err(failed)?;
    if !now.same_file(stat) || (!is_directory && !is_as_read(stat, &now)) {
        return Err(Stays::Changed);
    }
    if is_directory {
        match rmdirat(&*parent, &leaf) {
            Err(error) if error.errno == Errno::INVAL => remove_root(root, stat, error),
            answer => answer,
        }
        .map_err(Stays::Rmdir)
    } else {
        let place = (parent.as_fd(), &*leaf);
        opened.last_names.remove_unchanged(place, stat, opened.follow).map_err(Stays::from)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(operand: &str, below: &str) -> (String, String) {
        let root = std::fs::File::open("/").unwrap();
        let stat = haul_sys::fs::fstat(&root).unwrap();
        let name = format!("{operand}{below}").into_bytes();
        let root = Arc::new(OwnedFd::from(root));
        let archived = Archived { root, name, operand_bytes: operand.len(), stat };
        let (above, rest) = archived.parts();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (text(above), text(rest))
    }

    #[test]
    fn only_directories_before_an_operand_may_be_links() {
        for (operand, below, above, rest) in [
            ("a", "", "", "a"),
            ("a", "/b/c", "", "a/b/c"),
            ("a/b", "/c", "a", "b/c"),
            ("/a//b", "/c", "/a/", "b/c"),
            ("/a", "", "/", "a"),
            ("/", "a", "/", "a"),
            ("/", "", "/", "."),
            (".", "", "", "."),
            (".", "/a", ".", "a"),
            ("../..", "/a/b", "../..", "a/b"),
            ("..", "", "", ".."),
        ] {
            let expected = (above.to_owned(), rest.to_owned());
            assert_eq!(parts(operand, below), expected, "{operand} {below}");
        }
    }
}
