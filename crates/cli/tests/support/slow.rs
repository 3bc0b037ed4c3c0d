//! A slow disk: a device that the kernel's block layer limits to a number of bytes a second.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor, stat};

use super::run::Call;
use super::{Outcome, ignored};

/// Version 1 of control groups can slow the device for all processes, including the kernel's writeback.
const FOR_ALL: &str = "/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device";

/// Version 2 slows it for one group, including the writeback of pages that the group dirtied.
const GROUPS: &str = "/sys/fs/cgroup";

/// The device below a file system, slow for the lifetime of this value.
pub(crate) struct Slow {
    device: String,
    group: Option<PathBuf>,
}

impl Slow {
    /// Slows writes to the device below a file system of one device; `None`, and the test ignored,
    /// where that cannot be done.
    pub(crate) fn down(mount: &Path, bytes_per_second: u64) -> Outcome<Option<Slow>> {
        let device = stat(mount)?.st_dev;
        let device = format!("{}:{}", major(device), minor(device));
        if fs::write(FOR_ALL, format!("{device} {bytes_per_second}")).is_ok() {
            return Ok(Some(Slow { device, group: None }));
        }
        let group = Path::new(GROUPS).join(format!("haul-test-{}", std::process::id()));
        // The I/O controller can be enabled in a control group that does not use it yet.
        let _told = fs::write(Path::new(GROUPS).join("cgroup.subtree_control"), "+io");
        let limit = format!("{device} wbps={bytes_per_second}");
        if fs::create_dir(&group).is_err() || fs::write(group.join("io.max"), limit).is_err() {
            let _removed = fs::remove_dir(&group);
            ignored("control groups that limit I/O")?;
            return Ok(None);
        }
        Ok(Some(Slow { device, group: Some(group) }))
    }

    /// Puts a command into the slow group.
    pub(crate) fn feels(&self, call: Call) -> Call {
        match &self.group {
            None => call,
            Some(group) => {
                let procs = group.join("cgroup.procs").to_string_lossy().into_owned();
                let join = format!("echo $$ > '{procs}' && exec \"$0\" \"$@\"");
                call.under(["sh", "-c", &join])
            }
        }
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        // A removed device needs no reset.
        let _undone = match &self.group {
            None => fs::write(FOR_ALL, format!("{} 0", self.device)),
            Some(group) => fs::remove_dir(group),
        };
    }
}
