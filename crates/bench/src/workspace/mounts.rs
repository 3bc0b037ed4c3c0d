//! The mount that a path is on, and mounts that no other process sees.

use std::path::Path;

use haul_sys::fs::Mount;
use haul_sys::process::unshare_mounts;

use super::helper::helper;
use crate::error::{Error, Result};

/// Hides the mounts of this thread from all other processes. Otherwise a process that creates a
/// mount namespace in the meantime (a container, a service, a test) gets a copy of the mounts and
/// keeps the file systems busy after they were unmounted. If this process is killed, its mounts
/// disappear with the namespace.
pub(crate) fn hide_mounts() -> Result<()> {
    let root = Path::new("/");
    unshare_mounts().map_err(Error::call("make a mount namespace at", root))?;
    helper("mount", &["--make-rprivate", "/"]).map(|_| ())
}

/// Returns all mounts in the namespace of this thread, in the order of their creation.
pub(crate) fn mounts() -> Result<Vec<Mount>> {
    let none = || std::io::Error::from(std::io::ErrorKind::NotFound);
    let table = Path::new("/proc/thread-self/mountinfo");
    haul_sys::fs::mounts().ok_or_else(none).map_err(Error::file("read", table))
}

/// Returns the mount that a path is on.
pub(crate) fn mount_of(path: &Path) -> Result<Option<Mount>> {
    let path = path.canonicalize().map_err(Error::file("resolve", path))?;
    // Of two mounts on one point the later one hides the earlier one, and `max_by_key` returns the
    // last of equals.
    let over = mounts()?.into_iter().filter(|mount| path.starts_with(&mount.point));
    Ok(over.max_by_key(|mount| mount.point.as_os_str().len()))
}

/// Returns the name of the file system that a path is on, as `mount -t` takes it.
///
/// # Errors
///
/// The path does not exist.
pub fn file_system_of(path: &Path) -> Result<Option<String>> {
    Ok(mount_of(path)?.map(|mount| mount.file_system))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_a_mount() {
        assert!(mount_of(Path::new("/")).unwrap().is_some());
    }
}
