//! The changes that another process makes to the source or the target while a command runs.

use std::fs::{self, File, FileTimes};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::case::{Case, Does};
use super::stage::{Stage, contents};
use crate::support::Outcome;

/// Number of bytes by which an appended or rewritten file grows.
const MORE_BYTES: usize = 3000;

/// The ways of changing the source and the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alteration {
    Append,
    RewriteLonger,
    RewriteShorter,
    /// Other bytes of the same length, and the modification time is restored.
    TouchBack,
    RenameFileIn,
    RenameDirectoryIn,
    RenameOver,
    RenameOut,
    BecomesDirectory,
    BecomesLink,
    BecomesFifo,
    Chmod,
    HardLink,
    Remove,
    /// A file appears at the target's name.
    AppearsAtTarget,
    /// A link to an entry outside appears at the target's name.
    LinkAtTarget,
    /// The entry at the target's name is moved away, and a link to an entry outside replaces it.
    TargetBecomesLink,
}

use Alteration::*;

/// An entry to change, and the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) how: Alteration,
    /// A name below the source or the target; empty for the root.
    pub(super) victim: &'static str,
}

const OF_FILES: [Alteration; 12] = [
    Append,
    RewriteLonger,
    RewriteShorter,
    TouchBack,
    RenameOver,
    RenameOut,
    BecomesDirectory,
    BecomesLink,
    BecomesFifo,
    Chmod,
    HardLink,
    Remove,
];
const OF_DIRECTORIES: [Alteration; 5] =
    [RenameFileIn, RenameDirectoryIn, RenameOut, BecomesLink, Chmod];
const OF_TARGETS: [Alteration; 3] = [AppearsAtTarget, LinkAtTarget, TargetBecomesLink];

/// Lists the changes that make sense for a command.
pub(super) fn changes(case: &Case) -> Vec<Change> {
    let all = |how: &'static [Alteration], victims: &'static [&'static str]| {
        how.iter().flat_map(|how| victims.iter().map(|victim| Change { how: *how, victim }))
    };
    let is_tree = case.operands.is_empty();
    let of_files: &[&str] = if is_tree { &["a", "b", "d/c"] } else { &["a", "b"] };
    let of_directories: &[&str] = match (is_tree, case.operands.contains(&"d")) {
        (true, _) => &["", "d"],
        (false, true) => &["d"],
        (false, false) => &[],
    };
    match case.does {
        // A FIFO operand is read until its end, without a time limit.
        Does::Copies | Does::Moves => all(&OF_FILES, of_files)
            .filter(|change| !(case.follows && change.how == BecomesFifo))
            .chain(all(&OF_DIRECTORIES, of_directories))
            .chain(all(&OF_TARGETS, &["a", "b", "d"]))
            .collect(),
        Does::Removes => {
            all(&OF_FILES, of_files).chain(all(&OF_DIRECTORIES, of_directories)).collect()
        }
        Does::Writes => all(&OF_TARGETS, &["a"])
            .chain(all(&[RenameOut, BecomesDirectory, Remove], &["a"]))
            .collect(),
        Does::Cleans => all(&[RenameFileIn, RenameDirectoryIn], &["", "folder"])
            .chain(all(&[RenameOut, BecomesLink], &["folder", "ordinary"]))
            .chain(all(&[RenameOver, BecomesDirectory, BecomesLink], &["ordinary"]))
            .collect(),
    }
}

impl Change {
    /// Returns whether the change is of the source, not of the target.
    pub(super) fn is_of_source(&self) -> bool {
        !OF_TARGETS.contains(&self.how)
    }

    /// Makes the change; `false` if it cannot be made at this moment.
    pub(super) fn make(&self, stage: &Stage) -> Outcome<bool> {
        let in_target = matches!(stage.case.does, Does::Writes | Does::Cleans);
        let root = if in_target || !self.is_of_source() { stage.target() } else { stage.source() };
        let at = if self.victim.is_empty() { root } else { root.join(self.victim) };
        let spare = |name| if in_target { stage.far_spare(name) } else { stage.spare(name) };
        let Ok(told) = at.symlink_metadata() else {
            return match self.how {
                AppearsAtTarget => appears(&at, |at| Ok(fs::write(at, contents("new", 600))?)),
                LinkAtTarget => appears(&at, |at| Ok(symlink(outside(stage, self.victim), at)?)),
                _ => Ok(false),
            };
        };
        let is_directory = told.is_dir();
        if is_directory != self.wants_directory() && self.how != TargetBecomesLink {
            return Ok(false);
        }
        let moved = spare("moved");
        match self.how {
            Append => File::options().append(true).open(&at)?.write_all(&tail())?,
            RewriteLonger => fs::write(&at, self.rewritten(told.len(), MORE_BYTES))?,
            RewriteShorter => fs::write(&at, contents("new", usize::try_from(told.len() / 2)?))?,
            TouchBack => {
                let modified = told.modified()?;
                fs::write(&at, self.rewritten(told.len(), 0))?;
                let file = File::options().write(true).open(&at)?;
                file.set_times(FileTimes::new().set_modified(modified))?;
            }
            RenameFileIn => fs::rename(spare("file"), at.join("new"))?,
            RenameDirectoryIn => fs::rename(spare("dir"), at.join("newdir"))?,
            RenameOver => fs::rename(spare("file"), &at)?,
            RenameOut => fs::rename(&at, moved)?,
            BecomesDirectory => {
                fs::rename(&at, moved)?;
                fs::rename(spare("dir"), &at)?;
            }
            BecomesLink => {
                fs::rename(&at, moved)?;
                symlink(outside(stage, self.victim), &at)?;
            }
            TargetBecomesLink => {
                fs::rename(&at, stage.far_spare("moved"))?;
                symlink(outside(stage, self.victim), &at)?;
            }
            BecomesFifo => {
                fs::rename(&at, moved)?;
                mknodat(CWD, &at, FileType::Fifo, Mode::from_raw_mode(0o600), 0)?;
            }
            Chmod => {
                let mode = if is_directory { 0o700 } else { 0o600 };
                fs::set_permissions(&at, fs::Permissions::from_mode(mode))?;
            }
            HardLink => fs::hard_link(&at, spare("twin"))?,
            Remove => fs::remove_file(&at)?,
            // These changes are for names that do not exist.
            AppearsAtTarget | LinkAtTarget => return Ok(false),
        }
        Ok(true)
    }

    fn wants_directory(&self) -> bool {
        matches!(self.victim, "" | "d" | "folder")
    }

    fn rewritten(&self, length: u64, more: usize) -> Vec<u8> {
        contents("new", usize::try_from(length).unwrap_or(0) + more)
    }
}

/// The appended bytes.
fn tail() -> Vec<u8> {
    contents("tail", MORE_BYTES)
}

/// The referent of a planted link: a file, or a directory for a directory's name.
fn outside(stage: &Stage, victim: &str) -> PathBuf {
    let name = if matches!(victim, "" | "d" | "folder") { "d" } else { "victim" };
    stage.outside().join(name)
}

/// Makes an entry at a free name, if its directory exists.
fn appears(at: &Path, make: impl FnOnce(&Path) -> Outcome) -> Outcome<bool> {
    let has_parent = at.parent().is_some_and(Path::is_dir);
    if has_parent {
        make(at)?;
    }
    Ok(has_parent)
}
