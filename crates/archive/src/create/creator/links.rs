//! Files with several names: what is kept of the first one.

use haul_sys::fs::{Stat, Time};

use crate::create::plan::Atime;

/// A file whose further names become links. There may be millions, so it has what is needed and no more.
pub(super) struct Links {
    /// The first name, as links name it.
    pub(super) target: Box<[u8]>,
    /// The first name, as the user knows it, if missing names are told.
    pub(super) name: Option<Box<[u8]>>,
    /// The size and the time of the file whose bytes are in the archive.
    pub(super) size: u64,
    pub(super) mtime: Time,
    pub(super) ctime: Time,
    /// Hash of the file's handle; 0 if it is not known.
    pub(super) handle: u64,
    /// Number of names that are not archived.
    pub(super) missing: u32,
    /// Position among the files with several names.
    pub(super) number: u32,
}

impl Links {
    /// Returns whether a file with the same inode number has the bytes that are in the archive. Otherwise the
    /// file has changed since, or another one has got the number: it is archived as a file of its own. Names that
    /// are made or removed meanwhile change the ctime of the same file; `handle` tells whether it is the same.
    pub(super) fn has_bytes_of(
        &self,
        now: &Stat,
        atime: Atime,
        handle: impl FnOnce() -> u64,
    ) -> bool {
        let is_same = (self.size, self.mtime) == (now.size, now.mtime);
        // Giving the file back its time of access has set its ctime.
        let is_unchanged = atime == Atime::Replace || self.ctime == now.ctime;
        is_same && (is_unchanged || (self.handle != 0 && self.handle == handle()))
    }
}

#[cfg(test)]
mod tests {
    use haul_sys::fs::{CWD, statat};

    use super::*;

    #[test]
    fn an_inode_number_alone_makes_no_link() {
        let stat = statat(CWD, c"/").expect("a root");
        let Stat { size, mtime, ctime, .. } = stat;
        let (target, name) = (Box::default(), None);
        let links = Links { target, name, size, mtime, ctime, handle: 5, missing: 1, number: 0 };
        let later = Time { seconds: stat.ctime.seconds + 1, ..stat.ctime };
        assert!(links.has_bytes_of(&stat, Atime::Keep, || 0));
        for other in [
            Stat { size: stat.size + 1, ..stat },
            Stat { mtime: later, ..stat },
            Stat { ctime: later, ..stat },
        ] {
            assert!(!links.has_bytes_of(&other, Atime::Keep, || 7), "{other:?}");
        }
        let changed = Stat { ctime: later, ..stat };
        assert!(links.has_bytes_of(&changed, Atime::Replace, || 0));
        // A further name was made or removed meanwhile.
        assert!(links.has_bytes_of(&changed, Atime::Keep, || 5));
        let (links, unknown) = (Links { handle: 0, ..links }, || 0);
        assert!(!links.has_bytes_of(&changed, Atime::Keep, unknown));
    }
}
