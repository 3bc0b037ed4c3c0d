//! The options of `tar -x`, as plain data.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use haul_archive::extract::Existing;
use haul_archive::transform::Transform;

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

    pub(super) fn add_transform(&mut self, expression: &OsStr) -> Result<(), CommandError> {
        let added = self.transform.add(expression.as_bytes());
        added.or_else(|malformed| bad(&malformed.to_string()))
    }

    pub(super) fn set_strip(&mut self, count: &OsStr) -> Result<(), CommandError> {
        let shown = count.to_string_lossy();
        match shown.parse() {
            Ok(count) => self.strip = count,
            Err(_) => return bad(&format!("{shown}: Invalid number of elements")),
        }
        Ok(())
    }

    pub(super) fn set_jobs(&mut self, count: &OsStr) -> Result<(), CommandError> {
        match count.to_string_lossy().parse() {
            Ok(jobs) if (1..=1024).contains(&jobs) => self.jobs = Some(jobs),
            _ => return bad("the number of --jobs must be 1 to 1024"),
        }
        Ok(())
    }
}
