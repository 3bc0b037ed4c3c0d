//! Two file systems on one disk, so that a power cut meets both at the same moment.

use super::bench::Bench;
use super::mapper::{Mapped, mount, unmount};
use crate::command::{command, output};
use crate::error::{Context, Result};
use crate::vm::guest::mounts::{EXT4, make_file_system};
use std::fs;
use std::path::Path;

/// Below the folder in which commands run.
const NEAR: &str = "/vm/cut/near";
const FAR: &str = "/vm/cut/far";
const KEPT: &str = "/vm/cut/kept";

/// Sectors of the first half, which has ext4: enough for the tree.
const NEAR_SECTORS: u64 = 96 << 11;

/// Sectors of the second half: XFS needs 300 MB.
const FAR_SECTORS: u64 = 352 << 11;

/// Sectors of the disk.
pub(super) const SECTORS: u64 = NEAR_SECTORS + FAR_SECTORS;

/// The halves of a disk.
pub(super) struct Halves {
    near: Mapped,
    far: Mapped,
}

impl Halves {
    /// Divides a disk of `SECTORS` sectors.
    pub(super) fn of(disk: &Path) -> Result<Self> {
        let disk = disk.display();
        let near = Mapped::create("vm-near", &format!("0 {NEAR_SECTORS} linear {disk} 0"))?;
        let table = format!("0 {FAR_SECTORS} linear {disk} {NEAR_SECTORS}");
        match Mapped::create("vm-far", &table) {
            Ok(far) => Ok(Self { near, far }),
            Err(cause) => {
                near.remove()?;
                Err(cause)
            }
        }
    }

    /// Makes both file systems.
    pub(super) fn format(&self, bench: Bench<'_>) -> Result<()> {
        make_file_system(EXT4, self.near.path())?;
        make_file_system(bench.format.make, self.far.path())
    }

    /// Does something in the folder of commands while both are mounted below it; fails if they cannot be mounted or unmounted.
    pub(super) fn with<T>(&self, bench: Bench<'_>, act: impl FnOnce() -> Result<T>) -> Result<T> {
        fs::create_dir_all(KEPT).context("create", KEPT)?;
        output(command("mount").arg("--bind").arg(bench.kept).arg(KEPT))?;
        let done = mount(&self.near, "ext4", NEAR).and_then(|()| {
            let done = mount(&self.far, bench.format.kind, FAR).and_then(|()| {
                let done = act();
                unmount(FAR)?;
                done
            });
            unmount(NEAR)?;
            done
        });
        unmount(KEPT)?;
        done
    }

    pub(super) fn remove(self) -> Result<()> {
        self.far.remove()?;
        self.near.remove()
    }
}
