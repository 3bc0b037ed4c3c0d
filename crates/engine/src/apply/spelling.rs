//! Names that are found although the directory has them in another spelling, as where the file system
//! ignores case: two names of the source would be one file in the target.

use std::ffi::{CStr, CString};
use std::os::fd::BorrowedFd;

use haul_sys::fs::{Stat, has_entry, statat};

/// Returns whether a directory lists the file that was found under this name in another spelling only.
/// Reads the directory, if the name in another case leads to the file, too. If the directory cannot be
/// read, its names are taken as distinct.
pub(super) fn is_other(directory: BorrowedFd<'_>, name: &CStr, found: &Stat) -> bool {
    let Some(twin) = twin(name) else { return false };
    if !statat(directory, &twin).is_ok_and(|stat| stat.same_file(found)) {
        return false;
    }
    has_entry(directory, |entry| entry.name == name).is_ok_and(|is_listed| !is_listed)
}

/// Returns a name in another case; `None` if it has no letters, or is no text.
fn twin(name: &CStr) -> Option<CString> {
    let text = name.to_str().ok()?;
    let changed = [text.to_uppercase(), text.to_lowercase()].into_iter().find(|it| it != text)?;
    CString::new(changed).ok()
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
            (c"1.2", None),
        ] {
            assert_eq!(twin(name).as_deref(), expected);
        }
        assert_eq!(twin(c"\xffa"), None);
    }
}
