//! Whether an operand lies in another one: what is copied and not removed yet must not be met twice.

use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};

use haul_sys::fs::{CWD, Stat, fstat, openat};

use crate::apply::existing::DIRECTORY;
use crate::walk::node::{Identity, identity};
use crate::walk::path::{directory_of, split};

/// The most directories above an operand that are looked at. Paths that the kernel takes have at
/// most 2,048 components; what lies deeper was reached by a working directory.
const HEIGHT: usize = 4096;

/// What is known of the operands that wait to be removed.
#[derive(Default)]
pub(super) struct Nesting {
    /// Directories among them.
    directories: HashSet<Identity>,
    /// Directories above any of them.
    above: HashSet<Identity>,
    /// What is above an operand, by the text of its directory.
    chains: HashMap<Vec<u8>, Vec<Identity>>,
}

impl Nesting {
    /// Tells whether a source lies in one that waits, or one of those in it. Where that cannot be
    /// found out, it is taken to be so.
    pub(super) fn is_kin(&mut self, path: &CStr, stat: &Stat) -> bool {
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

    /// Adds a source that waits now.
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

/// Lists the directories from that of a path to the root; `None` where one cannot be opened.
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
