//! Removal of files that an earlier run left.
//!
//! A run removes its directory on every exit path, but a process can be killed; so each run first
//! looks for directories whose process has ended. It removes such a directory only if no other user
//! can have created it, and only the entries in its marker. It unmounts nothing: the mounts of a
//! killed run ended with its mount namespace, so a mount there belongs to another process.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use haul_sys::fs::{try_lock, unlock};

use super::helper::helper;
use super::pinned::Pinned;
use super::record::{MARKER_NAME, Record, is_folder_name};
use crate::error::{Error, Result};

/// A marker takes a line for each run of one case, and no case has a million.
const MARKER_BYTES_MAX: u64 = 16 << 20;

/// State of a directory.
#[derive(Debug)]
pub(super) enum Found {
    /// It cannot be shown that a run of this user created it.
    Foreign,
    /// A running benchmark uses it.
    Busy { pid: u32 },
    /// A run that has ended created it.
    Stale(Stale),
}

/// A directory of a run that has ended.
#[derive(Debug)]
pub(super) struct Stale {
    pinned: Pinned,
    names: Vec<CString>,
    /// Locked, so that no other run takes the directory at the same time.
    _marker: Marker,
}

/// Examines a directory. A marker or directory that other users can have written is rejected.
pub(super) fn examine(pinned: Pinned) -> Result<Found> {
    if !pinned.is_private()? {
        return Ok(Found::Foreign);
    }
    let Some(mut marker) = pinned.open_private_file(MARKER_NAME) else { return Ok(Found::Foreign) };
    let mut text = String::new();
    let read = marker.by_ref().take(MARKER_BYTES_MAX).read_to_string(&mut text);
    let record = read.ok().and_then(|_| Record::parse(&text));
    let Some(Record { owner, inode, names }) = record else { return Ok(Found::Foreign) };
    if inode != pinned.stat()?.ino {
        return Ok(Found::Foreign);
    }
    // The lock also detects processes in other containers. On file systems without locks, the
    // process id is used.
    let is_locked = matches!(try_lock(&marker), Ok(false));
    if is_locked || owner.is_alive() {
        return Ok(Found::Busy { pid: owner.pid });
    }
    Ok(Found::Stale(Stale { pinned, names, _marker: Marker(marker) }))
}

/// A marker, locked.
#[derive(Debug)]
struct Marker(File);

impl Drop for Marker {
    /// A directory that stays because of a file in it can be examined again at once.
    fn drop(&mut self) {
        _ = unlock(&self.0);
    }
}

impl Stale {
    /// Removes the entries that the run created, and returns the empty directory. Removes nothing
    /// if the directory has any other entry.
    pub(super) fn empty(self) -> Result<Pinned> {
        empty(&self.pinned, &self.names)?;
        Ok(self.pinned)
    }
}

/// Removes the recorded entries, the marker last, if there are no others.
pub(super) fn empty(pinned: &Pinned, names: &[CString]) -> Result<()> {
    let is_known = |name: &CStr| name == MARKER_NAME || names.iter().any(|known| **known == *name);
    pinned.refuse_others(is_known)?;
    for name in names {
        if name.to_bytes().ends_with(b".img") && pinned.is_only_name(name) {
            detach(&pinned.link().join(name.to_string_lossy().as_ref()))?;
        }
        pinned.remove(name)?;
    }
    pinned.remove(MARKER_NAME)
}

/// Detaches loop devices from an image: there is one if a process was killed between attaching and
/// mounting.
fn detach(image: &Path) -> Result<()> {
    let listed = helper(
        "losetup",
        &["-n".as_ref(), "-O".as_ref(), "NAME".as_ref(), "-j".as_ref(), image.as_os_str()],
    );
    // Without losetup, or without permission to run it, no device was ever attached.
    for device in listed.unwrap_or_default().lines() {
        helper("losetup", &["-d", device.trim()])?;
    }
    Ok(())
}

/// A directory that a killed run left.
#[derive(Debug)]
pub struct Swept {
    /// The directory.
    pub path: PathBuf,
    /// Why it could not be removed, if it still exists.
    pub trouble: Option<Error>,
}

/// Removes the directories that this user's killed runs left in `base`, and returns them. A
/// directory with an entry that its run did not create stays unchanged, and is returned with that
/// entry.
#[must_use]
pub fn sweep(base: &Path) -> Vec<Swept> {
    let mut swept = Vec::new();
    for (path, found) in own_folders(base) {
        let Found::Stale(stale) = found else { continue };
        let trouble = stale.empty().and_then(|pinned| pinned.remove_folder()).err();
        swept.push(Swept { path, trouble });
    }
    swept
}

/// Examines all directories in `base` whose name a run may have chosen.
pub(super) fn own_folders(base: &Path) -> impl Iterator<Item = (PathBuf, Found)> {
    let base = if base.as_os_str().is_empty() { Path::new(".") } else { base };
    let entries = std::fs::read_dir(base).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_folder_name));
    named.filter_map(move |entry| {
        let name = CString::new(entry.file_name().into_encoded_bytes()).ok()?;
        let found = Pinned::open(base, &name).and_then(examine).ok()?;
        Some((entry.path(), found))
    })
}
