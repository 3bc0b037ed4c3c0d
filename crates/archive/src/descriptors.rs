//! How many descriptors a part of a run may hold: a process may have few of them (`ulimit -n`).

use std::sync::OnceLock;

use haul_sys::process::nofile_limit;

/// Parts of a run that hold descriptors at the same time, and as many again for all others.
const PARTS: u64 = 12;

/// Descriptors below which none is spent on a pipe or on a file that waits for another thread.
const FEW: u64 = 128;

/// Returns the limit, as it was when a part of a run asked for the first time.
fn limit() -> u64 {
    static LIMIT: OnceLock<u64> = OnceLock::new();
    *LIMIT.get_or_init(nofile_limit)
}

/// Returns whether the process may have few descriptors, so that bytes of large files go through memory.
pub(crate) fn are_few() -> bool {
    limit() < FEW
}

/// Returns how many descriptors a part of a run may hold that would like to have so many; at least 1.
pub(crate) fn share(wanted: usize) -> usize {
    share_of(limit(), wanted)
}

fn share_of(limit: u64, wanted: usize) -> usize {
    wanted.min(usize::try_from(limit / PARTS).unwrap_or(usize::MAX)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_a_share_and_at_least_one() {
        for (limit, wanted, share) in
            [(10, 64, 1), (0, 0, 1), (100, 64, 8), (1024, 64, 64), (u64::MAX, 256, 256)]
        {
            assert_eq!(share_of(limit, wanted), share, "{limit} {wanted}");
        }
    }
}
