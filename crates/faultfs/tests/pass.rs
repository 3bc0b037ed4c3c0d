//! Without rules faultfs behaves like an ordinary file system.

use std::fs;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use haul_faultfs::{Config, Mode, Mounted};
use haul_manifest::holds_within;
use rustix::fs::{CWD, FallocateFlags, FileType, Mode as Bits, SeekFrom};

use crate::support::{Place, faulty, place};

#[test]
fn files_are_what_they_are_below() {
    for mode in [Mode::Cached, Mode::Direct] {
        let Some(place) = place() else { return };
        let mounted = faulty(&place, &[], &Config { mode, ..Config::default() });
        let (there, below) = (mounted.path().to_owned(), place.below.clone());
        fs::create_dir(there.join("d")).unwrap();
        let bytes: Vec<u8> = (0..3_000_001_u32).map(|at| (at % 251) as u8).collect();
        fs::write(there.join("d/a"), &bytes).unwrap();
        assert!(fs::read(below.join("d/a")).unwrap() == bytes);
        assert!(fs::read(there.join("d/a")).unwrap() == bytes);
        fs::rename(there.join("d/a"), there.join("b")).unwrap();
        fs::hard_link(there.join("b"), there.join("c")).unwrap();
        assert_eq!(fs::metadata(there.join("c")).unwrap().nlink(), 2);
        std::os::unix::fs::symlink("b", there.join("l")).unwrap();
        assert_eq!(fs::read_link(there.join("l")).unwrap(), Path::new("b"));
        fs::set_permissions(there.join("b"), fs::Permissions::from_mode(0o4711)).unwrap();
        assert_eq!(fs::metadata(below.join("b")).unwrap().mode() & 0o7777, 0o4711);
        rustix::fs::mknodat(CWD, there.join("p"), FileType::Fifo, Bits::RWXU, 0).unwrap();
        assert!(fs::symlink_metadata(below.join("p")).unwrap().file_type().is_fifo());
        let mut names: Vec<_> = fs::read_dir(&there)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["b", "c", "d", "l", "p"]);
        fs::remove_file(there.join("b")).unwrap();
        fs::remove_dir(there.join("d")).unwrap();
        assert!(!below.join("b").exists() && !below.join("d").exists());
        mounted.unmount().unwrap();
    }
}

#[test]
fn attributes_times_and_owners_are_kept() {
    let Some(place) = place() else { return };
    let mounted = faulty(&place, &[], &Config::default());
    let path = mounted.path().join("a");
    fs::write(&path, "x").unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    let old = std::time::UNIX_EPOCH - std::time::Duration::from_nanos(1_500_000_001);
    file.set_modified(old).unwrap();
    std::os::unix::fs::chown(&path, Some(12), Some(34)).unwrap();
    rustix::fs::setxattr(&path, "user.a", b"value", rustix::fs::XattrFlags::empty()).unwrap();
    let below = fs::metadata(place.below.join("a")).unwrap();
    assert_eq!((below.mtime(), below.mtime_nsec()), (-2, 499_999_999));
    assert_eq!((below.uid(), below.gid()), (12, 34));
    let mut value = [0; 16];
    let length = rustix::fs::getxattr(&path, "user.a", &mut value).unwrap();
    assert_eq!(&value[..length], b"value");
    let length = rustix::fs::listxattr(&path, &mut value).unwrap();
    assert_eq!(&value[..length], b"user.a\0");
    rustix::fs::removexattr(&path, "user.a").unwrap();
    assert!(rustix::fs::getxattr(&path, "user.a", &mut value).is_err());
}

#[test]
fn holes_are_seen_and_made() {
    let Some(place) = place() else { return };
    let mounted = faulty(&place, &[], &Config::default());
    let path = mounted.path().join("a");
    let file = fs::File::options().read(true).write(true).create_new(true).open(&path).unwrap();
    file.set_len(4 << 20).unwrap();
    file.write_all_at(b"data", 2 << 20).unwrap();
    file.sync_all().unwrap();
    assert_eq!(rustix::fs::seek(&file, SeekFrom::Data(0)).unwrap(), 2 << 20);
    assert_eq!(rustix::fs::seek(&file, SeekFrom::Hole(0)).unwrap(), 0);
    let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    rustix::fs::fallocate(&file, punch, 0, 4 << 20).unwrap();
    assert!(rustix::fs::seek(&file, SeekFrom::Data(0)).is_err());
}

#[test]
fn a_panic_leaves_nothing_mounted() {
    let Some(place) = place() else { return };
    let (below, point) = (place.below.clone(), place.point.clone());
    let panicked = std::thread::spawn(move || {
        let mounted = Mounted::new(&below, &point, &Config::default()).unwrap();
        fs::write(mounted.path().join("a"), "x").unwrap();
        panic!("on purpose");
    })
    .join();
    assert!(panicked.is_err());
    assert!(place.below.join("a").exists());
    assert!(!place.point.join("a").exists());
}

/// Kills a server, and returns whether its file system is unmounted within some seconds; unmounts it if not.
fn unmounts_after_a_kill(place: &Place) -> bool {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_faultfs"))
        .arg(&place.below)
        .arg(&place.point)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
    fs::write(place.point.join("a"), "x").unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    // A dead mount answers with ENOTCONN; an unmounted directory is empty.
    let is_empty = || fs::read_dir(&place.point).is_ok_and(|mut names| names.next().is_none());
    let is_unmounted = holds_within(std::time::Duration::from_secs(10), is_empty);
    if !is_unmounted {
        let unmount = std::process::Command::new("umount").arg("-l").arg(&place.point).status();
        assert!(unmount.is_ok_and(|status| status.success()), "cannot unmount");
    }
    is_unmounted
}

#[test]
fn a_kill_leaves_nothing_mounted() {
    let Some(place) = place() else { return };
    if !Path::new("/usr/bin/fusermount3").exists() && !Path::new("/bin/fusermount3").exists() {
        println!("ignored: a_kill_leaves_nothing_mounted needs fusermount3");
        return;
    }
    // fusermount3 unmounts if the mount point answers ENOTCONN when its socket closes. A process that is
    // killed closes the socket before the FUSE device, so sometimes it meets ECONNABORTED, and stays.
    let is_unmounted = (0..3).any(|_| unmounts_after_a_kill(&place));
    assert!(is_unmounted, "still mounted");
}
