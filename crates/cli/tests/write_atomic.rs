//! `write --atomic`: the metadata that a replacement inherits, and the handling of links.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::Path;

use rustix::fs::{XattrFlags, getxattr, setxattr};

use super::support::run::{Call, USER, cp, haul};
use super::support::scratch::Scratch;
use super::support::{Outcome, entries, ignored, is_root};

/// Starts `haul write --atomic` in a folder, with three bytes of input.
fn write(scratch: &Scratch, words: &[&str]) -> Call {
    let call = Call::of(haul()).words(["write", "--atomic"]).words(words);
    call.input("new").in_dir(scratch.path())
}

/// The bits, owner and group of a file.
fn attributes(path: &Path) -> Outcome<(u32, u32, u32)> {
    let found = fs::metadata(path)?;
    Ok((found.mode() & 0o7777, found.uid(), found.gid()))
}

/// Encodes an access-control list as the kernel stores it: the owner's bits, those of a user, the
/// group's, the mask and those of others.
fn list(owner: u16, user: (u32, u16), group: u16, mask: u16, others: u16) -> Vec<u8> {
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    let nobody = u32::MAX;
    for (tag, bits, id) in [
        (0x01_u16, owner, nobody),
        (0x02, user.1, user.0),
        (0x04, group, nobody),
        (0x10, mask, nobody),
        (0x20, others, nobody),
    ] {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(bits.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

const ACCESS: &str = "system.posix_acl_access";
const DEFAULT: &str = "system.posix_acl_default";

/// Sets a list; `false`, and the test ignored, if the file system does not support lists.
fn set_list(path: &Path, name: &str, list: &[u8]) -> Outcome<bool> {
    match setxattr(path, name, list, XattrFlags::empty()) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::OPNOTSUPP) => {
            ignored("access-control lists")?;
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

fn list_of(path: &Path, name: &str) -> Outcome<Option<Vec<u8>>> {
    let mut value = vec![0; 4096];
    match getxattr(path, name, &mut value[..]) {
        Ok(length) => {
            value.truncate(length);
            Ok(Some(value))
        }
        Err(rustix::io::Errno::NODATA) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[test]
fn root_keeps_the_owner_and_the_bits_of_another_users_file() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    for words in [&["old"][..], &["--fsync", "old"], &["link"]] {
        scratch.clear_all()?;
        let old = scratch.write("old", "old")?;
        symlink("old", scratch.at("link"))?;
        fs::set_permissions(&old, fs::Permissions::from_mode(0o640))?;
        chown(&old, Some(USER), Some(USER + 1))?;
        setxattr(&old, "user.note", b"kept", XattrFlags::empty())?;
        write(&scratch, words).succeed()?;
        assert_eq!(fs::read(&old)?, b"new", "{words:?}");
        assert_eq!(attributes(&old)?, (0o640, USER, USER + 1), "{words:?}");
        assert_eq!(list_of(&old, "user.note")?.as_deref(), Some(&b"kept"[..]), "{words:?}");
    }
    Ok(())
}

#[test]
fn access_lists_are_inherited_and_a_default_list_adds_no_permissions() -> Outcome {
    for copies in [false, true] {
        let scratch = Scratch::new()?;
        scratch.write("source", "new")?;
        let old = scratch.write("listed", "old")?;
        if !set_list(&old, ACCESS, &list(6, (54321, 6), 4, 6, 0))? {
            return Ok(());
        }
        let plain = scratch.write("plain", "old")?;
        fs::set_permissions(&plain, fs::Permissions::from_mode(0o644))?;
        set_list(scratch.path(), DEFAULT, &list(6, (54321, 6), 4, 6, 0))?;
        let was = list_of(&old, ACCESS)?;
        for name in ["listed", "plain"] {
            if copies {
                cp(["--atomic", "source", name]).in_dir(scratch.path()).succeed()?;
            } else {
                write(&scratch, &[name]).succeed()?;
            }
        }
        assert_eq!(list_of(&old, ACCESS)?, was, "cp: {copies}");
        assert_eq!(list_of(&plain, ACCESS)?, None, "cp: {copies}: user 54321 had no rights");
        assert_eq!(attributes(&plain)?.0, 0o644, "cp: {copies}");
    }
    Ok(())
}

#[test]
fn a_new_file_gets_what_its_directory_gives_a_new_file() -> Outcome {
    let scratch = Scratch::new()?;
    write(&scratch, &["a"]).with_umask("027").succeed()?;
    assert_eq!(attributes(&scratch.at("a"))?.0, 0o640);
    if !set_list(scratch.path(), DEFAULT, &list(6, (54321, 6), 4, 6, 0))? {
        return Ok(());
    }
    write(&scratch, &["b"]).succeed()?;
    let in_place = Call::of(haul()).words(["write", "c"]).input("new").in_dir(scratch.path());
    in_place.succeed()?;
    assert_eq!(attributes(&scratch.at("b"))?, attributes(&scratch.at("c"))?);
    assert_eq!(list_of(&scratch.at("b"), ACCESS)?, list_of(&scratch.at("c"), ACCESS)?);
    Ok(())
}

#[test]
fn a_dangling_link_is_followed_and_stays() -> Outcome {
    let scratch = Scratch::new()?;
    fs::create_dir(scratch.at("there"))?;
    symlink("there/file", scratch.at("first"))?;
    symlink("first", scratch.at("second"))?;
    symlink(scratch.at("there/other"), scratch.at("absolute"))?;
    write(&scratch, &["second"]).succeed()?;
    write(&scratch, &["absolute"]).succeed()?;
    assert_eq!(fs::read_link(scratch.at("second"))?, Path::new("first"));
    assert_eq!(fs::read_link(scratch.at("first"))?, Path::new("there/file"));
    assert_eq!(fs::read(scratch.at("there/file"))?, b"new");
    assert!(fs::symlink_metadata(scratch.at("absolute"))?.is_symlink());
    assert_eq!(fs::read(scratch.at("there/other"))?, b"new");
    assert_eq!(entries(&scratch.at("there"))?.len(), 2);
    Ok(())
}

#[test]
fn names_that_lead_to_no_place_for_a_file_are_refused() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("file", "old")?;
    symlink("nowhere/file", scratch.at("lost"))?;
    symlink("loop", scratch.at("loop"))?;
    symlink("new/", scratch.at("slash"))?;
    for (name, why) in [
        ("lost", "No such file or directory"),
        ("loop", "Too many levels of symbolic links"),
        ("slash", "Is a directory"),
        ("new/", "Is a directory"),
        ("file/", "Not a directory"),
        (".", "only regular files can be replaced with --atomic"),
    ] {
        let done = write(&scratch, &[name]).run()?;
        assert_eq!(done.code(), Some(1), "{name}");
        assert_eq!(done.errors(), format!("haul write: {name}: {why}\n"));
    }
    assert_eq!(fs::read(scratch.at("file"))?, b"old");
    assert_eq!(entries(scratch.path())?.len(), 4);
    Ok(())
}

#[test]
fn a_file_that_may_not_be_written_to_is_not_replaced() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let scratch = Scratch::public()?;
    for (owner, bits) in [(USER, 0o444), (0, 0o640), (0, 0o644)] {
        let old = scratch.write("old", "old")?;
        chown(scratch.path(), Some(USER), None)?;
        chown(&old, Some(owner), Some(owner))?;
        fs::set_permissions(&old, fs::Permissions::from_mode(bits))?;
        let done = write(&scratch, &["old"]).by_user().run()?;
        assert_eq!(done.code(), Some(1), "{done:?}");
        assert!(done.errors().contains("Permission denied"), "{done:?}");
        assert_eq!((fs::read(&old)?, entries(scratch.path())?.len()), (b"old".to_vec(), 1));
        fs::remove_file(&old)?;
    }
    write(&scratch, &["new"]).by_user().succeed()?;
    Ok(())
}
