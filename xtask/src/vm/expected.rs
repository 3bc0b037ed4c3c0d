//! The differences from GNU's tools that are intended, or that a file system causes, each with its reason.

use super::outcome::{Outcome, Verdict};

/// A difference that is no failure.
struct Expected {
    /// Names of file systems; all if there are none.
    on: &'static [&'static str],
    /// The beginning of the names of checks.
    checks: &'static str,
    /// A part of what the check found.
    says: &'static str,
    reason: &'static str,
}

const EXPECTED: &[Expected] = &[
    Expected {
        on: &["exfat", "vfat"],
        checks: "",
        says: "odd/hard: only in B",
        reason: "Both tools copy the name of a file that they meet first, refuse its other names, because the file \
            system has no hard links, and exit with 1. They meet names in different orders.",
    },
    Expected {
        on: &[],
        checks: "split -n",
        says: "x.aa: size 500000 in A, 500001 in B",
        reason: "GNU split before 9.2 gives the last file what is left over; later ones and haul spread it.",
    },
    Expected {
        on: &["smb-3.1.1"],
        checks: "",
        says: "odd/Case: only in A",
        reason: "Of two names that differ only in case both tools keep the one that they meet first. They meet names \
            in different orders.",
    },
    Expected {
        on: &["exfat", "vfat", "udf", "ntfs3", "smb-3.1.1"],
        checks: "mv of everything",
        says: "out: only in A (directory)",
        reason: "If an entry of an operand cannot be moved, haul removes the copy and keeps the source whole; GNU mv \
            leaves a part of the tree on each side.",
    },
    Expected {
        on: &[],
        checks: "trace",
        says: "BPF_STX uses reserved fields",
        reason: "Before Linux 5.12, eBPF has no atomic operation that returns a value. `haul trace` uses ptrace there, \
            and `--stacks` says that it needs eBPF.",
    },
];

/// Returns why a failed check is no failure, if it is none.
pub(super) fn reason(outcome: &Outcome) -> Option<&'static str> {
    let is_it = |one: &&Expected| {
        (one.on.is_empty() || one.on.contains(&outcome.on.as_str()))
            && outcome.check.starts_with(one.checks)
            && outcome.text.contains(one.says)
    };
    if outcome.verdict != Verdict::Failed {
        return None;
    }
    EXPECTED.iter().find(is_it).map(|one| one.reason)
}
