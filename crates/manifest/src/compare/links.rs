//! Hard links on both sides.
//!
//! Two trees have the same hard links when inodes pair up one to one: every name of inode x in A is
//! a name of inode y in B, and vice versa. One pass over the trees decides that, with memory only
//! for inodes that have more than one name.

use std::collections::HashMap;

use super::difference::{LinkedTo, What};
use crate::node::{Attributes, FileId};
use crate::text::RawText;

/// Longer first paths are not stored: trees may be 100,000 directories deep.
const KEPT_PATH_BYTES_MAX: usize = 4096;

/// The first name of an inode, and the inode of that name on the other side.
struct First {
    path: Option<RawText>,
    partner: FileId,
}

impl First {
    fn new(path: &[u8], partner: FileId) -> First {
        let path = (path.len() <= KEPT_PATH_BYTES_MAX).then(|| RawText::from(path));
        First { path, partner }
    }

    fn linked_to(&self) -> LinkedTo {
        self.path.clone().map_or(LinkedTo::LongPath, LinkedTo::Path)
    }
}

/// The inodes with several names that the comparison has visited.
#[derive(Default)]
pub(super) struct LinkPairs {
    a: HashMap<FileId, First>,
    b: HashMap<FileId, First>,
    /// Inodes in B whose pairs several processes meet.
    backs: HashMap<FileId, First>,
}

/// Relation of a pair of entries to the pairs before it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// Neither inode was visited before.
    Never,
    /// The same two inodes were visited before as a pair, so nothing is left to compare.
    Together,
    /// They were visited in different pairs.
    Apart(What),
}

impl LinkPairs {
    /// Meets a pair whose inode in A another process meets. Returns how it differs from the first pair
    /// with the same inode in B.
    pub(super) fn meet_back(&mut self, path: &[u8], a: FileId, b: FileId) -> Option<What> {
        let first = self.backs.entry(b).or_insert_with(|| First::new(path, a));
        let differs = first.partner != a;
        differs.then(|| What::LinkGroup { a: LinkedTo::None, b: first.linked_to() })
    }

    pub(super) fn meet(&mut self, path: &[u8], a: &Attributes, b: &Attributes) -> Relation {
        if a.nlink < 2 && b.nlink < 2 {
            return Relation::Never;
        }
        let first_a = self.a.get(&a.id);
        let first_b = self.b.get(&b.id);
        let (paired_a, paired_b) =
            (first_a.map(|first| first.partner), first_b.map(|first| first.partner));
        if paired_a == Some(b.id) && paired_b == Some(a.id) {
            return Relation::Together;
        }
        let relation = if paired_a.is_some() || paired_b.is_some() {
            let linked_to = |first: Option<&First>| first.map_or(LinkedTo::None, First::linked_to);
            Relation::Apart(What::LinkGroup { a: linked_to(first_a), b: linked_to(first_b) })
        } else {
            Relation::Never
        };
        // An inode that was visited before keeps its first name and partner.
        self.a.entry(a.id).or_insert_with(|| First::new(path, b.id));
        self.b.entry(b.id).or_insert_with(|| First::new(path, a.id));
        relation
    }
}
