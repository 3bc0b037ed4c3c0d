//! What a profile is for: a file system, and the device below it.
//!
//! The type of a file system does not say how fast its device is. The kernel numbers devices in the order in which it
//! finds them, so a device is known by what it says about itself, and by the kernel's name only if it says nothing.

use std::fs;
use std::path::{Path, PathBuf};

use super::mounts::mount_of;
use crate::error::Result;

/// A file system and its device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Storage {
    /// Type of the file system, as `mount -t` takes it.
    pub file_system: String,
    /// The device: its identification, or its name, or the source of a mount without a device, such as
    /// `server:/export`. Empty means any device.
    pub device: String,
}

impl Storage {
    /// Returns the same file system on any device.
    #[must_use]
    pub fn on_any_device(&self) -> Storage {
        Storage { device: String::new(), ..self.clone() }
    }
}

/// Files below a block device in sysfs that identify it, the most reliable first.
const IDENTIFICATIONS: [&str; 7] =
    ["wwid", "device/wwid", "dm/uuid", "md/uuid", "serial", "device/serial", "loop/backing_file"];

/// Returns the storage that a path is on; `None` if the mount table does not have it.
///
/// # Errors
///
/// The path does not exist.
pub fn storage_of(path: &Path) -> Result<Option<Storage>> {
    Ok(mount_of(path)?.map(|mount| {
        let device = mount
            .block_device()
            .and_then(|numbers| device_name(Path::new("/sys/dev/block"), numbers))
            .unwrap_or_else(|| mount.source.to_string_lossy().into_owned());
        Storage { file_system: mount.file_system, device }
    }))
}

/// Returns the identification of a block device, or its name; those of the whole disk for a partition.
/// `None` if sysfs does not have the device.
fn device_name(devices: &Path, (major, minor): (u32, u32)) -> Option<String> {
    let found = fs::canonicalize(devices.join(format!("{major}:{minor}"))).ok()?;
    let is_partition = found.join("partition").exists();
    let disk: PathBuf = if is_partition { found.parent()?.to_owned() } else { found };
    let told = IDENTIFICATIONS.iter().find_map(|name| {
        let text = fs::read_to_string(disk.join(name)).ok()?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    });
    told.or_else(|| Some(disk.file_name()?.to_string_lossy().into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_has_the_identification_of_its_disk() {
        let sys = tempfile::tempdir().unwrap();
        let disk = sys.path().join("devices/sda");
        fs::create_dir_all(disk.join("sda1")).unwrap();
        fs::create_dir(disk.join("device")).unwrap();
        fs::write(disk.join("sda1/partition"), "1\n").unwrap();
        let devices = sys.path().join("dev");
        fs::create_dir(&devices).unwrap();
        for (numbers, to) in [("8:0", "devices/sda"), ("8:1", "devices/sda/sda1")] {
            std::os::unix::fs::symlink(sys.path().join(to), devices.join(numbers)).unwrap();
        }
        let names = || [(8, 0), (8, 1), (8, 2)].map(|numbers| device_name(&devices, numbers));
        let both = |name: &str| [Some(name.to_owned()), Some(name.to_owned()), None];
        assert_eq!(names(), both("sda"), "a device that says nothing");
        fs::write(disk.join("serial"), " \n").unwrap();
        assert_eq!(names(), both("sda"), "an empty serial number");
        fs::write(disk.join("serial"), "S1\n").unwrap();
        assert_eq!(names(), both("S1"));
        fs::write(disk.join("device/wwid"), "naa.5000 x\n").unwrap();
        assert_eq!(names(), both("naa.5000 x"));
    }

    #[test]
    fn a_place_has_a_file_system_and_something_below() {
        let storage = storage_of(Path::new("/")).unwrap().unwrap();
        assert!(!storage.file_system.is_empty() && !storage.device.is_empty(), "{storage:?}");
        assert_eq!(storage.on_any_device().device, "");
        assert!(storage_of(Path::new("/nonexistent/path")).is_err());
    }
}
