//! Directories that killed runs leave, and others that look similar.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use haul_bench::{Error, MARKER, Swept, sweep};
use rustix::mount::{UnmountFlags, mount_bind, unmount};

use crate::support::{folder_ground, ignored, names, options, session, tool};

const SMALL: &str = "nested-small:files=40,dirs=4";

/// A name that a run may have chosen.
const NAME: &str = "haul-bench-99-0a1b2c3d";

/// Process ids are reused, so the same id with another start time is another process.
const GONE: &str = "pid 1\nstarted 12345678901\n";

/// Writes the marker of a run that has ended.
fn mark(folder: &Path, owner: &str, made: &[&str]) {
    let inode = fs::metadata(folder).unwrap().ino();
    let lines: String = made.iter().map(|name| format!("made {name}\n")).collect();
    let marker = folder.join(MARKER);
    fs::write(&marker, format!("format 2\n{owner}folder {inode}\n{lines}")).unwrap();
    fs::set_permissions(&marker, Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(folder, Permissions::from_mode(0o700)).unwrap();
}

/// Creates a directory like that of a killed run.
fn leave(folder: &Path, made: &[&str]) {
    fs::create_dir(folder).unwrap();
    for name in made {
        if name.ends_with(".img") {
            fs::write(folder.join(name), "left").unwrap();
        } else {
            fs::create_dir_all(folder.join(name).join("sub")).unwrap();
            fs::write(folder.join(name).join("sub/file"), "left").unwrap();
        }
    }
    mark(folder, GONE, made);
}

fn sweep_one(base: &Path) -> Option<Swept> {
    let mut swept = sweep(base);
    assert!(swept.len() <= 1, "{swept:?}");
    swept.pop()
}

/// Runs a session on a directory, and returns the error.
fn refusal(folder: &Path, work: &Path) -> Error {
    let tools = vec![tool("cp", "cp -R {source} {target}")];
    session(&options(SMALL, folder_ground(folder), tools, work), None).0.unwrap_err()
}

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        ignored("root");
    }
    is_root
}

#[test]
fn what_a_killed_run_left_is_taken_over_and_swept() {
    let work = tempfile::tempdir().unwrap();
    let scratch = work.path().join("scratch");
    for folder in [&scratch, &work.path().join(NAME)] {
        leave(folder, &["corpus", "run-1", "run.img"]);
    }
    let tools = vec![tool("cp", "cp -R {source} {target}")];
    let (results, events) =
        session(&options(SMALL, folder_ground(&scratch), tools, work.path()), None);
    assert_eq!(results.unwrap().cases[0].runs.len(), 2);
    assert!(names(work.path()).is_empty(), "{:?}", names(work.path()));
    assert!(events.iter().any(|event| event.contains("removed what an earlier run left")));
}

#[test]
fn a_folder_with_something_in_it_is_refused_and_left_alone() {
    let work = tempfile::tempdir().unwrap();
    let precious = work.path().join("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("thesis"), "years of work").unwrap();
    fs::write(precious.join("zoo"), "years of work").unwrap();
    let trouble = refusal(&precious, work.path());
    let expected = ["thesis", "zoo"].map(str::to_owned);
    assert!(matches!(&trouble, Error::ForeignFolder { path, found }
        if *path == precious && *found == expected));
    assert!(trouble.to_string().contains("\"thesis\" (and 1 more)"), "{trouble}");
    assert!(trouble.hint().unwrap().contains("or move away what is in it"));
    assert_eq!(names(&precious), ["thesis", "zoo"]);
    assert_eq!(names(work.path()), ["precious"]);
    // A marker of another process is not accepted.
    fs::write(precious.join(MARKER), "hello").unwrap();
    assert!(matches!(refusal(&precious, work.path()), Error::ForeignFolder { .. }));
    // One of a process that still runs is respected.
    let stat = fs::read_to_string("/proc/1/stat").unwrap();
    let started = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().to_owned();
    mark(&precious, &format!("pid 1\nstarted {started}\n"), &[]);
    assert!(matches!(refusal(&precious, work.path()), Error::BusyFolder { pid: 1, .. }));
    assert_eq!(names(&precious), [MARKER, "thesis", "zoo"]);
}

#[test]
fn what_was_put_beside_the_files_of_a_killed_run_stays_and_so_do_they() {
    let work = tempfile::tempdir().unwrap();
    for name in ["thesis", "run-2", "corpus.bak", "hot"] {
        let scratch = work.path().join("scratch");
        leave(&scratch, &["corpus", "run-1"]);
        fs::write(scratch.join(name), "years of work").unwrap();
        let before = names(&scratch);
        let trouble = refusal(&scratch, work.path());
        assert!(matches!(&trouble, Error::ForeignFolder { found, .. } if *found == [name]));
        assert_eq!(names(&scratch), before);
        // The same if the next run only sweeps the directory.
        let stale = work.path().join(NAME);
        fs::rename(&scratch, &stale).unwrap();
        let swept = sweep_one(work.path()).unwrap();
        assert!(matches!(swept.trouble, Some(Error::ForeignFolder { .. })), "{swept:?}");
        assert_eq!(names(&stale), before);
        // The user resolves it by moving the file away.
        fs::remove_file(stale.join(name)).unwrap();
        assert!(sweep_one(work.path()).unwrap().trouble.is_none());
        assert!(names(work.path()).is_empty());
    }
}

#[test]
fn a_run_that_goes_on_in_another_container_is_known_by_its_lock() {
    let work = tempfile::tempdir().unwrap();
    let folder = work.path().join(NAME);
    leave(&folder, &["corpus"]);
    let marker = fs::File::open(folder.join(MARKER)).unwrap();
    rustix::fs::flock(&marker, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    assert!(sweep(work.path()).is_empty());
    assert_eq!(names(&folder), [MARKER, "corpus"]);
    // Closing is not enough: a child that another test has just forked has the descriptor, too.
    rustix::fs::flock(&marker, rustix::fs::FlockOperation::Unlock).unwrap();
    assert!(sweep_one(work.path()).unwrap().trouble.is_none());
}

/// Creates a directory in which everything must stay, and the files that a wrong sweep would
/// remove.
fn victim(base: &Path) -> PathBuf {
    let victim = base.join("victim");
    fs::create_dir_all(victim.join("sub")).unwrap();
    fs::write(victim.join("sub/file"), "precious").unwrap();
    victim
}

fn is_whole(victim: &Path) -> bool {
    fs::read(victim.join("sub/file")).is_ok_and(|bytes| bytes == b"precious")
}

#[test]
fn what_others_may_have_made_is_not_touched() {
    type Plant = fn(&Path, &Path);
    let plants: &[(&str, Plant)] = &[
        ("the folder is open to others", |folder, _| {
            fs::set_permissions(folder, Permissions::from_mode(0o770)).unwrap();
        }),
        ("the marker is open to others", |folder, _| {
            fs::set_permissions(folder.join(MARKER), Permissions::from_mode(0o620)).unwrap();
        }),
        ("the marker is a link", |folder, victim| {
            fs::rename(folder.join(MARKER), victim.join(MARKER)).unwrap();
            symlink(victim.join(MARKER), folder.join(MARKER)).unwrap();
        }),
        ("the marker has two names", |folder, victim| {
            fs::hard_link(folder.join(MARKER), victim.join("second")).unwrap();
        }),
        ("the marker is a pipe", |folder, _| {
            fs::remove_file(folder.join(MARKER)).unwrap();
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            let path = folder.join(MARKER);
            let kind = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
        }),
        ("the marker is of another folder", |folder, _| {
            let path = folder.join(MARKER);
            let text = fs::read_to_string(&path).unwrap();
            let inode = fs::metadata(folder).unwrap().ino();
            fs::write(path, text.replace(&format!("folder {inode}"), "folder 1")).unwrap();
        }),
        ("the marker lists what no run makes", |folder, _| {
            mark(folder, GONE, &["corpus", "../victim"]);
        }),
        ("the folder is a link", |folder, victim| {
            fs::rename(folder, victim.join("real")).unwrap();
            symlink(victim.join("real"), folder).unwrap();
        }),
    ];
    for (what, plant) in plants {
        let work = tempfile::tempdir().unwrap();
        let (folder, victim) = (work.path().join(NAME), victim(work.path()));
        leave(&folder, &["corpus"]);
        plant(&folder, &victim);
        let before = names(&folder);
        assert!(sweep(work.path()).is_empty(), "{what}");
        assert_eq!(names(&folder), before, "{what}");
        assert!(folder.join("corpus/sub/file").exists() && is_whole(&victim), "{what}");
    }
}

#[test]
fn what_another_user_made_is_not_touched() {
    if !is_root() {
        return;
    }
    for changed in ["", MARKER] {
        let work = tempfile::tempdir().unwrap();
        let folder = work.path().join(NAME);
        leave(&folder, &["corpus"]);
        std::os::unix::fs::chown(folder.join(changed), Some(65_534), None).unwrap();
        assert!(sweep(work.path()).is_empty(), "{changed}");
        assert!(folder.join("corpus/sub/file").exists(), "{changed}");
    }
}

#[test]
fn a_link_in_a_folder_that_was_left_is_removed_and_not_followed() {
    let work = tempfile::tempdir().unwrap();
    let (folder, victim) = (work.path().join(NAME), victim(work.path()));
    leave(&folder, &["corpus"]);
    fs::rename(folder.join("corpus"), folder.join("run-1")).unwrap();
    mark(&folder, GONE, &["corpus", "run-1", "run.img"]);
    symlink(&victim, folder.join("corpus")).unwrap();
    symlink(victim.join("sub"), folder.join("run-1/link")).unwrap();
    symlink(victim.join("sub/file"), folder.join("run.img")).unwrap();
    assert!(sweep_one(work.path()).unwrap().trouble.is_none());
    assert!(is_whole(&victim));
    assert_eq!(names(work.path()), ["victim"]);
}

#[test]
fn a_foreign_mount_in_a_stale_folder_stays_mounted() {
    if !is_root() {
        return;
    }
    for point in ["corpus", "corpus/sub"] {
        let work = tempfile::tempdir().unwrap();
        let (folder, victim) = (work.path().join(NAME), victim(work.path()));
        leave(&folder, &["corpus"]);
        mount_bind(&victim, folder.join(point)).unwrap();
        let swept = sweep_one(work.path()).unwrap();
        let seen = (is_whole(&victim), folder.join(point).join("sub/file").exists());
        unmount(folder.join(point), UnmountFlags::empty()).unwrap();
        assert_eq!(seen, (true, true), "{point}");
        assert!(swept.trouble.unwrap().to_string().contains("what is mounted there"), "{point}");
        assert!(sweep_one(work.path()).unwrap().trouble.is_none(), "{point}");
    }
}

fn losetup(words: &[&str], image: &Path) -> Option<String> {
    let done = Command::new("losetup").args(words).arg(image).output().ok()?;
    let said = String::from_utf8_lossy(&done.stdout).trim().to_owned();
    done.status.success().then_some(said)
}

#[test]
fn a_loop_device_that_a_killed_run_left_is_detached_and_no_other() {
    if !is_root() {
        return;
    }
    let work = tempfile::tempdir().unwrap();
    let folder = work.path().join(NAME);
    leave(&folder, &["run.img", "template.img"]);
    let (ours, other) = (folder.join("run.img"), work.path().join("other"));
    // An image with a second name may be in use by another process.
    fs::hard_link(folder.join("template.img"), &other).unwrap();
    let attached: Vec<_> = [&ours, &other]
        .into_iter()
        .filter_map(|image| {
            fs::File::options().write(true).open(image).unwrap().set_len(1 << 20).unwrap();
            losetup(&["--find", "--show"], image)
        })
        .collect();
    let [_, device] = &attached[..] else {
        ignored("loop devices");
        return;
    };
    let in_use = |image: &Path| losetup(&["-n", "-O", "NAME", "-j"], image);
    assert!(in_use(&ours).is_some_and(|names| !names.is_empty()));
    let image = fs::File::open(&ours).unwrap();
    let swept = sweep_one(work.path()).unwrap();
    let through = PathBuf::from(format!(
        "/proc/{}/fd/{}",
        std::process::id(),
        std::os::fd::AsRawFd::as_raw_fd(&image)
    ));
    let seen = (in_use(&through), in_use(&other));
    losetup(&["-d"], Path::new(device)).unwrap();
    assert!(swept.trouble.is_none(), "{swept:?}");
    assert_eq!(seen, (Some(String::new()), Some(device.clone())));
}

#[test]
fn root_is_warned_where_others_may_rename_the_folders_above() {
    if !is_root() {
        return;
    }
    for (mode, owner, expected) in
        [(0o755, 0, false), (0o1777, 0, false), (0o777, 0, true), (0o755, 65_534, true)]
    {
        let work = tempfile::tempdir_in("/tmp").unwrap();
        let above = work.path().join("above");
        fs::create_dir(&above).unwrap();
        fs::set_permissions(&above, Permissions::from_mode(mode)).unwrap();
        std::os::unix::fs::chown(&above, Some(owner), None).unwrap();
        let tools = vec![tool("cp", "cp -R {source} {target}")];
        let ground = folder_ground(&above.join("scratch"));
        let (_, events) = session(&options(SMALL, ground, tools, work.path()), None);
        let warned = events.iter().any(|event| event.contains("may rename a folder above"));
        assert_eq!(warned, expected, "{mode:o} {owner}");
    }
}

#[test]
fn a_folder_of_a_run_is_its_owners_alone() {
    let work = tempfile::tempdir().unwrap();
    let mode = "cp -R {source} {target} && cd {target}/../.. && test $(stat -c %a .) = 700 \
                && test $(stat -c %a .haul-bench-scratch) = 600";
    let tools = vec![tool("cp", mode)];
    let scratch = work.path().join("scratch");
    let (results, _) = session(&options(SMALL, folder_ground(&scratch), tools, work.path()), None);
    let case = &results.unwrap().cases[0];
    assert_eq!(case.runs_of("cp").count(), 2, "{:?}", case.faults);
}
