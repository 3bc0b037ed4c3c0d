//! The lock on a file that a run writes beside its targets: a list of errors, a sum file.

use std::fs::File;

use haul_sys::fs::try_lock;

/// Locks a file until it is closed. Returns whether another run has locked it. On a file system without locks,
/// no run is kept out.
pub(crate) fn is_in_use(file: &File) -> bool {
    matches!(try_lock(file), Ok(false))
}
