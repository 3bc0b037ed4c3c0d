//! Names on stable storage: every directory that got a name is synchronised at the end.

use std::os::fd::OwnedFd;

use haul_sys::Errno;
use haul_sys::fs::{OFlags, OpenHow, fsync_names, openat, syncfs};

use super::event::Action;
use super::extractor::Extractor;
use super::place::{Place, split};
use super::policy::Appearance;

impl Extractor {
    /// Remembers the directory of a name, and those above it, which may be new.
    pub(super) fn note_names(&mut self, name: &[u8], place: &Place) {
        if self.shared.policy.appearance != Appearance::Durable {
            return;
        }
        if place.through_link {
            // At the end the link may be gone, or lead elsewhere.
            self.note_elsewhere(place);
        }
        let mut path = name;
        loop {
            let (parent, _) = split(path);
            if self.unsynced.contains(parent) {
                return;
            }
            self.unsynced.insert(parent.to_vec());
            if parent.is_empty() || parent == b"/" {
                return;
            }
            path = parent;
        }
    }

    /// Remembers the file system of a directory that may have no path at the end.
    fn note_elsewhere(&mut self, place: &Place) {
        let Ok(stat) = haul_sys::fs::fstat(&*place.parent) else { return };
        if !self.elsewhere.contains_key(&stat.dev)
            && let Ok(directory) = opened(place)
        {
            self.elsewhere.insert(stat.dev, directory);
        }
    }

    /// Waits until the names in all directories are on stable storage. Where a directory is not found by its
    /// path any more, or may not be read, it waits for the whole file system.
    pub(super) fn sync_names(&mut self) {
        let mut waits_for_all = false;
        for directory in std::mem::take(&mut self.unsynced) {
            // The place of a file in it that need not exist: `.` is the directory itself.
            let within = if directory.is_empty() {
                b".".to_vec()
            } else {
                [&directory, &b"/."[..]].concat()
            };
            let place = self.places.existing(&within);
            match place.and_then(|place| fsync_names(opened(&place)?)) {
                Ok(()) => {}
                // A later member took the name, or this user may not read it.
                Err(error) if is_out_of_reach(error.errno) => waits_for_all = true,
                Err(error) => self.failed(&directory, Action::Sync, error),
            }
        }
        for directory in std::mem::take(&mut self.elsewhere).into_values() {
            if let Err(error) = syncfs(&directory) {
                self.failed(b".", Action::Sync, error);
            }
        }
        if waits_for_all {
            let place = self.places.existing(b".");
            if let Err(error) = place.and_then(|place| syncfs(opened(&place)?)) {
                self.failed(b".", Action::Sync, error);
            }
        }
    }
}

const fn is_out_of_reach(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::ACCESS | Errno::PERM
    )
}

fn opened(place: &Place) -> haul_sys::Result<OwnedFd> {
    // A handle is not enough to synchronise.
    openat(&*place.parent, c".", OpenHow { extra: OFlags::DIRECTORY, ..OpenHow::READ })
}
