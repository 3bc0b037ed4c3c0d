//! Names that are found although the directory has them in another spelling, as where the file system
//! ignores case: two names of the source would be one file in the target.

use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::os::fd::BorrowedFd;

use haul_sys::fs::{Stat, statat};
use haul_tree::has_entry;

use crate::copy::entry::OpenEntry;
use crate::names::path::in_lower_case;

/// Returns whether the file that was found under the target name of an entry belongs to another name of the
/// source directory, which differs in its spelling. Where the file system ignores case, the directory is
/// read once, and again for each name that it did not have then; if it cannot be read, its names are taken
/// as distinct.
pub(super) fn is_of_another(entry: &OpenEntry<'_>, found: &Stat) -> bool {
    let (directory, name) = (entry.handles.target(), entry.target);
    if !has_twin(directory, name, found) {
        return false;
    }
    let listed = entry.node.listed.get_or_init(|| listed(directory));
    if listed.contains(name) {
        return false;
    }
    // In a target that was there before, the file may only be spelled in another way.
    let source = entry.handles.source();
    let Some(other) = spelled(directory, name, found) else { return false };
    match (statat(source, &other), statat(source, entry.source)) {
        (Ok(other), Ok(own)) => !other.same_file(&own),
        _ => false,
    }
}

/// Returns whether the entry's directory in the target ignores case, as far as this entry shows that, whose name is
/// taken by `found`. Asks once in each directory.
pub(super) fn ignores_case(entry: &OpenEntry<'_>, found: &Stat) -> bool {
    let (directory, name) = (entry.handles.target(), entry.target);
    if let Some(known) = entry.node.ignores_case.get() {
        return *known;
    }
    let Some(twin) = twin(name) else { return false };
    let ignores = statat(directory, &twin).is_ok_and(|stat| stat.same_file(found));
    *entry.node.ignores_case.get_or_init(|| ignores)
}

/// Returns whether a directory lists the file that has just been found under this name in another spelling
/// only.
pub(crate) fn is_other(directory: BorrowedFd<'_>, name: &CStr, found: &Stat) -> bool {
    has_twin(directory, name, found) && is_listed(directory, name).is_ok_and(|listed| !listed)
}

/// Returns whether a directory lists a name in exactly this spelling. Reads the directory.
pub(crate) fn is_listed(directory: BorrowedFd<'_>, name: &CStr) -> haul_sys::Result<bool> {
    has_entry(directory, |entry| entry.name == name)
}

/// Returns whether two names differ, and only in case.
pub(crate) fn differ_in_case(one: &CStr, other: &CStr) -> bool {
    one != other && in_lower_case(one) == in_lower_case(other)
}

/// Returns whether the name leads to the same file in another case.
fn has_twin(directory: BorrowedFd<'_>, name: &CStr, found: &Stat) -> bool {
    twin(name).is_some_and(|twin| statat(directory, &twin).is_ok_and(|stat| stat.same_file(found)))
}

/// Returns a name in another case; `None` if it has no letters, or is no text. Only letters of which the
/// other case is one letter are changed, and those of ASCII alone if there are any: file systems differ in
/// how they treat the others.
fn twin(name: &CStr) -> Option<CString> {
    let text = name.to_str().ok()?;
    let has_ascii = text.bytes().any(|byte| byte.is_ascii_alphabetic());
    let mapped = |single: fn(char) -> Option<char>| {
        let map = |c: char| if has_ascii && !c.is_ascii() { c } else { single(c).unwrap_or(c) };
        text.chars().map(map).collect::<String>()
    };
    let cases = [mapped(|c| alone(c.to_uppercase())), mapped(|c| alone(c.to_lowercase()))];
    CString::new(cases.into_iter().find(|it| it != text)?).ok()
}

fn alone(mut mapped: impl Iterator<Item = char>) -> Option<char> {
    mapped.next().filter(|_| mapped.next().is_none())
}

fn listed(directory: BorrowedFd<'_>) -> HashSet<CString> {
    let mut names = HashSet::new();
    let read = has_entry(directory, |entry| {
        names.insert(entry.name.to_owned());
        false
    });
    if read.is_ok() { names } else { HashSet::new() }
}

/// Returns the spelling in which a directory lists a file.
fn spelled(directory: BorrowedFd<'_>, name: &CStr, found: &Stat) -> Option<CString> {
    let wanted = in_lower_case(name);
    let (mut spelled, mut same_inode) = (None, None);
    let is_exact = has_entry(directory, |entry| {
        if in_lower_case(entry.name) == wanted {
            spelled = Some(entry.name.to_owned());
        } else if entry.ino == found.ino && found.nlink == 1 {
            same_inode = Some(entry.name.to_owned());
        }
        entry.name == name
    });
    if is_exact.unwrap_or(true) { None } else { spelled.or(same_inode) }
}

#[cfg(test)]
mod tests {
    use super::twin;

    #[test]
    fn a_name_with_letters_has_a_twin() {
        for (name, expected) in [
            (c"a1", Some(c"A1")),
            (c"A1", Some(c"a1")),
            (c"\u{e4}", Some(c"\u{c4}")),
            // The upper case of the first letter is two letters.
            (c"\u{df}a", Some(c"\u{df}A")),
            (c"\u{df}", None),
            (c"1.2", None),
        ] {
            assert_eq!(twin(name).as_deref(), expected);
        }
        assert_eq!(twin(c"\xffa"), None);
    }
}
