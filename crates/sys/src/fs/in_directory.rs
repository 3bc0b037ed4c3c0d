//! `fchdir` in a thread of its own — calls on names in a directory that have no `*at` form, where there is no
//! `/proc`: <https://man7.org/linux/man-pages/man2/chdir.2.html>

use std::ffi::CStr;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use rustix::fs::CWD;
use rustix::thread::UnshareFlags;

use crate::error::Named;
use crate::{Call, CallError, Errno, Result};

/// Stack of the thread that makes the call; without a size, the standard library reads one from the environment.
const STACK_BYTES: usize = 64 << 10;

/// Returns whether the failure of a call on an entry of `/proc/self/fd` may mean that there is no `/proc`.
pub(super) const fn may_lack_proc(errno: Errno) -> bool {
    matches!(errno, Errno::NOENT | Errno::NOTDIR)
}

/// Returns whether a name means the same file without its directory.
pub(super) fn needs_no_directory(directory: BorrowedFd<'_>, name: &CStr) -> bool {
    name.to_bytes().starts_with(b"/") || directory.as_raw_fd() == CWD.as_raw_fd()
}

/// Makes a call on a name that is relative to a directory. Starts a thread whose current directory that
/// is, and waits for it.
pub(super) fn in_directory<T: Send>(
    directory: BorrowedFd<'_>,
    name: &CStr,
    call: Call,
    act: impl FnOnce(&CStr) -> Result<T> + Send,
) -> Result<T> {
    if needs_no_directory(directory, name) {
        return act(name);
    }
    let refused = CallError::new(call, Errno::AGAIN);
    std::thread::scope(|scope| {
        let within = || {
            // SAFETY: the thread gets a current directory, a root and a umask of its own, and no other
            // code runs in it than this.
            unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS) }.named(call)?;
            rustix::process::fchdir(directory).named(call)?;
            act(name)
        };
        let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
        let thread = builder.spawn_scoped(scope, within);
        thread.map_err(|_| refused)?.join().unwrap_or(Err(refused))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::{Follow, open_directory, statat};
    use std::ffi::CString;
    use std::os::fd::AsFd as _;

    #[test]
    fn a_name_is_found_in_its_directory_and_the_process_stays_in_its_own() {
        let folder = std::env::temp_dir().join(format!("haul-sys-within-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("here"), "").unwrap();
        let path = CString::new(folder.as_os_str().as_encoded_bytes()).unwrap();
        let directory = open_directory(CWD, &path, Follow::No).unwrap();
        let before = std::env::current_dir().unwrap();
        let find = |name: &CStr| statat(CWD, name);
        let seen = |name: &CStr| in_directory(directory.as_fd(), name, Call::Fstat, find);
        assert!(seen(c"here").is_ok());
        assert_eq!(seen(c"elsewhere").unwrap_err().errno, Errno::NOENT);
        assert!(seen(&path).is_ok(), "an absolute path");
        assert_eq!(std::env::current_dir().unwrap(), before);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
