//! Devices of the device mapper, over the disks of the machine.
//!
//! No udev runs here, so that dmsetup makes the names in `/dev/mapper` itself.

use crate::command::{command, output};
use crate::error::{Context, Error, Result};
use std::fs;
use std::path::PathBuf;

/// A device that exists until it is removed.
pub(super) struct Mapped {
    name: &'static str,
}

impl Mapped {
    /// Makes a device from a table of one line: first sector, number of sectors, target, arguments.
    pub(super) fn create(name: &'static str, table: &str) -> Result<Self> {
        dmsetup(&["create", name, "--table", table])?;
        Ok(Self { name })
    }

    /// Gives the device another table at once, without waiting for what is under way and without asking the file
    /// system on it.
    pub(super) fn replace(&self, table: &str) -> Result<()> {
        dmsetup(&["suspend", "--noflush", "--nolockfs", self.name])?;
        let loaded = dmsetup(&["load", self.name, "--table", table]);
        dmsetup(&["resume", self.name])?;
        loaded
    }

    /// Passes a text to the target.
    pub(super) fn message(&self, words: &[&str]) -> Result<()> {
        dmsetup(&[&["message", self.name, "0"], words].concat())
    }

    pub(super) fn path(&self) -> PathBuf {
        PathBuf::from("/dev/mapper").join(self.name)
    }

    pub(super) fn remove(self) -> Result<()> {
        dmsetup(&["remove", "--retry", self.name])
    }
}

fn dmsetup(words: &[&str]) -> Result<()> {
    output(command("dmsetup").args(words).env("DM_DISABLE_UDEV", "1")).map(drop)
}

/// Loads a module of the device mapper.
pub(super) fn need(module: &str) -> Result<()> {
    let absent = |_| Error::new(format!("the kernel has no module {module}"));
    output(command("modprobe").arg(module)).map(drop).map_err(absent)
}

/// Mounts a device at a folder, which is made.
pub(super) fn mount(device: &Mapped, kind: &str, point: &str) -> Result<()> {
    fs::create_dir_all(point).context("create", point)?;
    output(command("mount").args(["-t", kind]).arg(device.path()).arg(point)).map(drop)
}

pub(super) fn unmount(point: &str) -> Result<()> {
    output(command("umount").arg(point)).map(drop)
}
