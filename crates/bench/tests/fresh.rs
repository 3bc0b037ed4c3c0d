//! Fresh file systems, which need root and loop devices; elsewhere these tests are ignored.

use std::path::Path;
use std::process::Command;

use haul_bench::{Backing, CacheState, GroundSpec};

use crate::support::{ignored, names, options, session, tool};

/// Returns whether a file system can be created here; if not, reports it on standard error.
fn can_make(file_system: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    let loops = Path::new("/dev/loop-control").exists() && Path::new("/dev/shm").exists();
    let found = |program: &str| {
        Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap()
    };
    let program = format!("mkfs.{file_system}");
    let made = file_system == "tmpfs" || found(&program).status.success();
    let fine = root && loops && made && found("losetup").status.success();
    if !fine {
        ignored(&format!("root, loop devices and {program}"));
    }
    fine
}

/// Returns the entries in memory that belong to this process.
fn ours() -> Vec<String> {
    let prefix = format!("haul-bench-{}-", std::process::id());
    names(Path::new("/dev/shm")).into_iter().filter(|name| name.starts_with(&prefix)).collect()
}

fn loops_of_ours() -> String {
    let listed = Command::new("losetup").args(["-n", "-O", "BACK-FILE"]).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let prefix = format!("haul-bench-{}-", std::process::id());
    listed.lines().filter(|line| line.contains(&prefix)).collect()
}

/// Tests run in parallel in one process, and all of them check what it left.
static ALONE: haul_sys::sync::Mutex<()> = haul_sys::sync::Mutex::new(());

fn alone() -> haul_sys::sync::MutexGuard<'static, ()> {
    ALONE.lock()
}

#[test]
fn every_file_system_gives_fresh_ground() {
    let _alone = alone();
    for file_system in ["ext4", "xfs", "btrfs", "tmpfs", "xfs:ext4"] {
        if !file_system.split(':').all(can_make) {
            continue;
        }
        let work = tempfile::tempdir().unwrap();
        let ground = GroundSpec::fresh(file_system, Backing::Ram).unwrap();
        let tools = vec![
            tool("cp", "cp -R {source} {target}"),
            tool("wrong", "cp -R --attributes-only {source} {target}"),
        ];
        let (results, _) =
            session(&options("nested-small:files=30,dirs=3", ground, tools, work.path()), None);
        let case = &results.unwrap().cases[0];
        assert_eq!(case.trouble, None, "{file_system}");
        assert_eq!(case.runs_of("cp").count(), 2, "{file_system}: {:?}", case.faults);
        assert!(case.fault_of("wrong").is_some());
        let expected = file_system.split(':').next_back().unwrap();
        assert_eq!(case.ground.file_system, expected);
        assert!(!case.ground.mount_options.is_empty());
        let device = case.runs[0].measured.device;
        assert!(file_system == "tmpfs" || device.unwrap().written_bytes > 0, "{device:?}");
        assert!(ours().is_empty() && loops_of_ours().is_empty());
        assert!(names(work.path()).is_empty());
    }
}

#[test]
fn fresh_ground_is_cold_when_it_is_to_be() {
    let _alone = alone();
    if !can_make("ext4") {
        return;
    }
    let work = tempfile::tempdir().unwrap();
    let ground = GroundSpec::fresh("ext4", Backing::Ram).unwrap();
    let tools = vec![tool("cp", "cp {source} {target}")];
    let mut options = options("huge:size=8M", ground, tools, work.path());
    options.cases[0].cache = CacheState::Cold;
    let (results, _) = session(&options, None);
    let case = &results.unwrap().cases[0];
    let read = case.runs.iter().map(|run| run.measured.device.unwrap().read_bytes);
    assert!(read.min().unwrap() >= 8 << 20, "all of the source came from the device");
}

#[test]
fn images_on_a_disk_work_too() {
    let _alone = alone();
    if !can_make("ext4") {
        return;
    }
    let work = tempfile::tempdir_in(std::env::temp_dir()).unwrap();
    let ground = GroundSpec::fresh("ext4", Backing::Disk(work.path().to_owned())).unwrap();
    // Tools use paths that no other user can change, wherever the images are.
    let tools =
        vec![tool("cp", "case {target} in /dev/shm/haul-bench-*) cp {source} {target};; esac")];
    let (results, _) = session(&options("huge:size=8M", ground, tools, work.path()), None);
    let case = &results.unwrap().cases[0];
    if let Some(trouble) = &case.trouble {
        // A file system without direct I/O cannot hold such images.
        ignored(&format!("direct I/O: {trouble}"));
    } else {
        assert_eq!(case.runs.len(), 2);
    }
    assert!(names(work.path()).is_empty());
}

#[test]
fn an_interrupt_at_any_stage_leaves_no_mount_no_device_and_no_image() {
    let _alone = alone();
    if !can_make("ext4") {
        return;
    }
    let work = tempfile::tempdir().unwrap();
    let options = || {
        let ground = GroundSpec::fresh("ext4", Backing::Ram).unwrap();
        let tools = vec![tool("cp", "cp -R {source} {target}")];
        options("nested-small:files=30,dirs=3", ground, tools, work.path())
    };
    let whole = session(&options(), None).1.len();
    for stop_at in 1..=whole {
        let (results, _) = session(&options(), Some(stop_at));
        assert!(results.unwrap().interrupted);
        assert!(ours().is_empty(), "after event {stop_at}: {:?}", ours());
        assert!(loops_of_ours().is_empty(), "after event {stop_at}");
        assert!(names(work.path()).is_empty());
    }
}

#[test]
fn a_tool_that_destroys_the_ground_is_survived() {
    let _alone = alone();
    if !can_make("ext4") {
        return;
    }
    let work = tempfile::tempdir().unwrap();
    let ground = GroundSpec::fresh("ext4", Backing::Ram).unwrap();
    let tools = vec![
        tool("cp", "cp -R {source} {target}"),
        tool("busy", "cp -R {source} {target} && cd {target} && (sleep 0.5 &)"),
        tool("gone", "rm -rf {source} {target}"),
    ];
    let (results, _) =
        session(&options("nested-small:files=30,dirs=3", ground, tools, work.path()), None);
    let case = &results.unwrap().cases[0];
    assert_eq!(case.runs_of("cp").count(), 2, "{:?} {:?}", case.trouble, case.faults);
    assert_eq!(case.runs_of("busy").count(), 2);
    assert!(ours().is_empty() && loops_of_ours().is_empty());
}

#[test]
fn source_and_target_may_be_on_two_disks() {
    let _alone = alone();
    if !can_make("ext4") {
        return;
    }
    let here = || tempfile::tempdir().unwrap();
    let (work, from, to) = (here(), here(), here());
    let seen = work.path().join("seen");
    let script =
        format!("losetup -n -O BACK-FILE > {}; cp -R {{source}} {{target}}", seen.display());
    let ground = GroundSpec::fresh("ext4", Backing::Disk(from.path().to_owned())).unwrap();
    let ground = ground.to(Some(to.path().to_owned()));
    let tools = vec![tool("cp", &script)];
    let options = options("nested-small:files=30,dirs=3", ground, tools, work.path());
    let case = &session(&options, None).0.unwrap().cases[0];
    assert_eq!((case.trouble.as_ref(), case.runs.len()), (None, 2), "{:?}", case.faults);
    assert!(case.ground.device.contains(" to loop device over "), "{:?}", case.ground);
    let seen = std::fs::read_to_string(&seen).unwrap();
    let holds = |folder: &tempfile::TempDir| {
        seen.lines().filter(|line| line.starts_with(folder.path().to_str().unwrap())).count()
    };
    assert_eq!((holds(&from), holds(&to)), (1, 1), "{seen}");
    assert!(names(from.path()).is_empty() && names(to.path()).is_empty());
    assert!(ours().is_empty() && loops_of_ours().is_empty());
}
