//! The entry that rules are asked about.

use haul_sys::fs::split_at_last_slash;

/// Path of an entry, as rules see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query<'a> {
    /// Absolute path of the directory that names are relative to, a slash, the path below it, and a slash.
    pub(crate) text: &'a [u8],
    /// Length of the directory's path; 0 for the root directory.
    pub(crate) base: usize,
    pub(crate) is_directory: bool,
}

impl<'a> Query<'a> {
    /// Returns the last component.
    pub(crate) fn name(&self) -> &'a [u8] {
        split_at_last_slash(self.path(false, false)).1
    }

    /// Returns the path, with a slash before it, and for a directory with a slash behind it, where those
    /// are wanted.
    pub(crate) fn path(&self, slash_before: bool, slash_behind: bool) -> &'a [u8] {
        &self.text[self.base + usize::from(!slash_before)..self.end(slash_behind)]
    }

    /// Returns the absolute path without its first slash.
    pub(crate) fn absolute(&self, slash_behind: bool) -> &'a [u8] {
        &self.text[1..self.end(slash_behind)]
    }

    fn end(&self, slash_behind: bool) -> usize {
        self.text.len() - usize::from(!(slash_behind && self.is_directory))
    }
}
