//! What is cached of each file and directory.

use haul_sys::sync::Mutex;
use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

use serde_json::json;

use super::files::{Opened, Reached, Run, Sum, each_file, joined};
use crate::escape::quote_if_needed;
use crate::lossless::name as lossless;
use crate::sizes;

/// Which rows are shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    /// Whether files and directories of which nothing is cached are.
    pub(super) all: bool,
    /// Levels below an operand.
    pub(super) depth_max: usize,
}

/// What a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Directory,
}

struct Row {
    kind: Kind,
    /// Levels below the nearest operand.
    depth: usize,
    sum: Sum,
    /// The device and inode numbers of its files that were reached several times, and count once.
    known: HashSet<(u64, u64)>,
}

impl Row {
    fn new(kind: Kind, depth: usize) -> Row {
        Row { kind, depth, sum: Sum::default(), known: HashSet::new() }
    }

    /// Adds a file, unless it was added before.
    fn add(&mut self, file: &Opened, may_return: bool, sum: Sum) {
        if !may_return || self.known.insert(file.id()) {
            self.sum.add(sum);
        }
    }
}

/// The rows by path. In a key a NUL, which no name has, is in the place of each slash, so that a directory comes
/// before everything below it and nothing else comes between.
type Rows = BTreeMap<Vec<u8>, Row>;

/// Prints a row for each file and directory, and returns the sum of all.
pub(super) fn show(run: &Run<'_>, trees: &[OsString], shown: Shown) -> Sum {
    let found: Mutex<(Rows, Sum)> = Mutex::default();
    let may_overlap = trees.len() > 1;
    each_file(run, (trees, Reached::EachTime), &|_| true, &|file| {
        let sum = Sum::of(&file);
        let mut found = found.lock();
        if !file.is_known {
            found.1.add(sum);
        }
        add(&mut found.0, &file, sum, (shown, may_overlap));
    });
    let (mut rows, total) = found.into_inner();
    for tree in trees {
        // A directory without files has no row yet.
        if std::fs::metadata(tree).is_ok_and(|stat| stat.is_dir()) {
            let path = without_slash(tree.as_bytes());
            rows.entry(key(path)).or_insert_with(|| Row::new(Kind::Directory, 0));
        }
    }
    print(run, &rows, shown);
    total
}

fn key(path: &[u8]) -> Vec<u8> {
    path.iter().map(|byte| if *byte == b'/' { 0 } else { *byte }).collect()
}

/// Returns a path without the slashes at its end, but for the root's own.
fn without_slash(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(1, |last| last + 1);
    &path[..end.min(path.len())]
}

/// Adds a file to the rows of the directories that contain it, and to those of its own.
fn add(rows: &mut Rows, file: &Opened, sum: Sum, (shown, may_overlap): (Shown, bool)) {
    let may_return = may_overlap || file.stat.nlink > 1;
    let mut add = |path: &[u8], kind, depth| {
        if depth <= shown.depth_max {
            let row = rows.entry(key(path)).or_insert_with(|| Row::new(kind, depth));
            row.depth = row.depth.min(depth);
            row.add(file, may_return, sum);
        }
    };
    let has_row = shown.all || sum.cached_bytes > 0 || sum.unknown_files > 0;
    if file.is_operand {
        return add(&file.path, Kind::File, 0);
    }
    let start = file.path.len() - file.below.len();
    add(without_slash(&file.path[..start]), Kind::Directory, 0);
    let slashes = file.below.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let mut depth = 1;
    for (at, _) in slashes {
        add(&file.path[..start + at], Kind::Directory, depth);
        depth += 1;
    }
    if has_row {
        add(&file.path, Kind::File, depth);
    }
}

fn print(run: &Run<'_>, rows: &Rows, shown: Shown) {
    if !run.json && !rows.is_empty() {
        run.output.line(&format!("{:>11} {:>11} {:>11}  NAME", "CACHED", "DIRTY", "SIZE"));
    }
    for (key, Row { kind, depth, sum, .. }) in rows {
        let is_told = sum.cached_bytes > 0 || sum.unknown_files > 0 || *depth == 0;
        if !is_told && !shown.all {
            continue;
        }
        let path: Vec<u8> = key.iter().map(|byte| if *byte == 0 { b'/' } else { *byte }).collect();
        run.tell(
            || {
                let kind = if *kind == Kind::File { "file" } else { "directory" };
                joined(
                    json!({ "event": "entry", "path": lossless(&path), "kind": kind }),
                    sum.json(),
                )
            },
            || {
                let cached = if sum.unknown_files == sum.files && sum.files > 0 {
                    "unknown".to_owned()
                } else {
                    sizes::bytes(sum.cached_bytes)
                };
                let name = quote_if_needed(&path);
                let slash =
                    if *kind == Kind::Directory && !path.ends_with(b"/") { "/" } else { "" };
                let (dirty, size) = (sizes::bytes(sum.dirty_bytes), sizes::bytes(sum.size_bytes));
                format!("{cached:>11} {dirty:>11} {size:>11}  {name}{slash}")
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_at_the_end_are_no_part_of_a_name() {
        let cases: [(&[u8], &[u8]); 5] =
            [(b"a//", b"a"), (b"a/b", b"a/b"), (b"/", b"/"), (b"//", b"/"), (b"", b"")];
        for (path, name) in cases {
            assert_eq!(without_slash(path), name);
        }
    }

    #[test]
    fn a_directory_comes_before_what_is_in_it_and_nothing_between() {
        let mut paths: Vec<&[u8]> = vec![b"a-b", b"a/b", b"a", b"a/a", b"a.c"];
        paths.sort_by_key(|path| key(path));
        assert_eq!(paths, [&b"a"[..], b"a/a", b"a/b", b"a-b", b"a.c"]);
    }
}
