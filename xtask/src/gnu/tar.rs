//! GNU tar's own tests, run unchanged against haul's binary.
//!
//! The suite is one shell script of numbered groups, made by Autotest. It runs with GNU's tar, whose
//! results are kept, and then with a link named `tar` to haul: a group that GNU passes has to pass.

use super::results::Comparison;
use super::tar_scope::reason;
use super::tree;
use crate::command::{command, output, stream};
use crate::error::{Context, Error, Result};
use crate::workspace::Workspace;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// The name of this area on the command line.
pub(super) const AREA: &str = "tar";

/// Results by the number of the group.
type Results = BTreeMap<u32, Status>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Passed,
    Failed,
    Skipped,
}

/// Runs all groups with GNU's tar, unless that was done before, and with haul's, and compares the
/// results. The binary must have been built.
pub(super) fn compare(workspace: &Workspace) -> Result<Comparison> {
    let tree = tree::provide_tar(workspace)?;
    let tests = tree.join("tests");
    let groups = groups(&output(command(tests.join("testsuite")).arg("--list"))?);
    let kept = workspace.target.join("gnu-tar/gnu.txt");
    if !kept.exists() {
        let said = run(&tests, &tree.join("src"))?;
        fs::write(&kept, said).context("write", kept.display())?;
    }
    let gnu = results(&fs::read_to_string(&kept).context("read", kept.display())?);
    let programs = workspace.target.join("gnu-tar/programs");
    if programs.exists() {
        fs::remove_dir_all(&programs).context("remove", programs.display())?;
    }
    fs::create_dir_all(&programs).context("create", programs.display())?;
    symlink(workspace.release_binary(), programs.join("tar")).context("link", "tar")?;
    let ours = results(&run(&tests, &programs)?);
    remove_data(&tests.join("testsuite.dir"))?;
    println!("the logs are in {}/testsuite.dir", tests.display());
    if ours.len() != groups.len() {
        let text = format!("{} of {} groups have a result", ours.len(), groups.len());
        return Err(Error::new(text).hint("a group may have ended the suite; see testsuite.log"));
    }
    Ok(judge(&groups, &gnu, &ours))
}

/// Removes what groups have left but their logs: some keep files of several GiB.
fn remove_data(groups: &Path) -> Result<()> {
    let list = |folder: &Path| fs::read_dir(folder).context("read", folder.display());
    for group in list(groups)? {
        let group = group.context("read", groups.display())?.path();
        if !group.is_dir() {
            continue;
        }
        for entry in list(&group)? {
            let path = entry.context("read", group.display())?.path();
            if path.is_dir() {
                fs::remove_dir_all(&path).context("remove", path.display())?;
            }
        }
    }
    Ok(())
}

/// Runs the suite with the `tar` of a folder; returns what it prints.
fn run(tests: &Path, programs: &Path) -> Result<String> {
    let mut said = String::new();
    let mut path = std::ffi::OsString::from("AUTOTEST_PATH=");
    path.push(programs);
    let mut call = command("sh");
    call.arg("./testsuite").arg(path).current_dir(tests);
    for name in ["TAR_OPTIONS", "TAPE", "POSIXLY_CORRECT"] {
        call.env_remove(name);
    }
    // Its exit status tells whether a group failed, as its lines do.
    let _status = stream(&mut call, |line| {
        said.push_str(line);
        said.push('\n');
    })?;
    Ok(said)
}

/// Returns the name of each group: the file that it is written in, or what it says it is.
fn groups(list: &str) -> BTreeMap<u32, String> {
    let group = |line: &str| {
        let (number, rest) = line.trim_start().split_once(": ")?;
        let (place, title) = rest.split_once(char::is_whitespace)?;
        let file = place.split(':').next()?;
        let name = if file == "testsuite.at" { title.trim() } else { file };
        Some((number.parse().ok()?, name.to_owned()))
    };
    list.lines().filter_map(group).collect()
}

/// Reads the lines ` 12: TITLE    RESULT`.
fn results(said: &str) -> Results {
    let line = |line: &str| {
        let (number, rest) = line.trim_start().split_once(": ")?;
        let rest = rest.trim_end();
        // The first group demands GNU's version, and after that no failure is an unexpected one.
        let status = if rest.ends_with(" ok") || rest.ends_with(" UNEXPECTED PASS") {
            Status::Passed
        } else if rest.contains(" skipped (") {
            Status::Skipped
        } else if rest.contains(" FAILED (") || rest.contains(" expected failure (") {
            Status::Failed
        } else {
            return None;
        };
        Some((number.parse().ok()?, status))
    };
    said.lines().filter_map(line).collect()
}

/// Compares results. A group on the list of those out of scope that passes is a failure of the list.
fn judge(groups: &BTreeMap<u32, String>, gnu: &Results, ours: &Results) -> Comparison {
    let mut comparison = Comparison::default();
    for (number, name) in groups {
        let shown = format!("{AREA}/{name}");
        let theirs = gnu.get(number) == Some(&Status::Passed);
        match (ours.get(number), reason(name)) {
            (Some(Status::Passed), Some(_)) => {
                let text = format!("{shown} passes: remove it from xtask/src/gnu/tar_scope.rs");
                comparison.failures.push(text);
            }
            (Some(Status::Passed), None) => comparison.passed += 1,
            (_, Some(reason)) => comparison.differences.push(format!("{shown}: {reason}")),
            (Some(Status::Failed), None) if theirs => {
                comparison.failures.push(format!("{shown}: FAIL (group {number})"));
            }
            (_, None) if theirs => {
                comparison.failures.push(format!("{shown}: SKIP (group {number})"));
            }
            (_, None) => comparison.differences.push(format!("{shown}: GNU tar does not pass")),
        }
    }
    comparison
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_groups_is_read() {
        let list = "GNU tar test suite test groups:\n\n NUM: FILE-NAME:LINE     TEST-GROUP-NAME\n\
                    \x20     KEYWORDS\n\n   1: version.at:19      tar version\n\
                    \x20 17: testsuite.at:242   compress: gzip\n      compression gzip\n";
        let expected = [(1, "version.at".to_owned()), (17, "compress: gzip".to_owned())];
        assert_eq!(groups(list), expected.into());
    }

    #[test]
    fn lines_of_results_are_told_apart() {
        let said = "  1: tar version                        ok\nOptions\n\
                    \x20 3: mixing: options                   FAILED (options.at:26)\n\
                    \x20 4: more                              UNEXPECTED PASS\n\
                    \x20 5: version                           expected failure (a.at:1)\n\
                    233: capabilities                       skipped (capabs_raw01.at:28)\n";
        let expected = [
            (1, Status::Passed),
            (3, Status::Failed),
            (4, Status::Passed),
            (5, Status::Failed),
            (233, Status::Skipped),
        ];
        assert_eq!(results(said), expected.into());
    }

    #[test]
    fn a_group_fails_unless_gnu_fails_too_or_it_is_out_of_scope() {
        let names = ["long01.at", "multiv01.at", "multiv02.at", "pipe.at", "append.at", "old.at"];
        let groups = (1..).zip(names.map(str::to_owned)).collect();
        let passed = (1..=5).map(|number| (number, Status::Passed)).collect();
        let ours = [
            (1, Status::Passed),
            (2, Status::Passed),
            (3, Status::Failed),
            (4, Status::Failed),
            (5, Status::Skipped),
            (6, Status::Skipped),
        ];
        let comparison = judge(&groups, &passed, &ours.into());
        assert_eq!(comparison.passed, 1);
        assert_eq!(comparison.failures.len(), 3, "{comparison:?}");
        assert!(comparison.failures[0].starts_with("tar/multiv01.at passes"));
        assert_eq!(
            comparison.failures[1..],
            ["tar/pipe.at: FAIL (group 4)", "tar/append.at: SKIP (group 5)"]
        );
        assert_eq!(comparison.differences.len(), 2);
    }
}
