//! How tests unmount what they have mounted.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use super::Outcome;
use super::run::Call;

/// Number of attempts, of 10 ms each, before a busy file system is detached from its name instead.
const ATTEMPTS: usize = 1000;

/// Unmounts a file system. It may be busy for a moment: the child that another test has just forked has all
/// descriptors of this process until it executes its program.
pub(crate) fn unmount(point: &Path) -> Outcome {
    for _ in 0..ATTEMPTS {
        let done = Call::of("umount").word(point).run()?;
        if done.code() == Some(0) {
            return Ok(());
        }
        if !done.errors().contains("busy") {
            return Err(done.errors().into());
        }
        sleep(Duration::from_millis(10));
    }
    // Nothing of it may stay, whatever the test is about.
    Call::of("umount").word("-l").word(point).succeed()?;
    Err(format!("{}: it stayed busy", point.display()).into())
}

/// Waits until no loop device has an image any more. The kernel detaches one a moment after it is unmounted, and
/// mount(8) would take it again: read-only, if it was.
pub(crate) fn wait_for_loop_device(image: &Path) -> Outcome {
    for _ in 0..ATTEMPTS {
        let done = Call::of("losetup").word("-j").word(image).run()?;
        if done.code() != Some(0) || done.text().is_empty() {
            return Ok(());
        }
        sleep(Duration::from_millis(10));
    }
    Err(format!("{}: a loop device keeps it", image.display()).into())
}
