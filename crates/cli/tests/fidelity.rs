//! A copy is equal to its source, on every file system and between them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use haul_manifest::{Aspect, Aspects, Feature, Limits, create_tree, random_tree};
use proptest::prelude::{ProptestConfig, any, prop_assert, proptest};

use super::support::judge::{compared, demand_equal, shown, snapshot};
use super::support::run::{Call, cp};
use super::support::scratch::Scratch;
use super::support::versus::is_quirk;
use super::support::volume::{pairs, volumes};
use super::support::{Outcome, gnu};

/// Makes a random tree at a path.
fn plant(scratch: &Scratch, name: &str, seed: u64, limits: &Limits) -> Outcome {
    create_tree(&scratch.at(name), random_tree(seed, limits)).map_err(|f| f.to_string())?;
    Ok(())
}

fn without(features: &[Feature]) -> Limits {
    Limits { without: features.to_vec(), ..Limits::default() }
}

#[test]
fn an_archive_copy_is_equal_in_everything_on_every_file_system() -> Outcome {
    for volume in volumes()? {
        let scratch = Scratch::on(&volume)?;
        for seed in 0..6 {
            plant(&scratch, "s", seed, &Limits::default())?;
            let before = snapshot(&scratch.at("s"));
            for jobs in ["1", "2", "8"] {
                let context = format!("{} seed {seed} jobs {jobs}", volume.name);
                cp(["-a", "--jobs", jobs, "s", "t"]).in_dir(scratch.path()).succeed()?;
                demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::all(), &context);
                scratch.clear("t")?;
            }
            assert!(before == snapshot(&scratch.at("s")), "{}: source changed", volume.name);
            scratch.clear("s")?;
        }
    }
    Ok(())
}

/// A file system clamps times that it cannot hold, so the test makes none.
#[test]
fn an_archive_copy_is_equal_in_everything_between_file_systems() -> Outcome {
    for (from, to) in pairs()? {
        let (source, target) = (Scratch::on(&from)?, Scratch::on(&to)?);
        for seed in 10..14 {
            let context = format!("{} to {} seed {seed}", from.name, to.name);
            plant(&source, "s", seed, &without(&[Feature::OddTime]))?;
            let call = cp(["-a"]).word(source.at("s")).word(target.at("t"));
            call.succeed()?;
            // XFS preallocates after every write that extends a file, and leaves that in holes.
            let aspects =
                if to.name.starts_with("xfs") { Aspects::preserved() } else { Aspects::all() };
            demand_equal(&source.at("s"), &target.at("t"), aspects, &context);
            source.clear("s")?;
            target.clear("t")?;
        }
    }
    Ok(())
}

#[test]
fn options_for_data_change_nothing_but_the_allocation() -> Outcome {
    for volume in volumes()? {
        let scratch = Scratch::on(&volume)?;
        plant(&scratch, "s", 77, &Limits { file_bytes: 2 << 20, ..Limits::default() })?;
        for option in ["--reflink=never", "--reflink=auto", "--sparse=always", "--sparse=never"] {
            let context = format!("{} {option}", volume.name);
            cp(["-a", option, "s", "t"]).in_dir(scratch.path()).succeed()?;
            demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), &context);
            scratch.clear("t")?;
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_small_tree_is_copied_faithfully(seed in any::<u64>(), entries in 1_u64..25) {
        let copied = || -> Outcome<String> {
            let scratch = Scratch::new()?;
            plant(&scratch, "s", seed, &Limits { entries, ..Limits::default() })?;
            cp(["-a", "s", "t"]).in_dir(scratch.path()).succeed()?;
            let comparison = compared(&scratch.at("s"), &scratch.at("t"), Aspects::all());
            Ok(if comparison.is_equal() { String::new() } else { shown(&comparison) })
        };
        let differences = copied().map_err(|error| {
            proptest::test_runner::TestCaseError::fail(error.to_string())
        })?;
        prop_assert!(differences.is_empty(), "{}", differences);
    }
}

/// The options whose effect on a tree is compared with GNU's.
const VARIANTS: &[&[&str]] = &[
    &["-r"],
    &["-rL"],
    &["-rH"],
    &["-rP"],
    &["-rd"],
    &["-dR", "--preserve=mode"],
    &["-rp"],
    &["-rLp"],
    &["-r", "--preserve=mode"],
    &["-r", "--preserve=ownership"],
    &["-r", "--preserve=timestamps"],
    &["-r", "--preserve=links"],
    &["-r", "--preserve=xattr"],
    &["-r", "--preserve=all"],
    &["-r", "--preserve=mode,links,xattr"],
    &["-a", "--no-preserve=mode"],
    &["-a", "--no-preserve=ownership"],
    &["-a", "--no-preserve=timestamps,links"],
    &["-a", "--no-preserve=xattr"],
    &["-a", "--no-preserve=all"],
    &["-a", "--attributes-only"],
    &["-aL"],
    &["-rl"],
    &["-alP"],
];

/// Returns the aspects compared with GNU: all, but times only if they are preserved.
fn comparable(options: &[&str]) -> Aspects {
    let all = options.join(" ");
    let keeps_times = (all.contains("-a") || all.contains("-rp") || all.contains("-rLp"))
        || all.contains("timestamps")
        || all.contains("=all");
    let drops_times = all.contains("--no-preserve=timestamps") || all.contains("no-preserve=all");
    let aspects = Aspects::preserved();
    if keeps_times && !drops_times { aspects } else { aspects.without(Aspect::Mtime) }
}

/// Adds symbolic links to a tree without any: to files, to a directory, dangling, but none to an ancestor,
/// because GNU follows those until the path is too long.
fn plant_links(root: &Path) -> Outcome {
    fs::create_dir(root.join("zz"))?;
    fs::write(root.join("zz/file"), "linked to")?;
    symlink("zz", root.join("to-directory"))?;
    symlink("zz/file", root.join("to-file"))?;
    symlink("file", root.join("zz/to-sibling"))?;
    symlink("nowhere", root.join("zz/to-nothing"))?;
    symlink("to-directory/to-sibling", root.join("to-link"))?;
    Ok(())
}

#[test]
fn every_combination_of_options_makes_the_tree_that_gnu_makes() -> Outcome {
    let Some(gnu) = gnu::find()? else { return Ok(()) };
    let scratch = Scratch::new()?;
    let mut wrong = Vec::new();
    for seed in 200..206 {
        plant(&scratch, "s", seed, &without(&[Feature::OddTime]))?;
        plant(&scratch, "links", seed, &without(&[Feature::OddTime, Feature::Symlink]))?;
        plant_links(&scratch.at("links"))?;
        for options in VARIANTS {
            let follows = options[0].contains('L') || options[0] == "-rl";
            let source = if follows { "links" } else { "s" };
            let run = |call: Call, target| {
                call.words(*options).words([source, target]).in_dir(scratch.path()).run()
            };
            let (ours, theirs) = (run(cp([""; 0]), "h")?, run(gnu.cp(), "g")?);
            let root = scratch.at("g");
            let trees = compared(&root, &scratch.at("h"), comparable(options));
            let is_equal = trees.differences().all(|difference| is_quirk(&root, difference))
                && trees.summary.failures == 0;
            if ours.code() != theirs.code() || !is_equal {
                let (errors, others) = (ours.errors(), theirs.errors());
                let trees = shown(&trees);
                wrong.push(format!("seed {seed} {options:?}\n{trees}\n{errors}GNU: {others}"));
            }
            scratch.clear("g")?;
            scratch.clear("h")?;
        }
        scratch.clear("s")?;
        scratch.clear("links")?;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
