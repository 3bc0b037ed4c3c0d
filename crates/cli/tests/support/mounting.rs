//! How tests unmount what they have mounted.

use std::path::{Path, PathBuf};
use std::time::Duration;

use haul_manifest::holds_within;
use haul_sys::fs::mounts;
use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use super::Outcome;
use super::run::Call;

/// Time after which a busy file system is detached from its name instead.
const BUSY: Duration = Duration::from_secs(60);

/// Unmounts a file system, and waits until its device has nothing more to write. It may be busy for a moment: the
/// child that another test has just forked has all descriptors of this process until it executes its program. And a
/// child with a mount namespace of its own has had it mounted as well until it ends: until then, the image is not
/// whole, and a second mount of it would be of the same file system.
pub(crate) fn unmount(point: &Path) -> Outcome {
    let device = LoopDevice::of(point);
    let mut answer = Ok(());
    let is_over = holds_within(BUSY, || {
        let done = rustix::mount::unmount(point, UnmountFlags::empty());
        answer = done;
        answer != Err(Errno::BUSY)
    });
    if is_over {
        answer?;
        return match device.filter(|device| !holds_within(BUSY, || device.is_detached())) {
            None => Ok(()),
            Some(device) => Err(format!("{} is mounted elsewhere", device.image).into()),
        };
    }
    // Nothing of it may stay, whatever the test is about.
    Call::of("umount").word("-l").word(point).succeed()?;
    Err(format!("{}: it stayed busy", point.display()).into())
}

/// A loop device that the kernel detaches when its file system is unmounted everywhere.
struct LoopDevice {
    /// The file in `/sys` that names the image as long as there is one (loop(4)).
    attribute: PathBuf,
    image: String,
}

impl LoopDevice {
    /// Returns that of a mounted file system, if it has one, and is mounted here alone.
    fn of(point: &Path) -> Option<LoopDevice> {
        let mounts = mounts()?;
        let mount = mounts.iter().rfind(|mount| mount.point == point)?;
        if mounts.iter().filter(|other| other.numbers == mount.numbers).count() > 1 {
            return None;
        }
        let folder = Path::new("/sys/block").join(mount.source.file_name()?).join("loop");
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        let image = read("backing_file")?;
        let detaches_itself = read("autoclear")?.trim() == "1";
        detaches_itself.then(|| LoopDevice { attribute: folder.join("backing_file"), image })
    }

    /// Returns whether the device has no image any more, or already another one.
    fn is_detached(&self) -> bool {
        std::fs::read_to_string(&self.attribute).ok().as_ref() != Some(&self.image)
    }
}

mod tests {
    use std::process::Stdio;

    use haul_manifest::wait_until;

    use super::*;
    use crate::support::image::Image;
    use crate::support::scratch::Scratch;

    #[test]
    fn a_file_system_that_another_namespace_has_is_not_taken_for_unmounted() -> Outcome {
        let scratch = Scratch::new()?;
        let Some(image) = Image::new(&scratch, "ext4")? else { return Ok(()) };
        let device = LoopDevice::of(&image.mount).ok_or("no loop device")?;
        // It says that it has its namespace, and ends when its input does.
        let mut other = std::process::Command::new("unshare")
            .args(["-m", "--", "sh", "-c", "echo; cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut output = other.stdout.take().ok_or("no output")?;
        std::io::Read::read_exact(&mut output, &mut [0])?;
        rustix::mount::unmount(&image.mount, UnmountFlags::empty())?;
        assert!(!device.is_detached());
        drop(other.stdin.take());
        other.wait()?;
        wait_until("the device is detached", || device.is_detached());
        Ok(())
    }
}
