//! The licences of all crates in the binary, in one text.

use super::dependencies::Dependency;
use crate::error::{Context, Error, Result};
use crate::licence::is_accepted;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Beginnings of the names of files that hold licences.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "UNLICENSE", "NOTICE"];

/// Returns the text: each crate with its licence, then each licence once with the crates that it
/// covers. Fails if a crate's licence is not accepted, or its text is missing.
pub(super) fn text(dependencies: &[Dependency]) -> Result<String> {
    let mut text = String::from("haul contains these crates:\n\n");
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for dependency in dependencies {
        let Dependency { name, version, licence, folder, .. } = dependency;
        if !is_accepted(licence) {
            return Err(Error::new(format!("{name} {version} has the licence {licence:?}"))
                .hint("replace the crate, or add the licence to the accepted ones if it may be"));
        }
        let _never_fails = writeln!(text, "{name} {version}: {licence}");
        for licence in files(folder)? {
            texts.entry(licence).or_default().push(format!("{name} {version}"));
        }
    }
    for (licence, crates) in texts {
        let line = "-".repeat(72);
        let _never_fails = write!(text, "\n{line}\n{}\n\n{}\n", crates.join(", "), licence.trim());
    }
    Ok(text)
}

/// Reads the licences in a crate's folder, in the order of their names.
fn files(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).context("read", folder.display())? {
        let entry = entry.context("read", folder.display())?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        if NAMES.iter().any(|start| name.starts_with(start)) && entry.path().is_file() {
            names.push(entry.path());
        }
    }
    names.sort();
    let read = |path: &std::path::PathBuf| {
        fs::read(path)
            .map(|bytes| String::from_utf8_lossy(&bytes).replace('\r', ""))
            .context("read", path.display())
    };
    names.iter().map(read).collect()
}
