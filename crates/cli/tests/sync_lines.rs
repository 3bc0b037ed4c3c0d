//! The lines that `haul sync -i` prints, for each kind of difference.
//!
//! Each row of the tables is a difference between two small trees, with the lines that a run prints about it. Where
//! rsync is installed, it has to print the same lines and to make the same tree, so that no table says what rsync
//! does not do. A rehearsal has to print them as well, and to change nothing.

use std::ffi::OsStr;
use std::fs;

use super::support::described::{described, differences};
use super::support::judge::snapshot;
use super::support::run::{Call, Done, haul};
use super::support::scratch::Scratch;
use super::support::shell::demand;
use super::support::{Outcome, has, is_root};

/// Starts the command line of `haul sync`.
pub(crate) fn sync<W: AsRef<OsStr>>(words: impl IntoIterator<Item = W>) -> Call {
    Call::of(haul()).word("sync").words(words)
}

/// Makes a tree `s`, and its equal copy `t`. `old` sets a time, `older` an earlier one, `newer` a later one.
pub(crate) const BASE: &str = "\
    old() { touch -hd @1600000000 \"$@\"; }; older() { touch -hd @1500000000 \"$@\"; }
    newer() { touch -hd @1700000000 \"$@\"; }
    mkdir -p s/d s/e; echo aa >s/a; echo bb >s/d/b; echo cc >s/c; ln -s a s/l; mkfifo s/p
    find s -exec touch -hd @1600000000 {} +; cp -a s t";

/// A difference of the trees of [`BASE`], and the lines that a run with these options prints about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) edit: &'static str,
    pub(crate) options: &'static str,
    pub(crate) lines: &'static [&'static str],
}

pub(crate) const fn row(
    edit: &'static str,
    options: &'static str,
    lines: &'static [&'static str],
) -> Row {
    Row { edit, options, lines }
}

/// Returns the itemised lines of a run, in order of their bytes: directories have their entries in any order.
pub(crate) fn itemized(done: &Done) -> Vec<String> {
    let is_item = |line: &&str| {
        line.starts_with("*deleting ")
            || matches!(
                line.as_bytes(),
                [b'<' | b'>' | b'c' | b'h' | b'.', b'f' | b'd' | b'L' | b'D' | b'S', rest @ ..]
                    if rest.get(9) == Some(&b' ')
            )
    };
    let mut lines: Vec<String> = done.text().lines().filter(is_item).map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

/// Runs `haul sync`, first as a rehearsal, and rsync for each row, and compares lines and trees.
pub(crate) fn demand_rows(rows: &[Row]) -> Outcome {
    let has_rsync = has("rsync")?;
    let scratch = Scratch::new()?;
    for row in rows {
        scratch.clear_all()?;
        for side in ["haul", "rsync"] {
            fs::create_dir(scratch.at(side))?;
            demand(&scratch.at(side), &format!("{BASE}\n{}", row.edit))?;
        }
        let mut expected: Vec<&str> = row.lines.to_vec();
        expected.sort_unstable();
        let words: Vec<&str> = row.options.split(' ').chain(["s/", "t"]).collect();
        let before = snapshot(&scratch.at("haul"));
        let foreseen = sync(["-n", "-i"]).words(&words).in_dir(scratch.at("haul")).run()?;
        assert_eq!(itemized(&foreseen), expected, "-n of {row:?}: {foreseen:?}");
        assert_eq!(foreseen.code(), Some(0), "-n of {row:?}: {foreseen:?}");
        assert!(before == snapshot(&scratch.at("haul")), "-n of {row:?} changed something");
        let done = sync(["-i"]).words(&words).in_dir(scratch.at("haul")).run()?;
        assert_eq!(itemized(&done), expected, "{row:?}: {done:?}");
        assert_eq!(done.code(), Some(0), "{row:?}: {done:?}");
        if has_rsync {
            let theirs = Call::of("rsync").word("-i").words(&words);
            let theirs = theirs.in_dir(scratch.at("rsync")).run()?;
            assert_eq!(itemized(&theirs), expected, "rsync, {row:?}: {theirs:?}");
            let [ours, theirs] = ["haul", "rsync"].map(|root| described(&scratch.at(root)));
            let differences = differences(&ours?, &theirs?);
            assert!(differences.is_empty(), "{row:?}:\n{differences}");
        }
    }
    Ok(())
}

/// Entries that the target does not have, and contents that changed.
const CONTENTS: &[Row] = &[
    row("", "-a", &[]),
    row(
        "echo n >s/n; mkdir s/m; echo x >s/m/x; ln -s q s/k; mkfifo s/q; old s/* s/m/x s",
        "-a",
        &[
            ">f+++++++++ n",
            ">f+++++++++ m/x",
            "cL+++++++++ k -> q",
            "cS+++++++++ q",
            "cd+++++++++ m/",
        ],
    ),
    row("older t/a", "-a", &[">f..t...... a"]),
    row("echo longer >t/a; old t/a", "-a", &[">f.s....... a"]),
    row("echo longer >t/a; newer t/a", "-a", &[">f.st...... a"]),
    // The same size and time, and other bytes.
    row("echo AA >t/a; old t/a", "-a", &[]),
    row("echo AA >t/a; old t/a", "-ac", &[">fc........ a"]),
    row("echo AA >t/a; older t/a", "-ac", &[">fc.t...... a"]),
    row("echo longer >t/a; old t/a", "-ac", &[">fcs....... a"]),
    row("older t/a", "-ac", &[".f..t...... a"]),
    row("echo AA >t/a; older t/a", "-a --size-only", &[".f..t...... a"]),
    row("echo longer >t/a; old t/a", "-a --size-only", &[">f.s....... a"]),
    row("echo AA >t/a; old t/a", "-aI", &[">f......... a", ">f......... c", ">f......... d/b"]),
    row("echo AA >t/a; touch -d @1600000002 t/a", "-a --modify-window=2", &[]),
    row("echo AA >t/a; touch -d @1600000003 t/a", "-a --modify-window=2", &[">f..t...... a"]),
    row("ln -sfn other t/l; old t/l t", "-a", &["cLc........ l -> a"]),
    row("ln -sfn other t/l; older t/l; old t", "-a", &["cLc.t...... l -> a"]),
    // Without times a file is as new as its copy.
    row("older t/a", "-rlpgoD", &[">f..T...... a"]),
    row("older t/d t", "-rlpgoD", &[]),
    row("older t/d t t/a", "-aO", &[">f..t...... a"]),
    row("older t/l t/a", "-aJ", &[">f..t...... a"]),
    row(
        "touch t/$'odd\\nname' t/$'\\xff'; echo n >s/$'new\\\\'; echo n >s/ü; old s/* s t",
        "-a --delete",
        &[
            "*deleting   \\#377",
            "*deleting   odd\\#012name",
            ">f+++++++++ \\#303\\#274",
            ">f+++++++++ new\\",
        ],
    ),
];

#[test]
fn contents_are_compared_as_asked_and_told_as_by_rsync() -> Outcome {
    demand_rows(CONTENTS)
}

/// Attributes alone.
const ATTRIBUTES: &[Row] = &[
    row("chmod 600 t/a", "-a", &[".f...p..... a"]),
    row("chmod 600 t/a; older t/a", "-a", &[">f..tp..... a"]),
    row("chmod 700 t/d", "-a", &[".d...p..... d/"]),
    row("older t/d", "-a", &[".d..t...... d/"]),
    row("older t", "-a", &[".d..t...... ./"]),
    row("older t/l", "-a", &[".L..t...... l -> a"]),
    row("older t/p", "-a", &[".S..t...... p"]),
    row("chmod 600 t/p t/a t/d/b", "-a", &[".S...p..... p", ".f...p..... a", ".f...p..... d/b"]),
    row("chmod 600 t/a; chmod 700 t/d", "-rlt", &[]),
];

/// Those that only root may set.
const OWNERS: &[Row] = &[
    row("chown 7 t/a", "-a", &[".f....o.... a"]),
    row("chgrp 8 t/a; chmod 600 t/a", "-a", &[".f...p.g... a"]),
    row("chown 7:8 t/d; older t/d", "-a", &[".d..t.og... d/"]),
    row("chown -h 7:8 t/l t/p", "-a", &[".L....og... l -> a", ".S....og... p"]),
    row("mknod s/n c 1 3; mknod t/n c 1 5; old s t s/n t/n", "-a", &["cDc........ n"]),
];

#[test]
fn attributes_alone_are_set_and_told_as_by_rsync() -> Outcome {
    demand_rows(ATTRIBUTES)?;
    if is_root()? { demand_rows(OWNERS) } else { Ok(()) }
}

#[test]
fn extended_attributes_and_lists_are_set_and_told_as_by_rsync() -> Outcome {
    if !has("setfattr")? || !has("setfacl")? {
        return Ok(());
    }
    demand_rows(&[
        row("setfattr -n user.x -v 1 s/a", "-aX", &[".f........x a"]),
        row("setfattr -n user.x -v 1 t/a", "-aX", &[".f........x a"]),
        row("setfattr -n user.x -v 1 s/a", "-a", &[]),
        row("setfacl -m u:5:r s/d", "-aA", &[".d.......a. d/"]),
    ])
}

/// What an option keeps from being copied.
const KEPT: &[Row] = &[
    row("echo AA >t/a; newer t/a", "-au", &[]),
    row("chmod 600 t/a; newer t/a", "-au", &[]),
    row("echo longer >t/a; older t/a", "-au", &[">f.st...... a"]),
    row("echo longer >t/a; old t/a", "-au", &[">f.s....... a"]),
    row("ln -sfn q t/l; newer t/l; old t", "-au", &["cLc.t...... l -> a"]),
    row("rm t/a; ln -s q t/a; newer t/a; old t", "-au", &[">f+++++++++ a"]),
    row(
        "echo n >s/n; mkdir s/m; echo x >s/m/x; ln -s q s/k; mkfifo s/q; older t/a; old s",
        "-a --existing",
        &[">f..t...... a"],
    ),
    row("echo n >s/n; chmod 700 t/d; old s", "-a --ignore-non-existing", &[".d...p..... d/"]),
    row(
        "echo n >s/n; echo longer >t/a; ln -sfn q t/l; chmod 600 t/c; chmod 700 t/d; old s/n s t",
        "-a --ignore-existing",
        &[">f+++++++++ n", ".d...p..... d/"],
    ),
    row("echo n >s/n; older t/a; old s", "-a --existing --ignore-existing", &[]),
];

#[test]
fn what_is_newer_missing_or_there_is_left_alone_as_asked() -> Outcome {
    demand_rows(KEPT)
}

/// Entries of other kinds in the place of an entry.
const KINDS: &[Row] = &[
    row("rm t/a; mkdir t/a; old t", "-a", &[">f+++++++++ a"]),
    row("rm t/l; mkdir t/l; old t", "-a", &["cL+++++++++ l -> a"]),
    row(
        "rm t/a; mkdir t/a; echo x >t/a/x; old t",
        "-a --force",
        &["*deleting   a/x", ">f+++++++++ a"],
    ),
    row(
        "rm t/l; mkdir t/l; echo x >t/l/x; old t",
        "-a --delete",
        &["*deleting   l/x", "cL+++++++++ l -> a"],
    ),
    row("rm -r t/d; echo x >t/d; old t", "-a", &[">f+++++++++ d/b", "cd+++++++++ d/"]),
    row("rm -r t/d; ln -s e t/d; old t t/d", "-a", &[">f+++++++++ d/b", "cd+++++++++ d/"]),
    row("rm -r t/d; ln -s e t/d; old t t/d", "-aK", &[">f+++++++++ d/b"]),
    row(
        "rm t/a t/p t/l; mkfifo t/a t/l; echo x >t/p; old t",
        "-a",
        &[">f+++++++++ a", "cL+++++++++ l -> a", "cS+++++++++ p"],
    ),
    row("rm t/a; ln -s c t/a; old t", "-a", &[">f+++++++++ a"]),
];

#[test]
fn an_entry_of_another_kind_is_replaced() -> Outcome {
    demand_rows(KINDS)
}
