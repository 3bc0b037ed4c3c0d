//! Mounts the table, and unmounts it in every case.
//!
//! `Mounts` is a guard: when dropped, it unmounts everything in its place. Failures in `Drop` can only
//! be printed, so `down` is the regular way.

use super::loops;
use super::place::{Place, mounted_below};
use super::table::{FILE_SYSTEMS, FileSystem, IMAGE_BYTES, Medium};
use crate::command::{command, output};
use crate::error::{Context, Error, Result};
use crate::interrupt;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Attempts to unmount a busy mount: a process that was just killed takes a moment to close its files.
const UNMOUNT_TRIES: usize = 20;
const UNMOUNT_WAIT: Duration = Duration::from_millis(100);

/// The lifetime of the mounts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// Until a call of `down`.
    Down,
    /// Until the namespace of this process ends: the images get no name, so a kill leaves no file.
    Exit,
}

/// Mounted file systems, unmounted when dropped.
pub(crate) struct Mounts {
    place: Place,
    /// File systems that could not be mounted, and why.
    pub(crate) missing: Vec<(&'static str, Error)>,
    /// File systems that were mounted before, and stay if an `up` fails.
    already: Vec<&'static FileSystem>,
    is_kept: bool,
}

impl Mounts {
    /// Mounts what is not mounted yet. Fails only if a signal arrived or the place cannot be used.
    pub(crate) fn up(place: Place, until: Until) -> Result<Self> {
        let already = place.mounted()?;
        let mut mounts = Self { place, missing: Vec::new(), already, is_kept: false };
        // Declared after the guard, so that it is released before the guard unmounts.
        let lock = mounts.place.lock()?;
        mounts.already = mounts.place.mounted()?;
        for one in FILE_SYSTEMS {
            interrupt::check()?;
            if mounts.already.iter().any(|mounted| mounted.name == one.name) {
                continue;
            }
            if let Err(cause) = mount(&mounts.place, one, until) {
                mounts.missing.push((one.name, cause));
            }
        }
        interrupt::check()?;
        drop(lock);
        Ok(mounts)
    }

    /// Leaves everything mounted.
    pub(crate) fn keep(mut self) -> Vec<(&'static str, Error)> {
        self.is_kept = true;
        std::mem::take(&mut self.missing)
    }

    /// Unmounts everything and reports what could not be unmounted.
    pub(crate) fn down(mut self) -> Result<()> {
        self.is_kept = true;
        down(&self.place, &self.already)
    }
}

impl Drop for Mounts {
    fn drop(&mut self) {
        if !self.is_kept
            && let Err(error) = down(&self.place, &self.already)
        {
            eprintln!("xtask: {error}");
        }
    }
}

/// The size of a cover, more than all tests that run at one time write to it. Its image is sparse.
const COVER_BYTES: u64 = 8 << 30;

/// Covers a folder with a new ext4 until the namespace of this process ends; its own entries are hidden meanwhile.
///
/// Many tests make and remove trees below the build. An ext4 without a journal, as root disks of virtual machines
/// often are, passes over each inode that was freed in the last minutes when it makes one (`recently_deleted` in the
/// kernel's fs/ext4/ialloc.c): a sixth of the processor time of all tests. Nothing of it survives the run, so
/// no flush waits for the disk (`nobarrier`, ext4(5)).
pub(crate) fn cover(folder: &Path, image: &Path) -> Result<()> {
    // The names of a directory come in the same order in each run.
    let order = "hash_seed=6861756c-0000-4000-8000-000000000001";
    loops::format(image, COVER_BYTES, &["mkfs.ext4", "-q", "-F", "-m", "0", "-E", order])?;
    // Pages of the image would count as those of the tests.
    let attach = ["--find", "--show", "--direct-io=on"];
    let device = output(command("losetup").args(attach).arg(image));
    fs::remove_file(image).context("remove the name of", image.display())?;
    let device = device?;
    let mounted = output(command("mount").args(["-o", "nobarrier", device.trim()]).arg(folder));
    // Detaches if the mount failed; with its last user otherwise.
    let detached = output(command("losetup").args(["--detach", device.trim()]));
    mounted.and(detached).map(drop)
}

/// Returns the value of `HAUL_TEST_FS` for the file systems that are mounted in the place now.
pub(crate) fn env_value(place: &Place) -> Result<String> {
    let mounted = place.mounted()?;
    let pairs =
        mounted.iter().map(|one| format!("{}={}", one.name, place.mount_point(one.name).display()));
    Ok(pairs.collect::<Vec<_>>().join(":"))
}

fn mount(place: &Place, one: &FileSystem, until: Until) -> Result<()> {
    let point = place.mount_point(one.name);
    fs::create_dir_all(&point).context("create", point.display())?;
    match &one.medium {
        Medium::Image { format, sector } => {
            let image = place.image(one.name);
            loops::detach(&image)?;
            loops::format(&image, IMAGE_BYTES, format)?;
            loops::mount(&image, *sector, &point)?;
            if until == Until::Exit {
                fs::remove_file(&image).context("remove the name of", image.display())?;
            }
        }
        Medium::Memory { options } => {
            output(command("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&point))?;
        }
        Medium::Overlay { on } => mount_overlay(place, on, &point)?,
    }
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&point, open).context("open to all users", point.display())
}

fn mount_overlay(place: &Place, on: &str, point: &Path) -> Result<()> {
    if !place.mounted()?.iter().any(|mounted| mounted.name == on) {
        return Err(Error::new(format!("{on}, which it lies on, is not mounted")));
    }
    let base = place.mount_point(on).join(".overlay");
    let folder = |name: &str| {
        let dir = base.join(name);
        fs::create_dir_all(&dir).context("create", dir.display())?;
        Ok(dir.display().to_string())
    };
    let (lower, upper, work) = (folder("lower")?, folder("upper")?, folder("work")?);
    let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
    output(command("mount").args(["-t", "overlay", "-o", &options, "overlay"]).arg(point))?;
    Ok(())
}

/// Unmounts, detaches and removes everything in the place but `kept`; continues after failures.
pub(crate) fn down(place: &Place, kept: &[&FileSystem]) -> Result<()> {
    if !place.dir.exists() {
        return Ok(());
    }
    let lock = place.lock()?;
    let kept_points: Vec<_> = kept.iter().map(|one| place.mount_point(one.name)).collect();
    let mut failures = Vec::new();
    for point in mounted_below(&place.dir)?.iter().rev() {
        if !kept_points.contains(point) {
            failures.extend(unmount(point).err());
        }
    }
    for one in FILE_SYSTEMS.iter().filter(|one| !kept_points.contains(&place.mount_point(one.name)))
    {
        failures.extend(remove(place, one).err());
    }
    // Fails if it holds other files, such as the place of a test run, and then stays.
    fs::remove_dir(&place.dir).ok();
    drop(lock);
    let Some(first) = failures.first() else {
        return Ok(());
    };
    Err(Error::new(format!("{} failures while unmounting; {first}", failures.len()))
        .hint("end what still uses the mounts, then run `cargo xtask fs down` again"))
}

fn unmount(point: &Path) -> Result<()> {
    let mut last = Ok(());
    for _ in 0..UNMOUNT_TRIES {
        last = output(command("umount").arg(point)).map(drop);
        if last.is_ok() {
            break;
        }
        std::thread::sleep(UNMOUNT_WAIT);
    }
    last
}

/// Removes a file system's image and mount point, unless it is still mounted.
fn remove(place: &Place, one: &FileSystem) -> Result<()> {
    let point = place.mount_point(one.name);
    if place.mounted()?.iter().any(|mounted| mounted.name == one.name) {
        return Err(Error::new(format!("{} is still mounted", point.display())));
    }
    let gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    let image = place.image(one.name);
    if image.exists() {
        loops::detach(&image)?;
        gone(fs::remove_file(&image)).context("remove", image.display())?;
    }
    // Never recursively: if a mount is still there, its content must not be deleted.
    gone(fs::remove_dir(&point)).context("remove", point.display())
}
