//! The contents of a path at one moment: kinds, bytes, link texts and modes, by relative name.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::support::{Outcome, if_there};

/// The entry at a name.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Entry {
    File { bytes: Vec<u8>, mode: u32 },
    Directory { mode: u32 },
    Link(PathBuf),
    Fifo,
    Other,
}

impl Entry {
    /// Returns whether two entries have the same contents, independent of their modes.
    pub(super) fn holds_the_same(&self, other: &Entry) -> bool {
        match (self, other) {
            (Entry::File { bytes: one, .. }, Entry::File { bytes: two, .. }) => one == two,
            (Entry::Directory { .. }, Entry::Directory { .. }) => true,
            _ => self == other,
        }
    }

    pub(super) fn mode(&self) -> Option<u32> {
        match self {
            Entry::File { mode, .. } | Entry::Directory { mode } => Some(*mode),
            _ => None,
        }
    }
}

/// Shows the beginning of a file, which is different for each file of a test.
impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Entry::File { bytes, .. } => {
                let zeros = bytes.iter().filter(|byte| **byte == 0).count();
                let begin: Vec<u8> = bytes.iter().take(3).copied().collect();
                write!(f, "file of {} bytes, {zeros} of them zero, {begin:?}…", bytes.len())
            }
            Entry::Directory { .. } => write!(f, "directory"),
            Entry::Link(text) => write!(f, "link to {}", text.display()),
            Entry::Fifo => write!(f, "FIFO"),
            Entry::Other => write!(f, "something else"),
        }
    }
}

/// The entries below a path, the path itself under the empty name.
pub(super) type State = BTreeMap<PathBuf, Entry>;

/// Reads everything below a path, following no links; nothing if it does not exist.
pub(super) fn state(root: &Path) -> Outcome<State> {
    let mut found = State::new();
    look(root, PathBuf::new(), &mut found)?;
    Ok(found)
}

fn look(root: &Path, name: PathBuf, found: &mut State) -> Outcome {
    let path = if name.as_os_str().is_empty() { root.to_owned() } else { root.join(&name) };
    let Some(told) = if_there(path.symlink_metadata())? else { return Ok(()) };
    let mode = told.permissions().mode() & 0o7777;
    let kind = told.file_type();
    let entry = if kind.is_dir() {
        for entry in fs::read_dir(&path)? {
            look(root, name.join(entry?.file_name()), found)?;
        }
        Entry::Directory { mode }
    } else if kind.is_file() {
        Entry::File { bytes: fs::read(&path)?, mode }
    } else if kind.is_symlink() {
        Entry::Link(fs::read_link(&path)?)
    } else if kind.is_fifo() {
        Entry::Fifo
    } else {
        Entry::Other
    };
    found.insert(name, entry);
    Ok(())
}
