//! A regular file on its way to its name.

use std::os::fd::{AsFd as _, OwnedFd};

use haul_io::Cache;
use haul_io::caching::forget;
use haul_io::last_check::Stays;
use haul_io::new_file::NewFile;
use haul_io::publish::{Onto, Unpublished};
use haul_io::stored::flush_file;
use haul_io::trail::release;
use haul_sys::data::{Writeback, ftruncate, write_back};
use haul_sys::fs::{
    Access, Create, Follow, Kind, OFlags, OpenHow, Stat, Wait, close, duplicate, fstat, openat,
    statat,
};
use haul_sys::{Call, CallError, Errno, Result};

use super::event::{Action, Event};
use super::place::Place;
use super::policy::{Appearance, Existing, Owners};
use super::shared::{Content, Job, Shared, is_for_any_group};

/// A file whose bytes are written.
pub(super) struct Extracted {
    pub(super) file: OwnedFd,
    /// The digest of its bytes, if it is wanted.
    pub(super) digest: Option<Vec<u8>>,
    pub(super) pages: Pages,
    /// The file, as it was described before its attributes were set.
    pub(super) described: Option<Stat>,
    /// The mode that it was made with; `None` if it may have been there before.
    pub(super) made: Option<u32>,
    /// The state of its name, if it gets its own only when it is complete.
    unpublished: Option<Unpublished>,
}

impl Extracted {
    const fn new(file: OwnedFd, made: Option<u32>, unpublished: Option<Unpublished>) -> Extracted {
        Extracted { file, digest: None, pages: Pages::Stay, described: None, made, unpublished }
    }
}

/// What becomes of the pages of a new file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pages {
    Stay,
    /// It is written by requests after which the kernel drops them.
    Uncached,
    /// They are dropped when it is complete and on storage.
    Go,
}

/// What became of a file when its name was due.
pub(super) enum Published {
    Yes,
    /// The name is another file's, which the policy does not replace, or that of a directory.
    Exists(Extracted),
    /// This process, or the system, has no descriptor for a moment.
    NoDescriptor(Extracted, CallError),
    /// It was told.
    Failed,
}

impl Shared {
    /// Returns the mode that a file has until its attributes are set.
    fn first_mode(&self, job: &Job) -> u32 {
        let mode = job.member.mode & 0o777 & !self.policy.umask;
        let is_own = self.policy.owners == Owners::Own
            || (job.owner.is_some_and(|(uid, _)| uid == self.policy.user)
                && job.member.acls == [None, None]
                && is_for_any_group(mode));
        // Until the file has its owner, only the owner's bits are set.
        let mode = if is_own { mode } else { mode & 0o700 };
        // An extended attribute can be set only while the owner may write.
        if job.member.xattrs.is_empty() { mode } else { mode | 0o200 }
    }

    /// Opens the file of a job: a new one, or with [`Existing::Overwrite`] an existing one. Fails with
    /// `EEXIST` if the name exists and is not to be replaced.
    pub(super) fn open(&self, job: &Job) -> Result<Extracted> {
        match self.policy.appearance {
            Appearance::Gradual => self.open_by_name(job),
            Appearance::Whole | Appearance::Durable => self.open_without_name(job),
        }
    }

    fn open_by_name(&self, job: &Job) -> Result<Extracted> {
        let mode = self.first_mode(job);
        let (create, extra) = match self.policy.existing {
            Existing::Overwrite => (Create::IfAbsent(mode), OFlags::empty()),
            _ => (Create::New(mode), OFlags::empty()),
        };
        let how =
            OpenHow { access: Access::Write, create, follow: Follow::No, wait: Wait::No, extra };
        let parent = &*job.place.parent;
        let file = match self.taking_space(parent, || openat(parent, &job.place.leaf, how)) {
            // Without the permission to remove it, a directory that is in the way stays, also an empty one.
            Err(error) if error.errno == Errno::ISDIR && self.policy.may_remove_trees() => {
                return Err(exists());
            }
            answer => answer?,
        };
        if self.policy.existing == Existing::Overwrite {
            // Not by a flag: a device or a pipe that is in the way must not be written.
            // The archive is replaced by another file, as without the option.
            let stat = fstat(&file)?;
            if stat.kind() != Kind::Regular || self.policy.archive == Some((stat.dev, stat.ino)) {
                return Err(exists());
            }
            ftruncate(&file, 0)?;
        }
        let made = (self.policy.existing != Existing::Overwrite).then_some(mode);
        Ok(Extracted::new(file, made, None))
    }

    /// Returns whether a job writes to an existing file that has further names. Other members may be for these,
    /// and the last one has to win as a whole.
    pub(super) fn writes_to_links(&self, job: &Job) -> bool {
        let overwrites = self.policy.existing == Existing::Overwrite
            && self.policy.appearance == Appearance::Gradual;
        overwrites
            && statat(&*job.place.parent, &job.place.leaf)
                .is_ok_and(|stat| stat.kind() == Kind::Regular && stat.nlink > 1)
    }

    fn open_without_name(&self, job: &Job) -> Result<Extracted> {
        let parent = &*job.place.parent;
        // A file that stays is known before its bytes are written for nothing.
        if !self.replaces() && statat(parent, &job.place.leaf).is_ok() {
            return Err(exists());
        }
        let mode = self.first_mode(job);
        let new = NewFile::for_writing(parent.as_fd(), mode);
        let made = new.make(|call| self.taking_space(parent, call))?;
        Ok(Extracted::new(made.file, Some(mode), Some(made.name)))
    }

    /// Returns whether a complete file takes the name of an existing one.
    const fn replaces(&self) -> bool {
        !matches!(self.policy.existing, Existing::Keep | Existing::Skip)
    }

    /// Starts to write the bytes of a file to storage, if they will be waited for.
    pub(super) fn start_writing(&self, new: &Extracted) {
        if self.waits(new) {
            // Only a start: what goes wrong is heard when it is waited for.
            let _started = write_back(&new.file, 0, 0, Writeback::Start);
        }
    }

    /// Returns whether bytes are waited for before a file is published.
    pub(super) fn waits(&self, new: &Extracted) -> bool {
        self.policy.appearance == Appearance::Durable || new.pages == Pages::Go
    }

    /// Returns whether so many bytes that are about to be moved may stay in the page cache.
    pub(super) fn stay(&self, bytes: u64) -> bool {
        match self.policy.data.cache {
            Cache::Keep => true,
            Cache::Auto => self.policy.data.ledger.admits(bytes),
            Cache::Drop | Cache::Direct | Cache::Restore => false,
        }
    }

    /// Returns what becomes of the pages of the file of a job. Those of bytes that are moved within the kernel go
    /// behind them, as far as the ledger says.
    pub(super) fn pages_of(&self, job: &Job) -> Pages {
        let bytes = job.member.size;
        let is_in_memory = matches!(job.content, Content::Bytes(_));
        let goes = match self.policy.data.cache {
            Cache::Auto => is_in_memory && self.policy.data.ledger.put(bytes, bytes).is_none(),
            _ => !self.stay(bytes),
        };
        match (goes, is_in_memory) {
            (false, _) => Pages::Stay,
            (true, true) => Pages::Uncached,
            (true, false) => Pages::Go,
        }
    }

    /// Writes bytes of a new file at an offset, so that no page stays where none is to.
    pub(super) fn write_in(&self, new: &mut Extracted, bytes: &[u8], offset: u64) -> Result<()> {
        if new.pages != Pages::Uncached {
            return self.write(&new.file, bytes, offset);
        }
        let write = || self.uncached.write(new.file.as_fd(), bytes, offset);
        if !self.taking_space(&new.file, write)? {
            new.pages = Pages::Go;
        }
        Ok(())
    }

    /// Waits until the bytes of a file are on storage, if the policy asks for it, and drops their pages.
    /// Returns `false` if that failed, which was told.
    pub(super) fn wait(&self, job: &Job, new: &Extracted) -> bool {
        let (file, all) = (new.file.as_fd(), 0..job.member.size);
        let written = if self.policy.appearance == Appearance::Durable {
            let written =
                job.member.regions.as_ref().map_or(job.member.size, |regions| {
                    regions.iter().map(|region| region.bytes).sum()
                });
            flush_file(file, written).map(|()| {
                if new.pages == Pages::Go {
                    forget(file, &all);
                }
            })
        } else if new.pages == Pages::Go {
            release(file, &all)
        } else {
            return true;
        };
        if let Err(error) = written {
            self.monitor.event(&job.name, &Event::Failed(Action::Sync, error));
            self.discard(job, new);
            return false;
        }
        true
    }

    /// Gives a complete file its name and closes it. A file that does not get it is removed.
    pub(super) fn publish(&self, job: &Job, new: Extracted) -> Published {
        match self.give_name(job, &new) {
            Ok(()) => {}
            Err(error) if error.errno == Errno::EXIST => return Published::Exists(new),
            Err(error) if matches!(error.errno, Errno::MFILE | Errno::NFILE) => {
                return Published::NoDescriptor(new, error);
            }
            Err(error) => {
                self.monitor.event(&job.name, &Event::Failed(Action::Publish, error));
                self.discard(job, &new);
                return Published::Failed;
            }
        }
        let Extracted { file, digest, described, unpublished, .. } = new;
        // NFS, FUSE and quotas report here what they could not take.
        if let Err(error) = close(file) {
            self.monitor.event(&job.name, &Event::Failed(Action::Close, error));
            // What was published after an earlier close has all its bytes.
            if unpublished.is_none() {
                // Without a description by name alone: an incomplete file must not stay.
                let ours = match described {
                    Some(ours) => Ok(ours),
                    None => statat(&*job.place.parent, &job.place.leaf),
                };
                self.tell_removal(job, ours.and_then(|ours| self.remove_named(job, &ours)));
            }
            return Published::Failed;
        }
        if let Some(digest) = digest {
            self.monitor.hashed(&job.name, &digest);
        }
        Published::Yes
    }

    fn give_name(&self, job: &Job, new: &Extracted) -> Result<()> {
        let Some(unpublished) = &new.unpublished else { return Ok(()) };
        // NFS, FUSE and quotas report at a close what they could not take: before it has a name.
        close(duplicate(&new.file)?)?;
        let (file, parent) = (new.file.as_fd(), job.place.parent.as_fd());
        let give =
            |onto| unpublished.publish(file, parent, &job.place.leaf, onto, &self.space).map(drop);
        match give(Onto::Free) {
            // What else has the name, the thread that reads the archive removes, which has to know of it. A
            // file that had a hidden name and lost it could not get another one.
            Err(error)
                if error.errno == Errno::EXIST && self.replaces() && is_ordinary(&job.place) =>
            {
                give(Onto::Taken)
            }
            answer => answer,
        }
    }

    /// Removes a file that is not complete, if the name is still that file.
    pub(super) fn discard(&self, job: &Job, new: &Extracted) {
        let removed = match &new.unpublished {
            Some(unpublished) => unpublished.discard(job.place.parent.as_fd()),
            None => fstat(&new.file).and_then(|ours| self.remove_named(job, &ours)),
        };
        self.tell_removal(job, removed);
    }

    fn tell_removal(&self, job: &Job, removed: Result<()>) {
        if let Err(error) = removed {
            self.monitor.event(&job.name, &Event::Failed(Action::Unlink, error));
        }
    }

    /// Removes the name of a job if it is this file's.
    fn remove_named(&self, job: &Job, ours: &Stat) -> Result<()> {
        let place = (job.place.parent.as_fd(), job.place.leaf.as_c_str());
        match self.last_names.remove_same(place, ours) {
            Ok(()) | Err(Stays::Changed) => Ok(()),
            Err(Stays::Failed(error)) if error.errno == Errno::NOENT => Ok(()),
            Err(Stays::Failed(error)) => Err(error),
            Err(Stays::Beside(other)) => {
                let action = Action::GiveBack(other.name.into_bytes());
                self.monitor.event(&job.name, &Event::Failed(action, other.why));
                Ok(())
            }
        }
    }
}

/// Returns whether a name is that of a regular file, and of none that stands for a symbolic link.
fn is_ordinary(place: &Place) -> bool {
    statat(&*place.parent, &place.leaf).is_ok_and(|stat| {
        stat.kind() == Kind::Regular && (stat.size > 0 || stat.permissions() != 0)
    })
}

fn exists() -> CallError {
    CallError::new(Call::Openat, Errno::EXIST)
}
