//! One name to be archived, and the names of a directory that were not visited yet.

use std::ffi::{CStr, CString};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use haul_io::last_check::left_of;
use haul_sys::fs::Kind;

/// The operand that a name is, or is below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) number: usize,
    /// Bytes of its name, with which that of all below it begins.
    pub(super) name_bytes: usize,
}

/// One name to be archived.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The directory that [`Found::name`] is relative to.
    pub(super) root: Arc<OwnedFd>,
    pub(super) parent: Arc<OwnedFd>,
    /// The name, and where in it the part relative to `parent` begins: one piece of memory for both, because
    /// another thread will free it.
    name: CString,
    leaf_at: usize,
    /// The kind that its directory tells, if it does.
    pub(super) kind: Option<Kind>,
    /// Whether the user named it.
    pub(super) is_operand: bool,
    /// Whether the walk would have entered it, and found that it was no directory.
    pub(super) is_leaf: bool,
    pub(super) operand: Origin,
}

impl Found {
    /// Makes an operand: a name relative to a directory.
    pub(super) fn operand(directory: Arc<OwnedFd>, name: CString, number: usize) -> Found {
        let name_bytes = name.as_bytes().len();
        Found {
            root: Arc::clone(&directory),
            parent: directory,
            name,
            leaf_at: 0,
            kind: None,
            is_operand: true,
            is_leaf: false,
            operand: Origin { number, name_bytes },
        }
    }

    /// Makes the entry `leaf` of the open directory `parent`, whose name is `above`, relative to `root`.
    pub(super) fn below(
        (parent, root): (Arc<OwnedFd>, Arc<OwnedFd>),
        operand: Origin,
        above: &[u8],
        leaf: &CStr,
    ) -> Found {
        let leaf = leaf.to_bytes();
        // A slash, and the NUL that CString adds.
        let mut name = Vec::with_capacity(above.len() + leaf.len() + 2);
        name.extend_from_slice(above);
        if !name.ends_with(b"/") {
            name.push(b'/');
        }
        let leaf_at = name.len();
        name.extend_from_slice(leaf);
        // Neither part has a NUL.
        let name = CString::new(name).unwrap_or_default();
        let (is_operand, is_leaf) = (false, false);
        Found { root, parent, name, leaf_at, kind: None, is_operand, is_leaf, operand }
    }

    /// Returns the names that it has after a run was killed that was about to remove it.
    pub(super) fn left(&self) -> Vec<Vec<u8>> {
        let above =
            &self.name()[..self.name().iter().rposition(|b| *b == b'/').map_or(0, |at| at + 1)];
        // What cannot be read is reported as a file that is not there.
        let left = left_of(&*self.root, &self.name).unwrap_or_default();
        left.iter().map(|hidden| [above, hidden.to_bytes()].concat()).collect()
    }

    /// Returns the name in messages and, less a dangerous beginning, in the archive; without a slash at its
    /// end.
    pub(super) fn name(&self) -> &[u8] {
        self.name.as_bytes()
    }

    /// Returns the name relative to `parent`.
    pub(super) fn leaf(&self) -> &CStr {
        let bytes = &self.name.as_bytes_with_nul()[self.leaf_at..];
        CStr::from_bytes_with_nul(bytes).unwrap_or_default()
    }
}

/// The entries of one directory in the order of their visits, in two pieces of memory.
#[derive(Default)]
pub(super) struct Entries {
    /// All names, each with its NUL.
    names: Vec<u8>,
    entries: Vec<(Range<usize>, Option<Kind>)>,
    next: usize,
}

impl Entries {
    pub(super) fn add(&mut self, name: &CStr, kind: Option<Kind>) {
        let start = self.names.len();
        self.names.extend_from_slice(name.to_bytes_with_nul());
        self.entries.push((start..self.names.len(), kind));
    }

    /// Puts them into the order of the bytes of their names.
    pub(super) fn sort(&mut self) {
        let names = &self.names;
        self.entries
            .sort_by(|one, other| names.get(one.0.clone()).cmp(&names.get(other.0.clone())));
    }

    /// Returns the next one.
    pub(super) fn next(&mut self) -> Option<(&CStr, Option<Kind>)> {
        let (range, kind) = self.entries.get(self.next)?;
        self.next += 1;
        let name = CStr::from_bytes_with_nul(self.names.get(range.clone())?).ok()?;
        Some((name, *kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leaf_is_the_end_of_the_name() {
        let directory: Arc<OwnedFd> = Arc::new(std::fs::File::open("/").unwrap().into());
        let parents = || (Arc::clone(&directory), Arc::clone(&directory));
        let named = |above: &[u8], leaf: &CStr| {
            let operand = Origin { number: 0, name_bytes: 0 };
            let found = Found::below(parents(), operand, above, leaf);
            (found.name().to_vec(), found.leaf().to_owned())
        };
        assert_eq!(named(b"a/b", c"c"), (b"a/b/c".to_vec(), c"c".to_owned()));
        assert_eq!(named(b"/", c"c"), (b"/c".to_vec(), c"c".to_owned()));
        let operand = Found::operand(Arc::clone(&directory), c"a/b".to_owned(), 0);
        assert_eq!((operand.name(), operand.leaf()), (&b"a/b"[..], c"a/b"));
    }

    #[test]
    fn entries_come_as_added_or_by_name() {
        let kinds = [Some(Kind::Regular), None, Some(Kind::Directory)];
        let all = |sorts: bool| {
            let mut entries = Entries::default();
            for (name, kind) in [c"b", c"\xff", c"a"].into_iter().zip(kinds) {
                entries.add(name, kind);
            }
            if sorts {
                entries.sort();
            }
            std::iter::from_fn(|| entries.next().map(|(name, kind)| (name.to_owned(), kind)))
                .collect::<Vec<_>>()
        };
        let [b, ff, a] = [c"b", c"\xff", c"a"].map(CStr::to_owned);
        let [of_b, of_ff, of_a] = kinds;
        assert_eq!(all(false), [(b.clone(), of_b), (ff.clone(), of_ff), (a.clone(), of_a)]);
        assert_eq!(all(true), [(a, of_a), (b, of_b), (ff, of_ff)]);
    }
}
