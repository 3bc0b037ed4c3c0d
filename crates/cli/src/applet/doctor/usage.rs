//! What haul does in a file system: it copies files there, with the code of `cp`, and tells how.

use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};

use haul_io::quirk::{GroupSync, HoleMap, NameSync};
use haul_io::report::Refusal;
use haul_io::transfer::move_file;
use haul_io::{DataPolicy, Device, FileJob, Kit, Pair, Tell, Watch};
use haul_sys::fs::fstat;

use super::scratch;
use crate::profile::{Wanted, find};

/// Sizes of the files that are copied: one of which each method costs a call or two, and one that is
/// worth a worker of its own.
const COPIED_BYTES: [usize; 2] = [64 << 10, 8 << 20];

/// How a file was copied.
#[derive(Debug)]
pub(super) struct Copied {
    pub(super) bytes: usize,
    /// The method, and those before it that were not used; or why nothing was copied.
    pub(super) method: Result<(&'static str, Vec<Refusal>), String>,
}

/// What haul does in a file system.
#[derive(Debug)]
pub(super) struct Usage {
    /// Copies of cached files within it.
    pub(super) copies: Vec<Copied>,
    pub(super) holes: &'static str,
    /// How many files become durable together.
    pub(super) durability: &'static str,
    /// Bytes that a run copies before `--cache=auto` becomes `restore`.
    pub(super) restore_above: Option<u64>,
    /// Workers of a copy.
    pub(super) workers: usize,
    /// The profile of `haul tune`, or why there is none.
    pub(super) profile: String,
}

/// Tries what haul does in a directory.
pub(super) fn of(directory: &OwnedFd, device: Device, path: &Path) -> Usage {
    let quirk = device.quirk;
    Usage {
        copies: COPIED_BYTES
            .into_iter()
            .map(|bytes| Copied { bytes, method: copied(directory, device, bytes) })
            .collect(),
        holes: match quirk.hole_map {
            HoleMap::Trusted => "the file system's map of holes is used",
            HoleMap::Doubted => "files with holes are read whole, and zeros become holes",
        },
        durability: match (quirk.group_sync, quirk.name_sync) {
            (GroupSync::Whole, NameSync::Directory) => {
                "many files: one syncfs, then fsync of each directory"
            }
            (GroupSync::Whole, NameSync::FileSystem) => "many files: one syncfs, then another",
            (GroupSync::Short, NameSync::Directory) => "fsync of each file and each directory",
            (GroupSync::Short, NameSync::FileSystem) => "fsync of each file, then one syncfs",
        },
        restore_above: haul_io::cache::ledger::room_of_run().map(|bytes| bytes / 2),
        workers: haul_engine::request::default_jobs(),
        profile: match find(&Wanted::Auto, path, path) {
            Ok(Some(profile)) => profile.line(),
            Ok(None) => {
                "profile: none for this device; 'haul tune' measures it and makes one".to_owned()
            }
            Err(why) => format!("profile: {why}"),
        },
    }
}

fn copied(
    directory: &OwnedFd,
    device: Device,
    bytes: usize,
) -> Result<(&'static str, Vec<Refusal>), String> {
    let text = |error: haul_sys::CallError| error.to_string();
    let source = scratch::filled(directory, bytes)?;
    let target = scratch::in_directory(directory).map_err(text)?;
    let stat = fstat(&source).map_err(text)?;
    let pair = Pair::new(device, device);
    let policy = DataPolicy { tell: Tell::Everything, ..DataPolicy::PLAIN };
    let job = FileJob::whole(source.as_fd(), target.as_fd(), &stat, &pair, &policy);
    let (stop, counted) = (AtomicBool::new(false), AtomicU64::new(0));
    let watch = Watch { stop: &stop, bytes: &counted, pace: None };
    let moved = move_file(&job, &mut Kit::new(), watch).map_err(|error| error.to_string())?;
    let refused = moved.report.as_deref().map(|report| report.refused.clone());
    Ok((moved.method_name(), refused.unwrap_or_default()))
}
