//! Random trees: copies by GNU cp are equal, and every change is detected.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use haul_manifest::{
    Aspects, CompareOptions, EntryId, Feature, Kind, Limits, Manifest, ScanOptions, What, compare,
    create_tree, random_tree,
};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::support::{Outcome, Scratch, below, flip_byte};

/// Features that an ordinary user cannot read, excluded when an ordinary user runs the tests.
fn limits() -> Limits {
    let is_root = rustix::process::geteuid().is_root();
    let without = if is_root { Vec::new() } else { vec![Feature::OddMode] };
    Limits { entries: 40, file_bytes: 64 * 1024, without, ..Limits::default() }
}

/// Converts an error of a test to a failed case, which proptest can shrink.
fn case(outcome: Outcome) -> Result<(), TestCaseError> {
    outcome.map_err(|error| TestCaseError::fail(error.to_string()))
}

/// Copies a tree with all attributes by GNU cp, which shares no code with this crate.
fn copied_by_gnu(seed: u64) -> Outcome<Scratch> {
    let scratch = Scratch::new()?;
    create_tree(&scratch.a(), random_tree(seed, &limits()))?;
    let output =
        Command::new("cp").arg("-a").arg("--").arg(scratch.a()).arg(scratch.b()).output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(scratch)
}

fn a_copy_is_equal(seed: u64) -> Outcome {
    let scratch = copied_by_gnu(seed)?;
    // GNU cp copies a hole as zeros if the block of the extended attributes hides it: a file of
    // 4,097 bytes with 4,096 allocated appears to have no hole.
    let options = CompareOptions { block_slack_bytes: 8192, ..CompareOptions::new(Aspects::all()) };
    let comparison = compare(&scratch.a(), &scratch.b(), &options);
    assert_eq!(comparison.findings, []);
    Ok(())
}

#[test]
fn a_file_whose_attributes_make_up_for_its_hole_is_copied_by_gnu() -> Outcome {
    a_copy_is_equal(11_554_347_060_976_616_523)
}

/// Changes one entry of the copy: a byte if it has one, else the mode.
fn a_change_is_found(seed: u64, chosen: usize) -> Outcome {
    let scratch = copied_by_gnu(seed)?;
    let manifest = Manifest::scan(&scratch.b(), &ScanOptions::default());
    assert_eq!(manifest.failures, []);
    let candidates: Vec<usize> = (1..manifest.entries.len())
        .filter(|index| manifest.entries[*index].kind != Kind::Symlink)
        .collect();
    let Some(index) = candidates.get(chosen % candidates.len().max(1)).copied() else {
        return Ok(());
    };
    let entry = &manifest.entries[index];
    let path = below(&scratch.b(), manifest.path_of(EntryId(index)).as_bytes());
    let has_bytes = entry.kind == Kind::Regular && entry.size > 0;
    if has_bytes {
        flip_byte(&path, chosen as u64 % entry.size)?;
    } else {
        std::fs::set_permissions(
            &path,
            std::fs::Permissions::from_mode(u32::from(entry.mode) ^ 0o100),
        )?;
    }
    let comparison = scratch.compare(Aspects::all());
    let label = if has_bytes { "bytes" } else { "mode" };
    let is_expected = |what: &What| what.label() == label;
    assert!(comparison.differences().any(|found| is_expected(&found.what)), "{comparison:?}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_copy_by_gnu_is_equal(seed: u64) {
        case(a_copy_is_equal(seed))?;
    }

    #[test]
    fn no_change_goes_unnoticed(seed: u64, chosen: usize) {
        case(a_change_is_found(seed, chosen))?;
    }

    #[test]
    fn a_plan_follows_from_its_seed_alone(seed: u64) {
        let items = random_tree(seed, &limits());
        prop_assert_eq!(&items, &random_tree(seed, &limits()));
        prop_assert_eq!(items.len(), 40);
    }
}
