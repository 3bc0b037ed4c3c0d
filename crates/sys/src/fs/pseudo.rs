//! Files of /proc and /sys, read as texts.

use std::ffi::CString;

use crate::data::read;
use crate::fs::{CWD, Follow, OpenHow, openat, readlinkat};

/// Returns the text of a file that the kernel generates, up to `bytes_max` of it, or `None` if it cannot
/// be read or is no UTF-8. Does not block on I/O.
pub(crate) fn text(path: &str, bytes_max: usize) -> Option<String> {
    String::from_utf8(bytes(path, bytes_max)?).ok()
}

/// Does the same for a file with names, which need not be UTF-8.
pub(crate) fn bytes(path: &str, bytes_max: usize) -> Option<Vec<u8>> {
    let path = CString::new(path).ok()?;
    let file = openat(CWD, &path, OpenHow::READ.following(Follow::Yes)).ok()?;
    let mut buffer = vec![0; bytes_max];
    let mut filled = 0;
    // Such files are read a page at a time, and a mount table has several.
    while let Some(room) = buffer.get_mut(filled..).filter(|room| !room.is_empty()) {
        match read(&file, room).ok()? {
            0 => break,
            count => filled += count,
        }
    }
    buffer.truncate(filled);
    Some(buffer)
}

/// Returns the last name in the text of a symbolic link; `None` if it is no link.
pub(crate) fn link_name(path: &str) -> Option<String> {
    let link = readlinkat(CWD, &CString::new(path).ok()?).ok()?;
    let text = link.to_str().ok()?;
    text.rsplit('/').next().filter(|name| !name.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_ends_with_the_file_or_at_the_bound() {
        let whole = text("/proc/self/mountinfo", 1 << 20).unwrap();
        assert!(whole.ends_with('\n') && whole.contains(" - "));
        assert_eq!(text("/proc/self/mountinfo", 10).as_deref(), whole.get(..10));
        assert_eq!(text("/proc/self/none", 10), None);
    }

    #[test]
    fn a_link_is_known_by_its_last_name() {
        assert!(link_name("/proc/self/exe").is_some());
        assert_eq!(link_name("/proc/self/status"), None);
    }
}
