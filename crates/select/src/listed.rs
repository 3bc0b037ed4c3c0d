//! The names that `--files-from` gives: what of a tree is selected, and which names were met.
//!
//! The names are sorted, so a directory is a range of them, and a list of a million names takes little more
//! memory than its text.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering as Memory};

/// The listed names that are below a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    range: Range<usize>,
    /// Length of the directory's path, with the slash behind it.
    bytes: usize,
    /// Whether everything below the directory is selected.
    is_whole: bool,
}

impl Reach {
    /// Returns whether everything below the directory is selected.
    pub(crate) const fn is_whole(&self) -> bool {
        self.is_whole
    }
}

/// Relation of a name to the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The name is listed, or is below a listed one.
    Listed,
    /// A listed name is below it.
    Above,
    Unlisted,
}

/// A sorted list of paths without `.`, empty components, and slashes at the end.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    paths: Vec<Box<[u8]>>,
    /// A bit for each path that a walk has met.
    met: Vec<AtomicU64>,
}

impl Listed {
    /// Reads names, which are separated by newlines or by NULs. Returns the first one that leaves the tree.
    pub(crate) fn read(text: &[u8], separator: u8) -> Result<Listed, Vec<u8>> {
        let mut paths = Vec::new();
        for name in text.split(|byte| *byte == separator) {
            let name = match separator {
                b'\n' => name.strip_suffix(b"\r").unwrap_or(name),
                _ => name,
            };
            let is_comment = matches!(name.first(), Some(b'#' | b';')) && separator == b'\n';
            if name.is_empty() || is_comment {
                continue;
            }
            let components = name.split(|byte| *byte == b'/');
            let components: Vec<&[u8]> =
                components.filter(|part| !part.is_empty() && *part != b".").collect();
            if components.contains(&&b".."[..]) {
                return Err(name.to_vec());
            }
            paths.push(components.join(&b'/').into_boxed_slice());
        }
        paths.sort_unstable_by(|one, two| compare(one, two));
        paths.dedup();
        let met = std::iter::repeat_with(AtomicU64::default).take(paths.len().div_ceil(64));
        Ok(Listed { met: met.collect(), paths })
    }

    /// Returns whether nothing is listed.
    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Returns everything that is listed.
    pub(crate) fn root(&self) -> Reach {
        let is_whole = self.paths.first().is_some_and(|path| path.is_empty());
        if is_whole {
            self.meet(0);
        }
        Reach { range: 0..self.paths.len(), bytes: 0, is_whole }
    }

    /// Returns the standing of a name in a directory, and what is listed below it.
    pub(crate) fn find(&self, reach: &Reach, name: &[u8]) -> (Standing, Reach) {
        let within = &self.paths[reach.range.clone()];
        let component = |path: &[u8]| {
            // The directory itself is listed, and comes before everything below it.
            if path.len() < reach.bytes {
                return Ordering::Less;
            }
            let rest = &path[reach.bytes..];
            let end = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
            compare(&rest[..end], name)
        };
        let first = within.partition_point(|path| component(path) == Ordering::Less);
        let count = within[first..].partition_point(|path| component(path) == Ordering::Equal);
        let start = reach.range.start + first;
        let bytes = reach.bytes + name.len() + 1;
        let is_own = count > 0 && self.paths[start].len() + 1 == bytes;
        if is_own {
            self.meet(start);
        }
        let is_whole = reach.is_whole || is_own;
        let standing = match (is_whole, count) {
            (true, _) => Standing::Listed,
            (false, 0) => Standing::Unlisted,
            (false, _) => Standing::Above,
        };
        (standing, Reach { range: start..start + count, bytes, is_whole })
    }

    /// Records that what is listed below a directory is not missing: a rule excludes it, or the directory has failed.
    pub(crate) fn meet_all(&self, reach: &Reach) {
        reach.range.clone().for_each(|position| self.meet(position));
    }

    fn meet(&self, position: usize) {
        self.met[position / 64].fetch_or(1 << (position % 64), Memory::Relaxed);
    }

    /// Returns the paths that no walk has met.
    pub(crate) fn missing(&self) -> impl Iterator<Item = &[u8]> {
        let is_met = |position: usize| {
            self.met[position / 64].load(Memory::Relaxed) & (1 << (position % 64)) != 0
        };
        let paths = self.paths.iter().enumerate();
        paths.filter(move |(position, _)| !is_met(*position)).map(|(_, path)| &**path)
    }
}

/// Compares two paths component by component: what is below a directory comes right behind it.
fn compare(one: &[u8], two: &[u8]) -> Ordering {
    let rank = |byte: &u8| if *byte == b'/' { 0 } else { u16::from(*byte) + 1 };
    one.iter().map(rank).cmp(two.iter().map(rank))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str) -> Listed {
        Listed::read(text.as_bytes(), b'\n').unwrap()
    }

    #[test]
    fn a_listed_directory_is_whole_and_one_above_is_not() {
        let list = listed("./a/b\n\n# no\n/a.x\r\nd/\na/b/c\n");
        let (standing, a) = list.find(&list.root(), b"a");
        assert_eq!(standing, Standing::Above);
        assert_eq!(list.find(&a, b"x").0, Standing::Unlisted);
        let (standing, b) = list.find(&a, b"b");
        assert_eq!(standing, Standing::Listed);
        assert_eq!(list.find(&b, b"any").0, Standing::Listed);
        assert_eq!(list.find(&list.root(), b"a.x").0, Standing::Listed);
        assert_eq!(list.find(&list.root(), b"z").0, Standing::Unlisted);
        assert_eq!(list.missing().collect::<Vec<_>>(), [b"a/b/c".as_slice(), b"d"]);
        list.meet_all(&b);
        assert_eq!(list.missing().collect::<Vec<_>>(), [b"d"]);
    }

    #[test]
    fn names_that_leave_the_tree_are_refused() {
        assert_eq!(Listed::read(b"a\0b/../c\0", 0).unwrap_err(), b"b/../c");
        let odd = Listed::read(b"#a\nb\0", 0).unwrap();
        assert_eq!(odd.find(&odd.root(), b"#a\nb").0, Standing::Listed);
    }

    #[test]
    fn a_dot_lists_everything() {
        let list = listed("./\n");
        assert_eq!(list.find(&list.root(), b"x").0, Standing::Listed);
        assert_eq!(list.missing().count(), 0);
    }
}
