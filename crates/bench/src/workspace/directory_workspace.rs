//! A fresh directory for each run on an existing file system, which needs no root.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use super::mounts::mount_of;
use super::scratch::Scratch;
use super::space::{copy_bytes, folder_space};
use super::spec::{ColdMeans, GroundFacts};
use super::{Site, Workspace};
use crate::error::{Error, Result};
use crate::measure::{cached_pages, drop_caches, evict};
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
    /// The directory of the targets, and of the source if that has none of its own.
    scratch: Scratch,
    source: Option<Scratch>,
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
    /// Uses `scratch`, and another directory for the source if one is given.
    pub(crate) fn new(
        scratch: Scratch,
        source: Option<Scratch>,
        cold: ColdMeans,
    ) -> DirectoryWorkspace {
        let facts = GroundFacts { warnings: vec![WARNING.to_owned()], ..GroundFacts::default() };
        DirectoryWorkspace {
            scratch,
            source,
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
        if self.source.is_some() && scenario.work == Work::Delete {
            return Err(Error::Unfit("a deletion takes place in one folder, not in a pair"));
        }
        let path = self.scratch.path();
        self.copy_bytes = copy_bytes(scenario.volume()) * u64::from(scenario.at_once());
        let space = folder_space(path, scenario)?;
        self.kept_bytes_max = space.available_bytes / KEPT_SHARE;
        space.require()?;
        if let Some(mount) = mount_of(path)? {
            self.facts.name = format!("{} (folder)", mount.file_system);
            self.facts.device = mount.source.display().to_string();
            self.facts.file_system = mount.file_system;
            self.facts.mount_options = mount.options;
        }
        if let Some(source) = &self.source {
            folder_space(source.path(), scenario)?.require()?;
            if let Some(mount) = mount_of(source.path())? {
                self.facts.name = format!("{} (folder) to {}", mount.file_system, self.facts.name);
                self.facts.device = format!("{} to {}", mount.source.display(), self.facts.device);
                self.facts.source_file_system = Some(mount.file_system);
            }
        }
        let has_safe_path = self.scratch.has_safe_path()?
            && self.source.as_ref().map_or(Ok(true), Scratch::has_safe_path)?;
        if rustix::process::geteuid().is_root() && !has_safe_path {
            self.facts.warnings.push(EXPOSED.to_owned());
        }
        if scenario.work != Work::Delete {
            let scratch = self.source.as_mut().unwrap_or(&mut self.scratch);
            scratch.record("corpus")?;
            let made = scenario.recipe.generate(&scratch.link("corpus"));
            made.map_err(Error::corpus(&scratch.inside("corpus")))?;
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
        let device = mount_of(&folder)?.and_then(|mount| mount.device());
        let (source, target) = match scenario.work {
            Work::Delete => {
                let tree = folder.join("corpus");
                let through = self.scratch.link(&name).join("corpus");
                scenario.recipe.generate(&through).map_err(Error::corpus(&tree))?;
                (tree.clone(), tree)
            }
            Work::CopyTree | Work::CopyFile => {
                let source = self.source.as_ref().unwrap_or(&self.scratch);
                (source_of(&scenario, source.inside("corpus")), folder.join("copy"))
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
        let source = self.source.as_mut().map_or(Ok(()), Scratch::remove);
        self.scratch.remove().and(source)
    }
}

/// Returns the source of a copy: the corpus, or the one file in it.
pub(super) fn source_of(scenario: &Scenario, corpus: PathBuf) -> PathBuf {
    match scenario.work {
        Work::CopyTree | Work::Delete => corpus,
        Work::CopyFile => corpus.join("f0000000"),
    }
}
