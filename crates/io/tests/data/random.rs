//! Files made by many random operations, as in fsx: overwritten, truncated, extended, punched and
//! preallocated at random places. Every method copies each file, and the test compares the copy with a
//! model in memory, not with what the file system returns for the source.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use haul_io::{Cache, Choice, DataPolicy, Reflink, Sparse};
use haul_manifest::Numbers;
use haul_sys::data::{Allocate, fallocate};

use super::support::{Workers, copy, is_refusal, methods, places};

/// Room for a few requests, ranges and windows of every method.
const MOST_BYTES: u64 = 11 << 20;

/// Operations between two copies. The file is never synced, so that dirty, reserved and delayed
/// blocks are copied.
const OPERATIONS: usize = 25;

/// Files on each file system.
const FILES: u64 = 6;

/// Offsets and lengths that are drawn from a fixed seed, the same in every run.
struct Chance(Numbers);

impl Chance {
    /// Returns an offset, half of the time at a border where something changes.
    fn place(&mut self, bound: u64) -> u64 {
        let place = self.0.below(bound);
        match self.0.below(4) {
            0 => place / 4096 * 4096,
            1 => (place >> 20 << 20).saturating_add(self.0.below(3)).saturating_sub(1),
            _ => place,
        }
    }

    /// Returns a length, small ones as likely as large ones.
    fn length(&mut self, bound: u64) -> u64 {
        let most = 1_u64 << self.0.below(22);
        1 + self.0.below(most.min(bound).max(1))
    }
}

/// A file and its expected contents.
struct Subject {
    file: File,
    model: Vec<u8>,
}

impl Subject {
    fn new(path: &Path) -> Subject {
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(true).open(path).unwrap();
        Subject { file, model: Vec::new() }
    }

    fn change(&mut self, chance: &mut Chance) {
        let size = self.model.len() as u64;
        match chance.0.below(6) {
            0 | 1 => {
                let at = chance.place(MOST_BYTES - (2 << 20));
                let length = chance.length(2 << 20);
                self.write(chance, at, length);
            }
            2 => {
                let length = chance.length(1 << 20).min(MOST_BYTES - size);
                self.write(chance, size, length);
            }
            3 => {
                let size = chance.place(MOST_BYTES);
                self.file.set_len(size).unwrap();
                self.model.resize(size as usize, 0);
            }
            4 => {
                let at = chance.place(size);
                let length = chance.length(3 << 20);
                if fallocate(&self.file, at, length, Allocate::PunchHole).is_ok() {
                    let end = (at + length).min(size);
                    self.model[(at.min(end)) as usize..end as usize].fill(0);
                }
            }
            _ => {
                let (at, length) = (chance.place(MOST_BYTES), chance.length(3 << 20));
                // Space may be reserved far beyond the end; a refusal changes nothing.
                let _refused = fallocate(&self.file, at, length, Allocate::KeepSize);
            }
        }
    }

    fn write(&mut self, chance: &mut Chance, at: u64, length: u64) {
        // Sometimes zeros, because they may be mistaken for holes.
        let stamp = if chance.0.below(5) == 0 { 0 } else { chance.0.next() | 1 };
        let bytes: Vec<u8> = (0..length)
            .map(|n| (stamp.rotate_left((n % 61) as u32) as u8).wrapping_mul(u8::from(stamp != 0)))
            .collect();
        self.file.write_all_at(&bytes, at).unwrap();
        let end = (at + length) as usize;
        if self.model.len() < end {
            self.model.resize(end, 0);
        }
        self.model[at as usize..end].copy_from_slice(&bytes);
    }

    fn demand(&self, what: &str, target: &Path) {
        let copied = std::fs::read(target).unwrap();
        assert_eq!(copied.len(), self.model.len(), "{what}: sizes");
        // Equality of slices is one memcmp; byte by byte it takes longer than the copy.
        if copied != self.model {
            let different = copied.iter().zip(&self.model).position(|(one, two)| one != two);
            panic!("{what}: first difference at {different:?}");
        }
    }
}

#[test]
fn what_random_operations_made_is_copied_by_every_method() {
    for place in places() {
        let (source, target) = (place.path.join("source"), place.path.join("target"));
        for seed in 0..FILES {
            let mut chance = Chance(Numbers::new(seed));
            let mut subject = Subject::new(&source);
            let mut served = 0;
            for (method, name) in methods() {
                for _ in 0..OPERATIONS {
                    subject.change(&mut chance);
                }
                let one = DataPolicy { choice: Choice::Only(method), ..DataPolicy::PLAIN };
                let others = [Workers::One, Workers::Several];
                let sparse = if seed % 2 == 0 { Sparse::Auto } else { Sparse::Always };
                for (workers, sparse) in others.into_iter().zip([Sparse::Auto, sparse]) {
                    let policy = DataPolicy { sparse, ..one.clone() };
                    let what = format!("{name}, seed {seed}, {workers:?}, {}", place.name);
                    match copy(&policy, workers, &source, &target) {
                        Ok(_) => {
                            subject.demand(&what, &target);
                            served += 1;
                        }
                        Err(error) => assert!(is_refusal(error), "{what}: {error:?}"),
                    }
                }
            }
            // read-write moves everything; several methods move a file without holes.
            assert!(served >= 2, "seed {seed}, {}: {served}", place.name);
        }
    }
}

#[test]
fn what_random_operations_made_is_copied_under_every_cache_policy() {
    for place in places() {
        let (source, target) = (place.path.join("source"), place.path.join("target"));
        let mut chance = Chance(Numbers::new(0xfeed));
        let mut subject = Subject::new(&source);
        for round in 0..FILES {
            for cache in [Cache::Keep, Cache::Drop, Cache::Direct, Cache::Restore] {
                for _ in 0..OPERATIONS {
                    subject.change(&mut chance);
                }
                for workers in [Workers::One, Workers::Several] {
                    let policy = DataPolicy { cache, reflink: Reflink::Never, ..DataPolicy::PLAIN };
                    let what = format!("{cache:?}, round {round}, {workers:?}, {}", place.name);
                    let moved = copy(&policy, workers, &source, &target);
                    assert!(moved.is_ok(), "{what}: {moved:?}");
                    subject.demand(&what, &target);
                }
            }
        }
    }
}
