//! Bounds the memory for attributes of members that are completed at the end.
//!
//! Directories and some symbolic links wait for the end of the extraction with their extended attributes, lists and
//! contexts. A header of 512 bytes may have 4 MiB of them, which compressed are next to nothing.

use super::shared::attribute_bytes;
use crate::format::{Member, MemberKind, ReadError};

/// Bytes of attributes that may wait in any case.
const BYTES_MAX: u64 = 256 << 20;

/// Bytes that may wait beside them for each member that does, which takes about as much memory itself.
const MEMBER_BYTES: u64 = 1 << 10;

/// What waits.
#[derive(Debug, Default)]
pub(super) struct Held {
    bytes: u64,
    members: u64,
}

impl Held {
    /// Counts a member. Fails if its attributes would take too much memory.
    pub(super) fn add(&mut self, member: &Member) -> Result<(), ReadError> {
        let waits = matches!(
            member.kind,
            MemberKind::Directory | MemberKind::DumpDirectory | MemberKind::Symlink
        );
        if !waits {
            return Ok(());
        }
        self.members += 1;
        self.bytes = self.bytes.saturating_add(attribute_bytes(member) as u64);
        let most = BYTES_MAX.saturating_add(self.members.saturating_mul(MEMBER_BYTES));
        if self.bytes > most { Err(ReadError::TooManyAttributes) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::directory;
    use super::*;

    /// Returns how many directories with so many bytes of attributes are accepted, of a number of them.
    fn accepted(bytes: usize, of: usize) -> usize {
        let xattrs = vec![(b"user.a".to_vec(), vec![b'x'; bytes])];
        let member = Member { xattrs, ..directory() };
        let mut held = Held::default();
        (0..of).take_while(|_| held.add(&member).is_ok()).count()
    }

    #[test]
    fn memory_has_a_bound_that_real_trees_do_not_reach() {
        assert_eq!(accepted(900, 1_000_000), 1_000_000);
        let large = accepted(4 << 20, 1000);
        assert!((60..=64).contains(&large), "{large}");
        let file = Member { kind: MemberKind::Regular, ..directory() };
        assert_eq!(Held::default().add(&file), Ok(()));
    }
}
