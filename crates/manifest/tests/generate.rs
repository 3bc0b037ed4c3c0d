//! The same seed gives the same tree, and the tree matches the recipe.

use std::collections::HashSet;

use haul_manifest::{
    Aspects, CompareOptions, Item, ItemKind, Kind, Manifest, Recipe, ScanOptions, compare,
    create_tree, parse_recipe,
};

use crate::support::{Outcome, Scratch};

const RECIPES: [&str; 8] = [
    "flat:files=100,size=1000",
    "nested:files=107,dirs=10,size=100",
    "nested:files=53,dirs=10,parents=3,size=100",
    "nested:files=5,dirs=3,parents=40,size=100",
    "mixed:files=400,median=500,cap=20K,seed=3",
    "deep:depth=50,name=200",
    "sparse:size=10M,segments=3,data=5000",
    "random:entries=200,seed=11",
];

fn made_twice(text: &str) -> Outcome<Scratch> {
    let recipe = parse_recipe(text)?;
    let scratch = Scratch::new()?;
    let first = recipe.generate(&scratch.a())?;
    assert_eq!(first, recipe.generate(&scratch.b())?);
    Ok(scratch)
}

#[test]
fn the_same_seed_gives_equal_trees() -> Outcome {
    for text in RECIPES {
        let scratch = made_twice(text)?;
        let comparison = scratch.compare(Aspects::all());
        assert_eq!(comparison.differences().count(), 0, "{text}");
        // An ordinary user may not read every directory of a random tree.
        if rustix::process::geteuid().is_root() {
            assert_eq!(comparison.findings, [], "{text}");
        }
    }
    Ok(())
}

#[test]
fn another_seed_gives_another_tree() -> Outcome {
    for text in RECIPES {
        let recipe = parse_recipe(text)?;
        let other = Recipe { seed: recipe.seed + 1, ..recipe };
        let scratch = Scratch::new()?;
        recipe.generate(&scratch.a())?;
        other.generate(&scratch.b())?;
        let comparison = scratch.compare(Aspects::contents_only());
        assert!(comparison.summary.total_differences() > 0, "{text}");
    }
    Ok(())
}

#[test]
fn flat_and_nested_have_what_was_asked_for() -> Outcome {
    for (text, files, directories, bytes) in
        [(RECIPES[0], 100, 1, 100_000), (RECIPES[1], 107, 11, 10_700)]
    {
        let scratch = made_twice(text)?;
        let totals = Manifest::scan(&scratch.a(), &ScanOptions::default()).totals();
        assert_eq!((totals.files, totals.directories, totals.bytes), (files, directories, bytes));
    }
    Ok(())
}

#[test]
fn mixed_has_links_odd_names_and_a_cap() -> Outcome {
    let items: Vec<Item> = parse_recipe("mixed:files=5000,median=500,cap=20K")?.items().collect();
    let count =
        |wanted: fn(&ItemKind) -> bool| items.iter().filter(|item| wanted(&item.kind)).count();
    let hard = count(|kind| matches!(kind, ItemKind::HardLink(_)));
    let files = count(|kind| matches!(kind, ItemKind::Regular(_)));
    assert_eq!(hard + files, 5000);
    assert!((50..200).contains(&hard), "{hard}");
    let symlinks = count(|kind| matches!(kind, ItemKind::Symlink(_)));
    assert!((100..200).contains(&symlinks), "{symlinks}");
    assert!(items.iter().any(|item| std::str::from_utf8(item.name.as_bytes()).is_err()));
    assert!(items.iter().any(|item| item.depth > 3));
    let largest = items.iter().filter_map(|item| match &item.kind {
        ItemKind::Regular(body) => Some(body.size),
        _ => None,
    });
    assert_eq!(largest.max(), Some(20 * 1024));
    Ok(())
}

#[test]
fn contents_do_not_repeat() -> Outcome {
    // A copier that exchanges two blocks must be detected.
    let scratch = made_twice("sparse:size=1M,segments=4,data=64K")?;
    let content = std::fs::read(scratch.a().join("sparse"))?;
    let words: Vec<&[u8]> = content.chunks(8).filter(|word| **word != [0; 8]).collect();
    assert_eq!(words.len(), 4 * 65_536 / 8);
    assert_eq!(words.iter().collect::<HashSet<_>>().len(), words.len());
    Ok(())
}

#[test]
fn sparse_files_have_the_holes_that_were_asked_for() -> Outcome {
    let scratch = made_twice("sparse:size=10M,segments=3,data=4K")?;
    let options = ScanOptions { segments: true, ..ScanOptions::default() };
    let manifest = Manifest::scan(&scratch.a(), &options);
    let entry = manifest.find(b"sparse").ok_or("it is missing")?;
    assert_eq!(entry.size, 10 << 20);
    let segments = entry.segments.as_deref().unwrap_or_default();
    assert_eq!(segments.len(), 3, "{segments:?}");
    assert_eq!(segments.iter().map(|segment| segment.length).sum::<u64>(), 3 * 4096);
    assert_eq!(segments[2].offset + segments[2].length, 10 << 20);
    Ok(())
}

#[test]
fn a_random_tree_has_every_kind() -> Outcome {
    let scratch = Scratch::new()?;
    let generated = parse_recipe("random:entries=600,seed=1")?.generate(&scratch.a())?;
    let manifest = Manifest::scan(&scratch.a(), &ScanOptions::default());
    let kinds: HashSet<Kind> = manifest.entries.iter().map(|entry| entry.kind).collect();
    for kind in [Kind::Regular, Kind::Directory, Kind::Symlink, Kind::Fifo, Kind::Socket] {
        assert!(kinds.contains(&kind), "{kind}");
    }
    if rustix::process::geteuid().is_root() {
        assert_eq!(manifest.failures, []);
        assert_eq!(manifest.entries.len() as u64, generated.entries);
        for kind in [Kind::CharDevice, Kind::BlockDevice] {
            assert!(kinds.contains(&kind), "{kind}");
        }
    }
    Ok(())
}

#[test]
fn the_umask_does_not_matter() -> Outcome {
    let run = |umask: &str, root: &std::path::Path| -> Outcome {
        // The umask belongs to the process, so another process creates the tree.
        let script = format!("umask {umask}; exec \"$0\" --exact generate::make_at --nocapture");
        let status = std::process::Command::new("sh")
            .args(["-c", &script])
            .arg(std::env::current_exe()?)
            .env("HAUL_MANIFEST_TEST_ROOT", root)
            .stdout(std::process::Stdio::null())
            .status()?;
        assert!(status.success());
        Ok(())
    };
    let scratch = Scratch::new()?;
    run("077", &scratch.a())?;
    run("000", &scratch.b())?;
    let options = CompareOptions::new(Aspects::all());
    let comparison = compare(&scratch.a(), &scratch.b(), &options);
    assert_eq!(comparison.findings, []);
    assert!(comparison.summary.entries > 60);
    Ok(())
}

/// Creates a tree for the test above; does nothing otherwise.
#[test]
fn make_at() -> Outcome {
    if let Some(root) = std::env::var_os("HAUL_MANIFEST_TEST_ROOT") {
        let items: Vec<Item> = RECIPES
            .iter()
            .filter_map(|text| parse_recipe(text).ok())
            .find(|recipe| matches!(recipe.shape, haul_manifest::Shape::Nested { .. }))
            .into_iter()
            .flat_map(|recipe| recipe.items())
            .collect();
        create_tree(root.as_ref(), items)?;
    }
    Ok(())
}
