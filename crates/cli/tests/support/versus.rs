//! haul against GNU: the same command line in two equal folders.

use std::path::Path;

use haul_manifest::{Aspect, Aspects, Comparison, Difference, What};

use super::Outcome;
use super::gnu::{Gnu, as_program};
use super::judge::{compared, shown};
use super::run::{Call, Done, cp};
use super::scratch::Scratch;

/// Collects the differences, so that one run reports all of them.
pub(crate) struct Versus {
    gnu: Gnu,
    scratch: Scratch,
    wrong: Vec<String>,
}

/// How strictly messages are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    /// The same lines in any order, because the order of a directory depends on the file system.
    Same,
}

impl Versus {
    pub(crate) fn new(gnu: Gnu, scratch: Scratch) -> Versus {
        Versus { gnu, scratch, wrong: Vec::new() }
    }

    /// Makes the folders with `build`, runs the command line in each after `adapt` has changed it, and
    /// compares folders, exit codes and messages.
    pub(crate) fn run_with(
        &mut self,
        words: &[&str],
        messages: Words,
        build: &dyn Fn(&Path) -> Outcome,
        adapt: &dyn Fn(Call) -> Call,
    ) -> Outcome {
        for side in ["h", "g"] {
            self.scratch.clear(side)?;
            std::fs::create_dir(self.scratch.at(side))?;
            build(&self.scratch.at(side))?;
        }
        let run = |call: Call, side| adapt(call.words(words).in_dir(self.scratch.at(side))).run();
        let (ours, theirs) = (run(cp([""; 0]), "h")?, run(self.gnu.cp(), "g")?);
        // The test makes the folders one after the other, so their times differ.
        let aspects = Aspects::preserved().without(Aspect::Mtime);
        let trees = compared(&self.scratch.at("g"), &self.scratch.at("h"), aspects);
        let mut wrong = self.relevant(&trees);
        if self.gnu.is_reference {
            if ours.code() != theirs.code() {
                wrong += &format!("exit: H {:?}, G {:?}\n", ours.code(), theirs.code());
            }
            if messages == Words::Same {
                wrong += &only("H", &ours, &theirs);
                wrong += &only("G", &theirs, &ours);
            }
        }
        if !wrong.is_empty() {
            self.wrong.push(format!("cp {}\n{wrong}", words.join(" ")));
        }
        Ok(())
    }

    /// The same without `adapt`.
    pub(crate) fn run(
        &mut self,
        words: &[&str],
        messages: Words,
        build: &dyn Fn(&Path) -> Outcome,
    ) -> Outcome {
        self.run_with(words, messages, build, &|call| call)
    }

    fn relevant(&self, comparison: &Comparison) -> String {
        if comparison.summary.failures > 0 {
            return shown(comparison);
        }
        comparison
            .differences()
            .filter(|difference| !is_quirk(&self.scratch.at("g"), difference))
            .map(|difference| format!("{difference}\n"))
            .collect()
    }

    /// Ends the comparison.
    ///
    /// # Panics
    ///
    /// If anything differed.
    pub(crate) fn end(self) -> Outcome {
        assert!(self.wrong.is_empty(), "H is haul, G is GNU:\n{}", self.wrong.join("\n"));
        Ok(())
    }
}

/// Returns whether haul differs from GNU here on purpose: without `-p`, GNU keeps setuid, setgid and
/// the sticky bit of FIFOs, sockets and devices, where they have no meaning, and gives sockets the
/// mode of directories.
pub(crate) fn is_quirk(root: &Path, difference: &Difference) -> bool {
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::FileTypeExt as _;
    let What::Mode { a, b } = difference.what else { return false };
    let path = root.join(std::ffi::OsStr::from_bytes(difference.path.as_bytes()));
    let Ok(kind) = path.symlink_metadata().map(|metadata| metadata.file_type()) else {
        return false;
    };
    let is_special =
        kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_block_device();
    is_special && ((a ^ b) & 0o777 == 0 || kind.is_socket())
}

/// Lists the lines that only the first of two runs printed.
fn only(name: &str, one: &Done, other: &Done) -> String {
    let mut left: Vec<String> = text(other).lines().map(str::to_owned).collect();
    let mut found = String::new();
    for line in text(one).lines() {
        match left.iter().position(|twin| twin == line) {
            Some(at) => {
                left.remove(at);
            }
            None => found += &format!("{name}: {line}\n"),
        }
    }
    found
}

/// Returns both streams; haul is called as `haul cp`, and the line about `--help` says so.
fn text(done: &Done) -> String {
    as_program(&format!("{}\n{}", done.text(), done.errors()), "cp")
}
