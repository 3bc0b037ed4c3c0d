//! The thread that reads headers: directories, links, and who makes which file.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use haul_io::attributes::Target;
use haul_io::digest::Algorithm;
use haul_io::trail::PartsTrail;
use haul_io::{Device, Kit, Pair};
use haul_sys::fs::{
    Kind, OFlags, OpenHow, Pinned, Stat, fstat, mkdirat, openat, rmdirat, statat, unlinkat,
};
use haul_sys::{CallError, Errno};

use super::attributes;
use super::crew::Crew;
use super::event::{Action, Event};
use super::held::Held;
use super::in_flight::InFlight;
use super::kept_link::KeptLink;
use super::lacks_descriptors;
use super::place::{Place, Places, depth, handle};
use super::policy::{Existing, Monitor, Names, Owners, Policy};
use super::queue::Queue;
use super::remove_tree::remove_tree;
use super::shared::{Archive, Job, Shared, without_names};
use crate::accounts::Accounts;
use crate::attributes::Attributes;
use crate::format::{Member, MemberKind, ReadError, Reader};
use crate::room::Room;
use crate::safe_name::has_parent;
use crate::source::Source;

/// A directory whose attributes are set when everything in it is done.
pub(super) struct Delayed {
    pub(super) name: Vec<u8>,
    pub(super) dev_ino: (u64, u64),
    pub(super) member: Box<Member>,
    pub(super) attributes: attributes::Attributes,
}

/// A symbolic link that an empty file stands for until the end.
pub(super) struct Placeholder {
    pub(super) name: Vec<u8>,
    pub(super) dev_ino: (u64, u64),
    pub(super) member: Box<Member>,
    pub(super) owner: Option<(u32, u32)>,
    /// Further names that hard links gave it.
    pub(super) links: Vec<Vec<u8>>,
}

/// What becomes of a member whose name exists.
pub(super) enum Then {
    Retry,
    Skip,
    Fail,
}

/// An extraction.
pub struct Extractor {
    pub(super) shared: Arc<Shared>,
    pub(super) queue: Arc<Queue<Job>>,
    pub(super) crew: Option<Arc<Crew>>,
    pub(super) places: Places,
    pub(super) accounts: Accounts,
    pub(super) delayed: Vec<Delayed>,
    /// Their devices and inode numbers.
    are_delayed: HashSet<(u64, u64)>,
    /// Whether a link or a tree was removed for a later member: then names of earlier members may rightly lead to
    /// other files.
    has_moved_names: bool,
    pub(super) placeholders: Vec<Placeholder>,
    held: Held,
    /// Placeholders by device and inode number.
    pub(super) by_id: HashMap<(u64, u64), usize>,
    pub(super) in_flight: InFlight,
    pub(super) pairs: Vec<Arc<Pair>>,
    pub(super) last_pair: Option<(Arc<OwnedFd>, Arc<Pair>)>,
    pub(super) archive_offset: u64,
    pub(super) number: u64,
    pub(super) kit: Kit,
    /// Memory for the bytes of small files of a stream.
    pub(super) room: Room,
    /// Directories whose names have to be on stable storage at the end.
    pub(super) unsynced: BTreeSet<Vec<u8>>,
    /// One directory of each file system that has to be on stable storage at the end, by device.
    pub(super) elsewhere: HashMap<u64, OwnedFd>,
}

impl Extractor {
    /// Begins an extraction into an open directory. `archive` is the file that members can be moved
    /// from and where the archive begins in it. Fails if the file cannot be described.
    pub fn new(
        target: OwnedFd,
        policy: Policy,
        monitor: Arc<dyn Monitor>,
        archive: Option<(Arc<OwnedFd>, u64)>,
    ) -> Result<Extractor, CallError> {
        let archive_offset = archive.as_ref().map_or(0, |(_, offset)| *offset);
        let described = |(file, _)| -> Result<_, CallError> {
            Ok(Archive { stat: fstat(&file)?, file, trail: PartsTrail::default() })
        };
        let archive = archive.map(described).transpose()?;
        // Of a directory that cannot be described, the first member tells.
        let may_grow = policy.waiting_workers > policy.workers
            && Device::of(&target).is_ok_and(|device| device.quirk.is_remote());
        let places = Places::new(target, policy.names, policy.umask);
        let shared = Arc::new(Shared { may_grow, ..Shared::new(policy, monitor, archive) });
        Ok(Extractor {
            queue: Arc::new(Queue::new(may_grow)),
            crew: None,
            places,
            accounts: Accounts::default(),
            delayed: Vec::new(),
            are_delayed: HashSet::new(),
            has_moved_names: false,
            placeholders: Vec::new(),
            held: Held::default(),
            by_id: HashMap::new(),
            in_flight: InFlight::default(),
            pairs: Vec::new(),
            last_pair: None,
            archive_offset,
            number: 0,
            kit: Kit::new(),
            room: Room::default(),
            unsynced: BTreeSet::new(),
            elsewhere: HashMap::new(),
            shared,
        })
    }

    /// Also restores attributes beside the usual ones. To be called before the first member.
    #[must_use]
    pub fn restoring(self, wanted: Attributes) -> Extractor {
        self.with(|shared| shared.wanted = wanted)
    }

    /// Also hashes the bytes of regular files, for [`Monitor::hashed`]. To be called before the first member.
    #[must_use]
    pub fn hashing(self, algorithm: &'static Algorithm) -> Extractor {
        self.with(|shared| shared.hashes = Some(algorithm))
    }

    /// Cuts large files short once the flag is set, each of which has failed then. To be called before the first member.
    #[must_use]
    pub fn stopping(self, stop: &'static AtomicBool) -> Extractor {
        self.with(|shared| shared.stop = stop)
    }

    /// Changes what the workers share, before there are any.
    fn with(mut self, change: impl FnOnce(&mut Shared)) -> Extractor {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            change(shared);
        }
        self
    }

    pub(super) fn tell(&self, name: &[u8], event: &Event) {
        self.shared.monitor.event(name, event);
    }

    pub(super) fn failed(&self, name: &[u8], action: Action, error: CallError) {
        self.tell(name, &Event::Failed(action, error));
    }

    /// Extracts a member under a name, and a hard link to `link`; both come from `safe_name`, or are
    /// as in the archive with [`Names::Absolute`]. Blocks. Fails only if the archive cannot be read, or has more
    /// attributes than there may be in memory.
    pub fn member<S: Source>(
        &mut self,
        reader: &mut Reader<S>,
        mut member: Box<Member>,
        name: &[u8],
        link: &[u8],
    ) -> Result<(), ReadError> {
        // Members wait in memory: in queues, and directories to the end.
        self.shared.wanted.keep_wanted(&mut member);
        self.held.add(&member)?;
        let leads_out = has_parent(name) || name.starts_with(b"/");
        if leads_out && self.shared.policy.names == Names::Beneath {
            self.tell(name, &Event::LeadsOut);
            return Ok(());
        }
        if self.shared.policy.refuses(&member) {
            self.tell(name, &Event::Device);
            return Ok(());
        }
        self.number += 1;
        self.wait_for_name(name);
        match self.prepare(name, &member) {
            Then::Retry => {}
            Then::Skip | Then::Fail => return Ok(()),
        }
        match member.kind {
            MemberKind::Regular | MemberKind::Contiguous => {
                return self.file(reader, member, name);
            }
            MemberKind::Unknown(flag) => {
                self.tell(name, &Event::UnknownType(flag));
                return self.file(reader, member, name);
            }
            MemberKind::Directory | MemberKind::DumpDirectory => self.directory(member, name),
            MemberKind::Symlink => self.symlink(member, name),
            MemberKind::HardLink => self.hard_link(name, link),
            MemberKind::Fifo | MemberKind::CharDevice | MemberKind::BlockDevice => {
                self.node(&member, name);
            }
            MemberKind::VolumeLabel => {}
            MemberKind::Continued => self.tell(name, &Event::Continued),
        }
        Ok(())
    }

    /// Waits for the workers if one makes a file of this name, or of a name above it.
    pub(super) fn wait_for_name(&mut self, name: &[u8]) {
        if self.in_flight.must_wait(name) {
            self.drain();
        }
    }

    /// Waits for all workers, and makes the files that they gave back.
    pub(super) fn drain(&mut self) {
        self.in_flight.clear();
        let mut returned = self.queue.drain();
        returned.sort_by_key(|job| job.number);
        for job in returned {
            self.make_here(&job);
        }
    }

    /// Does what the policy asks for before the member is made.
    pub(super) fn prepare(&mut self, name: &[u8], member: &Member) -> Then {
        match self.shared.policy.existing {
            Existing::UnlinkFirst => {
                self.drain();
                // The target directory itself stays.
                if let Ok(place) = self.places.existing(name)
                    && place.leaf.as_c_str() != c"."
                    && let Err(error) = self.remove(&place)
                    && error.errno != Errno::NOENT
                {
                    self.failed(name, Action::Unlink, error);
                    return Then::Fail;
                }
                Then::Retry
            }
            Existing::KeepNewer => {
                self.drain();
                let place = self.places.existing(name);
                let is_newer = place.is_ok_and(|place| is_newer(&place, member));
                if is_newer {
                    self.tell(name, &Event::Newer);
                    return Then::Skip;
                }
                Then::Retry
            }
            _ => Then::Retry,
        }
    }

    /// Decides about a name that exists, and removes what is there if the policy allows it.
    pub(super) fn recover(
        &mut self,
        name: &[u8],
        place: &Place,
        member: &Member,
        error: CallError,
    ) -> Then {
        if !matches!(error.errno, Errno::EXIST | Errno::LOOP) {
            return Then::Fail;
        }
        match self.shared.policy.existing {
            Existing::Skip => {
                self.tell(name, &Event::Skipped);
                Then::Skip
            }
            Existing::Keep | Existing::UnlinkFirst => Then::Fail,
            Existing::KeepNewer if is_newer(place, member) => Then::Fail,
            Existing::KeepNewer
            | Existing::Replace
            | Existing::ReplaceKeepingDirectories
            | Existing::Overwrite => match self.remove(place) {
                Ok(()) => Then::Retry,
                Err(_) => Then::Fail,
            },
        }
    }

    /// Removes a name: a file, or an empty directory.
    pub(super) fn remove(&mut self, place: &Place) -> Result<(), CallError> {
        self.drain();
        self.forget_placeholder(place);
        let has_later_work = !self.delayed.is_empty() || !self.placeholders.is_empty();
        if has_later_work && !self.has_moved_names {
            let kind = statat(&*place.parent, &place.leaf).map(|stat| stat.kind());
            self.has_moved_names = kind == Ok(Kind::Symlink);
        }
        match unlinkat(&*place.parent, &place.leaf) {
            Err(error) if matches!(error.errno, Errno::ISDIR | Errno::PERM) => {
                let directory = statat(&*place.parent, &place.leaf);
                let Ok(Stat { dev, ino, .. }) = directory
                    .and_then(|stat| (stat.kind() == Kind::Directory).then_some(stat).ok_or(error))
                else {
                    return Err(error);
                };
                match rmdirat(&*place.parent, &place.leaf) {
                    Err(error)
                        if self.shared.policy.may_remove_trees()
                            && matches!(error.errno, Errno::NOTEMPTY | Errno::EXIST) =>
                    {
                        self.has_moved_names = true;
                        remove_tree(&place.parent, &place.leaf)?;
                    }
                    answer => answer?,
                }
                // Another directory may get its number.
                self.are_delayed.remove(&(dev, ino));
                self.places.forget();
                self.last_pair = None;
                Ok(())
            }
            answer => {
                // It may have been a link that earlier members went through.
                self.places.forget_links();
                self.last_pair = None;
                answer
            }
        }
    }

    /// Returns the owner that a member gets, if the policy sets one. Reports a number that this
    /// system cannot have.
    pub(super) fn owner(&mut self, member: &Member) -> Option<(u32, u32)> {
        let by_name = match self.shared.policy.owners {
            Owners::Own => return None,
            Owners::Named => true,
            Owners::Numbered => false,
        };
        let owner = self.accounts.owner(member, by_name);
        if owner.is_none() {
            let error = CallError::new(haul_sys::Call::Fchown, Errno::OVERFLOW);
            self.failed(&member.name, Action::Owner(u32::MAX, u32::MAX), error);
        }
        owner
    }

    pub(super) fn place(&mut self, name: &[u8], action: Action) -> Option<Place> {
        let mut found = self.places.of(name);
        if found.as_ref().is_err_and(|error| lacks_descriptors(*error)) {
            // The failure of a directory on the way is told by the second attempt.
            let _told_then = self.places.take_failure();
            self.free_descriptors();
            found = self.places.of(name);
        }
        match found {
            Ok(place) => {
                self.note_names(name, &place);
                // A worker may be making the same file under its other name.
                if place.through_link {
                    self.drain();
                }
                Some(place)
            }
            Err(error) => {
                if let Some((parent, why)) = self.places.take_failure() {
                    self.failed(&parent, Action::MakeDirectory, why);
                }
                self.failed(name, action, error);
                None
            }
        }
    }

    pub(super) fn directory(&mut self, member: Box<Member>, name: &[u8]) {
        let Some(place) = self.place(name, Action::MakeDirectory) else { return };
        let owner = self.owner(&member);
        let mut attributes = self.shared.attributes(&member, owner);
        let member = without_names(member);
        // Files can be made in it until its own permissions are set, by this process alone if it will
        // belong to another user.
        let owners = self.shared.policy.owners;
        let for_others = if owners == Owners::Own { 0o077 & !self.shared.policy.umask } else { 0 };
        let mode = (member.mode & for_others) | 0o700;
        loop {
            let make = || mkdirat(&*place.parent, &place.leaf, mode);
            let error = match self.shared.taking_space(&*place.parent, make) {
                Ok(()) => {
                    attributes.made = Some(mode);
                    break;
                }
                Err(error) => error,
            };
            if error.errno == Errno::EXIST
                && let Ok(stat) = statat(&*place.parent, &place.leaf)
                && stat.kind() == Kind::Directory
            {
                match self.shared.policy.existing {
                    Existing::ReplaceKeepingDirectories => {
                        return self.keep_attributes(member, name, &stat);
                    }
                    Existing::Keep | Existing::UnlinkFirst => return,
                    Existing::Skip => return self.tell(name, &Event::Skipped),
                    // One that is empty is made again.
                    Existing::KeepNewer => match self.remove(&place) {
                        Ok(()) => continue,
                        Err(_) => return,
                    },
                    Existing::Replace | Existing::Overwrite => break,
                }
            }
            if error.errno == Errno::EXIST {
                match KeptLink::of(&self.shared.policy, &mut self.places, name, &place) {
                    KeptLink::No => {}
                    KeptLink::Followed => return,
                    KeptLink::NotFollowed(why) => {
                        return self.failed(name, Action::FollowLink, why);
                    }
                }
            }
            match self.recover(name, &place, &member, error) {
                Then::Retry => {}
                Then::Skip => return,
                Then::Fail => return self.failed(name, Action::MakeDirectory, error),
            }
        }
        match statat(&*place.parent, &place.leaf) {
            Ok(stat) if stat.kind() == Kind::Directory => {
                let dev_ino = (stat.dev, stat.ino);
                let name = name.to_vec();
                self.delay(Delayed { name, dev_ino, member, attributes });
            }
            Ok(_) => self.failed(name, Action::MakeDirectory, exists()),
            Err(error) => self.failed(name, Action::Stat, error),
        }
    }

    /// Gives a directory the permissions at the end that it has now, and the time of the archive.
    pub(super) fn keep_attributes(&mut self, member: Box<Member>, name: &[u8], stat: &Stat) {
        let attributes = attributes::Attributes {
            mode: stat.permissions(),
            ..self.shared.attributes(&member, None)
        };
        let dev_ino = (stat.dev, stat.ino);
        // One that this extraction made has its permissions for the meantime.
        if !self.are_delayed.contains(&dev_ino) {
            self.delay(Delayed { name: name.to_vec(), dev_ino, member, attributes });
        }
    }

    /// Tells that the name of a member leads to another file, unless a later member has rightly changed that.
    pub(super) fn tell_exchanged(&self, name: &[u8]) {
        if !self.has_moved_names {
            self.tell(name, &Event::Exchanged);
        }
    }

    fn delay(&mut self, directory: Delayed) {
        self.are_delayed.insert(directory.dev_ino);
        self.delayed.push(directory);
    }

    /// Sets owner and times of a link, a device or a pipe, which is never opened.
    pub(super) fn settle_link(
        &self,
        name: &[u8],
        member: &Member,
        (place, kind): (&Place, Kind),
        attributes: attributes::Attributes,
    ) {
        // The name may have another meaning since it was made; a file of that kind cannot be it.
        let described = handle(&place.parent, &place.leaf).and_then(|file| {
            let stat = fstat(&file)?;
            let is_made = stat.kind() == kind;
            is_made
                .then_some((file, stat))
                .ok_or(CallError::new(haul_sys::Call::Fstat, Errno::STALE))
        });
        let (file, stat) = match described {
            Ok(described) => described,
            Err(error) => return self.failed(name, Action::Stat, error),
        };
        let (directory, leaf) = (place.parent.as_fd(), place.leaf.as_c_str());
        let target = Target::Handle(Pinned { file: file.as_fd(), directory, name: leaf });
        self.shared.settle(name, member, (target, &stat), attributes);
    }

    /// Returns the number of directories that were made because names of members need them, without
    /// being members.
    #[must_use]
    pub const fn parents_made(&self) -> u64 {
        self.places.made
    }

    /// Waits for the workers.
    pub fn wait(&mut self) {
        self.drain();
    }

    /// Ends the extraction: waits for the workers, makes the delayed symbolic links, and sets the
    /// attributes of directories, the deepest first.
    pub fn finish(mut self) {
        self.drain();
        for placeholder in std::mem::take(&mut self.placeholders) {
            self.replace_placeholder(&placeholder);
        }
        let mut delayed = std::mem::take(&mut self.delayed);
        delayed.sort_by_key(|directory| std::cmp::Reverse(depth(&directory.name)));
        for directory in &delayed {
            self.settle_directory(directory);
        }
        self.sync_names();
        if let Some(archive) = &self.shared.archive {
            archive.trail.finish(archive.file.as_fd());
        }
    }

    /// Returns whether a name is that of the directory with this device and inode number. What is no
    /// directory may have got the number of one that was removed.
    fn is_named(&mut self, name: &[u8], dev_ino: (u64, u64)) -> bool {
        let found = self.places.existing(name);
        let stat = found.and_then(|place| statat(&*place.parent, &place.leaf));
        stat.is_ok_and(|stat| stat.kind() == Kind::Directory && (stat.dev, stat.ino) == dev_ino)
    }

    pub(super) fn settle_directory(&mut self, directory: &Delayed) {
        let Delayed { name, dev_ino, member, attributes } = directory;
        let opened = self.places.existing(name).and_then(|place| {
            let how = OpenHow { extra: OFlags::DIRECTORY, ..OpenHow::READ };
            openat(&*place.parent, &place.leaf, how)
        });
        let file = match opened {
            Ok(file) => file,
            // A later member took the name.
            Err(error)
                if matches!(error.errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
                    && !self.is_named(name, *dev_ino) =>
            {
                return;
            }
            Err(error) => return self.failed(name, Action::Open, error),
        };
        match fstat(&file) {
            Ok(stat) if (stat.dev, stat.ino) == *dev_ino => {
                self.shared.settle_open(name, member, &file, *attributes);
            }
            // It was removed for a later member, or the attributes of the one that is there now are a later member's.
            Ok(stat)
                if !self.are_delayed.contains(dev_ino)
                    || self.are_delayed.contains(&(stat.dev, stat.ino)) => {}
            Ok(_) => self.tell_exchanged(name),
            Err(error) => self.failed(name, Action::Stat, error),
        }
    }
}

impl Drop for Extractor {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(crew) = self.crew.take() {
            crew.join();
        }
    }
}

pub(super) fn is_newer(place: &Place, member: &Member) -> bool {
    statat(&*place.parent, &place.leaf).is_ok_and(|stat| {
        let mtime = (stat.mtime.seconds, stat.mtime.nanoseconds);
        stat.kind() != Kind::Directory && (member.mtime.seconds, member.mtime.nanoseconds) <= mtime
    })
}

fn exists() -> CallError {
    CallError::new(haul_sys::Call::Mkdirat, Errno::EXIST)
}
