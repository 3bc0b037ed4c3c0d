//! The scene of a run: a source, a target, and an unrelated file that must not change.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{XattrFlags, setxattr};
use rustix::io::Errno;

use crate::support::Outcome;
use crate::support::run::{Call, haul};
use crate::support::scratch::Scratch;

use super::case::{Case, Input, Promise, Whereabouts};

/// The kind of source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Furnishing {
    /// A small tree with a file large enough for several workers, links and an odd name.
    Tree,
    /// One file.
    File,
}

/// The state of the target before the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Older {
    Nothing,
    /// Older, longer files at the names of the copies.
    Files,
    /// A copy of the source.
    SameTree,
}

/// Every file of the source, and its length.
const FILES: [(&str, usize); 5] =
    [("a", 1024), ("b", 1024), ("d/c", 1024), ("d/odd \n name", 70_000), ("large", 9 << 20)];

/// The length of the source if it is one file.
const FILE_BYTES: usize = 300_000;

/// Length of an attribute: more than the first buffer, and less than the block of a small ext4.
const ATTRIBUTE_BYTES: usize = 300;

/// The contents of the older files.
pub(super) const OLDER: u8 = 9;
const OLDER_BYTES: usize = 100_000;

/// A source, a target and an unrelated file.
pub(super) struct Scene {
    pub(super) scratch: Scratch,
    /// The folder of the target, if it is on another file system.
    far: Option<Scratch>,
    case: Case,
}

impl Scene {
    /// Makes a scene, with the target below `far` if that is given.
    pub(super) fn new(scratch: Scratch, far: Option<Scratch>, case: &Case) -> Outcome<Scene> {
        let scene = Scene { scratch, far, case: *case };
        fs::create_dir_all(scene.bystander())?;
        fs::write(scene.bystander().join("victim"), "victim")?;
        furnish(case.furnishing, &scene.pristine())?;
        Ok(scene)
    }

    pub(super) fn source(&self) -> PathBuf {
        self.scratch.at("s")
    }

    /// The path of the source.
    pub(super) fn pristine(&self) -> PathBuf {
        self.scratch.at(if self.moves() { "p" } else { "s" })
    }

    fn moves(&self) -> bool {
        self.case.promise == Promise::Moved
    }

    pub(super) fn target(&self) -> PathBuf {
        self.target_folder().join("t")
    }

    /// The folder of the target.
    pub(super) fn target_folder(&self) -> &Path {
        self.far.as_ref().unwrap_or(&self.scratch).path()
    }

    pub(super) fn bystander(&self) -> PathBuf {
        self.scratch.at("w")
    }

    /// The command line.
    pub(super) fn call(&self) -> Call {
        let call = Call::of(haul()).words(self.case.words).in_dir(self.scratch.path());
        let is_remote = self.case.target == Whereabouts::Across;
        let call = self.case.operands.iter().fold(call, |call, operand| match *operand {
            "t" if is_remote => call.word(self.target()),
            operand => call.word(operand),
        });
        match self.case.input {
            Input::Nothing => call,
            Input::Source => call.input(contents("large", FILE_BYTES)),
        }
    }

    /// Restores the state before a run.
    pub(super) fn reset(&self) -> Outcome {
        self.scratch.clear("t")?;
        if let Some(far) = &self.far {
            far.clear_all()?;
        }
        if self.moves() {
            self.scratch.clear("s")?;
            // Not copied by haul: the times must be those of the first.
            Call::of("cp").word("-a").word(self.pristine()).word(self.source()).succeed()?;
        }
        match (self.case.older, self.case.furnishing) {
            (Older::Nothing, _) => Ok(()),
            (Older::Files, Furnishing::File) => Ok(fs::write(self.target(), [OLDER; OLDER_BYTES])?),
            (Older::Files, Furnishing::Tree) => plant_older(&self.target()),
            (Older::SameTree, furnishing) => furnish(furnishing, &self.target()),
        }
    }

    /// The regular files, relative to source and target; the root has an empty name.
    pub(super) fn files(&self) -> Vec<&'static str> {
        match self.case.furnishing {
            Furnishing::File => vec![""],
            Furnishing::Tree => FILES.iter().map(|(name, _)| *name).chain(["d/twin"]).collect(),
        }
    }
}

/// Joins a path and a name that may be empty, without a slash at the end.
pub(super) fn below(root: &Path, name: &str) -> PathBuf {
    if name.is_empty() { root.to_owned() } else { root.join(name) }
}

fn furnish(furnishing: Furnishing, root: &Path) -> Outcome {
    if furnishing == Furnishing::File {
        return Ok(fs::write(root, contents("large", FILE_BYTES))?);
    }
    fs::create_dir_all(root.join("d/empty"))?;
    for (name, bytes) in FILES {
        fs::write(root.join(name), contents(name, bytes))?;
    }
    symlink("a", root.join("link"))?;
    symlink("../w/victim", root.join("out"))?;
    symlink("../../w", root.join("d/out"))?;
    fs::hard_link(root.join("b"), root.join("d/twin"))?;
    // Longer than the first buffer; some file systems have no user attributes.
    for name in ["a", "d"] {
        match setxattr(root.join(name), "user.sweep", &[7; ATTRIBUTE_BYTES], XattrFlags::empty()) {
            Ok(()) | Err(Errno::OPNOTSUPP) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// Makes bytes that differ from file to file and from block to block.
fn contents(name: &str, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at % 251 + at / 4096 % 7 + name.len()) as u8 | 1).collect()
}

fn plant_older(root: &Path) -> Outcome {
    fs::create_dir_all(root.join("d"))?;
    for (name, _) in FILES {
        fs::write(root.join(name), [OLDER; OLDER_BYTES])?;
    }
    symlink("elsewhere", root.join("link"))?;
    Ok(())
}

/// A description that any change of the tree alters: names, inodes, and change times.
pub(super) type Fingerprint = BTreeMap<PathBuf, (u64, u64, u32, i64, i64, u64)>;

/// Describes everything below a path; nothing if it does not exist.
pub(super) fn fingerprint(root: &Path) -> Outcome<Fingerprint> {
    let mut found = Fingerprint::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(path) = waiting.pop() {
        let Ok(stat) = fs::symlink_metadata(&path) else { continue };
        if stat.is_dir() {
            for entry in fs::read_dir(&path)? {
                waiting.push(entry?.path());
            }
        }
        let what =
            (stat.ino(), stat.size(), stat.mode(), stat.ctime(), stat.ctime_nsec(), stat.nlink());
        found.insert(path, what);
    }
    Ok(found)
}
