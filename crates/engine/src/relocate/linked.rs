//! Keeps hard links between the batches of a move.
//!
//! A copy knows only the names that it copies itself, and a command may need several copies: each
//! one's sources are removed before the next begins. So the move remembers the copies of files that
//! still have other names when one of their names is removed. If a later batch copies another name
//! of such a file, its copy is replaced by a hard link to the earlier one before the name is removed,
//! provided that neither the file nor the earlier copy has changed.

use haul_sys::sync::Mutex;
use std::collections::HashMap;
use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};

use haul_io::hidden::under_hidden_name;
use haul_sys::fs::{
    Follow, Kind, RenameMode, Stat, fstat, futimens, linkat, open_directory, renameat, statat,
    unlinkat,
};
use haul_sys::{Call, CallError, Errno, is_refused};

use super::copy_place;
use crate::metadata::times_of;
use crate::names::at::OwnedAt;
use crate::names::by_identity::{Identity, identity};
use crate::names::timestamp_precision;

/// Copy of a file with several names.
struct LinkedFile {
    /// Path of the copy, relative to the directory that the operands are moved into.
    path: Vec<u8>,
    /// State of the source after this run removed one of its names.
    source: Option<Stat>,
    /// State of the copy, if an earlier batch made it.
    copy: Option<Stat>,
}

/// Copies of the files with several names that the run has moved some names of.
#[derive(Default)]
pub(super) struct LinkedFiles {
    files: Mutex<HashMap<Identity, LinkedFile>>,
    /// Whether an earlier batch has left any.
    has_earlier: bool,
    /// Whether no batch follows, so that the run need not remember more of them.
    pub(super) is_last_batch: bool,
}

impl LinkedFiles {
    /// Receives a name that is about to be removed, with the path of its copy below `directory`.
    /// Replaces the copy by a hard link if an earlier batch has copied the file.
    pub(super) fn keep_links(
        &self,
        directory: BorrowedFd<'_>,
        stat: &Stat,
        path: impl FnOnce() -> Option<Vec<u8>>,
    ) -> haul_sys::Result<()> {
        let is_met = stat.nlink > 1 && !self.is_last_batch;
        if stat.kind() == Kind::Directory || !(is_met || self.has_earlier) {
            return Ok(());
        }
        // The lock also keeps two workers from restoring the times of one directory.
        let mut files = self.files.lock();
        let file = files.get(&identity(stat));
        if file.is_none() && !is_met {
            return Ok(());
        }
        let Some(path) = path() else { return Ok(()) };
        match file {
            Some(LinkedFile { copy: None, .. }) => return Ok(()),
            Some(LinkedFile { path: first, source: Some(source), copy: Some(copy) })
                if source.is_unchanged(stat) =>
            {
                let find = |path| copy_place::find(directory, path);
                if let Some((first, copied)) = find(first).zip(find(&path))
                    && relink((&first, copy), &copied, directory)? == Relinked::Yes
                {
                    return Ok(());
                }
            }
            _ => {}
        }
        // Only this batch's copy equals the file. Its further names become links to it.
        files.insert(identity(stat), LinkedFile { path, source: None, copy: None });
        Ok(())
    }

    /// Receives the state of a file after one of its names was removed.
    pub(super) fn unlinked(&self, after: &Stat) {
        let mut files = self.files.lock();
        if after.nlink == 0 {
            files.remove(&identity(after));
        } else if let Some(file) = files.get_mut(&identity(after)) {
            file.source = Some(*after);
        }
    }

    /// Ends a batch: describes the copies that later batches may need. `is_ours` tells whether the
    /// batch has made a file.
    pub(super) fn end_batch(&mut self, directory: BorrowedFd<'_>, is_ours: impl Fn(&Stat) -> bool) {
        let files = self.files.get_mut();
        files.retain(|_, file| {
            let Some(source) = &file.source else { return false };
            if file.copy.is_none() {
                file.copy = copy_place::find(directory, &file.path)
                    .and_then(|place| Some((place.stat().ok()?, place)))
                    .filter(|(copy, place)| is_ours(copy) && is_alike(source, copy, place))
                    .map(|(copy, _)| copy);
            }
            file.copy.is_some()
        });
        self.has_earlier = !files.is_empty();
    }
}

/// Returns whether a file can be the copy of a source.
fn is_alike(source: &Stat, copy: &Stat, place: &OwnedAt) -> bool {
    let step_ns = timestamp_precision::step_ns(copy, &place.directory);
    (copy.kind(), copy.rdev) == (source.kind(), source.rdev)
        && copy.size == source.size
        && !copy.same_file(source)
        && timestamp_precision::is_same(copy.mtime, source.mtime, step_ns)
}

/// Whether a copy was replaced by a hard link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relinked {
    Yes,
    /// One of the two copies is not what it was.
    No,
}

/// Replaces a copy by a hard link to the copy that an earlier batch has made of the same file.
fn relink(
    (first, before): (&OwnedAt, &Stat),
    copied: &OwnedAt,
    top: BorrowedFd<'_>,
) -> haul_sys::Result<Relinked> {
    let is_first =
        |now: &Stat| now.same_file(before) && (now.size, now.mtime) == (before.size, before.mtime);
    let now = copied.stat()?;
    if !first.stat().is_ok_and(|now| is_first(&now)) || !is_alike(before, &now, copied) {
        return Ok(Relinked::No);
    }
    let OwnedAt { directory, name } = copied;
    let parent = fstat(directory)?;
    let ((), hidden) = under_hidden_name(|hidden| {
        linkat(&first.directory, &first.name, directory, hidden, Follow::No)
    })?;
    let swapped = swap(directory.as_fd(), (&hidden, name), &now, is_first);
    // The times of the directory are those of its source already. That of the operands has none.
    if !parent.same_file(&fstat(top)?) {
        futimens(open_directory(directory, c".", Follow::No)?, times_of(&parent))?;
    }
    swapped
}

/// Gives a link, which has a hidden name, the name of a copy, if it is a link to the expected file. What another
/// process has put at that name meanwhile, or has written to the copy, stays.
fn swap(
    directory: BorrowedFd<'_>,
    (hidden, name): (&CStr, &CStr),
    copy: &Stat,
    is_expected: impl Fn(&Stat) -> bool,
) -> haul_sys::Result<Relinked> {
    let rename = |mode| renameat(directory, hidden, directory, name, mode);
    let linked = statat(directory, hidden).and_then(|link| match is_expected(&link) {
        true => Ok(()),
        false => Err(CallError::new(Call::Linkat, Errno::STALE)),
    });
    let renamed = match linked.and_then(|()| rename(RenameMode::Exchange)) {
        Err(error) if is_refused(error.call, error.errno) => {
            rename(RenameMode::Replace).map(|()| RenameMode::Replace)
        }
        answer => answer.map(|()| RenameMode::Exchange),
    };
    match renamed {
        Ok(RenameMode::Exchange) => {}
        Ok(_) => return Ok(Relinked::Yes),
        Err(error) => {
            // The first error is the one to report.
            let _removed = unlinkat(directory, hidden);
            return Err(error);
        }
    }
    // What had the name has the hidden one now.
    let replaced = statat(directory, hidden)?;
    if replaced.same_file(copy) && (replaced.size, replaced.mtime) == (copy.size, copy.mtime) {
        return unlinkat(directory, hidden).map(|()| Relinked::Yes);
    }
    rename(RenameMode::Exchange)?;
    if is_expected(&statat(directory, hidden)?) {
        unlinkat(directory, hidden)?;
    }
    Ok(Relinked::No)
}
