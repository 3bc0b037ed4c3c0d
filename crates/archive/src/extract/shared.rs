//! A file to be made, and what all workers share.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use haul_io::Pair;
use haul_io::digest::Algorithm;
use haul_io::fully::write_fully;
use haul_io::last_check::LastNames;
use haul_io::space::Space;
use haul_io::stream::NEVER;
use haul_io::trail::{PartsTrail, UncachedWrites};
use haul_sys::Result;
use haul_sys::fs::Stat;

use super::event::Event;
use super::place::Place;
use super::policy::{Monitor, Policy};
use super::queue::Waiting;
use crate::attributes::Attributes as Wanted;
use crate::format::{Member, Moment};

/// Where a file's bytes are.
pub(super) enum Content {
    /// In the archive, from this offset.
    InArchive(u64),
    /// In memory.
    Bytes(Bytes),
}

/// A file to be made.
pub(super) struct Job {
    /// Position in the archive, so that files are handled in order where order matters.
    pub(super) number: u64,
    pub(super) name: Vec<u8>,
    pub(super) place: Place,
    pub(super) member: Box<Member>,
    pub(super) owner: Option<(u32, u32)>,
    pub(super) content: Content,
    pub(super) pair: Option<Arc<Pair>>,
}

/// Removes the names of owners, which are known by number now: members wait in memory, in queues, and
/// directories to the end.
pub(super) fn without_names(mut member: Box<Member>) -> Box<Member> {
    (member.user, member.group) = (Vec::new(), Vec::new());
    member
}

/// Bytes that an extended attribute takes beside its name and its value, about.
const ATTRIBUTE_BYTES: usize = 64;

/// Returns the memory that attributes beside the usual ones take.
pub(super) fn attribute_bytes(member: &Member) -> usize {
    let xattrs =
        member.xattrs.iter().map(|(name, value)| ATTRIBUTE_BYTES + name.len() + value.len());
    let lists = member.acls.iter().chain([&member.context]).flatten().map(Vec::len);
    xattrs.chain(lists).sum()
}

impl Waiting for Job {
    fn directory(&self) -> usize {
        // Only compared, while the job holds the directory.
        Arc::as_ptr(&self.place.parent).addr()
    }

    /// As far as the archive decides them.
    fn memory_bytes(&self) -> usize {
        let content = match &self.content {
            Content::Bytes(bytes) => bytes.len(),
            Content::InArchive(_) => 0,
        };
        let regions =
            self.member.regions.as_ref().map_or(0, |regions| size_of_val(regions.as_slice()));
        let attributes = attribute_bytes(&self.member);
        content + regions + attributes + self.name.len() + self.member.name.len()
    }

    fn is_large(&self) -> bool {
        matches!(self.content, Content::InArchive(_))
    }
}

/// An archive whose members can be moved by offset.
pub(super) struct Archive {
    pub(super) file: Arc<OwnedFd>,
    pub(super) stat: Stat,
    pub(super) trail: PartsTrail,
}

/// Returns whether permissions give the group of a file the same as all others. In a directory that gives
/// its group to new files it may be another one than the member's at first.
pub(super) const fn is_for_any_group(mode: u32) -> bool {
    (mode >> 3) & 0o7 == mode & 0o7
}

/// What all workers share.
pub(super) struct Shared {
    pub(super) policy: Policy,
    /// When the extraction began.
    pub(super) began: Moment,
    /// Attributes that are restored beside the usual ones.
    pub(super) wanted: Wanted,
    /// How the bytes of files are hashed on their way.
    pub(super) hashes: Option<&'static Algorithm>,
    pub(super) monitor: Arc<dyn Monitor>,
    pub(super) archive: Option<Archive>,
    /// Whether the target is on a server, and there may be more workers if they wait for it.
    pub(super) may_grow: bool,
    /// Ends the moves of large files once it is set.
    pub(super) stop: &'static AtomicBool,
    pub(super) bytes: AtomicU64,
    pub(super) space: Space,
    /// How files are written of which no page stays.
    pub(super) uncached: UncachedWrites,
    /// Hidden names for incomplete files that are about to be removed.
    pub(super) last_names: LastNames,
}

impl Shared {
    /// Begins an extraction with as many workers as the policy says.
    pub(super) fn new(
        policy: Policy,
        monitor: Arc<dyn Monitor>,
        archive: Option<Archive>,
    ) -> Shared {
        Shared {
            policy,
            began: Moment::now(),
            wanted: Wanted::default(),
            hashes: None,
            monitor,
            archive,
            may_grow: false,
            stop: &NEVER,
            bytes: AtomicU64::new(0),
            space: Space::new(),
            uncached: UncachedWrites::default(),
            last_names: LastNames::default(),
        }
    }

    /// Makes a call that takes space of the file system of an open file or directory, again after a flush if there
    /// is none.
    pub(super) fn taking_space<T>(
        &self,
        file: impl AsFd,
        call: impl FnMut() -> Result<T>,
    ) -> Result<T> {
        self.space.retry(file, || self.stop.load(Ordering::Relaxed), call)
    }

    /// Tells of a time that a member has got, if it is odd.
    pub(super) fn has_time(&self, name: &[u8], mtime: Moment) {
        if mtime.seconds < 0 || mtime > self.began {
            self.monitor.event(name, &Event::OddTime(mtime));
        }
    }

    /// Writes bytes of a file at an offset.
    pub(super) fn write(&self, file: &OwnedFd, bytes: &[u8], offset: u64) -> Result<()> {
        self.taking_space(file, || write_fully(file, bytes, offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_the_same_as_all_others() {
        for mode in [0o000, 0o600, 0o644, 0o755, 0o700, 0o711, 0o666] {
            assert!(is_for_any_group(mode), "{mode:o}");
        }
        for mode in [0o640, 0o660, 0o664, 0o750, 0o771, 0o654, 0o604, 0o646] {
            assert!(!is_for_any_group(mode), "{mode:o}");
        }
    }
}
