//! What is true of a run as a whole, found out once: who we are, which file systems there are.

use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, PoisonError};

use haul_io::{Device, Pair, quirk};
use haul_sys::fs::fstatfs;

/// The pairs of file systems that a run has met, and what was learned about each.
#[derive(Default)]
pub(crate) struct Pairs {
    known: Mutex<Vec<Arc<Pair>>>,
}

impl Pairs {
    /// Returns the pair of these two devices, asking both file systems the first time.
    pub(crate) fn of(
        &self,
        (source_dev, source): (u64, BorrowedFd<'_>),
        (target_dev, target): (u64, BorrowedFd<'_>),
    ) -> Arc<Pair> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known
            .iter()
            .find(|pair| pair.source_dev == source_dev && pair.target_dev == target_dev);
        if let Some(pair) = found {
            return Arc::clone(pair);
        }
        let pair = Arc::new(Pair::new(device(source_dev, source), device(target_dev, target)));
        known.push(Arc::clone(&pair));
        pair
    }
}

/// A file system that will not say what it is, is treated like one that nobody knows.
fn device(dev: u64, fd: BorrowedFd<'_>) -> Device {
    let quirk = fstatfs(fd).map_or(&quirk::UNKNOWN, |told| quirk::of_magic(told.magic));
    Device { dev, quirk }
}
