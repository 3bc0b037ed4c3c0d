//! Jobs on several hosts, which are namespaces of this machine.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use haul_engine::peers::Ranks;
use serde_json::Value;

use crate::hosts::{HOSTS, Hosts};
use crate::job::{NOTE_PID, PROGRAM, assert_equal, scratch, text, wait_while_it_runs};
use crate::job_resume::{FEW_FILES, SLOW, TREE, begin_by, complete_by, signal};
use crate::resume::become_old;

/// Shell command by which a rank only becomes the program.
const PLAIN: &str = "exec \"$@\"";

/// Returns the status that a job writes, if it has written one.
fn status(directory: &tempfile::TempDir) -> Option<Value> {
    let text = fs::read_to_string(directory.path().join("status")).ok()?;
    serde_json::from_str(&text).ok()
}

fn names(status: &Value) -> Vec<&str> {
    let ranks = status["ranks"].as_array().unwrap();
    ranks.iter().map(|rank| rank["host"].as_str().unwrap()).collect()
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn hosts_copy_a_tree_equal_compare_it_and_remove_it() {
    let directory = scratch("mixed:files=800,seed=41");
    let Some(hosts) = Hosts::new(directory.path(), "copy") else { return };
    let run = |words: &[&str]| hosts.job(directory.path(), PLAIN, words).output().unwrap();
    let output = run(&["--status=status", "cp", "-aT", "a", "b"]);
    assert!(output.status.success(), "{}", text(&output));
    assert_equal(&directory, "three hosts");
    let found = status(&directory).unwrap();
    assert_eq!(names(&found), ["host1", "host2", "host3"]);
    let shown = Command::new(PROGRAM.unwrap())
        .args(["status", "status"])
        .current_dir(directory.path())
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    for host in 1..=HOSTS {
        assert_eq!(shown.matches(&format!("  host{host}  ")).count(), 1, "{shown}");
    }
    let output = run(&["compare", "a", "b"]);
    assert!(output.status.success(), "{}", text(&output));
    fs::write(directory.path().join("b/more"), "").unwrap();
    let output = run(&["compare", "a", "b"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let output = run(&["rm", "-r", "b"]);
    assert!(output.status.success(), "{}", text(&output));
    assert!(directory.path().join("b").symlink_metadata().is_err());
    assert!(directory.path().join("a").exists());
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn all_hosts_share_the_work_and_a_signal_to_one_ends_the_job() {
    let directory = scratch(TREE);
    let Some(hosts) = Hosts::new(directory.path(), "share") else { return };
    become_old();
    // Slow enough that every host gets some of it before the end.
    let words = ["--status=status", "cp", "-aT", "--resume", "--bandwidth=100K", "a", "b"];
    let mut command = hosts.job(directory.path(), NOTE_PID, &words);
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    // Complete files count as entries only when they have their names, some seconds later.
    let has_shared = |status: &Value| {
        let ranks = status["ranks"].as_array().unwrap();
        ranks.iter().all(|rank| rank["bytes"].as_u64().unwrap() > 0)
    };
    wait_while_it_runs(&mut child, || status(&directory).is_some_and(|status| has_shared(&status)));
    assert_eq!(names(&status(&directory).unwrap()), ["host1", "host2", "host3"]);
    let pid = fs::read_to_string(directory.path().join("pid.2")).unwrap();
    signal("-USR1", pid.trim());
    assert!(!child.wait().unwrap().success(), "a signal ends the job with a failure");
    assert_eq!(status(&directory).unwrap()["state"].as_str(), Some("stopped"));
    complete_by(&directory, &|words| hosts.job(directory.path(), PLAIN, words), "stopped");
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn after_the_loss_of_a_rank_or_a_host_the_same_command_completes_the_copy() {
    for (victim, is_host) in [(1, false), (2, true)] {
        let directory = scratch(TREE);
        let Some(hosts) = Hosts::new(directory.path(), "loss") else { return };
        let words = [&SLOW[..], &["b"]].concat();
        let command = hosts.job(directory.path(), FEW_FILES, &words);
        let (mut child, pid) = begin_by(command, &directory, victim);
        if is_host {
            hosts.kill(victim + 1);
        } else {
            signal("-KILL", &pid);
        }
        assert!(!child.wait().unwrap().success(), "the job ends with its rank");
        let start = |words: &[&str]| hosts.job(directory.path(), PLAIN, words);
        complete_by(&directory, &start, &format!("rank {victim} is lost"));
    }
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn a_failure_on_the_last_host_is_printed_once_and_reaches_the_exit_status() {
    let directory = scratch("nested:files=400,dirs=40,size=10,seed=42");
    let Some(hosts) = Hosts::new(directory.path(), "failure") else { return };
    // The inode number decides which rank makes a file with several names.
    let owner = Ranks { own: HOSTS - 1, count: HOSTS };
    let top = directory.path().join("a");
    let found: Vec<PathBuf> = fs::read_dir(&top).unwrap().map(|it| it.unwrap().path()).collect();
    let mut blocked = Vec::new();
    for (number, source) in found.into_iter().filter(|path| path.is_dir()).enumerate() {
        let file = source.join("linked");
        fs::write(&file, "x").unwrap();
        fs::hard_link(&file, top.join(format!("link{number}"))).unwrap();
        if owner.other_owner(file.metadata().unwrap().ino()).is_none() {
            let name: PathBuf = file.strip_prefix(&top).unwrap().into();
            fs::create_dir_all(directory.path().join("b").join(&name)).unwrap();
            blocked.push(name);
        }
    }
    assert!(!blocked.is_empty(), "some inode number belongs to the last rank");
    let output = hosts.job(directory.path(), PLAIN, &["cp", "-aT", "a", "b"]).output().unwrap();
    let text = text(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert_eq!(text.matches("cannot overwrite directory").count(), blocked.len(), "{text}");
    for name in blocked {
        assert_eq!(text.matches(&format!("b/{}'", name.display())).count(), 1, "{text}");
    }
}

#[test]
#[cfg_attr(not(feature = "mpi"), ignore = "needs the feature mpi")]
fn hosts_of_a_test_that_was_killed_are_removed_and_no_others() {
    let directory = tempfile::tempdir().unwrap();
    let Some(hosts) = Hosts::new(directory.path(), "stale") else { return };
    let mut ended = Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    let left = format!("haul-hosts-{}-test-1", ended.id());
    let add = Command::new("ip").args(["netns", "add", &left]).status().unwrap();
    assert!(add.success());
    let own = format!("haul-hosts-{}-stale", std::process::id());
    let count = |beginning: &str| {
        let found = fs::read_dir("/run/netns").unwrap().map(|entry| entry.unwrap().file_name());
        found.filter(|name| name.to_string_lossy().starts_with(beginning)).count()
    };
    let again = Hosts::new(directory.path(), "again").unwrap();
    assert_eq!((count(&left), count(&own)), (0, HOSTS + 1));
    drop((hosts, again));
    assert_eq!(count(&own), 0);
}
