//! The commands that are stepped through.

/// What a command does with the source `s`, which determines the allowed results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    Copies,
    Moves,
    Removes,
    /// Writes its standard input; there is no source.
    Writes,
    /// Removes the hidden files of killed runs from the target folder.
    Cleans,
}

/// The state of the target before the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Older {
    Nothing,
    /// An empty directory.
    Folder,
    /// Older files, longer than their successors, in the same tree.
    Files,
}

/// One command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) words: &'static [&'static str],
    /// Names below `s` that are separate operands; if there are none, the tree is the operand.
    pub(super) operands: &'static [&'static str],
    pub(super) does: Does,
    pub(super) older: Older,
    /// Whether modes are preserved.
    pub(super) keeps_modes: bool,
    /// Whether operands that are links are followed, as by GNU cp.
    pub(super) follows: bool,
}

const COPY: Case = Case {
    name: "",
    words: &[],
    operands: &[],
    does: Does::Copies,
    older: Older::Nothing,
    keeps_modes: true,
    follows: false,
};

/// Every command that is stepped through.
pub(super) const CASES: &[Case] = &[
    Case {
        name: "cp of files",
        words: &["cp", "--jobs=1"],
        operands: &["a", "b"],
        older: Older::Folder,
        keeps_modes: false,
        follows: true,
        ..COPY
    },
    Case {
        name: "cp of files, over older ones",
        words: &["cp", "--jobs=1"],
        operands: &["a", "b"],
        older: Older::Files,
        keeps_modes: false,
        follows: true,
        ..COPY
    },
    Case { name: "cp -r", words: &["cp", "-r", "--jobs=1"], keeps_modes: false, ..COPY },
    Case { name: "cp -a", words: &["cp", "-a", "--jobs=1"], ..COPY },
    Case {
        name: "cp -a --atomic",
        words: &["cp", "-a", "--atomic", "--jobs=1"],
        older: Older::Files,
        ..COPY
    },
    Case {
        name: "cp -a --durable",
        words: &["cp", "-a", "--durable", "--jobs=1"],
        older: Older::Files,
        ..COPY
    },
    Case { name: "cp -a --verify", words: &["cp", "-a", "--verify", "--jobs=1"], ..COPY },
    Case { name: "mv", words: &["mv", "--jobs=1"], does: Does::Moves, ..COPY },
    Case {
        name: "mv of many operands",
        words: &["mv", "--jobs=1"],
        operands: &["a", "b", "d", "l"],
        does: Does::Moves,
        older: Older::Folder,
        ..COPY
    },
    Case {
        name: "mv of files, over older ones",
        words: &["mv", "--jobs=1"],
        operands: &["a", "b"],
        does: Does::Moves,
        older: Older::Files,
        ..COPY
    },
    Case { name: "rm -r", words: &["rm", "-r", "--jobs=1"], does: Does::Removes, ..COPY },
    Case {
        name: "rm of files",
        words: &["rm", "--jobs=1"],
        operands: &["a", "b", "l"],
        does: Does::Removes,
        ..COPY
    },
    Case {
        name: "write",
        words: &["write"],
        does: Does::Writes,
        older: Older::Files,
        follows: true,
        ..COPY
    },
    Case {
        name: "write --atomic",
        words: &["write", "--atomic"],
        does: Does::Writes,
        older: Older::Files,
        follows: true,
        ..COPY
    },
    Case {
        name: "clean",
        words: &["clean", "--older-than=0"],
        does: Does::Cleans,
        older: Older::Folder,
        ..COPY
    },
];

/// Finds a case.
pub(super) fn case(name: &str) -> Option<&'static Case> {
    CASES.iter().find(|case| case.name == name)
}
