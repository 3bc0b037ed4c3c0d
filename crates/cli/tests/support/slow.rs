//! A slow disk: a device of which the kernel's block layer lets so many bytes pass in a second.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor, stat};

use super::run::Call;
use super::{Outcome, ignored};

/// Version 1 of control groups can slow the device for everybody, the kernel's own writing included.
const FOR_ALL: &str = "/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device";

/// Version 2 does it for a group, to whom the writing of what it made dirty is charged.
const GROUPS: &str = "/sys/fs/cgroup";

/// The device below a file system, slowed down as long as this lives.
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
        // A control group that does not divide I/O yet may be told to.
        let _told = fs::write(Path::new(GROUPS).join("cgroup.subtree_control"), "+io");
        let limit = format!("{device} wbps={bytes_per_second}");
        if fs::create_dir(&group).is_err() || fs::write(group.join("io.max"), limit).is_err() {
            let _removed = fs::remove_dir(&group);
            ignored("control groups that limit I/O")?;
            return Ok(None);
        }
        Ok(Some(Slow { device, group: Some(group) }))
    }

    /// Has a command feel it.
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
        // A device that is gone is slow for nobody.
        let _undone = match &self.group {
            None => fs::write(FOR_ALL, format!("{} 0", self.device)),
            Some(group) => fs::remove_dir(group),
        };
    }
}
