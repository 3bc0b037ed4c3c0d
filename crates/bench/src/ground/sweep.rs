//! What an earlier run left: how it is known, and taken away.
//!
//! A run takes its folder away on every path out, but a process can be killed; so each run first
//! looks for folders whose process is gone. Such a folder is one that only this user can have made,
//! and of it only what its marker lists is removed. Nothing is unmounted: what a killed run had
//! mounted went with its mount namespace, so what is mounted there is somebody else's.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use haul_sys::fs::try_lock;

use super::held::Held;
use super::helper::helper;
use super::record::{MARKER_NAME, Record, is_folder_name};
use crate::trouble::{Result, Trouble};

/// A marker takes a line for each run of one case, and no case has a million.
const MARKER_BYTES_MAX: u64 = 16 << 20;

/// What a folder turned out to be.
#[derive(Debug)]
pub(super) enum Found {
    /// No run of this user made it, as far as that can be shown.
    Foreign,
    /// A run that still goes on has it.
    Busy { pid: u32 },
    /// A run that is gone made it.
    Stale(Stale),
}

/// A folder of a run that is gone.
#[derive(Debug)]
pub(super) struct Stale {
    held: Held,
    names: Vec<CString>,
    /// Locked, so that no other run takes the folder at the same time.
    _marker: File,
}

/// Looks at a folder. What others can have made or written is not believed.
pub(super) fn examine(held: Held) -> Result<Found> {
    if !held.is_private()? {
        return Ok(Found::Foreign);
    }
    let Some(mut marker) = held.open_private_file(MARKER_NAME) else { return Ok(Found::Foreign) };
    let mut text = String::new();
    let read = marker.by_ref().take(MARKER_BYTES_MAX).read_to_string(&mut text);
    let record = read.ok().and_then(|_| Record::parse(&text));
    let Some(Record { owner, inode, names }) = record else { return Ok(Found::Foreign) };
    if inode != held.stat()?.ino {
        return Ok(Found::Foreign);
    }
    // The lock tells of processes in other containers too. Where there are no locks, the number does.
    let is_locked = matches!(try_lock(&marker), Ok(false));
    if is_locked || owner.is_alive() {
        return Ok(Found::Busy { pid: owner.pid });
    }
    Ok(Found::Stale(Stale { held, names, _marker: marker }))
}

impl Stale {
    /// Removes what the run made, and returns the folder, which is empty then. Removes nothing if
    /// there is anything else in it.
    pub(super) fn empty(self) -> Result<Held> {
        empty(&self.held, &self.names)?;
        Ok(self.held)
    }
}

/// Removes what is recorded, the marker last, if there is nothing else.
pub(super) fn empty(held: &Held, names: &[CString]) -> Result<()> {
    let is_known = |name: &CStr| name == MARKER_NAME || names.iter().any(|known| **known == *name);
    held.refuse_others(is_known)?;
    for name in names {
        if name.to_bytes().ends_with(b".img") && held.is_only_name(name) {
            detach(&held.link().join(name.to_string_lossy().as_ref()))?;
        }
        held.remove(name)?;
    }
    held.remove(MARKER_NAME)
}

/// Takes loop devices off an image: there is one if a process was killed between attaching and
/// mounting.
fn detach(image: &Path) -> Result<()> {
    let listed = helper(
        "losetup",
        &["-n".as_ref(), "-O".as_ref(), "NAME".as_ref(), "-j".as_ref(), image.as_os_str()],
    );
    // Without losetup, or without the right to ask, nothing was ever attached.
    for device in listed.unwrap_or_default().lines() {
        helper("losetup", &["-d", device.trim()])?;
    }
    Ok(())
}

/// A folder that a killed run left.
#[derive(Debug)]
pub struct Swept {
    /// The folder.
    pub path: PathBuf,
    /// Why it is still there, if it is.
    pub trouble: Option<Trouble>,
}

/// Removes what this user's killed runs left in `base`, and returns their folders. A folder in which
/// there is anything that its run did not make stays as it is, and is returned with that.
#[must_use]
pub fn sweep(base: &Path) -> Vec<Swept> {
    let mut swept = Vec::new();
    for (path, found) in own_folders(base) {
        let Found::Stale(stale) = found else { continue };
        let trouble = stale.empty().and_then(|held| held.remove_folder()).err();
        swept.push(Swept { path, trouble });
    }
    swept
}

/// Looks at all folders in `base` that have a name that a run may have chosen.
pub(super) fn own_folders(base: &Path) -> impl Iterator<Item = (PathBuf, Found)> {
    let base = if base.as_os_str().is_empty() { Path::new(".") } else { base };
    let entries = std::fs::read_dir(base).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_folder_name));
    named.filter_map(move |entry| {
        let name = CString::new(entry.file_name().into_encoded_bytes()).ok()?;
        let found = Held::open(base, &name).and_then(examine).ok()?;
        Some((entry.path(), found))
    })
}
