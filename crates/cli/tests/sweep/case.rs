//! The commands of the sweep: their arguments, the state before, and their promises.
//!
//! A new mode of a command gets a line in [`CASES`] and a test in `tests.rs`.

use haul_manifest::Aspects;

use super::scene::{Furnishing, Older};

/// The promise of a command about the names that it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Promise {
    /// A file is written in place, and looks incomplete until it is complete.
    NeverLooksComplete,
    /// A name has its old contents or all of the new ones.
    OldOrNew,
    /// Everything below the source is removed, and nothing else.
    Gone,
    /// Everything is complete in at least one of its two places, and at the end only in the target.
    Moved,
}

/// One command of the sweep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    /// The name in `cargo xtask sweep`.
    pub(super) name: &'static str,
    /// The applet and its options, without operands.
    pub(super) words: &'static [&'static str],
    /// The operands: `s` is the source, `t` the target.
    pub(super) operands: &'static [&'static str],
    pub(super) furnishing: Furnishing,
    pub(super) older: Older,
    pub(super) promise: Promise,
    /// The aspects in which source and target are equal after exit code 0.
    pub(super) aspects: fn() -> Aspects,
    /// Whether a run after a killed one completes its work.
    pub(super) rerun: Rerun,
    pub(super) input: Input,
    pub(super) target: Whereabouts,
    /// The case that shows all but the calls of another number: the bounded sweep injects into these alone.
    pub(super) beyond: Option<&'static str>,
}

/// The place of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whereabouts {
    /// Beside the source.
    Beside,
    /// On another file system.
    Across,
}

/// The standard input of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    Nothing,
    /// The contents of the source.
    Source,
}

/// The effect of running the same command again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rerun {
    Completes,
    /// Its operands have changed: `mv` of a partly moved source.
    MeansSomethingElse,
}

const COPY: Case = Case {
    name: "",
    words: &[],
    operands: &["-T", "s", "t"],
    furnishing: Furnishing::Tree,
    older: Older::Nothing,
    promise: Promise::NeverLooksComplete,
    aspects: Aspects::preserved,
    rerun: Rerun::Completes,
    input: Input::Nothing,
    target: Whereabouts::Beside,
    beyond: None,
};

const SYNC: Case = Case { operands: &["s/", "t"], promise: Promise::OldOrNew, ..COPY };

const MOVE: Case = Case {
    words: &["mv", "--jobs=1"],
    promise: Promise::Moved,
    target: Whereabouts::Across,
    ..COPY
};

/// From one file to an existing one.
const ONTO_FILE: Case = Case {
    operands: &["if=s", "of=t"],
    furnishing: Furnishing::File,
    older: Older::Files,
    aspects: Aspects::contents_only,
    ..COPY
};

/// From a pipe.
const WRITE: Case = Case { operands: &["t"], input: Input::Source, ..ONTO_FILE };

const REMOVE: Case =
    Case { operands: &["t"], older: Older::SameTree, promise: Promise::Gone, ..COPY };

/// Every command that is swept.
pub(super) const CASES: &[Case] = &[
    Case { name: "cp", words: &["cp", "--jobs=1"], operands: &["s", "t"], ..ONTO_FILE },
    Case { name: "cp -a", words: &["cp", "-a", "--jobs=1"], ..COPY },
    Case { name: "cp -a, several workers", words: &["cp", "-a", "--jobs=3"], ..COPY },
    Case {
        name: "cp -a, over older files",
        words: &["cp", "-a", "--jobs=1"],
        older: Older::Files,
        ..COPY
    },
    Case {
        name: "cp -a --remove-destination",
        words: &["cp", "-a", "--jobs=1", "--remove-destination"],
        older: Older::Files,
        ..COPY
    },
    Case {
        name: "cp -a --fsync",
        words: &["cp", "-a", "--fsync", "--jobs=1"],
        older: Older::Files,
        ..COPY
    },
    Case {
        name: "cp -a --resume",
        words: &["cp", "-a", "--resume", "--jobs=1"],
        older: Older::Files,
        promise: Promise::OldOrNew,
        ..COPY
    },
    Case {
        name: "cp -ab",
        words: &["cp", "-ab", "--jobs=1"],
        older: Older::Files,
        rerun: Rerun::MeansSomethingElse,
        ..COPY
    },
    Case {
        name: "cp -a --atomic, over older files",
        words: &["cp", "-a", "--atomic", "--jobs=1"],
        older: Older::Files,
        promise: Promise::OldOrNew,
        ..COPY
    },
    Case {
        name: "cp -a --durable",
        words: &["cp", "-a", "--durable", "--jobs=1"],
        promise: Promise::OldOrNew,
        ..COPY
    },
    Case {
        name: "cp -a --durable, over older files",
        words: &["cp", "-a", "--durable", "--jobs=1"],
        older: Older::Files,
        promise: Promise::OldOrNew,
        ..COPY
    },
    Case {
        name: "cp -a --filter, with rules in each directory",
        words: &["cp", "-a", "--jobs=1", "--filter=: .no-such"],
        beyond: Some("cp -a"),
        ..COPY
    },
    Case { name: "sync -aHX --delete", words: &["sync", "-aHX", "--delete", "--jobs=1"], ..SYNC },
    Case {
        name: "sync -aHX --delete, over older files",
        words: &["sync", "-aHX", "--delete", "--jobs=1"],
        older: Older::Files,
        ..SYNC
    },
    Case { name: "cp -a --verify", words: &["cp", "-a", "--verify", "--jobs=1"], ..COPY },
    Case {
        name: "cp -a --verify --durable, over older files",
        words: &["cp", "-a", "--verify", "--durable", "--jobs=1"],
        beyond: Some("cp -a --durable, over older files"),
        older: Older::Files,
        promise: Promise::OldOrNew,
        ..COPY
    },
    Case { name: "mv across file systems", ..MOVE },
    Case { name: "mv across file systems, several workers", words: &["mv", "--jobs=3"], ..MOVE },
    Case {
        name: "mv of a file across file systems, over an older one",
        furnishing: Furnishing::File,
        older: Older::Files,
        ..MOVE
    },
    Case {
        name: "mv across file systems --filter, with rules in each directory",
        words: &["mv", "--jobs=1", "--filter=: .no-such"],
        beyond: Some("mv across file systems"),
        ..MOVE
    },
    Case { name: "dd", words: &["dd", "bs=64K", "status=none"], ..ONTO_FILE },
    Case {
        name: "dd, record by record",
        words: &["dd", "ibs=10000", "obs=7000", "conv=fsync", "status=none"],
        ..ONTO_FILE
    },
    Case { name: "write", words: &["write"], ..WRITE },
    Case {
        name: "write --atomic",
        words: &["write", "--atomic"],
        promise: Promise::OldOrNew,
        ..WRITE
    },
    Case {
        name: "write --atomic --fsync",
        words: &["write", "--atomic", "--fsync"],
        promise: Promise::OldOrNew,
        ..WRITE
    },
    Case { name: "rm -r", words: &["rm", "-r", "--jobs=1"], ..REMOVE },
    Case { name: "rm -r, several workers", words: &["rm", "-r", "--jobs=3"], ..REMOVE },
    Case {
        name: "rm -r --filter, with rules in each directory",
        words: &["rm", "-r", "--jobs=1", "--filter=: .no-such"],
        beyond: Some("rm -r"),
        ..REMOVE
    },
];

/// Finds a case.
pub(super) fn case(name: &str) -> Option<&'static Case> {
    CASES.iter().find(|case| case.name == name)
}
