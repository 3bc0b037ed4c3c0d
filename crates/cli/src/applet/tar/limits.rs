//! `--max-size` and `--max-entries`: an archive that would make more is refused before it does.

use std::ffi::OsStr;

use haul_archive::source::{CappedSource, Source};

use super::kept::Kept;
use super::refuse::bad;
use crate::ending::CommandError;
use crate::option::data::size_or_zero;

/// What an archive may make at most; nothing is limited by default.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits {
    /// Bytes of all files, holes included, and of a decompressed archive.
    pub(super) bytes: Option<u64>,
    /// Number of members, and of directories that are made because names need them.
    pub(super) entries: Option<u64>,
}

impl Limits {
    pub(super) fn set_bytes(&mut self, bytes: &OsStr) -> Result<(), CommandError> {
        self.bytes = Some(size_or_zero("--max-size", bytes)?);
        Ok(())
    }

    pub(super) fn set_entries(&mut self, count: &OsStr) -> Result<(), CommandError> {
        let shown = count.to_string_lossy();
        self.entries = shown.parse().ok();
        match self.entries {
            Some(_) => Ok(()),
            None => bad(&format!("invalid --max-entries '{shown}': give a number")),
        }
    }

    /// Returns whether there is any limit.
    pub(super) const fn are_set(&self) -> bool {
        self.bytes.is_some() || self.entries.is_some()
    }

    /// Returns the archive's source so that it fails where a compressed archive becomes too long.
    pub(super) fn cap(&self, source: Box<dyn Source + Send>, kept: Kept) -> Box<dyn Source + Send> {
        match self.bytes {
            Some(bytes) if kept != Kept::Plain => Box::new(CappedSource::new(source, bytes)),
            _ => source,
        }
    }
}
