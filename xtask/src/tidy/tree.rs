//! The repository as the checks see it: paths and texts, held in memory.
//!
//! Reading everything at once keeps the checks pure, and a test can make a tree out of literals.

use crate::error::{Context, Result};
use crate::workspace::Workspace;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The path under which the tree holds what `cargo metadata --no-deps` printed.
pub(crate) const METADATA: &str = "(cargo metadata)";

/// Folders at the root that are not checked.
const SKIPPED: [&str; 2] = ["target", ".git"];

/// Endings of the files whose text a check may need.
const TEXT: [&str; 7] =
    [".rs", ".md", ".toml", "Cargo.lock", ".py", "xtask/gnu/gnu-tests", ".ci/run"];

pub(crate) struct Tree {
    texts: BTreeMap<String, String>,
    /// Every file and folder, relative to the root.
    paths: BTreeSet<String>,
}

impl Tree {
    /// Reads the workspace from disk.
    pub(crate) fn load(workspace: &Workspace) -> Result<Self> {
        let mut tree = Self { texts: BTreeMap::new(), paths: BTreeSet::new() };
        tree.walk(&workspace.root, "")?;
        tree.texts.insert(METADATA.into(), workspace.metadata.clone());
        Ok(tree)
    }

    fn walk(&mut self, root: &Path, dir: &str) -> Result<()> {
        let folder = root.join(dir);
        for entry in fs::read_dir(&folder).context("read the folder", folder.display())? {
            let entry = entry.context("read the folder", folder.display())?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if dir.is_empty() && SKIPPED.contains(&name.as_str()) {
                continue;
            }
            let path = if dir.is_empty() { name } else { format!("{dir}/{name}") };
            let kind = entry.file_type().context("examine", &path)?;
            if kind.is_dir() {
                self.walk(root, &path)?;
            } else if kind.is_file() && TEXT.iter().any(|ending| path.ends_with(ending)) {
                let bytes = fs::read(entry.path()).context("read", &path)?;
                self.texts.insert(path.clone(), String::from_utf8_lossy(&bytes).into_owned());
            }
            self.paths.insert(path);
        }
        Ok(())
    }

    /// Makes a tree of the given paths and texts.
    #[cfg(test)]
    pub(crate) fn literal(files: &[(&str, &str)]) -> Self {
        let mut paths = BTreeSet::new();
        for (path, _) in files {
            let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
            paths.extend(ends.map(|end| path[..end].to_owned()));
        }
        let texts = files.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect();
        Self { texts, paths }
    }

    /// Returns the text of a file, if there is such a file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    /// Returns all files that have a text, with it.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Returns all Rust files, with their text.
    pub(crate) fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(|(path, _)| path.ends_with(".rs"))
    }

    /// Whether there is a file or folder of that path.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.paths.contains(path.trim_end_matches('/'))
    }
}

/// Resolves a path that a file names, seen from its folder; none if it leads out of the repository.
pub(super) fn resolve_beside(file: &str, path: &str) -> Option<String> {
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut components = Vec::new();
    let all = folder.split('/').chain(path.split('/'));
    for component in all.filter(|component| !["", "."].contains(component)) {
        if component == ".." {
            components.pop()?;
        } else {
            components.push(component);
        }
    }
    Some(components.join("/"))
}
