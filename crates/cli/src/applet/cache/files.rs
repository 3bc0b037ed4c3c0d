//! The files of trees, opened one after the other by several workers, and sums over them.

use haul_sys::sync::Mutex;
use std::collections::HashSet;
use std::ffi::{CString, OsString};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::{AtomicU64, Ordering};

use haul_engine::visit::{Visited, Visitor, visit_selected};
use haul_io::Device;
use haul_io::quirk::Evidence;
use haul_io::residency::{Asked, cached_bytes, dirty_bytes};
use haul_sys::fs::{Follow, Kind, OpenHow, Stat, fstat, openat};
use haul_sys::{CallError, errno_text};
use serde_json::{Value, json};

use crate::escape::quote;
use crate::output::Output;
use crate::progress::Progress;

/// What all parts of a run share.
pub(super) struct Run<'a> {
    pub(super) output: &'a Output,
    pub(super) progress: Progress<'a>,
    /// Whether lines are JSON.
    pub(super) json: bool,
    pub(super) jobs: usize,
    /// Number of files that could not be opened, read or flushed.
    pub(super) failures: AtomicU64,
}

impl Run<'_> {
    /// Reports that something cannot be done to a file.
    pub(super) fn fail(&self, action: &str, path: &[u8], why: &str) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        let text = format!("cannot {action} {}: {why}", quote(path));
        self.progress.aside(|| self.output.error(&text));
    }

    /// Prints an event: as a JSON line, or as a text.
    pub(super) fn tell(&self, json: impl FnOnce() -> Value, text: impl FnOnce() -> String) {
        let line = if self.json { crate::json_line::line(json()) } else { text() };
        self.progress.aside(|| self.output.line(&line));
    }
}

/// A regular file that is open for reading.
pub(super) struct Opened {
    /// The path as the user would type it.
    pub(super) path: Vec<u8>,
    /// The path below the tree; the last component if the tree is the file itself.
    pub(super) below: Vec<u8>,
    /// Whether the file is an operand itself.
    pub(super) is_operand: bool,
    pub(super) fd: OwnedFd,
    pub(super) stat: Stat,
    /// Whether the run has opened the file before, by another name or operand.
    pub(super) is_known: bool,
    device: Device,
}

/// How often a file is opened that is reached by several names or operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reached {
    /// Once.
    Once,
    /// Each time.
    EachTime,
}

impl Opened {
    pub(super) fn asked(&self) -> Asked<'_> {
        Asked { fd: self.fd.as_fd(), quirk: self.device.quirk }
    }

    /// Returns the device and inode numbers.
    pub(super) fn id(&self) -> (u64, u64) {
        (self.stat.dev, self.stat.ino)
    }

    /// Returns whether the file's pages are the file: its file system has no storage.
    pub(super) fn is_in_memory(&self) -> bool {
        self.device.quirk.evidence == Evidence::Memory
    }

    /// Returns what of the file is cached now, in whole pages; `None` where the kernel does not tell.
    pub(super) fn cached_bytes(&self) -> Option<u64> {
        cached_bytes(self.asked(), 0, self.stat.size)
    }
}

/// Opens the regular files of trees whose paths below the tree `wants` accepts, and passes them to `act`, which any
/// worker calls. Blocks until all are done.
pub(super) fn each_file(
    run: &Run<'_>,
    (trees, reached): (&[OsString], Reached),
    wants: &(dyn Fn(&[u8]) -> bool + Sync),
    act: &(dyn Fn(Opened) + Sync),
) {
    // The kernel hands no argument with a NUL to a program.
    let names: Vec<CString> =
        trees.iter().map(|tree| CString::new(tree.as_bytes()).unwrap_or_default()).collect();
    let names: Vec<_> = names.iter().map(CString::as_c_str).collect();
    let may_overlap = trees.len() > 1;
    let opening = Opening { run, wants, act, reached, may_overlap, seen: Mutex::default() };
    visit_selected(&names, run.jobs, None, &opening);
}

struct Opening<'a> {
    run: &'a Run<'a>,
    wants: &'a (dyn Fn(&[u8]) -> bool + Sync),
    act: &'a (dyn Fn(Opened) + Sync),
    reached: Reached,
    /// Whether a file may be in several operands.
    may_overlap: bool,
    /// The device and inode numbers of files that may be reached again.
    seen: Mutex<HashSet<(u64, u64)>>,
}

impl Visitor for Opening<'_> {
    fn visit(&self, visited: &Visited<'_>) {
        let is_operand = visited.follow == Follow::Yes;
        if visited.kind != Kind::Regular {
            if is_operand {
                self.run.fail("open", &visited.path(), "it is no regular file and no directory");
            }
            return;
        }
        let below = visited.below();
        if !(self.wants)(&below) {
            return;
        }
        // Without waiting: a FIFO may have taken the file's place.
        let opened =
            openat(visited.directory, visited.entry, OpenHow::READ.following(visited.follow))
                .and_then(|fd| Ok((fstat(&fd)?, Device::of(&fd)?, fd)));
        let (stat, device, fd) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                return self.run.fail("open", &visited.path(), &errno_text(error.errno));
            }
        };
        if stat.kind() != Kind::Regular {
            return;
        }
        let may_return = stat.nlink > 1 || self.may_overlap;
        let is_known = may_return && !self.seen.lock().insert((stat.dev, stat.ino));
        if !is_known || self.reached == Reached::EachTime {
            let path = visited.path();
            (self.act)(Opened { path, below, is_operand, fd, stat, is_known, device });
        }
    }

    fn failed(&self, path: &[u8], error: CallError) {
        self.run.fail("read", path, &errno_text(error.errno));
    }
}

/// What is cached of several files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) files: u64,
    pub(super) size_bytes: u64,
    /// Of the files of which the kernel tells.
    pub(super) cached_bytes: u64,
    /// Changed and not on storage yet; of the files of which the kernel tells.
    pub(super) dirty_bytes: u64,
    /// The cached bytes of file systems without storage, such as tmpfs: there the pages are the files.
    pub(super) memory_bytes: u64,
    /// Files of which the kernel does not tell what is cached.
    pub(super) unknown_files: u64,
    /// Files of which it does, but not what is changed.
    pub(super) unknown_dirty_files: u64,
}

impl Sum {
    /// Looks at one file.
    pub(super) fn of(file: &Opened) -> Sum {
        let cached = file.cached_bytes();
        let is_in_memory = file.is_in_memory();
        let has_none = cached == Some(0) || is_in_memory;
        let dirty = if has_none { Some(0) } else { dirty_bytes(file.asked()) };
        Sum {
            files: 1,
            size_bytes: file.stat.size,
            cached_bytes: cached.unwrap_or(0),
            dirty_bytes: dirty.unwrap_or(0),
            memory_bytes: cached.filter(|_| is_in_memory).unwrap_or(0),
            unknown_files: u64::from(cached.is_none()),
            unknown_dirty_files: u64::from(cached.is_some() && dirty.is_none()),
        }
    }

    pub(super) fn add(&mut self, other: Sum) {
        self.files += other.files;
        self.size_bytes = self.size_bytes.saturating_add(other.size_bytes);
        self.cached_bytes += other.cached_bytes;
        self.dirty_bytes += other.dirty_bytes;
        self.memory_bytes += other.memory_bytes;
        self.unknown_files += other.unknown_files;
        self.unknown_dirty_files += other.unknown_dirty_files;
    }

    /// Returns the figures as properties of a JSON object.
    pub(super) fn json(&self) -> Value {
        json!({
            "files": self.files,
            "size_bytes": self.size_bytes,
            "cached_bytes": self.cached_bytes,
            "dirty_bytes": self.dirty_bytes,
            "memory_bytes": self.memory_bytes,
            "unknown_files": self.unknown_files,
            "unknown_dirty_files": self.unknown_dirty_files,
        })
    }
}

/// Joins the properties of two JSON objects.
pub(super) fn joined(mut object: Value, more: Value) -> Value {
    if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
        object.extend(more);
    }
    object
}
