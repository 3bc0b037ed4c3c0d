//! Large file that several workers copy at the same time.

use haul_sys::sync::Mutex;
use std::ffi::CString;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use haul_io::block_digests::BlockDigests;
use haul_io::transfer::Transfer;
use haul_io::{DataPolicy, Extent, FileJob, OpenFiles, Pair};
use haul_sys::fs::{Kind, Stat, Time};

use super::finished::Finished;
use super::item::{Resumable, Target};
use crate::copy::entry::Entry;
use crate::copy::node::Node;
use crate::peers::Answer;

/// Large file that workers are copying.
pub(crate) struct SharedFile {
    pub(super) node: Arc<Node>,
    pub(super) source_name: CString,
    pub(super) target_name: CString,
    /// How other processes find the target, if they may move parts of the file.
    pub(super) open_target: Option<OpenTarget>,
    /// Parts that came back, with the answers to them, until a worker looks at them.
    pub(super) returned: Mutex<Vec<(Range<u64>, Answer)>>,
    /// Number of parts that came back and had not arrived.
    pub(super) refused: AtomicUsize,
    /// Number of parts that other processes have.
    pub(super) sent: AtomicUsize,
    /// Descriptors by which the next part of the same file may be opened.
    pub(super) source: Arc<OwnedFd>,
    pub(super) target: Arc<OwnedFd>,
    /// The source, opened again to take samples of parts.
    pub(super) source_of_samples: OnceLock<OwnedFd>,
    pub(super) stat: Stat,
    pub(super) pair: Arc<Pair>,
    pub(super) transfer: Transfer,
    /// Part of another process's file; `None` if the whole file is this one's.
    pub(super) extent: Option<Extent>,
    pub(super) digests: Option<Arc<BlockDigests>>,
    /// Record from which a later run can resume.
    pub(super) partial: Option<Arc<Resumable>>,
    /// What the last worker does; it takes the value.
    pub(super) ending: Mutex<Option<Ending>>,
    pub(super) workers: AtomicUsize,
}

/// How a worker has come to a large file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It has begun the file, and stays until no range is left.
    Began,
    /// It has joined because it had nothing else to do, and leaves for other work.
    Joined,
}

/// What the last worker does when nothing is left to draw.
pub(super) enum Ending {
    /// It completes the file.
    File(Box<Rest>),
    /// It tells the process whose file this is that the part is done.
    Part,
}

/// How other processes find a target that is being written.
#[derive(Clone, Debug)]
pub(super) struct OpenTarget {
    /// Path from the entry's directory.
    pub(super) path: CString,
    pub(super) ino: u64,
    pub(super) birth: Option<Time>,
    /// Whether the path may be a symbolic link: it is an operand's, and no hidden name.
    pub(super) may_be_link: bool,
}

/// Data that only the worker that completes the file needs.
pub(super) struct Rest {
    pub(super) target: Target,
    pub(super) source: OwnedFd,
    pub(super) inherits: bool,
    pub(super) new_owner: Option<(u32, u32)>,
}

impl Rest {
    /// Returns the file as one on which the transfer has ended.
    pub(super) fn finished<'a>(self, entry: &'a Entry<'a>, stat: &'a Stat) -> Finished<'a> {
        let Rest { target, source, inherits, new_owner } = self;
        Finished { entry, source, stat, target, inherits, new_owner }
    }
}

impl SharedFile {
    /// Returns the directory of the file.
    pub(crate) const fn node(&self) -> &Arc<Node> {
        &self.node
    }

    pub(crate) fn join(&self) {
        self.workers.fetch_add(1, Ordering::Relaxed);
    }

    /// Removes a worker, unless it is the last of this process. Returns whether it did.
    pub(super) fn leave(&self) -> bool {
        // Each part that another process has counts as a worker, too.
        let sent = self.sent.load(Ordering::Acquire);
        let others = |workers: usize| (workers > 1 + sent).then(|| workers - 1);
        self.workers.fetch_update(Ordering::AcqRel, Ordering::Acquire, others).is_ok()
    }

    /// Returns whether the file already has as many workers as it can use.
    pub(crate) fn is_full(&self) -> bool {
        self.workers.load(Ordering::Relaxed) >= self.transfer.most_workers(&self.pair)
    }

    /// Returns whether it is for one worker at present.
    pub(super) fn is_for_one(&self) -> bool {
        self.transfer.most_workers(&self.pair) == 1
    }

    pub(super) fn job<'a>(&'a self, policy: &'a DataPolicy) -> FileJob<'a> {
        FileJob {
            source: self.source.as_fd(),
            target: self.target.as_fd(),
            stat: &self.stat,
            target_kind: Kind::Regular,
            pair: &self.pair,
            policy,
            extent: self.extent,
            digests: self.digests.as_deref(),
            open_files: OpenFiles::Own,
        }
    }
}
