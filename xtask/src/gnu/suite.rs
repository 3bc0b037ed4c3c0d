//! The suite: a source tree, a runner, and folders of tools to test.

use super::results::{self, Comparison};
use super::{expected, tree};
use crate::command::{command, output, stream};
use crate::error::{Context, Error, Result};
use crate::workspace::Workspace;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The areas that haul has to pass, if the binary has the applet.
const AREAS: [&str; 9] = ["cp", "rm", "mv", "dd", "cat", "tee", "split", "cksum", "md5sum"];

/// The program that runs the suite, a script in Python.
const RUNNER: &str = "xtask/gnu/gnu-tests";

/// The time that one test may take: several times what the slowest takes on two busy processors.
const SECONDS_MAX: &str = "240";

/// The runner's exit status when it could not run.
const NOT_RUN: i32 = 2;

/// The user that the tests run as.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum As {
    /// Root, for the tests that may run as root, if this process is root.
    RootIfPossible,
    /// An unprivileged user, for all tests.
    User,
}

/// Everything that a run of the suite needs.
pub(super) struct Suite<'a> {
    workspace: &'a Workspace,
    tree: PathBuf,
    pub(super) applets: Vec<String>,
    run_as: As,
}

impl<'a> Suite<'a> {
    /// Prepares the suite; fails, with the reason, if that is impossible. The binary must have been built.
    pub(super) fn provide(workspace: &'a Workspace, run_as: As) -> Result<Self> {
        let applets = output(command(workspace.release_binary()).arg("--list-applets"))?;
        let applets: Vec<_> = applets.split_whitespace().map(str::to_owned).collect();
        if applets.is_empty() {
            return Err(Error::new("`haul --list-applets` lists none"));
        }
        Ok(Self { workspace, tree: tree::provide_for_all(workspace)?, applets, run_as })
    }

    fn dir(&self) -> PathBuf {
        self.workspace.target.join("gnu")
    }

    fn file(&self, stem: &str) -> PathBuf {
        let suffix = if self.run_as == As::User { "-user" } else { "" };
        self.dir().join(format!("{stem}{suffix}.tsv"))
    }

    /// Returns the areas that the binary has an applet for.
    pub(super) fn own_areas(&self) -> Vec<&'static str> {
        AREAS.into_iter().filter(|area| self.applets.iter().any(|name| name == area)).collect()
    }

    /// Runs the tests of all areas with GNU's own tools and keeps the result.
    pub(super) fn renew_baseline(&self) -> Result<()> {
        let path = self.file("baseline");
        if path.exists() {
            fs::remove_file(&path).context("remove", path.display())?;
        }
        self.extend_baseline(&self.own_areas())
    }

    /// Runs the tests of areas that are missing in the baseline, with GNU's own tools.
    fn extend_baseline(&self, areas: &[&str]) -> Result<()> {
        let path = self.file("baseline");
        let known = results::read(&path)?;
        let lacking = results::lacking(&known, areas);
        if lacking.is_empty() {
            return Ok(());
        }
        println!("baseline: GNU's own tools first: {}", lacking.join(" "));
        let out = self.file("baseline-new");
        self.run(&self.tree.join("src"), &out, &[], &lacking)?;
        results::write(&path, &results::merge(known, results::read(&out)?))?;
        fs::remove_file(&out).context("remove", out.display())
    }

    /// Runs the tests with haul's tools and compares; an area may be a single test, such as `cp/acl.sh`.
    pub(super) fn compare(&self, areas: &[&str]) -> Result<Comparison> {
        let expected = expected::read(self.workspace)?;
        let (tests, whole): (Vec<&str>, Vec<&str>) =
            areas.iter().partition(|area| area.contains('/'));
        let areas_of_tests = tests.iter().map(|test| area_of(test));
        let baseline_areas: Vec<_> = whole.iter().copied().chain(areas_of_tests).collect();
        self.extend_baseline(&baseline_areas)?;
        let (baseline, out) = (self.file("baseline"), self.file("haul"));
        let logs = self.empty_dir("logs")?;
        let options = [OsStr::new("--baseline"), baseline.as_os_str(), OsStr::new("--logs")];
        let options = [&options[..], &[logs.as_os_str()]].concat();
        self.run(&self.tools()?, &out, &options, areas)?;
        Ok(results::compare(&results::read(&baseline)?, &results::read(&out)?, &whole, &expected))
    }

    /// Makes the folder with a symbolic link for each applet.
    fn tools(&self) -> Result<PathBuf> {
        let dir = self.empty_dir("tools")?;
        for applet in &self.applets {
            let link = dir.join(applet);
            symlink(self.workspace.release_binary(), &link).context("make", link.display())?;
        }
        Ok(dir)
    }

    /// Makes an empty folder, without the files of an earlier run.
    fn empty_dir(&self, name: &str) -> Result<PathBuf> {
        let dir = self.dir().join(name);
        if dir.exists() {
            fs::remove_dir_all(&dir).context("remove", dir.display())?;
        }
        fs::create_dir_all(&dir).context("create", dir.display())?;
        Ok(dir)
    }

    fn run(&self, tools: &Path, out: &Path, options: &[&OsStr], areas: &[&str]) -> Result<()> {
        fs::create_dir_all(self.dir()).context("create", self.dir().display())?;
        let mut runner = command("python3");
        runner.arg(self.workspace.root.join(RUNNER));
        runner.env("COREUTILS_BUILD", &self.tree).arg("--out").arg(out).args(options);
        runner.args(["--timeout", SECONDS_MAX]);
        if self.run_as == As::User {
            runner.args(["--as", "user"]);
        }
        let mut last = String::new();
        let status = stream(runner.arg(tools).args(areas), |line| last = line.to_owned())?;
        match status.code() {
            // 1 means only that some tests did not pass.
            Some(0 | 1) if out.exists() => Ok(()),
            Some(NOT_RUN) => Err(Error::new(format!("the suite could not run: {last}"))),
            _ => Err(Error::new(format!("{RUNNER} failed ({status})"))),
        }
    }
}

/// The area that a single test, such as `cp/acl.sh` or `misc/option.sh[cp]`, is compared in.
fn area_of(test: &str) -> &str {
    let within = test.split_once('[').and_then(|(_, rest)| rest.strip_suffix(']'));
    within.unwrap_or_else(|| test.split('/').next().unwrap_or(test))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_compared_in_its_area() {
        assert_eq!(area_of("cp/acl.sh"), "cp");
        assert_eq!(area_of("misc/usage_vs_getopt.sh[mv]"), "mv");
    }

    #[test]
    fn the_runner_is_part_of_the_repository_and_says_when_it_cannot_run() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let runner = root.join(RUNNER);
        assert!(runner.is_file());
        if crate::command::which("python3").is_none() {
            println!("ignored: the runner of GNU's suite: python3 is missing");
            return;
        }
        let mut runner_without_tree = command("python3");
        runner_without_tree.arg(&runner).arg("/nowhere").env_remove("COREUTILS_BUILD");
        let mut lines = Vec::new();
        let status = stream(&mut runner_without_tree, |line| lines.push(line.to_owned())).unwrap();
        assert_eq!(status.code(), Some(NOT_RUN));
        assert!(lines.iter().any(|line| line.contains("set COREUTILS_BUILD")), "{lines:?}");
    }
}
