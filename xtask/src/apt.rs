//! Packages of Debian, downloaded with a state of apt of their own.

use crate::command::{command, output, run};
use crate::error::{Context, Error, Result};
use std::fs;
use std::path::Path;

/// A state of apt in a folder, which gets the downloads, too.
pub(crate) struct Apt<'a> {
    dir: &'a Path,
}

impl<'a> Apt<'a> {
    /// Reads the lists of a release, from the mirror that the machine uses. `kinds` are those of packages: `deb`,
    /// `deb-src`; `hint` says what helps where there is no mirror.
    pub(crate) fn update(
        dir: &'a Path,
        release: &str,
        kinds: &[&str],
        hint: &str,
    ) -> Result<Apt<'a>> {
        let filter = ["Identifier: Packages", "Origin: Debian", "Label: Debian", "Component: main"];
        let mut targets = command("apt-get");
        targets.args(["indextargets", "--format", "$(REPO_URI)"]).args(filter);
        let targets = output(&mut targets)?;
        let mirror = targets
            .lines()
            .min()
            .ok_or_else(|| Error::new("apt has no Debian mirror on this machine").hint(hint))?;
        for part in ["lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(dir.join(part)).context("create", part)?;
        }
        let line = |kind: &&str| format!("{kind} {mirror} {release} main\n");
        let sources = dir.join("sources.list");
        let lines: String = kinds.iter().map(line).collect();
        fs::write(&sources, lines).context("write", sources.display())?;
        let apt = Apt { dir };
        apt.run(&["update"])?;
        Ok(apt)
    }

    /// Runs `apt-get` with these arguments.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<()> {
        let mut apt = command("apt-get");
        apt.current_dir(self.dir).args(["-q", "-o", "Dir::Etc::sourceparts=-"]);
        for (key, name) in [
            ("Dir::Etc::sourcelist", "sources.list"),
            ("Dir::State::lists", "lists"),
            ("Dir::Cache", "cache"),
        ] {
            apt.arg("-o").arg(format!("{key}={}", self.dir.join(name).display()));
        }
        run(apt.args(arguments))
    }
}
