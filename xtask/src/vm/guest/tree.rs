//! The trees that the checks copy: one of everything, and one of what a file system can hold.

use super::mounts::Cells;
use crate::error::{Context, Result};
use crate::vm::file_systems::Lack;
use haul_manifest::{
    Body, Item, ItemKind, RawText, Segment, Timestamp, Xattr, create_tree, remove_tree,
};

const TREES: [&str; 2] = ["near/tree", "near/all"];

/// Makes both trees in both cells.
pub(super) fn make(cells: &Cells, lacks: &[Lack]) -> Result<()> {
    for whose in Cells::ALL {
        for (name, lacks) in TREES.into_iter().zip([lacks, &[]]) {
            let path = cells.dir(whose).join(name);
            create_tree(&path, items(lacks)).context("make", path.display())?;
        }
    }
    Ok(())
}

/// Removes both trees in both cells.
pub(super) fn remove(cells: &Cells) -> Result<()> {
    for whose in Cells::ALL {
        for name in TREES {
            let path = cells.dir(whose).join(name);
            remove_tree(&path).context("remove", path.display())?;
        }
    }
    Ok(())
}

const HOLE_BYTES: u64 = 8 << 20;
const LARGE_BYTES: u64 = 2_500_001;
const SMALL_FILES: usize = 16;

/// The tree for a file system that lacks this.
fn items(lacks: &[Lack]) -> Vec<Item> {
    let mut items = Items { lacks, items: Vec::new(), seed: 1 };
    items.directory(1, "a", 0o750);
    for (name, bytes, mode) in [
        ("empty", 0, 0o644),
        ("small", 1000, 0o600),
        ("block", 4096, 0o644),
        ("odd", 70_001, 0o755),
        ("read-only", 5000, 0o444),
        ("large", LARGE_BYTES, 0o664),
    ] {
        items.file(2, name, bytes, mode);
    }
    items.directory(1, "b", 0o755);
    items.directory(2, "c", 0o700);
    items.directory(3, "d", 0o755);
    items.file(4, "deep", 123, 0o644);
    for index in 0..SMALL_FILES {
        items.file(2, &format!("file-{index:02}"), 300 * index as u64, 0o644);
    }
    items.directory(1, "names", 0o755);
    for name in ["two words", "übung", "-dash", &"long".repeat(50)] {
        items.file(2, name, 10, 0o644);
    }
    items.odd();
    items.items
}

struct Items<'a> {
    lacks: &'a [Lack],
    items: Vec<Item>,
    /// The next seed, so that every file differs.
    seed: u64,
}

impl Items<'_> {
    fn holds(&self, lack: Lack) -> bool {
        !self.lacks.contains(&lack)
    }

    fn add(&mut self, depth: usize, name: impl Into<RawText>, kind: ItemKind) -> &mut Item {
        self.seed += 1;
        let mut item = Item::new(depth, name, kind);
        // Each time is another one, to the nanosecond, and none is from before 1980.
        let nanoseconds = (self.seed as u32).wrapping_mul(12_345_679) % 1_000_000_000;
        item.mtime = Timestamp { seconds: 1_600_000_000 + self.seed as i64 * 1001, nanoseconds };
        let at = self.items.len();
        self.items.push(item);
        &mut self.items[at]
    }

    /// A mode, or the one that every entry has where modes are not stored.
    fn mode(&self, mode: u16) -> u16 {
        if self.holds(Lack::Modes) { mode } else { 0o755 }
    }

    fn directory(&mut self, depth: usize, name: &str, mode: u16) {
        let mode = self.mode(mode);
        self.add(depth, name, ItemKind::Directory).mode = mode;
    }

    fn file(&mut self, depth: usize, name: &str, bytes: u64, mode: u16) {
        let mode = self.mode(mode);
        let body = Body::dense(bytes, self.seed);
        self.add(depth, name, ItemKind::Regular(body)).mode = mode;
    }

    /// What only some file systems hold.
    fn odd(&mut self) {
        self.directory(1, "odd", 0o755);
        if self.holds(Lack::SymbolicLinks) {
            for text in ["../a/small", "nowhere", "../b"] {
                let name = format!("link-to-{}", text.replace(['/', '.'], ""));
                self.add(2, name, ItemKind::Symlink(text.into()));
            }
        }
        if self.holds(Lack::HardLinks) {
            self.add(2, "hard", ItemKind::HardLink("a/small".into()));
            self.add(2, "hard-large", ItemKind::HardLink("a/large".into()));
        }
        if self.holds(Lack::Pipes) {
            let mode = self.mode(0o600);
            self.add(2, "pipe", ItemKind::Fifo).mode = mode;
        }
        if self.holds(Lack::Holes) {
            let segment = |offset| Segment { offset, length: 4096 };
            let data = vec![segment(0), segment(HOLE_BYTES / 2)];
            let body = Body { size: HOLE_BYTES, data, seed: self.seed };
            self.add(2, "holes", ItemKind::Regular(body));
        }
        if self.holds(Lack::Owners) {
            self.file(2, "owned", 100, 0o640);
            if let Some(item) = self.items.last_mut() {
                item.owner = Some((1000, 1001));
            }
        }
        if self.holds(Lack::Attributes) {
            let value = RawText::from("some value");
            let xattr = Xattr { name: "user.vm".into(), value };
            self.file(2, "attributed", 100, 0o644);
            self.give(xattr);
        }
        if self.holds(Lack::Acls) {
            self.file(2, "listed", 100, 0o664);
            self.give(Xattr { name: "system.posix_acl_access".into(), value: acl().into() });
        }
        if self.holds(Lack::Case) {
            self.file(2, "Case", 11, 0o644);
            self.file(2, "case", 12, 0o644);
        }
        if self.holds(Lack::Names) {
            self.file(2, "a:b?*\"<>|\\", 10, 0o644);
            self.add(2, &b"latin\xe9"[..], ItemKind::Regular(Body::dense(10, 5)));
            self.file(2, "dot.", 10, 0o644);
        }
    }

    fn give(&mut self, xattr: Xattr) {
        if let Some(item) = self.items.last_mut() {
            item.xattrs.push(xattr);
        }
    }
}

/// Returns an ACL that lets user 1000 read and write, in the kernel's form (`linux/posix_acl_xattr.h`).
fn acl() -> Vec<u8> {
    const NOBODY: u32 = u32::MAX;
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    let entries: [(u16, u16, u32); 5] =
        [(1, 6, NOBODY), (2, 6, 1000), (4, 4, NOBODY), (16, 6, NOBODY), (32, 4, NOBODY)];
    for (tag, rights, id) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(rights.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::file_systems::OF_FAT;

    #[test]
    fn a_tree_has_only_what_a_file_system_holds() {
        let all = items(&[]);
        let is_plain = |item: &Item| match &item.kind {
            ItemKind::Directory => true,
            ItemKind::Regular(body) => body == &Body::dense(body.size, body.seed),
            _ => false,
        };
        assert!(!all.iter().all(is_plain) && all.iter().any(|item| item.owner.is_some()));
        let plain = items(OF_FAT);
        assert!(plain.iter().all(|item| is_plain(item) && item.mode == 0o755));
        assert!(plain.iter().all(|item| item.owner.is_none() && item.xattrs.is_empty()));
    }
}
