//! Complete files that wait for a flush, and the file systems that a run flushes.

use haul_sys::sync::Mutex;
use std::ffi::CString;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use haul_io::quirk::GroupSync;
use haul_io::stored::flush_all;
use haul_io::{Moved, Pair};
use haul_sys::CallError;
use haul_sys::fs::{Follow, Stat, open_directory};

use super::item::Target;
use crate::copy::entry::Entry;
use crate::copy::node::Node;

/// Maximum number of files in a group, where the descriptor limit allows it: each file pins an
/// inode of about 1 KiB in the kernel, and with 4,096 files a flush of some milliseconds costs a
/// microsecond per file.
pub(super) const GROUP_FILES: usize = 4096;

/// Maximum number of bytes in a group: writing back more takes longer than any flush.
pub(super) const GROUP_BYTES: u64 = 256 << 20;

/// Time after which the next complete file makes the run commit its group: a run that is slow, or slowed
/// down by `--bandwidth`, loses only the last seconds of its work when it is killed.
const GROUP_TIME: Duration = Duration::from_secs(10);

/// Complete file that waits for a flush.
pub(super) struct PendingCommit {
    pub(super) node: Arc<Node>,
    /// File systems of the two sides of the file; the target's may differ from the directory's.
    pub(super) pair: Arc<Pair>,
    pub(super) source_name: CString,
    pub(super) target_name: CString,
    pub(super) stat: Stat,
    pub(super) target: Target,
    pub(super) moved: Moved,
    /// Source of the file, where the run may have to copy parts again.
    pub(super) source: Option<OwnedFd>,
    /// Digest of the file's bytes, once it is known.
    pub(super) digest: Option<Vec<u8>>,
}

impl PendingCommit {
    pub(super) fn entry(&self) -> Entry<'_> {
        let (source, target) = (&*self.source_name, &*self.target_name);
        Entry { node: &self.node, source, target, rest: None }
    }

    pub(super) fn is_sole_grouped(&self) -> bool {
        self.pair.target.group_sync == GroupSync::Whole
    }
}

/// Group of complete files that wait for one flush.
#[derive(Default)]
pub(super) struct Waiting {
    pub(super) files: Vec<PendingCommit>,
    bytes: u64,
    /// Time at which the first of the files was added.
    since: Option<Instant>,
}

impl Waiting {
    /// Adds a file. Returns whether the run has to commit the group: it has `most` files, or
    /// [`GROUP_BYTES`], or its first file has waited for [`GROUP_TIME`].
    pub(super) fn add(&mut self, held: PendingCommit, most: usize) -> bool {
        self.bytes += held.moved.bytes;
        self.files.push(held);
        let waited = self.since.get_or_insert_with(Instant::now).elapsed();
        is_full(self.files.len(), most, self.bytes, waited)
    }
}

fn is_full(files: usize, most: usize, bytes: u64, waited: Duration) -> bool {
    files >= most || bytes >= GROUP_BYTES || waited >= GROUP_TIME
}

/// Directories whose names the run has to sync one by one, as long as they are few.
#[derive(Default)]
pub(super) struct Names {
    pub(super) directories: Vec<Arc<Node>>,
    pub(super) many: bool,
    /// Complete directories that are reported when their names are on stable storage.
    pub(super) untold: Vec<Arc<Node>>,
}

/// File system that the run flushes as a whole.
pub(super) struct Anchor {
    pub(super) dev: u64,
    /// Descriptor that was open before the first write, so that `syncfs` reports to it every write
    /// error since then, each error once.
    pub(super) fd: OwnedFd,
    /// First failure. It stays for the whole run: `syncfs` has reported the error once and returns
    /// 0 from then on, although the lost bytes may belong to any group.
    pub(super) failed: Mutex<Option<CallError>>,
}

impl Anchor {
    /// Flushes everything that was written to the file system. Only one flush runs at a time, so
    /// that an error reported to one caller also holds for all later callers.
    pub(super) fn flush(&self) -> haul_sys::Result<()> {
        let mut failed = self.failed.lock();
        if let Some(error) = *failed {
            return Err(error);
        }
        let answer = flush_all(&self.fd);
        *failed = answer.err();
        answer
    }
}

/// Files that the run has not committed yet, and names that it has to sync at its end.
#[derive(Default)]
pub(crate) struct CommitGroup {
    pub(super) waiting: Mutex<Waiting>,
    /// File systems that the run flushes as a whole.
    pub(super) anchors: Mutex<Vec<Arc<Anchor>>>,
    pub(super) names: Mutex<Names>,
}

impl CommitGroup {
    /// Opens the descriptor for flushing a file system before the first write that the flush has to
    /// cover.
    pub(crate) fn anchor(&self, node: &Node, target: BorrowedFd<'_>) {
        let dev = node.pair.target_dev;
        let mut anchors = self.anchors.lock();
        if anchors.iter().any(|anchor| anchor.dev == dev) {
            return;
        }
        // Without a descriptor, the run syncs each file separately.
        if let Ok(fd) = open_directory(target, c".", Follow::No) {
            anchors.push(Arc::new(Anchor { dev, fd, failed: Mutex::new(None) }));
        }
    }

    pub(super) fn anchor_of(&self, dev: u64) -> Option<Arc<Anchor>> {
        let anchors = self.anchors.lock();
        anchors.iter().find(|anchor| anchor.dev == dev).cloned()
    }

    /// Flushes everything that was written to a file system. Returns whether that was possible; each
    /// file still has to show that it is stored.
    pub(super) fn is_flushed(&self, dev: u64) -> bool {
        self.anchor_of(dev).is_some_and(|anchor| anchor.flush().is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_committed_at_each_of_its_limits() {
        let second = Duration::from_secs(1);
        assert!(!is_full(9, 10, GROUP_BYTES - 1, GROUP_TIME - second));
        assert!(is_full(10, 10, 0, Duration::ZERO));
        assert!(is_full(1, 10, GROUP_BYTES, Duration::ZERO));
        assert!(is_full(1, 10, 0, GROUP_TIME));
    }
}
