//! What the checks of failing disks work with.

use crate::error::{Context, Error, Result};
use crate::vm::file_systems::Format;
use crate::vm::guest::line::Whose;
use crate::vm::guest::perform::{failed, run_line};
use haul_manifest::remove_tree;
use std::fs;
use std::path::Path;

/// The folder in which commands run.
pub(super) const DIR: &str = "/vm/cut";

/// What a check works with.
#[derive(Clone, Copy)]
pub(in crate::vm::guest) struct Bench<'a> {
    /// How the file system under test is made.
    pub(in crate::vm::guest) format: &'a Format,
    /// The folder that becomes `kept`.
    pub(in crate::vm::guest) kept: &'a Path,
    /// The program under test.
    pub(in crate::vm::guest) haul: &'a Path,
}

impl Bench<'_> {
    /// Runs lines by GNU's tools, which must succeed.
    pub(super) fn gnu(self, lines: &[&str]) -> Result<()> {
        self.succeeds(lines, Whose::Gnu).and_then(|flaw| match flaw {
            Some(flaw) => Err(Error::new(format!("GNU's tools: {flaw}"))),
            None => Ok(()),
        })
    }

    /// Runs a line by haul; returns what it has failed with.
    pub(super) fn haul(self, line: &str) -> Result<Option<String>> {
        self.succeeds(&[line], Whose::Haul)
    }

    fn succeeds(self, lines: &[&str], whose: Whose) -> Result<Option<String>> {
        for line in lines {
            let trials = run_line(line, whose, self.haul, Path::new(DIR))?;
            if let Some(flaw) = failed(line, &trials) {
                return Ok(Some(flaw));
            }
        }
        Ok(None)
    }

    /// Removes what a check has left in `kept/work`.
    pub(super) fn tidy(self) -> Result<()> {
        let work = self.kept.join("work");
        for entry in fs::read_dir(&work).context("read", work.display())? {
            let path = entry.context("read", work.display())?.path();
            remove_tree(&path).context("remove", path.display())?;
        }
        Ok(())
    }
}
