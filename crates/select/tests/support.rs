//! Trees for the tests, and the walk that asks a selection about each entry.

use std::ffi::{CString, OsStr};
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use haul_select::{Builder, Choice, Purpose, Selection, Within};
use haul_sys::fs::{CWD, Follow, Kind, open_directory};

/// Reports that a test cannot run here. libtest can only ignore tests beforehand, and hides the output of
/// `eprintln` when a test passes; this output is visible.
pub(crate) fn ignored(needs: &str) {
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let mut seen = std::io::stderr();
    writeln!(seen, "ignored: {name} needs {needs}").unwrap();
}

/// Makes a builder whose operands are relative to a directory.
pub(crate) fn builder(here: &Path, purpose: Purpose) -> Builder {
    Builder::new(purpose, here.as_os_str().as_bytes().to_vec())
}

/// Writes a file with its directories.
pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Returns the selected entries of an operand, with a slash behind directories, as rsync names them.
pub(crate) fn selected(selection: Selection, here: &Path, operand: &str) -> Vec<String> {
    let within = Within::operands(&Arc::new(selection));
    let path = CString::new(here.join(operand).as_os_str().as_bytes()).unwrap();
    let mut names = Vec::new();
    if within.choose_operand(CWD, &path, Follow::No).is_excluded() {
        return names;
    }
    let directory = open_directory(CWD, &path, Follow::No).unwrap();
    let prefix = if operand.ends_with('/') { String::new() } else { format!("{operand}/") };
    if !prefix.is_empty() {
        names.push(prefix.clone());
    }
    let inside = within.enter_operand(&path, &directory).unwrap();
    walk(&inside, &here.join(operand), &prefix, &mut names);
    names.sort_unstable();
    names
}

fn walk(within: &Within, path: &Path, prefix: &str, names: &mut Vec<String>) {
    let own = CString::new(path.as_os_str().as_bytes()).unwrap();
    let directory = open_directory(CWD, &own, Follow::No).unwrap();
    for entry in fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        let is_directory = entry.file_type().unwrap().is_dir();
        let kind = if is_directory { Kind::Directory } else { Kind::Regular };
        let name = entry.file_name();
        let c_name = CString::new(name.as_bytes()).unwrap();
        let choice = within.choose(&directory, &c_name, Some(kind), Follow::No);
        if matches!(choice, Choice::Excluded(_)) {
            continue;
        }
        let shown = format!("{prefix}{}", OsStr::to_str(&name).unwrap());
        if is_directory {
            let below = entry.path();
            let opened = open_directory(&directory, &c_name, Follow::No).unwrap();
            let inside = within.enter(&c_name, opened).unwrap();
            walk(&inside, &below, &format!("{shown}/"), names);
            names.push(format!("{shown}/"));
        } else {
            names.push(shown);
        }
    }
}
