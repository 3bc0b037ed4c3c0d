//! Samples of a part that another machine wrote: whether this machine sees them.
//!
//! Clients of some file systems (AFS, CIFS, stores of whole objects behind FUSE) keep a file that several
//! machines write at the same time apart, and the last one to close it wins. There a part would be lost
//! without an error. So blocks of each part are read here, through a descriptor that is opened after the
//! other machine has flushed it, and compared with the source.

use std::ffi::CStr;
use std::ops::Range;
use std::os::fd::{BorrowedFd, OwnedFd};

use haul_io::fully::read_fully;
use haul_sys::fs::{Follow, OpenHow, fstat, openat};

use super::find::follows_by_role;
use super::shared_file::SharedFile;
use crate::copy::entry::Entry;
use crate::copy::run::Run;

/// Bytes of a sample, and the greatest number of them.
const SAMPLE_BYTES: usize = 4096;
const SAMPLES: usize = 4;

/// Samples that are taken at least: at both ends of a part.
const LEAST_SAMPLES: usize = 2;

/// Returns whether the target has the bytes of the source where samples of a part are taken. Zeros alone
/// prove nothing, because a hole has them, too. Blocks for some requests to the file system.
pub(super) fn is_here(run: &Run<'_>, file: &SharedFile, range: &Range<u64>) -> bool {
    let Some(target) = open_target(run, file) else { return false };
    let Some(source) = source(run, file) else { return false };
    let (mut here, mut there) = ([0; SAMPLE_BYTES], [0; SAMPLE_BYTES]);
    let mut has_data = false;
    for (index, at) in places(range).into_iter().enumerate() {
        if index >= LEAST_SAMPLES && has_data {
            break;
        }
        let one = read_fully(source, &mut here, at).ok();
        let two = read_fully(&target, &mut there, at).ok();
        if one.is_none() || one != two || here != there {
            return false;
        }
        has_data |= here.iter().any(|byte| *byte != 0);
    }
    has_data
}

/// Returns where samples of a part are taken, in this order.
fn places(range: &Range<u64>) -> [u64; SAMPLES] {
    let bytes = range.end - range.start;
    let last = range.end - (SAMPLE_BYTES as u64).min(bytes);
    [range.start, last, range.start + bytes / 4, range.start + bytes / 2]
}

/// Opens the target again, through the page cache.
fn open_target(run: &Run<'_>, file: &SharedFile) -> Option<OwnedFd> {
    let found = file.open_target.as_ref()?;
    let handles = run.cache.of(&file.node).ok()?;
    let follow = if found.may_be_link { Follow::Yes } else { Follow::No };
    open(run, (handles.target(), &found.path), follow, found.ino)
}

/// Opens the source again, through the page cache, when the first sample is taken: the workers may have
/// set their descriptor to direct I/O. No other process writes to the source.
fn source<'f>(run: &Run<'_>, file: &'f SharedFile) -> Option<&'f OwnedFd> {
    if file.source_of_samples.get().is_none() {
        let handles = run.cache.of(&file.node).ok()?;
        let (node, name) = (&file.node, &file.source_name);
        let entry = Entry { node, source: name, target: &file.target_name, rest: None };
        let opened =
            open(run, (handles.source(), name), follows_by_role(run, &entry), file.stat.ino)?;
        // Another worker may have opened it meanwhile.
        let _ = file.source_of_samples.set(opened);
    }
    file.source_of_samples.get()
}

/// Opens a file to read from it, if it has this inode number.
fn open(
    run: &Run<'_>,
    (directory, name): (BorrowedFd<'_>, &CStr),
    follow: Follow,
    ino: u64,
) -> Option<OwnedFd> {
    let how = OpenHow::READ.following(follow);
    let fd = run.with_descriptors(|| openat(directory, name, how)).ok()?;
    fstat(&fd).is_ok_and(|now| now.ino == ino).then_some(fd)
}
