//! A fresh file system for each run, from an image.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use haul_sys::fs::{Mount, MountAccess};

use super::image::{Room, copy_image, make_image, mount_image};
use super::mounts::mount_of;
use super::scratch::Scratch;
use super::space::image_space;
use super::spec::{Backing, FileSystem, GroundFacts};
use super::{Site, Workspace};
use crate::error::{Error, Result};
use crate::scenario::{Scenario, Work};

/// A workspace of images in a scratch directory.
#[derive(Debug)]
pub(crate) struct ImageWorkspace {
    /// The directory of the images.
    scratch: Scratch,
    /// The directory of the target's images, if it is another one, and where it is.
    targets: Option<(Scratch, Backing)>,
    /// The directory of the mount points. Tools access it by path, so no other user may rename its
    /// parents, while that is allowed for the directory of the images.
    points: Scratch,
    backing: Backing,
    target: FileSystem,
    /// The source's file system, if it differs.
    source: Option<FileSystem>,
    scenario: Option<Scenario>,
    facts: GroundFacts,
}

impl ImageWorkspace {
    /// Returns a workspace with images in `scratch`, those of targets in another directory if one is given, and mount
    /// points in `points`.
    pub(crate) fn new(
        (scratch, backing): (Scratch, Backing),
        targets: Option<(Scratch, Backing)>,
        points: Scratch,
        target: FileSystem,
        source: Option<FileSystem>,
    ) -> ImageWorkspace {
        let place = match (&backing, &targets) {
            (_, Some(_)) => "on two disks",
            (Backing::Ram, None) => "in RAM",
            (Backing::Disk(_), None) => "on disk",
        };
        let name = match source {
            Some(source) => format!("{source} to {target} {place}"),
            None => format!("{target} {place}"),
        };
        let facts = GroundFacts { name, ..GroundFacts::default() };
        ImageWorkspace { scratch, targets, points, backing, target, source, scenario: None, facts }
    }

    /// Creates a template image with the corpus.
    fn template(&mut self, kind: FileSystem, room: Room, scenario: &Scenario) -> Result<()> {
        make_image(&mut self.scratch, "template.img", kind, room)?;
        let image = self.scratch.link("template.img");
        let points = (&mut self.points, "target");
        mount_image(&image, points, kind, &self.backing, MountAccess::ReadWrite)?;
        let root = self.points.inside("target").join("corpus");
        let through = self.points.link("target").join("corpus");
        let generated = scenario.recipe.generate(&through).map_err(Error::corpus(&root));
        self.points.unmount_all()?;
        generated.map(|_| ())
    }

    /// Mounts the image of a run on the target's mount point.
    fn mount_target(&mut self) -> Result<()> {
        let (scratch, backing) = match &self.targets {
            Some((scratch, backing)) => (scratch, backing),
            None => (&self.scratch, &self.backing),
        };
        let image = scratch.link("run.img");
        let points = (&mut self.points, "target");
        mount_image(&image, points, self.target, backing, MountAccess::ReadWrite)
    }

    /// Returns the directory of the target's images, and where it is.
    fn targets(&mut self) -> (&mut Scratch, &Backing) {
        match &mut self.targets {
            Some((scratch, backing)) => (scratch, backing),
            None => (&mut self.scratch, &self.backing),
        }
    }
}

impl Workspace for ImageWorkspace {
    fn prepare(&mut self, scenario: &Scenario, _interrupt: &AtomicBool) -> Result<()> {
        if self.source.is_some() && scenario.work == Work::Delete {
            return Err(Error::Unfit("a deletion takes place on one file system, not on a pair"));
        }
        let volume = scenario.volume();
        image_space(self.scratch.path(), &self.backing, scenario)?.require()?;
        if let Some((scratch, backing)) = &self.targets {
            image_space(scratch.path(), backing, scenario)?.require()?;
        }
        match self.source {
            Some(source) => {
                self.template(source, Room::for_copies(volume, 1), scenario)?;
                let room = Room::for_copies(volume, u64::from(scenario.targets()));
                let target = self.target;
                make_image(self.targets().0, "empty.img", target, room)?;
            }
            None => {
                let copies = 1 + u64::from(scenario.targets());
                self.template(self.target, Room::for_copies(volume, copies), scenario)?;
            }
        }
        self.scenario = Some(scenario.clone());
        Ok(())
    }

    fn fresh(&mut self, interrupt: &AtomicBool) -> Result<Site> {
        let Some(scenario) = self.scenario.clone() else {
            return Err(Error::Unfit("the workspace was not prepared"));
        };
        let target_point = self.points.inside("target");
        let mut corpus = target_point.join("corpus");
        let mut template = "template.img";
        if let Some(source) = self.source {
            // It is mounted again for each run, so that no part of it is cached.
            let image = self.scratch.link(template);
            let points = (&mut self.points, "source");
            mount_image(&image, points, source, &self.backing, MountAccess::ReadOnly)?;
            corpus = self.points.inside("source").join("corpus");
            template = "empty.img";
        }
        let (scratch, backing) = self.targets();
        copy_image(scratch, template, "run.img", backing)?;
        if interrupt.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        self.mount_target()?;
        let mount = mount_of(&target_point)?;
        let device = mount.as_ref().and_then(Mount::device);
        if let Some(mount) = mount {
            let source = self.source.map(|source| source.to_string());
            self.facts.source_file_system = source;
            self.facts.file_system = mount.file_system;
            self.facts.mount_options = mount.options;
            let below = |backing: &Backing| match backing {
                Backing::Ram => "loop device over memory".to_owned(),
                Backing::Disk(path) => format!("loop device over {}", on(path)),
            };
            self.facts.device = match &self.targets {
                Some((_, targets)) => format!("{} to {}", below(&self.backing), below(targets)),
                None => below(&self.backing),
            };
        }
        Ok(Site {
            target: match scenario.work {
                Work::Delete => corpus.clone(),
                Work::CopyTree | Work::CopyFile => target_point.join("copy"),
            },
            source: super::directory_workspace::source_of(&scenario, corpus),
            device,
        })
    }

    fn cool(&mut self, _site: &Site, _interrupt: &AtomicBool) -> Result<Option<u64>> {
        // It was just mounted, so nothing is cached and no cache must be dropped.
        Ok(Some(0))
    }

    fn facts(&self) -> GroundFacts {
        self.facts.clone()
    }

    fn clear(&mut self) -> Result<()> {
        self.points.unmount_all()?;
        self.targets().0.remove_entry("run.img")
    }

    fn finish(&mut self) -> Result<()> {
        let cleared = self.clear();
        // Removal also unmounts what a failed step left.
        let points = self.points.remove();
        let targets = self.targets.as_mut().map_or(Ok(()), |(scratch, _)| scratch.remove());
        points.and(self.scratch.remove()).and(targets).and(cleared)
    }
}

/// Returns the names of the file system and device of a path.
fn on(path: &Path) -> String {
    match mount_of(path) {
        Ok(Some(mount)) => format!("{} on {}", mount.file_system, mount.source.display()),
        _ => "an unknown file system".to_owned(),
    }
}
