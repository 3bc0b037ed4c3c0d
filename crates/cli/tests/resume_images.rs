//! Files of another file system that stands where an earlier run found one, with the same inode numbers, sizes
//! and times: nothing of that run is taken for them.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use haul_manifest::Aspects;

use super::resume::{become_old, here, kill};
use super::support::judge::demand_equal;
use super::support::mounting::unmount;
use super::support::run::{Call, Done, cp};
use super::support::scratch::Scratch;
use super::support::shell::{demand, noise};
use super::support::strace::{Strace, is_usable};
use super::support::{Outcome, has, ignored, is_root};

const MIB: usize = 1 << 20;

/// Builds an image of a folder `$1` as the file `$2`. Two images of folders with the same names and sizes have
/// the same inode numbers and times, and where they have UUIDs, the same ones.
struct Kind {
    name: &'static str,
    program: &'static str,
    script: &'static str,
}

const KINDS: [Kind; 3] = [
    Kind {
        name: "squashfs",
        program: "mksquashfs",
        script: "mksquashfs $1 $2 -all-time 1700000000 -mkfs-time 1700000000 -comp gzip -quiet \
                 -no-progress >/dev/null",
    },
    Kind {
        name: "erofs",
        program: "mkfs.erofs",
        script: "mkfs.erofs -T1700000000 -U 4729639d-b5f2-5cc1-a120-9ac5f788683c $2 $1 >/dev/null 2>&1",
    },
    Kind {
        name: "ext4",
        program: "mkfs.ext4",
        script: "truncate -s 16M $2; mkfs.ext4 -q -U 4729639d-b5f2-5cc1-a120-9ac5f788683c -d $1 $2
                 for file in conf bin sub/deep; do for time in a m c; do
                     echo sif /$file ${time}time @1700000000; echo sif /$file ${time}time_extra 0
                 done; done | debugfs -w -f - $2 >/dev/null 2>&1",
    },
];

/// Images that are mounted one after another at one place.
struct Images {
    scratch: Scratch,
    point: PathBuf,
}

impl Images {
    /// Builds an image `one` and an image `two`, and mounts the first; `None`, and the test ignored, if that is
    /// not possible.
    fn new(kind: &Kind, furnish: impl Fn(&Scratch, &str) -> Outcome) -> Outcome<Option<Images>> {
        if !is_root()? || !has(kind.program)? {
            return Ok(None);
        }
        let scratch = Scratch::new()?;
        for image in ["one", "two"] {
            furnish(&scratch, image)?;
            demand(scratch.path(), &format!("set {image} {image}.img; {}", kind.script))?;
            scratch.clear(image)?;
        }
        let point = scratch.at("m");
        fs::create_dir(&point)?;
        let images = Images { scratch, point };
        if !images.mount("one", "ro,loop")? {
            ignored(&format!("{} on loop devices", kind.name))?;
            return Ok(None);
        }
        Ok(Some(images))
    }

    fn mount(&self, image: &str, options: &str) -> Outcome<bool> {
        let file = self.scratch.at(format!("{image}.img"));
        let done = Call::of("mount").words(["-o", options]).word(file).word(&self.point).run()?;
        Ok(done.code() == Some(0))
    }

    /// Unmounts the first image, and mounts the second at its place.
    fn exchange(&self, options: &str) -> Outcome {
        unmount(&self.point)?;
        assert!(self.mount("two", options)?);
        Ok(())
    }

    fn copy(&self) -> Outcome<Done> {
        here(&self.scratch, &["-aT", "--resume", "m", "t"]).run()
    }
}

impl Drop for Images {
    fn drop(&mut self) {
        // After a failure a mount remains, which the removal of the scratch folder reports.
        let _unmounted = unmount(&self.point);
    }
}

/// Returns what identifies a file apart from its file system.
fn identity(path: &Path) -> Outcome<(u64, u64, i64, i64, i64)> {
    let file = fs::metadata(path)?;
    Ok((file.ino(), file.size(), file.mtime(), file.ctime(), file.ctime_nsec()))
}

/// Writes a folder of three files, whose bytes depend on its name.
fn small_files(scratch: &Scratch, folder: &str) -> Outcome {
    scratch.write(&format!("{folder}/conf"), format!("version {folder}\n"))?;
    let mut bytes = noise(300_000);
    bytes.extend(folder.as_bytes());
    scratch.write(&format!("{folder}/bin"), bytes)?;
    scratch.write(&format!("{folder}/sub/deep"), folder)?;
    Ok(())
}

#[test]
fn another_image_at_the_same_place_is_copied() -> Outcome {
    for kind in &KINDS {
        let Some(images) = Images::new(kind, small_files)? else { continue };
        assert_eq!(images.copy()?.code(), Some(0), "{}", kind.name);
        let (conf, deep) = (images.point.join("conf"), images.point.join("sub/deep"));
        let before = (identity(&conf)?, identity(&deep)?);
        images.exchange("ro,loop")?;
        assert_eq!((identity(&conf)?, identity(&deep)?), before, "{}", kind.name);
        let done = images.copy()?;
        assert_eq!(done.code(), Some(0), "{}: {done:?}", kind.name);
        demand_equal(&images.point, &images.scratch.at("t"), Aspects::preserved(), kind.name);
    }
    Ok(())
}

/// The kernel gives no other mount the number of this one.
#[test]
fn an_image_that_stays_mounted_is_not_copied_again() -> Outcome {
    for kind in &KINDS {
        let Some(images) = Images::new(kind, small_files)? else { continue };
        assert_eq!(images.copy()?.code(), Some(0), "{}", kind.name);
        let point = fs::File::open(&images.point)?;
        if haul_sys::fs::unique_mount_id(&point)?.is_none() {
            return ignored("Linux 6.8");
        }
        drop(point);
        let done = images.copy()?;
        assert!(done.errors().contains("nothing to copy: 3 entries"), "{}: {done:?}", kind.name);
    }
    Ok(())
}

#[test]
fn a_large_file_is_not_continued_from_another_image() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let furnish = |scratch: &Scratch, folder: &str| {
        scratch.write(&format!("{folder}/data"), folder.repeat(200 * MIB / 3))?;
        Ok(())
    };
    let Some(images) = Images::new(&KINDS[0], furnish)? else { return Ok(()) };
    let words = ["-aT", "--resume", "m", "t"];
    kill(&images.scratch, here(&images.scratch, &words), "fdatasync", 4)?;
    images.exchange("ro,loop")?;
    let done = images.copy()?;
    assert_eq!(done.code(), Some(0), "{done:?}");
    let copied = fs::read(images.scratch.at("t/data"))?;
    assert!(copied == fs::read(images.point.join("data"))?, "it has bytes of the first image");
    Ok(())
}

/// A copy on another disk, which is a copy of the first one with another UUID, has other bytes.
#[test]
fn another_disk_at_the_place_of_the_target_is_written() -> Outcome {
    let kind = Kind {
        name: "ext4",
        program: "mkfs.ext4",
        script: "truncate -s 16M $2; mkfs.ext4 -q -O ^metadata_csum $2",
    };
    let furnish = |scratch: &Scratch, folder: &str| Ok(fs::create_dir(scratch.at(folder))?);
    let Some(images) = Images::new(&kind, furnish)? else { return Ok(()) };
    let scratch = &images.scratch;
    unmount(&images.point)?;
    assert!(images.mount("one", "loop")?);
    scratch.write("s/conf", "these are the bytes of the source")?;
    become_old();
    let copy = || {
        cp(["-aT", "--resume", "--journal=journal", "s", "m/t"]).in_dir(scratch.path()).succeed()
    };
    copy()?;
    let target = images.point.join("t/conf");
    let before = identity(&target)?;
    unmount(&images.point)?;
    demand(
        scratch.path(),
        "sed 's/bytes of the source/bytes of the others/' one.img >two.img
         tune2fs -U 4729639d-b5f2-5cc1-a120-9ac5f788683c two.img >/dev/null",
    )?;
    assert!(images.mount("two", "loop")?);
    assert_eq!(identity(&target)?, before);
    assert!(fs::read_to_string(&target)?.contains("others"));
    copy()?;
    assert_eq!(fs::read(&target)?, fs::read(scratch.at("s/conf"))?);
    Ok(())
}

#[test]
fn a_name_is_not_linked_to_the_copy_from_another_image() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let furnish = |scratch: &Scratch, folder: &str| {
        scratch.write(&format!("{folder}/first"), folder)?;
        fs::create_dir(scratch.at(folder).join("d"))?;
        Ok(fs::hard_link(scratch.at(folder).join("first"), scratch.at(folder).join("d/second"))?)
    };
    let Some(images) = Images::new(&KINDS[0], furnish)? else { return Ok(()) };
    let scratch = &images.scratch;
    let call = here(scratch, &["-aT", "--jobs=1", "--errors=list", "m", "t"]);
    let strace = Strace::new(scratch.at("log")).inject("sendfile:error=EIO:when=1");
    assert_eq!(strace.trace("sendfile").wrap(call).run()?.code(), Some(1));
    assert!(fs::read_to_string(scratch.at("list"))?.contains("known-name"));
    images.exchange("ro,loop")?;
    here(scratch, &["--retry-failed=list"]).succeed()?;
    assert_eq!(fs::read_to_string(scratch.at("t/first"))?, "two");
    Ok(())
}
