//! How tests unmount what they have mounted.

use std::path::Path;
use std::time::Duration;

use haul_manifest::{holds_within, wait_until};
use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use super::Outcome;
use super::run::Call;

/// Time after which a busy file system is detached from its name instead.
const BUSY: Duration = Duration::from_secs(60);

/// Unmounts a file system. It may be busy for a moment: the child that another test has just forked has all
/// descriptors of this process until it executes its program.
pub(crate) fn unmount(point: &Path) -> Outcome {
    let mut answer = Ok(());
    let is_over = holds_within(BUSY, || {
        let done = rustix::mount::unmount(point, UnmountFlags::empty());
        answer = done;
        answer != Err(Errno::BUSY)
    });
    if is_over {
        return Ok(answer?);
    }
    // Nothing of it may stay, whatever the test is about.
    Call::of("umount").word("-l").word(point).succeed()?;
    Err(format!("{}: it stayed busy", point.display()).into())
}

/// Waits until no loop device has an image any more. The kernel detaches one a moment after it is unmounted, and
/// mount(8) would take it again: read-only, if it was.
pub(crate) fn wait_for_loop_device(image: &Path) -> Outcome {
    let mut failed = Ok(());
    wait_until(&format!("no loop device has {}", image.display()), || {
        match Call::of("losetup").word("-j").word(image).run() {
            Ok(done) => done.code() != Some(0) || done.text().is_empty(),
            Err(error) => {
                failed = Err(error);
                true
            }
        }
    });
    failed
}
