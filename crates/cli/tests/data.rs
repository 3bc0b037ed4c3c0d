//! The bytes of a file: every size at which the behaviour changes, holes of every shape, on every
//! file system, by one worker and by several.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use haul_manifest::{Aspects, parse_recipe};

use super::support::judge::demand_equal;
use super::support::run::{Call, cp};
use super::support::scratch::Scratch;
use super::support::shell::{noise, shell};
use super::support::volume::{Volume, pairs, volumes};
use super::support::{Outcome, allocated, has, ignored, is_root};

const MIB: u64 = 1 << 20;

/// Sizes around blocks, buffers, and the limits of sharing and preallocation.
const SIZES: [u64; 26] = [
    0,
    1,
    511,
    512,
    513,
    4095,
    4096,
    4097,
    5000,
    32_767,
    32_768,
    65_537,
    262_143,
    262_144,
    262_145,
    MIB - 1,
    MIB,
    MIB + 1,
    2 * MIB + 1,
    4 * MIB - 1,
    4 * MIB,
    8 * MIB - 1,
    8 * MIB,
    8 * MIB + 1,
    16 * MIB + 4095,
    64 * MIB,
];

/// Makes a folder with a file of every size, no two alike.
fn plant_sizes(dir: &Path) -> Outcome {
    fs::create_dir(dir)?;
    for (index, size) in SIZES.iter().enumerate() {
        let file = File::create(dir.join(format!("{size}")))?;
        let mut word = (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut chunk = Vec::with_capacity(MIB as usize);
        while (chunk.len() as u64) < (*size).min(MIB) {
            word = word.rotate_left(7).wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
            chunk.extend_from_slice(&word.to_le_bytes());
        }
        let mut at = 0;
        while at < *size {
            let length = (*size - at).min(MIB) as usize;
            // Every MiB contains its own number, so that exchanged ones are detected.
            let stamp = at.to_le_bytes();
            let chunk = chunk.get_mut(..length).unwrap_or_default();
            for (byte, stamp) in chunk.iter_mut().zip(stamp) {
                *byte = stamp;
            }
            file.write_all_at(chunk, at)?;
            at += length as u64;
        }
    }
    Ok(())
}

/// The file system frees the allocation beyond the end of a dense file.
fn demand_bytes(scratch: &Scratch, target: &Scratch, context: &str) {
    demand_equal(&scratch.at("s"), &target.at("t"), Aspects::contents_only(), context);
}

#[test]
fn every_size_arrives_whole_on_every_file_system() -> Outcome {
    for volume in volumes()? {
        let scratch = Scratch::on(&volume)?;
        plant_sizes(&scratch.at("s"))?;
        for jobs in ["--jobs=1", "--jobs=4"] {
            for option in ["--reflink=auto", "--reflink=never"] {
                cp(["-r", jobs, option, "s", "t"]).in_dir(scratch.path()).succeed()?;
                demand_bytes(&scratch, &scratch, &format!("{} {jobs} {option}", volume.name));
                scratch.clear("t")?;
            }
        }
    }
    Ok(())
}

#[test]
fn every_size_arrives_whole_between_file_systems() -> Outcome {
    for (from, to) in pairs()? {
        let (source, target) = (Scratch::on(&from)?, Scratch::on(&to)?);
        plant_sizes(&source.at("s"))?;
        cp(["-r", "--jobs=2"]).word(source.at("s")).word(target.at("t")).succeed()?;
        demand_bytes(&source, &target, &format!("{} to {}", from.name, to.name));
    }
    Ok(())
}

/// Larger existing files are truncated to the new size, whatever they contain.
#[test]
fn every_size_arrives_whole_over_a_larger_file() -> Outcome {
    let scratch = Scratch::new()?;
    plant_sizes(&scratch.at("s"))?;
    fs::create_dir(scratch.at("t"))?;
    for size in SIZES {
        let file = File::create(scratch.at(format!("t/{size}")))?;
        file.write_all_at(&[0xff; 10_000], size.saturating_sub(5000))?;
    }
    cp(["-rT", "--jobs=2", "s", "t"]).in_dir(scratch.path()).succeed()?;
    demand_bytes(&scratch, &scratch, "over larger files");
    Ok(())
}

/// A piece of data in a file with holes.
type Piece = (u64, u64);

/// Holes at every place: before, between and after data, only holes, one block far away.
const MAPS: [(&str, u64, &[Piece]); 9] = [
    ("leading", 4 * MIB, &[(4 * MIB - 4096, 4096)]),
    ("middle", 4 * MIB, &[(0, 4096), (4 * MIB - 4096, 4096)]),
    ("trailing", 4 * MIB, &[(0, 4096)]),
    ("all", 4 * MIB, &[]),
    ("unaligned", 3 * MIB + 123, &[(5, 1), (MIB + 1, 4097), (3 * MIB + 120, 3)]),
    ("unaligned-trailing", 3 * MIB + 123, &[(MIB + 77, 10_000)]),
    ("large", 32 * MIB, &[(0, 3 * MIB), (9 * MIB + 1, 5 * MIB), (31 * MIB, MIB)]),
    ("large-trailing", 32 * MIB + 5, &[(MIB, 9 * MIB)]),
    ("huge", 5 << 30, &[(0, 4096), ((5 << 30) - 4096, 4096)]),
];

fn plant_maps(dir: &Path) -> Outcome {
    fs::create_dir(dir)?;
    for (name, size, pieces) in MAPS {
        let file = File::create(dir.join(name))?;
        file.set_len(size)?;
        for (offset, length) in pieces {
            file.write_all_at(&vec![b'#'; *length as usize], *offset)?;
        }
    }
    Ok(())
}

/// Returns whether holes are read as zeros, by the copy or by the comparison, because the file system is not
/// trusted about them. Once is enough for gibibytes of them.
fn reads_holes(volume: &Volume) -> bool {
    volume.name == "overlayfs"
}

/// Asserts that the allocation is about the size of the data: after each write that extends a file, XFS
/// reserves up to the size written so far.
fn demand_holes(from: &Path, to: &Path, volume: &Volume, context: &str) -> Outcome {
    for (name, _, pieces) in MAPS.into_iter().filter(|(name, ..)| from.join(name).exists()) {
        let data: u64 = pieces.iter().map(|(_, length)| length + 2 * 65_536).sum();
        let slack = if volume.name.starts_with("xfs") { 2 * data + 8 * MIB } else { 2 * 65_536 };
        let (source, target) = (allocated(&from.join(name))?, allocated(&to.join(name))?);
        let most = data.max(source) + slack;
        assert!(target <= most, "{context} {name}: {target} bytes allocated, more than {most}");
    }
    Ok(())
}

#[test]
fn holes_stay_holes_on_every_file_system() -> Outcome {
    for volume in volumes()? {
        let scratch = Scratch::on(&volume)?;
        plant_maps(&scratch.at("s"))?;
        for options in [["-r", "--jobs=1"], ["-r", "--jobs=4"], ["-r", "--reflink=never"]] {
            let context = format!("{} {options:?}", volume.name);
            cp(options).words(["s", "t"]).in_dir(scratch.path()).succeed()?;
            demand_bytes(&scratch, &scratch, &context);
            demand_holes(&scratch.at("s"), &scratch.at("t"), &volume, &context)?;
            scratch.clear("t")?;
            if reads_holes(&volume) {
                scratch.clear("s/huge")?;
            }
        }
    }
    Ok(())
}

#[test]
fn holes_stay_holes_between_file_systems() -> Outcome {
    for (from, to) in pairs()? {
        let (source, target) = (Scratch::on(&from)?, Scratch::on(&to)?);
        plant_maps(&source.at("s"))?;
        if reads_holes(&from) || reads_holes(&to) {
            source.clear("s/huge")?;
        }
        let context = format!("{} to {}", from.name, to.name);
        cp(["-r", "--jobs=2"]).word(source.at("s")).word(target.at("t")).succeed()?;
        demand_bytes(&source, &target, &context);
        demand_holes(&source.at("s"), &target.at("t"), &to, &context)?;
    }
    Ok(())
}

/// Unwritten extents, dirty pages over them, punched holes, space reserved beyond the end.
#[test]
fn reserved_and_punched_space_is_read_as_zeros() -> Outcome {
    use rustix::fs::{FallocateFlags, fallocate};
    for volume in volumes()? {
        let scratch = Scratch::on(&volume)?;
        fs::create_dir(scratch.at("s"))?;
        let make = |name: &str| File::create(scratch.at("s").join(name));
        let reserved = make("reserved")?;
        fallocate(&reserved, FallocateFlags::empty(), 0, 2 * MIB)?;
        let dirty = make("dirty")?;
        fallocate(&dirty, FallocateFlags::empty(), 0, 2 * MIB)?;
        dirty.write_all_at(&[1; 5000], MIB + 3)?;
        let punched = make("punched")?;
        punched.write_all_at(&vec![2; 3 * MIB as usize], 0)?;
        let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fallocate(&punched, punch, MIB, MIB + 100)?;
        let behind = make("behind")?;
        behind.write_all_at(&[3; 100], 0)?;
        fallocate(&behind, FallocateFlags::KEEP_SIZE, 0, 4 * MIB)?;
        for jobs in ["--jobs=1", "--jobs=4"] {
            cp(["-r", jobs, "s", "t"]).in_dir(scratch.path()).succeed()?;
            demand_bytes(&scratch, &scratch, &format!("{} {jobs}", volume.name));
            scratch.clear("t")?;
        }
    }
    Ok(())
}

#[test]
fn zeros_become_holes_when_they_are_to_and_holes_are_filled_when_they_are_not_to_be() -> Outcome {
    for volume in volumes()? {
        let scratch = Scratch::on(&volume)?;
        fs::create_dir(scratch.at("s"))?;
        let mut bytes = vec![0; 4 * MIB as usize];
        bytes[MIB as usize] = 1;
        bytes[3 * MIB as usize + 5] = 2;
        fs::write(scratch.at("s/zeros"), &bytes)?;
        File::create(scratch.at("s/hole"))?.set_len(MIB)?;
        cp(["-r", "--sparse=always", "s", "t"]).in_dir(scratch.path()).succeed()?;
        demand_bytes(&scratch, &scratch, &volume.name);
        // XFS may keep its preallocation until the inode leaves memory.
        let held = allocated(&scratch.at("t/zeros"))?;
        let is_xfs = volume.name.starts_with("xfs");
        assert!(held <= 512 * 1024 || is_xfs, "{}: {held} bytes allocated", volume.name);
        scratch.clear("t")?;
        cp(["-r", "--sparse=never", "s", "t"]).in_dir(scratch.path()).succeed()?;
        demand_bytes(&scratch, &scratch, &volume.name);
        let held = allocated(&scratch.at("t/hole"))?;
        assert!(held >= MIB, "{}: {held} bytes allocated", volume.name);
        scratch.clear("t")?;
    }
    Ok(())
}

#[test]
fn a_mixed_tree_is_copied_by_several_workers() -> Outcome {
    let scratch = Scratch::new()?;
    parse_recipe("mixed:files=3000,median=2048,cap=20M,seed=9")?
        .generate(&scratch.at("s"))
        .map_err(|failure| failure.to_string())?;
    for jobs in ["--jobs=2", "--jobs=16"] {
        cp(["-a", jobs, "s", "t"]).in_dir(scratch.path()).succeed()?;
        demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::all(), jobs);
        scratch.clear("t")?;
    }
    Ok(())
}

/// A hole that is not written to a device leaves the old bytes there.
#[test]
fn a_file_with_holes_overwrites_a_device_entirely() -> Outcome {
    if !is_root()? || !has("losetup")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("image", [])?;
    let sparse = File::create(scratch.at("f"))?;
    sparse.set_len(12 * MIB)?;
    sparse.write_all_at(b"data", 5 * MIB)?;
    let model = fs::read(scratch.at("f"))?;
    let mut wrong = Vec::new();
    for line in TO_A_DEVICE {
        fs::write(scratch.at("image"), vec![b'A'; model.len()])?;
        let attach = Call::of("losetup").words(["-f", "--show"]);
        let attached = attach.word(scratch.at("image")).run()?;
        if attached.code() != Some(0) {
            return ignored(&format!("a loop device: {}", attached.errors()));
        }
        let device = attached.text().trim().to_owned();
        let done = shell(scratch.path(), &line.replace("DEVICE", &device));
        let seen = fs::read(&device);
        Call::of("losetup").words(["-d", &device]).succeed()?;
        let (done, seen) = (done?, seen?);
        if !done.status.success() || !done.stderr.is_empty() || seen != model {
            wrong.push(format!("{line}: {done:?}, old data is left: {}", seen.contains(&b'A')));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Commands that write the file `f` to a device. `dd conv=sparse` is none of them: by its definition it seeks
/// over zeros, whatever the target holds.
const TO_A_DEVICE: [&str; 9] = [
    "haul cp --jobs=2 f DEVICE",
    "haul cp --sparse=always f DEVICE",
    "haul cp --sparse=always --cache=direct f DEVICE 2> messages",
    "haul write --sparse DEVICE < f",
    "cat f | haul write --sparse DEVICE",
    "cat f | haul write --sparse --cache=direct DEVICE 2> messages",
    "haul write --sparse copy DEVICE < f && cmp f copy",
    "haul tee DEVICE < f > copy",
    "haul read f > DEVICE",
];

#[test]
fn files_that_take_long_are_the_last_of_a_batch() -> Outcome {
    // No other worker could take what follows such a file in the batch of a worker that stays on it.
    for large_is_first in [true, false] {
        let scratch = Scratch::new()?;
        let large = noise(64 << 20);
        let order: Vec<u32> =
            if large_is_first { (0..9).collect() } else { (0..9).rev().collect() };
        for number in order {
            let bytes = if number == 0 { large.as_slice() } else { b"small" };
            scratch.write(&format!("s/{number}"), bytes)?;
        }
        cp(["-r", "--jobs=1", "s", "t"]).in_dir(scratch.path()).succeed()?;
        let written = |number| fs::metadata(scratch.at(format!("t/{number}")))?.modified();
        let last = written(0)?;
        for number in 1..9 {
            assert!(written(number)? <= last, "{number}, {large_is_first}");
        }
    }
    Ok(())
}

/// As `O_TRUNC` does, which programs that compare times rely on.
#[test]
fn an_empty_file_over_an_empty_one_updates_its_time() -> Outcome {
    for volume in volumes()? {
        for options in [&[][..], &["--atomic"], &["--durable"], &["-f"], &["--sparse=always"]] {
            let scratch = Scratch::on(&volume)?;
            for name in ["s", "t"] {
                let file = File::create(scratch.at(name))?;
                file.set_modified(std::time::UNIX_EPOCH)?;
            }
            cp(options).words(["s", "t"]).in_dir(scratch.path()).succeed()?;
            let time = fs::metadata(scratch.at("t"))?.modified()?;
            assert_ne!(time, std::time::UNIX_EPOCH, "{options:?} {}", volume.name);
        }
    }
    Ok(())
}
