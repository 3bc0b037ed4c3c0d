//! Which names are one inode, on both sides.
//!
//! Two trees have the same hard links when inodes pair up one to one: every name that is the
//! inode x in A is the inode y in B, and the other way round. That can be judged in passing, with
//! memory only for inodes that have more than one name.

use std::collections::HashMap;

use super::difference::{LinkedTo, What};
use crate::node::{Attributes, FileId};
use crate::text::RawText;

/// Longer first paths are not kept: trees may be 100,000 directories deep.
const KEPT_PATH_BYTES_MAX: usize = 4096;

/// Remembers the first name of an inode, and what that name is on the other side.
struct First {
    path: Option<RawText>,
    partner: FileId,
}

impl First {
    fn linked_to(&self) -> LinkedTo {
        self.path.clone().map_or(LinkedTo::LongPath, LinkedTo::Path)
    }
}

/// Remembers the inodes with several names, as far as they were met.
#[derive(Default)]
pub(super) struct LinkPairs {
    a: HashMap<FileId, First>,
    b: HashMap<FileId, First>,
}

/// Says how a pair of entries relates to the pairs before it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Met {
    /// Neither inode was met before.
    Never,
    /// The same two inodes were met before, so there is nothing left to compare.
    Together,
    /// They were met apart.
    Apart(What),
}

impl LinkPairs {
    pub(super) fn meet(&mut self, path: &[u8], a: &Attributes, b: &Attributes) -> Met {
        if a.nlink < 2 && b.nlink < 2 {
            return Met::Never;
        }
        let first_a = self.a.get(&a.id);
        let first_b = self.b.get(&b.id);
        let (paired_a, paired_b) =
            (first_a.map(|first| first.partner), first_b.map(|first| first.partner));
        if paired_a == Some(b.id) && paired_b == Some(a.id) {
            return Met::Together;
        }
        let kept = (path.len() <= KEPT_PATH_BYTES_MAX).then(|| RawText::from(path));
        let met = if paired_a.is_some() || paired_b.is_some() {
            let linked_to = |first: Option<&First>| first.map_or(LinkedTo::None, First::linked_to);
            Met::Apart(What::LinkGroup { a: linked_to(first_a), b: linked_to(first_b) })
        } else {
            Met::Never
        };
        // What was met before keeps its first name and partner.
        self.a.entry(a.id).or_insert(First { path: kept.clone(), partner: b.id });
        self.b.entry(b.id).or_insert(First { path: kept, partner: a.id });
        met
    }
}
