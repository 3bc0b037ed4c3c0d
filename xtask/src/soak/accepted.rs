//! The differences from GNU's tools that are accepted, each with its reason.
//!
//! An entry explains one message of one side. A difference is accepted only if every message that the other
//! side did not give, too, is explained, so that an entry cannot hide another failure of the same run.

use super::step::Step;

/// A reason for which one of the two refuses what the other one does.
struct Reason {
    /// Beginning of the names of the cases.
    case: &'static str,
    /// The options one of which the command has; empty if they do not matter.
    with: &'static [&'static str],
    /// What the message says.
    says: &'static str,
    #[cfg_attr(not(test), expect(dead_code, reason = "it is for readers; a test demands it"))]
    reason: &'static str,
}

/// What haul refuses, and GNU's tool does.
const STRICTER: &[Reason] = &[
    Reason {
        case: "cp",
        with: &[],
        says: "cannot be combined with",
        reason: "an option of haul's own that contradicts another one",
    },
    Reason {
        case: "cp",
        with: &[],
        says: "are mutually exclusive",
        reason: "an option of haul's own that contradicts another one",
    },
    Reason {
        case: "cp",
        with: &[],
        says: "will not overwrite just-created",
        reason: "two files of the source lead to one file of the target, by a link that is there",
    },
    Reason {
        case: "cp",
        with: &[],
        says: ": File name too long",
        reason: "GNU cp shortens the name of a backup, and it may then be another file's",
    },
    Reason {
        case: "cp",
        with: &[],
        says: "not writing through dangling symlink",
        reason: "GNU cp says so, too, unless another name of the same file has come before",
    },
    Reason {
        case: "mv",
        with: &[],
        says: ": File name too long",
        reason: "GNU mv shortens the name of a backup, and it may then be another file's",
    },
    Reason {
        case: "mv",
        with: &[],
        says: "will not overwrite just-created",
        reason: "the backup of one operand has the name to which another one has just been moved",
    },
    Reason {
        case: "mv",
        with: &[],
        says: "cannot combine --backup",
        reason: "GNU mv 9.1 refuses it, too, but has renamed the file before it looks",
    },
    Reason {
        case: "tar",
        with: &[],
        says: "devices are made only with -p or --devices",
        reason: "an archive that another user made should not make a device",
    },
    Reason {
        case: "tar",
        with: &[],
        says: ": Not a directory",
        reason: "with --keep-newer-files and a file in a directory's place, GNU tar skips the members below it with exit status 0",
    },
    Reason {
        case: "cp",
        with: &["--resume"],
        says: "refusing journal",
        reason: "a journal belongs to the operands as they are spelled, and the second command spells one differently",
    },
    Reason {
        case: "tar",
        with: &["-k", "--skip-old-files"],
        says: "Cannot mkdir: File exists",
        reason: "GNU tar leaves a directory out without a message where something else has its name",
    },
    Reason {
        case: "tar",
        with: &["--overwrite"],
        says: "Cannot open: Is a directory",
        reason: "GNU tar says so, too, but it puts a member that has attributes in the place of an empty directory",
    },
    Reason {
        case: "tar",
        with: &["--overwrite"],
        says: "': Operation not permitted",
        reason: "a hard link to such a member: its name is still that of the directory",
    },
];

/// What GNU's tool refuses, and haul does.
const LOOSER: &[Reason] = &[
    Reason {
        case: "cp",
        with: &[],
        says: "will not create hard link",
        reason: "GNU cp copies a directory once, also if two operands lead to it under different names",
    },
    Reason {
        case: "cp",
        with: &["--resume"],
        says: ": File exists",
        reason: "GNU cp -L does not replace special files, and the journal of haul has them as done",
    },
];

/// Returns whether haul may have failed where GNU's tool did not: each of its messages is explained.
pub(crate) fn stricter(case: &str, step: &Step, haul_says: &str, gnu_says: &str) -> bool {
    explains(STRICTER, (case, step), haul_says, gnu_says)
}

/// Returns whether GNU's tool may have failed where haul did not: each of its messages is explained.
pub(crate) fn looser(case: &str, step: &Step, haul_says: &str, gnu_says: &str) -> bool {
    explains(LOOSER, (case, step), gnu_says, haul_says)
}

/// Returns whether one side has messages that the other one does not have, and all of them are explained.
fn explains(table: &[Reason], place: (&str, &Step), says: &str, other_says: &str) -> bool {
    let known: Vec<&str> = other_says.lines().filter(|line| !line.is_empty()).collect();
    // Newer releases of GNU's tools say more in the same message, and so does haul.
    let is_known = |line: &str| {
        is_of_summary(line)
            || known.iter().any(|known| line.starts_with(known) || known.starts_with(line))
    };
    let mut lines = says.lines().filter(|line| !line.is_empty() && !is_known(line)).peekable();
    let has_message = lines.peek().is_some();
    has_message && lines.all(|line| explained(table, place, line))
}

/// Returns whether a line is one of `--stats`, or a warning that the sides give in other words; these are no failures.
fn is_of_summary(line: &str) -> bool {
    const BEGINNINGS: [&str; 10] = [
        "copied:  ",
        "moved:   ",
        "bytes:   ",
        "methods: ",
        "cached:  ",
        "waited:  ",
        "workers: ",
        "devices: ",
        "     ",
        "cp: warning: direct I/O is not possible on ",
    ];
    // GNU tar shows times before 1970 wrong, and the name as it is.
    let is_time = line.contains(": implausibly old time stamp ");
    // A journal stays after any failure, which has a message of its own.
    let is_of_journal = line.contains(": the journal '")
        && line.ends_with(" is kept: run the same command again to resume");
    is_time || is_of_journal || BEGINNINGS.iter().any(|beginning| line.starts_with(beginning))
}

fn explained(table: &[Reason], (case, step): (&str, &Step), line: &str) -> bool {
    let is_advice = line.starts_with("Try '") && line.ends_with("--help' for more information.")
        || line.ends_with("Exiting with failure status due to previous errors");
    let applies = |it: &Reason| {
        let has_option = it.with.is_empty() || step.calls.iter().any(|call| call.has(it.with));
        case.starts_with(it.case) && has_option
    };
    is_advice || table.iter().any(|it| applies(it) && line.contains(it.says))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soak::step::Call;

    fn step(words: &[&str]) -> Step {
        Step::new(vec![Call::new("cp").args(words)])
    }

    fn stricter(case: &str, haul_says: &str, gnu_says: &str) -> bool {
        super::stricter(case, &step(&[]), haul_says, gnu_says)
    }

    #[test]
    fn one_unexplained_message_is_enough_to_refuse() {
        let known =
            "cp: --resume cannot be combined with --link\nTry 'cp --help' for more information.\n";
        assert!(stricter("cp", known, ""));
        assert!(!stricter("mv", known, ""));
        assert!(!stricter("cp", &format!("{known}cp: cannot stat 'x': Input/output error\n"), ""));
        assert!(!stricter("cp", "", ""));
        let stats = "copied:  1 file\nbytes:   1 B in 0.00 s, 1 B/s\n         a note\nworkers: 1\n";
        assert!(stricter("cp", &format!("{known}{stats}"), ""));
        assert!(!stricter("cp", stats, ""));
        let journal = "cp: the journal 'x' is kept: run the same command again to resume\n";
        assert!(stricter("cp", &format!("{known}{journal}"), ""));
        assert!(!stricter("cp", journal, ""));
        assert!(!stricter("cp", "cp: something new\n", "\ncp: another\n"));
    }

    #[test]
    fn messages_that_both_give_need_no_reason() {
        let both = "cp: cannot stat 'x': No such file or directory\n";
        assert!(stricter("cp", &format!("{both}cp: a cannot be combined with b\n"), both));
        assert!(!stricter("cp", both, both));
        let longer = "cp: cannot stat 'x': No such file or directory: 'y'\n";
        assert!(stricter("cp", &format!("{longer}cp: a cannot be combined with b\n"), both));
    }

    #[test]
    fn a_reason_may_need_an_option() {
        let says = "tar: ./d: Cannot mkdir: File exists\ntar: ./x: implausibly old time stamp 1969-12-31\n";
        let gnu_says = "tar: ./x: implausibly old time stamp 1970-01-01\n";
        assert!(super::stricter("tar", &step(&["-k"]), says, gnu_says));
        assert!(!super::stricter("tar", &step(&["--overwrite"]), says, gnu_says));
    }

    #[test]
    fn what_only_gnus_tool_refuses_is_explained_too() {
        let says = "cp: will not create hard link 'x' to directory 'y'\n";
        let looser =
            |haul_says: &str, gnu_says: &str| super::looser("cp", &step(&[]), haul_says, gnu_says);
        assert!(looser("", says));
        assert!(!looser("", &format!("{says}cp: cannot stat 'z': Not a directory\n")));
        assert!(!looser(says, says) && !looser("", ""));
    }

    #[test]
    fn each_entry_has_a_reason() {
        let has_reason = |it: &Reason| !it.says.is_empty() && it.reason.len() > 10;
        assert!(STRICTER.iter().chain(LOOSER).all(has_reason));
    }
}
