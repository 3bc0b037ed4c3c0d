//! Jobs with a journal that `mpirun` starts: killed, stopped, started twice, and resumed.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::job::{assert_equal, job, job_by, lines, scratch, text, wait_for, wait_while_it_runs};
use crate::resume::become_old;
use crate::volumes::{FINISHED, count, marked, volumes};

/// Shell command that lets a rank have few descriptors, so that few files wait for a common flush, and
/// writes the number of its process into a file.
pub(crate) const FEW_FILES: &str = "ulimit -n 90; echo $$ > pid.tmp.$$ && \
                         mv pid.tmp.$$ pid.${OMPI_COMM_WORLD_RANK-$PMI_RANK}; exec \"$@\"";

/// At this rate the copy takes long enough to be ended in its middle.
pub(crate) const SLOW: [&str; 5] = ["cp", "-aT", "--resume", "--bandwidth=3M", "a"];

const COPY: [&str; 6] = ["cp", "-aT", "--resume", "--json", "a", "b"];

pub(crate) const TREE: &str = "nested:files=1500,dirs=100,size=10000,seed=31";

/// Starts a slow copy by three ranks, and waits until some files are complete.
fn begin(directory: &tempfile::TempDir, victim: usize) -> (Child, String) {
    let command = job_by(directory, 3, FEW_FILES, &[&SLOW[..], &["b"]].concat());
    begin_by(command, directory, victim)
}

/// Starts a slow copy, waits until some files are complete, and returns the number of a rank's process.
pub(crate) fn begin_by(
    mut command: Command,
    directory: &tempfile::TempDir,
    victim: usize,
) -> (Child, String) {
    become_old();
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let pid = directory.path().join(format!("pid.{victim}"));
    wait_for(&pid, &mut child);
    wait_while_it_runs(&mut child, || count(directory.path(), FINISHED) >= 20);
    (child, fs::read_to_string(pid).unwrap().trim().to_owned())
}

pub(crate) fn signal(name: &str, pid: &str) {
    assert!(Command::new("kill").args([name, pid]).status().unwrap().success());
}

/// Returns a number of the summary of a run with `--json`.
fn number(output: &[u8], key: &str) -> u64 {
    let summary = lines(output).pop().unwrap();
    let (_, rest) = summary.split_once(&format!("\"{key}\":")).unwrap();
    rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

/// Runs the same command with this many ranks.
fn complete(directory: &tempfile::TempDir, ranks: usize, story: &str) {
    complete_by(directory, &|words| job(directory, ranks, words), story);
}

/// Runs the same command, which is started like this. It copies exactly the files of which the journal
/// has no record, and leaves nothing but the journal.
pub(crate) fn complete_by(
    directory: &tempfile::TempDir,
    start: &dyn Fn(&[&str]) -> Command,
    story: &str,
) {
    let recorded = count(directory.path(), FINISHED);
    assert!((1..1500).contains(&recorded), "{story}: {recorded} records");
    let output = start(&COPY).output().unwrap();
    assert!(output.status.success(), "{story}: {}", text(&output));
    let (files, skipped) = (number(&output.stdout, "files"), number(&output.stdout, "skipped"));
    assert_eq!((files, skipped), (1500 - recorded, recorded), "{story}");
    assert_equal(directory, story);
    assert_eq!(marked(directory.path()).len(), 1, "{story}");
    let output = start(&COPY).output().unwrap();
    assert!(output.status.success(), "{story}: {}", text(&output));
    assert_eq!(number(&output.stdout, "skipped"), 1500, "{story}");
    let message = text(&output);
    assert!(message.contains("nothing to copy: 1,500 entries are there"), "{story}: {message}");
    assert_eq!(hidden_below(&directory.path().join("b")), 0, "{story}");
}

fn hidden_below(root: &Path) -> usize {
    let below = fs::read_dir(root).unwrap().map(|entry| {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() { hidden_below(&entry.path()) } else { 0 }
    });
    volumes(root).len() + below.sum::<usize>()
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn after_the_kill_of_a_rank_nothing_is_copied_twice_and_nothing_is_left() {
    for (victim, ranks) in [(0, 3), (1, 2), (2, 4)] {
        let directory = scratch(TREE);
        let (mut child, pid) = begin(&directory, victim);
        signal("-KILL", &pid);
        assert!(!child.wait().unwrap().success(), "the job ends with its rank");
        complete(&directory, ranks, &format!("rank {victim} killed, then {ranks} ranks"));
    }
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn a_signal_ends_a_job_so_that_the_same_command_resumes_it() {
    for (victim, name) in [(1, "-TERM"), (2, "-USR1"), (0, "-USR1")] {
        let directory = scratch(TREE);
        let (child, pid) = begin(&directory, victim);
        signal(name, &pid);
        let output = child.wait_with_output().unwrap();
        let message = text(&output);
        assert!(!output.status.success(), "rank {victim}: {message}");
        let told = message.matches("is kept: run the same command again to resume").count();
        assert_eq!(told, 1, "rank {victim}: {message}");
        // The files that waited for a flush have their names, and the journal has them.
        let copied = files_below(&directory.path().join("b"));
        assert_eq!(count(directory.path(), FINISHED), copied, "rank {victim}");
        complete(&directory, 3, &format!("{name} to rank {victim}"));
    }
}

fn files_below(root: &Path) -> u64 {
    let below = fs::read_dir(root).unwrap().map(|entry| {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() { files_below(&entry.path()) } else { 1 }
    });
    below.sum()
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn a_second_job_is_refused_while_the_first_one_runs() {
    let directory = scratch(TREE);
    let (mut child, pid) = begin(&directory, 0);
    let output = job(&directory, 2, &COPY).output().unwrap();
    let message = text(&output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert_eq!(message.matches("another run uses it").count(), 1, "{message}");
    assert!(child.try_wait().unwrap().is_none(), "the first job goes on");
    signal("-USR1", &pid);
    assert!(!child.wait().unwrap().success());
    complete(&directory, 2, "after both");
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn a_job_without_time_leaves_what_the_next_one_completes() {
    let directory = scratch("nested:files=300,dirs=30,size=100,seed=32");
    let late = [&["--stop-after=0s"], &COPY[..]].concat();
    let output = job(&directory, 3, &late).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert_eq!(marked(directory.path()).len(), 0);
    let output = job(&directory, 2, &COPY).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert_equal(&directory, "after the end of the time");
    assert_eq!(marked(directory.path()).len(), 1);
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn no_volume_stands_where_a_file_is_copied_to() {
    let directory = scratch("flat:files=3,size=10,seed=33");
    let at = |path| directory.path().join(path);
    fs::write(at("a/j.1"), "mine").unwrap();
    fs::create_dir(at("b")).unwrap();
    for words in [
        ["cp", "-rTn", "--resume", "--journal=b/j", "a", "b"],
        ["cp", "-rn", "--resume", "--journal=b/a/j", "a", "b"],
    ] {
        fs::create_dir_all(at("b/a")).unwrap();
        let output = job(&directory, 3, &words).output().unwrap();
        let message = text(&output);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert_eq!(message.matches("put it elsewhere").count(), 1, "{message}");
        assert_eq!(fs::read_dir(at("b/a")).unwrap().count(), 0);
        assert_eq!(fs::read_dir(at("b")).unwrap().count(), 1);
    }
    // Beside what is made in the target it may be.
    let words = ["cp", "-r", "--resume", "--journal=b/j", "a", "b"];
    let output = job(&directory, 3, &words).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(fs::read(at("b/a/j.1")).unwrap(), b"mine");
}
