//! An atomic file appears complete or not at all: it is a [new file](crate::file::new_file) that is
//! [published](crate::file::publish) at the end. A file that replaces another takes over its owner, bits,
//! lists and flags, see [`crate::file::inherit`].

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use haul_sys::fs::{
    Follow, Kind, OpenHow, Stat, close, current_umask, duplicate, fchmod, fsync, fsync_names,
    openat, statat,
};
use haul_sys::{Call, CallError, Errno, Result};

use crate::file::inherit::{
    Failed, GivenOtherwise, Lost, Predecessor, open_replaced, take_over, take_over_flags,
};
use crate::file::new_file::{CLOSED_MODE, Made, NewFile};
use crate::file::publish::{Onto, Unpublished};
use crate::system::space::Space;

/// The mode of a file that replaces none, before the mask or the directory's default list.
const NEW_MODE: u32 = 0o666;

/// Whether a file and its name are on stable storage when it has been published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durable {
    /// The kernel writes them when it likes, or the caller waits for a group of files.
    No,
    /// The bytes are before the file has the name, and the name is at the end; or it is an error.
    Yes,
}

/// A file on its way to its name.
#[derive(Debug)]
pub struct AtomicFile {
    directory: OwnedFd,
    name: CString,
    file: Arc<OwnedFd>,
    unpublished: Unpublished,
    /// The bits it was made with are those that a new file is to have.
    has_new_mode: bool,
    /// Why it does not have a flag of the file that it replaces.
    lost_flags: Option<Errno>,
}

impl AtomicFile {
    /// Makes an empty file in a directory, to which no other process has a way.
    pub fn begin(directory: OwnedFd, name: CString) -> Result<AtomicFile> {
        let is_new = present(&directory, &name)?.is_none();
        let mode = if is_new { NEW_MODE } else { CLOSED_MODE };
        let new = NewFile::for_writing(directory.as_fd(), mode);
        let made = match new.make_unnamed(|call| call())? {
            Some(made) => made,
            None => new.closed().make_hidden(|call| call())?,
        };
        let lost_flags = if is_new { None } else { take_flags(&made.file, &directory, &name) };
        let mut file = AtomicFile::of(made, directory, name);
        file.lost_flags = lost_flags;
        Ok(file)
    }

    /// Makes an empty file that gets its attributes from the caller: until then only its owner may
    /// read and write it. What has the name now plays no part, see [`AtomicFile::publish_as`].
    pub fn begin_closed(directory: OwnedFd, name: CString) -> Result<AtomicFile> {
        let made = NewFile::for_writing(directory.as_fd(), CLOSED_MODE).make(|call| call())?;
        Ok(AtomicFile::of(made, directory, name))
    }

    fn of(made: Made, directory: OwnedFd, name: CString) -> AtomicFile {
        let Made { file, name: unpublished, mode } = made;
        let (file, has_new_mode) = (Arc::new(file), mode == NEW_MODE);
        AtomicFile { directory, name, file, unpublished, has_new_mode, lost_flags: None }
    }

    /// Gives the file its name, with the attributes that it has. A name that is to be free and is
    /// taken is `EEXIST`, and nothing is changed. After an error the file is gone.
    pub fn publish_as(mut self, onto: Onto, durable: Durable) -> Result<()> {
        // NFS, FUSE and quotas report at a close what they could not take: before it has a name.
        let answer = duplicate(&*self.file).and_then(close);
        let answer = answer.and_then(|()| self.give_name(onto, durable));
        if answer.is_err() {
            self.remove_hidden();
        }
        answer
    }

    /// Returns the file, to be written.
    #[must_use]
    pub fn file(&self) -> &Arc<OwnedFd> {
        &self.file
    }

    /// Gives the file its attributes and its name, in place of the regular file that has that name
    /// now. Its bytes are on storage before that, if they are to be. `tell` is called for what it could
    /// not take over from that file.
    pub fn publish(mut self, durable: Durable, tell: &mut dyn FnMut(Lost, Errno)) -> Result<()> {
        if let Some(errno) = self.lost_flags {
            tell(Lost::Flags, errno);
        }
        let answer = self.put_in_place(durable, tell);
        if answer.is_err() {
            self.remove_hidden();
        }
        answer
    }

    fn put_in_place(&mut self, durable: Durable, tell: &mut dyn FnMut(Lost, Errno)) -> Result<()> {
        let onto = self.complete(tell)?;
        match self.give_name(onto, durable) {
            // Another process gave a file this name meanwhile.
            Err(error) if error.errno == Errno::EXIST && onto == Onto::Free => {
                self.complete(tell)?;
                self.give_name(Onto::Taken, durable)
            }
            answer => answer,
        }
    }

    /// Gives the file its attributes, and returns whether it replaces another.
    fn complete(&self, tell: &mut dyn FnMut(Lost, Errno)) -> Result<Onto> {
        let seen = present(&self.directory, &self.name)?;
        match &seen {
            Some(seen) => self.inherit(seen, tell)?,
            None if self.has_new_mode => {}
            None => fchmod(&*self.file, NEW_MODE & !current_umask())?,
        }
        // NFS, FUSE and quotas report at a close what they could not take: before it has a name.
        close(duplicate(&*self.file)?)?;
        Ok(if seen.is_some() { Onto::Taken } else { Onto::Free })
    }

    fn give_name(&mut self, onto: Onto, durable: Durable) -> Result<()> {
        let (file, directory) = (self.file.as_fd(), self.directory.as_fd());
        if durable == Durable::Yes {
            fsync(file)?;
        }
        self.unpublished.publish(file, directory, &self.name, onto, &Space::new())?;
        self.unpublished = Unpublished::default();
        match durable {
            Durable::Yes => fsync_names(&self.directory),
            Durable::No => Ok(()),
        }
    }

    fn inherit(&self, seen: &Stat, tell: &mut dyn FnMut(Lost, Errno)) -> Result<()> {
        let directory = self.directory.as_fd();
        let old = Predecessor { directory, name: &self.name, seen };
        let opened = openat(directory, &self.name, OpenHow::READ.following(Follow::No));
        let given = GivenOtherwise::default();
        take_over(self.file.as_fd(), &old, opened, given, tell).map_err(|(failed, errno)| {
            let call = match failed {
                Failed::Describe => Call::Fstat,
                Failed::Permissions => Call::Fchmod,
                Failed::Xattr => Call::Fsetxattr,
            };
            CallError::new(call, errno)
        })
    }

    /// Leaves whatever has the name as it was.
    pub fn abandon(self) {
        drop(self);
    }

    fn remove_hidden(&mut self) {
        // What cannot be removed is at least hidden, and is known by its name.
        let _removed = std::mem::take(&mut self.unpublished).discard(self.directory.as_fd());
    }
}

/// A file that is given up leaves no hidden name behind.
impl Drop for AtomicFile {
    fn drop(&mut self) {
        self.remove_hidden();
    }
}

/// Gives an empty file the flags of the one that has its name now. Returns why one of them is missing.
fn take_flags(file: &OwnedFd, directory: &OwnedFd, name: &CStr) -> Option<Errno> {
    let mut lost = None;
    match open_replaced(directory.as_fd(), name) {
        Ok(old) => {
            let tell = &mut |_, errno| lost = Some(errno);
            take_over_flags(file.as_fd(), directory.as_fd(), old.as_fd(), tell);
        }
        // There is no file to replace any more.
        Err(error) if error.errno == Errno::NOENT => {}
        Err(error) => lost = Some(error.errno),
    }
    lost
}

/// Describes the regular file that has a name. Nothing else can be replaced.
fn present(directory: &OwnedFd, name: &CStr) -> Result<Option<Stat>> {
    match statat(directory, name) {
        Ok(stat) if stat.kind() == Kind::Regular => Ok(Some(stat)),
        Ok(_) => Err(CallError::new(Call::Renameat2, Errno::EXIST)),
        Err(error) if error.errno == Errno::NOENT => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use haul_sys::fs::{CWD, Follow, open_directory};

    use super::*;

    fn begin(folder: &std::path::Path) -> AtomicFile {
        let path = CString::new(folder.to_str().unwrap()).unwrap();
        let directory = open_directory(CWD, &path, Follow::Yes).unwrap();
        AtomicFile::begin(directory, c"name".to_owned()).unwrap()
    }

    fn fill(atomic_file: &AtomicFile) {
        let mut file = std::fs::File::from(atomic_file.file().try_clone().unwrap());
        file.write_all(b"new").unwrap();
    }

    fn entries(folder: &std::path::Path) -> Vec<String> {
        std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn nothing_is_seen_until_all_is() {
        let folder = tempfile::tempdir().unwrap();
        let atomic_file = begin(folder.path());
        fill(&atomic_file);
        assert!(!folder.path().join("name").exists());
        atomic_file.publish(Durable::Yes, &mut |_, _| ()).unwrap();
        assert_eq!(std::fs::read(folder.path().join("name")).unwrap(), b"new");
        assert_eq!(entries(folder.path()), ["name"]);
    }

    #[test]
    fn what_was_there_is_replaced_or_stays() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("name"), "old").unwrap();
        let atomic_file = begin(folder.path());
        fill(&atomic_file);
        atomic_file.abandon();
        assert_eq!(std::fs::read(folder.path().join("name")).unwrap(), b"old");
        let atomic_file = begin(folder.path());
        fill(&atomic_file);
        atomic_file.publish(Durable::No, &mut |_, _| ()).unwrap();
        assert_eq!(std::fs::read(folder.path().join("name")).unwrap(), b"new");
        assert_eq!(entries(folder.path()), ["name"]);
    }

    #[test]
    fn a_hidden_name_is_removed_when_the_place_is_taken_by_a_directory() {
        let folder = tempfile::tempdir().unwrap();
        let atomic_file = begin(folder.path());
        fill(&atomic_file);
        std::fs::create_dir(folder.path().join("name")).unwrap();
        assert!(atomic_file.publish(Durable::No, &mut |_, _| ()).is_err());
        assert_eq!(entries(folder.path()), ["name"]);
    }
}
