//! The scene of a run: a source, a target, and an unrelated file that must not change.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use rustix::fs::{XattrFlags, setxattr};
use rustix::io::Errno;

use crate::support::run::{Call, haul};
use crate::support::scratch::Scratch;
use crate::support::shell::noise;
use crate::support::{Outcome, if_there};

use super::case::{Case, Input, Promise, Whereabouts};
use super::faults::Extent;

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

/// Every file of the source, and its length; [`large_bytes`] has that of the large one.
const FILES: [(&str, usize); 5] =
    [("a", 1024), ("b", 1024), ("d/c", 1024), ("d/odd \n name", 70_000), ("large", 0)];

/// The length of a file from which several workers share it.
const SHARED_BYTES: usize = 9 << 20;

/// More than the length from which space is allocated beforehand, and than a block of digests. One worker makes
/// the same calls for such a file as for a longer one, only fewer of them.
const UNSHARED_BYTES: usize = 5 << 20;

/// The length of the source if it is one file.
const FILE_BYTES: usize = 300_000;

/// Length of an attribute: more than the first buffer, and less than the block of a small ext4.
const ATTRIBUTE_BYTES: usize = 300;

/// The contents of the older files.
const OLDER: u8 = 9;
const OLDER_BYTES: usize = 100_000;

/// Another name of `b`.
pub(super) const TWIN: &str = "d/twin";

/// What is at the name of a regular file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Missing,
    /// The bytes of the source.
    Whole,
    /// As many bytes, and not all of them the same.
    LooksWhole,
    /// The older file, or the beginning of it.
    Older,
    Other,
}

/// A source, a target and an unrelated file.
pub(super) struct Scene {
    pub(super) scratch: Scratch,
    /// The folder of the target, if it is on another file system.
    far: Option<Scratch>,
    pub(super) case: Case,
}

impl Scene {
    /// Makes a scene, with the target below `far` if that is given.
    pub(super) fn new(scratch: Scratch, far: Option<Scratch>, case: &Case) -> Outcome<Scene> {
        let scene = Scene { scratch, far, case: *case };
        fs::create_dir_all(scene.bystander())?;
        fs::write(scene.bystander().join("victim"), "victim")?;
        scene.furnish(&scene.pristine())?;
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
            Input::Source => call.input(self.contents("")),
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
            (Older::SameTree, _) => self.furnish(&self.target()),
        }
    }

    /// Makes the source, or a copy of it.
    fn furnish(&self, root: &Path) -> Outcome {
        if self.case.furnishing == Furnishing::File {
            return Ok(fs::write(root, self.contents(""))?);
        }
        fs::create_dir_all(root.join("d/empty"))?;
        for (name, _) in FILES {
            fs::write(root.join(name), self.contents(name))?;
        }
        symlink("a", root.join("link"))?;
        symlink("../w/victim", root.join("out"))?;
        symlink("../../w", root.join("d/out"))?;
        fs::hard_link(root.join("b"), root.join(TWIN))?;
        // Longer than the first buffer; some file systems have no user attributes.
        for name in ["a", "d"] {
            let value = [7; ATTRIBUTE_BYTES];
            match setxattr(root.join(name), "user.sweep", &value, XattrFlags::empty()) {
                Ok(()) | Err(Errno::OPNOTSUPP) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Returns the bytes of one of the regular files, which differ from file to file and from block to block.
    pub(super) fn contents(&self, name: &str) -> &'static [u8] {
        static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| noise(SHARED_BYTES + 256));
        let name = if name == TWIN { "b" } else { name };
        let bytes = match FILES.iter().find(|(listed, _)| *listed == name) {
            Some(("large", _)) => self.large_bytes(),
            Some((_, bytes)) => *bytes,
            None => FILE_BYTES,
        };
        let from = name.bytes().fold(0_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte));
        &BYTES[usize::from(from)..][..bytes]
    }

    fn large_bytes(&self) -> usize {
        let is_shared = !self.case.words.contains(&"--jobs=1");
        if is_shared || Extent::asked() == Extent::Full { SHARED_BYTES } else { UNSHARED_BYTES }
    }

    /// Tells what is at the name of a regular file, below the source or the target.
    pub(super) fn found(&self, root: &Path, name: &str) -> Outcome<Found> {
        let path = below(root, name);
        let Some(told) = if_there(path.metadata())? else { return Ok(Found::Missing) };
        let whole = self.contents(name);
        if told.len() == whole.len() as u64 {
            return Ok(if holds(&path, whole)? { Found::Whole } else { Found::LooksWhole });
        }
        let older = [OLDER; OLDER_BYTES];
        let is_older = match older.get(..usize::try_from(told.len())?) {
            Some(older) => !older.is_empty() && holds(&path, older)?,
            None => false,
        };
        Ok(if is_older { Found::Older } else { Found::Other })
    }

    /// The regular files, relative to source and target; the root has an empty name.
    pub(super) fn files(&self) -> Vec<&'static str> {
        match self.case.furnishing {
            Furnishing::File => vec![""],
            Furnishing::Tree => FILES.iter().map(|(name, _)| *name).chain([TWIN]).collect(),
        }
    }
}

/// Joins a path and a name that may be empty, without a slash at the end.
pub(super) fn below(root: &Path, name: &str) -> PathBuf {
    if name.is_empty() { root.to_owned() } else { root.join(name) }
}

/// Returns whether a file has these bytes. It is read piece by piece: fresh memory for each file of each run
/// would take longer than the comparison.
fn holds(path: &Path, bytes: &[u8]) -> Outcome<bool> {
    let mut file = fs::File::open(path)?;
    let mut piece = [0; 64 << 10];
    let mut rest = bytes;
    loop {
        let count = file.read(&mut piece)?;
        match rest.split_at_checked(count) {
            Some((_, behind)) if count == 0 => return Ok(behind.is_empty()),
            Some((these, behind)) if *these == piece[..count] => rest = behind,
            _ => return Ok(false),
        }
    }
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
