//! Large file that several workers copy at the same time.

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use haul_io::block_digests::BlockDigests;
use haul_io::transfer::Transfer;
use haul_io::{DataPolicy, FileJob, OpenFiles, Pair};
use haul_sys::fs::{Kind, Stat};

use super::finished::Finished;
use super::item::{Resumable, Target};
use crate::entry::Entry;
use crate::walk::node::Node;

/// Large file that workers are copying.
pub(crate) struct SharedFile {
    pub(super) node: Arc<Node>,
    pub(super) source_name: CString,
    pub(super) target_name: CString,
    pub(super) source: OwnedFd,
    pub(super) target: OwnedFd,
    pub(super) stat: Stat,
    pub(super) pair: Arc<Pair>,
    pub(super) transfer: Transfer,
    pub(super) digests: Option<Arc<BlockDigests>>,
    /// Record from which a later run can resume.
    pub(super) partial: Option<Arc<Resumable>>,
    /// Data that completing needs; the worker that completes the file takes it.
    pub(super) rest: Mutex<Option<Rest>>,
    pub(super) workers: AtomicUsize,
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
    pub(crate) fn join(&self) {
        self.workers.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns whether the file already has as many workers as it can use.
    pub(crate) fn is_full(&self) -> bool {
        self.workers.load(Ordering::Relaxed) >= self.transfer.most_workers(&self.pair)
    }

    pub(super) fn job<'a>(&'a self, policy: &'a DataPolicy) -> FileJob<'a> {
        FileJob {
            source: self.source.as_fd(),
            target: self.target.as_fd(),
            stat: &self.stat,
            target_kind: Kind::Regular,
            pair: &self.pair,
            policy,
            extent: None,
            digests: self.digests.as_deref(),
            open_files: OpenFiles::Own,
        }
    }
}
