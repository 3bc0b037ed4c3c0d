//! A fresh tmpfs for each run: memory without a device, an image or a journal.

use std::sync::atomic::AtomicBool;

use haul_sys::fs::MountAccess;

use super::mounts::mount_of;
use super::scratch::{Mountable, Scratch};
use super::spec::GroundFacts;
use super::{Site, Workspace};
use crate::error::{Error, Result};
use crate::scenario::{Scenario, Work};

/// A workspace on tmpfs in a scratch directory.
#[derive(Debug)]
pub(crate) struct TmpfsWorkspace {
    scratch: Scratch,
    scenario: Option<Scenario>,
    facts: GroundFacts,
}

impl TmpfsWorkspace {
    /// Returns a workspace with mount points in `scratch`.
    pub(crate) fn new(scratch: Scratch) -> TmpfsWorkspace {
        let facts = GroundFacts { name: "tmpfs".to_owned(), ..GroundFacts::default() };
        TmpfsWorkspace { scratch, scenario: None, facts }
    }
}

impl Workspace for TmpfsWorkspace {
    fn prepare(&mut self, scenario: &Scenario, _interrupt: &AtomicBool) -> Result<()> {
        self.scenario = Some(scenario.clone());
        Ok(())
    }

    fn fresh(&mut self, _interrupt: &AtomicBool) -> Result<Site> {
        let Some(scenario) = self.scenario.clone() else {
            return Err(Error::Unfit("the workspace was not prepared"));
        };
        let what = Mountable {
            source: "tmpfs",
            file_system: "tmpfs",
            access: MountAccess::ReadWrite,
            options: c"size=100%,nr_inodes=0",
        };
        self.scratch.mount("target", what)?;
        let point = self.scratch.inside("target");
        if let Some(mount) = mount_of(&point)? {
            self.facts.file_system = mount.file_system;
            self.facts.mount_options = mount.options;
            self.facts.device = "memory".to_owned();
        }
        let corpus = point.join("corpus");
        let through = self.scratch.link("target").join("corpus");
        scenario.recipe.generate(&through).map_err(Error::corpus(&corpus))?;
        Ok(Site {
            target: match scenario.work {
                Work::Delete => corpus.clone(),
                Work::CopyTree | Work::CopyFile => point.join("copy"),
            },
            source: super::directory_workspace::source_of(&scenario, corpus),
            device: None,
        })
    }

    fn cool(&mut self, _site: &Site, _interrupt: &AtomicBool) -> Result<Option<u64>> {
        Err(Error::Unfit("tmpfs is never cold: it is the page cache"))
    }

    fn facts(&self) -> GroundFacts {
        self.facts.clone()
    }

    fn clear(&mut self) -> Result<()> {
        self.scratch.unmount_all()
    }

    fn finish(&mut self) -> Result<()> {
        let cleared = self.clear();
        self.scratch.remove().and(cleared)
    }
}
