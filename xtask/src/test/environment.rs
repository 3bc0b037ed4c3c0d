//! The environment variables that describe this machine to the tests.
//!
//! `HAUL_TEST_FS` is a colon-separated list of `name=path`; with `HAUL_TEST_FS_REQUIRED=1` a
//! file system that is not in it is a failure; `HAUL_BIN` is the tested binary; `HAUL_GNU_CP` is
//! GNU's cp of the reference version, which is newer than that of most machines.

use crate::error::{Context, Result};
use crate::fs::{Mounts, Place, Until, cover, enter_private, env_value};
use crate::tally::Tally;
use crate::workspace::{Workspace, closed_to_others, env_is_on};
use crate::{corpora, gnu, interrupt};
use rustix::process::geteuid;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

const LIST: &str = "HAUL_TEST_FS";
const GNU_CP: &str = "HAUL_GNU_CP";

/// Test file systems and a binary, for the lifetime of this value.
pub(super) struct Environment {
    pub(super) variables: Vec<(&'static str, String)>,
    place: Option<Place>,
    mounts: Option<Mounts>,
    copied_binary: Option<PathBuf>,
}

impl Environment {
    /// As root, mounts the file systems in a private namespace; otherwise uses those that are mounted.
    pub(super) fn set_up(workspace: &Workspace, binary: &Path, tally: &mut Tally) -> Result<Self> {
        let mut environment =
            Self { variables: Vec::new(), place: None, mounts: None, copied_binary: None };
        let mut tested_binary = binary.to_path_buf();
        let is_root = geteuid().is_root();
        if is_root {
            let place = environment.mount(workspace, tally)?;
            // Tests also start it as unprivileged users.
            if closed_to_others(binary).is_some() {
                tested_binary = place.dir.join("haul");
                fs::copy(binary, &tested_binary).context("copy", binary.display())?;
                environment.copied_binary = Some(tested_binary.clone());
            }
        } else {
            environment.find_mounted(workspace, tally)?;
        }
        environment.set("HAUL_BIN", tested_binary.display().to_string());
        if env_is_on("CI") || is_root {
            environment.set("HAUL_TEST_FS_REQUIRED", "1".into());
        }
        Ok(environment)
    }

    /// The variables that name programs and archives to compare with, which take minutes to build.
    pub(super) const REFERENCES: [&str; 2] = [GNU_CP, corpora::VARIABLE];

    /// Builds and fetches what haul is compared with, once for a target folder: GNU's coreutils and tar
    /// of the reference versions, and the archives of other programs' tests.
    pub(super) fn provide_references(
        &mut self,
        workspace: &Workspace,
        tally: &mut Tally,
    ) -> Result<()> {
        let cp = gnu::programs(workspace).map(|programs| programs.join("cp"));
        self.name(GNU_CP, cp, "comparison with GNU's current cp", tally)?;
        let archives = corpora::provide(workspace);
        self.name(corpora::VARIABLE, archives, "archives of other programs' tests", tally)?;
        // Tests find it in the target folder, and compare less with the system's.
        if let Err(error) = gnu::provide_tar(workspace) {
            interrupt::check()?;
            tally.ignore(&format!("comparison with GNU's current tar: {error}"));
        }
        Ok(())
    }

    /// Sets the variables of what is built already.
    pub(super) fn name_present_references(&mut self, workspace: &Workspace) {
        let present =
            [gnu::present(workspace).map(|dir| dir.join("cp")), corpora::present(workspace)];
        for (variable, path) in Self::REFERENCES.into_iter().zip(present) {
            if let Some(path) = path.filter(|_| std::env::var_os(variable).is_none()) {
                self.set(variable, path.display().to_string());
            }
        }
    }

    /// Sets a variable, unless the user did; counts what could not be provided.
    fn name(
        &mut self,
        variable: &'static str,
        provided: Result<PathBuf>,
        what: &str,
        tally: &mut Tally,
    ) -> Result<()> {
        match provided {
            _ if std::env::var_os(variable).is_some() => {}
            Ok(path) => self.set(variable, path.display().to_string()),
            Err(error) => {
                interrupt::check()?;
                tally.ignore(&format!("{what}: {error}"));
            }
        }
        Ok(())
    }

    /// A folder for files of the test run itself.
    pub(super) fn scratch(&self, workspace: &Workspace) -> PathBuf {
        self.place.as_ref().map_or_else(|| workspace.target.clone(), |place| place.dir.clone())
    }

    fn set(&mut self, name: &'static str, value: String) {
        self.variables.push((name, value));
    }

    fn mount(&mut self, workspace: &Workspace, tally: &mut Tally) -> Result<Place> {
        let private = enter_private();
        let place = Place::own(workspace)?;
        match private {
            Ok(()) => self.cover_scratch(workspace, &place)?,
            Err(error) => {
                eprintln!("xtask: {error}; mounting in the namespace of the whole machine");
            }
        }
        let mounts = Mounts::up(place.clone(), Until::Exit)?;
        for (name, cause) in &mounts.missing {
            tally.fail(&format!("test file system {name}: {cause}"));
        }
        self.mounts = Some(mounts);
        self.place = Some(place.clone());
        let list = env_value(&place)?;
        println!("{LIST}={list}");
        self.set(LIST, list);
        Ok(place)
    }

    /// Gives the folders that tests make beside the build, and for temporary files, a file system of their own.
    fn cover_scratch(&mut self, workspace: &Workspace, place: &Place) -> Result<()> {
        // It is `CARGO_TARGET_TMPDIR` of the tests.
        let folder = workspace.target.join("tmp");
        fs::create_dir_all(&folder).context("create", folder.display())?;
        if let Err(error) = cover(&folder, &place.image("scratch")) {
            eprintln!("xtask: {error}; the folders of the tests are on the disk of the build");
            return Ok(());
        }
        let open = Permissions::from_mode(0o1777);
        fs::set_permissions(&folder, open).context("open to all users", folder.display())?;
        if std::env::var_os("TMPDIR").is_none() && closed_to_others(&folder).is_none() {
            self.set("TMPDIR", folder.display().to_string());
        }
        Ok(())
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
