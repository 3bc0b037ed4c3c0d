//! Effects of rules on a program.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};

use haul_faultfs::{Clock, Config, Mode};
use haul_sys::fs::close;
use rustix::fs::SeekFrom;
use rustix::io::Errno;

use crate::support::{Place, faulty, place};

fn direct() -> Config {
    Config { mode: Mode::Direct, ..Config::default() }
}

fn code(error: &std::io::Error) -> Option<i32> {
    error.raw_os_error()
}

fn filled(place: &Place, bytes: usize) {
    fs::write(place.below.join("a"), vec![7; bytes]).unwrap();
}

#[test]
fn a_read_fails_at_a_byte() {
    let Some(place) = place() else { return };
    filled(&place, 100_000);
    let mounted = faulty(&place, &["read:a@offset=50000=EIO"], &direct());
    let file = File::open(mounted.path().join("a")).unwrap();
    let mut buffer = [0; 1000];
    file.read_exact_at(&mut buffer, 49_000).unwrap();
    let error = file.read_exact_at(&mut buffer, 49_001).unwrap_err();
    assert_eq!(code(&error), Some(5));
}

#[test]
fn a_disk_is_full_after_some_bytes() {
    let Some(place) = place() else { return };
    let mounted = faulty(&place, &["write@after=10000=ENOSPC"], &direct());
    let file = File::create(mounted.path().join("a")).unwrap();
    let error = file.write_all_at(&vec![1; 20_000], 0).unwrap_err();
    assert_eq!(code(&error), Some(28));
    assert_eq!(fs::metadata(place.below.join("a")).unwrap().len(), 10_000);
}

#[test]
fn transfers_fall_short() {
    let Some(place) = place() else { return };
    filled(&place, 100);
    let mounted = faulty(&place, &["read=short:3", "write=short:2"], &direct());
    let file = File::options().read(true).write(true).open(mounted.path().join("a")).unwrap();
    assert_eq!(file.read_at(&mut [0; 10], 0).unwrap(), 3);
    assert_eq!(file.write_at(&[0; 10], 0).unwrap(), 2);
}

#[test]
fn bits_flip_on_the_way() {
    let Some(place) = place() else { return };
    filled(&place, 100);
    let mounted = faulty(&place, &["read@1=flip", "write=flip"], &direct());
    let file = File::options().read(true).write(true).open(mounted.path().join("a")).unwrap();
    let mut buffer = [0; 4];
    file.read_exact_at(&mut buffer, 8).unwrap();
    assert_eq!(buffer, [6, 7, 7, 7]);
    file.read_exact_at(&mut buffer, 8).unwrap();
    assert_eq!(buffer, [7, 7, 7, 7]);
    file.write_all_at(&[1, 1], 8).unwrap();
    assert_eq!(fs::read(place.below.join("a")).unwrap()[7..11], [7, 0, 1, 7]);
}

#[test]
fn writes_and_syncs_are_lost_or_reported_late() {
    let Some(place) = place() else { return };
    filled(&place, 10);
    let rules = ["write:a@1=lose", "fsync@1=lose", "fsync@2=EIO", "flush@1=EDQUOT"];
    let mounted = faulty(&place, &rules, &direct());
    let file = File::options().write(true).open(mounted.path().join("a")).unwrap();
    file.write_all_at(&[1; 10], 0).unwrap();
    assert_eq!(fs::read(place.below.join("a")).unwrap(), [7; 10]);
    file.sync_all().unwrap();
    assert_eq!(code(&file.sync_all().unwrap_err()), Some(5));
    let fd = std::os::fd::OwnedFd::from(file);
    let duplicate = rustix::io::dup(&fd).unwrap();
    // A flush is made for each descriptor that is closed, so this one gets the error.
    assert_eq!(close(duplicate).unwrap_err().errno, haul_sys::Errno::DQUOT);
    close(fd).unwrap();
}

#[test]
fn holes_are_lied_about() {
    let Some(place) = place() else { return };
    filled(&place, 100_000);
    let mounted = faulty(&place, &["lseek:a=hole", "lseek:b=data"], &direct());
    let file = File::open(mounted.path().join("a")).unwrap();
    assert_eq!(rustix::fs::seek(&file, SeekFrom::Data(0)), Err(Errno::NXIO));
    assert_eq!(rustix::fs::seek(&file, SeekFrom::Hole(10)), Ok(10));
    let sparse = File::create(place.below.join("b")).unwrap();
    sparse.set_len(100_000).unwrap();
    let file = File::open(mounted.path().join("b")).unwrap();
    assert_eq!(rustix::fs::seek(&file, SeekFrom::Data(10)), Ok(10));
    assert_eq!(rustix::fs::seek(&file, SeekFrom::Hole(0)), Ok(100_000));
}

#[test]
fn names_fail_too() {
    let Some(place) = place() else { return };
    let rules =
        ["create:b=EACCES", "mkdir=EROFS", "unlink@1=EBUSY", "readdir=EIO", "lookup:c=ESTALE"];
    let mounted = faulty(&place, &rules, &Config::default());
    let at = |name: &str| mounted.path().join(name);
    assert_eq!(code(&File::create(at("b")).unwrap_err()), Some(13));
    File::create(at("a")).unwrap();
    assert_eq!(code(&fs::create_dir(at("d")).unwrap_err()), Some(30));
    assert_eq!(code(&fs::remove_file(at("a")).unwrap_err()), Some(16));
    fs::remove_file(at("a")).unwrap();
    assert!(fs::read_dir(mounted.path()).unwrap().next().unwrap().is_err());
    assert_eq!(code(&fs::metadata(at("c")).unwrap_err()), Some(116));
}

#[test]
fn a_part_of_a_file_cannot_be_written() {
    let Some(place) = place() else { return };
    let mounted = faulty(&place, &["write:a@in=1000-2000=EIO"], &direct());
    let file = File::create(mounted.path().join("a")).unwrap();
    file.write_all_at(&[1; 1000], 0).unwrap();
    assert_eq!(code(&file.write_all_at(&[1; 10], 1999).unwrap_err()), Some(5));
    file.write_all_at(&[1; 1000], 2000).unwrap();
}

#[test]
fn sizes_are_lied_about() {
    let Some(place) = place() else { return };
    filled(&place, 100);
    let mounted = faulty(
        &place,
        &["lookup:a=size:7", "getattr:a=size:7", "lookup=blocks:1", "getattr=blocks:1"],
        &Config::default(),
    );
    let attributes = fs::metadata(mounted.path().join("a")).unwrap();
    assert_eq!((attributes.len(), attributes.blocks()), (7, 1));
}

#[test]
fn attributes_grow_and_cannot_be_set() {
    let Some(place) = place() else { return };
    filled(&place, 100);
    let rules = ["xattr:a@2+=grow:10", "setxattr:b=EDQUOT"];
    let mounted = faulty(&place, &rules, &Config::default());
    let (a, b) = (mounted.path().join("a"), mounted.path().join("b"));
    let set =
        |path| rustix::fs::setxattr(path, "user.a", b"12345", rustix::fs::XattrFlags::empty());
    set(&a).unwrap();
    fs::write(&b, "b").unwrap();
    assert_eq!(set(&b), Err(Errno::DQUOT));
    let get = |room: &mut [u8]| rustix::fs::getxattr(&a, "user.a", room);
    assert_eq!(get(&mut [0; 100]), Ok(5));
    assert_eq!(get(&mut [0; 5]), Err(Errno::RANGE));
    assert_eq!(get(&mut [0; 100]), Ok(15));
}

#[test]
fn a_clock_is_off_and_times_that_are_set_are_kept() {
    let Some(place) = place() else { return };
    filled(&place, 100);
    let config = Config { clock: Clock::Off(-3600), ..Config::default() };
    let mounted = faulty(&place, &[], &config);
    let (there, below) = (mounted.path().join("a"), place.below.join("a"));
    let shift = fs::metadata(&below).unwrap().ctime() - fs::metadata(&there).unwrap().ctime();
    assert_eq!(shift, 3600);
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_nanos(1_000_000_000_123_456_789);
    File::options().write(true).open(&there).unwrap().set_modified(time).unwrap();
    assert_eq!(fs::metadata(&there).unwrap().modified().unwrap(), time);
    drop(mounted);
    let config = Config { clock: Clock::ChangeIsModification, ..Config::default() };
    let mounted = faulty(&place, &[], &config);
    let attributes = fs::metadata(mounted.path().join("a")).unwrap();
    assert_eq!(
        (attributes.ctime(), attributes.ctime_nsec()),
        (attributes.mtime(), attributes.mtime_nsec())
    );
}
