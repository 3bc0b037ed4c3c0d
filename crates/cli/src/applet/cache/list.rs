//! The list of cached ranges that `save` writes and `restore` reads: JSON lines, see `docs/schema/cache-list.json`.
//!
//! A list is a hint about a tree that may have changed, from a file that anyone may have written: names select files
//! that were found in the tree, and ranges are cut to the sizes of these.

use std::collections::BTreeMap;
use std::ops::Range;

use haul_sys::fs::Time;
use serde_json::{Value, json};

use crate::lossless::{bytes, name as lossless};

/// The format's version; a list of another one is refused.
const VERSION: u64 = 1;

/// How every list begins; serde_json sorts the keys of an object.
pub(super) const BEGINNING: &str = r#"{"event":"cache","#;

/// What was cached of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) size_bytes: u64,
    pub(super) mtime: Time,
    /// In rising order.
    pub(super) ranges: Vec<Range<u64>>,
}

/// Files by their paths below the tree.
pub(super) type List = BTreeMap<Vec<u8>, Listed>;

/// Returns a list as text.
pub(super) fn text(list: &List) -> String {
    let begin = json!({ "event": "cache", "version": VERSION });
    let end = json!({ "event": "end", "files": list.len() });
    let lines = list.iter().map(|(path, listed)| {
        let ranges: Vec<[u64; 2]> =
            listed.ranges.iter().map(|range| [range.start, range.end]).collect();
        json!({
            "event": "file",
            "path": lossless(path),
            "size_bytes": listed.size_bytes,
            "mtime_seconds": listed.mtime.seconds,
            "mtime_nanoseconds": listed.mtime.nanoseconds,
            "ranges": ranges,
        })
    });
    let all = [begin].into_iter().chain(lines).chain([end]);
    all.map(|line| format!("{}\n", haul_manifest::safe_json(line.to_string()))).collect()
}

/// Reads a list. Fails with what is wrong with it.
pub(super) fn parse(text: &str) -> Result<List, String> {
    if !text.starts_with(BEGINNING) {
        return Err("it was not written by 'haul cache save'".to_owned());
    }
    let (mut list, mut files, mut is_complete) = (List::new(), 0, false);
    for (line, number) in text.lines().zip(1..) {
        let wrong = || format!("line {number} is malformed");
        let value: Value = serde_json::from_str(line).map_err(|_| wrong())?;
        if is_complete {
            return Err(format!("line {number} comes after its end"));
        }
        match value["event"].as_str() {
            Some("cache") if value["version"] == VERSION => {}
            Some("cache") => {
                return Err(format!(
                    "it has version {} of the format, not {VERSION}",
                    value["version"]
                ));
            }
            Some("file") => {
                let (path, listed) = file(&value).ok_or_else(wrong)?;
                if list.insert(path, listed).is_some() {
                    return Err(format!("line {number} names a file again"));
                }
                files += 1;
            }
            Some("end") => {
                // A list that lost lines in the middle ends like a whole one.
                if value["files"] != files {
                    return Err(format!(
                        "it has {files} files, not {} as its end says",
                        value["files"]
                    ));
                }
                is_complete = true;
            }
            _ => return Err(wrong()),
        }
    }
    if is_complete { Ok(list) } else { Err("its end is missing".to_owned()) }
}

fn file(value: &Value) -> Option<(Vec<u8>, Listed)> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for range in value["ranges"].as_array()? {
        let [start, end] = range.as_array()?.as_slice() else { return None };
        let range = start.as_u64()?..end.as_u64()?;
        if range.is_empty() || ranges.last().is_some_and(|last| last.end > range.start) {
            return None;
        }
        ranges.push(range);
    }
    let mtime = Time {
        seconds: value["mtime_seconds"].as_i64()?,
        nanoseconds: u32::try_from(value["mtime_nanoseconds"].as_u64()?).ok()?,
    };
    Some((
        bytes(&value["path"])?,
        Listed { size_bytes: value["size_bytes"].as_u64()?, mtime, ranges },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> List {
        let listed = Listed {
            size_bytes: 9000,
            mtime: Time { seconds: -5, nanoseconds: 7 },
            ranges: vec![0..4096, 8192..12288],
        };
        List::from([(b"a/b\xff\n".to_vec(), listed.clone()), (b"c".to_vec(), listed)])
    }

    #[test]
    fn a_list_is_read_as_it_was_written() {
        assert_eq!(parse(&text(&sample())), Ok(sample()));
        assert_eq!(parse(&text(&List::new())), Ok(List::new()));
    }

    #[test]
    fn other_files_and_damaged_lists_are_refused() {
        let good = text(&sample());
        let lines: Vec<&str> = good.lines().collect();
        for (what, bad) in [
            ("no list", "hello\n".to_owned()),
            ("another version", good.replace("\"version\":1", "\"version\":2")),
            ("no end", lines[..lines.len() - 1].join("\n")),
            ("a file that is missing", [lines[0], lines[2], lines[3]].join("\n")),
            ("a file too many", [lines[0], lines[1], lines[1], lines[2], lines[3]].join("\n")),
            ("an end without a count", good.replace("\"files\":2", "\"file\":2")),
            ("files after the end", [lines[0], lines[1], lines[2], lines[3], lines[1]].join("\n")),
            ("a cut line", good[..good.len() - 30].to_owned()),
            ("an event that is not known", good.replace("\"file\"", "\"fly\"")),
            ("ranges that overlap", good.replace("[8192,", "[4000,")),
            ("an empty range", good.replace("[0,4096]", "[0,0]")),
            ("a range without an end", good.replace("[0,4096]", "[0]")),
        ] {
            assert_ne!(good, bad, "{what}");
            assert!(parse(&bad).is_err(), "{what}");
        }
    }
}
