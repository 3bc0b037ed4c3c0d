//! Words with which a journal's header describes a run.
//!
//! A later program may read the journal, and may have renamed a variant of an option's type. Each
//! variant therefore has a permanent word here; a match without `_` ensures that a new variant gets
//! one. Changing a word or its meaning requires a new [`VERSION`](super::header::VERSION).

use std::fmt::Write as _;

use haul_io::{Reflink, Sparse};

use crate::data::aspect::Aspect;
use crate::data::request::{
    Backup, BackupKind, Borders, Consent, Dereference, Existing, Force, Hashing, Keep, Links, Make,
    ModePolicy, Parents, Preserve, Recursion, Specials, TargetForm, TargetLinks, Verify,
    WholeDigest,
};

/// Type with a word for each of its values.
pub(super) trait Code: Copy {
    /// Returns the word of the value: lower-case letters and hyphens.
    fn code(self) -> &'static str;
}

/// Defines the word of each variant of a type.
macro_rules! codes {
    ($($type:ident { $($variant:ident = $word:literal,)+ })+) => {
        $(impl Code for $type {
            fn code(self) -> &'static str {
                match self {
                    $($type::$variant => $word,)+
                }
            }
        })+

        /// Every type and its words.
        #[cfg(test)]
        pub(super) const WORDS: &[(&str, &[&str])] = &[
            $((stringify!($type), &[$($word),+]),)+
        ];
    };
}

codes! {
    Aspect {
        Recursion = "recursion",
        Dereference = "dereference",
        Make = "make",
        Specials = "specials",
        Preserve = "preserve",
        Existing = "existing",
        Consent = "consent",
        Backup = "backup",
        Parents = "parents",
        Force = "force",
        TargetLinks = "target-links",
        Borders = "borders",
        Sparse = "sparse",
        Reflink = "reflink",
        Hashing = "hashing",
        Umask = "umask",
        Privileged = "privileged",
        Form = "form",
        Operands = "operands",
    }
    Recursion {
        No = "no",
        Yes = "yes",
    }
    Dereference {
        Never = "never",
        Operands = "operands",
        Always = "always",
    }
    Make {
        Copy = "copy",
        HardLink = "hard-link",
        SymbolicLink = "symbolic-link",
        Attributes = "attributes",
    }
    Specials {
        Recreate = "recreate",
        Read = "read",
    }
    ModePolicy {
        Usual = "usual",
        Keep = "keep",
        Default = "default",
    }
    Keep {
        No = "no",
        Try = "try",
        Warn = "warn",
        Must = "must",
    }
    Links {
        Split = "split",
        Keep = "keep",
    }
    Existing {
        Overwrite = "overwrite",
        Keep = "keep",
        KeepAndFail = "keep-and-fail",
        Older = "older",
    }
    Consent {
        NotNeeded = "not-needed",
        Ask = "ask",
        Denied = "denied",
    }
    BackupKind {
        Simple = "simple",
        Existing = "existing",
        Numbered = "numbered",
    }
    Parents {
        Cut = "cut",
        Keep = "keep",
    }
    Force {
        No = "no",
        IfUnopenable = "if-unopenable",
        First = "first",
    }
    TargetLinks {
        Strict = "strict",
        KeepDirectory = "keep-directory",
        WriteDangling = "write-dangling",
    }
    Borders {
        Cross = "cross",
        Stay = "stay",
    }
    Sparse {
        Auto = "auto",
        Always = "always",
        Never = "never",
    }
    Reflink {
        Auto = "auto",
        Always = "always",
        Never = "never",
    }
    Verify {
        No = "no",
        Compare = "compare",
        Repair = "repair",
    }
    WholeDigest {
        No = "no",
        Tell = "tell",
    }
    TargetForm {
        Guess = "guess",
        Directory = "directory",
        LastDirectory = "last-directory",
        Name = "name",
        Contents = "contents",
    }
}

/// Encodes the preserved attributes, one by one.
pub(super) fn preserve(preserve: &Preserve) -> String {
    let Preserve { mode, ownership, times, links, xattr, context, flags } = preserve;
    let kept = [
        ("mode", mode.code()),
        ("ownership", ownership.code()),
        ("times", times.code()),
        ("links", links.code()),
        ("xattr", xattr.code()),
        ("context", context.code()),
    ];
    // Journals of versions that did not know the flags say nothing of them.
    let flags = flags.wanted().then(|| ("flags", flags.code()));
    let spelled = kept.into_iter().chain(flags).map(|(name, word)| format!("{name}:{word}"));
    spelled.collect::<Vec<_>>().join(",")
}

/// Encodes how the run names backups. A suffix may contain any byte, so the code is in hexadecimal
/// digits.
pub(super) fn backup(backup: Option<&Backup>) -> String {
    let Some(Backup { kind, suffix }) = backup else { return NONE.to_owned() };
    let mut text = format!("{},suffix:", kind.code());
    for byte in suffix {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Encodes what the run hashes, and for which purpose.
pub(super) fn hashing(hashing: Option<Hashing>) -> String {
    let Some(Hashing { algorithm, verify, whole }) = hashing else { return NONE.to_owned() };
    format!("{},verify:{},whole:{}", algorithm.name, verify.code(), whole.code())
}

/// Returns the word for a two-valued option.
pub(super) const fn yes_or_no(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

/// Word for an option that the user did not set.
const NONE: &str = "none";
