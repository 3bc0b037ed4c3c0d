//! How many workers move one file, for pairs of file systems that need not be here.

use std::fs::File;
use std::os::fd::AsFd as _;

use haul_io::method::Sharing;
use haul_io::transfer::{Transfer, is_worth_a_worker, is_worth_sharing};
use haul_io::{Cache, DataPolicy, Device, FileJob, OpenFiles, Pair, Reflink};
use haul_sys::fs::{Kind, fstat};

use crate::support::{MIB, Outcome};

const EXT4: u32 = 0xef53;
const XFS: u32 = 0x5846_5342;
const FUSE: u32 = 0x6573_5546;

/// What is decided about a file of so many bytes from one file system to another: whether it is worth
/// several workers, whether one other is given it, and how many may draw.
fn decided(bytes: u64, from: u32, to: u32, cache: Cache) -> Outcome<(bool, bool, usize)> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("source");
    File::create(&path)?.set_len(bytes)?;
    let file = File::open(&path)?;
    let stat = fstat(&file)?;
    let target = File::create(directory.path().join("target"))?;
    let device = |dev, magic| Device { dev, quirk: haul_io::quirk::of_magic(magic) };
    let pair = Pair::new(device(1, from), device(2, to));
    let policy = DataPolicy { cache, reflink: Reflink::Never, ..DataPolicy::default() };
    let job = FileJob {
        source: file.as_fd(),
        target: target.as_fd(),
        stat: &stat,
        target_kind: Kind::Regular,
        pair: &pair,
        policy: &policy,
        extent: None,
        digests: None,
        open_files: OpenFiles::Own,
    };
    let most = Transfer::new(&job, Sharing::Several).most_workers(&pair);
    Ok((is_worth_sharing(&job), is_worth_a_worker(&job), most))
}

#[test]
fn the_number_of_workers_depends_on_both_file_systems() -> Outcome {
    const ALL: usize = usize::MAX;
    for (mib, from, to, cache, expected) in [
        // Two take turns where the kernel makes one write at a time; small files are not worth it.
        (1, EXT4, EXT4, Cache::Keep, (false, true, 2)),
        (64, EXT4, EXT4, Cache::Keep, (true, true, 2)),
        (512, EXT4, EXT4, Cache::Keep, (true, false, 2)),
        (64, EXT4, XFS, Cache::Keep, (true, true, 2)),
        (512, EXT4, XFS, Cache::Keep, (true, false, 2)),
        // Requests to a server wait at the same time, whatever the target is.
        (64, FUSE, EXT4, Cache::Keep, (true, true, ALL)),
        (64, FUSE, XFS, Cache::Keep, (true, true, ALL)),
        (64, EXT4, FUSE, Cache::Keep, (true, false, ALL)),
    ] {
        let found = decided(mib * MIB, from, to, cache)?;
        assert_eq!(found, expected, "{mib} MiB from {from:x} to {to:x}");
    }
    Ok(())
}
