//! Waiting for a lease that another process holds on a file (fcntl(2), "Leases").
//!
//! `EAGAIN` from an `open` of a regular file means a lease. A FUSE server or a faulty file system may answer
//! it without one, for ever; so after a short time the file has to be in `/proc/locks`, where the kernel
//! lists the leases of all processes of the PID namespace.

use std::ffi::CStr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{OpenHow, open_once};
use crate::fs::{CWD, Follow, Kind, Stat, statat, statat_follow};
use crate::process::{doze, is_asked_to_stop};
use crate::{Errno, Result};

/// How long to wait for a lease that another process holds on a file. The kernel revokes the lease
/// after `/proc/sys/fs/lease-break-time`, by default 45 seconds.
pub const LEASE_WAIT: Duration = Duration::from_secs(60);

/// Interval between attempts.
const LEASE_STEP: Duration = Duration::from_millis(10);

/// How long to wait for a lease that is not listed. A file server releases one within milliseconds.
const UNLISTED_WAIT: Duration = Duration::from_millis(500);

/// Whether a wait has ended without a lease, so that the next one would be in vain as well.
static WAITED_IN_VAIN: AtomicBool = AtomicBool::new(false);

/// Opens a file that may have a lease; blocks for at most `most`.
pub(super) fn open(
    directory: BorrowedFd<'_>,
    name: &CStr,
    how: OpenHow,
    most: Duration,
) -> Result<OwnedFd> {
    let begun = Instant::now();
    let mut unlisted =
        if WAITED_IN_VAIN.load(Ordering::Relaxed) { Duration::ZERO } else { UNLISTED_WAIT };
    loop {
        let answer = open_once(directory, name, how);
        let is_leased = matches!(&answer, Err(error) if error.errno == Errno::AGAIN)
            // Do not wait for a device that is not ready.
            && stat_of(directory, name, how.follow).is_some_and(|stat| stat.kind() == Kind::Regular);
        let waited = begun.elapsed();
        if !is_leased || waited >= most || is_asked_to_stop() {
            return answer;
        }
        if waited >= unlisted {
            if !is_listed(directory, name, how.follow) {
                WAITED_IN_VAIN.store(true, Ordering::Relaxed);
                return answer;
            }
            unlisted = waited + UNLISTED_WAIT;
        }
        doze(LEASE_STEP);
    }
}

fn stat_of(directory: BorrowedFd<'_>, name: &CStr, follow: Follow) -> Option<Stat> {
    match follow {
        Follow::Yes => statat_follow(directory, name),
        Follow::No => statat(directory, name),
    }
    .ok()
}

/// Returns whether `/proc/locks` lists a lease of a file with this inode number. The device is not
/// compared, because btrfs lists another one than `fstat` returns; a wrong match only waits longer.
fn is_listed(directory: BorrowedFd<'_>, name: &CStr, follow: Follow) -> bool {
    let Some(stat) = stat_of(directory, name, follow) else { return false };
    let Ok(file) = open_once(CWD, c"/proc/locks", OpenHow::READ) else { return false };
    let mut text = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = rustix::io::read(&file, &mut chunk) {
        text.extend_from_slice(&chunk[..count]);
    }
    let inode = format!(":{}", stat.ino);
    String::from_utf8_lossy(&text).lines().any(|line| {
        line.contains("LEASE") && line.split_whitespace().any(|field| field.ends_with(&inode))
    })
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;

    use super::*;
    use crate::fs::lease::direct_signal;
    use crate::fs::{openat, unlinkat};

    fn lease(fd: &OwnedFd, kind: libc::c_int) -> bool {
        // The signal of a broken lease would end this process.
        assert!(direct_signal(fd.as_raw_fd()));
        // SAFETY: the call takes integers and an open descriptor.
        unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETLEASE, kind) == 0 }
    }

    #[test]
    fn a_lease_is_waited_for_and_not_for_ever() {
        let path = format!("{}/haul-openat-{}", std::env::temp_dir().display(), std::process::id());
        let name = std::ffi::CString::new(path).unwrap();
        let holder = open_once(CWD, &name, OpenHow::new_file(0o600)).unwrap();
        if !lease(&holder, libc::F_WRLCK) {
            unlinkat(CWD, &name).unwrap();
            println!("ignored: the directory for temporary files has no leases");
            return;
        }
        let refused = |answer: Result<OwnedFd>| answer.map_err(|error| error.errno).err();
        assert_eq!(refused(open_once(CWD, &name, OpenHow::READ)), Some(Errno::AGAIN));
        let most = Duration::from_millis(30);
        let late = open(CWD, &name, OpenHow::READ, most);
        assert_eq!(refused(late), Some(Errno::AGAIN));
        std::thread::scope(|scope| {
            let opening = scope.spawn(|| openat(CWD, &name, OpenHow::READ));
            assert!(lease(&holder, libc::F_UNLCK));
            assert_eq!(refused(opening.join().unwrap()), None);
        });
        unlinkat(CWD, &name).unwrap();
    }

    #[test]
    fn a_file_without_a_lease_is_not_listed() {
        let path = format!("{}/haul-lease-{}", std::env::temp_dir().display(), std::process::id());
        let name = std::ffi::CString::new(path).unwrap();
        let holder = open_once(CWD, &name, OpenHow::new_file(0o600)).unwrap();
        assert!(!is_listed(CWD, &name, Follow::No));
        if lease(&holder, libc::F_WRLCK) {
            assert!(is_listed(CWD, &name, Follow::No));
        } else {
            println!("ignored: the directory for temporary files has no leases");
        }
        unlinkat(CWD, &name).unwrap();
    }
}
