//! Mounts an image through a loop device that detaches itself.
//!
//! A loop device in *autoclear* mode detaches with its last user, so that nothing is left even
//! after a kill. `mount -o loop` sets this mode; for a device that this program attaches, a detach
//! right after the mount sets it too, because the device is in use then.

use super::table::Sector;
use crate::command::{command, output};
use crate::error::{Context, Result};
use std::fs::File;
use std::path::Path;

/// Creates the sparse image and formats it.
pub(super) fn format(image: &Path, bytes: u64, program: &[&str]) -> Result<()> {
    let file = File::create(image).context("create", image.display())?;
    file.set_len(bytes).context("enlarge", image.display())?;
    drop(file);
    let (name, options) = program.split_first().unwrap_or((&"true", &[]));
    output(command(name).args(options).arg(image))?;
    Ok(())
}

/// Mounts the image on the folder.
pub(super) fn mount(image: &Path, sector: Sector, on: &Path) -> Result<()> {
    match sector {
        Sector::Usual => {
            output(command("mount").args(["-o", "loop"]).arg(image).arg(on))?;
        }
        Sector::Bytes4096 => {
            let attach = ["--find", "--show", "--sector-size", "4096"];
            let device = output(command("losetup").args(attach).arg(image))?;
            let mounted = output(command("mount").arg(device.trim()).arg(on));
            // Detaches if the mount failed; sets autoclear otherwise.
            let detached = output(command("losetup").args(["--detach", device.trim()]));
            mounted.and(detached)?;
        }
    }
    Ok(())
}

/// Detaches every loop device that still holds the image.
pub(super) fn detach(image: &Path) -> Result<()> {
    let listed =
        output(command("losetup").args(["--noheadings", "--output", "NAME", "-j"]).arg(image))?;
    for device in listed.lines().map(str::trim).filter(|device| !device.is_empty()) {
        output(command("losetup").args(["--detach", device]))?;
    }
    Ok(())
}
