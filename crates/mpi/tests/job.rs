//! Jobs that `mpirun` starts on this machine, with the real program and the real transport.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use haul_manifest::{Aspects, CompareOptions, compare, holds_within, parse_recipe, wait_until};

use crate::remove::{Protected, entries};

/// The program; the feature `mpi` builds it.
pub(crate) const PROGRAM: Option<&str> = option_env!("CARGO_BIN_EXE_haul-mpi");

/// Shell command that writes the number of a rank's process into a file and becomes the program.
pub(crate) const NOTE_PID: &str =
    "echo $$ > pid.tmp.$$ && mv pid.tmp.$$ pid.${OMPI_COMM_WORLD_RANK-$PMI_RANK}; exec \"$@\"";

/// Returns the program that starts ranks: that of the MPI which the tests are built with.
fn starter() -> OsString {
    std::env::var_os("HAUL_TEST_MPIRUN").unwrap_or_else(|| "mpirun".into())
}

/// Returns whether the ranks are started by Open MPI.
pub(crate) fn is_open_mpi() -> bool {
    let told = Command::new(starter()).arg("--version").output();
    told.is_ok_and(|told| String::from_utf8_lossy(&told.stdout).contains("Open MPI"))
}

/// Returns a command that starts ranks; the words of a rank follow.
fn ranks(count: usize) -> Command {
    let mut command = Command::new(starter());
    if is_open_mpi() {
        command.args(["--oversubscribe", "--allow-run-as-root"]);
    }
    command.args(["-n", &count.to_string()]).stdin(Stdio::null());
    command
}

/// Returns a command that starts the program with this many ranks in a directory.
pub(crate) fn job(directory: &tempfile::TempDir, ranks: usize, words: &[&str]) -> Command {
    job_by(directory, ranks, "exec \"$@\"", words)
}

/// Returns a command that starts each rank by a shell command.
pub(crate) fn job_by(
    directory: &tempfile::TempDir,
    ranks: usize,
    shell: &str,
    words: &[&str],
) -> Command {
    let mut command = self::ranks(ranks);
    command
        .args(["sh", "-c", shell, "sh", PROGRAM.unwrap()])
        .args(words)
        .current_dir(directory.path());
    command
}

pub(crate) fn scratch(recipe: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    parse_recipe(recipe).unwrap().generate(&directory.path().join("a")).unwrap();
    directory
}

pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn assert_equal(directory: &tempfile::TempDir, story: &str) {
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

/// Names the file that the receiving rank makes at its end.
const MARK: &str = "HAUL_TEST_MARK";

/// The work of a rank in [`a_message_to_a_rank_that_has_ended_is_received`]: rank 0 sends a message that is
/// too large to be sent before that rank receives it.
#[cfg(feature = "mpi")]
#[test]
#[ignore = "another test starts it"]
fn late_sender() {
    let code = haul_mpi::transport::start(|link| {
        let mark = std::path::PathBuf::from(std::env::var_os(MARK).unwrap());
        if link.own() == 0 {
            wait_until("the other rank has nothing more to do", || mark.exists());
            link.send(1, vec![7; 16 << 20]);
        } else {
            fs::write(mark, "").unwrap();
        }
        std::process::ExitCode::SUCCESS
    });
    assert_eq!(code, Some(std::process::ExitCode::SUCCESS));
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn a_message_to_a_rank_that_has_ended_is_received() {
    let own = std::env::current_exe().unwrap();
    let words = ["--exact", "job::late_sender", "--ignored"];
    let directory = tempfile::tempdir().unwrap();
    let mut command = ranks(2);
    command.arg(own).args(words).env(MARK, directory.path().join("mark")).stdout(Stdio::null());
    let mut job = command.spawn().unwrap();
    if !holds_within(Duration::from_mins(2), || job.try_wait().unwrap().is_some()) {
        job.kill().unwrap();
        job.wait().unwrap();
        panic!("the sender waits for ever");
    }
    let status = job.wait().unwrap();
    assert!(status.success(), "{status}");
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
        (&["cp", "-a", "--backup", "a", "b"][..], "--backup is not supported by haul-mpi"),
        (&["cp", "-a", "--nonsense", "a", "b"], "unrecognized option '--nonsense'"),
        (&["rm", "-ri", "a"], "--interactive is not supported by haul-mpi"),
        (&["rm", "-rI", "a"], "-I is not supported by haul-mpi"),
        (&["rm", "--errors=a/list", "-r", "a"], "it would be removed with"),
        (&["cp", "-aT", "--errors=no/list", "a", "b"], "cannot write the list of errors"),
        (&["cp", "-aT", "--resume", "--journal=a/j", "a", "b"], "would be inside 'a'"),
        (&["cp", "-aT", "--resume", "--journal=b", "a", "b.1"], "would write 'b.1' beside it"),
        (&["mv", "a", "b"], "the commands of haul-mpi are 'cp', 'rm', 'compare' and 'status'"),
    ] {
        let output = job(&directory, 3, words).output().unwrap();
        let text = text(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert_eq!(text.matches(message).count(), 1, "{text}");
        assert!(!directory.path().join("b").exists());
        assert!(directory.path().join("a").exists());
    }
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn a_rank_alone_that_cannot_take_part_ends_the_job_and_says_why() {
    for (words, message) in [
        ("cp -aT --nonsense a b", "unrecognized option '--nonsense'"),
        ("cp -aT --backup a b", "--backup is not supported by haul-mpi"),
        ("compare --nonsense a b", "unrecognized option '--nonsense'"),
        ("--stop-after=soon cp -aT a b", "invalid time 'soon'"),
        ("mv a b", "there is no command 'mv'"),
        ("--help", "rank 1 takes no part in the job"),
        ("rm --help", "rank 1 takes no part in the job"),
        ("", "a command is missing"),
    ] {
        let directory = scratch("flat:files=3,size=10,seed=3");
        let shell = format!(
            "test ${{OMPI_COMM_WORLD_RANK-$PMI_RANK}} = 1 && exec \"$1\" {words}; exec \"$@\""
        );
        let output =
            job_by(&directory, 3, &shell, &["rm", "-r", "a"]).stdin(Stdio::null()).output();
        let output = output.unwrap();
        let text = text(&output);
        assert_eq!(output.status.code(), Some(1), "{words}: {text}");
        assert_eq!(text.matches(message).count(), 1, "{words}: {text}");
    }
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn the_first_rank_alone_ends_a_job_in_which_it_takes_no_part() {
    for (words, code) in [("--help", 0), ("--version", 0), ("cp --help", 0), ("mv a b", 1)] {
        let directory = scratch("flat:files=3,size=10,seed=3");
        let shell = format!(
            "test ${{OMPI_COMM_WORLD_RANK-$PMI_RANK}} = 0 && exec \"$1\" {words}; exec \"$@\""
        );
        let mut job = job_by(&directory, 3, &shell, &["rm", "-r", "a"]);
        let output = job.stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{words}: {}", text(&output));
        assert!(directory.path().join("a").exists());
    }
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn all_ranks_make_files_with_the_umask_of_the_first_one() {
    let directory = scratch("nested:files=800,dirs=80,size=4000,seed=5");
    let shell = "case ${OMPI_COMM_WORLD_RANK-$PMI_RANK} in 0) umask 027;; *) umask 000;; esac; \
                 exec \"$@\"";
    // So slow that rank 0 does not do everything.
    let words = ["--status=status", "cp", "-rT", "--bandwidth=2M", "a", "b"];
    let output = job_by(&directory, 3, shell, &words).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let status = fs::read(directory.path().join("status")).unwrap();
    let status: serde_json::Value = serde_json::from_slice(&status).unwrap();
    let entries = |rank: usize| status["ranks"][rank]["entries"].as_u64().unwrap();
    assert!(entries(1) + entries(2) > 0, "{status}");
    assert_modes(&directory.path().join("b"), 0o027);
}

/// Asserts that no entry of a tree has a bit of the umask.
fn assert_modes(path: &Path, umask: u32) {
    let status = fs::symlink_metadata(path).unwrap();
    let mode = status.permissions().mode();
    assert_eq!(mode & umask, 0, "{}: {mode:o}", path.display());
    if status.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| assert_modes(&entry.unwrap().path(), umask));
    }
}

/// Waits for a file.
pub(crate) fn wait_for(path: &Path, job: &mut Child) {
    wait_while_it_runs(job, || path.exists());
}

/// Waits for a condition that holds before the job ends.
pub(crate) fn wait_while_it_runs(job: &mut Child, mut condition: impl FnMut() -> bool) {
    wait_until("the job has come so far", || {
        assert!(job.try_wait().unwrap().is_none(), "the job ended early");
        condition()
    });
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn after_the_kill_of_a_rank_the_same_command_completes_the_copy() {
    for victim in [0, 1, 2] {
        let directory = scratch("nested:files=1500,dirs=100,size=10000,seed=4");
        // At this rate the copy takes long enough to be killed in its middle.
        let words = ["cp", "-aT", "--bandwidth=3M", "a", "b"];
        let mut command = job_by(&directory, 3, NOTE_PID, &words);
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

pub(crate) fn lines(text: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(text).lines().map(str::to_owned).collect()
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn one_to_four_ranks_remove_a_tree_and_print_whole_lines() {
    for ranks in 1..=4 {
        let directory = scratch("nested:files=800,dirs=80,size=10,seed=5");
        let count = entries(&directory.path().join("a"));
        let output = job(&directory, ranks, &["rm", "-rv", "a"]).output().unwrap();
        assert!(output.status.success(), "{ranks} ranks: {}", text(&output));
        assert!(!directory.path().join("a").exists());
        let lines = lines(&output.stdout);
        assert_eq!(lines.len() as u64, count, "{ranks} ranks");
        let is_whole = |line: &String| line.starts_with("removed ") && line.ends_with('\'');
        assert!(lines.iter().all(is_whole), "{lines:?}");
        assert_eq!(lines.iter().filter(|line| *line == "removed directory 'a'").count(), 1);
    }
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn one_to_three_ranks_name_each_entry_that_they_copy_in_a_whole_line() {
    for ranks in 1..=3 {
        let directory = scratch("nested:files=800,dirs=80,size=10,seed=12");
        let count = entries(&directory.path().join("a"));
        let output = job(&directory, ranks, &["cp", "-aTv", "a", "b"]).output().unwrap();
        assert!(output.status.success(), "{ranks} ranks: {}", text(&output));
        let mut lines = lines(&output.stdout);
        let is_whole = |line: &String| {
            let sides = line.strip_prefix("'a").and_then(|rest| rest.split_once("' -> 'b"));
            sides.is_some_and(|(source, target)| target == format!("{source}'"))
        };
        assert!(lines.iter().all(is_whole), "{ranks} ranks: {lines:?}");
        assert_eq!(lines.len() as u64, count, "{ranks} ranks");
        lines.sort();
        lines.dedup();
        assert_eq!(lines.len() as u64, count, "{ranks} ranks");
        assert_equal(&directory, "-v");
    }
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn failures_of_all_ranks_are_in_one_list_and_in_the_exit_status() {
    let directory = scratch("nested:files=400,dirs=40,size=10,seed=6");
    let mut protected = Vec::new();
    for entry in fs::read_dir(directory.path().join("a")).unwrap().take(10) {
        let kept = entry.unwrap().path().join("kept");
        fs::create_dir(&kept).unwrap();
        fs::write(kept.join("file"), "stays").unwrap();
        protected.push(Protected::new(kept));
    }
    let words = ["rm", "-r", "--errors=list", "--stats", "a"];
    let output = job(&directory, 3, &words).output().unwrap();
    let text = text(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert_eq!(text.matches("cannot remove 'a/").count(), protected.len(), "{text}");
    let list = lines(&fs::read(directory.path().join("list")).unwrap());
    // A line about the run, one for each failure, and the last one.
    assert_eq!(list.len(), protected.len() + 2, "{list:?}");
    assert_eq!(entries(&directory.path().join("a")), 3 * protected.len() as u64 + 1);
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn a_copy_is_reported_as_json_in_one_stream() {
    let directory = scratch("nested:files=400,dirs=40,size=10,seed=7");
    let count = entries(&directory.path().join("a"));
    let output = job(&directory, 3, &["cp", "-aT", "--json", "a", "b"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let lines = lines(&output.stdout);
    let events = |name: &str| {
        let event = format!("\"event\":\"{name}\"");
        lines.iter().filter(|line| line.contains(&event)).count() as u64
    };
    assert!(lines.iter().all(|line| line.starts_with('{') && line.ends_with('}')), "{lines:?}");
    assert_eq!((events("entry"), events("summary")), (count, 1), "{lines:?}");
    assert!(lines.last().unwrap().contains("\"files\":400"), "{:?}", lines.last());
    assert_equal(&directory, "json");
}

/// Returns the number of entries of a tree that is being removed.
pub(crate) fn left(root: &Path) -> u64 {
    let Ok(found) = fs::read_dir(root) else { return 0 };
    let below = found.flatten().map(|entry| {
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_directory { left(&entry.path()) } else { 1 }
    });
    1 + below.sum::<u64>()
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn after_the_kill_of_a_rank_the_same_command_completes_the_removal() {
    for victim in [0, 1, 2] {
        let directory = scratch("nested:files=1500,dirs=100,size=10,seed=8");
        fs::create_dir(directory.path().join("precious")).unwrap();
        fs::write(directory.path().join("precious/file"), "stays").unwrap();
        std::os::unix::fs::symlink("../precious", directory.path().join("a/link")).unwrap();
        let count = entries(&directory.path().join("a"));
        // At this rate the removal takes long enough to be killed in its middle.
        let words = ["rm", "-r", "--rate=300", "a"];
        let mut command = job_by(&directory, 3, NOTE_PID, &words);
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let pid = directory.path().join(format!("pid.{victim}"));
        wait_for(&pid, &mut child);
        wait_while_it_runs(&mut child, || left(&directory.path().join("a")) != count);
        let pid = fs::read_to_string(pid).unwrap();
        let killed = Command::new("kill").args(["-KILL", pid.trim()]).status().unwrap();
        assert!(killed.success());
        assert!(!child.wait().unwrap().success(), "the job ends with its rank");
        let output = job(&directory, 3, &["rm", "-r", "a"]).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        assert!(!directory.path().join("a").exists());
        assert_eq!(fs::read(directory.path().join("precious/file")).unwrap(), b"stays");
    }
}
