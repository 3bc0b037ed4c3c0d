//! Verification: reads a complete file again before it gets its name, and repairs it where it
//! differs.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use haul_io::block_digests::BlockDigests;
use haul_io::verification::{
    Unverified, Verification, VerifiedFrom, Whole, repair, source_bytes, verify,
};
use haul_io::{DataError, Watch};
use haul_sys::fs::fsync;

use super::group::{GROUP_BYTES, PendingCommit};
use crate::copy::context::{Worker, watch};
use crate::copy::run::Run;
use crate::data::error::{Severity, What};
use crate::data::request::WholeDigest;

/// Maximum number of repairs of a file. If the file still differs after the third, the cause is not
/// an accident of one transfer but a device or memory that does not keep its contents.
const REPAIRS: u32 = 3;

/// Maximum number of workers that read one file again: with direct I/O this many requests of 1 MiB
/// keep a disk busy, and as many cores hash.
const MOST_READERS: usize = 4;

/// Compares a file with the digests of its source, and repairs it where the policy allows that.
/// Reports every difference. The file's bytes have already been written back.
pub(super) fn is_verified(worker: &mut Worker<'_, '_>, held: &mut PendingCommit) -> bool {
    let run = worker.operation;
    let Some(digests) = held.target.digests.clone() else { return true };
    let mut rounds = 0;
    loop {
        let verification = match look(worker, held, &digests) {
            Ok(verification) => verification,
            Err(error) => return failed(run, held, What::ReadBack, error),
        };
        if verification.verified_from == VerifiedFrom::Cache
            && !run.warned_of_cache.swap(true, Ordering::Relaxed)
        {
            held.entry().report(run, What::ProvedFromCache, None, Severity::Warning);
        }
        if verification.differing.is_empty() {
            if rounds > 0 {
                held.entry().report(run, What::Repaired(rounds), None, Severity::Warning);
            }
            let wanted = run.policy.hashing.is_some_and(|of| of.whole == WholeDigest::Tell);
            held.digest = wanted.then_some(verification.whole);
            return true;
        }
        if held.source.is_none() || rounds == REPAIRS {
            let bytes = verification.differing.iter().map(|range| range.end - range.start).sum();
            let offset = verification.differing.first().map_or(0, |range| range.start);
            held.entry().fail(run, What::Differs { bytes, offset }, None);
            return false;
        }
        rounds += 1;
        if let Err(error) = mend(worker, held, &digests, &verification) {
            return failed(run, held, What::Write, error);
        }
    }
}

fn failed(run: &Run<'_>, held: &PendingCommit, what: What, error: DataError) -> bool {
    match error {
        DataError::Stopped => {}
        DataError::Call(error) => held.entry().fail(run, what, Some(error.errno)),
        DataError::Changed => held.entry().fail(run, What::Changed, None),
        _ => held.entry().fail(run, what, None),
    }
    false
}

fn unverified<'a>(held: &'a PendingCommit, digests: &'a BlockDigests) -> Unverified<'a> {
    Unverified {
        fd: held.target.fd.as_fd(),
        quirk: held.pair.target,
        bytes: source_bytes(&held.stat, held.pair.source, digests),
        digests,
    }
}

fn look(
    worker: &mut Worker<'_, '_>,
    held: &PendingCommit,
    digests: &BlockDigests,
) -> Result<Verification, DataError> {
    let run = worker.operation;
    let whole = if run.policy.hashing.is_some_and(|of| of.whole == WholeDigest::Tell) {
        Whole::Taken
    } else {
        Whole::Left { readers: run.budget.workers.min(MOST_READERS) }
    };
    verify(&unverified(held, digests), whole, &last_watch(worker, held))
}

/// Returns the watch for a file that waited for a flush. A stop does not end its verification, nor its
/// repair, where the run completes what waits: those files have as many bytes as a group at most. A
/// larger file would take too long.
fn last_watch<'w>(worker: &Worker<'w, '_>, held: &PendingCommit) -> Watch<'w> {
    static NEVER: AtomicBool = AtomicBool::new(false);
    let watch = watch(worker);
    if worker.operation.completes_what_waits() && held.stat.size <= GROUP_BYTES {
        Watch { stop: &NEVER, ..watch }
    } else {
        watch
    }
}

/// Copies the differing blocks again. An error of an earlier flush has already ended the file, so
/// this flush covers no page that an earlier flush failed to write.
fn mend(
    worker: &mut Worker<'_, '_>,
    held: &PendingCommit,
    digests: &BlockDigests,
    verification: &Verification,
) -> Result<(), DataError> {
    let Some(source) = &held.source else { return Ok(()) };
    let watch = last_watch(worker, held);
    repair(source.as_fd(), &unverified(held, digests), &verification.differing, &watch)?;
    fsync(&held.target.fd)?;
    Ok(())
}
