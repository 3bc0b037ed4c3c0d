//! Which bytes of members can share blocks with files, in both directions.

use std::borrow::Cow;

use haul_io::{DataPolicy, Reflink};

/// What the beginning and the length of a range are multiples of, if its blocks can be shared: the
/// block of every common file system.
pub(crate) const SHARED_BYTES: u64 = 4096;

/// Splits a range into whole blocks, which can be shared, and the part of one at its end, which is copied:
/// the offset of each in the range, and its bytes. A range that does not begin at a block on both sides is
/// not split.
pub(crate) fn parts(source: u64, target: u64, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let is_aligned = source.is_multiple_of(SHARED_BYTES) && target.is_multiple_of(SHARED_BYTES);
    let rest = if is_aligned { bytes % SHARED_BYTES } else { 0 };
    [(0, bytes - rest), (bytes - rest, rest)].into_iter().filter(|(_, bytes)| *bytes > 0)
}

/// Returns the policy for bytes that are to be copied although blocks must be shared: one that lets them
/// be copied.
pub(crate) fn policy_of(policy: &DataPolicy, is_copied: bool) -> Cow<'_, DataPolicy> {
    if is_copied && policy.reflink == Reflink::Always {
        Cow::Owned(DataPolicy { reflink: Reflink::Auto, ..policy.clone() })
    } else {
        Cow::Borrowed(policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_range_at_blocks_is_split() {
        let of = |source, target, bytes| parts(source, target, bytes).collect::<Vec<_>>();
        assert_eq!(of(0, 4096, 10_000), [(0, 8192), (8192, 1808)]);
        assert_eq!(of(4096, 0, 8192), [(0, 8192)]);
        assert_eq!(of(0, 0, 100), [(0, 100)]);
        assert_eq!(of(512, 0, 10_000), [(0, 10_000)]);
        assert_eq!(of(0, 512, 10_000), [(0, 10_000)]);
        assert_eq!(of(0, 0, 0), []);
    }
}
