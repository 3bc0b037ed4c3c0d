//! Names on stable storage: every directory that got a name is synchronised at the end.

use haul_sys::Errno;
use haul_sys::fs::{OFlags, OpenHow, fsync_names, openat};

use super::event::Action;
use super::extractor::Extractor;
use super::place::split;
use super::policy::Appearance;

impl Extractor {
    /// Remembers the directory of a name, and those above it, which may be new.
    pub(super) fn note_names(&mut self, name: &[u8]) {
        if self.shared.policy.appearance != Appearance::Durable {
            return;
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

    /// Waits until the names in all directories are on stable storage.
    pub(super) fn sync_names(&mut self) {
        for directory in std::mem::take(&mut self.unsynced) {
            // The place of a file in it that need not exist: `.` is the directory itself.
            let within = if directory.is_empty() {
                b".".to_vec()
            } else {
                [&directory, &b"/."[..]].concat()
            };
            let synced = self.places.existing(&within).and_then(|place| {
                let how = OpenHow { extra: OFlags::DIRECTORY, ..OpenHow::READ };
                fsync_names(openat(&*place.parent, c".", how)?)
            });
            match synced {
                Ok(()) => {}
                // A later member took the name.
                Err(error) if matches!(error.errno, Errno::NOENT | Errno::NOTDIR) => {}
                Err(error) => self.failed(&directory, Action::Sync, error),
            }
        }
    }
}
