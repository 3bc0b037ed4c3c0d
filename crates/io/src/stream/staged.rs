//! A file that appears complete or not at all: written without a name, or under a hidden one, and
//! put in its place at the end.
//!
//! Without a name (`O_TMPFILE`) a run that is killed leaves nothing behind. Where the file system
//! has no such files it has a hidden one, beside where the file will be.

use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use haul_sys::fs::{
    Access, Create, OpenHow, RenameMode, fchmod, fsync, fsync_names, name_open, open_unnamed,
    openat, renameat, unlinkat,
};
use haul_sys::{Errno, Result};

use super::writer::Durable;
use crate::hidden::{has_no_unnamed, make_hidden, under_hidden_name};

/// A file on its way to its name.
#[derive(Debug)]
pub struct Staged {
    directory: OwnedFd,
    name: CString,
    file: Arc<OwnedFd>,
    /// The hidden name, where it has one.
    hidden: Option<CString>,
}

impl Staged {
    /// Makes an empty file in a directory, to which nobody else has a way.
    pub fn begin(directory: OwnedFd, name: CString) -> Result<Staged> {
        let (file, hidden) = match open_unnamed(&directory, 0o600, Access::Write) {
            Ok(file) => (file, None),
            Err(error) if has_no_unnamed(error.errno) => {
                let how = OpenHow { create: Create::New(0o600), ..OpenHow::WRITE };
                let (file, hidden) = make_hidden(|hidden| openat(&directory, hidden, how))?;
                (file, Some(hidden))
            }
            Err(error) => return Err(error),
        };
        Ok(Staged { directory, name, file: Arc::new(file), hidden })
    }

    /// Returns the file, to be written.
    #[must_use]
    pub fn file(&self) -> &Arc<OwnedFd> {
        &self.file
    }

    /// Gives the file its mode and its name, in place of whatever has that name. Durable, where the
    /// data are.
    pub fn publish(mut self, mode: u32, durable: Durable) -> Result<()> {
        let answer = self.put_in_place(mode, durable);
        if answer.is_err() {
            self.remove_hidden();
        }
        answer
    }

    fn put_in_place(&mut self, mode: u32, durable: Durable) -> Result<()> {
        fchmod(&*self.file, mode)?;
        if durable == Durable::Yes {
            fsync(&*self.file)?;
        }
        let hidden = match self.hidden.take() {
            Some(hidden) => hidden,
            None => {
                let link = |name: &CStr| name_open(&*self.file, &self.directory, name);
                match link(&self.name) {
                    Err(error) if error.errno == Errno::EXIST => under_hidden_name(link)?.1,
                    answer => return answer.and_then(|()| self.sync_directory(durable)),
                }
            }
        };
        let hidden = self.hidden.insert(hidden);
        renameat(&self.directory, hidden, &self.directory, &self.name, RenameMode::Replace)?;
        self.hidden = None;
        self.sync_directory(durable)
    }

    fn sync_directory(&self, durable: Durable) -> Result<()> {
        match durable {
            Durable::Yes => fsync_names(&self.directory),
            Durable::No => Ok(()),
        }
    }

    /// Leaves whatever has the name as it was.
    pub fn abandon(mut self) {
        self.remove_hidden();
    }

    fn remove_hidden(&mut self) {
        if let Some(hidden) = self.hidden.take() {
            // What cannot be removed is at least hidden, and is known by its name.
            let _removed = unlinkat(&self.directory, &hidden);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use haul_sys::fs::{CWD, Follow, open_directory};

    use super::*;

    fn begin(folder: &std::path::Path) -> Staged {
        let path = CString::new(folder.to_str().unwrap()).unwrap();
        let directory = open_directory(CWD, &path, Follow::Yes).unwrap();
        Staged::begin(directory, c"name".to_owned()).unwrap()
    }

    fn fill(staged: &Staged) {
        let mut file = std::fs::File::from(staged.file().try_clone().unwrap());
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
        let staged = begin(folder.path());
        fill(&staged);
        assert!(!folder.path().join("name").exists());
        staged.publish(0o640, Durable::Yes).unwrap();
        assert_eq!(std::fs::read(folder.path().join("name")).unwrap(), b"new");
        assert_eq!(entries(folder.path()), ["name"]);
    }

    #[test]
    fn what_was_there_is_replaced_or_stays() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("name"), "old").unwrap();
        let staged = begin(folder.path());
        fill(&staged);
        staged.abandon();
        assert_eq!(std::fs::read(folder.path().join("name")).unwrap(), b"old");
        let staged = begin(folder.path());
        fill(&staged);
        staged.publish(0o600, Durable::No).unwrap();
        assert_eq!(std::fs::read(folder.path().join("name")).unwrap(), b"new");
        assert_eq!(entries(folder.path()), ["name"]);
    }

    #[test]
    fn a_hidden_name_is_removed_when_the_place_is_taken_by_a_directory() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("name")).unwrap();
        let staged = begin(folder.path());
        fill(&staged);
        assert!(staged.publish(0o600, Durable::No).is_err());
        assert_eq!(entries(folder.path()), ["name"]);
    }
}
