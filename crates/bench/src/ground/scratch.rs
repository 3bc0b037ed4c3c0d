//! Folders that are ours, and how the next run knows what an earlier one left.
//!
//! Whatever is made lies below a folder with a marker that names the process. A run takes its
//! folder away on every path out, but a process can be killed; so each run first looks for folders
//! whose process is gone, unmounts what is mounted in them and removes them.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use haul_manifest::remove_tree;

use super::helper::helper;
use super::mounts::mounts;
use crate::trouble::{Result, Trouble};

/// The name of the marker in each of our folders.
pub const MARKER: &str = ".haul-bench-scratch";

/// What names of folders that we choose ourselves begin with.
const PREFIX: &str = "haul-bench-";

/// A file system that was busy for a moment (an indexer, a late close) is free after a fraction of
/// a second; one that is not will not be.
const UNMOUNT_TRIES: u32 = 20;
const UNMOUNT_WAIT: Duration = Duration::from_millis(100);

/// A folder that is ours.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    /// Whether the folder was there before and only its contents are ours.
    kept: bool,
    removed: bool,
}

impl Scratch {
    /// Makes a folder with a new name in `base`.
    pub(crate) fn create(base: &Path) -> Result<Scratch> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = base.join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&path).map_err(Trouble::file("create", &path))?;
        let scratch = Scratch { path, kept: false, removed: false };
        scratch.mark()?;
        Ok(scratch)
    }

    /// Takes a folder that the user names: one that is not there yet, or is empty, or has the
    /// marker of a process that is gone, whose leavings are removed.
    pub(crate) fn claim(path: &Path) -> Result<Scratch> {
        let mut kept = false;
        match fs::create_dir(path) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                kept = true;
                let mut entries = fs::read_dir(path).map_err(Trouble::file("list", path))?;
                if entries.next().is_some() {
                    let marker = fs::read_to_string(path.join(MARKER))
                        .map_err(|_| Trouble::ForeignFolder(path.to_owned()))?;
                    let owner = Owner::parse(&marker)
                        .ok_or_else(|| Trouble::ForeignFolder(path.to_owned()))?;
                    if owner.is_alive() {
                        return Err(Trouble::BusyFolder { path: path.to_owned(), pid: owner.pid });
                    }
                    kept = owner.kept;
                    empty(path)?;
                }
            }
            Err(error) => return Err(Trouble::file("create", path)(error)),
        }
        let scratch = Scratch { path: path.to_owned(), kept, removed: false };
        scratch.mark()?;
        Ok(scratch)
    }

    /// Returns the folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the folder and everything in it; unmounts what is still mounted. Does nothing the
    /// second time.
    pub(crate) fn remove(&mut self) -> Result<()> {
        if self.removed {
            return Ok(());
        }
        empty(&self.path)?;
        if !self.kept {
            fs::remove_dir(&self.path).map_err(Trouble::file("remove", &self.path))?;
        }
        self.removed = true;
        Ok(())
    }

    fn mark(&self) -> Result<()> {
        let owner = Owner::this(self.kept);
        let path = self.path.join(MARKER);
        let mut file = fs::File::create_new(&path).map_err(Trouble::file("create", &path))?;
        file.write_all(owner.text().as_bytes()).map_err(Trouble::file("write", &path))
    }
}

/// The process that a folder belongs to.
#[derive(Debug, PartialEq, Eq)]
struct Owner {
    pid: u32,
    /// When it started, in ticks since the machine did: process ids come again.
    started: u64,
    kept: bool,
}

impl Owner {
    fn this(kept: bool) -> Owner {
        let pid = std::process::id();
        Owner { pid, started: started(pid).unwrap_or(0), kept }
    }

    fn text(&self) -> String {
        let Owner { pid, started, kept } = self;
        format!(
            "A scratch folder of haul bench: it may be removed when process {pid} is gone.\n\
                 pid {pid}\nstarted {started}\nkept {}\n",
            u8::from(*kept)
        )
    }

    fn parse(text: &str) -> Option<Owner> {
        let field = |name: &str| {
            text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok())
        };
        Some(Owner {
            pid: u32::try_from(field("pid ")?).ok()?,
            started: field("started ")?,
            kept: field("kept ")? != 0,
        })
    }

    fn is_alive(&self) -> bool {
        started(self.pid) == Some(self.started)
    }
}

/// Returns when a process started; `None` if there is no such process.
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in brackets, may have blanks and brackets in it; the fields after it do not.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(19)?.parse().ok()
}

/// A folder that a killed run left.
#[derive(Debug)]
pub struct Swept {
    /// The folder.
    pub path: PathBuf,
    /// Why it is still there, if it is.
    pub trouble: Option<Trouble>,
}

/// Removes what runs that were killed left in `base`, and returns their folders. What cannot be
/// removed is left, such as what another user left.
#[must_use]
pub fn sweep(base: &Path) -> Vec<Swept> {
    let mut swept = Vec::new();
    let Ok(entries) = fs::read_dir(base) else { return swept };
    for entry in entries.flatten() {
        let path = entry.path();
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let Ok(marker) = fs::read_to_string(path.join(MARKER)) else { continue };
        if !ours || Owner::parse(&marker).is_none_or(|owner| owner.is_alive()) {
            continue;
        }
        let removed = empty(&path)
            .and_then(|()| fs::remove_dir(&path).map_err(Trouble::file("remove", &path)));
        // Another run may have swept the same folder at the same time.
        let trouble = removed.err().filter(|_| path.exists());
        swept.push(Swept { path, trouble });
    }
    swept
}

/// Unmounts and removes everything in a folder of ours, the marker last.
fn empty(path: &Path) -> Result<()> {
    unmount_below(path)?;
    let entries = fs::read_dir(path).map_err(Trouble::file("list", path))?;
    for entry in entries {
        let entry = entry.map_err(Trouble::file("list", path))?;
        let inner = entry.path();
        if entry.file_name() == MARKER {
            continue;
        }
        if inner.extension().is_some_and(|extension| extension == "img") {
            detach(&inner)?;
        }
        remove_tree(&inner).map_err(Trouble::corpus(&inner))?;
    }
    let marker = path.join(MARKER);
    match fs::remove_file(&marker) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Trouble::file("remove", &marker)(error))
        }
        _ => Ok(()),
    }
}

/// Unmounts everything that is mounted below a path, the last first.
fn unmount_below(path: &Path) -> Result<()> {
    let path = path.canonicalize().map_err(Trouble::file("resolve", path))?;
    for mount in mounts()?.iter().rev().filter(|mount| mount.point.starts_with(&path)) {
        unmount(&mount.point)?;
    }
    Ok(())
}

/// Unmounts a file system; waits a little while it is busy.
pub(super) fn unmount(point: &Path) -> Result<()> {
    let mut last = helper("umount", &[point]);
    for _ in 1..UNMOUNT_TRIES {
        if last.is_ok() {
            break;
        }
        std::thread::sleep(UNMOUNT_WAIT);
        last = helper("umount", &[point]);
    }
    last.map(|_| ())
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
