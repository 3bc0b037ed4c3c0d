//! Finds copies by their paths, which may be of any length, without following symbolic links.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use haul_sys::fs::{OpenHow, open_beneath, openat};
use haul_sys::{Call, CallError, Errno, is_refused};

use crate::names::at::OwnedAt;
use crate::names::path::{split, trimmed};

/// Number of bytes of a path that are opened at once: the kernel accepts 4,095 (`PATH_MAX`), and a
/// name has at most 255.
const PATH_BYTES: usize = 2048;

/// Finds a path below a directory without following symbolic links.
pub(super) fn find(directory: BorrowedFd<'_>, path: &[u8]) -> Option<OwnedAt> {
    let (parent, name) = split(path);
    let directory = open_parent(directory, parent).ok()?;
    Some(OwnedAt { directory, name: CString::new(name).ok()? })
}

/// Opens the parent directory of a path of any length, without following symbolic links.
fn open_parent(directory: BorrowedFd<'_>, path: &[u8]) -> haul_sys::Result<OwnedFd> {
    let mut left = trimmed(path);
    let mut parent = open_step(directory, b".")?;
    while !left.is_empty() {
        let most = &left[..left.len().min(PATH_BYTES)];
        let cut =
            if most.len() == left.len() { None } else { most.iter().rposition(|b| *b == b'/') };
        let (step, rest) = left.split_at(cut.unwrap_or(left.len()));
        parent = open_step(parent.as_fd(), step)?;
        left = rest.strip_prefix(b"/").unwrap_or(rest);
    }
    Ok(parent)
}

/// Opens a path that the kernel accepts. Where `openat2` is refused, each component is opened by itself.
fn open_step(directory: BorrowedFd<'_>, path: &[u8]) -> haul_sys::Result<OwnedFd> {
    let text =
        |bytes: &[u8]| CString::new(bytes).map_err(|_| CallError::new(Call::Openat, Errno::INVAL));
    match open_beneath(directory, &text(path)?) {
        Err(error) if is_refused(error.call, error.errno) => {}
        answer => return answer,
    }
    let mut at = openat(directory, c".", OpenHow::DIRECTORY_HANDLE)?;
    for component in path.split(|byte| *byte == b'/').filter(|component| !component.is_empty()) {
        if component == b".." {
            return Err(CallError::new(Call::Openat, Errno::XDEV));
        }
        at = openat(&at, &text(component)?, OpenHow::DIRECTORY_HANDLE)?;
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haul_sys::fs::fstat;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_parent_is_opened_however_long_its_path_is_and_never_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let top = haul_sys::fs::open_directory(
            haul_sys::fs::CWD,
            &CString::new(folder.path().as_os_str().as_encoded_bytes()).unwrap(),
            haul_sys::fs::Follow::No,
        )
        .unwrap();
        let name = CString::new("n".repeat(250)).unwrap();
        let mut directory = top.try_clone().unwrap();
        let mut path = Vec::new();
        for _ in 0..20 {
            haul_sys::fs::mkdirat(&directory, &name, 0o700).unwrap();
            let follow = haul_sys::fs::Follow::No;
            directory = haul_sys::fs::open_directory(&directory, &name, follow).unwrap();
            path.extend_from_slice(name.to_bytes());
            path.push(b'/');
        }
        let found = open_parent(top.as_fd(), &path).unwrap();
        assert!(fstat(&found).unwrap().same_file(&fstat(&directory).unwrap()));
        assert!(open_parent(top.as_fd(), b"").is_ok());
        symlink(folder.path().join("n".repeat(250)), folder.path().join("link")).unwrap();
        assert_eq!(open_parent(top.as_fd(), b"link/").unwrap_err().errno, Errno::LOOP);
    }
}
