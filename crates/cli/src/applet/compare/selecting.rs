//! The selection of a comparison: what of two trees is compared. Rules are those of A, and a name is
//! compared if its entry is selected on either side.

use std::ffi::{CStr, CString};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use haul_engine::select::{MergeFlaw, Selection, Within};
use haul_sys::Errno;
use haul_sys::fs::Follow;

/// The selection, in the directories from the roots to the one that is compared.
pub(super) struct Selecting {
    operands: Within,
    /// Path of A with a slash behind it, so that names do not begin with the root's.
    root: CString,
    /// The directories, by their paths below the roots.
    entered: Vec<(Vec<u8>, Within)>,
}

impl Selecting {
    pub(super) fn new(selection: &Arc<Selection>, a: &Path) -> Selecting {
        let root = [a.as_os_str().as_bytes(), b"/"].concat();
        // The kernel hands no argument with a NUL to a program.
        let root = CString::new(root).unwrap_or_default();
        Selecting { operands: Within::operands(selection), root, entered: Vec::new() }
    }

    /// Enters a directory of A. Fails if its merge file cannot be used.
    pub(super) fn enter(&mut self, path: &[u8], directory: BorrowedFd<'_>) -> Result<(), Errno> {
        let is_above = |above: &[u8]| {
            above.is_empty() || path.strip_prefix(above).is_some_and(|rest| rest.starts_with(b"/"))
        };
        while self.entered.last().is_some_and(|(above, _)| path.is_empty() || !is_above(above)) {
            self.entered.pop();
        }
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let name = CString::new(name).unwrap_or_default();
        let entered = match self.entered.last() {
            None => self.operands.enter_operand(&self.root, directory),
            Some((_, above)) => above.enter(&name, directory),
        };
        let within = entered.map_err(|flaw| match flaw {
            MergeFlaw::File(_, error) => error.errno,
            MergeFlaw::Rule(..) => Errno::INVAL,
        })?;
        self.entered.push((path.to_vec(), within));
        Ok(())
    }

    /// Returns whether an entry is compared that is in the given directories.
    pub(super) fn selects(&self, name: &CStr, sides: [Option<BorrowedFd<'_>>; 2]) -> bool {
        let Some((_, within)) = self.entered.last() else { return true };
        let is_selected =
            |side: BorrowedFd<'_>| !within.choose(side, name, None, Follow::No).is_excluded();
        sides.into_iter().flatten().any(is_selected)
    }
}
