//! Names of files with several names, passed from a run that could not copy all of them to the run that
//! copies the others: these become hard links of what is in the target already.

use std::ffi::CString;

use haul_sys::fs::{CWD, Stat, Time, statat};

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
}

/// Facts about a file that usually change if the file is replaced or written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl KnownName {
    /// Returns whether both files still are as the earlier run left them. The copy of a source that has
    /// changed has the bytes or attributes of its past.
    #[must_use]
    pub fn still_holds(&self) -> bool {
        let source = statat(CWD, &self.source);
        let target = statat(CWD, &self.target);
        source.is_ok_and(|stat| {
            FileState::of(&stat) == self.source_state && stat.ctime == self.source_ctime
        }) && target.is_ok_and(|stat| FileState::of(&stat) == self.target_state)
    }
}
