//! Delete profiles of the file systems of a removal: rows of [`haul_io::quirk`], looked up once
//! for each device.

use std::os::fd::BorrowedFd;
use std::sync::{Mutex, PoisonError};

pub(super) use haul_io::quirk::{PLAIN, Quirk as DeleteProfile, Sequence};

use crate::pairs::quirk_of;

/// Delete profiles that a run has looked up, by device.
#[derive(Default)]
pub(super) struct DeleteProfiles(Mutex<Vec<(u64, &'static DeleteProfile)>>);

impl DeleteProfiles {
    /// Returns the delete profile of an open directory's file system. The first call for a device
    /// looks it up.
    pub(super) fn of(&self, dev: u64, directory: BorrowedFd<'_>) -> &'static DeleteProfile {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, quirk)) = known.iter().find(|(other, _)| *other == dev) {
            return quirk;
        }
        let quirk = quirk_of(directory);
        known.push((dev, quirk));
        quirk
    }
}
