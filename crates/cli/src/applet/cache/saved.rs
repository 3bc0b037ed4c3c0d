//! Saving what is cached of a tree, and reading it again.

use haul_sys::sync::Mutex;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::slice::from_ref;

use haul_io::residency::present;
use serde_json::json;

use super::files::{Reached, Run, Sum, each_file};
use super::list::{BEGINNING, List, Listed, parse, text};
use super::warm::{Reading, Warmed};
use crate::escape::quote;
use crate::file_error::describe;
use crate::lossless::name as lossless;
use crate::whole_file::WholeFile;

/// Writes the cached ranges of a tree to a file, and returns the sum of the tree. Fails with a message.
pub(super) fn save(run: &Run<'_>, file: &OsStr, tree: &OsString) -> Result<Sum, String> {
    let target = WholeFile::begin(file, "list of cached ranges", BEGINNING)?;
    let found: Mutex<(List, Sum)> = Mutex::default();
    each_file(run, (from_ref(tree), Reached::Once), &|_| true, &|file| {
        let sum = Sum::of(&file);
        let ranges = present(file.asked(), 0..file.stat.size).unwrap_or_default();
        let mut found = found.lock();
        found.1.add(sum);
        if !ranges.is_empty() {
            let listed = Listed { size_bytes: file.stat.size, mtime: file.stat.mtime, ranges };
            found.0.insert(file.below, listed);
        }
    });
    let (list, sum) = found.into_inner();
    target.write(&text(&list))?;
    Ok(sum)
}

/// Reads the ranges of a list again, as far as they are those of files that did not change, but no more than `limit`
/// bytes. Returns what was read and how many files were skipped. Fails with a message.
pub(super) fn restore(
    run: &Run<'_>,
    file: &OsStr,
    tree: &OsString,
    limit: u64,
) -> Result<(Warmed, u64), String> {
    let shown = quote(file.as_bytes());
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("cannot read {shown}: {}", describe(&error)))?;
    let list = parse(&text).map_err(|why| format!("cannot restore from {shown}: {why}"))?;
    let reading = Reading::new(run, limit);
    // Names of the list that the tree has, and how many of them have changed.
    let met: Mutex<(HashSet<Vec<u8>>, u64)> = Mutex::default();
    let warmed = reading.shown(|| {
        let wants = |below: &[u8]| list.contains_key(below);
        each_file(run, (from_ref(tree), Reached::Once), &wants, &|file| {
            let Some(listed) = list.get(&file.below) else { return };
            let is_same = file.stat.size == listed.size_bytes && file.stat.mtime == listed.mtime;
            let mut met = met.lock();
            met.0.insert(file.below.clone());
            if is_same {
                drop(met);
                let size = file.stat.size;
                let cut = listed.ranges.iter().map(|range| range.start..range.end.min(size));
                let ranges: Vec<_> = cut.filter(|range| !range.is_empty()).collect();
                reading.take(file, &ranges);
            } else {
                met.1 += 1;
                skip(run, &file.below, "changed");
            }
        });
    });
    let (met, changed) = met.into_inner();
    let missing = list.keys().filter(|name| !met.contains(*name));
    let missing = missing.inspect(|name| skip(run, name, "missing")).count() as u64;
    Ok((warmed, changed + missing))
}

fn skip(run: &Run<'_>, name: &[u8], why: &str) {
    run.tell(
        || json!({ "event": "skipped", "path": lossless(name), "why": why }),
        || format!("skipped: {}: {why}", quote(name)),
    );
}
