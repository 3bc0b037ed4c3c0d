//! The items of the large corpora.

use super::item::{Body, Item, ItemKind};
use super::numbers::{Numbers, mix, number_at};
use super::odd;
use crate::segments::Segment;
use crate::text::RawText;
use crate::values::Timestamp;

/// Returns a regular file whose contents and time derive from the seed and its number.
fn file(depth: usize, name: String, size: u64, seed: u64, number: u64) -> Item {
    let chance = number_at(seed, number);
    let mut item = Item::new(depth, name, ItemKind::Regular(Body::dense(size, chance)));
    item.mtime = time(chance);
    item
}

/// Returns a time within the four years before 2020-09-13, to the nanosecond.
fn time(chance: u64) -> Timestamp {
    const FOUR_YEARS_SECONDS: u64 = 4 * 365 * 86_400;
    let chance = mix(chance);
    Timestamp {
        seconds: 1_600_000_000 - (chance % FOUR_YEARS_SECONDS) as i64,
        nanoseconds: ((chance >> 32) % 1_000_000_000) as u32,
    }
}

pub(super) fn flat(files: u64, size: u64, seed: u64) -> impl Iterator<Item = Item> {
    (0..files).map(move |number| file(1, format!("f{number:07}"), size, seed, number))
}

/// Files in directories, and these in `parents` directories, or at the top if there are none.
pub(super) fn nested(
    (files, size): (u64, u64),
    dirs: u64,
    parents: u64,
    seed: u64,
) -> impl Iterator<Item = Item> {
    let dirs = dirs.max(1);
    let parents = parents.min(dirs);
    let level = if parents == 0 { 1 } else { 2 };
    (0..parents.max(1)).flat_map(move |parent| {
        let above =
            (parents > 0).then(|| Item::new(1, format!("p{parent:05}"), ItemKind::Directory));
        let below = head_first(dirs, parents.max(1), parent).flat_map(move |dir| {
            let directory = Item::new(level, format!("d{dir:05}"), ItemKind::Directory);
            let files = head_first(files, dirs, dir)
                .map(move |number| file(level + 1, format!("f{number:07}"), size, seed, number));
            std::iter::once(directory).chain(files)
        });
        above.into_iter().chain(below)
    })
}

/// Small files and large ones, each spread over the directories, a directory's large ones first.
pub(super) fn scattered(
    (files, size): (u64, u64),
    dirs: u64,
    (large, large_size): (u64, u64),
    seed: u64,
) -> impl Iterator<Item = Item> {
    let dirs = dirs.max(1);
    (0..dirs).flat_map(move |dir| {
        let directory = Item::new(1, format!("d{dir:05}"), ItemKind::Directory);
        // Large files are numbered after the small ones, so that the small ones do not depend on
        // their presence.
        let large = share(large, dirs, dir).map(move |number| {
            file(2, format!("large{number:04}"), large_size, seed, files.saturating_add(number))
        });
        let files = head_first(files, dirs, dir)
            .map(move |number| file(2, format!("f{number:07}"), size, seed, number));
        std::iter::once(directory).chain(large).chain(files)
    })
}

/// Returns the numbers of the files that one of the directories gets: the remainder is spread over
/// the first ones.
fn head_first(files: u64, dirs: u64, dir: u64) -> std::ops::Range<u64> {
    let (each, more) = (files / dirs, files % dirs);
    let first = dir * each + dir.min(more);
    first..first + each + u64::from(dir < more)
}

/// Returns the numbers of the files that one of the directories gets, where there may be far fewer
/// files than directories: the files are evenly spaced.
fn share(files: u64, dirs: u64, dir: u64) -> std::ops::Range<u64> {
    let before = |dir: u64| (u128::from(files) * u128::from(dir)).div_ceil(u128::from(dirs)) as u64;
    before(dir)..before(dir + 1)
}

pub(super) fn deep(depth: u64, name_bytes: u64, seed: u64) -> impl Iterator<Item = Item> {
    let name = "d".repeat(name_bytes as usize);
    let levels = depth as usize;
    let last = file(levels + 1, "end".to_owned(), 5, seed, 0);
    (1..=levels)
        .map(move |depth| Item::new(depth, name.as_str(), ItemKind::Directory))
        .chain(std::iter::once(last))
}

pub(super) fn sparse(size: u64, segments: u64, data_bytes: u64, seed: u64) -> Option<Item> {
    let mut item = file(1, "sparse".to_owned(), 0, seed, 0);
    let last_offset = size.saturating_sub(data_bytes);
    let gaps = u128::from(segments.saturating_sub(1).max(1));
    let data = (0..segments)
        .map(|index| {
            // In 128 bits, because index times size may exceed 64 bits. Segments begin on whole
            // blocks if possible, so that the holes between them are real.
            let even = (u128::from(index) * u128::from(last_offset) / gaps) as u64;
            let offset = if index + 1 == segments { even } else { even & !4095 };
            Segment { offset, length: data_bytes.min(size) }
        })
        .collect();
    item.kind = ItemKind::Regular(Body { size, data, seed: number_at(seed, 1) });
    Some(item)
}

/// Number of files in one directory before the next one begins.
const FILES_PER_DIRECTORY: u64 = 40;

/// Maximum nesting depth of directories.
const DEPTH_MAX: usize = 6;

/// Two thirds of the sizes are within a factor of eight of the median, which fits what studies of
/// file systems find (Agrawal et al., "A five-year study of file-system metadata", FAST 2007).
const SIZE_SPREAD: f64 = 3.0;

/// Number of earlier files that are kept as link targets.
const LINKABLE_MAX: usize = 64;

/// The items of a mixed corpus.
pub(super) struct Mixed {
    numbers: Numbers,
    files: u64,
    median: u64,
    cap: u64,
    next_file: u64,
    next_link: u64,
    next_dir: u64,
    /// The names of the directories down to the current one.
    path: Vec<String>,
    left_in_directory: u64,
    linkable: Vec<RawText>,
}

impl Mixed {
    pub(super) fn new(files: u64, median: u64, cap: u64, seed: u64) -> Self {
        Self {
            numbers: Numbers::new(seed),
            files,
            median,
            cap,
            next_file: 0,
            next_link: 0,
            next_dir: 0,
            path: Vec::new(),
            left_in_directory: FILES_PER_DIRECTORY,
            linkable: Vec::new(),
        }
    }

    /// Begins a directory in the current one, beside it, or beside one of its parents.
    fn directory(&mut self) -> Item {
        let deepest = (self.path.len() + 1).min(DEPTH_MAX) as u64;
        let depth = self.numbers.between(1, deepest) as usize;
        self.path.truncate(depth - 1);
        let name = format!("dir-{:05}", self.next_dir);
        self.next_dir += 1;
        self.path.push(name.clone());
        self.left_in_directory = self.numbers.between(1, FILES_PER_DIRECTORY * 2);
        Item::new(depth, name, ItemKind::Directory)
    }

    fn symlink(&mut self, depth: usize) -> Item {
        let text = match self.numbers.below(3) {
            0 => format!("file-{:07}", self.numbers.below(self.next_file.max(1))),
            1 => "../missing".to_owned(),
            _ => ".".to_owned(),
        };
        let name = format!("link-{:07}", self.next_link);
        self.next_link += 1;
        let mut item = Item::new(depth, name, ItemKind::Symlink(text.into()));
        item.mtime = time(self.numbers.next());
        item
    }

    fn regular(&mut self, depth: usize) -> Item {
        let number = self.next_file;
        self.next_file += 1;
        let chance = self.numbers.next();
        let name = if self.numbers.chance(1) {
            odd::name(&mut self.numbers, number)
        } else {
            format!("file-{number:07}").into()
        };
        if self.numbers.chance(2) && !self.linkable.is_empty() {
            let index = self.numbers.below(self.linkable.len() as u64) as usize;
            let first = self.linkable.get(index).cloned().unwrap_or_default();
            return Item::new(depth, name, ItemKind::HardLink(first));
        }
        let size = self.numbers.log_normal(self.median, SIZE_SPREAD, self.cap);
        self.remember(&name, number);
        let mut item = Item::new(depth, name, ItemKind::Regular(Body::dense(size, chance)));
        item.mtime = time(chance);
        item.mode = *self.numbers.pick(&[0o644, 0o644, 0o644, 0o600, 0o755, 0o444]);
        item
    }

    fn remember(&mut self, name: &RawText, number: u64) {
        let mut path = self.path.join("/").into_bytes();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name.as_bytes());
        match self.linkable.get_mut(number as usize % LINKABLE_MAX) {
            Some(slot) => *slot = path.into(),
            None => self.linkable.push(path.into()),
        }
    }
}

impl Iterator for Mixed {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        if self.next_file >= self.files {
            return None;
        }
        if self.left_in_directory == 0 {
            return Some(self.directory());
        }
        let depth = self.path.len() + 1;
        self.left_in_directory -= 1;
        if self.numbers.chance(3) {
            return Some(self.symlink(depth));
        }
        Some(self.regular(depth))
    }
}
