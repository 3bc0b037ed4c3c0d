//! The differences from GNU's tools that are accepted, each with its reason.
//!
//! An entry explains one message of haul. A difference is accepted only if every message that GNU's tool
//! did not give, too, is explained, so that an entry cannot hide another failure of the same run.

/// A reason for which haul refuses what GNU's tool does.
struct Stricter {
    /// Beginning of the names of the cases.
    case: &'static str,
    /// What the message says.
    says: &'static str,
    #[cfg_attr(not(test), expect(dead_code, reason = "it is for readers; a test demands it"))]
    reason: &'static str,
}

const STRICTER: &[Stricter] = &[
    Stricter {
        case: "cp",
        says: "cannot be combined with",
        reason: "an option of haul's own that contradicts another one",
    },
    Stricter {
        case: "cp",
        says: "are mutually exclusive",
        reason: "an option of haul's own that contradicts another one",
    },
    Stricter {
        case: "cp",
        says: "will not overwrite just-created",
        reason: "two files of the source lead to one file of the target, by a link that is there",
    },
    Stricter {
        case: "cp",
        says: ": File name too long",
        reason: "GNU cp shortens the name of a backup, and it may then be another file's",
    },
    Stricter {
        case: "cp",
        says: "not writing through dangling symlink",
        reason: "GNU cp says so, too, unless another name of the same file has come before",
    },
    Stricter {
        case: "mv",
        says: ": File name too long",
        reason: "GNU mv shortens the name of a backup, and it may then be another file's",
    },
    Stricter {
        case: "mv",
        says: "will not overwrite just-created",
        reason: "the backup of one operand has the name to which another one has just been moved",
    },
    Stricter {
        case: "mv",
        says: "cannot combine --backup",
        reason: "GNU mv 9.1 refuses it, too, but has renamed the file before it looks",
    },
    Stricter {
        case: "tar",
        says: "devices are made only with -p or --devices",
        reason: "an archive that another user made should not make a device",
    },
    Stricter {
        case: "tar",
        says: ": Not a directory",
        reason: "with --keep-newer-files and a file in a directory's place, GNU tar skips the members below it with exit status 0",
    },
];

/// Returns whether haul may have failed where GNU's tool did not: each of its messages is explained.
pub(crate) fn stricter(case: &str, haul_says: &str, gnu_says: &str) -> bool {
    // Newer releases of GNU's tools say more in the same message, and so does haul.
    let known: Vec<&str> = gnu_says.lines().filter(|line| !line.is_empty()).collect();
    let is_known =
        |line: &str| is_of_summary(line) || known.iter().any(|known| line.starts_with(known));
    let mut lines = haul_says.lines().filter(|line| !line.is_empty() && !is_known(line)).peekable();
    let has_message = lines.peek().is_some();
    has_message && lines.all(|line| explained(case, line))
}

/// Returns whether a line is one of `--stats`, which are no messages.
fn is_of_summary(line: &str) -> bool {
    const BEGINNINGS: [&str; 8] = [
        "copied:  ",
        "moved:   ",
        "bytes:   ",
        "methods: ",
        "cached:  ",
        "waited:  ",
        "workers: ",
        "     ",
    ];
    BEGINNINGS.iter().any(|beginning| line.starts_with(beginning))
}

fn explained(case: &str, line: &str) -> bool {
    let is_advice = line.starts_with("Try '") && line.ends_with("--help' for more information.")
        || line.ends_with("Exiting with failure status due to previous errors");
    is_advice || STRICTER.iter().any(|it| case.starts_with(it.case) && line.contains(it.says))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn each_entry_has_a_reason() {
        assert!(STRICTER.iter().all(|it| !it.says.is_empty() && it.reason.len() > 10));
    }
}
