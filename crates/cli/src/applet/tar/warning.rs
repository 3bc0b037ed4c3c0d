//! `--warning`: which warnings are printed.

use super::refuse::bad;
use crate::ending::CommandError;

/// Warnings that can be turned off, each a bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Warning {
    AloneZeroBlock = 1,
    BadDumpdir = 1 << 1,
    Cachedir = 1 << 2,
    ContiguousCast = 1 << 3,
    FileChanged = 1 << 4,
    FileIgnored = 1 << 5,
    FileRemoved = 1 << 6,
    FileShrank = 1 << 7,
    FileUnchanged = 1 << 8,
    FilenameWithNuls = 1 << 9,
    IgnoreArchive = 1 << 10,
    IgnoreNewer = 1 << 11,
    NewDirectory = 1 << 12,
    RenameDirectory = 1 << 13,
    SymlinkCast = 1 << 14,
    Timestamp = 1 << 15,
    UnknownCast = 1 << 16,
    UnknownKeyword = 1 << 17,
    Xdev = 1 << 18,
    DecompressProgram = 1 << 19,
    ExistingFile = 1 << 20,
    XattrWrite = 1 << 21,
    RecordSize = 1 << 22,
    FailedRead = 1 << 23,
    MissingZeroBlocks = 1 << 24,
}

/// GNU tar's keywords. haul prints no warning for some of them.
const KEYWORDS: &[(&str, Warning)] = &[
    ("alone-zero-block", Warning::AloneZeroBlock),
    ("bad-dumpdir", Warning::BadDumpdir),
    ("cachedir", Warning::Cachedir),
    ("contiguous-cast", Warning::ContiguousCast),
    ("file-changed", Warning::FileChanged),
    ("file-ignored", Warning::FileIgnored),
    ("file-removed", Warning::FileRemoved),
    ("file-shrank", Warning::FileShrank),
    ("file-unchanged", Warning::FileUnchanged),
    ("filename-with-nuls", Warning::FilenameWithNuls),
    ("ignore-archive", Warning::IgnoreArchive),
    ("ignore-newer", Warning::IgnoreNewer),
    ("new-directory", Warning::NewDirectory),
    ("rename-directory", Warning::RenameDirectory),
    ("symlink-cast", Warning::SymlinkCast),
    ("timestamp", Warning::Timestamp),
    ("unknown-cast", Warning::UnknownCast),
    ("unknown-keyword", Warning::UnknownKeyword),
    ("xdev", Warning::Xdev),
    ("decompress-program", Warning::DecompressProgram),
    ("existing-file", Warning::ExistingFile),
    ("xattr-write", Warning::XattrWrite),
    ("record-size", Warning::RecordSize),
    ("failed-read", Warning::FailedRead),
    ("missing-zero-blocks", Warning::MissingZeroBlocks),
];

/// Those that only `-v` or their keyword turns on.
const VERBOSE: u32 = Warning::RenameDirectory as u32
    | Warning::NewDirectory as u32
    | Warning::DecompressProgram as u32
    | Warning::ExistingFile as u32
    | Warning::RecordSize as u32;

/// Which warnings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Warnings(u32);

impl Default for Warnings {
    fn default() -> Warnings {
        Warnings(!(VERBOSE | Warning::MissingZeroBlocks as u32))
    }
}

impl Warnings {
    /// Returns whether a warning is printed.
    pub(super) const fn has(self, warning: Warning) -> bool {
        self.0 & warning as u32 != 0
    }

    /// Turns on what `-v` turns on.
    pub(super) const fn set_verbose(&mut self) {
        self.0 |= VERBOSE;
    }

    /// Reads the argument of `--warning`.
    pub(super) fn set(&mut self, text: &str) -> Result<(), CommandError> {
        if text == "none" {
            self.0 = 0;
            return Ok(());
        }
        let (word, on) = match text.strip_prefix("no-") {
            Some(word) => (word, false),
            None => (text, true),
        };
        let bits = match word {
            "all" => u32::MAX,
            "verbose" => VERBOSE,
            _ => match KEYWORDS
                .iter()
                .filter(|(name, _)| name.starts_with(word))
                .collect::<Vec<_>>()[..]
            {
                [(_, warning)] => *warning as u32,
                [] => return bad(&format!("invalid argument '{word}' for '--warning'")),
                _ => match KEYWORDS.iter().find(|(name, _)| *name == word) {
                    Some((_, warning)) => *warning as u32,
                    None => return bad(&format!("ambiguous argument '{word}' for '--warning'")),
                },
            },
        };
        self.0 = if on { self.0 | bits } else { self.0 & !bits };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_turn_warnings_on_and_off() {
        let mut warnings = Warnings::default();
        assert!(warnings.has(Warning::FileChanged) && !warnings.has(Warning::ExistingFile));
        for text in ["no-file-changed", "existing-file", "no-time"] {
            assert!(warnings.set(text).is_ok(), "{text}");
        }
        assert!(!warnings.has(Warning::FileChanged) && warnings.has(Warning::ExistingFile));
        assert!(!warnings.has(Warning::Timestamp));
        assert!(warnings.set("file").is_err() && warnings.set("what").is_err());
        assert!(warnings.set("none").is_ok() && !warnings.has(Warning::Cachedir));
    }
}
