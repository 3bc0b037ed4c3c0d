//! Publishing: a finished file gets its name. The file has no name, or a hidden one, until then.
//!
//! `write --atomic`, `cp --atomic`, `tar -x --atomic`, `gzip` and moves between file systems share these steps, so
//! that one rule holds for all: a final name is the old file or the complete new one.

use std::ffi::{CStr, CString};
use std::os::fd::BorrowedFd;

use haul_sys::fs::{Follow, RenameMode, linkat, name_open, renameat, unlinkat};
use haul_sys::is_refused;
use haul_sys::{CallError, Errno, Result};

use crate::file::flags::leave_project;
use crate::file::hidden::under_hidden_name;
use crate::file::locked_rename;
use crate::system::space::Space;

/// What the final name is when the file is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Onto {
    /// It is free; `EEXIST` where another process has taken it.
    Free,
    /// It is another file's, which is replaced. The name is never free meanwhile.
    Taken,
}

/// How a file got its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Named {
    /// By one call, or by a second name.
    #[default]
    AtOnce,
    /// By a plain rename under a lock, because the file system refused both calls that give a free name and
    /// replace none.
    UnderLock {
        /// Why not by a rename that does not replace.
        rename: CallError,
        /// Why not by a hard link.
        link: CallError,
    },
}

/// The name of a new file until it is published: none, or a hidden one in the directory of the final name.
#[derive(Debug, Default)]
pub struct Unpublished {
    hidden: Option<CString>,
}

impl Unpublished {
    /// Returns the state of a file that has this hidden name.
    #[must_use]
    pub const fn under(hidden: CString) -> Unpublished {
        Unpublished { hidden: Some(hidden) }
    }

    /// Returns the hidden name of the file, if it has a name.
    #[must_use]
    pub fn hidden(&self) -> Option<&CStr> {
        self.hidden.as_deref()
    }

    /// Gives a file whose bytes and attributes are complete its name in a directory. After an error a file that
    /// had a hidden name still has it, and one that had none has none. `space` decides about a flush if there is no
    /// space for the name.
    pub fn publish(
        &self,
        file: BorrowedFd<'_>,
        directory: BorrowedFd<'_>,
        name: &CStr,
        onto: Onto,
        space: &Space,
    ) -> Result<Named> {
        let attempt = || match onto {
            Onto::Free => self.name_free(file, directory, name, space),
            Onto::Taken => self.name_taken(file, directory, name, space).map(|()| Named::AtOnce),
        };
        match attempt() {
            // The directory passes on that its entries have no project, which is known only if it can be read.
            Err(error) if error.errno == Errno::XDEV && leave_project(file) => attempt(),
            answer => answer,
        }
    }

    /// Removes the hidden name of a file that is not published.
    pub fn discard(&self, directory: BorrowedFd<'_>) -> Result<()> {
        let Some(hidden) = &self.hidden else { return Ok(()) };
        match unlinkat(directory, hidden) {
            Err(error) if error.errno == Errno::NOENT => Ok(()),
            answer => answer,
        }
    }

    fn name_free(
        &self,
        file: BorrowedFd<'_>,
        directory: BorrowedFd<'_>,
        name: &CStr,
        space: &Space,
    ) -> Result<Named> {
        let Some(hidden) = &self.hidden else {
            space.retry(directory, || false, || name_open(file, directory, name))?;
            return Ok(Named::AtOnce);
        };
        rename_to_free(directory, hidden, name, space)
    }

    fn name_taken(
        &self,
        file: BorrowedFd<'_>,
        directory: BorrowedFd<'_>,
        name: &CStr,
        space: &Space,
    ) -> Result<()> {
        if let Some(hidden) = &self.hidden {
            let rename = || renameat(directory, hidden, directory, name, RenameMode::Replace);
            return space.retry(directory, || false, rename);
        }
        let ((), hidden) = under_hidden_name(|hidden| {
            space.retry(directory, || false, || name_open(file, directory, hidden))
        })?;
        let rename = || renameat(directory, &hidden, directory, name, RenameMode::Replace);
        let renamed = space.retry(directory, || false, rename);
        if renamed.is_err() {
            // A hidden name that cannot be removed is found by `haul clean`; the first error counts.
            let _removed = unlinkat(directory, &hidden);
        }
        renamed
    }
}

/// Renames a file to a name that is free.
///
/// # Errors
///
/// Fails with `EEXIST` if the name exists, and as rename(2) does.
pub fn rename_to_free(
    directory: BorrowedFd<'_>,
    hidden: &CStr,
    name: &CStr,
    space: &Space,
) -> Result<Named> {
    let rename = || renameat(directory, hidden, directory, name, RenameMode::NoReplace);
    match space.retry(directory, || false, rename) {
        // A file system that cannot promise not to replace can do it by two names.
        Ok(()) => Ok(Named::AtOnce),
        Err(refused) if is_refused(refused.call, refused.errno) => {
            let link = || linkat(directory, hidden, directory, name, Follow::No);
            match space.retry(directory, || false, link) {
                Ok(()) => unlinkat(directory, hidden).map(|()| Named::AtOnce),
                Err(error) if is_refused(error.call, error.errno) => {
                    locked_rename::rename_to_free(directory, hidden, name, space)?;
                    Ok(Named::UnderLock { rename: refused, link: error })
                }
                Err(error) => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::FileExt as _;

    use haul_sys::fs::{Access, CWD, Create, OpenHow, open_directory, open_unnamed, openat};

    use super::*;

    #[test]
    fn a_file_with_and_without_a_hidden_name_gets_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = CString::new(folder.path().to_str().unwrap()).unwrap();
        let directory = open_directory(CWD, &path, Follow::Yes).unwrap();
        let create = OpenHow { create: Create::New(0o600), ..OpenHow::WRITE };
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        for (round, hidden) in [None, Some(c"hidden")].into_iter().enumerate() {
            let open = || match hidden {
                Some(hidden) => openat(&directory, hidden, create),
                None => open_unnamed(&directory, 0o600, Access::Write),
            };
            let Ok(first) = open() else {
                println!("ignored: files without names need a file system that has them");
                continue;
            };
            let name = CString::new(format!("name{round}")).unwrap();
            let publish = |file: &std::fs::File, onto| {
                let unpublished = Unpublished { hidden: hidden.map(CStr::to_owned) };
                let directory = directory.as_fd();
                unpublished.publish(file.as_fd(), directory, &name, onto, &Space::new())
            };
            let first = std::fs::File::from(first);
            first.write_all_at(b"first", 0).unwrap();
            publish(&first, Onto::Free).unwrap();
            assert_eq!(read(name.to_str().unwrap()), "first");
            let second = std::fs::File::from(open().unwrap());
            second.write_all_at(b"second", 0).unwrap();
            let refused = publish(&second, Onto::Free).unwrap_err();
            assert_eq!(refused.errno, Errno::EXIST);
            assert_eq!(read(name.to_str().unwrap()), "first");
            assert_eq!(publish(&second, Onto::Taken).unwrap(), Named::AtOnce);
            assert_eq!(read(name.to_str().unwrap()), "second");
        }
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert!(left <= 2, "{left} names are left");
    }
}
