//! Why a journal is not used, and what to do about it.

use haul_engine::error::{Aspect, Differences, JournalFlaw};

/// Says why a journal is not used, and the way out.
pub(super) fn of_flaw(flaw: JournalFlaw) -> String {
    let text = match flaw {
        JournalFlaw::OtherOptions(differences) => {
            return format!(
                "it belongs to the same copy with other options ({}); give those to resume it, or \
                 remove it to begin anew ('haul clean' removes it and its unfinished files)",
                of_differences(differences)
            );
        }
        JournalFlaw::NotAFile => {
            "it is no regular file; remove it, or name another with --journal=FILE"
        }
        JournalFlaw::NotOurs => {
            "it belongs to somebody else, or has several names; name another with --journal=FILE"
        }
        JournalFlaw::OthersMayWrite => {
            "others may write to it; if nobody has, chmod go-w makes it good again"
        }
        JournalFlaw::NotAJournal => {
            "it is something else than a journal; name another with --journal=FILE"
        }
        JournalFlaw::OtherVersion => {
            "it was written by another version of haul; go on with that, or remove it to begin anew"
        }
        JournalFlaw::AnotherRun => {
            "it belongs to a command with other operands; give those, name another with \
             --journal=FILE, or remove it"
        }
        JournalFlaw::InUse => "another run is at work with it; wait for its end",
    };
    text.to_owned()
}

/// Names what two commands differ in by the options that say it.
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
