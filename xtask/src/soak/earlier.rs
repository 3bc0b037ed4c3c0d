//! The state of a target before a command: nothing, a changed copy of the source, or another tree.

use super::tree::{self, Shape, Specials};
use haul_manifest::Numbers;
use haul_manifest::{Body, Item, ItemKind, RawText, Timestamp};

/// The kind of an earlier state; a promise may hold for some of them only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Earlier {
    Absent,
    Empty,
    /// A copy of the source in which some entries differ.
    Changed,
    /// A tree that has some names in common with the source.
    Other,
}

impl Earlier {
    pub(crate) fn draw(numbers: &mut Numbers) -> Self {
        *numbers.pick(&[
            Self::Absent,
            Self::Absent,
            Self::Empty,
            Self::Changed,
            Self::Changed,
            Self::Other,
        ])
    }

    /// Whether no entry of the target can be one that the command did not make.
    pub(crate) fn is_fresh(self) -> bool {
        matches!(self, Self::Absent | Self::Empty)
    }

    /// Returns the items of the target; `None` if it does not exist.
    ///
    /// There are no special files but those of the source: GNU's tools open some of them for writing.
    pub(crate) fn items(self, numbers: &mut Numbers, source: &[Item]) -> Option<Vec<Item>> {
        match self {
            Self::Absent => None,
            Self::Empty => Some(Vec::new()),
            Self::Changed => Some(changed(numbers, source)),
            Self::Other => {
                let shape = Shape { entries: 12, depth: 3, specials: Specials::None };
                Some(tree::draw(numbers, &shape))
            }
        }
    }
}

/// Returns a copy of a tree in which some entries are missing, older, newer, of another size, of another
/// kind, or further names of one file.
fn changed(numbers: &mut Numbers, source: &[Item]) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    // The paths of what may get another name, and those of regular files.
    let mut kept: Vec<RawText> = Vec::new();
    let mut files: Vec<RawText> = Vec::new();
    let mut skipped_depth = usize::MAX;
    for (index, (item, path)) in source.iter().zip(tree::paths(source)).enumerate() {
        if item.depth > skipped_depth {
            continue;
        }
        skipped_depth = usize::MAX;
        let has_children = source.get(index + 1).is_some_and(|next| next.depth > item.depth);
        if numbers.chance(12) {
            skipped_depth = item.depth;
            continue;
        }
        let mut item = item.clone();
        if numbers.chance(30) {
            change(numbers, &mut item, has_children, &files);
        }
        if let ItemKind::HardLink(first) = &item.kind
            && !kept.contains(first)
        {
            item.kind = ItemKind::Regular(Body::dense(3, numbers.next()));
        }
        if matches!(item.kind, ItemKind::Regular(_)) {
            files.push(path.clone());
        }
        if item.kind != ItemKind::Directory {
            kept.push(path);
        }
        items.push(item);
    }
    items
}

/// Gives every file of an earlier state some bytes that the source does not have.
///
/// With `-u` haul copies a newer file again that has nothing but bytes of the source, for a killed run may have
/// left it. GNU's tools keep it.
pub(crate) fn with_bytes_of_their_own(items: &mut [Item]) {
    const ENOUGH_BYTES: u64 = 8;
    for item in items {
        if let ItemKind::Regular(body) = &mut item.kind
            && body.data.iter().map(|segment| segment.length).sum::<u64>() < ENOUGH_BYTES
        {
            *body = Body::dense(ENOUGH_BYTES, body.seed ^ 1);
        }
    }
}

fn change(numbers: &mut Numbers, item: &mut Item, has_children: bool, files: &[RawText]) {
    let moment = |seconds| Timestamp { seconds, nanoseconds: 0 };
    match numbers.below(8) {
        0 => item.mtime = moment(item.mtime.seconds - 1),
        1 => item.mtime = moment(item.mtime.seconds + 1),
        2 => item.mode = *numbers.pick(&[0o600, 0o644, 0o755, 0o444]),
        3 => item.xattrs.clear(),
        _ if has_children => {}
        4 => item.kind = ItemKind::Symlink((*numbers.pick(&["a", "b", "missing"])).into()),
        5 if !files.is_empty() => item.kind = ItemKind::HardLink(numbers.pick(files).clone()),
        6 if item.kind != ItemKind::Directory => {
            item.kind = ItemKind::Directory;
            item.xattrs.clear();
        }
        _ => {
            if let ItemKind::Regular(body) = &mut item.kind {
                let size = *numbers.pick(&[0, body.size / 2, body.size, body.size + 4096]);
                *body = Body::dense(size, numbers.next());
            }
        }
    }
    let has_xattrs = matches!(item.kind, ItemKind::Regular(_) | ItemKind::Directory);
    if !has_xattrs {
        item.xattrs.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_can_be_made_and_a_changed_copy_is_one() {
        let shape = Shape { entries: 40, depth: 4, specials: Specials::Some };
        let top = std::env::temp_dir().join(format!("xtask-earlier-{}", std::process::id()));
        std::fs::create_dir(&top).unwrap();
        let mut differing = 0;
        for seed in 0..60 {
            let mut numbers = Numbers::new(seed);
            let source = tree::draw(&mut numbers, &shape);
            let items = changed(&mut numbers, &source);
            differing += usize::from(items != source);
            for items in [items, Earlier::Other.items(&mut numbers, &source).unwrap()] {
                let root = top.join("tree");
                haul_manifest::create_tree(&root, items).unwrap();
                haul_manifest::remove_tree(&root).unwrap();
            }
        }
        std::fs::remove_dir(&top).unwrap();
        assert!(differing > 50, "{differing}");
    }

    #[test]
    fn only_a_target_without_entries_is_fresh() {
        let fresh: Vec<bool> = [Earlier::Absent, Earlier::Empty, Earlier::Changed, Earlier::Other]
            .map(Earlier::is_fresh)
            .to_vec();
        assert_eq!(fresh, [true, true, false, false]);
    }
}
