//! How a new file is made that gets its name when it is complete.
//!
//! Without a name (`O_TMPFILE`) a run that is killed leaves nothing behind. Where the file system has no such
//! files, or others have to find the file, it has a hidden name beside the final one, by which `haul clean` finds it.

use std::os::fd::{BorrowedFd, OwnedFd};

use haul_sys::Result;
use haul_sys::fs::{Access, OFlags, OpenHow, open_unnamed, openat};

use crate::file::attributes::has_default_list;
use crate::file::hidden::{has_no_unnamed, make_hidden};
use crate::file::publish::Unpublished;

/// Bits of a file that only its owner may open.
pub const CLOSED_MODE: u32 = 0o600;

/// How a new file is made. Each function that makes one has a parameter that makes a call, and may repeat it.
#[derive(Clone, Copy, Debug)]
pub struct NewFile<'a> {
    /// Directory in which the file is to get its name.
    pub directory: BorrowedFd<'a>,
    /// Access mode of the descriptor.
    pub access: Access,
    /// Bits of the file, before the mask or the directory's default list.
    pub mode: u32,
    /// Further flags of the call that gives it a hidden name.
    pub extra: OFlags,
}

/// An empty file that was just made.
#[derive(Debug)]
pub struct Made {
    /// The file.
    pub file: OwnedFd,
    /// The name that it has until it is published.
    pub name: Unpublished,
    /// The bits that it was made with.
    pub mode: u32,
}

impl<'a> NewFile<'a> {
    /// Returns how to make a file for writing.
    #[must_use]
    pub const fn for_writing(directory: BorrowedFd<'a>, mode: u32) -> NewFile<'a> {
        NewFile { directory, access: Access::Write, mode, extra: OFlags::empty() }
    }

    /// Returns the same for a file that others can find by a hidden name, so that only its owner may open it before
    /// it is complete. With a default list the bits at creation decide what the list allows, so they stay.
    #[must_use]
    pub fn closed(self) -> NewFile<'a> {
        NewFile {
            mode: if has_default_list(self.directory) { self.mode } else { CLOSED_MODE },
            ..self
        }
    }

    /// Makes a file without a name, or under a hidden one where the file system has no files without names.
    pub fn make(
        &self,
        call: impl Fn(&dyn Fn() -> Result<OwnedFd>) -> Result<OwnedFd>,
    ) -> Result<Made> {
        match self.make_unnamed(&call)? {
            Some(made) => Ok(made),
            None => self.make_hidden(call),
        }
    }

    /// Makes a file without a name. Returns `None` where the file system has no such files.
    pub fn make_unnamed(
        &self,
        call: impl Fn(&dyn Fn() -> Result<OwnedFd>) -> Result<OwnedFd>,
    ) -> Result<Option<Made>> {
        let &NewFile { directory, access, mode, .. } = self;
        match call(&|| open_unnamed(directory, mode, access)) {
            Ok(file) => Ok(Some(Made { file, name: Unpublished::default(), mode })),
            Err(error) if has_no_unnamed(error.errno) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes a file under a hidden name, and locks it.
    pub fn make_hidden(
        &self,
        call: impl Fn(&dyn Fn() -> Result<OwnedFd>) -> Result<OwnedFd>,
    ) -> Result<Made> {
        let &NewFile { directory, access, mode, extra } = self;
        let how = OpenHow { access, extra, ..OpenHow::new_file(mode) };
        let (file, hidden) = make_hidden(|hidden| call(&|| openat(directory, hidden, how)))?;
        Ok(Made { file, name: Unpublished::under(hidden), mode })
    }
}
