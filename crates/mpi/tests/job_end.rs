//! Jobs that end before they are complete, and what a job shows of its progress.

use std::fs;
use std::process::{Command, Stdio};

use crate::job::{
    NOTE_PID, assert_equal, job, job_by, left, scratch, text, wait_for, wait_while_it_runs,
};
use crate::remove::entries;

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn a_job_whose_time_is_over_ends_and_the_same_command_completes_it() {
    for (words, status) in [
        (&["cp", "-aT", "a", "b"][..], 1),
        (&["compare", "a", "b"], 2),
        (&["rm", "-r", "a", "b"], 1),
    ] {
        let directory = scratch("nested:files=400,dirs=40,size=10,seed=9");
        if words[0] != "cp" {
            let mut command = Command::new("cp");
            let copied = command.args(["-a", "a", "b"]).current_dir(directory.path()).status();
            assert!(copied.unwrap().success());
        }
        let late = [&["--stop-after=0s"], words].concat();
        let output = job(&directory, 3, &late).output().unwrap();
        let message = text(&output);
        assert_eq!(output.status.code(), Some(status), "{words:?}: {message}");
        let expected = "the time of --stop-after is over; run the same command again";
        assert_eq!(message.matches(expected).count(), 1, "{message}");
        assert!(directory.path().join("a").exists(), "{words:?} had no time");
        let output = job(&directory, 3, &[&["--stop-after", "1d"], words].concat()).output();
        assert!(output.unwrap().status.success(), "{words:?}");
        match words[0] {
            "cp" => assert_equal(&directory, "after the end of the time"),
            "rm" => assert!(!directory.path().join("a").exists()),
            _ => {}
        }
    }
}

/// Returns whether a process has handlers for SIGUSR1 and SIGTERM: proc_pid_status(5).
fn hears_signals(pid: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    let caught = u64::from_str_radix(caught.trim(), 16).unwrap();
    [10, 15].iter().all(|signal| caught & (1 << (signal - 1)) != 0)
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn a_signal_to_any_rank_ends_the_job_with_a_failure() {
    for (victim, signal) in [(1, "-TERM"), (2, "-USR1"), (0, "-USR1")] {
        let directory = scratch("nested:files=1500,dirs=100,size=10,seed=10");
        let count = entries(&directory.path().join("a"));
        let words = ["rm", "-r", "--rate=300", "a"];
        let mut command = job_by(&directory, 3, NOTE_PID, &words);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let pid = directory.path().join(format!("pid.{victim}"));
        wait_for(&pid, &mut child);
        wait_while_it_runs(&mut child, || left(&directory.path().join("a")) != count);
        let pid = fs::read_to_string(pid).unwrap();
        wait_while_it_runs(&mut child, || hears_signals(pid.trim()));
        assert!(Command::new("kill").args([signal, pid.trim()]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        let message = text(&output);
        assert!(!output.status.success(), "rank {victim}: {message}");
        let told = message.matches("another rank was stopped").count();
        assert_eq!(told, usize::from(victim > 0), "rank {victim}: {message}");
        let output = job(&directory, 3, &["rm", "-r", "a"]).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        assert!(!directory.path().join("a").exists());
    }
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn progress_and_statistics_are_those_of_all_ranks() {
    let directory = scratch("nested:files=400,dirs=40,size=10,seed=11");
    let count = entries(&directory.path().join("a"));
    let words = ["cp", "-aT", "--progress", "--stats", "a", "b"];
    let output = job(&directory, 3, &words).output().unwrap();
    let message = text(&output);
    assert!(output.status.success(), "{message}");
    // The last line of progress comes however short the run was, and then the summary.
    assert!(message.starts_with("400 files, 3.9 KiB in "), "{message}");
    assert!(message.contains("400 files, 41 directories"), "{message}");
    let words = ["rm", "-r", "--progress", "b"];
    let output = job(&directory, 3, &words).output().unwrap();
    let message = text(&output);
    assert!(output.status.success(), "{message}");
    assert!(message.contains(&format!("{count} removed")), "{message}");
}
