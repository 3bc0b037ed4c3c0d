//! A description of a tree, one line for each entry: what `rsync -a` and `haul sync` preserve, and no more.
//!
//! Two runs end at different moments, so a recent time is only called `now`: those that a test sets are years ago.
//! Other times are whole seconds, as rsync compares them.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::Outcome;

/// Lines of the entries of a tree, by their paths, in which odd bytes are escaped.
pub(crate) type Described = BTreeMap<String, String>;

/// Age of a time that is not recent.
const DAY: Duration = Duration::from_secs(86_400);

/// Describes a tree.
pub(crate) fn described(root: &Path) -> Outcome<Described> {
    let recent = SystemTime::now() - DAY;
    let mut lines = Described::new();
    let mut names = HashMap::new();
    for path in walk(root)? {
        let shown = path.strip_prefix(root)?.as_os_str().as_bytes().escape_ascii().to_string();
        let metadata = fs::symlink_metadata(&path)?;
        let kind = metadata.file_type();
        let first = names.entry((metadata.dev(), metadata.ino())).or_insert_with(|| shown.clone());
        let what = if kind.is_dir() {
            "directory".to_owned()
        } else if kind.is_symlink() {
            format!("link to {}", fs::read_link(&path)?.as_os_str().as_bytes().escape_ascii())
        } else if kind.is_file() {
            let mut hasher = DefaultHasher::new();
            fs::read(&path)?.hash(&mut hasher);
            format!("file of {} bytes {:x}", metadata.len(), hasher.finish())
        } else if kind.is_fifo() {
            "fifo".to_owned()
        } else {
            format!("device or socket {:x}", metadata.rdev())
        };
        // The mode of a symbolic link has no effect.
        let mode = if kind.is_symlink() { 0 } else { metadata.mode() & 0o7777 };
        let time = if metadata.modified()? >= recent {
            "now".to_owned()
        } else {
            metadata.mtime().to_string()
        };
        let (uid, gid) = (metadata.uid(), metadata.gid());
        lines.insert(shown, format!("{what}, {mode:o} {uid}:{gid} {time}, inode of '{first}'"));
    }
    Ok(lines)
}

/// Lists a small tree with its root: each directory before its entries, and those in order of their bytes.
pub(crate) fn walk(root: &Path) -> Outcome<Vec<PathBuf>> {
    let mut found = vec![root.to_owned()];
    if fs::symlink_metadata(root)?.is_dir() {
        let mut below: Vec<PathBuf> =
            super::entries(root)?.iter().map(fs::DirEntry::path).collect();
        below.sort();
        for path in below {
            found.append(&mut walk(&path)?);
        }
    }
    Ok(found)
}

/// Lists the lines in which two descriptions differ; empty if they are equal.
pub(crate) fn differences(ours: &Described, theirs: &Described) -> String {
    let none = "none".to_owned();
    let names = ours.keys().chain(theirs.keys().filter(|name| !ours.contains_key(*name)));
    let pairs = names
        .map(|name| (name, ours.get(name).unwrap_or(&none), theirs.get(name).unwrap_or(&none)));
    pairs
        .filter(|(_, one, other)| one != other)
        .map(|(name, one, other)| format!("'{name}': haul: {one}; rsync: {other}\n"))
        .collect()
}
