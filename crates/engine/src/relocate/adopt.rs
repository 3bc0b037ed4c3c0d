//! What an interrupted run has copied of a directory: whatever is certainly right stays, the rest
//! goes, and then the copy goes on.
//!
//! A file's times are applied last, so equal times say that its attributes arrived; that its bytes
//! did, only its bytes can say, for after a power cut a file may have its size and hold nothing.

use std::ffi::{CStr, CString};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use haul_sys::fs::{
    CWD, DirectoryBuffer, Follow, Kind, OpenHow, Stat, fchmod, for_each_entry, open_directory,
    openat, statat, unlinkat,
};

use super::approval::{COMPARED_BYTES, same_bytes};
use crate::copied_entries::CopiedEntries;
use crate::metadata::copied_attributes;
use crate::walk::path::join;

/// The deepest directory that is looked into: each level holds two descriptors. What lies deeper is
/// copied again.
const DEPTH: usize = 64;

/// A directory of the source and what there is of its copy.
struct Level {
    source: OwnedFd,
    copy: OwnedFd,
    /// The path of the copy below the waiting name.
    path: Vec<u8>,
    /// Directories that are still to be looked into.
    left: Vec<CString>,
}

/// Looks through an unfinished copy, and removes the files in it that are not certainly right.
/// Returns paths below it of directories that have to go as a whole.
pub(super) fn adopt(
    source: &CStr,
    (directory, waiting): (BorrowedFd<'_>, &CStr),
    (privileged, copied): (bool, &CopiedEntries),
    stop: &AtomicBool,
) -> haul_sys::Result<Vec<Vec<u8>>> {
    let mut adoption = Adoption {
        doomed: Vec::new(),
        privileged,
        copied,
        names: DirectoryBuffer::new(64 << 10),
        bytes: [vec![0; COMPARED_BYTES], vec![0; COMPARED_BYTES]],
    };
    let source = open_directory(CWD, source, Follow::No)?;
    let copy = open_directory(directory, waiting, Follow::No)?;
    let mut levels = vec![adoption.enter(source, copy, Vec::new())?];
    while let Some(level) = levels.last_mut() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let Some(name) = level.left.pop() else {
            levels.pop();
            continue;
        };
        let path = join(&[&level.path, name.to_bytes()]);
        let opened = open_directory(&level.source, &name, Follow::No)
            .and_then(|source| Ok((source, open_directory(&level.copy, &name, Follow::No)?)));
        match opened {
            Ok((source, copy)) if levels.len() < DEPTH => {
                levels.push(adoption.enter(source, copy, path)?);
            }
            _ => adoption.doomed.push(path),
        }
    }
    Ok(adoption.doomed)
}

struct Adoption<'a> {
    doomed: Vec<Vec<u8>>,
    privileged: bool,
    /// Where what stays is noted as copied.
    copied: &'a CopiedEntries,
    names: DirectoryBuffer,
    bytes: [Vec<u8>; 2],
}

impl Adoption<'_> {
    fn enter(&mut self, source: OwnedFd, copy: OwnedFd, path: Vec<u8>) -> haul_sys::Result<Level> {
        // Complete directories have their final modes, which may let others in.
        fchmod(&copy, 0o700)?;
        let mut names = Vec::new();
        while for_each_entry(&copy, &mut self.names, |entry| {
            names.push(entry.name.to_owned());
            ControlFlow::Continue(())
        })? {}
        let mut left = Vec::new();
        for name in names {
            let there = statat(&copy, &name)?;
            if there.kind() == Kind::Directory {
                left.push(name);
            } else if !self.is_right(source.as_fd(), copy.as_fd(), (&name, &there)) {
                unlinkat(&copy, &name)?;
            }
        }
        Ok(Level { source, copy, path, left })
    }

    /// Tells whether a file is a complete copy. One with several names is copied again, for the others
    /// have to find it.
    fn is_right(
        &mut self,
        source: BorrowedFd<'_>,
        copy: BorrowedFd<'_>,
        (name, there): (&CStr, &Stat),
    ) -> bool {
        let Ok(stat) = statat(source, name) else { return false };
        let both_plain = stat.kind() == Kind::Regular
            && there.kind() == Kind::Regular
            && (stat.nlink, there.nlink) == (1, 1);
        let owner = |stat: &Stat| (stat.uid, stat.gid);
        let is_right = both_plain
            && stat.size == there.size
            && stat.mtime == there.mtime
            && stat.permissions() == there.permissions()
            && (!self.privileged || owner(&stat) == owner(there))
            && self.has_same_bytes(source, copy, name).unwrap_or(false);
        if is_right {
            self.copied.insert(&stat);
        }
        is_right
    }

    fn has_same_bytes(
        &mut self,
        source: BorrowedFd<'_>,
        copy: BorrowedFd<'_>,
        name: &CStr,
    ) -> haul_sys::Result<bool> {
        let source = openat(source, name, OpenHow::READ)?;
        let copy = openat(copy, name, OpenHow::READ)?;
        // An attribute may have failed, or been set since.
        Ok(copied_attributes(source.as_fd())? == copied_attributes(copy.as_fd())?
            && same_bytes(&source, &copy, &mut self.bytes)?)
    }
}
