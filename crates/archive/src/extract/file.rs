//! Makes one regular file: creates it, moves its bytes, sets its attributes.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use haul_io::fully::write_fully;
use haul_io::transfer::move_file;
use haul_io::{Behind, DataError, DataPolicy, Extent, FileJob, Kit, Pair, Watch};
use haul_sys::data::ftruncate;
use haul_sys::fs::{
    Access, Create, Follow, Kind, OFlags, OpenHow, Stat, Time, TimePair, Wait, close, fchmod,
    fchown, fstat, futimens, openat, unlinkat,
};
use haul_sys::{CallError, Errno};

use super::attributes::{On, Restorer};
use super::event::{Action, Event};
use super::place::Place;
use super::policy::{Existing, Monitor, Owners, Permissions, Policy, Times};
use super::queue::Waiting;
use crate::attributes::Attributes as Wanted;
use crate::format::Member;
use crate::sharing::{SHARED_BYTES, parts, policy_of};

/// Where a file's bytes are.
pub(super) enum Content {
    /// In the archive, from this offset.
    InArchive(u64),
    /// In memory.
    Bytes(Vec<u8>),
}

/// A file to be made.
pub(super) struct Job {
    /// Position in the archive, so that files are handled in order where order matters.
    pub(super) number: u64,
    pub(super) name: Vec<u8>,
    pub(super) place: Place,
    pub(super) member: Member,
    pub(super) owner: Option<(u32, u32)>,
    pub(super) content: Content,
    pub(super) pair: Option<Arc<Pair>>,
}

/// Removes the names of owners, which are known by number now: members wait in memory, in queues, and
/// directories to the end.
pub(super) fn without_names(mut member: Member) -> Member {
    (member.user, member.group) = (Vec::new(), Vec::new());
    member
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
        let xattrs = self.member.xattrs.iter().map(|(name, value)| name.len() + value.len());
        let lists = self.member.acls.iter().chain([&self.member.context]).flatten().map(Vec::len);
        let attributes = xattrs.chain(lists).sum::<usize>();
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
}

/// Returns whether permissions give the group of a file the same as all others. In a directory that gives
/// its group to new files it may be another one than the member's at first.
const fn is_for_any_group(mode: u32) -> bool {
    (mode >> 3) & 0o7 == mode & 0o7
}

/// What all workers share.
pub(super) struct Shared {
    pub(super) policy: Policy,
    /// Attributes that are restored beside the usual ones.
    pub(super) wanted: Wanted,
    /// How bytes are moved from an archive that is a file.
    pub(super) data: DataPolicy,
    pub(super) monitor: Arc<dyn Monitor>,
    pub(super) archive: Option<Archive>,
    pub(super) stop: AtomicBool,
    pub(super) bytes: AtomicU64,
}

/// The attributes that a member gets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attributes {
    pub(super) mode: u32,
    pub(super) owner: Option<(u32, u32)>,
    pub(super) times: Option<TimePair>,
}

impl Shared {
    pub(super) fn attributes(&self, member: &Member, owner: Option<(u32, u32)>) -> Attributes {
        let mode = match self.policy.permissions {
            Permissions::Exact => member.mode,
            Permissions::Masked => member.mode & 0o777 & !self.policy.umask,
        };
        let mtime = Time { seconds: member.mtime.seconds, nanoseconds: member.mtime.nanoseconds };
        Attributes {
            mode,
            owner,
            times: (self.policy.times == Times::Archive)
                .then_some(TimePair { atime: Time::OMIT, mtime }),
        }
    }

    /// Returns what restores attributes beside the usual ones.
    pub(super) fn restorer(&self) -> Restorer<'_> {
        Restorer { wanted: &self.wanted, monitor: &*self.monitor }
    }

    /// Opens the file of a job: a new one, or with [`Existing::Overwrite`] an existing one.
    pub(super) fn open(&self, job: &Job) -> Result<OwnedFd, CallError> {
        let mode = job.member.mode & 0o777 & !self.policy.umask;
        let is_own = self.policy.owners == Owners::Own
            || (job.owner.is_some_and(|(uid, _)| uid == self.policy.user)
                && job.member.acls == [None, None]
                && is_for_any_group(mode));
        // Until the file has its owner, only the owner's bits are set.
        let mode = if is_own { mode } else { mode & 0o700 };
        // An extended attribute can be set only while the owner may write.
        let mode = if job.member.xattrs.is_empty() { mode } else { mode | 0o200 };
        let (create, extra) = match self.policy.existing {
            Existing::Overwrite => (Create::IfAbsent(mode), OFlags::empty()),
            _ => (Create::New(mode), OFlags::empty()),
        };
        let how =
            OpenHow { access: Access::Write, create, follow: Follow::No, wait: Wait::No, extra };
        let file = openat(&*job.place.parent, &job.place.leaf, how)?;
        if self.policy.existing == Existing::Overwrite {
            // Not by a flag: a device or a pipe that is in the way must not be written.
            if fstat(&file)?.kind() != Kind::Regular {
                return Err(CallError::new(haul_sys::Call::Openat, Errno::EXIST));
            }
            ftruncate(&file, 0)?;
        }
        Ok(file)
    }

    /// Makes the file of a job. Returns `false` if the name exists.
    pub(super) fn make(&self, job: &Job, kit: &mut Kit) -> bool {
        let file = match self.open(job) {
            Ok(file) => file,
            Err(error) if matches!(error.errno, Errno::EXIST | Errno::LOOP) => return false,
            Err(error) => {
                self.monitor.event(&job.name, &Event::Failed(Action::Open, error));
                return true;
            }
        };
        let filled = self.fill(job, &file, kit);
        self.complete(job, file, filled);
        true
    }

    fn fill(&self, job: &Job, file: &OwnedFd, kit: &mut Kit) -> Result<(), DataError> {
        let regions = job.member.data();
        let mut done = 0;
        for region in regions.iter().filter(|region| region.bytes > 0) {
            match &job.content {
                Content::Bytes(bytes) => {
                    let start = usize::try_from(done).unwrap_or(usize::MAX);
                    let end = start.saturating_add(usize::try_from(region.bytes).unwrap_or(0));
                    let bytes = bytes.get(start..end).ok_or(DataError::Changed)?;
                    write_fully(file, bytes, region.offset)?;
                }
                Content::InArchive(offset) => {
                    let source = offset + done;
                    for (at, bytes) in parts(source, region.offset, region.bytes) {
                        let extent = Extent {
                            source_offset: source + at,
                            target_offset: region.offset + at,
                            bytes,
                            behind: Behind::Nothing,
                        };
                        self.move_extent(job, file, extent, kit)?;
                    }
                }
            }
            done += region.bytes;
        }
        if job.member.regions.is_some() {
            ftruncate(file, job.member.size)?;
        }
        Ok(())
    }

    fn move_extent(
        &self,
        job: &Job,
        file: &OwnedFd,
        extent: Extent,
        kit: &mut Kit,
    ) -> Result<(), DataError> {
        let (Some(archive), Some(pair)) = (&self.archive, &job.pair) else {
            return Err(DataError::NoProgress);
        };
        let watch = Watch { stop: &self.stop, bytes: &self.bytes, pace: None };
        // A part of a block cannot be shared.
        let policy = policy_of(&self.data, extent.bytes < SHARED_BYTES);
        let whole =
            FileJob::whole(archive.file.as_fd(), file.as_fd(), &archive.stat, pair, &policy)
                .with_shared_files();
        move_file(&whole.part(extent), kit, watch).map(|_| ())
    }

    /// Sets the attributes of a file whose bytes were written, or removes it if they were not.
    pub(super) fn complete(&self, job: &Job, file: OwnedFd, filled: Result<(), DataError>) {
        if let Err(error) = filled {
            self.discard(job, &file);
            self.monitor.event(&job.name, &Event::Incomplete(error));
            return;
        }
        let attributes = self.attributes(&job.member, job.owner);
        self.settle(&job.name, &job.member, &file, attributes);
        if let Err(error) = close(file) {
            self.monitor.event(&job.name, &Event::Failed(Action::Close, error));
        }
    }

    /// Removes a file that is not complete, if the name is still that file.
    pub(super) fn discard(&self, job: &Job, file: &OwnedFd) {
        let named = haul_sys::fs::statat(&*job.place.parent, &job.place.leaf);
        let is_ours = matches!((fstat(file), named), (Ok(a), Ok(b)) if a.same_file(&b));
        if is_ours && let Err(error) = unlinkat(&*job.place.parent, &job.place.leaf) {
            self.monitor.event(&job.name, &Event::Failed(Action::Unlink, error));
        }
    }

    /// Sets owner, permissions and times of an open file or directory.
    pub(super) fn settle(
        &self,
        name: &[u8],
        member: &Member,
        file: &OwnedFd,
        attributes: Attributes,
    ) {
        let failed = |action, error| self.monitor.event(name, &Event::Failed(action, error));
        match fstat(file) {
            Ok(mut stat) => {
                if let Some((uid, gid)) = attributes.owner
                    && (stat.uid, stat.gid) != (uid, gid)
                {
                    match fchown(file, Some(uid), Some(gid)) {
                        // It may have removed bits of the mode, of files and not of directories.
                        Ok(()) => match fstat(file) {
                            Ok(now) => stat = now,
                            Err(error) => failed(Action::Stat, error),
                        },
                        Err(error) => failed(Action::Owner(uid, gid), error),
                    }
                }
                self.restorer().set_attributes(name, member, On::File(file));
                let mode = self.allowed_mode(name, member, attributes, &stat);
                if mode != stat.permissions()
                    && let Err(error) = fchmod(file, mode)
                {
                    failed(Action::Mode(mode), error);
                }
                self.restorer().set_acls(name, member, On::File(file), mode);
            }
            Err(error) => failed(Action::Stat, error),
        }
        if let Some(times) = attributes.times
            && let Err(error) = futimens(file, times)
        {
            failed(Action::Times, error);
        }
    }

    /// Removes the bits that run a program as its owner or group where that is not the archive's.
    fn allowed_mode(
        &self,
        name: &[u8],
        member: &Member,
        attributes: Attributes,
        stat: &Stat,
    ) -> u32 {
        let mode = attributes.mode;
        let (uid, gid) = match (self.policy.owners, attributes.owner) {
            (Owners::Own, _) => (Some(member.uid), Some(member.gid)),
            (_, Some((uid, gid))) => (Some(u64::from(uid)), Some(u64::from(gid))),
            // The owner of the archive cannot be set.
            (_, None) => (None, None),
        };
        let is_directory = stat.kind() == Kind::Directory;
        let mut refused = 0;
        if uid != Some(u64::from(stat.uid)) {
            refused |= 0o4000;
        }
        if gid != Some(u64::from(stat.gid)) {
            refused |= 0o2000;
        }
        if is_directory || mode & refused == 0 {
            return mode;
        }
        self.monitor.event(name, &Event::Unprivileged(mode & refused));
        mode & !refused
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
