//! Names of files with several names, passed from a run that could not copy all of them to the run that
//! copies the others: these become hard links of what is in the target already.

use std::ffi::{CStr, CString};

use std::os::fd::AsFd as _;

use haul_sys::fs::{CWD, Stat, Time, statat};

use crate::names::file_systems::{FileSystemId, FileSystems, Via};

/// Name in the target, under which a run has copied a file whose other names it has not all copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownName {
    /// Path of the file in the source, relative to the current directory or absolute.
    pub source: CString,
    /// Path of its copy.
    pub target: CString,
    /// State of the source when it was copied.
    pub source_state: FileState,
    /// Time of the last change of the source's bytes or attributes before that.
    pub source_ctime: Time,
    /// State of the copy when the run ended.
    pub target_state: FileState,
    /// File system that holds the source.
    pub source_on: FileSystemId,
    /// File system that holds the copy.
    pub target_on: FileSystemId,
}

/// Facts about a file that usually change if the file is replaced or written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileState {
    /// Number of the device.
    pub dev: u64,
    /// Number of the inode.
    pub ino: u64,
    /// Size in bytes.
    pub size: u64,
    /// Time of the last change of the bytes.
    pub mtime: Time,
}

impl FileState {
    /// Returns the state that a call has described.
    #[must_use]
    pub fn of(stat: &Stat) -> FileState {
        FileState { dev: stat.dev, ino: stat.ino, size: stat.size, mtime: stat.mtime }
    }
}

/// State of a file from which a run copies. The number of its inode alone does not identify it: when a file is
/// removed, another one may get the number while the copy goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SourceState {
    pub(crate) file: FileState,
    /// Time of the last change of the bytes or attributes. No program can set it.
    pub(crate) ctime: Time,
}

impl SourceState {
    /// Returns the state that a call has described.
    pub(crate) fn of(stat: &Stat) -> SourceState {
        SourceState { file: FileState::of(stat), ctime: stat.ctime }
    }
}

impl KnownName {
    /// Returns whether both files still are as the earlier run left them. The copy of a source that has
    /// changed has the bytes or attributes of its past.
    #[must_use]
    pub fn still_holds(&self, file_systems: &FileSystems) -> bool {
        let (Ok(source), Ok(target)) = (statat(CWD, &self.source), statat(CWD, &self.target))
        else {
            return false;
        };
        let source_state = SourceState { file: self.source_state, ctime: self.source_ctime };
        SourceState::of(&source) == source_state
            && FileState::of(&target) == self.target_state
            && KnownName::file_systems(
                file_systems,
                (&self.source, &source),
                (&self.target, &target),
            ) == Some((self.source_on, self.target_on))
    }

    /// Returns the identities of the file systems of a source and of its copy, given by path and description;
    /// `None` if a later run could not recognise both files.
    pub(crate) fn file_systems(
        file_systems: &FileSystems,
        (source, source_stat): (&CStr, &Stat),
        (target, target_stat): (&CStr, &Stat),
    ) -> Option<(FileSystemId, FileSystemId)> {
        let via = |path| Via::Name(CWD.as_fd(), path);
        let source = file_systems.identified(via(source), source_stat)?;
        // Further names change the time of change of the copy.
        let target = file_systems.identified_apart_from_changes(via(target), target_stat)?;
        Some((source.on, target.on))
    }
}
