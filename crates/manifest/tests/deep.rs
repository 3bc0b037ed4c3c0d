//! Trees that are deeper than paths and descriptors allow.

use std::process::Command;

use haul_manifest::{
    Action, Aspects, Body, Item, ItemKind, Manifest, ScanOptions, What, create_tree, parse_recipe,
};

use crate::support::{Outcome, Scratch, ignored};

#[test]
fn a_chain_of_20_000_directories() -> Outcome {
    let scratch = Scratch::new()?;
    let recipe = parse_recipe("deep:depth=20000")?;
    for root in [scratch.a(), scratch.b()] {
        let generated = recipe.generate(&root)?;
        assert_eq!((generated.directories, generated.files), (20_001, 1));
    }
    let comparison = scratch.compare(Aspects::all());
    assert_eq!(comparison.findings, []);
    assert_eq!(comparison.summary.entries, 20_002);

    let manifest = Manifest::scan(&scratch.a(), &ScanOptions::default());
    assert_eq!(manifest.failures, []);
    assert_eq!(manifest.entries.len(), 20_002);
    let path = manifest.path_of(haul_manifest::EntryId(20_001));
    assert_eq!(path.as_bytes().len(), 2 * 20_000 + "end".len());
    assert!(manifest.find(path.as_bytes()).is_some());
    Ok(())
}

#[test]
fn a_difference_below_path_max_is_found_and_named() -> Outcome {
    let chain = |last: ItemKind| {
        let directory = |depth| Item::new(depth, "n".repeat(255), ItemKind::Directory);
        let mut items: Vec<Item> = (1..=100).map(directory).collect();
        items.push(Item::new(101, "last", last));
        items.push(Item::new(50, "after", ItemKind::Fifo));
        items
    };
    let scratch = Scratch::new()?;
    create_tree(&scratch.a(), chain(ItemKind::Regular(Body::dense(10, 1))))?;
    create_tree(&scratch.b(), chain(ItemKind::Regular(Body::dense(10, 2))))?;
    let path = format!("{}/last", vec!["n".repeat(255); 100].join("/"));
    scratch.expect_only(&path, &What::Bytes { first_offset: 0 });
    Ok(())
}

#[test]
fn hard_links_below_path_max() -> Outcome {
    let name = "n".repeat(255);
    let mut items: Vec<Item> =
        (1..=30).map(|depth| Item::new(depth, name.as_str(), ItemKind::Directory)).collect();
    items.push(Item::new(31, "first", ItemKind::Regular(Body::dense(10, 1))));
    let first = format!("{}/first", vec![name; 30].join("/"));
    items.push(Item::new(1, "second", ItemKind::HardLink(first.into())));
    let scratch = Scratch::twins(&items)?;
    let comparison = scratch.compare(Aspects::all());
    assert_eq!(comparison.findings, []);
    assert_eq!(comparison.summary.bytes, 10);
    Ok(())
}

/// Runs the deep chain again in a process that may open only twenty files at a time.
#[test]
fn twenty_descriptors_are_enough() -> Outcome {
    let mut command = Command::new("prlimit");
    command.arg("--nofile=20").arg(std::env::current_exe()?);
    command.args(["--exact", "deep::a_chain_of_20_000_directories", "--test-threads=1"]);
    match command.output() {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && text.contains("1 passed"), "{text}");
        }
        Err(_) => ignored("prlimit")?,
    }
    Ok(())
}

#[test]
fn an_item_that_skips_a_level_is_refused() -> Outcome {
    let scratch = Scratch::new()?;
    let result = create_tree(&scratch.a(), [Item::new(2, "orphan", ItemKind::Fifo)]);
    let failure = result.err().ok_or("it was created")?;
    assert_eq!(failure.action, Action::Create);
    assert_eq!(failure.to_string(), "orphan: cannot create: Invalid argument (os error 22)");
    Ok(())
}
