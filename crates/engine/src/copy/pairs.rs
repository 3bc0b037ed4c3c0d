//! Pairs of file systems that a run uses.

use haul_sys::sync::Mutex;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use haul_io::{Device, Pair, quirk};

/// Pairs of file systems that a run uses, with what it has learned about each.
#[derive(Default)]
pub(crate) struct Pairs {
    known: Mutex<Vec<Arc<Pair>>>,
}

impl Pairs {
    /// Returns the pair of two devices, each with a descriptor on it. The first call queries both
    /// file systems.
    pub(crate) fn of(
        &self,
        source_dev: u64,
        source: BorrowedFd<'_>,
        target_dev: u64,
        target: BorrowedFd<'_>,
    ) -> Arc<Pair> {
        let mut known = self.known.lock();
        let found = known
            .iter()
            .find(|pair| pair.source_dev == source_dev && pair.target_dev == target_dev);
        if let Some(pair) = found {
            return Arc::clone(pair);
        }
        let to = device(target_dev, target);
        let bits = to.quirk.inode_group_bits(target);
        let pair = Pair::new(device(source_dev, source), to).with_target_groups(bits);
        let pair = Arc::new(pair);
        known.push(Arc::clone(&pair));
        pair
    }
}

fn device(dev: u64, fd: BorrowedFd<'_>) -> Device {
    Device { dev, quirk: quirk::of(fd) }
}
