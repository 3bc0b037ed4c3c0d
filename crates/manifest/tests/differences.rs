//! Every kind of difference, introduced one at a time into one of two equal trees.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, lchown, symlink};

use haul_manifest::{
    Aspect, Aspects, Body, CompareOptions, Feature, Item, ItemKind, Kind, Rdev, RootAttributes,
    Segment, Timestamp, Verdict, What, Xattr, compare, parse_recipe,
};
use rustix::fs::{
    AtFlags, CWD, FallocateFlags, FileType, Mode, Timespec, Timestamps, XattrFlags, fallocate,
    makedev, mknodat, removexattr, setxattr, utimensat,
};

use crate::support::{Outcome, Scratch, ignored, is_root, keeping_times};

const ACL: &str = "system.posix_acl_access";

/// An ACL for mode 0644 with a named user.
const ACL_VALUE: [u8; 44] = [
    2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 4, 0, 232, 3, 0, 0, 4, 0, 4, 0, 255, 255,
    255, 255, 16, 0, 4, 0, 255, 255, 255, 255, 32, 0, 4, 0, 255, 255, 255, 255,
];

/// A tree with one entry of every kind that needs no privileges.
fn items() -> Vec<Item> {
    let sparse =
        Body { size: 1 << 20, data: vec![Segment { offset: 1 << 18, length: 4096 }], seed: 2 };
    let mut file = Item::new(2, "file", ItemKind::Regular(Body::dense(10_000, 1)));
    file.xattrs.push(Xattr { name: "user.kept".into(), value: "value".into() });
    vec![
        Item::new(1, "dir", ItemKind::Directory),
        file,
        Item::new(2, "fifo", ItemKind::Fifo),
        Item::new(2, "link", ItemKind::Symlink("file".into())),
        Item::new(2, "socket", ItemKind::Socket),
        Item::new(1, "empty", ItemKind::Regular(Body::default())),
        Item::new(1, "sparse", ItemKind::Regular(sparse)),
    ]
}

#[test]
fn twins_are_equal_in_everything() -> Outcome {
    let scratch = Scratch::twins(&items())?;
    let comparison = scratch.compare(Aspects::all());
    assert_eq!(comparison.findings, []);
    assert_eq!(comparison.summary.verdict(), Verdict::Equal);
    // The seven items and the root.
    assert_eq!(comparison.summary.entries, 8);
    assert_eq!(comparison.summary.bytes, 10_000 + 4096);
    assert_eq!(comparison.summary.hole_bytes, (1 << 20) - 4096);
    Ok(())
}

#[test]
fn an_entry_on_one_side_only() -> Outcome {
    let scratch = Scratch::twins(&items())?;
    keeping_times(&scratch.b().join("empty"), |path| Ok(fs::remove_file(path)?))?;
    scratch.expect_only("empty", &What::OnlyInA { kind: Some(Kind::Regular) });
    keeping_times(&scratch.a().join("empty"), |path| Ok(fs::remove_file(path)?))?;
    keeping_times(&scratch.a().join("dir"), |path| Ok(fs::remove_dir_all(path)?))?;
    scratch.expect_only("dir", &What::OnlyInB { kind: Some(Kind::Directory) });
    Ok(())
}

#[test]
fn another_kind() -> Outcome {
    let scratch = Scratch::twins(&items())?;
    keeping_times(&scratch.b().join("empty"), |path| {
        fs::remove_file(path)?;
        Ok(mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o644), 0)?)
    })?;
    scratch.expect_only("empty", &What::Kind { a: Kind::Regular, b: Kind::Fifo });
    Ok(())
}

#[test]
fn a_longer_file() -> Outcome {
    let scratch = Scratch::twins(&items())?;
    keeping_times(&scratch.b().join("empty"), |path| Ok(fs::write(path, "more")?))?;
    scratch.expect_only("empty", &What::Size { a: 0, b: 4 });
    Ok(())
}

#[test]
fn a_mode() -> Outcome {
    let scratch = Scratch::twins(&items())?;
    for (path, mode) in [("dir", 0o1755), ("dir/file", 0o4644), ("dir/fifo", 0o600)] {
        let full = scratch.b().join(path);
        let was = fs::symlink_metadata(&full)?.permissions();
        fs::set_permissions(&full, fs::Permissions::from_mode(mode))?;
        let expected = What::Mode { a: (was.mode() & 0o7777).try_into()?, b: mode.try_into()? };
        scratch.expect_only(path, &expected);
        fs::set_permissions(&full, was)?;
    }
    Ok(())
}

#[test]
fn an_owner_and_a_group() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let scratch = Scratch::twins(&items())?;
    for path in ["dir", "dir/file", "dir/socket"] {
        let full = scratch.b().join(path);
        chown(&full, Some(1234), None)?;
        scratch.expect_only(path, &What::Owner { a: 0, b: 1234 });
        chown(&full, Some(0), Some(4321))?;
        scratch.expect_only(path, &What::Group { a: 0, b: 4321 });
        chown(&full, None, Some(0))?;
    }
    lchown(scratch.b().join("dir/link"), Some(1234), None)?;
    scratch.expect_only("dir/link", &What::Owner { a: 0, b: 1234 });
    Ok(())
}

#[test]
fn one_nanosecond() -> Outcome {
    let moved = Timestamp { seconds: 1_600_000_000, nanoseconds: 1 };
    for index in 0..items().len() {
        let mut other = items();
        other[index].mtime = moved;
        let scratch = Scratch::new()?;
        haul_manifest::create_tree(&scratch.a(), items())?;
        haul_manifest::create_tree(&scratch.b(), other)?;
        let comparison = scratch.compare(Aspects::all());
        assert_eq!(comparison.findings.len(), 1, "{:?}", comparison.findings);
        let a = Timestamp { seconds: 1_600_000_000, nanoseconds: 0 };
        let what = comparison.differences().map(|found| &found.what).next();
        assert_eq!(what, Some(&What::Mtime { a, b: moved }));
    }
    Ok(())
}

#[test]
fn the_text_of_a_symbolic_link() -> Outcome {
    let scratch = Scratch::twins(&items())?;
    keeping_times(&scratch.b().join("dir/link"), |path| {
        fs::remove_file(path)?;
        Ok(symlink("Xile", path)?)
    })?;
    scratch.expect_only("dir/link", &What::LinkText { a: "file".into(), b: "Xile".into() });
    Ok(())
}

#[test]
fn the_number_of_a_device() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let device = |minor| ItemKind::CharDevice(Rdev { major: 1, minor });
    let scratch = Scratch::twins(&[Item::new(1, "device", device(3))])?;
    keeping_times(&scratch.b().join("device"), |path| {
        fs::remove_file(path)?;
        let mode = Mode::from_raw_mode(0o644);
        Ok(mknodat(CWD, path, FileType::CharacterDevice, mode, makedev(1, 5))?)
    })?;
    let rdev = |minor| Rdev { major: 1, minor };
    scratch.expect_only("device", &What::Rdev { a: rdev(3), b: rdev(5) });
    Ok(())
}

#[test]
fn an_extended_attribute() -> Outcome {
    let scratch = Scratch::twins(&items())?;
    let path = scratch.b().join("dir/file");
    let kept = |b: Option<&str>| What::Xattr {
        name: "user.kept".into(),
        a: Some("value".into()),
        b: b.map(Into::into),
    };
    setxattr(&path, "user.kept", b"Value", XattrFlags::empty())?;
    scratch.expect_only("dir/file", &kept(Some("Value")));
    removexattr(&path, "user.kept")?;
    scratch.expect_only("dir/file", &kept(None));
    setxattr(&path, "user.kept", b"value", XattrFlags::empty())?;
    setxattr(scratch.b().join("dir"), "user.new", b"", XattrFlags::empty())?;
    let new = What::Xattr { name: "user.new".into(), a: None, b: Some("".into()) };
    scratch.expect_only("dir", &new);

    let ignoring = CompareOptions {
        ignored_xattr_prefixes: vec!["user.n".into()],
        ..CompareOptions::new(Aspects::all())
    };
    assert!(compare(&scratch.a(), &scratch.b(), &ignoring).is_equal());
    Ok(())
}

#[test]
fn the_last_byte_of_extended_attributes_of_every_length() -> Outcome {
    // tmpfs supports longer ones than most disk file systems.
    let memory = std::path::Path::new("/dev/shm");
    let mut longest = attributes_on(&Scratch::new()?)?;
    if memory.is_dir() {
        longest = longest.max(attributes_on(&Scratch::below(memory)?)?);
    }
    if longest < 65_536 {
        ignored("a file system that takes extended attributes of 64 KiB")?;
    }
    Ok(())
}

/// Tests attributes of every length that a file system supports, and returns the longest.
fn attributes_on(scratch: &Scratch) -> Outcome<usize> {
    let recipe = parse_recipe("attributes:size=64K,names=100")?;
    let generated = recipe.generate(&scratch.a())?;
    recipe.generate(&scratch.b())?;
    assert_eq!(scratch.compare(Aspects::all()).findings, []);
    let mut lengths = Vec::new();
    for entry in fs::read_dir(scratch.b())? {
        let name = entry?.file_name();
        let path = scratch.b().join(&name);
        let mut value = vec![0; 65_536];
        let read = rustix::fs::getxattr(&path, "user.haul.value", &mut value[..]);
        // Not every file system supports every length.
        let Ok(length) = read else { continue };
        let name = name.to_string_lossy().into_owned();
        assert!(name.ends_with(&format!("-{length}")), "{name}");
        value.truncate(length);
        let Some(last) = value.last_mut() else { continue };
        *last ^= 1;
        setxattr(&path, "user.haul.value", &value, XattrFlags::empty())?;
        let comparison = scratch.compare(Aspects::all());
        let found: Vec<String> = comparison.differences().map(ToString::to_string).collect();
        let expected =
            format!("{name}: extended attribute user.haul.value differs ({length} bytes)");
        assert_eq!(found, [expected]);
        *value.last_mut().ok_or("no value")? ^= 1;
        setxattr(&path, "user.haul.value", &value, XattrFlags::empty())?;
        lengths.push(length);
    }
    let skipped = generated.skipped.get(&Feature::Xattr).copied().unwrap_or(0);
    for length in [1, 255, 256, 257, 1000, 3000] {
        let count = lengths.iter().filter(|found| **found == length).count();
        assert!(count == 2 || skipped > 0, "{length}: {lengths:?}");
    }
    // One missing attribute of many is detected too.
    let many = scratch.b().join("many");
    if removexattr(&many, "user.haul.0099").is_ok() {
        let comparison = scratch.compare(Aspects::all());
        let found: Vec<_> = comparison.differences().map(|found| found.what.label()).collect();
        assert_eq!(found, ["xattr"]);
    }
    Ok(lengths.into_iter().max().unwrap_or(0))
}

#[test]
fn a_nanosecond_before_1970() -> Outcome {
    let scratch = Scratch::twins(&items())?;
    for path in ["dir/file", "dir", "dir/link", "dir/fifo"] {
        let set = |root: &std::path::Path, nanoseconds: i64| {
            let time = Timespec { tv_sec: -1, tv_nsec: nanoseconds };
            let times = Timestamps { last_access: time, last_modification: time };
            utimensat(CWD, root.join(path), &times, AtFlags::SYMLINK_NOFOLLOW)
        };
        set(&scratch.a(), 999_999_999)?;
        set(&scratch.b(), 999_999_999)?;
        assert!(scratch.compare(Aspects::all()).is_equal(), "{path}");
        set(&scratch.b(), 999_999_998)?;
        let time = |nanoseconds| Timestamp { seconds: -1, nanoseconds };
        scratch.expect_only(path, &What::Mtime { a: time(999_999_999), b: time(999_999_998) });
        set(&scratch.b(), 999_999_999)?;
    }
    Ok(())
}

#[test]
fn extended_attributes_of_entries_that_cannot_be_opened() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    for path in ["dir/link", "dir/fifo"] {
        let scratch = Scratch::twins(&items())?;
        let full = scratch.b().join(path);
        rustix::fs::lsetxattr(&full, "trusted.mark", b"1", XattrFlags::empty())?;
        let expected = What::Xattr { name: "trusted.mark".into(), a: None, b: Some("1".into()) };
        scratch.expect_only(path, &expected);
    }
    // Such trees can be generated too.
    let mut items = items();
    for item in items.iter_mut().filter(|item| ["link", "fifo"].contains(&&*item.name.to_string()))
    {
        item.xattrs.push(Xattr { name: "trusted.mark".into(), value: "1".into() });
    }
    let scratch = Scratch::twins(&items)?;
    assert!(scratch.compare(Aspects::all()).is_equal());
    rustix::fs::lremovexattr(scratch.b().join("dir/link"), "trusted.mark")?;
    let expected = What::Xattr { name: "trusted.mark".into(), a: Some("1".into()), b: None };
    scratch.expect_only("dir/link", &expected);
    Ok(())
}

#[test]
fn an_acl() -> Outcome {
    let scratch = Scratch::twins(&items())?;
    let path = scratch.b().join("dir/file");
    setxattr(&path, ACL, &ACL_VALUE, XattrFlags::empty())?;
    let value = |value: &[u8]| Some(value.into());
    let expected = What::Acl { name: ACL.into(), a: None, b: value(&ACL_VALUE) };
    scratch.expect_only("dir/file", &expected);
    setxattr(scratch.a().join("dir/file"), ACL, &ACL_VALUE, XattrFlags::empty())?;
    let mut other = ACL_VALUE;
    // The named user has no permissions.
    other[14] = 0;
    setxattr(&path, ACL, &other, XattrFlags::empty())?;
    let expected = What::Acl { name: ACL.into(), a: value(&ACL_VALUE), b: value(&other) };
    scratch.expect_only("dir/file", &expected);
    Ok(())
}

#[test]
fn more_blocks() -> Outcome {
    let scratch = Scratch::twins(&items())?;
    let path = scratch.b().join("sparse");
    keeping_times(&path, |path| {
        let file = fs::File::options().write(true).open(path)?;
        Ok(fallocate(&file, FallocateFlags::KEEP_SIZE, 0, 1 << 20)?)
    })?;
    let blocks = |root: &std::path::Path| -> Outcome<u64> {
        Ok(std::os::unix::fs::MetadataExt::blocks(&root.join("sparse").metadata()?))
    };
    let (a, b) = (blocks(&scratch.a())?, blocks(&scratch.b())?);
    assert!(b >= 2048, "{b}");
    scratch.expect_only("sparse", &What::Blocks { a, b });

    // Less than A is never a difference, and a tolerance can be set.
    let options = CompareOptions::new(Aspects::all());
    assert!(compare(&scratch.b(), &scratch.a(), &options).is_equal());
    let lenient = CompareOptions { block_slack_bytes: 1 << 20, ..options };
    assert!(compare(&scratch.a(), &scratch.b(), &lenient).is_equal());
    Ok(())
}

#[test]
fn the_attributes_of_the_roots_are_compared_by_default() -> Outcome {
    let scratch = Scratch::twins(&items())?;
    fs::set_permissions(scratch.b(), fs::Permissions::from_mode(0o700))?;
    scratch.expect_only("", &What::Mode { a: 0o755, b: 0o700 });
    let comparison = scratch.compare(Aspects::all());
    let line = comparison.differences().map(ToString::to_string).next();
    assert_eq!(line.as_deref(), Some(".: mode 0755 in A, 0700 in B"));
    let options = CompareOptions {
        root_attributes: RootAttributes::Ignore,
        ..CompareOptions::new(Aspects::all())
    };
    assert!(compare(&scratch.a(), &scratch.b(), &options).is_equal());
    Ok(())
}

#[test]
fn aspects_that_are_not_asked_for_do_not_count() -> Outcome {
    let scratch = Scratch::twins(&items())?;
    let path = scratch.b().join("dir/file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
    setxattr(&path, "user.new", b"1", XattrFlags::empty())?;
    fs::write(scratch.b().join("empty"), "more")?;
    let found = |aspects: Aspects| -> Vec<&str> {
        let comparison = scratch.compare(aspects);
        comparison.differences().map(|found| found.what.label()).collect()
    };
    assert_eq!(found(Aspects::all()), ["mtime", "size", "mode", "xattr"]);
    assert_eq!(found(Aspects::contents_only()), ["size"]);
    assert_eq!(found(Aspects::none().with(Aspect::Bytes)), ["bytes"]);
    assert_eq!(found(Aspects::none().with(Aspect::Size)), ["size"]);
    assert_eq!(found(Aspects::none().with(Aspect::Mode)), ["mode"]);
    assert_eq!(found(Aspects::none()), [""; 0]);
    Ok(())
}
