//! Counts members against `--max-size` and `--max-entries`.

use haul_archive::format::{Member, ReadError};
use haul_archive::source::SourceError;

use super::limits::Limits;
use super::quoting::named;
use super::session::Stopped;
use crate::sizes::plural;

/// The members so far.
pub(super) struct Count {
    limits: Limits,
    /// What is done to members, as a participle.
    deed: &'static str,
    members: u64,
    bytes: u64,
    last: Vec<u8>,
}

impl Count {
    /// Counts from 0.
    pub(super) const fn new(limits: Limits, deed: &'static str) -> Count {
        Count { limits, deed, members: 0, bytes: 0, last: Vec::new() }
    }

    /// Counts a member, or returns the message that refuses it.
    pub(super) fn add(&mut self, member: &Member) -> Result<(), String> {
        if !self.limits.are_set() {
            return Ok(());
        }
        let size = if member.is_file() { member.size } else { 0 };
        let bytes = self.bytes.saturating_add(size);
        let name = named(&member.name);
        if let Some(limit) = self.limits.entries.filter(|limit| self.members >= *limit) {
            return Err(format!(
                "{name}: more members than --max-entries={limit} allows; {}",
                self.before("--max-entries")
            ));
        }
        if let Some(limit) = self.limits.bytes.filter(|limit| bytes > *limit) {
            return Err(format!(
                "{name}: its {} would make {bytes} bytes, more than --max-size={limit} allows; {}",
                plural(size, "byte", "bytes"),
                self.before("--max-size")
            ));
        }
        (self.members, self.bytes) = (self.members + 1, bytes);
        self.last.clone_from(&member.name);
        Ok(())
    }

    /// Returns the message that refuses a member whose name made more directories than allowed, if it
    /// did. `parents` is the number of all such directories.
    pub(super) fn demand_few_parents(&self, parents: u64) -> Result<(), String> {
        match self.limits.entries {
            Some(limit) if self.members.saturating_add(parents) > limit => Err(format!(
                "{}: with the directories in its name there are more entries than \
                 --max-entries={limit} allows; {}",
                named(&self.last),
                self.before("--max-entries")
            )),
            _ => Ok(()),
        }
    }

    /// Returns why work on an archive ended; an archive that is longer than allowed has a message of its
    /// own.
    pub(super) fn explained(&self, archive: &[u8], why: Stopped) -> Stopped {
        match why {
            Stopped::Read(ReadError::Source(SourceError::TooLong)) => {
                Stopped::Fatal(format!("{}: {}", named(archive), self.too_long()))
            }
            other => other,
        }
    }

    /// Returns the message about an archive that became too long when decompressed.
    fn too_long(&self) -> String {
        let limit = self.limits.bytes.unwrap_or(u64::MAX);
        let place = match self.last.is_empty() {
            true => "before its first member".to_owned(),
            false => format!("in or behind {}", named(&self.last)),
        };
        format!(
            "the decompressed archive is longer than --max-size={limit} allows, {place}; {}",
            self.before("--max-size")
        )
    }

    /// Tells what was done, and what the user can do.
    fn before(&self, option: &str) -> String {
        let members = plural(self.members, "member", "members");
        let bytes = plural(self.bytes, "byte", "bytes");
        format!(
            "{members} of {bytes} {} before; give a larger {option} for an archive that you trust",
            if self.members == 1 {
                format!("was {}", self.deed)
            } else {
                format!("were {}", self.deed)
            }
        )
    }
}
