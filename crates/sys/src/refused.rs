//! Refused calls: the errnos that say of a call that it is not to be had here, so that another one has to do
//! its work.
//!
//! A kernel that does not know a call answers `ENOSYS`, a file system that does not `EOPNOTSUPP` or `EINVAL`,
//! and a filter of system calls or a security module what its author chose, mostly `EPERM` or `EACCES`. Some
//! of these can mean something else, too; the other call then answers the same, and its answer counts.

use crate::{Call, Errno};

/// What filters, kernels and security modules answer.
const ANYWHERE: &[Errno] =
    &[Errno::NOSYS, Errno::PERM, Errno::ACCESS, Errno::INVAL, Errno::OPNOTSUPP];

/// Calls that another call can replace, and the errnos that refuse them beside [`ANYWHERE`].
const TABLE: &[(Call, &[Errno])] = &[
    // By mincore(2).
    (Call::Cachestat, &[]),
    // By the allocated blocks that fstat(2) tells.
    (Call::Fiemap, &[Errno::NOTTY]),
    // By a rename. A file may have as many names as it can.
    (Call::Linkat, &[Errno::MLINK]),
    // By openat(2), component by component.
    (Call::Openat2, &[]),
    // By a link and a removal, or a rename without flags.
    (Call::Renameat2, &[]),
    // By fstatat(2), which tells no time of creation and no mount.
    (Call::Statx, &[]),
    // By fdatasync(2).
    (Call::SyncFileRange, &[]),
];

/// Returns whether an errno of a call may say that the call is refused.
#[must_use]
pub fn is_refused(call: Call, errno: Errno) -> bool {
    TABLE
        .iter()
        .find(|(listed, _)| *listed == call)
        .is_some_and(|(_, more)| ANYWHERE.contains(&errno) || more.contains(&errno))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_listed_once() {
        for (index, (call, _)) in TABLE.iter().enumerate() {
            assert!(!TABLE[..index].iter().any(|(other, _)| other == call), "{call}");
        }
    }

    #[test]
    fn a_failure_of_storage_is_no_refusal() {
        for errno in [Errno::IO, Errno::NOSPC, Errno::NOENT, Errno::EXIST, Errno::INTR] {
            assert!(!TABLE.iter().any(|(call, _)| is_refused(*call, errno)), "{errno}");
        }
        assert!(!is_refused(Call::Openat, Errno::PERM));
    }
}
