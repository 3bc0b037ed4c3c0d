//! The options of `tar -x`, as plain data.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

use haul_archive::extract::Existing;
use haul_archive::transform::Transform;

use super::options::Id;
use super::refuse::bad;
use crate::ending::CommandError;
use crate::value::{WAITING_JOBS, processors};

/// What is asked for about extracted files.
#[derive(Debug, Default)]
pub(super) struct Extraction {
    pub(super) existing: Existing,
    pub(super) to_stdout: bool,
    pub(super) same_permissions: Option<bool>,
    pub(super) same_owner: Option<bool>,
    pub(super) touch: bool,
    pub(super) absolute_names: bool,
    pub(super) strip: usize,
    pub(super) top_level: Option<OsString>,
    /// The directory that this stands for.
    pub(super) top: Option<Vec<u8>>,
    pub(super) shows_transformed: bool,
    pub(super) jobs: Option<usize>,
    pub(super) devices: bool,
    pub(super) transform: Transform,
    pub(super) keeps_links: bool,
    pub(super) removes_trees: bool,
}

impl Extraction {
    /// Returns the number of workers.
    pub(super) fn workers(&self) -> usize {
        self.jobs.unwrap_or_else(processors)
    }

    /// Returns the most of them on a remote file system, if they mostly wait for it.
    pub(super) fn waiting_workers(&self) -> usize {
        self.jobs.unwrap_or_else(|| processors().max(WAITING_JOBS))
    }

    /// Refuses what contradicts itself. GNU tar forgets that existing files were to stay, and removes them.
    pub(super) fn check(&self) -> Result<(), CommandError> {
        let name = match self.existing {
            Existing::Keep => "--keep-old-files",
            Existing::KeepNewer => "--keep-newer-files",
            Existing::Skip => "--skip-old-files",
            _ => return Ok(()),
        };
        if self.removes_trees {
            return bad(&format!("'--recursive-unlink' cannot be used with '{name}'"));
        }
        Ok(())
    }

    /// Sets an option.
    pub(super) fn set(&mut self, id: Id, value: OsString) -> Result<(), CommandError> {
        match id {
            Id::Existing(existing) => self.existing = existing,
            Id::ToStdout => self.to_stdout = true,
            Id::SamePermissions(on) => self.same_permissions = Some(on),
            Id::SameOwner(on) => self.same_owner = Some(on),
            Id::OldOwner => self.same_owner = Some(false),
            Id::KeepDirectorySymlink => self.keeps_links = true,
            Id::RecursiveUnlink => self.removes_trees = true,
            Id::Touch => self.touch = true,
            Id::Devices => self.devices = true,
            Id::AbsoluteNames => self.absolute_names = true,
            Id::Transform => {
                if let Err(malformed) = self.transform.add(value.as_bytes()) {
                    return bad(&malformed.to_string());
                }
            }
            Id::ShowTransformed => self.shows_transformed = true,
            Id::OneTopLevel => self.top_level = Some(value),
            Id::StripComponents => match value.to_str().and_then(|text| text.parse().ok()) {
                Some(count) => self.strip = count,
                None => {
                    let shown = value.to_string_lossy();
                    return bad(&format!("{shown}: Invalid number of elements"));
                }
            },
            Id::Jobs => match value.to_str().and_then(|text| text.parse().ok()) {
                Some(jobs) if (1..=1024).contains(&jobs) => self.jobs = Some(jobs),
                _ => return bad("the number of --jobs must be 1 to 1024"),
            },
            _ => {}
        }
        Ok(())
    }
}
