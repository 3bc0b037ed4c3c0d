//! Detects operands that lie in one another: an entry that is copied and not removed yet must not
//! be copied a second time.

use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};

use haul_sys::fs::{CWD, Stat, fstat, openat};

use crate::names::at::DIRECTORY;
use crate::names::by_identity::{Identity, identity};
use crate::names::path::{directory_of, split};

/// Maximum number of directories above an operand that are examined. Paths that the kernel accepts
/// have at most 2,048 components; a deeper directory is reachable only through a working
/// directory.
const HEIGHT: usize = 4096;

/// Identities of the operands that wait for their removal.
#[derive(Default)]
pub(super) struct Nesting {
    /// Directories among the operands.
    directories: HashSet<Identity>,
    /// Directories above any of the operands.
    above: HashSet<Identity>,
    /// Directories above an operand, by the text of its parent path.
    chains: HashMap<Vec<u8>, Vec<Identity>>,
}

impl Nesting {
    /// Returns whether a source is inside a waiting operand, or a waiting operand in the source.
    /// Returns true if that cannot be determined.
    pub(super) fn is_nested(&mut self, path: &CStr, stat: &Stat) -> bool {
        if self.above.contains(&identity(stat)) || self.directories.contains(&identity(stat)) {
            return true;
        }
        if self.directories.is_empty() {
            return false;
        }
        let directories = &self.directories;
        match Self::chain(&mut self.chains, path) {
            Some(chain) => chain.iter().any(|id| directories.contains(id)),
            None => true,
        }
    }

    /// Adds a source that waits for its removal.
    pub(super) fn add(&mut self, path: &CStr, stat: &Stat, is_directory: bool) {
        if is_directory {
            self.directories.insert(identity(stat));
        }
        if let Some(chain) = Self::chain(&mut self.chains, path) {
            self.above.extend(chain.iter().copied());
        }
    }

    fn chain<'a>(
        chains: &'a mut HashMap<Vec<u8>, Vec<Identity>>,
        path: &CStr,
    ) -> Option<&'a [Identity]> {
        let (directory, _) = split(path.to_bytes());
        if !chains.contains_key(directory) {
            let found = climb(path)?;
            chains.insert(directory.to_vec(), found);
        }
        chains.get(directory).map(Vec::as_slice)
    }
}

/// Lists the directories from the parent of a path to the root. Returns `None` if one of them
/// cannot be opened.
fn climb(path: &CStr) -> Option<Vec<Identity>> {
    let open = |base: BorrowedFd<'_>, name: &CStr| openat(base, name, DIRECTORY).ok();
    let mut at = open(CWD, &directory_of(path.to_bytes()))?;
    let mut chain = Vec::new();
    while chain.len() < HEIGHT {
        let id = identity(&fstat(&at).ok()?);
        if chain.last() == Some(&id) {
            return Some(chain);
        }
        chain.push(id);
        at = open(at.as_fd(), c"..")?;
    }
    None
}
