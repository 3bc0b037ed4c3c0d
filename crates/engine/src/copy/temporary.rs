//! Temporary files: files that are not complete, with a hidden name or none, and how they get their
//! final names.
//!
//! A file without a name is the first choice. Where there is none, or the file gets a striping, which Lustre
//! takes only from a call that makes a name, a hidden sibling that only its owner can access replaces it.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;

use haul_io::new_file::{Made, NewFile};
use haul_io::publish::{self, Named};
use haul_io::transfer::PARTED_BYTES;
use haul_sys::fs::{Access, Kind, OpenHow, Stat, fchmod, openat, readlinkat, statat};
use haul_sys::{Call, CallError, Errno};

use super::group::PendingCommit;
use super::item::{Item, Onto, Resumable, Temporary};
use super::layout;
use super::resumable;
use super::spelling;
use super::synchronized;
use crate::copy::entry::OpenEntry;
use crate::copy::run::Run;
use crate::data::request::{Consent, Existing, ModePolicy, Parts};
use crate::decide;
use crate::metadata;
use crate::metadata::striping::creating;
use crate::names::at::{At, DIRECTORY, OwnedAt};
use crate::names::by_identity::identity;
use crate::names::path::{directory_of, split};
use crate::sync::parts;

/// Number of symbolic links that the kernel follows one after the other (`MAXSYMLINKS`).
const MOST_LINKS: u32 = 40;

/// Temporary file that the run has just made.
pub(super) struct CreatedFile {
    pub(super) fd: OwnedFd,
    pub(super) temporary: Temporary,
    /// Mode that the run made the file with; `None` if the final mode depends on the file that it
    /// replaces.
    pub(super) mode: Option<u32>,
    /// Record from which a later run can resume.
    pub(super) partial: Option<Resumable>,
}

/// Result of publishing a file under its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Published {
    /// The file has its name.
    Yes,
    /// Another process's file has the name, and the policy keeps that file.
    Left,
    /// Another process's file has the name, and the policy makes that a failure.
    Refused,
}

impl Temporary {
    /// Makes a file that is to get the entry's name, or the name of the referent of that name.
    pub(super) fn make(
        run: &Run<'_>,
        entry: &OpenEntry<'_>,
        item: &Item,
        onto: Onto,
    ) -> haul_sys::Result<CreatedFile> {
        let own = entry.handles.target();
        let elsewhere = match &onto {
            Onto::Referent(seen) => Some(behind_link(own, entry.target, seen)?),
            Onto::Free | Onto::Replaced(_) | Onto::Overwritten => below(own, entry.target)?,
        };
        let directory = elsewhere.as_ref().map_or(own, |place| place.directory.as_fd());
        let inherits_mode = matches!(onto, Onto::Replaced(_) | Onto::Referent(_));
        let mode = if inherits_mode {
            0o600
        } else {
            metadata::creation_mode(
                &run.wanted(&item.stat, entry.node.new_owner),
                run.policy,
                entry.node.new_owner,
            )
        };
        let access = if run.reads_targets() { Access::ReadWrite } else { Access::Write };
        // Other processes find it by its name.
        let is_parted = run.has_others() && item.stat.size >= PARTED_BYTES;
        let layout = layout::wanted(run, entry, item);
        let has_name = is_parted || layout.is_some();
        let extra = creating(OpenHow::new_file(mode), layout.as_deref()).extra;
        let new = NewFile { directory, access, mode, extra };
        let mut partial = None;
        let made = if resumable::serves(run, entry, item) {
            let opened = resumable::open(run, entry, item, &new.closed(), layout.as_deref())?;
            partial = Some(opened.partial);
            opened.made
        } else if !has_name && let Some(made) = unnamed(run, &new)? {
            made
        } else {
            let made = new.closed().make_hidden(|call| run.creating(directory, c"", call))?;
            layout::give(run, entry, item, &made.file, layout.as_deref());
            made
        };
        let Made { file: fd, name: unpublished, mode } = made;
        let temporary = Temporary { elsewhere, unpublished, onto };
        Ok(CreatedFile { fd, temporary, mode: (!inherits_mode).then_some(mode), partial })
    }

    /// Returns the directory and the name that the file is to get.
    pub(super) fn place<'a>(
        &'a self,
        own: BorrowedFd<'a>,
        name: &'a CStr,
    ) -> (BorrowedFd<'a>, &'a CStr) {
        match &self.elsewhere {
            Some(place) => (place.directory.as_fd(), place.name.as_c_str()),
            None => (own, name),
        }
    }

    /// Returns the hidden name as a path from the directory of the entry, of which `name` is the path
    /// that the file is to get; `None` if it has none, or is behind a symbolic link.
    pub(super) fn hidden_path(&self, name: &CStr) -> Option<CString> {
        let hidden =
            self.unpublished.hidden().filter(|_| !matches!(self.onto, Onto::Referent(_)))?;
        let (parent, _) = split(name.to_bytes());
        let slash: &[u8] = if parent.is_empty() || parent.ends_with(b"/") { b"" } else { b"/" };
        CString::new([parent, slash, hidden.to_bytes()].concat()).ok()
    }

    /// Returns the directory of the name, if it is not the entry's own.
    pub(super) fn elsewhere(&self) -> Option<BorrowedFd<'_>> {
        self.elsewhere.as_ref().map(|place| place.directory.as_fd())
    }

    /// Returns the description and the place of the file to replace, if the new file inherits its
    /// metadata.
    pub(super) fn predecessor<'a>(
        &'a self,
        own: BorrowedFd<'a>,
        name: &'a CStr,
    ) -> Option<(BorrowedFd<'a>, &'a CStr, &'a Stat)> {
        let (Onto::Replaced(stat) | Onto::Referent(stat)) = &self.onto else { return None };
        let (directory, name) = self.place(own, name);
        Some((directory, name, stat))
    }

    /// Sets the final mode of a hidden sibling, where no other step sets it.
    pub(super) fn settle_mode(
        &self,
        run: &Run<'_>,
        fd: BorrowedFd<'_>,
        source: &Stat,
        made: Option<u32>,
    ) -> haul_sys::Result<()> {
        let is_settled = self.unpublished.hidden().is_none()
            || metadata::keeps_anything(run.policy)
            || run.policy.preserve.mode == ModePolicy::Keep;
        match made {
            Some(0o600) if !is_settled => {
                fchmod(fd, decide::usual_mode(source, run.policy) & !run.policy.umask)
            }
            _ => Ok(()),
        }
    }

    /// Publishes the file under its name. The bytes and attributes are complete.
    pub(super) fn name(
        &self,
        run: &Run<'_>,
        held: &PendingCommit,
        own: BorrowedFd<'_>,
    ) -> haul_sys::Result<(Published, Named)> {
        let (directory, name) = self.place(own, &held.target_name);
        let mut placed = Published::Yes;
        let file = held.target.fd.as_fd();
        // A commit group flushes the bytes before this call, and the names after it.
        let publish = |onto| self.unpublished.publish(file, directory, name, onto, &run.space);
        let replace = || {
            // Also of a file that looks the same: its bytes may be others, and it loses its name.
            synchronized::back_up(run, &held.entry(), At { directory, name })?;
            publish(publish::Onto::Taken)
        };
        let answer = match self.onto {
            Onto::Free => match publish(publish::Onto::Free) {
                Err(error) if error.errno == Errno::EXIST => {
                    placed = self.met(run, held, directory, name)?;
                    if placed == Published::Yes { replace() } else { Ok(Named::AtOnce) }
                }
                answer => answer,
            },
            Onto::Replaced(_) | Onto::Referent(_) | Onto::Overwritten => replace(),
        };
        if let Some(Parts::Directory(path)) =
            run.synchronized.as_ref().and_then(|of| of.rules.parts.as_ref())
            && answer.is_ok()
        {
            parts::remove(At { directory, name }, path);
        }
        answer.map(|named| (placed, named))
    }

    /// Decides about a name that was free when the run looked at it and has been taken since.
    fn met(
        &self,
        run: &Run<'_>,
        held: &PendingCommit,
        directory: BorrowedFd<'_>,
        name: &CStr,
    ) -> haul_sys::Result<Published> {
        let entry = held.entry();
        let now = match statat(directory, name) {
            Ok(now) => now,
            Err(error) if error.errno == Errno::NOENT => return Ok(Published::Yes),
            Err(error) => return Err(error),
        };
        let policy = run.policy;
        let stays = policy.existing == Existing::Keep
            || policy.consent == Consent::Denied
            || policy.synchronize.as_ref().is_some_and(|rules| rules.only_missing);
        if !entry.is_alone(run) && stays {
            return Ok(Published::Left);
        }
        // In a directory that this run made, another process has planted the file; the same holds
        // for anything but a regular file.
        let may_replace = !entry.is_alone(run)
            && now.kind() == Kind::Regular
            && policy.existing == Existing::Overwrite
            && policy.consent == Consent::NotNeeded
            && policy.backup.is_none()
            && !spelling::is_other(directory, name, &now)
            && !run.made.owner(identity(&now), entry.newcomer(&held.stat)).is_another()
            && !(entry.is_operand() && run.is_operand_name(entry.target, identity(&now)));
        Ok(if may_replace { Published::Yes } else { Published::Refused })
    }

    /// Removes the hidden name of a file that the run did not complete.
    pub(super) fn discard(&self, own: BorrowedFd<'_>) -> haul_sys::Result<()> {
        self.unpublished.discard(self.elsewhere().unwrap_or(own))
    }
}

/// Makes a file without a name. Returns `None` where the file system does not support that, and
/// remembers the answer.
fn unnamed(run: &Run<'_>, new: &NewFile<'_>) -> haul_sys::Result<Option<Made>> {
    if !run.unnamed_files.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let made = new.make_unnamed(|call| run.creating(new.directory, c"", call))?;
    if made.is_none() {
        run.unnamed_files.store(false, Ordering::Relaxed);
    }
    Ok(made)
}

/// Finds the directory of a path of several components.
pub(super) fn below(own: BorrowedFd<'_>, path: &CStr) -> haul_sys::Result<Option<OwnedAt>> {
    let (parent, name) = split(path.to_bytes());
    if path.to_bytes().ends_with(b"/") {
        // Only a directory can have a name that ends in a slash; open(2) fails with the same errno.
        return Err(CallError::new(Call::Openat, Errno::ISDIR));
    }
    if parent.is_empty() {
        return Ok(None);
    }
    let invalid = |_| CallError::new(Call::Openat, Errno::INVAL);
    let parent = CString::new(parent).map_err(invalid)?;
    let directory = openat(own, &parent, DIRECTORY)?;
    Ok(Some(OwnedAt { directory, name: CString::new(name).map_err(invalid)? }))
}

/// Finds the directory and name of the referent of a link. The referent has to be the file that the
/// run described. Each link on the way is read in its own directory, which needs no `/proc`.
fn behind_link(own: BorrowedFd<'_>, link: &CStr, seen: &Stat) -> haul_sys::Result<OwnedAt> {
    let stale = CallError::new(Call::Openat, Errno::STALE);
    let mut path = link.to_owned();
    let mut base = openat(own, c".", DIRECTORY)?;
    for _ in 0..=MOST_LINKS {
        let directory = openat(&base, &directory_of(path.to_bytes()), DIRECTORY)?;
        let name = CString::new(split(path.to_bytes()).1).map_err(|_| stale)?;
        let found = statat(&directory, &name)?;
        if found.kind() != Kind::Symlink {
            return if found.same_file(seen) {
                Ok(OwnedAt { directory, name })
            } else {
                Err(stale)
            };
        }
        path = readlinkat(&directory, &name)?;
        base = directory;
    }
    Err(CallError::new(Call::Openat, Errno::LOOP))
}
