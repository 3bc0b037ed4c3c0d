//! The stage of a run: a source, a target, things outside both, and things that the change needs.
//!
//! - `s`: the source; `a` is one small file, `b` takes several reads, `d` is a directory, `l` a link
//! - `t`: the target, on another file system
//! - `w`: outside; no command may change it
//! - `x`: the entries that a change uses, and those that it moves away (`x/moved`)

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use rustix::process::{Signal, kill_process};

use super::case::{Case, Does, Older};
use super::state::{State, state};
use crate::mv::Two;
use crate::support::run::{Call, haul};
use crate::support::shell::noise;
use crate::support::stepper::{self, Stepped, Stop};
use crate::support::{Outcome, hidden};

/// The files of the source and their sizes: one read, several reads, and more than the limit up to which
/// files are small ones.
const FILES: [(&str, usize); 4] = [("a", 6000), ("b", 270_000), ("d/c", 9000), ("d/e/f", 10)];

/// Number of bytes that `haul write` reads.
const INPUT_BYTES: usize = 300_000;

/// The greatest length of any file.
const MOST_BYTES: usize = 400_000;

/// Longer than any file of the source.
const OLDER_BYTES: usize = 280_000;

/// The marks that begin the work of a command: the operands, and the current directory, which the engine
/// opens first.
const MARKS: [&str; 7] = [".", "s", "s/a", "t", "t/a", "/dev/stdin", "s/d"];

/// All paths of the stage.
pub(super) struct Stage {
    pub(super) two: Two,
    pub(super) case: Case,
    /// The program that runs instead of haul, in a test of the test.
    impostor: Option<&'static str>,
}

/// The contents of all places at one moment.
#[derive(Clone)]
pub(super) struct Places {
    pub(super) source: State,
    pub(super) target: State,
    pub(super) outside: State,
    /// The entries that the change moved out of the source.
    pub(super) moved: State,
    /// The entries that the change moved out of the target.
    pub(super) put_away: State,
}

/// Makes bytes that differ from file to file; never zero, so that zeros in a copy are an error. A longer file of
/// the same name begins with the bytes of a shorter one.
pub(super) fn contents(name: &str, bytes: usize) -> Vec<u8> {
    static NOISE: LazyLock<Vec<u8>> =
        LazyLock::new(|| noise(MOST_BYTES + 256).iter().map(|byte| byte | 1).collect());
    let salt = name.bytes().fold(7_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte));
    NOISE[usize::from(salt)..][..bytes].to_vec()
}

/// Returns the input of `haul write`.
pub(super) fn input() -> Vec<u8> {
    contents("input", INPUT_BYTES)
}

impl Stage {
    pub(super) fn new(two: Two, case: &Case, impostor: Option<&'static str>) -> Stage {
        Stage { two, case: *case, impostor }
    }

    pub(super) fn source(&self) -> PathBuf {
        self.two.here.at("s")
    }

    pub(super) fn target(&self) -> PathBuf {
        self.two.there.at("t")
    }

    pub(super) fn outside(&self) -> PathBuf {
        self.two.here.at("w")
    }

    /// Returns the path of an entry that a change uses, on the source's file system.
    pub(super) fn spare(&self, name: &str) -> PathBuf {
        self.two.here.at("x").join(name)
    }

    /// The same on the target's file system.
    pub(super) fn far_spare(&self, name: &str) -> PathBuf {
        self.two.there.at("x").join(name)
    }

    /// Records the contents of all places.
    pub(super) fn places(&self) -> Outcome<Places> {
        Ok(Places {
            source: state(&self.source())?,
            target: state(&self.target())?,
            outside: state(&self.outside())?,
            moved: state(&self.spare("moved"))?,
            put_away: state(&self.far_spare("moved"))?,
        })
    }

    fn call(&self) -> Call {
        let target = self.target();
        let call = match self.impostor {
            Some(line) => Call::of("sh").words(["-c", line, "sh"]),
            None => Call::of(haul()).words(self.case.words),
        };
        let call = call.in_dir(self.two.here.path());
        let operands = self.case.operands.iter().map(|name| format!("s/{name}"));
        match self.case.does {
            Does::Copies | Does::Moves if self.case.operands.is_empty() => {
                call.words(["-T", "s"]).word(target)
            }
            Does::Copies | Does::Moves => call.words(operands).word(target),
            Does::Removes if self.case.operands.is_empty() => call.word("s"),
            Does::Removes => call.words(operands),
            Does::Writes => call.word(target.join("a")).input(input()),
            Does::Cleans => call.word(target),
        }
    }

    /// Runs the command step by step.
    pub(super) fn run(&self, after: &mut dyn FnMut(Stop) -> Outcome) -> Outcome<Stepped> {
        let target = self.target();
        let target = target.to_str().ok_or("a path that is no text")?;
        let below = format!("{target}/a");
        let marks: Vec<&str> = MARKS.into_iter().chain([target, &below]).collect();
        stepper::run(&self.call(), &marks, after)
    }

    /// Restores the state before a run.
    pub(super) fn reset(&self) -> Outcome {
        let (here, there) = (&self.two.here, &self.two.there);
        here.clear_all()?;
        there.clear_all()?;
        furnish(&self.source(), contents)?;
        here.write("w/victim", contents("victim", 500))?;
        here.write("w/d/c", contents("outside", 500))?;
        for spare in [self.spare(""), self.far_spare("")] {
            fs::create_dir_all(spare.join("dir"))?;
            fs::write(spare.join("file"), contents("spare", 700))?;
            fs::write(spare.join("dir/old"), contents("old", 800))?;
        }
        match self.case.older {
            Older::Nothing => Ok(()),
            Older::Folder => Ok(fs::create_dir(self.target())?),
            Older::Files => furnish(&self.target(), |_, _| contents("older", OLDER_BYTES)),
        }?;
        if self.case.does == Does::Cleans { self.litter() } else { Ok(()) }
    }

    /// Makes the hidden files of a killed run, among ordinary files.
    fn litter(&self) -> Outcome {
        let target = self.target();
        fs::write(target.join("ordinary"), contents("ordinary", 300))?;
        fs::create_dir(target.join("folder"))?;
        fs::write(target.join("folder/.hidden"), contents("hidden", 300))?;
        // The replacement of a file has a hidden name for a moment.
        fs::write(target.join("b"), contents("older", 300))?;
        let call = Call::of(haul()).words(["cp", "--atomic", "--jobs=1", "s/b"]).word(&target);
        let call = call.in_dir(self.two.here.path());
        let left = stepper::run(&call, &["s/b"], &mut |stop| {
            if !hidden(&target)?.is_empty() {
                kill_process(stop.pid, Signal::KILL)?;
            }
            Ok(())
        })?;
        if hidden(&target)?.is_empty() {
            return Err(format!("a run that was killed left nothing: {:?}", left.done).into());
        }
        Ok(())
    }
}

/// Makes the files of the source, or others of their names.
fn furnish(root: &Path, bytes: impl Fn(&str, usize) -> Vec<u8>) -> Outcome {
    fs::create_dir_all(root.join("d/e"))?;
    for (name, size) in FILES {
        fs::write(root.join(name), bytes(name, size))?;
    }
    Ok(symlink("a", root.join("l"))?)
}
