//! What a file is worth: one worker among others, a worker of its own, or several.

use crate::digest::block_digests::BlockDigests;
use crate::method::caching::caching;
use crate::method::job::FileJob;
use crate::method::policy::{Choice, Reflink};
use crate::method::shape::{is_a_stream, shape};
use crate::method::sides::Way;
use crate::method::{FAR_REQUEST_BYTES, MethodId, Several, Zeros, ring_serves};
use crate::system::quirk::CachedWrites;

/// From this size on a file may be worth several workers, or one of its own: at 3 GB/s it takes two
/// milliseconds; a worker wakes in a twentieth of one.
pub const WORTH_BYTES: u64 = 8 << 20;

/// Tells whether a file that is [worth sharing](is_worth_sharing) had better be left to one worker
/// while the others have such files as well.
#[must_use]
pub fn is_worth_a_worker(job: &FileJob<'_>) -> bool {
    /// A tenth of a second at 3 GB/s: so long others may be idle at worst when the rest is done.
    const MOST_BYTES: u64 = 256 << 20;
    let pair = job.pair;
    // Sharing its blocks takes no longer than waking a worker for it.
    let may_reflink = pair.one_device()
        && pair.target.reflinks
        && job.policy.reflink != Reflink::Never
        && job.policy.choice == Choice::Auto
        && !pair.is_refused(MethodId::Reflink);
    pair.target.cached_writes == CachedWrites::InTurn
        && !may_reflink
        && job.stat.size <= MOST_BYTES
        && caching(job.policy, job.stat.size).way == Way::Cached
}

/// From this size on parts of a file may be worth sending to other processes: it has four of the
/// smallest. Less is moved before two processes have agreed about it.
pub const PARTED_BYTES: u64 = 64 << 20;

/// Tells whether parts of a file are worth sending to other processes.
#[must_use]
pub fn is_worth_parting(job: &FileJob<'_>) -> bool {
    let needs_order = job.digests.is_some_and(BlockDigests::needs_order);
    let can_share = match job.policy.choice {
        Choice::Only(method) => method.info().several == Several::Can,
        Choice::Auto => true,
    };
    job.stat.size >= PARTED_BYTES && can_share && !needs_order && !is_a_stream(job)
}

/// Tells whether a file is worth several workers: it takes longer than waking them, and no single
/// one could do as well.
#[must_use]
pub fn is_worth_sharing(job: &FileJob<'_>) -> bool {
    /// Two requests to somewhere else take longer than anything else about a file.
    const WORTH_BYTES_FAR: u64 = 2 * FAR_REQUEST_BYTES as u64;
    let needs_order = job.digests.is_some_and(BlockDigests::needs_order);
    let worth = if job.pair.is_remote() { WORTH_BYTES_FAR } else { WORTH_BYTES };
    if job.stat.size < worth || is_a_stream(job) || needs_order {
        return false;
    }
    match job.policy.choice {
        Choice::Only(method) => method.info().several == Several::Can,
        Choice::Auto => {
            let way = caching(job.policy, job.stat.size).way;
            let is_direct = way == Way::Direct;
            // What was measured to be best is what one worker did alone, if it is such a method.
            let preferred = job.policy.preferred(job.stat.size).first();
            let alone = preferred.is_some_and(|method| {
                method.info().several == Several::Cannot && method.info().way == way
            });
            if alone {
                return false;
            }
            !(is_direct && shape(job).zeros == Zeros::Write && ring_serves(job.pair))
        }
    }
}
