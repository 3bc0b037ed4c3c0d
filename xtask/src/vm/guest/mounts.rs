//! The file systems of a machine: the disk of the near side, and one after the other of the far side.

use super::children::Children;
use super::line::Whose;
use super::servers::{self, EXPORTED};
use crate::command::{command, output};
use crate::error::{Context, Error, Result};
use crate::vm::file_systems::{FileSystem, Format, Medium};
use haul_manifest::remove_tree;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

pub(super) const EXT4: &[&str] = &["mkfs.ext4", "-q", "-F"];
const NEAR_DISK: &str = "/dev/vda";
const FAR_DISK: &str = "/dev/vdb";
const FAR: &str = "/vm/far";

/// The two folders in which the commands of a check run, with the same names in both.
pub(super) struct Cells;

impl Cells {
    pub(super) const ALL: [Whose; 2] = [Whose::Haul, Whose::Gnu];

    /// Formats the near disk and makes the cells on it.
    pub(super) fn make() -> Result<Self> {
        make_file_system(EXT4, NEAR_DISK)?;
        make_dir(Path::new("/vm/near"))?;
        output(command("mount").args([NEAR_DISK, "/vm/near"]))?;
        make_dir(Path::new(FAR))?;
        let cells = Self;
        for whose in Self::ALL {
            make_dir(&cells.dir(whose).join("far"))?;
            let near = Path::new("/vm/near").join(name(whose));
            make_dir(&near.join("work"))?;
            bind(&near, &cells.dir(whose).join("near"))?;
        }
        Ok(cells)
    }

    /// The folder of a cell.
    pub(super) fn dir(&self, whose: Whose) -> PathBuf {
        Path::new("/vm").join(name(whose))
    }

    /// Empties the folders in which a check works.
    pub(super) fn clear(&self) -> Result<()> {
        for whose in Self::ALL {
            for folder in ["far", "near/work"] {
                let dir = self.dir(whose).join(folder);
                for entry in fs::read_dir(&dir).context("read", dir.display())? {
                    let path = entry.context("read", dir.display())?.path();
                    remove_tree(&path).context("remove", path.display())?;
                }
            }
        }
        Ok(())
    }
}

fn name(whose: Whose) -> &'static str {
    match whose {
        Whose::Haul => "haul",
        Whose::Gnu => "gnu",
    }
}

fn make_dir(dir: &Path) -> Result<()> {
    fs::create_dir_all(dir).context("create", dir.display())
}

fn bind(from: &Path, to: &Path) -> Result<()> {
    make_dir(to)?;
    output(command("mount").arg("--bind").arg(from).arg(to))?;
    Ok(())
}

/// A file system that is mounted, and what it needs.
pub(super) struct Far<'a> {
    system: &'a FileSystem,
    servers: Children,
    /// Mount points in the order of mounting.
    mounted: Vec<PathBuf>,
}

impl<'a> Far<'a> {
    /// Makes and mounts a file system, with an empty folder of it in each cell.
    pub(super) fn up(system: &'a FileSystem, cells: &Cells) -> Result<Self> {
        if let Some(module) = system.module {
            has_module(module)?;
        }
        let mut far = Self { system, servers: Children::default(), mounted: Vec::new() };
        let made = far.mount().and_then(|()| far.enter(cells));
        match made {
            Ok(()) => Ok(far),
            Err(cause) => {
                far.down()?;
                Err(cause)
            }
        }
    }

    fn mount(&mut self) -> Result<()> {
        match &self.system.medium {
            Medium::Disk(format) => {
                make_file_system(format.make, FAR_DISK)?;
                self.mount_at(FAR, &["-t", format.kind, "-o", format.options, FAR_DISK])
            }
            Medium::Memory => self.mount_at(FAR, &["-t", "tmpfs", "vm"]),
            Medium::Overlay => {
                self.mount_exported("ext4", EXT4)?;
                let folder = |name: &str| format!("{EXPORTED}/{name}");
                let (lower, upper, work) = (folder("lower"), folder("upper"), folder("work"));
                for dir in [&lower, &upper, &work] {
                    make_dir(Path::new(dir))?;
                }
                let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
                self.mount_at(FAR, &["-t", "overlay", "-o", &options, "vm"])
            }
            Medium::Nfs { version } => {
                self.mount_exported("ext4", EXT4)?;
                servers::start_nfs(&mut self.servers)?;
                // The root of version 4 is the exported folder.
                let path = if version.starts_with('4') { "/" } else { EXPORTED };
                let options = format!("vers={version},retry=1");
                let source = format!("127.0.0.1:{path}");
                self.mount_at(FAR, &["-t", "nfs", "-o", &options, &source])
            }
            Medium::Smb => {
                // A client of SMB that meets an inode number for the second time, as ext4 gives them, trusts no number
                // of the server from then on, and invents others, which change.
                self.mount_exported("btrfs", &["mkfs.btrfs", "-q", "-f"])?;
                servers::start_smb(&mut self.servers)?;
                let options = "guest,vers=3.1.1,uid=0,gid=0";
                self.mount_at(FAR, &["-t", "cifs", "-o", options, "//127.0.0.1/share"])
            }
        }
    }

    /// Mounts a file system in the folder that servers export.
    fn mount_exported(&mut self, kind: &str, make: &[&str]) -> Result<()> {
        make_file_system(make, FAR_DISK)?;
        self.mount_at(EXPORTED, &["-t", kind, FAR_DISK])?;
        // The root of a new file system has times of whole seconds, from which samba concludes that the file system
        // has no others.
        output(command("touch").args(["-d", "2020-01-01 00:00:00.123456789"]).arg(EXPORTED))
            .map(drop)
    }

    fn mount_at(&mut self, point: &str, words: &[&str]) -> Result<()> {
        make_dir(Path::new(point))?;
        output(command("mount").args(words).arg(point))?;
        self.mounted.push(point.into());
        Ok(())
    }

    fn enter(&mut self, cells: &Cells) -> Result<()> {
        for whose in Cells::ALL {
            let folder = Path::new(FAR).join(name(whose));
            make_dir(&folder)?;
            if let Medium::Disk(Format { folder: [program, words @ ..], .. }) = &self.system.medium
            {
                output(command(program).args(words).arg(&folder))?;
            }
            let point = cells.dir(whose).join("far");
            bind(&folder, &point)?;
            self.mounted.push(point);
        }
        Ok(())
    }

    /// Unmounts everything.
    pub(super) fn down(mut self) -> Result<()> {
        while let Some(point) = self.mounted.pop() {
            if point == Path::new(EXPORTED) && matches!(self.system.medium, Medium::Nfs { .. }) {
                servers::stop_nfs(&mut self.servers)?;
            }
            if point == Path::new(EXPORTED) {
                self.servers.end()?;
            }
            output(command("umount").arg(&point))?;
        }
        self.servers.end()
    }
}

fn has_module(module: &str) -> Result<()> {
    let absent = |_| Error::new(format!("the kernel has no module {module}"));
    output(command("modprobe").arg(module)).map(drop).map_err(absent)
}

/// Makes a file system on a device, by the words of a command, in place of what was there.
pub(super) fn make_file_system(words: &[&str], device: impl AsRef<OsStr>) -> Result<()> {
    output(command("wipefs").arg("-a").arg(&device))?;
    let [program, options @ ..] = words else { return Ok(()) };
    output(command(program).args(options).arg(device)).map(drop)
}
