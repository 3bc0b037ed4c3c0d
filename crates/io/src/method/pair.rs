//! A source and a target file system, and what was learned about moving bytes between them.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use haul_sys::fs::fstat;

use crate::method::id::MethodId;
use crate::system::quirk::{self, Quirk};
use crate::system::space::Space;

/// One of the two files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one that is read.
    Source,
    /// The one that is written.
    Target,
}

/// A device and what is known of its file system.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    /// Its number.
    pub dev: u64,
    /// The row of its file system.
    pub quirk: &'static Quirk,
}

impl Device {
    /// Returns the device that an open file is on. A file system that does not tell its type counts
    /// as [`quirk::UNKNOWN`].
    pub fn of(file: impl AsFd) -> haul_sys::Result<Device> {
        Ok(Device { quirk: quirk::of(&file), dev: fstat(&file)?.dev })
    }
}

/// One pair of devices. Lives for a run and is shared by its workers.
#[derive(Debug)]
pub struct Pair {
    /// The source's device number.
    pub source_dev: u64,
    /// The target's device number.
    pub target_dev: u64,
    /// What is special about the source's file system.
    pub source: &'static Quirk,
    /// What is special about the target's file system.
    pub target: &'static Quirk,
    /// Number of low bits of an inode number of the target that are the position in its allocation
    /// group, if workers should be in different groups; see [`Quirk::inode_group_bits`].
    pub target_group_bits: Option<u32>,
    /// Whether flushes make room on the target's file system when it says that it is full.
    pub space: Space,
    /// One bit for each method that the kernel refused between these two.
    refused: AtomicU32,
    /// Whether uncached requests were refused, by the source's file system and by the target's.
    uncached_refused: [AtomicBool; 2],
    /// Whether `copy_file_range` is known to be done by the server.
    offloads: AtomicBool,
    /// Workers that are finding that out.
    trials: AtomicU32,
    /// Small files so far of which residency could be asked.
    small_files: AtomicU64,
    /// Whether it was reported already that direct I/O is not possible between these two.
    told_not_direct: AtomicBool,
}

impl Pair {
    /// Makes a pair about which nothing was learned yet.
    #[must_use]
    pub const fn new(source: Device, target: Device) -> Pair {
        Pair {
            source_dev: source.dev,
            target_dev: target.dev,
            source: source.quirk,
            target: target.quirk,
            target_group_bits: None,
            space: Space::new(),
            refused: AtomicU32::new(0),
            uncached_refused: [AtomicBool::new(false), AtomicBool::new(false)],
            offloads: AtomicBool::new(false),
            trials: AtomicU32::new(0),
            small_files: AtomicU64::new(0),
            told_not_direct: AtomicBool::new(false),
        }
    }

    /// Sets what inode numbers of the target say about its allocation groups.
    #[must_use]
    pub const fn with_target_groups(mut self, bits: Option<u32>) -> Pair {
        self.target_group_bits = bits;
        self
    }

    /// Tells whether bytes or names of either side are somewhere else, a trip away.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        self.source.is_remote() || self.target.is_remote()
    }

    /// Tells whether a range that was copied by `copy_file_range` has shown that the server does it.
    #[must_use]
    pub fn offloads(&self) -> bool {
        self.offloads.load(Ordering::Relaxed)
    }

    /// Remembers that the server copies ranges by itself.
    pub fn prove_offload(&self) {
        self.offloads.store(true, Ordering::Relaxed);
    }

    /// Tells whether a worker is finding out whether the server does it.
    pub(crate) fn is_on_trial(&self) -> bool {
        self.trials.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn begin_trial(&self) {
        self.trials.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end_trial(&self) {
        self.trials.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns for how many small files the next one stands when residency is asked: for itself at
    /// first, later one for many, and the others for none.
    pub(crate) fn small_file_stands_for(&self) -> u64 {
        crate::cache::residency::stands_for(self.small_files.fetch_add(1, Ordering::Relaxed))
    }

    /// Tells whether both are the same device.
    #[must_use]
    pub const fn one_device(&self) -> bool {
        self.source_dev == self.target_dev
    }

    /// Tells whether the kernel refused this method before.
    #[must_use]
    pub fn is_refused(&self, method: MethodId) -> bool {
        self.refused.load(Ordering::Relaxed) & Pair::bit(method) != 0
    }

    /// Remembers that the kernel refuses this method between the two.
    pub fn refuse(&self, method: MethodId) {
        self.refused.fetch_or(Pair::bit(method), Ordering::Relaxed);
    }

    /// Tells whether uncached requests are worth trying on a side.
    #[must_use]
    pub fn uncached(&self, which: Which) -> bool {
        let [source, target] = &self.uncached_refused;
        let refused = match which {
            Which::Source => source,
            Which::Target => target,
        };
        !refused.load(Ordering::Relaxed)
    }

    /// Remembers that a side's file system has no uncached requests.
    pub fn refuse_uncached(&self, which: Which) {
        let [source, target] = &self.uncached_refused;
        match which {
            Which::Source => source.store(true, Ordering::Relaxed),
            Which::Target => target.store(true, Ordering::Relaxed),
        }
    }

    /// Tells whether it was not reported yet that direct I/O is not possible here; the first caller
    /// is to.
    #[must_use]
    pub fn is_news_that_not_direct(&self) -> bool {
        !self.told_not_direct.swap(true, Ordering::Relaxed)
    }

    const fn bit(method: MethodId) -> u32 {
        const { assert!(MethodId::COUNT <= 32) };
        1 << method.index()
    }
}
