//! Jobs that `mpirun` starts on this machine, with the real program and the real transport.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use haul_manifest::{Aspects, CompareOptions, compare, parse_recipe};

/// The program; the feature `mpi` builds it.
const PROGRAM: Option<&str> = option_env!("CARGO_BIN_EXE_haul-mpi");

/// Returns a command that starts the program with this many ranks in a directory.
fn job(directory: &tempfile::TempDir, ranks: usize, words: &[&str]) -> Command {
    job_by(directory, ranks, "exec \"$@\"", words)
}

/// Returns a command that starts each rank by a shell command.
fn job_by(directory: &tempfile::TempDir, ranks: usize, shell: &str, words: &[&str]) -> Command {
    let mut command = Command::new("mpirun");
    command
        .args(["--oversubscribe", "--allow-run-as-root", "-n", &ranks.to_string()])
        .args(["sh", "-c", shell, "sh", PROGRAM.unwrap()])
        .args(words)
        .current_dir(directory.path())
        .stdin(Stdio::null());
    command
}

fn scratch(recipe: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    parse_recipe(recipe).unwrap().generate(&directory.path().join("a")).unwrap();
    directory
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn assert_equal(directory: &tempfile::TempDir, story: &str) {
    let (a, b) = (directory.path().join("a"), directory.path().join("b"));
    let options = CompareOptions { block_slack_bytes: 8192, ..CompareOptions::new(Aspects::all()) };
    assert_eq!(compare(&a, &b, &options).findings, [], "{story}");
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn one_to_four_ranks_copy_a_tree_equal() {
    for ranks in 1..=4 {
        let directory = scratch("mixed:files=800,seed=1");
        let output = job(&directory, ranks, &["cp", "-aT", "a", "b"]).output().unwrap();
        assert!(output.status.success(), "{ranks} ranks: {}", text(&output));
        assert_equal(&directory, &format!("{ranks} ranks"));
    }
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn a_failure_is_printed_once_and_reaches_the_exit_status() {
    let directory = scratch("nested:files=400,dirs=40,size=10,seed=2");
    let mut blocked = Vec::new();
    for entry in fs::read_dir(directory.path().join("a")).unwrap().take(10) {
        let source = entry.unwrap().path();
        let Some(file) = fs::read_dir(&source).unwrap().next() else { continue };
        let file = file.unwrap().path();
        let name: PathBuf = file.strip_prefix(directory.path().join("a")).unwrap().into();
        fs::create_dir_all(directory.path().join("b").join(&name)).unwrap();
        blocked.push(name);
    }
    let output = job(&directory, 3, &["cp", "-aT", "a", "b"]).output().unwrap();
    let text = text(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let lines = text.matches("cannot overwrite directory").count();
    assert_eq!(lines, blocked.len(), "{text}");
    for name in blocked {
        assert_eq!(text.matches(&format!("b/{}'", name.display())).count(), 1, "{text}");
    }
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn what_is_refused_is_refused_once_by_name() {
    let directory = scratch("flat:files=3,size=10,seed=3");
    for (words, message) in [
        (&["cp", "-a", "--resume", "a", "b"][..], "--resume is not supported by haul-mpi"),
        (&["cp", "-a", "--nonsense", "a", "b"], "unrecognized option '--nonsense'"),
        (&["rm", "-r", "a"], "the only command of haul-mpi is 'cp'"),
    ] {
        let output = job(&directory, 3, words).output().unwrap();
        let text = text(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert_eq!(text.matches(message).count(), 1, "{text}");
        assert!(!directory.path().join("b").exists());
    }
}

/// Waits for a file, at most a minute.
fn wait_for(path: &Path, job: &mut Child) {
    for _ in 0..6000 {
        if path.exists() {
            return;
        }
        assert!(job.try_wait().unwrap().is_none(), "the job ended early");
        sleep(Duration::from_millis(10));
    }
    panic!("{} does not appear", path.display());
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn after_the_kill_of_a_rank_the_same_command_completes_the_copy() {
    for victim in [0, 1, 2] {
        let directory = scratch("nested:files=1500,dirs=100,size=10000,seed=4");
        // At this rate the copy takes long enough to be killed in its middle.
        let words = ["cp", "-aT", "--bandwidth=3M", "a", "b"];
        let shell = "echo $$ > pid.tmp.$$ && mv pid.tmp.$$ pid.$OMPI_COMM_WORLD_RANK; exec \"$@\"";
        let mut command = job_by(&directory, 3, shell, &words);
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let pid = directory.path().join(format!("pid.{victim}"));
        wait_for(&pid, &mut child);
        wait_for(&directory.path().join("b"), &mut child);
        let pid = fs::read_to_string(pid).unwrap();
        let killed = Command::new("kill").args(["-KILL", pid.trim()]).status().unwrap();
        assert!(killed.success());
        assert!(!child.wait().unwrap().success(), "the job ends with its rank");
        let output = job(&directory, 3, &["cp", "-aT", "a", "b"]).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        assert_equal(&directory, &format!("after the kill of rank {victim}"));
    }
}
