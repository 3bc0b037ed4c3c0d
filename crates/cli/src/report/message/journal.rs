//! Why a journal is not used, and what to do about it.

use haul_engine::error::{Aspect, Differences, JournalFlaw};

/// Says why a journal is not used, and the way out.
pub(super) fn of_flaw(flaw: JournalFlaw) -> String {
    let text = match flaw {
        JournalFlaw::OtherOptions(differences) => {
            return format!(
                "it belongs to the same copy with other options ({}); give those to resume it, or \
                 remove it to start over ('haul clean' removes it and its unfinished files)",
                of_differences(differences)
            );
        }
        JournalFlaw::NotAFile => {
            "it is not a regular file; remove it, or give another with --journal=FILE"
        }
        JournalFlaw::NotOurs => {
            "it belongs to another user, or has several names; give another with --journal=FILE"
        }
        JournalFlaw::OthersMayWrite => {
            "other users may write to it; if none of them did, run chmod go-w on it"
        }
        JournalFlaw::NotAJournal => "it is not a journal; give another with --journal=FILE",
        JournalFlaw::OtherVersion => {
            "it was written by another version of haul; resume with that version, or remove it to start over"
        }
        JournalFlaw::AnotherRun => {
            "it belongs to a command with other operands; give those, give another with \
             --journal=FILE, or remove it"
        }
        JournalFlaw::InUse => "another run uses it; wait until that run ends",
        JournalFlaw::TooManyVolumes => {
            "it has too many volumes for the limit on open files; raise the limit (ulimit -n), or \
             resume it with haul-mpi and as many ranks as before"
        }
        JournalFlaw::NotSeen => {
            "this machine does not see the one that rank 0 has opened; give a file that all machines \
             share with --journal=FILE"
        }
    };
    text.to_owned()
}

/// Names the options in which two commands differ.
fn of_differences(differences: Differences) -> String {
    let names: Vec<&str> = differences
        .aspects()
        .map(|aspect| match aspect {
            Aspect::Recursion => "-r",
            Aspect::Dereference => "-H, -L, -P",
            Aspect::Make => "-l, -s, --attributes-only",
            Aspect::Specials => "--copy-contents",
            Aspect::Preserve => "--preserve",
            Aspect::Existing => "--update",
            Aspect::Consent => "-i, -n",
            Aspect::Backup => "--backup",
            Aspect::Parents => "--parents",
            Aspect::Force => "-f, --remove-destination",
            Aspect::TargetLinks => "--keep-directory-symlink",
            Aspect::Borders => "-x",
            Aspect::Sparse => "--sparse",
            Aspect::Reflink => "--reflink",
            Aspect::Hashing => "--verify, --repair, --hash, --sum-file",
            Aspect::Umask => "the umask",
            Aspect::Privileged => "the user",
            Aspect::Form => "-t, -T",
            Aspect::Operands => "the operands' spelling",
        })
        .collect();
    names.join("; ")
}
