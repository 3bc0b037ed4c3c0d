//! `/sys/dev/block/*/queue/rotational` — whether a device is rotational:
//! <https://docs.kernel.org/block/queue-sysfs.html>

use std::ffi::CString;

use rustix::fs::{major, minor};

use crate::fs::CWD;
use crate::fs::pseudo::text;

/// Returns whether the kernel reports a block device as rotational. For a partition it asks for its
/// disk, for a loop device for the device of the backing file. Devices that are not block devices
/// (of tmpfs, overlayfs, btrfs, network file systems) are not rotational, and neither are disks of virtio and Xen:
/// their drivers report every disk as rotational, because the host does not tell them.
#[must_use]
pub fn is_rotational(device: u64) -> bool {
    /// Loop devices may be stacked; this bounds the depth.
    const DEPTH_MAX: u32 = 4;
    /// Ends of the links to drivers in sysfs.
    const VIRTUAL_DRIVERS: [&[u8]; 2] = [b"/virtio_blk", b"/vbd"];
    let mut device = device;
    for _ in 0..DEPTH_MAX {
        let base = format!("/sys/dev/block/{}:{}", major(device), minor(device));
        let flag = |name: &str| text(&format!("{base}{name}"), 4096);
        if let Some(backing) = flag("/loop/backing_file").or_else(|| flag("/../loop/backing_file"))
            && let Ok(path) = CString::new(backing.trim_end_matches('\n'))
            && let Ok(stat) = super::statat_follow(CWD, &path)
        {
            device = stat.dev;
            continue;
        }
        let is_virtual = ["/device/driver", "/../device/driver"].iter().any(|name| {
            let link = CString::new(format!("{base}{name}")).unwrap_or_default();
            let driver = super::readlinkat(CWD, &link).unwrap_or_default();
            VIRTUAL_DRIVERS.iter().any(|name| driver.to_bytes().ends_with(name))
        });
        if is_virtual {
            return false;
        }
        let told = flag("/queue/rotational").or_else(|| flag("/../queue/rotational"));
        return told.is_some_and(|told| told.starts_with('1'));
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_block_device_does_not_spin() {
        // 0:x are the devices of file systems without one.
        assert!(!is_rotational(0));
        assert!(!is_rotational(u64::MAX));
    }
}
