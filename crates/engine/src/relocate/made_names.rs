//! Names that the run has moved operands to, so that no second operand replaces one of them.
//!
//! The files are known by their identity: where the file system ignores case, the second operand has another
//! name.

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString};
use std::os::fd::BorrowedFd;

use haul_sys::fs::{RenameMode, Stat, statat};

use crate::copy::spelling;
use crate::data::request::{Backup, BackupKind};
use crate::names::by_identity::{Identity, identity};
use crate::plan::backup;

/// Names in the target directory that operands were moved to.
#[derive(Default)]
pub(super) struct MadeNames {
    names: HashMap<Identity, HashSet<CString>>,
    /// Files that had such names before. A client of a server that ignores case may still find them under the
    /// name in another case.
    replaced: HashMap<Identity, CString>,
}

impl MadeNames {
    /// Records a name that now belongs to a file that was moved.
    pub(super) fn insert(&mut self, name: CString, file: &Stat) {
        self.names.entry(identity(file)).or_default().insert(name);
    }

    /// Records the file that has been replaced under a name.
    pub(super) fn insert_replaced(&mut self, name: CString, file: &Stat) {
        self.replaced.insert(identity(file), name);
    }

    /// Returns whether the run has moved a file to this name, perhaps in another spelling. Another hard link
    /// of the file is another name.
    pub(super) fn has(&self, directory: BorrowedFd<'_>, name: &CStr, there: &Stat) -> bool {
        let is_made = self.names.get(&identity(there)).is_some_and(|names| {
            names.contains(name) || there.nlink == 1 || spelling::is_other(directory, name, there)
        });
        // The file that was replaced may have had this name as well, as another hard link.
        let is_stale = |made| {
            spelling::differ_in_case(made, name)
                && !spelling::is_listed(directory, name).unwrap_or(false)
        };
        is_made || self.replaced.get(&identity(there)).is_some_and(|made| is_stale(made))
    }

    /// Returns the name of the backup of a target, if the run has moved a file to that name, which the
    /// backup would replace.
    pub(super) fn backup_over(
        &self,
        directory: BorrowedFd<'_>,
        name: &CStr,
        how: &Backup,
    ) -> Option<CString> {
        if self.names.is_empty() || how.kind == BackupKind::Numbered {
            return None;
        }
        // The name is compared first: finding out about numbered backups may take long.
        let simple = backup::simple_name(name, how)?;
        let there = statat(directory, &simple).ok()?;
        if !self.has(directory, &simple, &there) {
            return None;
        }
        let (name, mode) = backup::name_for(directory, name, how).ok()?;
        (name == simple && mode == RenameMode::Replace).then_some(simple)
    }
}
