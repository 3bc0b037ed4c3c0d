//! Existing names: a second run over the first, and merged trees with every kind of conflict.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use haul_manifest::{Aspects, Limits, create_tree, random_tree};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::support::judge::demand_equal;
use super::support::run::cp;
use super::support::scratch::Scratch;
use super::support::versus::{Versus, Words};
use super::support::volume::volumes;
use super::support::{Outcome, gnu};

/// The kinds of entry that a name can be, on either side.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Nothing,
    File,
    Empty,
    ReadOnly,
    Old,
    Linked,
    Directory,
    ToFile,
    ToDirectory,
    ToNothing,
    Fifo,
}

const KINDS: [Kind; 11] = [
    Kind::Nothing,
    Kind::File,
    Kind::Empty,
    Kind::ReadOnly,
    Kind::Old,
    Kind::Linked,
    Kind::Directory,
    Kind::ToFile,
    Kind::ToDirectory,
    Kind::ToNothing,
    Kind::Fifo,
];

/// Makes one entry; the file that it refers to, or is linked to, is in `aux` and shows what was written
/// through it.
fn make(root: &Path, side: &str, name: &str, kind: Kind) -> Outcome {
    let path = root.join(side).join(name);
    let aux = root.join("aux").join(format!("{side}-{name}"));
    let beside = format!("../aux/{side}-{name}");
    match kind {
        Kind::Nothing => {}
        Kind::File => fs::write(path, format!("{side} {name}"))?,
        Kind::Empty => {
            let file = fs::File::create(&path)?;
            // With -u haul takes an empty file that is newer than its source for unfinished; GNU cp keeps it.
            if side == "t" {
                file.set_modified(std::time::SystemTime::UNIX_EPOCH)?;
            }
        }
        Kind::ReadOnly => {
            fs::write(&path, format!("{side} {name}"))?;
            let mut permissions = fs::metadata(&path)?.permissions();
            permissions.set_readonly(true);
            fs::set_permissions(&path, permissions)?;
        }
        Kind::Old => {
            let file = fs::File::create(&path)?;
            file.set_modified(std::time::SystemTime::UNIX_EPOCH)?;
        }
        Kind::Linked => {
            fs::write(&aux, format!("{side} {name} linked"))?;
            fs::hard_link(&aux, path)?;
        }
        Kind::Directory => {
            fs::create_dir(&path)?;
            fs::write(path.join("inner"), format!("{side} {name}"))?;
            fs::write(path.join(side), "only here")?;
        }
        Kind::ToFile => {
            fs::write(&aux, format!("{side} {name} led to"))?;
            symlink(beside, path)?;
        }
        Kind::ToDirectory => {
            fs::create_dir(&aux)?;
            fs::write(aux.join("inner"), format!("{side} {name} led to"))?;
            symlink(beside, path)?;
        }
        Kind::ToNothing => symlink(beside, path)?,
        Kind::Fifo => mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o644), 0)?,
    }
    Ok(())
}

/// Makes two folders with every combination of kinds under the same names.
fn collisions(root: &Path) -> Outcome {
    for dir in ["s", "t", "aux"] {
        fs::create_dir(root.join(dir))?;
    }
    // GNU waits for a reader of a FIFO in the target; that is a test of its own.
    let targets = KINDS.into_iter().filter(|kind| !matches!(kind, Kind::Fifo));
    for source in KINDS {
        for target in targets.clone() {
            let name = format!("{source:?}-{target:?}");
            make(root, "s", &name, source)?;
            make(root, "t", &name, target)?;
        }
    }
    Ok(())
}

const MERGES: &[&[&str]] = &[
    &["-rT"],
    &["-aT"],
    &["-dRT"],
    &["-rPT"],
    &["-rHT"],
    &["-rfT"],
    &["-afT"],
    &["-rnT"],
    &["-anT"],
    &["-ruT"],
    &["-auT"],
    &["-rT", "--update=none-fail"],
    &["-rT", "--update=all"],
    &["-rT", "--remove-destination"],
    &["-aT", "--remove-destination"],
    &["-rfT", "--remove-destination"],
    &["-rT", "--attributes-only"],
    &["-rlT"],
    &["-rlfT"],
    &["-rlPT"],
    &["-rlPT", "--remove-destination"],
    &["-rvT"],
];

#[test]
fn trees_that_meet_end_as_gnu_leaves_them() -> Outcome {
    let Some(gnu) = gnu::find()? else { return Ok(()) };
    let is_reference = gnu.is_reference;
    let mut versus = Versus::new(gnu, Scratch::new()?);
    for options in MERGES {
        // An older GNU cp does not have these values.
        if !is_reference && options.iter().any(|word| word.starts_with("--update=")) {
            continue;
        }
        let words = [options, ["s", "t"].as_slice()].concat();
        versus.run(&words, Words::Same, &collisions)?;
    }
    versus.end()
}

#[test]
fn a_second_run_over_the_first_leaves_an_equal_tree() -> Outcome {
    for volume in volumes()? {
        let scratch = Scratch::on(&volume)?;
        create_tree(&scratch.at("s"), random_tree(31, &Limits::default()))
            .map_err(|failure| failure.to_string())?;
        for options in [["-aT", "--update=all"], ["-aT", "-f"], ["-aT", "--remove-destination"]] {
            for jobs in ["1", "4"] {
                let call = cp(options).words(["--jobs", jobs, "s", "t"]).in_dir(scratch.path());
                call.succeed()?;
                call.succeed()?;
                let context = format!("{} {options:?} jobs {jobs}", volume.name);
                demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::all(), &context);
                scratch.clear("t")?;
            }
        }
    }
    Ok(())
}

#[test]
fn what_is_up_to_date_is_not_touched() -> Outcome {
    let scratch = Scratch::new()?;
    create_tree(&scratch.at("s"), random_tree(32, &Limits::default()))
        .map_err(|failure| failure.to_string())?;
    cp(["-aT", "s", "t"]).in_dir(scratch.path()).succeed()?;
    for option in ["-u", "-n", "--update=none", "--update=older"] {
        let call = cp(["-aT", option, "--json", "s", "t"]).in_dir(scratch.path());
        let told = call.succeed()?.text();
        let summary = told.lines().last().unwrap_or_default();
        let summary = super::support::schema::parsed("run", summary)?;
        let made = |what: &str| summary[what].as_u64().unwrap_or(u64::MAX);
        let made = made("files") + made("symlinks") + made("specials");
        assert_eq!((made, summary["bytes"].as_u64()), (0, Some(0)), "{option}: {summary}");
        demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::all(), option);
    }
    Ok(())
}

#[test]
fn a_fifo_in_the_target_tree_does_not_block() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("s/a", "a")?;
    scratch.write("s/b", "b")?;
    fs::create_dir(scratch.at("t"))?;
    mknodat(CWD, scratch.at("t/a"), FileType::Fifo, Mode::from_raw_mode(0o644), 0)?;
    let done = cp(["-rT", "s", "t"]).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(1), "{}", done.errors());
    assert!(done.errors().contains("'t/a'"), "{}", done.errors());
    assert_eq!(fs::read(scratch.at("t/b"))?, b"b");
    Ok(())
}

/// GNU 9.7 has the option, but refuses to copy here.
#[test]
fn a_link_to_a_directory_is_followed_when_it_is_to_be_kept() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("s/d/f", "new")?;
    scratch.write("real/old", "old")?;
    fs::create_dir(scratch.at("t"))?;
    symlink("../real", scratch.at("t/d"))?;
    let refused = cp(["-rT", "s", "t"]).in_dir(scratch.path()).run()?;
    assert_eq!(refused.code(), Some(1));
    assert_eq!(refused.errors(), "cp: cannot overwrite non-directory 't/d' with directory 's/d'\n");
    cp(["-rT", "--keep-directory-symlink", "s", "t"]).in_dir(scratch.path()).succeed()?;
    assert_eq!(fs::read(scratch.at("real/f"))?, b"new");
    assert_eq!(fs::read(scratch.at("real/old"))?, b"old");
    assert!(scratch.at("t/d").symlink_metadata()?.is_symlink());
    Ok(())
}

/// A link that cannot be followed is replaced as a link, like any other.
#[test]
fn links_that_cannot_be_followed_are_copied_again() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("s/file", "text")?;
    let long = "n".repeat(300);
    for (name, text) in
        [("through-file", "file/x"), ("long", &long), ("to-link", "through-file"), ("loop", "loop")]
    {
        symlink(text, scratch.at("s").join(name))?;
    }
    cp(["-aT", "s", "t"]).in_dir(scratch.path()).succeed()?;
    for options in [
        &["-aT"][..],
        &["-auT"],
        &["-afT"],
        &["-anT"],
        &["-abT"],
        &["-aT", "--remove-destination"],
        &["-aT", "--atomic"],
        &["-aT", "--resume", "--journal=j"],
    ] {
        let call = || cp(options).words(["s", "t"]).in_dir(scratch.path());
        let foreseen = cp(["--dry-run", "-aT", "s", "t"]).in_dir(scratch.path()).succeed()?;
        assert_eq!(foreseen.errors(), "");
        let done = call().succeed()?;
        assert!(!done.errors().contains("cannot"), "{options:?}: {}", done.errors());
        for backup in ["through-file~", "long~", "to-link~", "loop~", "file~"] {
            scratch.clear(&format!("t/{backup}"))?;
        }
        demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::contents_only(), options[0]);
    }
    // A file would be written through the link.
    scratch.write("f", "new")?;
    let done = cp(["f", "t/through-file"]).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(1));
    assert_eq!(done.errors(), "cp: cannot stat 't/through-file': Not a directory\n");
    Ok(())
}
