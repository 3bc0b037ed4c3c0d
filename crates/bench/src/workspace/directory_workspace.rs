//! A fresh directory for each run on an existing file system, which needs no root.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use super::mounts::mount_of;
use super::scratch::Scratch;
use super::space::{copy_bytes, folder_space};
use super::spec::{ColdMeans, GroundFacts};
use super::{Site, Workspace};
use crate::error::{Error, Result};
use crate::measure::{Device, cached_pages, drop_caches, evict};
use crate::scenario::{Scenario, Work};

/// The warning that a file system in use distorts results.
const WARNING: &str = "Runs share one file system that was used before: freed inodes, fragments and \
    the writeback of earlier runs distort the figures (on ext4 by up to twenty times for small \
    files). Run as root with a fresh file system for figures that hold.";

/// The warning for root if other users may rename a directory in the path.
const EXPOSED: &str = "Other users may rename a folder above the scratch folder, and so lead the tools, \
    which run as root, elsewhere. Use this only where you trust them.";

/// Targets of earlier runs are kept, so that no inode was just freed, until they take more than
/// this share of the free space; then they are removed.
const KEPT_SHARE: u64 = 4;

/// A workspace in a scratch directory.
#[derive(Debug)]
pub(crate) struct DirectoryWorkspace {
    scratch: Scratch,
    cold: ColdMeans,
    scenario: Option<Scenario>,
    /// The bytes of one copy of the corpus.
    copy_bytes: u64,
    /// The targets that still exist.
    kept: Vec<String>,
    kept_bytes_max: u64,
    runs: u64,
    facts: GroundFacts,
}

impl DirectoryWorkspace {
    /// Uses `scratch`.
    pub(crate) fn new(scratch: Scratch, cold: ColdMeans) -> DirectoryWorkspace {
        let facts = GroundFacts { warnings: vec![WARNING.to_owned()], ..GroundFacts::default() };
        DirectoryWorkspace {
            scratch,
            cold,
            scenario: None,
            copy_bytes: 0,
            kept: Vec::new(),
            kept_bytes_max: 0,
            runs: 0,
            facts,
        }
    }

    fn remove_kept(&mut self) -> Result<()> {
        while let Some(name) = self.kept.pop() {
            self.scratch.remove_entry(&name)?;
        }
        Ok(())
    }
}

impl Workspace for DirectoryWorkspace {
    fn prepare(&mut self, scenario: &Scenario, _interrupt: &AtomicBool) -> Result<()> {
        let path = self.scratch.path();
        let volume = scenario.volume();
        self.copy_bytes = copy_bytes(volume);
        let space = folder_space(path, volume)?;
        self.kept_bytes_max = space.available_bytes / KEPT_SHARE;
        space.require()?;
        if let Some(mount) = mount_of(path)? {
            self.facts.name = format!("{} (folder)", mount.file_system);
            self.facts.device = mount.source.display().to_string();
            self.facts.file_system = mount.file_system;
            self.facts.mount_options = mount.options;
        }
        if rustix::process::geteuid().is_root() && !self.scratch.has_safe_path()? {
            self.facts.warnings.push(EXPOSED.to_owned());
        }
        if scenario.work != Work::Delete {
            self.scratch.record("corpus")?;
            let made = scenario.recipe.generate(&self.scratch.link("corpus"));
            made.map_err(Error::corpus(&self.scratch.inside("corpus")))?;
        }
        self.scenario = Some(scenario.clone());
        Ok(())
    }

    fn fresh(&mut self, _interrupt: &AtomicBool) -> Result<Site> {
        let Some(scenario) = self.scenario.clone() else {
            return Err(Error::Unfit("the workspace was not prepared"));
        };
        if (self.kept.len() as u64 + 1) * self.copy_bytes > self.kept_bytes_max {
            self.remove_kept()?;
        }
        self.runs += 1;
        let name = format!("run-{}", self.runs);
        self.scratch.make_folder(&name)?;
        let folder = self.scratch.inside(&name);
        self.kept.push(name.clone());
        let device = mount_of(&folder)?.and_then(|mount| mount.block_device());
        let device = device.and_then(|(major, minor)| Device::new(major, minor));
        let (source, target) = match scenario.work {
            Work::Delete => {
                let tree = folder.join("corpus");
                let through = self.scratch.link(&name).join("corpus");
                scenario.recipe.generate(&through).map_err(Error::corpus(&tree))?;
                (tree.clone(), tree)
            }
            Work::CopyTree | Work::CopyFile => {
                (source_of(&scenario, self.scratch.inside("corpus")), folder.join("copy"))
            }
        };
        Ok(Site { source, target, device })
    }

    fn cool(&mut self, site: &Site, interrupt: &AtomicBool) -> Result<Option<u64>> {
        match self.cold {
            ColdMeans::Advise => evict(&site.source, interrupt),
            ColdMeans::DropCaches => {
                drop_caches()?;
                cached_pages(&site.source, interrupt)
            }
        }
    }

    fn facts(&self) -> GroundFacts {
        self.facts.clone()
    }

    fn clear(&mut self) -> Result<()> {
        // Targets stay until they take too much space.
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        self.scratch.remove()
    }
}

/// Returns the source of a copy: the corpus, or the one file in it.
pub(super) fn source_of(scenario: &Scenario, corpus: PathBuf) -> PathBuf {
    match scenario.work {
        Work::CopyTree | Work::Delete => corpus,
        Work::CopyFile => corpus.join("f0000000"),
    }
}
