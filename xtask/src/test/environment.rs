//! The environment variables that describe this machine to the tests.
//!
//! `HAUL_TEST_FS` is a colon-separated list of `name=path`; with `HAUL_TEST_FS_REQUIRED=1` a
//! file system that is not in it is a failure; `HAUL_BIN` is the release binary; `HAUL_GNU_CP` is
//! GNU's cp of the reference version, which is newer than that of most machines.

use super::tally::Tally;
use crate::error::{Context, Result};
use crate::fs::{Mounts, Place, Until, enter_private, env_value};
use crate::workspace::{Workspace, closed_to_others};
use crate::{corpora, gnu, interrupt};
use rustix::process::geteuid;
use std::fs;
use std::path::PathBuf;

const LIST: &str = "HAUL_TEST_FS";
const GNU_CP: &str = "HAUL_GNU_CP";

/// Test file systems and a binary, for the lifetime of this value.
pub(super) struct Environment {
    pub(super) variables: Vec<(&'static str, String)>,
    mounts: Option<Mounts>,
    copied_binary: Option<PathBuf>,
}

impl Environment {
    /// As root, mounts the file systems in a private namespace; otherwise uses those that are mounted.
    pub(super) fn set_up(workspace: &Workspace, ci: bool, tally: &mut Tally) -> Result<Self> {
        let binary = workspace.release_binary();
        let mut environment = Self { variables: Vec::new(), mounts: None, copied_binary: None };
        let mut tested_binary = binary.clone();
        let is_root = geteuid().is_root();
        if is_root {
            let place = environment.mount(workspace, tally)?;
            // Tests also start it as unprivileged users.
            if closed_to_others(&binary).is_some() {
                tested_binary = place.dir.join("haul");
                fs::copy(&binary, &tested_binary).context("copy", binary.display())?;
                environment.copied_binary = Some(tested_binary.clone());
            }
        } else {
            environment.find_mounted(workspace, tally)?;
        }
        environment.set("HAUL_BIN", tested_binary.display().to_string());
        if ci || is_root {
            environment.set("HAUL_TEST_FS_REQUIRED", "1".into());
        }
        Ok(environment)
    }

    /// Sets the variable for GNU's cp, unless the user did; builds it the first time.
    pub(super) fn name_reference(
        &mut self,
        workspace: &Workspace,
        tally: &mut Tally,
    ) -> Result<()> {
        if std::env::var_os(GNU_CP).is_some() {
            return Ok(());
        }
        match gnu::programs(workspace) {
            Ok(programs) => self.set(GNU_CP, programs.join("cp").display().to_string()),
            Err(error) => {
                interrupt::check()?;
                tally.ignore(&format!("comparison with GNU's current cp: {error}"));
            }
        }
        Ok(())
    }

    /// Builds GNU's tar the first time; tests find it in the target folder, and compare less with the
    /// system's.
    pub(super) fn provide_tar(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
        if let Err(error) = gnu::provide_tar(workspace) {
            interrupt::check()?;
            tally.ignore(&format!("comparison with GNU's current tar: {error}"));
        }
        Ok(())
    }

    /// Sets the variable for the archives of other programs' tests; fetches them the first time.
    pub(super) fn name_corpora(&mut self, workspace: &Workspace, tally: &mut Tally) -> Result<()> {
        if std::env::var_os(corpora::VARIABLE).is_some() {
            return Ok(());
        }
        match corpora::provide(workspace) {
            Ok(dir) => self.set(corpora::VARIABLE, dir.display().to_string()),
            Err(error) => {
                interrupt::check()?;
                tally.ignore(&format!("archives of other programs' tests: {error}"));
            }
        }
        Ok(())
    }

    fn set(&mut self, name: &'static str, value: String) {
        self.variables.push((name, value));
    }

    fn mount(&mut self, workspace: &Workspace, tally: &mut Tally) -> Result<Place> {
        if let Err(error) = enter_private() {
            eprintln!("xtask: {error}; mounting in the namespace of the whole machine");
        }
        let place = Place::own(workspace)?;
        let mounts = Mounts::up(place.clone(), Until::Exit)?;
        for (name, cause) in &mounts.missing {
            tally.fail(&format!("test file system {name}: {cause}"));
        }
        self.mounts = Some(mounts);
        let list = env_value(&place)?;
        println!("{LIST}={list}");
        self.set(LIST, list);
        Ok(place)
    }

    fn find_mounted(&mut self, workspace: &Workspace, tally: &mut Tally) -> Result<()> {
        let list = match std::env::var(LIST) {
            Ok(list) => list,
            Err(_) => env_value(&Place::shared(workspace, None)?)?,
        };
        if list.is_empty() {
            tally.ignore(
                "tests on ext4, XFS, btrfs, tmpfs and overlayfs: only root can mount \
                them (`cargo xtask fs up` as root once, or `cargo xtask test` as root)",
            );
        }
        tally.ignore("tests of ownership, devices and other users: they need root");
        if !list.is_empty() {
            self.set(LIST, list);
        }
        Ok(())
    }

    /// Unmounts and removes what `set_up` made.
    pub(super) fn tear_down(mut self) -> Result<()> {
        if let Some(copy) = self.copied_binary.take() {
            fs::remove_file(&copy).context("remove", copy.display())?;
        }
        self.mounts.take().map_or(Ok(()), Mounts::down)
    }
}
