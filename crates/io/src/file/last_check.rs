//! Removal of a name on condition that it still belongs to the file that was examined.
//!
//! No call removes a name on condition. Between the last look at a name and its removal another process can
//! rename a new file to it, and the removal would take that file. So the file first gets a hidden name that no
//! other process knows. There the caller looks at it once more, and then removes it or gives its name back.
//!
//! The hidden name contains the name, so that `haul clean` can give it back after a run was killed in between.

use std::ffi::{CStr, CString};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use haul_sys::fs::{
    DirectoryBuffer, Follow, RenameMode, Stat, for_each_entry, open_directory, renameat,
    split_at_last_slash, statat, statat_follow, unlinkat,
};
use haul_sys::sync::Mutex;
use haul_sys::{Call, CallError, Errno, Result, is_refused};

use crate::file::hidden::{LETTERS, has_letters, is_above, name_above, name_below};
use crate::file::publish::rename_to_free;
use crate::system::quirk::{self, Rename};
use crate::system::space::Space;

/// Letters of a hidden name that are the same for all names of a run. The others count its names.
const RUN_LETTERS: usize = 8;

/// The longest name that Linux has (`NAME_MAX`), and one that file systems accept whose own limit is lower.
const NAME_BYTES: usize = 255;
const SHORT_NAME_BYTES: usize = 64;

/// Number of visible names that are tried for a file whose own name was taken.
const VISIBLE_NAMES: u32 = 999;

/// Hidden names for the files that a run is about to remove.
#[derive(Debug, Default)]
pub struct LastNames {
    run: OnceLock<[u8; RUN_LETTERS]>,
    next: AtomicU32,
    /// What a rename does on the device that was last asked about.
    rename: Mutex<Option<(u64, Rename)>>,
}

/// A file that has a hidden name until it is removed or gets its name back.
#[derive(Debug)]
pub struct Aside<'a> {
    directory: BorrowedFd<'a>,
    name: &'a CStr,
    /// `None` if the file has kept its name, because the file system has no space for another one, or permits
    /// none.
    hidden: Option<CString>,
}

/// The name that a file has after it was to get its own name back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GivenBack {
    /// Its own one.
    Own,
    /// Another one.
    Other(OtherName),
}

/// The name of a file that could not get its own name back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherName {
    /// The name: one that is like its own, or the hidden one.
    pub name: CString,
    /// Why it does not have its own; `EEXIST` if another file has that.
    pub why: CallError,
}

/// Why a file stays that was to be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stays {
    /// It is another one than the one that was examined, or was changed.
    Changed,
    /// It could not get its name back, and has this one.
    Beside(OtherName),
    /// It cannot be removed.
    Failed(CallError),
}

impl LastNames {
    /// Returns whether a name in a directory is one that this run has given to a file for an instant.
    #[must_use]
    pub fn has(&self, name: &[u8]) -> bool {
        self.run.get().is_some_and(|run| has_letters(name, run) && name_below(name).is_some())
    }

    /// Draws the random letters of the names, which the first of them would do otherwise.
    ///
    /// # Errors
    ///
    /// Fails where the kernel gives no random bytes.
    pub fn prepare(&self) -> Result<()> {
        self.of_run().map(drop)
    }

    /// Gives a file a hidden name in its directory, unless a rename copies the file there: then it keeps its
    /// name. The caller then examines it by [`Aside::name`].
    ///
    /// # Errors
    ///
    /// Fails if the name cannot be changed for a reason for which it could not be removed either.
    pub fn set_aside<'a>(
        &self,
        directory: BorrowedFd<'a>,
        name: &'a CStr,
        rename: Rename,
    ) -> Result<Aside<'a>> {
        let by_name = Aside { directory, name, hidden: None };
        if rename == Rename::CopiesFile {
            return Ok(by_name);
        }
        let leaf = name.to_bytes();
        // A file that a killed run has set aside keeps the name that it gets back.
        let leaf = name_below(leaf).unwrap_or(leaf);
        for most in [NAME_BYTES, name.to_bytes().len().max(SHORT_NAME_BYTES)] {
            let hidden = name_above(self.letters()?, leaf, most)?;
            match rename_aside(directory, name, &hidden) {
                Ok(()) => return Ok(Aside { hidden: Some(hidden), ..by_name }),
                Err(error) if error.errno == Errno::NAMETOOLONG => {}
                Err(error) if keeps_name(&error) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(by_name)
    }

    /// Removes a name in a directory if it still leads to the file that was examined, with the size and the time
    /// of change that it had. With [`Follow::Yes`] a link is removed that leads to the file.
    ///
    /// # Errors
    ///
    /// Returns why the file stays.
    pub fn remove_unchanged(
        &self,
        place: (BorrowedFd<'_>, &CStr),
        examined: &Stat,
        follow: Follow,
    ) -> std::result::Result<(), Stays> {
        self.remove_if(place, examined.dev, follow, |now| {
            now.same_file(examined) && (now.size, now.mtime) == (examined.size, examined.mtime)
        })
    }

    /// Removes a name in a directory if it still is one of this file, whose contents may have changed: one that
    /// the run has made, and that is not complete.
    ///
    /// # Errors
    ///
    /// Returns why the file stays; [`Stays::Changed`] if another file has the name.
    pub fn remove_same(
        &self,
        (directory, name): (BorrowedFd<'_>, &CStr),
        file: &Stat,
    ) -> std::result::Result<(), Stays> {
        // A name that is known to be another file's is not changed, not even for an instant.
        match statat(directory, name) {
            Ok(now) if now.same_file(file) => {}
            Ok(_) => return Err(Stays::Changed),
            Err(error) => return Err(Stays::Failed(error)),
        }
        self.remove_if((directory, name), file.dev, Follow::No, |now| now.same_file(file))
    }

    fn remove_if(
        &self,
        (directory, name): (BorrowedFd<'_>, &CStr),
        dev: u64,
        follow: Follow,
        is_same: impl Fn(&Stat) -> bool,
    ) -> std::result::Result<(), Stays> {
        let rename = self.rename_on(dev, directory);
        let aside = self.set_aside(directory, name, rename).map_err(Stays::Failed)?;
        let now = match follow {
            Follow::No => aside.stat(),
            // The link leads to the file, whatever its own name is.
            Follow::Yes => statat_follow(directory, aside.name()),
        };
        let stays = match now {
            Ok(now) if is_same(&now) => match aside.remove() {
                Ok(()) => return Ok(()),
                Err(error) => Stays::Failed(error),
            },
            Ok(_) => Stays::Changed,
            Err(error) => Stays::Failed(error),
        };
        Err(match aside.give_back() {
            GivenBack::Own => stays,
            GivenBack::Other(name) => Stays::Beside(name),
        })
    }

    /// Returns what a rename does on a device, which is looked up if it is not the last one.
    fn rename_on(&self, dev: u64, directory: BorrowedFd<'_>) -> Rename {
        let mut last = self.rename.lock();
        if let Some((_, rename)) = last.filter(|(known, _)| *known == dev) {
            return rename;
        }
        let rename = quirk::of(directory).rename;
        *last = Some((dev, rename));
        rename
    }

    fn of_run(&self) -> Result<[u8; RUN_LETTERS]> {
        match self.run.get() {
            Some(run) => Ok(*run),
            None => {
                let random = haul_sys::process::random()?;
                Ok(*self.run.get_or_init(|| random))
            }
        }
    }

    fn letters(&self) -> Result<[u8; LETTERS]> {
        let run = self.of_run()?;
        // The letters have 5 bits each. No run has so many names at once that one comes again.
        let count = self.next.fetch_add(1, Ordering::Relaxed);
        let mut letters = [0; LETTERS];
        let (first, last) = letters.split_at_mut(RUN_LETTERS);
        first.copy_from_slice(&run);
        let shifts = (0..u32::BITS).step_by(5);
        last.iter_mut().zip(shifts).for_each(|(letter, shift)| *letter = (count >> shift) as u8);
        Ok(letters)
    }
}

impl Aside<'_> {
    /// Returns the name that the file has now.
    #[must_use]
    pub fn name(&self) -> &CStr {
        self.hidden.as_deref().unwrap_or(self.name)
    }

    /// Describes the file.
    pub fn stat(&self) -> Result<Stat> {
        statat(self.directory, self.name())
    }

    /// Removes the file. After an error it still has the hidden name.
    pub fn remove(&self) -> Result<()> {
        unlinkat(self.directory, self.name())
    }

    /// Gives the file its name back. If that was taken meanwhile, the file gets one that is like it.
    #[must_use]
    pub fn give_back(self) -> GivenBack {
        match self.hidden {
            Some(hidden) => give_back(self.directory, &hidden, self.name),
            None => GivenBack::Own,
        }
    }
}

/// Returns the hidden names that a killed run has left of a file that it was about to remove: the names of a
/// directory that contain this one. Blocks while it reads the directory.
///
/// # Errors
///
/// Fails if the directory cannot be opened or read.
pub fn left_of(directory: impl AsFd, path: &CStr) -> Result<Vec<CString>> {
    const ENTRIES_BYTES: usize = 64 << 10;
    let (above, leaf) = split_at_last_slash(path.to_bytes());
    let above = if above.is_empty() { b"." } else { above };
    let above = CString::new(above).map_err(|_| CallError::new(Call::Openat, Errno::INVAL))?;
    let directory = open_directory(directory, &above, Follow::Yes)?;
    let mut names = Vec::new();
    let mut buffer = DirectoryBuffer::new(ENTRIES_BYTES);
    while for_each_entry(&directory, &mut buffer, |entry| {
        if is_above(entry.name.to_bytes(), leaf) {
            names.push(entry.name.to_owned());
        }
        ControlFlow::Continue(())
    })? {}
    Ok(names)
}

/// Gives a file with a hidden name its own name, or if that is taken one with a number behind it. Keeps the
/// hidden name if the file can get neither.
pub fn give_back(directory: impl AsFd, hidden: &CStr, name: &CStr) -> GivenBack {
    let directory = directory.as_fd();
    let space = Space::default();
    let why = match rename_to_free(directory, hidden, name, &space) {
        // There is no file that could get its name back.
        Ok(_) | Err(CallError { errno: Errno::NOENT, .. }) => return GivenBack::Own,
        Err(error) => error,
    };
    for number in 1..=VISIBLE_NAMES {
        let visible = [name.to_bytes(), format!(".~{number}~").as_bytes()].concat();
        let Ok(visible) = CString::new(visible) else { break };
        match rename_to_free(directory, hidden, &visible, &space) {
            Ok(_) => return GivenBack::Other(OtherName { name: visible, why }),
            Err(error) if error.errno == Errno::EXIST => {}
            Err(why) => return GivenBack::Other(OtherName { name: hidden.to_owned(), why }),
        }
    }
    GivenBack::Other(OtherName { name: hidden.to_owned(), why })
}

/// Renames a file to a hidden name. That is random, so where the file system cannot refuse to replace a name,
/// a plain rename replaces none either.
fn rename_aside(directory: BorrowedFd<'_>, name: &CStr, hidden: &CStr) -> Result<()> {
    match renameat(directory, name, directory, hidden, RenameMode::NoReplace) {
        Err(error) if is_refused(error.call, error.errno) => {
            renameat(directory, name, directory, hidden, RenameMode::Replace)
        }
        answer => answer,
    }
}

/// Returns whether a file may be removed that cannot get another name: a full file system has space for the
/// removal, and what a filter or a security module permits is for `unlinkat` to find out.
fn keeps_name(error: &CallError) -> bool {
    // A directory with a project of its own takes no file with another one (EXDEV), also not from itself.
    matches!(error.errno, Errno::NOSPC | Errno::DQUOT | Errno::XDEV)
        || is_refused(error.call, error.errno)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::OwnedFd;

    use haul_sys::fs::CWD;

    use super::*;

    fn folder() -> (tempfile::TempDir, OwnedFd) {
        let folder = tempfile::tempdir().unwrap();
        let path = CString::new(folder.path().as_os_str().as_encoded_bytes()).unwrap();
        let directory = open_directory(CWD, &path, haul_sys::fs::Follow::No).unwrap();
        (folder, directory)
    }

    #[test]
    fn a_file_that_is_set_aside_is_removed_or_gets_its_name_back() {
        let (folder, directory) = folder();
        let names = LastNames::default();
        let path = folder.path().join("f");
        for removes in [true, false] {
            fs::write(&path, "text").unwrap();
            let aside = names.set_aside(directory.as_fd(), c"f", Rename::Plain).unwrap();
            assert_eq!(left_of(&directory, c"f").unwrap(), [aside.name().to_owned()]);
            assert_eq!(left_of(&directory, c"./f").unwrap(), [aside.name().to_owned()]);
            assert!(left_of(&directory, c"g").unwrap().is_empty());
            assert!(!path.exists() && names.has(aside.name().to_bytes()));
            assert!(!LastNames::default().has(aside.name().to_bytes()));
            assert_eq!(name_below(aside.name().to_bytes()), Some(&b"f"[..]));
            assert_eq!(aside.stat().unwrap().size, 4);
            if removes {
                aside.remove().unwrap();
                assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
            } else {
                assert_eq!(aside.give_back(), GivenBack::Own);
                assert_eq!(fs::read(&path).unwrap(), b"text");
            }
        }
    }

    #[test]
    fn a_name_is_removed_only_if_it_is_of_the_file() {
        let (folder, directory) = folder();
        let path = folder.path().join("f");
        fs::write(&path, "ours").unwrap();
        let ours = statat(&directory, c"f").unwrap();
        fs::write(folder.path().join("other"), "theirs").unwrap();
        let names = LastNames::default();
        let remove = || names.remove_same((directory.as_fd(), c"f"), &ours);
        fs::write(&path, "ours, and longer").unwrap();
        fs::hard_link(&path, folder.path().join("kept")).unwrap();
        fs::rename(folder.path().join("other"), &path).unwrap();
        assert_eq!(remove(), Err(Stays::Changed));
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
        fs::rename(folder.path().join("kept"), &path).unwrap();
        // While it is open, no other file gets its inode number.
        let _open = fs::File::open(&path).unwrap();
        assert_eq!(remove(), Ok(()));
        assert!(matches!(remove(), Err(Stays::Failed(error)) if error.errno == Errno::NOENT));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        // Another process renames its file to the name after the first look.
        fs::write(&path, "theirs").unwrap();
        let is_ours = |now: &Stat| now.same_file(&ours);
        let stays = names.remove_if((directory.as_fd(), c"f"), ours.dev, Follow::No, is_ours);
        assert_eq!(stays, Err(Stays::Changed));
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
    }

    #[test]
    fn a_name_that_was_taken_is_not_replaced() {
        let (folder, directory) = folder();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("f"), "first").unwrap();
        fs::write(at("f.~1~"), "backup").unwrap();
        let aside = LastNames::default().set_aside(directory.as_fd(), c"f", Rename::Plain).unwrap();
        fs::write(at("f"), "second").unwrap();
        let GivenBack::Other(other) = aside.give_back() else { panic!("it has its name") };
        assert_eq!((other.name, other.why.errno), (c"f.~2~".to_owned(), Errno::EXIST));
        assert_eq!(fs::read(at("f")).unwrap(), b"second");
        assert_eq!(fs::read(at("f.~1~")).unwrap(), b"backup");
        assert_eq!(fs::read(at("f.~2~")).unwrap(), b"first");
    }

    #[test]
    fn the_longest_name_can_be_set_aside() {
        let (folder, directory) = folder();
        let name = "n".repeat(255);
        fs::write(folder.path().join(&name), "text").unwrap();
        let own = CString::new(name.clone()).unwrap();
        let aside = LastNames::default().set_aside(directory.as_fd(), &own, Rename::Plain).unwrap();
        assert!(aside.hidden.is_some());
        assert_eq!(aside.give_back(), GivenBack::Own);
        assert!(folder.path().join(&name).exists());
    }

    #[test]
    fn what_a_killed_run_has_set_aside_keeps_the_name_that_it_gets_back() {
        let (folder, directory) = folder();
        fs::write(folder.path().join("f"), "text").unwrap();
        let first = LastNames::default().set_aside(directory.as_fd(), c"f", Rename::Plain).unwrap();
        let second =
            LastNames::default().set_aside(directory.as_fd(), first.name(), Rename::Plain).unwrap();
        assert_eq!(name_below(second.name().to_bytes()), Some(&b"f"[..]));
    }
}
