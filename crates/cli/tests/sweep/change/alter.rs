//! What somebody else does to the source or the target while a command works.

use std::fs::{self, File, FileTimes};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::case::{Case, Does};
use super::stage::{Stage, contents};
use crate::support::Outcome;

/// How much longer a file gets that is appended to or rewritten.
const MORE_BYTES: usize = 3000;

/// A dozen ways of changing the source, and a few of changing the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alteration {
    Append,
    RewriteLonger,
    RewriteShorter,
    /// Other bytes, as many, and the time of modification is put back.
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
    /// A link to something outside appears at the target's name.
    LinkAtTarget,
    /// What is at the target's name is put away, and a link to something outside takes its place.
    TargetBecomesLink,
}

use Alteration::*;

/// Something that is changed, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) how: Alteration,
    /// A name below the source or the target; empty for itself.
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
        // A FIFO that a person named is read, for as long as it takes.
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
    /// Tells whether the source is changed, and not the target.
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
            // They are for names that are not there.
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

/// What is appended.
fn tail() -> Vec<u8> {
    contents("tail", MORE_BYTES)
}

/// What a link that is planted leads to: a file, or a directory for a directory's name.
fn outside(stage: &Stage, victim: &str) -> PathBuf {
    let name = if matches!(victim, "" | "d" | "folder") { "d" } else { "victim" };
    stage.outside().join(name)
}

/// Makes something at a name that is free, if its directory is there.
fn appears(at: &Path, make: impl FnOnce(&Path) -> Outcome) -> Outcome<bool> {
    let has_parent = at.parent().is_some_and(Path::is_dir);
    if has_parent {
        make(at)?;
    }
    Ok(has_parent)
}
