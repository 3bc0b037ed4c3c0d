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
