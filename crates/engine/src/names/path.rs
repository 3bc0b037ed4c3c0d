//! Paths: joined for messages, and taken apart as the user gives them.

use std::ffi::{CStr, CString, NulError};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use haul_sys::fs::split_at_last_slash;
use haul_tree::Operand;

/// Returns the name of a path for the kernel. Fails if the path contains a NUL byte.
pub(crate) fn name_of(path: impl AsRef<Path>) -> Result<CString, NulError> {
    CString::new(path.as_ref().as_os_str().as_bytes())
}

/// Returns the names of paths for the kernel. Fails if one of them contains a NUL byte.
pub(crate) fn names_of(
    paths: impl IntoIterator<Item = impl AsRef<Path>>,
) -> Result<Vec<CString>, NulError> {
    paths.into_iter().map(name_of).collect()
}

/// Joins names with exactly one slash between them, and skips empty names.
pub(crate) fn join(names: &[&[u8]]) -> Vec<u8> {
    let mut path = Vec::with_capacity(names.iter().map(|name| name.len() + 1).sum());
    for name in names.iter().filter(|name| !name.is_empty()) {
        if !path.is_empty() && !path.ends_with(b"/") {
            path.push(b'/');
        }
        path.extend_from_slice(name);
    }
    path
}

/// Returns a path without its trailing slashes.
pub(crate) fn trimmed(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at + 1);
    &path[..end]
}

/// Splits a path into its directory and its last component, without trailing slashes.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    split_at_last_slash(trimmed(path))
}

/// Returns the directory of a path for the kernel: `.` if the path is a plain name.
pub(crate) fn directory_of(path: &[u8]) -> CString {
    let (directory, _) = split(path);
    // A part of a C string contains no NUL.
    CString::new(if directory.is_empty() { b"." } else { directory }).unwrap_or_default()
}

/// Splits the first component off a path, with the slashes before it. The source keeps the slashes behind
/// the last component: what it names has to be a directory, or to lead to one.
pub(crate) fn operand_of_path(path: &CStr) -> Operand {
    let bytes = path.to_bytes();
    let start = bytes.iter().position(|byte| *byte != b'/').unwrap_or(bytes.len());
    let name = &bytes[start..];
    let length = name.iter().position(|byte| *byte == b'/').unwrap_or(name.len());
    let (name, rest) = name.split_at_checked(length).unwrap_or((name, b""));
    let rest_start = rest.iter().position(|byte| *byte != b'/').unwrap_or(rest.len());
    let rest = &rest[rest_start..];
    let is_last = rest.is_empty();
    let source = if is_last { bytes } else { &bytes[..start + length] };
    // Parts of a C string contain no NUL.
    let own = |part: &[u8]| CString::new(part).unwrap_or_default();
    Operand {
        source: own(source),
        target: if name.is_empty() { c".".to_owned() } else { own(name) },
        rest: (!is_last).then(|| own(rest)),
    }
}

/// Returns the path of another name in the directory of a path.
pub(crate) fn beside(shown: &[u8], name: &CStr) -> Vec<u8> {
    let (directory, _) = split(shown);
    let (_, base) = split(name.to_bytes());
    [directory, base].concat()
}

/// Returns a name without the difference of upper and lower case. Bytes that are no text count as one.
pub(crate) fn in_lower_case(name: &CStr) -> String {
    String::from_utf8_lossy(name.to_bytes()).to_lowercase()
}

/// Returns whether a path is a plain name in the current directory.
pub(crate) fn is_here(path: &[u8]) -> bool {
    !path.strip_prefix(b"./").unwrap_or(path).contains(&b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_give_their_components_one_by_one() {
        let split = |path: &CStr| {
            let operand = operand_of_path(path);
            (operand.source, operand.target, operand.rest)
        };
        let own = |name: &CStr| name.to_owned();
        assert_eq!(split(c"a/b//c/"), (own(c"a"), own(c"a"), Some(own(c"b//c/"))));
        assert_eq!(split(c"/bin/ls"), (own(c"/bin"), own(c"bin"), Some(own(c"ls"))));
        assert_eq!(split(c"foo//"), (own(c"foo//"), own(c"foo"), None));
        assert_eq!(split(c"/"), (own(c"/"), own(c"."), None));
    }

    #[test]
    fn paths_split_before_the_last_component() {
        assert_eq!(split(b"a/b/c"), (b"a/b/".as_slice(), b"c".as_slice()));
        assert_eq!(split(b"c"), (b"".as_slice(), b"c".as_slice()));
        assert_eq!(split(b"/c//"), (b"/".as_slice(), b"c".as_slice()));
        assert_eq!(split(b"//"), (b"".as_slice(), b"".as_slice()));
    }

    #[test]
    fn a_name_alone_is_in_the_current_directory() {
        assert_eq!(directory_of(b"c"), c".".to_owned());
        assert_eq!(directory_of(b"a/c/"), c"a/".to_owned());
        assert_eq!(directory_of(b"/c"), c"/".to_owned());
    }

    #[test]
    fn one_slash_joins_names() {
        assert_eq!(join(&[b"", b"a", b"b"]), b"a/b");
        assert_eq!(join(&[b"a/", b"b"]), b"a/b");
        assert_eq!(join(&[b"/", b"b"]), b"/b");
        assert_eq!(join(&[b"", b"b"]), b"b");
    }
}
