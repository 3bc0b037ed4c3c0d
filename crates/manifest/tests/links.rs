//! Hard links: split, merged, regrouped, and links from outside the tree.

use std::fs;

use haul_manifest::Manifest;
use haul_manifest::{Aspect, Aspects, Body, Item, ItemKind, RawText, ScanOptions, What};

use crate::support::{Outcome, Scratch, keeping_times};

/// Two groups: three names over three directories, and two names in one.
fn items() -> Vec<Item> {
    let hard =
        |depth, name: &str, first: &str| Item::new(depth, name, ItemKind::HardLink(first.into()));
    vec![
        Item::new(1, "p", ItemKind::Regular(Body::dense(100, 1))),
        Item::new(1, "q", ItemKind::Regular(Body::dense(100, 1))),
        hard(1, "q2", "q"),
        Item::new(1, "dir", ItemKind::Directory),
        hard(2, "p2", "p"),
        Item::new(2, "sub", ItemKind::Directory),
        hard(3, "p3", "dir/p2"),
    ]
}

/// Makes `path` of B a name of `target` instead, or of a copy of it.
fn replace(scratch: &Scratch, path: &str, target: &str, link: bool) -> Outcome {
    let target = scratch.b().join(target);
    keeping_times(&scratch.b().join(path), |path| {
        let content = fs::read(path)?;
        fs::remove_file(path)?;
        if link { Ok(fs::hard_link(&target, path)?) } else { Ok(fs::write(path, content)?) }
    })
}

fn link_groups(scratch: &Scratch) -> Vec<String> {
    let comparison = scratch.compare(Aspects::all());
    assert!(comparison.differences().all(|found| matches!(found.what, What::LinkGroup { .. })));
    comparison.differences().map(ToString::to_string).collect()
}

#[test]
fn equal_groups_are_equal_and_read_once() -> Outcome {
    let scratch = Scratch::twins(&items())?;
    let comparison = scratch.compare(Aspects::all());
    assert_eq!(comparison.findings, []);
    assert_eq!(comparison.summary.entries, 8);
    assert_eq!(comparison.summary.bytes, 200);
    Ok(())
}

#[test]
fn a_split_link() -> Outcome {
    let scratch = Scratch::twins(&items())?;
    replace(&scratch, "q2", "q", false)?;
    assert_eq!(link_groups(&scratch), ["q2: linked to q in A, by itself in B"]);
    let without = Aspects::all().without(Aspect::Links);
    assert_eq!(scratch.compare(without).findings, []);
    Ok(())
}

#[test]
fn the_last_of_three_is_split_off() -> Outcome {
    let scratch = Scratch::twins(&items())?;
    replace(&scratch, "dir/sub/p3", "p", false)?;
    assert_eq!(link_groups(&scratch), ["dir/sub/p3: linked to p in A, by itself in B"]);
    Ok(())
}

#[test]
fn two_groups_are_merged() -> Outcome {
    let scratch = Scratch::twins(&items())?;
    replace(&scratch, "q2", "p", true)?;
    assert_eq!(link_groups(&scratch), ["q2: linked to q in A, linked to p in B"]);
    replace(&scratch, "q", "p", true)?;
    assert_eq!(
        link_groups(&scratch),
        ["q: by itself in A, linked to p in B", "q2: linked to q in A, linked to p in B"]
    );
    Ok(())
}

#[test]
fn links_that_lead_out_of_the_tree_do_not_count() -> Outcome {
    let items = [Item::new(1, "p", ItemKind::Regular(Body::dense(100, 1)))];
    let scratch = Scratch::twins(&items)?;
    let outside = scratch.a().with_file_name("outside");
    fs::hard_link(scratch.a().join("p"), outside)?;
    assert_eq!(scratch.compare(Aspects::all()).findings, []);
    Ok(())
}

#[test]
fn a_scan_numbers_the_groups() -> Outcome {
    let scratch = Scratch::twins(&items())?;
    let manifest = Manifest::scan(&scratch.a(), &ScanOptions::default());
    let group = |path: &str| manifest.find(path.as_bytes()).and_then(|entry| entry.link_group);
    assert!(group("p").is_some() && group("q").is_some());
    assert_ne!(group("p"), group("q"));
    assert_eq!([group("dir/p2"), group("dir/sub/p3")], [group("p"); 2]);
    assert_eq!(group("q2"), group("q"));
    assert_eq!(group("dir"), None);
    let totals = manifest.totals();
    assert_eq!((totals.entries, totals.files, totals.directories, totals.bytes), (8, 5, 3, 200));
    let names: Vec<RawText> =
        (0..8).map(|id| manifest.path_of(haul_manifest::EntryId(id))).collect();
    let expected = ["", "dir", "p", "q", "q2", "dir/p2", "dir/sub", "dir/sub/p3"];
    assert_eq!(names, expected.map(RawText::from));
    Ok(())
}
