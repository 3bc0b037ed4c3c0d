//! `haul sync --link-dest` and its siblings: what another directory has already, such as an earlier snapshot.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};

use super::support::run::Call;
use super::support::scratch::Scratch;
use super::support::shell::demand;
use super::support::{Outcome, has};
use super::sync_lines::{BASE, Row, demand_rows, itemized, row, sync};

const SNAPSHOTS: &[Row] = &[
    row("mv t o", "-a --link-dest=../o", &[]),
    row("mv t o", "-a --copy-dest=../o", &[]),
    row("mv t o", "-a --compare-dest=../o", &[]),
    row(
        "mv t o",
        "-ai --link-dest=../o",
        &[
            "cd          ./",
            "hf          a",
            "hf          c",
            "hL          l -> a",
            "hS          p",
            "cd          d/",
            "cd          e/",
            "hf          d/b",
        ],
    ),
    row(
        "mv t o",
        "-ai --copy-dest=../o",
        &[
            "cd          ./",
            "cf          a",
            "cf          c",
            "cL          l -> a",
            "cS          p",
            "cd          d/",
            "cd          e/",
            "cf          d/b",
        ],
    ),
    row(
        "mv t o",
        "-ai --compare-dest=../o",
        &[
            "cd          ./",
            ".f          a",
            ".f          c",
            ".L          l -> a",
            ".S          p",
            "cd          d/",
            "cd          e/",
            ".f          d/b",
        ],
    ),
    // What differs there: attributes alone, the time, the bytes, the kind.
    row(
        "mv t o; chmod 600 o/a; older o/c; echo longer >o/d/b; chmod 700 o/d",
        "-a --link-dest=../o",
        &["cf...p..... a", ">f..t...... c", "cd...p..... d/", ">f.st...... d/b"],
    ),
    row(
        "mv t o; chmod 600 o/a; older o/c; old o",
        "-a --copy-dest=../o",
        &["cf...p..... a", ">f..t...... c"],
    ),
    row(
        "mv t o; chmod 600 o/a; older o/c; rm o/d/b; mkdir o/d/b; old o o/d",
        "-a --compare-dest=../o",
        &["cf...p..... a", ">f..t...... c", ">f+++++++++ d/b"],
    ),
    row("mv t o", "-aI --link-dest=../o", &[">f......... a", ">f......... c", ">f......... d/b"]),
    row("mv t o; echo AA >o/a; old o/a", "-ac --link-dest=../o", &[">fc........ a"]),
    // A file that the target has becomes a link as well, or goes; links and FIFOs stay.
    row("cp -a t o", "-a --link-dest=../o", &[]),
    row(
        "cp -a t o; older t/a t/l",
        "-ai --link-dest=../o",
        &[
            ".d          ./",
            "hf          a",
            "hf          c",
            ".L..t...... l -> a",
            ".S          p",
            ".d          d/",
            ".d          e/",
            "hf          d/b",
        ],
    ),
    row("cp -a t o; newer t/a", "-au --link-dest=../o", &[]),
    row("cp -a t o; older t/a", "-a --ignore-existing --link-dest=../o", &[]),
    row("cp -a t o; older t/a", "-a --copy-dest=../o", &[">f..t...... a"]),
    row("cp -a t o; older o/a; echo longer >t/a", "-a --link-dest=../o", &[">f.st...... a"]),
    // The first directory that has everything counts, and else the one that fits best.
    row(
        "cp -a t o; mv t n; older n/a; chmod 600 o/c; rm n/d/b; old n/d",
        "-a --link-dest=../n --link-dest=../o",
        &[],
    ),
    row(
        "mkdir o; cp -a t n; rm -r t; echo longer >n/a",
        "-a --compare-dest=../o --compare-dest=../n",
        &[">f.st...... a"],
    ),
    // Names of one file.
    row("ln s/a s/y; rm -r t; cp -a s o; old s o", "-aH --link-dest=../o", &[]),
    row("mv t o; rm s/l; ln -s q s/l; old s/l s", "-a --link-dest=../o", &["cLc........ l -> q"]),
];

#[test]
fn what_another_directory_has_is_linked_copied_or_left_out() -> Outcome {
    demand_rows(SNAPSHOTS)
}

/// Makes the trees of [`BASE`] with a change.
fn trees(edit: &str) -> Outcome<Scratch> {
    let scratch = Scratch::new()?;
    demand(scratch.path(), &format!("{BASE}\n{edit}"))?;
    Ok(scratch)
}

fn inode(scratch: &Scratch, path: &str) -> Outcome<u64> {
    Ok(fs::symlink_metadata(scratch.at(path))?.ino())
}

/// With -H, files that the source has twice are two files, also where the snapshot has one with two names.
#[test]
fn names_of_one_file_in_a_snapshot_are_not_those_of_two() -> Outcome {
    let scratch = trees("cp -p s/a s/y; mv t o; ln o/a o/y; old s o")?;
    let done = sync(["-aH", "--link-dest=../o", "s/", "t"]).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(0), "{done:?}");
    let (one, other) = (inode(&scratch, "t/a")?, inode(&scratch, "t/y")?);
    assert!(one != other && [one, other].contains(&inode(&scratch, "o/a")?));
    assert_eq!(fs::read_to_string(scratch.at("t/y"))?, "aa\n");
    Ok(())
}

/// Many workers make a snapshot of many directories at once, from a link to the latest one.
#[test]
fn a_snapshot_by_many_workers_shares_every_file() -> Outcome {
    let scratch = trees(
        "rm -r t; for i in $(seq 60); do mkdir s/m$i; for j in 1 2 3; do echo $i$j >s/m$i/$j; done; done;
         ln s/m1/1 s/m2/one; find s -exec touch -hd @1600000000 {} +; cp -a s monday; ln -s monday latest",
    )?;
    let call = ["-aHi", "--jobs=8", "--link-dest=../latest", "s/", "t"];
    let done = sync(call).in_dir(scratch.path()).run()?;
    assert_eq!((done.code(), itemized(&done)), (Some(0), Vec::new()), "{done:?}");
    for number in 1..=60 {
        for name in 1..=3 {
            let path = format!("m{number}/{name}");
            let paths = [format!("t/{path}"), format!("monday/{path}")];
            let [new, old] = paths.map(|path| inode(&scratch, &path));
            assert_eq!(new?, old?, "{path}");
        }
    }
    Ok(())
}

/// A snapshot directory is a tree of others, perhaps: no link in it leads the run elsewhere.
#[test]
fn no_link_within_a_snapshot_is_followed() -> Outcome {
    let scratch = trees("mv t o; mv o/d else; rm s/l o/l; old s o")?;
    symlink("../else", scratch.at("o/d"))?;
    let done = sync(["-a", "--link-dest=../o", "s/", "t"]).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(0), "{done:?}");
    assert_ne!(inode(&scratch, "t/d/b")?, inode(&scratch, "else/b")?);
    assert_eq!(fs::read_to_string(scratch.at("t/d/b"))?, "bb\n");
    Ok(())
}

#[test]
fn a_directory_that_is_missing_is_a_warning_and_others_are_mistakes() -> Outcome {
    let scratch = trees("rm -r t")?;
    let call = |options: &[&str]| sync(options).words(["s/", "t"]).in_dir(scratch.path()).run();
    let done = call(&["-an", "--link-dest=../none"])?;
    assert_eq!(done.code(), Some(0), "{done:?}");
    assert!(done.errors().contains("'../none' is not searched"), "{done:?}");
    let done = call(&["-a", "--link-dest=../none"])?;
    assert_eq!(done.code(), Some(0), "{done:?}");
    assert!(done.errors().contains("'../none' is not searched"), "{done:?}");
    for (options, text) in [
        (vec!["-a", "--link-dest=o", "--copy-dest=o"], "cannot be combined"),
        (["-a"].into_iter().chain(std::iter::repeat_n("--link-dest=o", 21)).collect(), "20 times"),
        (vec!["-a", "--link-dest="], "needs the name"),
    ] {
        let done = call(&options)?;
        assert_eq!(done.code(), Some(1), "{done:?}");
        assert!(done.errors().contains(text), "{done:?}");
    }
    Ok(())
}

/// An operand without a slash is looked for under its own name, and a file under its new one.
#[test]
fn paths_in_the_other_directory_are_those_in_the_target() -> Outcome {
    if !has("rsync")? {
        return Ok(());
    }
    for words in [["s", "t"], ["s/", "t/"], ["s/a", "t/"], ["s/a", "t/new"]] {
        let (scratch, theirs) = (trees(OTHER)?, trees(OTHER)?);
        let options = ["-aii", "--link-dest=../o"];
        let ours = sync(options).words(words).in_dir(scratch.path()).run()?;
        let rsync = Call::of("rsync").words(options).words(words).in_dir(theirs.path()).run()?;
        assert_eq!(itemized(&ours), itemized(&rsync), "{words:?}");
        assert_eq!((ours.code(), rsync.code()), (Some(0), Some(0)), "{words:?}");
    }
    Ok(())
}

const OTHER: &str = "rm -r t; mkdir t; mkdir o; cp -a s o/s; cp -a s/. o; cp -a s/a o/new; old o";
