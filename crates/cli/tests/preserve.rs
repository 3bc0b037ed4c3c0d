//! Attributes that a copy must preserve: they are preserved completely, or their loss is reported as a
//! failure.

use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;

use haul_sys::fs::{fgetxattr, flistxattr, fsetxattr};

use super::mv::{Two, mv};
use super::support::image::Image;
use super::support::mounting::unmount;
use super::support::run::{Call, Done, USER, cp};
use super::support::scratch::Scratch;
use super::support::strace::{Strace, is_usable};
use super::support::volume::{Volume, volumes};
use super::support::{Outcome, ignored, is_root};

/// Lengths of values: on both sides of the first buffer's size, and the kernel's limit.
const LENGTHS: [usize; 9] = [0, 1, 255, 256, 257, 3000, 4000, 65_535, 65_536];

/// The access-control list `u::rw-,u:USER:rw-,g::r--,m::rw-,o::r--` as the kernel keeps it.
fn list() -> Vec<u8> {
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, bits, id) in [
        (0x01_u16, 6_u16, u32::MAX),
        (0x02, 6, USER),
        (0x04, 4, u32::MAX),
        (0x10, 6, u32::MAX),
        (0x20, 4, u32::MAX),
    ] {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(bits.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

fn user_attributes(path: &Path) -> Outcome<Vec<(CString, Vec<u8>)>> {
    let file = File::open(path)?;
    let mut names = flistxattr(&file).map_err(|error| format!("{error:?}"))?;
    names.retain(|name| name.to_bytes().starts_with(b"user."));
    names.sort();
    let value = |name: CString| {
        let value = fgetxattr(&file, &name).map_err(|error| format!("{error:?}"))?;
        Ok((name, value))
    };
    names.into_iter().map(value).collect()
}

/// Sets an attribute; `false` if the file system does not support this length.
fn set(path: &Path, name: &CStr, value: &[u8]) -> Outcome<bool> {
    Ok(fsetxattr(File::open(path)?, name, value).is_ok())
}

/// Makes a file and a directory with an attribute of one length, or many names.
fn plant(dir: &Path, length: Option<usize>) -> Outcome<bool> {
    fs::create_dir_all(dir.join("d"))?;
    fs::write(dir.join("d/f"), "bytes")?;
    let mut is_taken = true;
    for path in [dir.join("d/f"), dir.join("d")] {
        match length {
            Some(length) => is_taken &= set(&path, c"user.value", &vec![b'v'; length])?,
            None => {
                for number in 0..60 {
                    let name = CString::new(format!("user.a-name-of-forty-bytes-{number:017}"))?;
                    is_taken &= set(&path, &name, b"")?;
                }
            }
        }
    }
    Ok(is_taken)
}

/// The file systems that may support attributes; every command that preserves them runs on each.
fn keep_attributes(volume: &Volume, length: Option<usize>) -> Outcome<bool> {
    let scratch = Scratch::on(volume)?;
    let other = Scratch::on(volume)?;
    if !plant(scratch.path(), length)? {
        return Ok(false);
    }
    let expected = [user_attributes(&scratch.at("d"))?, user_attributes(&scratch.at("d/f"))?];
    let context = format!("{} {length:?}", volume.name);
    for options in [&["-a"][..], &["-r", "--preserve=xattr"], &["-a", "--jobs=4", "--atomic"]] {
        cp(options).words(["d", "copy"]).in_dir(scratch.path()).succeed()?;
        for (name, expected) in ["copy", "copy/f"].iter().zip(&expected) {
            let found = user_attributes(&scratch.at(name))?;
            assert!(found == *expected, "{context} {options:?} {name}");
        }
        scratch.clear("copy")?;
    }
    // A bind mount is another file system to rename(2), and supports the same attributes.
    let over = other.at("over");
    fs::create_dir(&over)?;
    let mount = |words: &[&str]| Call::of("mount").words(words).word(scratch.path()).word(&over);
    mount(&["--bind"]).succeed()?;
    let moved = mv(["d", &other.at("moved").display().to_string()]).in_dir(&over).run();
    unmount(&over)?;
    assert_eq!(moved?.code(), Some(0), "{context}");
    for (name, expected) in ["moved", "moved/f"].iter().zip(&expected) {
        assert!(user_attributes(&other.at(name))? == *expected, "{context}");
    }
    assert!(!scratch.at("d").exists());
    Ok(true)
}

#[test]
fn attributes_of_every_length_are_kept_by_every_command() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let mut taken = 0;
    for volume in volumes()? {
        for length in LENGTHS.map(Some).into_iter().chain([None]) {
            taken += usize::from(keep_attributes(&volume, length)?);
        }
    }
    // ext4 supports 4,000 bytes, tmpfs and XFS all lengths.
    assert!(taken > 40, "only {taken} cases");
    Ok(())
}

/// A file system that supports attributes of any length, and one on which 4,000 bytes do not fit.
fn wide_and_narrow() -> Outcome<Option<(Scratch, Scratch, Image)>> {
    let wide = volumes()?.into_iter().find(|volume| volume.name == "xfs");
    let scratch = Scratch::new()?;
    let (Some(wide), Some(narrow)) = (wide, Image::new(&scratch, "ext4")?) else {
        ignored("XFS and ext4")?;
        return Ok(None);
    };
    Ok(Some((Scratch::on(&wide)?, scratch, narrow)))
}

#[test]
fn an_attribute_that_does_not_fit_is_told_and_counts() -> Outcome {
    let Some((wide, _scratch, narrow)) = wide_and_narrow()? else { return Ok(()) };
    fs::write(wide.at("f"), "bytes")?;
    assert!(set(&wide.at("f"), c"user.large", &vec![b'v'; 60_000])?);
    for options in ["-a", "--preserve=all", "--preserve=xattr"] {
        let done = cp([options, "f"]).word(narrow.mount.join("f")).in_dir(wide.path()).run()?;
        assert_eq!(done.code(), Some(1), "{options}: {done:?}");
        assert!(done.errors().contains("setting attributes for"), "{done:?}");
        assert_eq!(fs::read(narrow.mount.join("f"))?, b"bytes");
        fs::remove_file(narrow.mount.join("f"))?;
    }
    let target = narrow.mount.join("f").display().to_string();
    let done = mv(["f", &target]).in_dir(wide.path()).run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert_eq!(user_attributes(&wide.at("f"))?.len(), 1, "the source went: {done:?}");
    assert!(!narrow.mount.join("f").exists());
    Ok(())
}

/// Runs a command with a fault at each call that sets an attribute.
fn faulty(errno: &str, call: &Call, log: &Path) -> Outcome<Option<Done>> {
    if !is_usable()? {
        return Ok(None);
    }
    let strace = Strace::new(log).inject(&format!("fsetxattr:error={errno}"));
    let done = strace.wrap(call.clone()).run()?;
    assert!(strace.has_injected()?, "{done:?}");
    Ok(Some(done))
}

#[test]
fn only_what_a_target_cannot_have_is_no_failure() -> Outcome {
    let Some(two) = Two::traced()? else { return Ok(()) };
    let (here, log) = (&two.here, two.here.at("log"));
    here.write("f", "bytes")?;
    if !set(&here.at("f"), c"user.note", b"value")? {
        return ignored("attributes beside the build");
    }
    for (errno, code) in [("EIO", 1), ("ENOSPC", 1), ("EDQUOT", 1), ("E2BIG", 1), ("EOPNOTSUPP", 0)]
    {
        for options in ["-a", "--preserve=all"] {
            let call = cp([options, "f", "t"]).in_dir(here.path());
            let Some(done) = faulty(errno, &call, &log)? else { return Ok(()) };
            assert_eq!(done.code(), Some(code), "{options} {errno}: {done:?}");
            assert_eq!(done.errors().is_empty(), code == 0, "{options} {errno}: {done:?}");
            here.clear("t")?;
        }
        let call = mv(["f", &two.far("f")]).in_dir(here.path());
        let Some(done) = faulty(errno, &call, &log)? else { return Ok(()) };
        assert_eq!(done.code(), Some(code), "mv {errno}: {done:?}");
        assert_eq!(here.at("f").exists(), code == 1, "mv {errno}: {done:?}");
    }
    Ok(())
}

#[test]
fn a_mode_is_kept_where_its_list_cannot_be() -> Outcome {
    let Some(two) = Two::traced()? else { return Ok(()) };
    let scratch = &two.here;
    let Some(with_lists) = Image::new(scratch, "ext4")? else { return Ok(()) };
    let at = |name: &str| with_lists.mount.join(name);
    fs::create_dir(at("d"))?;
    fs::write(at("d/f"), "bytes")?;
    for (name, mode) in [("d/f", 0o664), ("d", 0o775)] {
        assert!(set(&at(name), c"system.posix_acl_access", &list())?);
        fs::set_permissions(at(name), fs::Permissions::from_mode(mode))?;
    }
    let mode = |path: &Path| -> Outcome<u32> { Ok(fs::metadata(path)?.mode() & 0o7777) };
    let strace = Strace::new(scratch.at("log")).inject("fsetxattr:error=EOPNOTSUPP");
    for jobs in ["--jobs=1", "--jobs=4"] {
        let target = two.there.at("copy");
        let call = cp(["-a", jobs, "d"]).word(&target).in_dir(&with_lists.mount);
        let done = strace.wrap(call).run()?;
        assert_eq!(done.code(), Some(1), "{done:?}");
        assert_eq!((mode(&target)?, mode(&target.join("f"))?), (0o775, 0o664), "{done:?}");
        two.there.clear("copy")?;
    }
    let target = two.there.at("moved");
    let call = mv(["d", &target.display().to_string()]).in_dir(&with_lists.mount);
    let done = strace.wrap(call).run()?;
    assert_eq!(done.code(), Some(0), "{done:?}");
    assert!(done.errors().contains("preserving permissions"), "{done:?}");
    assert_eq!((mode(&target)?, mode(&target.join("f"))?), (0o775, 0o664), "{done:?}");
    Ok(())
}

#[test]
fn an_existing_target_is_narrowed_before_it_changes_hands() -> Outcome {
    if !is_root()? || !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("s", "secret")?;
    fs::set_permissions(scratch.at("s"), fs::Permissions::from_mode(0o600))?;
    chown(scratch.at("s"), Some(USER), Some(USER))?;
    fs::create_dir(scratch.at("sd"))?;
    fs::set_permissions(scratch.at("sd"), fs::Permissions::from_mode(0o700))?;
    chown(scratch.at("sd"), Some(USER), Some(USER))?;
    for (words, before) in [
        (["-p", "s", "t"], 0o666),
        (["-p", "s", "t"], 0o4755),
        (["-a", "s", "t"], 0o660),
        (["-aT", "sd", "t"], 0o777),
    ] {
        scratch.clear("t")?;
        if words[1] == "sd" {
            fs::create_dir(scratch.at("t"))?;
        } else {
            scratch.write("t", "old")?;
        }
        fs::set_permissions(scratch.at("t"), fs::Permissions::from_mode(before))?;
        let strace = Strace::new(scratch.at("log")).trace("fchmod,fchown");
        strace.wrap(cp(words).in_dir(scratch.path())).succeed()?;
        let lines = strace.lines()?;
        let owner = lines.iter().position(|line| line.name == "fchown").ok_or("no fchown")?;
        let narrowed = lines.iter().take(owner).any(|line| {
            let mode = line.text.rsplit_once(", ").and_then(|(_, end)| end.split(')').next());
            let mode = mode.and_then(|mode| u32::from_str_radix(mode, 8).ok());
            line.name == "fchmod" && mode.is_some_and(|mode| mode & 0o7077 == 0)
        });
        assert!(narrowed, "{words:?} over {before:o}: {lines:#?}");
        let (last, first) = (fs::metadata(scratch.at("t"))?, fs::metadata(scratch.at(words[1]))?);
        assert_eq!((last.mode(), last.uid()), (first.mode(), USER));
    }
    Ok(())
}
