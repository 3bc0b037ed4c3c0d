//! The checks: what haul does on a file system, beside GNU's tools in another folder of it.
//!
//! Each runs twice, in a cell for haul and one for GNU's tools. `near` is a folder of ext4: `near/tree` is a tree
//! of all that the file system can hold, `near/all` one of everything, `near/work` is empty. `far` is an empty
//! folder of the file system. Afterwards `far` and `near/work` must be equal in both cells.

use crate::vm::file_systems::FileSystem;

/// One check.
#[derive(Clone, Copy)]
pub(super) struct Check {
    /// The column of the table.
    pub(super) command: &'static str,
    pub(super) name: &'static str,
    pub(super) steps: &'static [Step],
    pub(super) keeps: Keeps,
    /// Two names in haul's cell that must be equal afterwards in what `keeps` says.
    pub(super) equal: Option<(&'static str, &'static str)>,
    /// Whether the smoke run has it.
    pub(super) smoke: bool,
    /// The only file system that it runs on, where one kernel needs it only once.
    only_on: Option<&'static str>,
}

impl Check {
    /// Whether it runs on a file system.
    pub(super) fn is_for(&self, system: &FileSystem) -> bool {
        self.only_on.is_none_or(|name| name == system.name)
    }
}

/// A command line of a check. `line.rs` has the syntax.
pub(super) enum Step {
    /// By haul in its cell, by GNU's tool in the other; with equal exit statuses.
    Tool(&'static str),
    /// By GNU's tools in both cells; must succeed.
    Setup(&'static str),
    /// By haul in its cell alone; must succeed.
    Haul(&'static str),
    /// By GNU's tools in their cell alone; must succeed.
    Gnu(&'static str),
    /// By haul in its cell alone, killed when it has made some files of `far/out`. What it leaves is removed in
    /// the end, which gives directories a new time.
    Killed(&'static str),
    /// A file of haul's cell that must have this text.
    Has(&'static str, &'static str),
}

/// What the commands of a check preserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeps {
    Contents,
    /// Times, owners, modes, links, attributes.
    All,
}

use Keeps::{All, Contents};
use Step::{Gnu, Has, Haul, Killed, Setup, Tool};

const fn check(
    command: &'static str,
    name: &'static str,
    keeps: Keeps,
    equal: Option<(&'static str, &'static str)>,
    steps: &'static [Step],
) -> Check {
    Check { command, name, steps, keeps, equal, smoke: false, only_on: None }
}

const fn smoke(check: Check) -> Check {
    Check { smoke: true, ..check }
}

const fn once(name: &'static str, check: Check) -> Check {
    Check { only_on: Some(name), ..check }
}

const OUT: Option<(&str, &str)> = Some(("near/tree", "far/out"));
const LARGE: Option<(&str, &str)> = Some(("near/tree/a/large", "far/f"));
const IN: Step = Setup("cp -a near/tree far/in");
const FILE: Step = Setup("cp -a near/tree/a/large far/f");

/// All checks, in the order of the table's columns.
pub(super) const CHECKS: &[Check] = &[
    check("cp", "cp -r", Contents, OUT, &[Tool("cp -r near/tree far/out")]),
    smoke(check("cp", "cp -a", All, OUT, &[Tool("cp -a near/tree far/out")])),
    check(
        "cp",
        "cp -a twice",
        All,
        OUT,
        &[Tool("cp -aT near/tree far/out"), Tool("cp -aT near/tree far/out")],
    ),
    smoke(check(
        "cp",
        "cp -a back",
        All,
        Some(("far/in", "near/work/back")),
        &[IN, Tool("cp -a far/in near/work/back")],
    )),
    check(
        "cp",
        "cp -a within",
        All,
        Some(("far/in", "far/out")),
        &[IN, Tool("cp -a far/in far/out")],
    ),
    check(
        "cp",
        "cp -u",
        All,
        OUT,
        &[Setup("cp -a near/tree far/out"), Tool("cp -auT near/tree far/out")],
    ),
    check("cp", "cp -al", All, None, &[IN, Tool("cp -al far/in far/out")]),
    check(
        "cp",
        "cp --sparse=always",
        Contents,
        OUT,
        &[Tool("cp -r --sparse=always near/tree far/out")],
    ),
    check(
        "cp",
        "cp --backup",
        Contents,
        None,
        &[Setup("cp -r near/tree far/out"), Tool("cp -rT --backup=numbered near/tree far/out")],
    ),
    check("cp", "cp -a of everything", All, None, &[Tool("cp -a near/all far/out")]),
    check(
        "cp",
        "cp -a of everything, back",
        All,
        None,
        &[Tool("cp -a near/all far/in"), Tool("cp -a far/in near/work/back")],
    ),
    check(
        "cp --atomic",
        "cp --atomic twice",
        All,
        OUT,
        &[Tool("cp -aT [--atomic] near/tree far/out"), Tool("cp -aT [--atomic] near/tree far/out")],
    ),
    check(
        "cp --atomic",
        "cp --atomic of everything",
        All,
        None,
        &[Tool("cp -a [--atomic] near/all far/out")],
    ),
    check(
        "cp --atomic",
        "cp --atomic, killed",
        Contents,
        OUT,
        &[
            Killed("cp -aT --atomic --bandwidth=1M near/tree far/out"),
            Tool("cp -aT [--atomic] near/tree far/out"),
            Haul("clean --older-than=0 far"),
        ],
    ),
    check(
        "cp --durable",
        "cp --durable twice",
        All,
        OUT,
        &[
            Tool("cp -aT [--durable] near/tree far/out"),
            Tool("cp -aT [--durable] near/tree far/out"),
        ],
    ),
    check("cp --verify", "cp --verify", All, OUT, &[Tool("cp -a [--verify] near/tree far/out")]),
    check(
        "cp --resume",
        "cp --resume twice",
        All,
        OUT,
        &[
            Tool("cp -aT [--resume] near/tree far/out"),
            Tool("cp -aT [--resume] near/tree far/out"),
            Haul("clean --older-than=0 far"),
        ],
    ),
    smoke(check(
        "cp --resume",
        "cp --resume, killed",
        Contents,
        OUT,
        &[
            Killed("cp -aT --resume --bandwidth=1M near/tree far/out"),
            Tool("cp -aT [--resume] near/tree far/out"),
            Haul("clean --older-than=0 far"),
        ],
    )),
    check(
        "cp --cache",
        "--cache=drop",
        All,
        OUT,
        &[Tool("cp -a [--cache=drop] near/tree far/out")],
    ),
    check(
        "cp --cache",
        "--cache=direct",
        All,
        OUT,
        &[Tool("cp -a [--cache=direct] near/tree far/out")],
    ),
    check(
        "cp --cache",
        "--cache=keep",
        All,
        OUT,
        &[Tool("cp -a [--cache=keep] near/tree far/out")],
    ),
    check(
        "cp --cache",
        "--cache=direct back",
        All,
        Some(("far/in", "near/work/back")),
        &[IN, Tool("cp -a [--cache=direct] far/in near/work/back")],
    ),
    smoke(check(
        "mv",
        "mv in",
        All,
        OUT,
        &[Setup("cp -a near/tree near/work/in"), Tool("mv near/work/in far/out")],
    )),
    check("mv", "mv out", All, None, &[IN, Tool("mv far/in near/work/out")]),
    check("mv", "mv within", All, OUT, &[IN, Tool("mv far/in far/out")]),
    check(
        "mv",
        "mv over a file",
        All,
        LARGE,
        &[
            FILE,
            Setup("cp near/tree/a/small far/y"),
            Tool("mv far/f far/y"),
            Tool("mv far/y far/f"),
        ],
    ),
    check(
        "mv",
        "mv of everything",
        All,
        None,
        &[Setup("cp -a near/all near/work/in"), Tool("mv near/work/in far/out")],
    ),
    check("rm", "rm -r", Contents, None, &[IN, Tool("rm -r far/in")]),
    check(
        "rm",
        "rm -rf of two trees",
        Contents,
        None,
        &[IN, Setup("cp -r near/tree far/out"), Tool("rm -rf far/in far/none far/out")],
    ),
    check(
        "tar",
        "tar -c",
        All,
        None,
        &[
            IN,
            Tool("tar --format=posix -cf near/work/t.tar -C far in"),
            Setup("tar -xpf near/work/t.tar -C near/work"),
            Setup("rm near/work/t.tar"),
        ],
    ),
    smoke(check(
        "tar",
        "tar -x",
        All,
        Some(("near/tree/b", "far/tree/b")),
        &[
            Setup("tar --format=posix -cf near/work/t.tar -C near tree"),
            Tool("tar -xpf near/work/t.tar -C far"),
            Setup("rm near/work/t.tar"),
        ],
    )),
    check(
        "tar",
        "tar -c --durable",
        All,
        None,
        &[
            Tool("tar --format=posix [--durable] -cf far/t.tar -C near tree"),
            Setup("tar -xpf far/t.tar -C near/work"),
            Setup("rm far/t.tar"),
        ],
    ),
    check(
        "tar",
        "tar -c | tar -x of everything",
        All,
        None,
        &[Tool("tar --format=posix -cf - -C near all | tar -xpf - -C far")],
    ),
    check("gzip", "gzip", All, LARGE, &[FILE, Tool("gzip far/f"), Setup("gunzip far/f.gz")]),
    check(
        "gzip",
        "gzip --durable",
        All,
        LARGE,
        &[FILE, Tool("gzip [--durable] far/f"), Setup("gunzip far/f.gz")],
    ),
    check("gzip", "gunzip", All, LARGE, &[FILE, Setup("gzip far/f"), Tool("gunzip far/f.gz")]),
    check(
        "dd",
        "dd",
        Contents,
        LARGE,
        &[Tool("dd if=near/tree/a/large of=far/f bs=64K status=none")],
    ),
    check(
        "dd",
        "dd conv=notrunc",
        Contents,
        None,
        &[FILE, Tool("dd if=near/tree/a/odd of=far/f bs=4K seek=3 conv=notrunc status=none")],
    ),
    check(
        "dd",
        "dd oflag=direct",
        Contents,
        LARGE,
        &[Tool("dd if=near/tree/a/large of=far/f bs=64K oflag=direct status=none")],
    ),
    check(
        "dd",
        "dd iflag=direct",
        Contents,
        Some(("near/tree/a/large", "near/work/f")),
        &[FILE, Tool("dd if=far/f of=near/work/f bs=64K iflag=direct status=none")],
    ),
    check(
        "dd",
        "dd conv=sparse,fsync",
        Contents,
        LARGE,
        &[Tool("dd if=near/tree/a/large of=far/f bs=4K conv=sparse,fsync status=none")],
    ),
    check("split", "split -b", Contents, None, &[Tool("split -b 100K near/tree/a/large far/x.")]),
    check("split", "split -n", Contents, None, &[FILE, Tool("split -n 5 far/f far/x.")]),
    smoke(check(
        "read, write",
        "read | write",
        Contents,
        LARGE,
        &[Haul("read near/tree/a/large | write far/f"), Gnu("cat near/tree/a/large >far/f")],
    )),
    check(
        "read, write",
        "write --atomic --fsync",
        Contents,
        LARGE,
        &[
            Setup("cp near/tree/a/small far/f"),
            Haul("read near/tree/a/large | write --atomic --fsync far/f"),
            Gnu("cat near/tree/a/large >far/f"),
        ],
    ),
    check(
        "read, write",
        "read | write out",
        Contents,
        Some(("far/f", "near/work/f")),
        &[FILE, Haul("read far/f | write near/work/f"), Gnu("cat far/f >near/work/f")],
    ),
    check(
        "cat, tee",
        "cat",
        Contents,
        None,
        &[FILE, Tool("cat far/f near/tree/a/odd far/f >far/c")],
    ),
    check(
        "cat, tee",
        "tee",
        Contents,
        LARGE,
        &[Tool("cat near/tree/a/large | tee far/f far/y >far/z")],
    ),
    check("sums", "sha256sum", Contents, None, &[FILE, Tool("sha256sum far/f >near/work/sum")]),
    smoke(check("compare", "compare", Contents, None, &[IN, Haul("compare near/tree far/in")])),
    check(
        "compare",
        "compare back",
        Contents,
        None,
        &[IN, Setup("cp -a far/in near/work/back"), Haul("compare far/in near/work/back")],
    ),
    once(
        "ext4",
        check(
            "trace",
            "trace",
            Contents,
            None,
            &[
                Haul("trace --backend=ebpf --output=near/work/said -- cat near/tree/a/large"),
                Has("near/work/said", "read"),
                Setup("rm -f near/work/said"),
            ],
        ),
    ),
    once(
        "ext4",
        check(
            "trace",
            "trace --stacks",
            Contents,
            None,
            &[
                Haul(
                    "trace --stacks=near/work/stacks --output=near/work/said -- \
                     dd if=near/tree/a/large of=/dev/null bs=64 count=9000 status=none",
                ),
                Has("near/work/stacks", "vfs_read"),
                Setup("rm -f near/work/said near/work/stacks"),
            ],
        ),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_columns_are_together() {
        let mut columns: Vec<&str> = CHECKS.iter().map(|check| check.command).collect();
        columns.dedup();
        let count = columns.len();
        columns.sort_unstable();
        columns.dedup();
        assert_eq!(columns.len(), count);
        for (index, check) in CHECKS.iter().enumerate() {
            let later = &CHECKS[index + 1..];
            assert!(later.iter().all(|other| other.name != check.name), "{}", check.name);
            assert!(check.only_on.is_none_or(|name| FileSystem::of_name(name).is_ok()));
        }
    }
}
