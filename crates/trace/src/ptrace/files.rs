//! The file of a stopped tracee's call, found through `/proc`.

use std::collections::{BTreeMap, HashMap};
use std::fs;

use haul_sys::ptrace::{Tid, read_memory};

use crate::calls::{Outcome, Shape, row_name};
use crate::report::merged;
use crate::{FileUse, Tally};

/// The longest path that the kernel takes, with its NUL (`PATH_MAX`).
const MOST_PATH_BYTES: usize = 4096;
/// The smallest page: reads of strings never cross into a page that may not be mapped.
const PAGE_BYTES: u64 = 4096;
/// Maximum number of distinct paths; bounds memory as the eBPF tables do.
const MOST_FILES: usize = 65_536;

/// The files of a call in progress.
#[derive(Clone, Default)]
pub(super) struct OpenCall {
    pub(super) first: Option<String>,
    pub(super) second: Option<String>,
    /// Its second path argument as it was given.
    pub(super) second_path: Option<String>,
}

/// The uses of each path.
#[derive(Default)]
pub(super) struct FileTable {
    uses: HashMap<String, BTreeMap<usize, Tally>>,
}

/// Result of a call for its files.
pub(super) struct Done {
    pub(super) row: usize,
    pub(super) elapsed_ns: u64,
    pub(super) size: Option<u64>,
    pub(super) errno: Option<i32>,
}

impl OpenCall {
    /// Looks up the files before the call, because `close` drops them.
    pub(super) fn look(tid: Tid, shape: &Shape, arguments: &[u64; 6]) -> OpenCall {
        let argument =
            |index: Option<u8>| index.and_then(|index| arguments.get(usize::from(index)).copied());
        let by_fd = |index| argument(index).and_then(|fd| path_of_fd(tid, as_fd(fd)));
        let first = match argument(shape.path) {
            Some(address) => path_argument(tid, address, argument(shape.directory).map(as_fd)),
            None => by_fd(shape.fd),
        };
        let second_path = argument(shape.second_path).and_then(|address| read_text(tid, address));
        OpenCall { first, second: by_fd(shape.second_fd), second_path }
    }

    /// Looks up the file that a call has opened.
    pub(super) fn opened(&mut self, tid: Tid, shape: &Shape, value: i64) {
        if shape.result == Outcome::Fd
            && let Ok(fd) = i32::try_from(value)
            && fd >= 0
        {
            self.first = path_of_fd(tid, fd).or(self.first.take());
        }
    }
}

impl FileTable {
    /// Adds a call that returned.
    pub(super) fn add(&mut self, call: OpenCall, done: &Done) {
        for path in [call.first, call.second].into_iter().flatten() {
            let has_room = self.uses.len() < MOST_FILES || self.uses.contains_key(&path);
            let path = if has_room { path } else { "(others)".into() };
            let tally = self.uses.entry(path).or_default().entry(done.row).or_default();
            tally.count_one(done.elapsed_ns, done.size, done.errno);
        }
    }

    /// Returns the uses.
    pub(super) fn into_files(self) -> Vec<FileUse> {
        merged(self.uses.into_iter().map(|(path, rows)| FileUse {
            path,
            calls: rows.into_iter().map(|(row, tally)| (row_name(row), tally)).collect(),
        }))
    }
}

/// A file descriptor as the kernel reads it from a register: its lower half.
fn as_fd(register: u64) -> i32 {
    i32::from_ne_bytes(u32::try_from(register & 0xffff_ffff).unwrap_or(u32::MAX).to_ne_bytes())
}

fn path_of_fd(tid: Tid, fd: i32) -> Option<String> {
    if fd < 0 {
        return None;
    }
    let path = fs::read_link(format!("/proc/{tid}/fd/{fd}")).ok()?;
    let path = path.to_string_lossy().into_owned();
    Some(path.strip_suffix(" (deleted)").map(str::to_owned).unwrap_or(path))
}

/// Reads a path argument, and prepends the directory that it is relative to.
fn path_argument(tid: Tid, address: u64, directory: Option<i32>) -> Option<String> {
    let base = |fd: Option<i32>| match fd {
        Some(fd) if fd >= 0 => path_of_fd(tid, fd),
        _ => {
            let path = fs::read_link(format!("/proc/{tid}/cwd")).ok()?;
            Some(path.to_string_lossy().into_owned())
        }
    };
    if address == 0 {
        return directory.filter(|fd| *fd >= 0).and_then(|fd| path_of_fd(tid, fd));
    }
    let text = read_text(tid, address)?;
    if text.is_empty() {
        return directory.filter(|fd| *fd >= 0).and_then(|fd| path_of_fd(tid, fd));
    }
    if text.starts_with('/') {
        return Some(text);
    }
    let base = base(directory)?;
    Some(format!("{}/{text}", base.trim_end_matches('/')))
}

/// Reads a string that ends with a NUL, page by page.
fn read_text(tid: Tid, mut address: u64) -> Option<String> {
    let mut bytes = Vec::new();
    while bytes.len() < MOST_PATH_BYTES {
        let to_page_end = usize::try_from(PAGE_BYTES - address % PAGE_BYTES).ok()?;
        let mut chunk = vec![0; to_page_end.min(256)];
        let read = read_memory(tid, address, &mut chunk).ok()?;
        chunk.truncate(read);
        if let Some(end) = chunk.iter().position(|byte| *byte == 0) {
            bytes.extend_from_slice(chunk.get(..end)?);
            return Some(String::from_utf8_lossy(&bytes).into_owned());
        }
        if read == 0 {
            return None;
        }
        address = address.checked_add(read as u64)?;
        bytes.append(&mut chunk);
    }
    None
}
