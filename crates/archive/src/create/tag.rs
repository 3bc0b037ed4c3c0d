//! Files that mark their directory as one to leave out: `--exclude-tag`, `--exclude-caches`.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd as _, OwnedFd};

use haul_io::fully::read_fully;
use haul_sys::fs::{OFlags, OpenHow, Wait, openat};

/// What the file of a cache begins with: the Cache Directory Tagging Specification,
/// <https://bford.info/cachedir/>.
const SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// The name of that file.
const CACHE: &CStr = c"CACHEDIR.TAG";

/// What is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagScope {
    /// Everything in the directory but the file that marks it.
    Contents,
    /// Everything in the directory.
    Under,
    /// The directory, too.
    All,
}

/// A name that marks directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    name: CString,
    scope: TagScope,
    needs_signature: bool,
}

impl Tag {
    /// Marks directories that have an entry of this name.
    #[must_use]
    pub const fn named(name: CString, scope: TagScope) -> Tag {
        Tag { name, scope, needs_signature: false }
    }

    /// Marks caches, by a file with the signature of caches.
    #[must_use]
    pub fn cache(scope: TagScope) -> Tag {
        Tag { name: CACHE.to_owned(), scope, needs_signature: true }
    }

    fn marks(&self, directory: &OwnedFd) -> bool {
        let how = OpenHow { wait: Wait::No, extra: OFlags::empty(), ..OpenHow::READ };
        let Ok(file) = openat(directory, &self.name, how) else { return false };
        let mut begin = [0; SIGNATURE.len()];
        !self.needs_signature
            || matches!(read_fully(file.as_fd(), &mut begin, 0), Ok(count) if count == begin.len())
                && begin == SIGNATURE
    }
}

/// Returns the name that marks an open directory and what it means. Blocks.
pub(super) fn mark<'t>(tags: &'t [Tag], directory: &OwnedFd) -> Option<(&'t CStr, TagScope)> {
    let found = tags.iter().rev().find(|tag| tag.marks(directory))?;
    Some((&found.name, found.scope))
}
