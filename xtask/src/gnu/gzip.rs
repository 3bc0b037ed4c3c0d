//! gzip's own tests, run unchanged against haul's binary.
//!
//! The tests are shell scripts that find the programs in the folder above the current one. So each
//! runs twice: in a folder of GNU's programs, and in one where `gzip`, `gunzip` and `zcat` are links to
//! haul and only the scripts around them (`zgrep`, `zdiff`, …) are GNU's.

use super::expected::{self, Expected};
use super::results::Comparison;
use super::tree;
use crate::command::{command, output, stream};
use crate::error::{Context, Error, Result};
use crate::workspace::Workspace;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The name of this area on the command line.
pub(super) const AREA: &str = "gzip";

/// Programs that haul stands in for.
const OURS: [&str; 3] = ["gzip", "gunzip", "zcat"];

/// GNU's scripts around them, which the tests use, too.
const SCRIPTS: [&str; 9] =
    ["gzexe", "zcmp", "zdiff", "zegrep", "zfgrep", "zforce", "zgrep", "zmore", "znew"];

/// Seconds that a test may take: the longest compresses 4 GiB.
const SECONDS_MAX: &str = "600";

/// Exit status of a test that could not run.
const SKIPPED: i32 = 77;

/// Runs all tests with GNU's programs and with haul's, and compares the results. The binary must have
/// been built.
pub(super) fn compare(workspace: &Workspace) -> Result<Comparison> {
    let tree = tree::provide_gzip(workspace)?;
    let expected = expected::read(workspace)?;
    let binary = workspace.release_binary();
    let said = output(command(&binary).arg("--version"))?;
    let version = said.lines().next().and_then(|line| line.split(' ').next_back());
    let version = version.ok_or_else(|| Error::new("`haul --version` prints no version"))?;
    let gnu = Programs::link(workspace, "gnu", &tree, &tree, "1.13")?;
    let ours = Programs::link(workspace, "haul", &tree, &binary, version)?;
    let mut comparison = Comparison::default();
    let makefile = tree.join("tests/Makefile.am");
    let text = fs::read_to_string(&makefile).context("read", makefile.display())?;
    for test in tests(&text) {
        if gnu.run(&tree, test)? == Some(0) {
            add(&mut comparison, &expected, test, ours.run(&tree, test)?);
        }
    }
    Ok(comparison)
}

/// Adds the result of a test that GNU passes.
fn add(comparison: &mut Comparison, expected: &Expected, test: &str, status: Option<i32>) {
    let name = format!("{AREA}/{test}");
    match (status, expected.get(&name)) {
        (Some(0), reason) => {
            comparison.passed += 1;
            comparison.stale.extend(reason.map(|_| name));
        }
        (_, Some(reason)) => comparison.differences.push(format!("{name}: {reason}")),
        (Some(SKIPPED), None) => comparison.failures.push(format!("{name}: SKIP")),
        (_, None) => comparison.failures.push(format!("{name}: FAIL")),
    }
}

/// Returns the names of the tests that a makefile lists.
fn tests(makefile: &str) -> Vec<&str> {
    let lines = makefile.lines().skip_while(|line| !line.starts_with("TESTS ="));
    let mut is_last = false;
    let listed = lines.take_while(|line| !std::mem::replace(&mut is_last, !line.ends_with('\\')));
    listed
        .flat_map(str::split_whitespace)
        .filter(|word| !matches!(*word, "TESTS" | "=" | "\\"))
        .collect()
}

/// A folder of programs to be tested.
struct Programs<'a> {
    dir: PathBuf,
    version: &'a str,
}

impl<'a> Programs<'a> {
    /// Makes the folder. `programs` is the folder of GNU's, or haul's binary.
    fn link(
        workspace: &Workspace,
        name: &str,
        tree: &Path,
        programs: &Path,
        version: &'a str,
    ) -> Result<Programs<'a>> {
        let dir = workspace.target.join("gnu-gzip").join(name);
        if dir.exists() {
            fs::remove_dir_all(&dir).context("remove", dir.display())?;
        }
        fs::create_dir_all(dir.join("tests")).context("create", dir.display())?;
        for name in SCRIPTS {
            symlink(tree.join(name), dir.join(name)).context("link", name)?;
        }
        for name in OURS {
            let target =
                if programs.is_dir() { programs.join(name) } else { programs.to_path_buf() };
            symlink(target, dir.join(name)).context("link", name)?;
        }
        Ok(Programs { dir, version })
    }

    /// Runs a test; returns its exit status. Its output is in a file beside the programs.
    fn run(&self, tree: &Path, test: &str) -> Result<Option<i32>> {
        /// The tests write remarks to descriptor 9.
        const SHELL: &str = "exec sh \"$0\" > \"$1\" 2>&1 9>&2";
        let tests = tree.join("tests");
        let mut call = command("timeout");
        call.args([SECONDS_MAX, "sh", "-c", SHELL])
            .arg(tests.join(test))
            .arg(self.dir.join(format!("{test}.log")))
            .current_dir(self.dir.join("tests"))
            .env("srcdir", &tests)
            .env("abs_srcdir", &tests)
            .env("built_programs", OURS.join(" "))
            .env("VERSION", self.version)
            .env("LC_ALL", "C")
            .env_remove("GZIP");
        Ok(stream(&mut call, |_| ())?.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_of_a_makefile_are_found() {
        let makefile = "A = b\nTESTS =\t\\\n  one\t\\\n  two \\\n  three\n\nEXTRA = \\\n  four\n";
        assert_eq!(super::tests(makefile), ["one", "two", "three"]);
    }

    #[test]
    fn results_are_told_apart() {
        let mut comparison = Comparison::default();
        let expected: Expected =
            [("gzip/c".to_owned(), "safer".to_owned()), ("gzip/d".to_owned(), "why".to_owned())]
                .into();
        for (test, status) in
            [("a", Some(0)), ("b", Some(1)), ("c", Some(1)), ("d", Some(0)), ("e", Some(77))]
        {
            add(&mut comparison, &expected, test, status);
        }
        assert_eq!(comparison.passed, 2);
        assert_eq!(comparison.failures, ["gzip/b: FAIL", "gzip/e: SKIP"]);
        assert_eq!(comparison.differences, ["gzip/c: safer"]);
        assert_eq!(comparison.stale, ["gzip/d"]);
    }
}
