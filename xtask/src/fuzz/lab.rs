//! Where the programs run: a folder in memory, the only place of the namespace that can be written.

use crate::command::{command, output};
use crate::error::{Context, Result};
use crate::fs::enter_private;
use crate::trial::{self, Ends, Trial};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest time of a program on an input of some dozens of kilobytes.
const LIMIT: Duration = Duration::from_secs(10);

/// The folder, and the program under test.
pub(crate) struct Lab {
    pub(crate) haul: PathBuf,
    dir: PathBuf,
}

/// What a program did with an input.
pub(crate) struct Done {
    pub(crate) trial: Trial,
    pub(crate) output: Vec<u8>,
}

impl Lab {
    /// Mounts the folder, and makes everything else read-only but `kept`: a mutated archive may name any
    /// file, and other programs extract it, too. The mounts end with this process.
    pub(crate) fn up(haul: PathBuf, dir: PathBuf, kept: &Path) -> Result<Self> {
        enter_private()?;
        for folder in [&dir, kept] {
            fs::create_dir_all(folder).context("create", folder.display())?;
        }
        output(command("mount").arg("--bind").args([kept, kept]))?;
        let options = ["-t", "tmpfs", "-o", "size=256m,mode=755", "fuzz"];
        output(command("mount").args(options).arg(&dir))?;
        output(command("mount").args(["-o", "remount,bind,ro", "/"]))?;
        Ok(Self { haul, dir })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf> {
        let path = self.path(name);
        fs::write(&path, bytes).context("write", path.display())?;
        Ok(path)
    }

    /// Runs `haul` or, if `words` begin with another name, that program, with the input as its standard
    /// input.
    pub(crate) fn run(&self, words: &[&str], input: Option<&Path>) -> Result<Done> {
        let (program, rest) = words.split_first().unwrap_or((&"true", &[]));
        let mut made = if *program == "haul" { command(&self.haul) } else { command(program) };
        made.args(rest).current_dir(&self.dir).env("LC_ALL", "C").env("HOME", "/nonexistent");
        let out = self.path("out");
        let ends = Ends { input: input.map(Path::to_path_buf), output: Some(out.clone()) };
        let trial = trial::run(vec![made], &ends, LIMIT)?.remove(0);
        let output = fs::read(&out).context("read", out.display())?;
        Ok(Done { trial, output })
    }

    /// Makes an empty folder, in the place of what has its name.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf> {
        let path = self.path(name);
        if path.exists() {
            haul_manifest::remove_tree(&path).context("remove", path.display())?;
        }
        fs::create_dir(&path).context("create", path.display())?;
        Ok(path)
    }
}
