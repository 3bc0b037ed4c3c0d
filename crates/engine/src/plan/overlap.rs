//! Operands that have to be copied one after another: what one of them writes is what another one writes or
//! reads.

use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use haul_sys::fs::{CWD, Follow, Kind, OpenHow, openat, readlinkat, statat};

use crate::data::request::{Dereference, Parents, Request};
use crate::names::path::{directory_of, split};

/// Returns whether operands that are copied into a directory may overlap. Their order decides then which
/// bytes a file gets. Follows symbolic links, and makes a few calls for each directory that sources are in.
pub(crate) fn may_overlap(request: &Request, target: BorrowedFd<'_>) -> bool {
    if request.sources.len() < 2 {
        return false;
    }
    let mut names: HashMap<&[u8], usize> = HashMap::new();
    for (index, source) in request.sources.iter().enumerate() {
        let Some(name) = name_in_target(source, request.policy.parents) else { return true };
        if names.insert(name, index).is_some() {
            return true;
        }
    }
    // Without /proc the places of the sources cannot be compared.
    let Some(target) = place_of(target) else { return false };
    let mut places =
        Places { directories: HashMap::new(), dereference: request.policy.dereference };
    request.sources.iter().enumerate().any(|(index, source)| {
        let Some(place) = places.of(source) else { return false };
        // A directory that the target is in, or that it is, is not copied into itself.
        let inside = place.strip_prefix(&target).ok().and_then(|inside| inside.components().next());
        inside.is_some_and(|first| {
            names.get(first.as_os_str().as_bytes()).is_some_and(|other| *other != index)
        })
    })
}

/// Returns the name in the target directory that an operand is copied to, or below; `None` if it is the
/// target directory itself, or may be any name.
fn name_in_target(source: &CStr, parents: Parents) -> Option<&[u8]> {
    let path = Path::new(OsStr::from_bytes(source.to_bytes()));
    match parents {
        Parents::Cut => match split(source.to_bytes()).1 {
            b"" | b"." | b".." => None,
            name => Some(name),
        },
        Parents::Keep => {
            let mut names = path.components().filter(|part| {
                !matches!(part, Component::CurDir | Component::RootDir | Component::Prefix(_))
            });
            let leads_up = path.components().any(|part| part == Component::ParentDir);
            names.next().filter(|_| !leads_up).map(|name| name.as_os_str().as_bytes())
        }
    }
}

/// Places of sources, without symbolic links.
struct Places<'a> {
    directories: HashMap<&'a [u8], Option<PathBuf>>,
    dereference: Dereference,
}

impl<'a> Places<'a> {
    /// Returns the place of an operand; `None` if it cannot be reached, so that its copy fails.
    fn of(&mut self, source: &'a CStr) -> Option<PathBuf> {
        let (directory, name) = split(source.to_bytes());
        let is_link = || statat(CWD, source).is_ok_and(|stat| stat.kind() == Kind::Symlink);
        let is_followed = source.to_bytes().ends_with(b"/")
            || (self.dereference != Dereference::Never && is_link());
        if is_followed || matches!(name, b"" | b"." | b"..") {
            return place(source);
        }
        let known = self.directories.entry(directory);
        let directory = known.or_insert_with(|| place(&directory_of(source.to_bytes())));
        Some(directory.as_ref()?.join(OsStr::from_bytes(name)))
    }
}

/// Returns where a path leads to, without symbolic links on the way.
fn place(path: &CStr) -> Option<PathBuf> {
    let how = OpenHow::HANDLE.following(Follow::Yes);
    place_of(openat(CWD, path, how).ok()?.as_fd())
}

/// Returns the path of an open file, without symbolic links; `None` if the kernel does not tell it.
pub(crate) fn place_of(file: BorrowedFd<'_>) -> Option<PathBuf> {
    let link = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    let path = readlinkat(CWD, &link).ok()?.into_bytes();
    Some(OsString::from_vec(path).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_the_target_are_first_components() {
        for (source, cut, keep) in [
            (c"a/b", Some("b"), Some("a")),
            (c"./a/b/", Some("b"), Some("a")),
            (c"/a//b", Some("b"), Some("a")),
            (c"a/.", None, Some("a")),
            (c".", None, None),
            (c"a/..", None, None),
            (c"../a", Some("a"), None),
            (c"/", None, None),
        ] {
            let of = |parents| name_in_target(source, parents).map(String::from_utf8_lossy);
            assert_eq!(of(Parents::Cut).as_deref(), cut, "{source:?}");
            assert_eq!(of(Parents::Keep).as_deref(), keep, "{source:?}");
        }
    }
}
