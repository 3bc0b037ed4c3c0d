//! Rooms: the folders at the top of a crate, and which of them may use which.
//!
//! A stranger finds the way in a house whose rooms lie in one row: each uses only rooms to its left. The two
//! largest crates have that row in a table; in every crate no room leads back to itself.

use super::circles::{Graph, circles, graphs};
use super::{Check, Finding, Tree};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const CHECK: Check = Check {
    name: "rooms",
    run,
    refused: &[
        ("crates/engine/src/data/request.rs", "//! R.\nuse crate::copy::run::Run;\n"),
        ("crates/engine/src/copy/run.rs", "//! C.\npub(crate) struct Run;\n"),
    ],
};

/// The rooms of a crate from left to right.
const ROWS: &[(&str, &[&str])] = &[
    (
        "crates/engine",
        &[
            "names", "data", "visit", "decide", "metadata", "plan", "journal", "peers", "remove",
            "sync", "copy", "rehearse", "relocate",
        ],
    ),
    (
        "crates/io",
        &[
            "system", "digest", "cache", "method", "verify", "transfer", "file", "stream", "sum",
            "record", "split", "tee",
        ],
    ),
];

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (root, modules) in &graphs(tree) {
        let rooms = by_room(modules);
        match ROWS.iter().find(|(of, _)| of == root) {
            Some((_, row)) => findings.extend(out_of_row(root, row, &rooms)),
            None => findings.extend(circles(root, &rooms, "rooms")),
        }
    }
    findings
}

/// Returns the graph of the first names of modules.
fn by_room(modules: &Graph) -> Graph {
    let room = |module: &str| module.split('/').next().unwrap_or_default().to_owned();
    let mut rooms: BTreeMap<String, BTreeSet<String>> = Graph::new();
    for (module, imports) in modules {
        let own = room(module);
        let others = imports.iter().map(|import| room(import)).filter(|other| *other != own);
        rooms.entry(own.clone()).or_default().extend(others);
    }
    rooms
}

/// Reports each room that is not in the row, and each use of a room further to the right.
fn out_of_row(root: &str, row: &[&str], rooms: &Graph) -> Vec<Finding> {
    let place = |room: &str| row.iter().position(|of| *of == room);
    let mut findings = Vec::new();
    for (room, others) in rooms {
        let path = format!("{root}/src/{room}");
        let Some(own) = place(room) else {
            let what = "is in no row: put it into a room, or add it to the table of the check";
            findings.push(Finding::file(&path, what.to_owned()));
            continue;
        };
        let wrong = others.iter().filter(|other| place(other).is_some_and(|other| other > own));
        findings.extend(wrong.map(|other| {
            Finding::file(
                &path,
                format!("uses {other}, which is to its right: move what both need"),
            )
        }));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(files: &[(&str, &str)]) -> Vec<String> {
        run(&Tree::literal(files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_room_uses_rooms_to_its_left() {
        let names = ("crates/engine/src/names/path.rs", "");
        let data = |text| ("crates/engine/src/data/request.rs", text);
        assert_eq!(shown(&[names, data("use crate::names::path;")]), [""; 0]);
        let files = [("crates/engine/src/names/path.rs", "use crate::data::request;"), data("")];
        assert!(shown(&files)[0].contains("uses data"));
        assert!(shown(&[("crates/io/src/attic.rs", "")])[0].contains("in no row"));
    }

    #[test]
    fn other_crates_have_no_circle_of_rooms() {
        let files = [
            ("crates/sys/src/fs/a.rs", "use crate::data::b;"),
            ("crates/sys/src/fs/c.rs", ""),
            ("crates/sys/src/data/b.rs", ""),
            ("crates/sys/src/data/d.rs", "use crate::fs::c;"),
        ];
        assert!(shown(&files)[0].contains("data -> fs"));
    }
}
