//! Small trees of everything, for property tests.
//!
//! A corpus for timing must be realistic; a tree for testing must contain many corner cases. All
//! kinds of entries occur, with values from every table of odd names and attributes.

use std::collections::HashSet;

use super::item::{Body, Feature, Item, ItemKind};
use super::numbers::Numbers;
use super::odd;
use crate::segments::Segment;
use crate::text::RawText;
use crate::values::{Rdev, Timestamp};

/// Bounds of a random tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of entries, without the root.
    pub entries: u64,
    /// Maximum depth of entries; 1 allows no directory with entries.
    pub depth: usize,
    /// Maximum size in bytes of files without holes. Files with holes may be 64 times as large.
    pub file_bytes: u64,
    /// Features that must not occur.
    pub without: Vec<Feature>,
}

impl Default for Limits {
    /// 60 entries, 8 deep, files up to 256 KiB, everything.
    fn default() -> Self {
        Self { entries: 60, depth: 8, file_bytes: 256 * 1024, without: Vec::new() }
    }
}

/// Returns the items of a tree that depends only on `seed`, for [`crate::create_tree`].
///
/// Independent of permissions and file system: unsupported items are skipped when the tree is
/// created. Memory grows with the number of entries.
#[must_use]
pub fn random_tree(seed: u64, limits: &Limits) -> Vec<Item> {
    let mut tree = RandomTree {
        numbers: Numbers::new(seed),
        limits,
        items: Vec::new(),
        path: Vec::new(),
        taken: vec![HashSet::new()],
        linkable: Vec::new(),
        sibling: "missing".into(),
    };
    while (tree.items.len() as u64) < limits.entries {
        tree.grow();
    }
    tree.items
}

struct RandomTree<'a> {
    numbers: Numbers,
    limits: &'a Limits,
    items: Vec<Item>,
    /// The names of the directories down to the current one.
    path: Vec<RawText>,
    /// The names in use in each of them, the root first.
    taken: Vec<HashSet<RawText>>,
    /// The paths of possible hard link targets.
    linkable: Vec<RawText>,
    /// The last name drawn.
    sibling: RawText,
}

impl RandomTree<'_> {
    fn grow(&mut self) {
        if !self.path.is_empty() && self.numbers.chance(25) {
            self.path.pop();
            self.taken.pop();
        }
        let name = self.name();
        let kind = self.kind(&name);
        let mut item = Item::new(self.path.len() + 1, name.clone(), kind);
        self.attributes(&mut item);
        match item.kind {
            ItemKind::Directory => self.descend(&name),
            ItemKind::Regular(_) | ItemKind::Symlink(_) | ItemKind::Fifo => {
                let path: Vec<&[u8]> =
                    self.path.iter().chain([&name]).map(RawText::as_bytes).collect();
                self.linkable.push(path.join(&b'/').into());
            }
            _ => {}
        }
        self.sibling = name;
        self.items.push(item);
    }

    /// Usually enters a new directory; some stay empty.
    fn descend(&mut self, name: &RawText) {
        if self.path.len() + 1 < self.limits.depth && self.numbers.chance(80) {
            self.path.push(name.clone());
            self.taken.push(HashSet::new());
        }
    }

    fn allows(&self, feature: Feature) -> bool {
        !self.limits.without.contains(&feature)
    }

    fn name(&mut self) -> RawText {
        let unique = self.items.len() as u64;
        let plain = RawText::from(format!("e{}", self.numbers.below(1000)));
        let is_odd = self.numbers.chance(40) && self.allows(Feature::OddName);
        let name = if is_odd { odd::name(&mut self.numbers, unique) } else { plain };
        let is_new = self.taken.last_mut().is_none_or(|taken| taken.insert(name.clone()));
        // The number of the item is unique in the whole tree, and no other name has this prefix.
        if is_new { name } else { format!("again-{unique}").into() }
    }

    fn kind(&mut self, name: &RawText) -> ItemKind {
        let chance = self.numbers.below(100);
        match chance {
            0..25 => ItemKind::Directory,
            25..35 if self.allows(Feature::Symlink) => {
                ItemKind::Symlink(odd::link_text(&mut self.numbers, name, &self.sibling))
            }
            35..45 if self.allows(Feature::HardLink) && !self.linkable.is_empty() => {
                let index = self.numbers.below(self.linkable.len() as u64) as usize;
                ItemKind::HardLink(self.linkable.get(index).cloned().unwrap_or_default())
            }
            45..49 if self.allows(Feature::Fifo) => ItemKind::Fifo,
            49..52 if self.allows(Feature::Socket) => ItemKind::Socket,
            // The numbers of null and zero, and of a major for local use (devices.txt) with minors
            // that do not fit eight bits, but XFS's eighteen.
            52..54 if self.allows(Feature::Device) => {
                let minor = *self.numbers.pick(&[3, 5]);
                ItemKind::CharDevice(Rdev { major: 1, minor })
            }
            54 if self.allows(Feature::Device) => {
                ItemKind::CharDevice(Rdev { major: 240, minor: 262_143 })
            }
            55 if self.allows(Feature::Device) => {
                ItemKind::BlockDevice(Rdev { major: 240, minor: 70_000 })
            }
            56..70 if self.allows(Feature::Sparse) => ItemKind::Regular(self.sparse_body()),
            _ => {
                let size = self.size();
                ItemKind::Regular(Body::dense(size, self.numbers.next()))
            }
        }
    }

    /// Draws a size: zero, small, around a block, or any.
    fn size(&mut self) -> u64 {
        let size = match self.numbers.below(5) {
            0 => 0,
            1 => self.numbers.between(1, 100),
            2 => *self.numbers.pick(&[511, 512, 513, 4095, 4096, 4097, 65_536, 65_537]),
            _ => self.numbers.below(self.limits.file_bytes.saturating_add(1)),
        };
        size.min(self.limits.file_bytes)
    }

    /// Draws a file with holes: only a hole, a leading, a middle or a trailing one, or many.
    fn sparse_body(&mut self) -> Body {
        let block = 4096;
        let unit = (self.limits.file_bytes / 8).max(block);
        let hole = |numbers: &mut Numbers| block * numbers.between(1, 8 * unit / block);
        let segments = *self.numbers.pick(&[0, 1, 1, 2, 5]);
        let mut position = if self.numbers.chance(50) { hole(&mut self.numbers) } else { 0 };
        let mut data = Vec::new();
        for _ in 0..segments {
            let length = self.numbers.between(1, unit);
            data.push(Segment { offset: position, length });
            // Some segments end inside a block; the next one never begins in the same.
            position = (position + length).next_multiple_of(block) + hole(&mut self.numbers);
        }
        let last_end = data.last().map_or(0, |segment| segment.end());
        let has_trailing_hole = last_end == 0 || self.numbers.chance(50);
        let trailing = if has_trailing_hole { hole(&mut self.numbers) } else { 0 };
        let odd_tail = if has_trailing_hole { *self.numbers.pick(&[0, 0, 1, 777]) } else { 0 };
        Body { size: last_end + trailing + odd_tail, data, seed: self.numbers.next() }
    }

    fn attributes(&mut self, item: &mut Item) {
        if matches!(item.kind, ItemKind::HardLink(_)) {
            return;
        }
        let is_directory = item.kind == ItemKind::Directory;
        let is_regular = matches!(item.kind, ItemKind::Regular(_));
        item.mtime = Timestamp {
            seconds: self.numbers.between(1_000_000_000, 1_700_000_000) as i64,
            nanoseconds: self.numbers.below(1_000_000_000) as u32,
        };
        if self.numbers.chance(15) && self.allows(Feature::OddTime) {
            item.mtime = odd::mtime(&mut self.numbers);
        }
        if self.numbers.chance(20) && self.allows(Feature::Owner) {
            let (uid, gid) =
                (*self.numbers.pick(&[1, 1000, 65_534]), *self.numbers.pick(&[1, 1000]));
            item.owner = Some((uid, gid));
        }
        let has_odd_mode = self.numbers.chance(20) && self.allows(Feature::OddMode);
        if has_odd_mode {
            item.mode = if is_directory {
                odd::directory_mode(&mut self.numbers)
            } else {
                odd::file_mode(&mut self.numbers)
            };
        }
        if (is_directory || is_regular) && !has_odd_mode {
            self.extended(item, is_directory);
        }
    }

    fn extended(&mut self, item: &mut Item, is_directory: bool) {
        if self.numbers.chance(20) && self.allows(Feature::Xattr) {
            item.xattrs.extend(odd::user_xattrs(&mut self.numbers));
        }
        if self.numbers.chance(15) && self.allows(Feature::Acl) {
            item.xattrs.push(odd::acl("system.posix_acl_access", item.mode, 1000, 1001));
            if is_directory && self.numbers.chance(50) {
                item.xattrs.push(odd::acl("system.posix_acl_default", 0o750, 1002, 1000));
            }
        }
        if !is_directory && self.numbers.chance(5) && self.allows(Feature::Capability) {
            item.xattrs.push(odd::capability());
        }
    }
}
