//! Files of /proc and /sys, read as texts.

use std::ffi::CString;

use crate::data::read;
use crate::fs::{CWD, Follow, OpenHow, openat};

/// Returns the text of a file that the kernel generates, up to `bytes_max` of it, or `None` if it cannot
/// be read or is no UTF-8. Does not block on I/O.
pub(crate) fn text(path: &str, bytes_max: usize) -> Option<String> {
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
    String::from_utf8(buffer).ok()
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
}
