//! The place of a soak: file systems, and in each a cell for haul, for GNU's tools and for the original.
//!
//! A cell is a folder in which each file system appears under its name, by a bind mount. So one command
//! line with relative paths has the same meaning in every cell.

use crate::command::{command, output};
use crate::error::{Context, Error, Result};
use crate::fs::{Mounts, Place, Until};
use crate::workspace::Workspace;
use haul_manifest::{Item, create_tree, remove_tree};
use std::fs;
use std::path::{Path, PathBuf};

/// The file systems of `crate::fs` that a soak uses.
pub(crate) const FILE_SYSTEMS: [&str; 4] = ["ext4", "xfs", "btrfs", "tmpfs"];

/// One of the copies of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Haul,
    Gnu,
    /// No command runs here: the state as it was.
    Original,
}

impl Cell {
    pub(crate) const ALL: [Self; 3] = [Self::Haul, Self::Gnu, Self::Original];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Haul => "haul",
            Self::Gnu => "gnu",
            Self::Original => "original",
        }
    }
}

/// Something to make in each cell before a script begins.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    /// Relative to the cell.
    pub(crate) path: PathBuf,
    pub(crate) content: Content,
}

#[derive(Clone, Debug)]
pub(crate) enum Content {
    Tree(Vec<Item>),
    Bytes(Vec<u8>),
}

impl Prepared {
    pub(crate) fn tree(path: impl Into<PathBuf>, items: Vec<Item>) -> Self {
        Self { path: path.into(), content: Content::Tree(items) }
    }

    pub(crate) fn file(path: impl Into<PathBuf>, bytes: Vec<u8>) -> Self {
        Self { path: path.into(), content: Content::Bytes(bytes) }
    }
}

/// What the images may take of memory. They are sparse, and a round has some dozens of mebibytes.
const MEMORY: &str = "size=1g,mode=755";

/// Mounted cells; unmounted when dropped, and in every case when the process ends.
pub(crate) struct Stage {
    /// A folder in memory, so that flushes wait for no disk.
    memory: PathBuf,
    place: Place,
    mounts: Option<Mounts>,
}

impl Stage {
    /// Mounts the file systems. This thread must have left the machine's mount namespace.
    pub(crate) fn up(workspace: &Workspace) -> Result<Self> {
        let memory = Place::own(workspace)?.dir;
        output(command("mount").args(["-t", "tmpfs", "-o", MEMORY, "soak"]).arg(&memory))?;
        let place = Place { dir: memory.join("fs") };
        let mounts = Mounts::up(place.clone(), Until::Exit)?;
        let stage = Self { memory, place, mounts: Some(mounts) };
        let mounted = stage.place.mounted()?;
        for name in FILE_SYSTEMS {
            if !mounted.iter().any(|one| one.name == name) {
                return Err(Error::new(format!("{name} cannot be mounted"))
                    .hint("run as root; mkfs.ext4, mkfs.xfs and mkfs.btrfs must be installed"));
            }
            for cell in Cell::ALL {
                let inside = stage.place.mount_point(name).join(cell.name());
                let point = stage.path(cell, Path::new(name));
                fs::create_dir(&inside).context("create", inside.display())?;
                fs::create_dir_all(&point).context("create", point.display())?;
                output(command("mount").arg("--bind").arg(inside).arg(&point))?;
            }
        }
        Ok(stage)
    }

    /// Returns the folder of a cell, in which commands run.
    pub(crate) fn cell(&self, cell: Cell) -> PathBuf {
        self.place.dir.join("cells").join(cell.name())
    }

    pub(crate) fn path(&self, cell: Cell, path: &Path) -> PathBuf {
        self.cell(cell).join(path)
    }

    /// Makes the same state in every cell.
    pub(crate) fn prepare(&self, all: &[Prepared]) -> Result<()> {
        for cell in Cell::ALL {
            for one in all {
                let path = self.path(cell, &one.path);
                match &one.content {
                    Content::Tree(items) => {
                        create_tree(&path, items.iter().cloned())
                            .context("make", path.display())?;
                    }
                    Content::Bytes(bytes) => {
                        fs::write(&path, bytes).context("write", path.display())?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Removes everything from the cells.
    pub(crate) fn clear(&self) -> Result<()> {
        for cell in Cell::ALL {
            for name in FILE_SYSTEMS {
                let dir = self.path(cell, Path::new(name));
                for entry in fs::read_dir(&dir).context("read", dir.display())? {
                    let path = entry.context("read", dir.display())?.path();
                    remove_tree(&path).context("remove", path.display())?;
                }
            }
        }
        Ok(())
    }

    /// Unmounts everything.
    pub(crate) fn down(mut self) -> Result<()> {
        let done = self.mounts.take().map_or(Ok(()), Mounts::down);
        done.and(self.free_memory())
    }

    fn free_memory(&self) -> Result<()> {
        output(command("umount").arg(&self.memory))?;
        fs::remove_dir(&self.memory).context("remove", self.memory.display())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(mounts) = self.mounts.take() {
            drop(mounts);
            // The namespace ends with this process, and the folder's mount with it.
            self.free_memory().ok();
        }
    }
}
