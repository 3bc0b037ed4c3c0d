//! A file that is complete and has its name: counts the file, and returns the entries that wait for
//! its name.

use std::ffi::CString;

use super::item::Target;
use super::next::Next;
use super::pin_later::Unpinned;
use crate::copy::context::Worker;
use crate::copy::entry::Entry;
use crate::copy::run::Run;
use crate::data::monitor::{MovedFile, Report, WorkerCounters};
use crate::data::request::{Make, WholeDigest};
use crate::metadata::Kept;
use crate::names::known_names::SourceState;
use haul_io::Moved;
use haul_io::publish::Named;
use haul_sys::fs::{Stat, fstat};

/// Returns the digest of all bytes of a file, if the policy reports it and the bytes were written
/// in order.
pub(super) fn whole_digest(run: &Run<'_>, target: &Target, stat: &Stat) -> Option<Vec<u8>> {
    run.policy.hashing.filter(|hashing| hashing.whole == WholeDigest::Tell)?;
    let digests = target.digests.as_ref().filter(|digests| digests.needs_order())?;
    // Any bytes after the last byte that the digest covers are a hole; the size of a stream is the
    // number of its bytes.
    let now = fstat(&target.fd).map_or(stat.size, |now| now.size);
    digests.whole(now)
}

/// Results of a file that is complete and has its name.
pub(super) struct Complete {
    pub(super) moved: Moved,
    pub(super) named: Named,
    pub(super) leads_links: Option<SourceState>,
    pub(super) may_change: bool,
    pub(super) digest: Option<Vec<u8>>,
    pub(super) kept: Kept,
    /// The file, if it is to be pinned at the end of the run. It is complete only then.
    pub(super) unpinned: Option<Unpinned>,
    /// Backup name of the file that had the name.
    pub(super) backup: Option<CString>,
}

/// Counts a file that is complete and has its name.
pub(super) fn finish<'n>(
    worker: &Worker<'_, '_>,
    entry: &Entry<'_>,
    stat: &Stat,
    complete: Complete,
) -> Next<'n> {
    let run = worker.operation;
    let Complete { moved, named, leads_links, may_change, digest, kept, backup, unpinned } =
        complete;
    if let Some(digest) = digest {
        run.monitor.report(Report::Hashed { target: &entry.target_path(), digest: &digest });
    }
    if !may_change {
        run.note_copied(stat);
    }
    WorkerCounters::one(&worker.local.counters.files);
    if let Some(count) = moved.method.and_then(|id| worker.local.counters.methods.get(id.index())) {
        WorkerCounters::one(count);
    }
    if run.tells_moves && run.policy.make == Make::Copy {
        let (source, target) = (entry.source_path(), entry.target_path());
        run.monitor.report(Report::Moved(&MovedFile { source, target, moved, named }));
    }
    match unpinned {
        Some(unpinned) => run.pin_later.add(unpinned.reporting(kept, backup)),
        None => entry.tell_copied(run, (stat.kind(), kept), backup.as_deref()),
    }
    let waiting = leads_links.and_then(|source| run.links.completed(source));
    waiting.map_or(Next::Done, |(first, waiting)| Next::Link(first, waiting))
}
