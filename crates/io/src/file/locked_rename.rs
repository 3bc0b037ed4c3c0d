//! A plain rename to a name that has to be free: the last way to publish a file, where the file system can
//! neither refuse to replace a name nor give a file two names (rclone, s3fs, drivers of exFAT in user space).
//!
//! The name is looked at, and then taken. What another program makes under it between the two calls is
//! replaced. Processes of haul keep each other out by a lock: a file whose hidden name is made from the final
//! one, so that `haul clean` knows what a killed run has left of it.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use haul_sys::fs::{Create, OpenHow, RenameMode, fstat, lock, openat, renameat, statat, unlinkat};
use haul_sys::{Call, CallError, Errno, Result};

use crate::file::hidden::{LETTERS, name_of};
use crate::system::retry::again;
use crate::system::space::Space;

/// How often a lock is taken that its holder has just removed: once for each process that was waiting for it.
const ATTEMPTS: u32 = 1000;

/// Gives a file with a hidden name its final one. Fails with `EEXIST` if that exists. Blocks while another
/// process publishes a file under the same name.
pub(crate) fn rename_to_free(
    directory: BorrowedFd<'_>,
    hidden: &CStr,
    name: &CStr,
    space: &Space,
) -> Result<()> {
    let lock = NameLock::take(directory, name)?;
    let answer = match statat(directory, name) {
        Ok(_) => Err(CallError::new(Call::Renameat2, Errno::EXIST)),
        Err(error) if error.errno == Errno::NOENT => {
            let rename = || renameat(directory, hidden, directory, name, RenameMode::Replace);
            space.retry(directory, || false, rename)
        }
        Err(error) => Err(error),
    };
    lock.release(directory);
    answer
}

/// The right to take a name.
struct NameLock {
    file: OwnedFd,
    name: CString,
}

impl NameLock {
    fn take(directory: BorrowedFd<'_>, of: &CStr) -> Result<NameLock> {
        let name = lock_name(of)?;
        let how = OpenHow { create: Create::IfAbsent(0o600), ..OpenHow::WRITE };
        for _ in 0..ATTEMPTS {
            let file = openat(directory, &name, how)?;
            match again(|| lock(&file)) {
                Ok(()) => {}
                // Without locks the look alone has to do.
                Err(error) if has_no_locks(error.errno) => return Ok(NameLock { file, name }),
                Err(error) => return Err(error),
            }
            // The process that held the lock has removed this file, unless it was killed.
            let held = fstat(file.as_fd())?;
            if statat(directory, &name).is_ok_and(|now| now.same_file(&held)) {
                return Ok(NameLock { file, name });
            }
        }
        Err(CallError::new(Call::Flock, Errno::BUSY))
    }

    fn release(self, directory: BorrowedFd<'_>) {
        // A lock that cannot be removed keeps no process out, and `haul clean` finds it.
        let _removed = unlinkat(directory, &self.name);
        drop(self.file);
    }
}

const fn has_no_locks(errno: Errno) -> bool {
    matches!(errno, Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK | Errno::INVAL)
}

/// Returns the name of the lock of a name.
fn lock_name(of: &CStr) -> Result<CString> {
    let hash = xxhash_rust::xxh3::xxh3_128(of.to_bytes());
    let mut letters = [0; LETTERS];
    for (index, letter) in letters.iter_mut().enumerate() {
        // Five bits of each letter count.
        *letter = (hash >> (5 * index)).to_le_bytes()[0];
    }
    name_of(letters)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use haul_sys::fs::{CWD, Follow, open_directory};

    use crate::file::hidden::is_hidden_name;

    use super::*;

    #[test]
    fn one_of_many_takes_a_name_and_no_lock_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = CString::new(folder.path().to_str().unwrap()).unwrap();
        let directory = open_directory(CWD, &path, Follow::Yes).unwrap();
        let taken = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (directory, taken, folder) = (&directory, &taken, folder.path());
                scope.spawn(move || {
                    std::fs::write(folder.join(format!("hidden-{number}")), [number]).unwrap();
                    let hidden = CString::new(format!("hidden-{number}")).unwrap();
                    let space = Space::new();
                    match rename_to_free(directory.as_fd(), &hidden, c"name", &space) {
                        Ok(()) => taken.fetch_add(1, Ordering::Relaxed),
                        Err(error) => {
                            assert_eq!(error.errno, Errno::EXIST);
                            0
                        }
                    };
                });
            }
        });
        assert_eq!(taken.into_inner(), 1);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 8, "a lock is left");
    }

    #[test]
    fn a_lock_has_a_hidden_name_of_its_own() {
        let [one, other] = [c"one", c"other"].map(|name| lock_name(name).unwrap());
        assert!(is_hidden_name(one.to_bytes()) && is_hidden_name(other.to_bytes()));
        assert_ne!(one, other);
        assert_eq!(one, lock_name(c"one").unwrap());
    }
}
