//! Samples of a part that another machine wrote: whether this machine sees them.
//!
//! Clients of some file systems (AFS, CIFS, stores of whole objects behind FUSE) keep a file that several
//! machines write at the same time apart, and the last one to close it wins. There a part would be lost
//! without an error. So blocks of each part are read here, through a descriptor that is opened after the
//! other machine has flushed it, and compared with the source.

use std::ops::Range;
use std::os::fd::OwnedFd;

use haul_io::fully::read_fully;
use haul_sys::fs::{Follow, OpenHow, fstat, openat};

use super::find::follows;
use super::shared_file::SharedFile;
use crate::entry::Entry;
use crate::run::Run;

/// Blocks that are compared, and their size.
const SAMPLES: u64 = 4;
const SAMPLE_BYTES: usize = 4096;

/// Returns whether the target has the bytes of the source where samples of a part are taken. Zeros alone
/// prove nothing, because a hole has them, too. Blocks for some requests to the file system.
pub(super) fn is_here(run: &Run<'_>, file: &SharedFile, range: &Range<u64>) -> bool {
    let Some((source, target)) = open(run, file) else { return false };
    let step = (range.end - range.start) / SAMPLES;
    let last = range.end - (SAMPLE_BYTES as u64).min(range.end - range.start);
    let (mut here, mut there) = ([0; SAMPLE_BYTES], [0; SAMPLE_BYTES]);
    let mut has_data = false;
    for index in 0..SAMPLES {
        let at = if index + 1 == SAMPLES { last } else { range.start + index * step };
        let one = read_fully(&source, &mut here, at).ok();
        let two = read_fully(&target, &mut there, at).ok();
        if one.is_none() || one != two || here != there {
            return false;
        }
        has_data |= here.iter().any(|byte| *byte != 0);
    }
    has_data
}

/// Opens both files again, through the page cache.
fn open(run: &Run<'_>, file: &SharedFile) -> Option<(OwnedFd, OwnedFd)> {
    let found = file.open_target.as_ref()?;
    let handles = run.cache.of(&file.node).ok()?;
    let through = if found.may_be_link { Follow::Yes } else { Follow::No };
    let (node, name) = (&file.node, &file.source_name);
    let entry = Entry { node, source: name, target: &file.target_name, rest: None };
    let read = |follow| OpenHow::READ.following(follow);
    let open = |directory, name, how| run.with_descriptors(|| openat(directory, name, how)).ok();
    let target = open(handles.target(), &found.path, read(through))?;
    let source = open(handles.source(), name, read(follows(run, &entry)))?;
    let is_same = |fd: &OwnedFd, ino: u64| fstat(fd).is_ok_and(|now| now.ino == ino);
    let are_same = is_same(&target, found.ino) && is_same(&source, file.stat.ino);
    are_same.then_some((source, target))
}
