//! Random trees whose sizes, names and links are those at which copiers go wrong.
//!
//! Names come from a small pool, so that two trees have many names in common, of different kinds. Sizes
//! are those around the buffers of copiers and archivers.

use haul_manifest::Numbers;
use haul_manifest::{Body, Item, ItemKind, RawText, Rdev, Segment, Timestamp, Xattr};
use std::collections::BTreeSet;

/// Bounds of a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) entries: u64,
    pub(crate) depth: usize,
    pub(crate) specials: Specials,
}

/// Whether FIFOs, sockets and devices occur. A tool that writes *into* one would wait for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Specials {
    Some,
    None,
}

/// Names that occur in most trees. The last two are what `-b` makes of the first.
const PLAIN: [&str; 9] = ["a", "b", "c", "d", "e", "f", "A", "a~", "a.~1~"];

const ODD: [&[u8]; 11] = [
    b"new\nline",
    b"latin\xe9",
    b"-rf",
    b"--",
    b" lead ",
    b"*",
    b"back\\slash",
    b".hidden",
    b"'quote\"",
    b"\xc3\xa9",
    b"tab\t",
];

/// `NAME_MAX` of `linux/limits.h`.
const NAME_BYTES_MAX: usize = 255;

const SMALL: [u64; 13] = [0, 1, 255, 256, 257, 511, 512, 513, 4095, 4096, 4097, 65_535, 65_536];
const LARGE: [u64; 7] =
    [65_537, 131_071, 262_145, 1_000_000, (1 << 20) - 1, 1 << 20, (1 << 20) + 1];

/// Returns the items of a tree, for `haul_manifest::create_tree`.
pub(crate) fn draw(numbers: &mut Numbers, shape: &Shape) -> Vec<Item> {
    let mut tree = Tree {
        items: Vec::new(),
        path: Vec::new(),
        taken: vec![BTreeSet::new()],
        linkable: Vec::new(),
        sibling: "missing".into(),
    };
    // Most names of a directory may be taken, so the number of tries is bounded, too.
    for _ in 0..shape.entries {
        tree.grow(numbers, shape);
    }
    tree.items
}

/// Returns the path of each item, relative to the root.
pub(crate) fn paths(items: &[Item]) -> Vec<RawText> {
    let mut names: Vec<&[u8]> = Vec::new();
    let mut paths = Vec::new();
    for item in items {
        names.truncate(item.depth - 1);
        names.push(item.name.as_bytes());
        paths.push(names.join(&b'/').into());
    }
    paths
}

struct Tree {
    items: Vec<Item>,
    /// The names of the directories down to the current one.
    path: Vec<RawText>,
    /// The names in use in each of them, the root first.
    taken: Vec<BTreeSet<RawText>>,
    /// The paths of files that may get another name.
    linkable: Vec<RawText>,
    /// The last name drawn.
    sibling: RawText,
}

impl Tree {
    fn grow(&mut self, numbers: &mut Numbers, shape: &Shape) {
        while self.path.len() >= shape.depth || (!self.path.is_empty() && numbers.chance(25)) {
            self.path.pop();
            self.taken.pop();
        }
        let name = name(numbers);
        if self.taken.last_mut().is_some_and(|taken| !taken.insert(name.clone())) {
            return;
        }
        let kind = self.kind(numbers, shape);
        let mut item = Item::new(self.path.len() + 1, name.clone(), kind);
        attributes(numbers, &mut item);
        match item.kind {
            ItemKind::Directory if numbers.chance(85) => {
                self.path.push(name.clone());
                self.taken.push(BTreeSet::new());
            }
            ItemKind::Regular(_) | ItemKind::Symlink(_) | ItemKind::Fifo => {
                let parts: Vec<&[u8]> =
                    self.path.iter().chain([&name]).map(RawText::as_bytes).collect();
                self.linkable.push(parts.join(&b'/').into());
            }
            _ => {}
        }
        self.sibling = name;
        self.items.push(item);
    }

    fn kind(&self, numbers: &mut Numbers, shape: &Shape) -> ItemKind {
        let has_specials = shape.specials == Specials::Some;
        match numbers.below(100) {
            0..22 => ItemKind::Directory,
            22..34 => ItemKind::Symlink(link_text(numbers, &self.sibling)),
            34..44 if !self.linkable.is_empty() => {
                ItemKind::HardLink(numbers.pick(&self.linkable).clone())
            }
            44..47 if has_specials => ItemKind::Fifo,
            47..49 if has_specials => ItemKind::Socket,
            49 if has_specials => ItemKind::CharDevice(Rdev { major: 1, minor: 3 }),
            50 if has_specials => ItemKind::BlockDevice(Rdev { major: 240, minor: 70_000 }),
            51..60 => ItemKind::Regular(sparse(numbers)),
            _ => ItemKind::Regular(Body::dense(size(numbers), numbers.next())),
        }
    }
}

fn name(numbers: &mut Numbers) -> RawText {
    match numbers.below(100) {
        0..70 => (*numbers.pick(&PLAIN)).into(),
        70..95 => (*numbers.pick(&ODD)).into(),
        _ => vec![*numbers.pick(b"nN"); NAME_BYTES_MAX].into(),
    }
}

fn size(numbers: &mut Numbers) -> u64 {
    match numbers.below(10) {
        0..2 => numbers.below(100),
        2 => *numbers.pick(&LARGE),
        3 => numbers.below(200_000),
        _ => *numbers.pick(&SMALL),
    }
}

/// Draws a file with holes: only a hole, a leading, a middle or a trailing one, or many.
fn sparse(numbers: &mut Numbers) -> Body {
    const BLOCK: u64 = 4096;
    let hole = |numbers: &mut Numbers| BLOCK * numbers.between(1, 20);
    let mut position = if numbers.chance(50) { hole(numbers) } else { 0 };
    let mut data = Vec::new();
    for _ in 0..*numbers.pick(&[0, 1, 2, 5, 30]) {
        let length = numbers.between(1, 3 * BLOCK);
        data.push(Segment { offset: position, length });
        position = (position + length).next_multiple_of(BLOCK) + hole(numbers);
    }
    let last_end = data.last().map_or(0, |segment| segment.offset + segment.length);
    let tail = *numbers.pick(&[0, 1, 4095, 4096, 65_537, 1 << 20]);
    Body { size: last_end + tail, data, seed: numbers.next() }
}

/// Draws the text of a symbolic link: to a sibling, below it (which cannot be followed if it is a file),
/// nowhere, itself, too long to follow, not UTF-8.
fn link_text(numbers: &mut Numbers, sibling: &RawText) -> RawText {
    let below = |ending: &[u8]| -> RawText { [sibling.as_bytes(), ending].concat().into() };
    match numbers.below(12) {
        0 => below(b"/x"),
        1 => below(b"/"),
        2 => "missing/entry".into(),
        3 => "/nonexistent/haul".into(),
        4 => RawText::from(&b"\xff\n\x1b[0m"[..]),
        5 => vec![b'n'; NAME_BYTES_MAX + 45].into(),
        6 => (*numbers.pick(&PLAIN)).into(),
        7 => RawText::from("../a"),
        8 => RawText::from("x/".repeat(500).into_bytes()),
        _ => sibling.clone(),
    }
}

fn attributes(numbers: &mut Numbers, item: &mut Item) {
    const FILE_MODES: [u16; 9] = [0o000, 0o222, 0o400, 0o444, 0o600, 0o755, 0o2755, 0o4755, 0o7777];
    const DIRECTORY_MODES: [u16; 6] = [0o000, 0o300, 0o555, 0o700, 0o1777, 0o2775];
    if matches!(item.kind, ItemKind::HardLink(_)) {
        return;
    }
    item.mtime = time(numbers);
    if numbers.chance(15) {
        item.owner = Some((*numbers.pick(&[1, 1000, 65_534]), *numbers.pick(&[1, 1000])));
    }
    let is_directory = item.kind == ItemKind::Directory;
    if numbers.chance(25) {
        item.mode = *numbers.pick(if is_directory { &DIRECTORY_MODES } else { &FILE_MODES });
    }
    if !is_directory && !matches!(item.kind, ItemKind::Regular(_)) {
        // Links and special files can have no others: xattr(7).
        if numbers.chance(15) {
            item.xattrs.push(Xattr { name: "trusted.s".into(), value: "special".into() });
        }
        return;
    }
    if numbers.chance(15) {
        let mut value = vec![0; *numbers.pick(&[0, 1, 200, 2000])];
        numbers.fill(&mut value);
        let name = *numbers.pick(&["user.a", "user.b", "user.umlaut-\u{fc}", "trusted.t"]);
        item.xattrs.push(Xattr { name: name.into(), value: value.into() });
    }
    if numbers.chance(12) {
        item.xattrs.push(acl("system.posix_acl_access", item.mode));
        if is_directory && numbers.chance(50) {
            item.xattrs.push(acl("system.posix_acl_default", 0o750));
        }
    }
}

/// Draws a time in the past, in which no run of this program falls.
fn time(numbers: &mut Numbers) -> Timestamp {
    let nanoseconds = *numbers.pick(&[0, 0, 1, 100, 123_456_789, 999_999_999]);
    let seconds = match numbers.below(10) {
        0 => *numbers.pick(&[-1, 0, 1, 946_684_799, -86_400]),
        1..4 => 1_000_000_000,
        _ => i64::try_from(numbers.between(1_000_000_000, 1_700_000_000)).unwrap_or(0),
    };
    Timestamp { seconds, nanoseconds }
}

/// Returns an ACL that has entries for another user and group, in the kernel's form
/// (`linux/posix_acl_xattr.h`): version 2; tag, rights and id of each entry.
fn acl(name: &str, mode: u16) -> Xattr {
    const NO_ID: u32 = u32::MAX;
    let (owner, group, other) = (mode >> 6 & 7, mode >> 3 & 7, mode & 7);
    let entries: [(u16, u16, u32); 6] = [
        (0x01, owner, NO_ID),
        (0x02, 4, 1000),
        (0x04, group, NO_ID),
        (0x08, 5, 1001),
        (0x10, group, NO_ID),
        (0x20, other, NO_ID),
    ];
    let mut value = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        value.extend(tag.to_le_bytes());
        value.extend(rights.to_le_bytes());
        value.extend(id.to_le_bytes());
    }
    Xattr { name: name.into(), value: value.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { entries: 40, depth: 4, specials: Specials::Some };

    #[test]
    fn a_seed_names_one_tree() {
        let draw = |seed| draw(&mut Numbers::new(seed), &SHAPE);
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
    }

    #[test]
    fn trees_have_every_kind_and_can_be_made() {
        let mut kinds = BTreeSet::new();
        let top = std::env::temp_dir().join(format!("xtask-tree-{}", std::process::id()));
        std::fs::create_dir(&top).unwrap();
        for seed in 0..40 {
            let items = draw(&mut Numbers::new(seed), &SHAPE);
            for item in &items {
                let debug = format!("{:?}", item.kind);
                kinds.insert(debug.split(['(', ' ']).next().unwrap().to_owned());
                assert!(item.mtime.seconds < 1_700_000_001);
            }
            let root = top.join("tree");
            haul_manifest::create_tree(&root, items).unwrap();
            haul_manifest::remove_tree(&root).unwrap();
        }
        std::fs::remove_dir(&top).unwrap();
        assert_eq!(kinds.len(), 8, "{kinds:?}");
    }

    #[test]
    fn a_tree_without_special_files_has_none() {
        let shape = Shape { specials: Specials::None, ..SHAPE };
        for seed in 0..40 {
            for item in draw(&mut Numbers::new(seed), &shape) {
                let is_special = !matches!(
                    item.kind,
                    ItemKind::Directory
                        | ItemKind::Regular(_)
                        | ItemKind::Symlink(_)
                        | ItemKind::HardLink(_)
                );
                assert!(!is_special, "{item:?}");
            }
        }
    }
}
