//! Comparisons that `mpirun` starts on this machine.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use haul_manifest::{Aspect, Aspects, CompareOptions, compare};

use crate::job::{job, lines, scratch, text};

/// Copies `a` to `b` by GNU cp, which keeps everything.
fn copy(directory: &tempfile::TempDir) {
    let words = ["-a", "a", "b"];
    assert!(
        Command::new("cp").args(words).current_dir(directory.path()).status().unwrap().success()
    );
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn equal_trees_have_no_difference_on_one_to_four_ranks() {
    for ranks in 1..=4 {
        let directory = scratch("nested:files=800,dirs=80,size=100,seed=1");
        for number in 0..40 {
            let first = directory.path().join(format!("a/first{number}"));
            fs::write(&first, "linked").unwrap();
            fs::hard_link(&first, directory.path().join(format!("a/second{number}"))).unwrap();
        }
        copy(&directory);
        let output = job(&directory, ranks, &["compare", "a", "b"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{ranks} ranks: {}", text(&output));
        let (a, b) = (directory.path().join("a"), directory.path().join("b"));
        let summary = compare(&a, &b, &CompareOptions::new(Aspects::all())).summary;
        let expected = format!("{} entries, ", summary.entries);
        let lines = lines(&output.stdout);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].starts_with(&expected), "{lines:?}");
        assert!(lines[0].ends_with("no difference"), "{lines:?}");
    }
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn differences_of_all_ranks_are_in_one_stream_once() {
    let directory = scratch("nested:files=800,dirs=80,size=100,seed=2");
    copy(&directory);
    let b = directory.path().join("b");
    for entry in fs::read_dir(&b).unwrap().step_by(2) {
        let inner = entry.unwrap().path();
        fs::write(inner.join("new"), "only here").unwrap();
        let Some(file) = fs::read_dir(&inner).unwrap().next() else { continue };
        let file = file.unwrap().path();
        if file.is_file() {
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        }
    }
    let options = CompareOptions::new(Aspects::all().without(Aspect::Mtime));
    let one = compare(&directory.path().join("a"), &b, &options);
    // The command names the operands.
    let line = |text: String| text.replace("in A", "in 'a'").replace("in B", "in 'b'");
    let mut expected: Vec<String> =
        one.findings.iter().map(|finding| line(finding.to_string())).collect();
    assert!(expected.len() > 40, "{}", expected.len());
    expected.sort();
    for ranks in [1, 2, 4] {
        let words = ["compare", "--ignore=mtime", "a", "b"];
        let output = job(&directory, ranks, &words).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{ranks} ranks: {}", text(&output));
        let mut lines = lines(&output.stdout);
        let summary = lines.pop().unwrap();
        let entries = format!("{} entries, ", one.summary.entries);
        assert!(summary.starts_with(&entries), "{ranks} ranks: {summary}");
        lines.sort();
        assert_eq!(lines, expected, "{ranks} ranks");
    }
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn what_cannot_be_compared_has_exit_status_2() {
    let directory = scratch("flat:files=20,size=10,seed=3");
    copy(&directory);
    for (words, message) in [
        (&["compare", "a", "missing"][..], "cannot open 'missing'"),
        (&["compare", "a"], "two trees are needed"),
        (&["compare", "--only=nothing", "a", "b"], "there is no aspect"),
    ] {
        let output = job(&directory, 3, words).output().unwrap();
        let text = text(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert_eq!(text.matches(message).count(), 1, "{text}");
    }
    let quiet = job(&directory, 3, &["compare", "-q", "a", "b"]).output().unwrap();
    assert_eq!((quiet.status.code(), quiet.stdout.len()), (Some(0), 0), "{}", text(&quiet));
}
