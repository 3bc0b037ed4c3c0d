//! What must hold of the files after a failure, whatever the moment of it.

use crate::error::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// A law of the files in a folder. It reads them itself, with the calls of the standard library alone.
pub(super) enum Law {
    /// The file system can be mounted; nothing is said of the files.
    Mounts,
    /// At least one of these pairs is a file and its whole contents.
    OneOf(&'static [(&'static str, &'static str)]),
    /// Each file of a tree is whole below one of the folders.
    Somewhere { tree: &'static str, folders: &'static [&'static str] },
    /// What a folder has of the files of a tree is whole.
    Whole { tree: &'static str, folder: &'static str },
}

impl Law {
    /// Returns what is against the law below a folder.
    pub(super) fn flaw(&self, dir: &Path) -> Result<Option<String>> {
        match self {
            Self::Mounts => Ok(None),
            Self::OneOf(pairs) => {
                for (name, content) in *pairs {
                    let path = dir.join(content);
                    let content = fs::read(&path).context("read", path.display())?;
                    if fs::read(dir.join(name)).is_ok_and(|found| found == content) {
                        return Ok(None);
                    }
                }
                let bytes = |(name, _): &(&str, &str)| {
                    fs::metadata(dir.join(name)).map_or(0, |found| found.len())
                };
                let found = pairs.iter().map(|pair| format!("{} of {} bytes", pair.0, bytes(pair)));
                Ok(Some(format!("nothing is whole: {}", found.collect::<Vec<_>>().join(", "))))
            }
            Self::Somewhere { tree, folders } => first(&dir.join(tree), |name, original| {
                let is_whole = |folder: &&str| {
                    fs::read(dir.join(folder).join(name)).is_ok_and(|copy| copy == original)
                };
                let is_lost = !folders.iter().any(is_whole);
                is_lost.then(|| format!("{} is in none of {}", name.display(), folders.join(", ")))
            }),
            Self::Whole { tree, folder } => first(&dir.join(tree), |name, original| {
                let path = dir.join(folder).join(name);
                let is_wrong = match fs::read(&path) {
                    Ok(copy) => copy != original,
                    Err(_) => path.symlink_metadata().is_ok(),
                };
                is_wrong.then(|| format!("{} is not whole in {folder}", name.display()))
            }),
        }
    }
}

/// Returns what is found first about the regular files of a tree, by their names in it and their bytes.
fn first(tree: &Path, find: impl Fn(&Path, &[u8]) -> Option<String>) -> Result<Option<String>> {
    let mut open = vec![PathBuf::new()];
    while let Some(folder) = open.pop() {
        let dir = tree.join(&folder);
        for entry in fs::read_dir(&dir).context("read", dir.display())? {
            let entry = entry.context("read", dir.display())?;
            let name = folder.join(entry.file_name());
            let kind = entry.file_type().context("look at", name.display())?;
            if kind.is_dir() {
                open.push(name);
            } else if kind.is_file() {
                let bytes = fs::read(entry.path()).context("read", name.display())?;
                if let Some(found) = find(&name, &bytes) {
                    return Ok(Some(found));
                }
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(dir: &Path, name: &str, text: &str) {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn laws_are_broken_by_files_that_are_lost_or_cut() {
        let dir = std::env::temp_dir().join(format!("xtask-law-{}", std::process::id()));
        put(&dir, "tree/a/x", "12");
        put(&dir, "tree/y", "34");
        let somewhere = Law::Somewhere { tree: "tree", folders: &["in", "out"] };
        let whole = Law::Whole { tree: "tree", folder: "out" };
        let one_of = Law::OneOf(&[("out/y", "tree/a/x"), ("out/y", "tree/y")]);
        let flaw = |law: &Law| law.flaw(&dir).unwrap();
        assert!(flaw(&somewhere).is_some() && flaw(&one_of).is_some());
        assert_eq!((flaw(&whole), flaw(&Law::Mounts)), (None, None));
        put(&dir, "in/a/x", "12");
        put(&dir, "out/y", "3");
        assert!(flaw(&somewhere).is_some() && flaw(&whole).is_some() && flaw(&one_of).is_some());
        put(&dir, "out/y", "34");
        assert_eq!((flaw(&somewhere), flaw(&whole), flaw(&one_of)), (None, None, None));
        fs::remove_dir_all(&dir).unwrap();
    }
}
