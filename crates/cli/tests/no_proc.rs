//! Without `/proc`, as in a rescue system, an initramfs or a simple chroot.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::os::unix::net::UnixListener;

use super::mv::{Two, mv};
use super::support::run::{Call, USER, cp, haul};
use super::support::scratch::Scratch;
use super::support::{Outcome, has, is_root};

/// Runs a command where an empty file system covers `/proc`.
fn without_proc(call: Call) -> Call {
    call.under([
        "unshare",
        "-m",
        "--",
        "sh",
        "-c",
        "mount -t tmpfs none /proc && exec \"$0\" \"$@\"",
    ])
}

fn can_hide_proc() -> Outcome<bool> {
    Ok(is_root()? && has("unshare")? && has("setfacl")?)
}

/// Makes a FIFO with a list, a socket, a device and a link with an attribute, each of another user.
fn furnish(scratch: &Scratch) -> Outcome {
    scratch.write("s/d/file", "text")?;
    Call::of("mkfifo").word(scratch.at("s/d/fifo")).succeed()?;
    UnixListener::bind(scratch.at("s/d/socket"))?;
    Call::of("mknod").word(scratch.at("s/d/device")).words(["c", "1", "3"]).succeed()?;
    symlink("file", scratch.at("s/d/link"))?;
    for name in ["fifo", "socket", "device"] {
        let path = scratch.at("s/d").join(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644))?;
        chown(path, Some(USER), Some(USER))?;
    }
    let list = ["-m", "u:54321:rw"];
    Call::of("setfacl").words(list).word(scratch.at("s/d/fifo")).succeed()?;
    let set = Call::of("setfattr").words(["-h", "-n", "trusted.note", "-v", "kept"]);
    set.word(scratch.at("s/d/link")).succeed()?;
    Ok(())
}

#[test]
fn a_fifo_behind_a_link_keeps_its_list() -> Outcome {
    if !can_hide_proc()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    symlink("s/d/fifo", scratch.at("to-fifo"))?;
    without_proc(cp(["-aL", "to-fifo", "t"]).in_dir(scratch.path())).succeed()?;
    let list = Call::of("getfacl").words(["-npc"]).word(scratch.at("t")).succeed()?.text();
    assert!(list.contains("user:54321:rw-"), "{list}");
    Ok(())
}

/// Checks the copy of what [`furnish`] makes.
fn demand_kept(scratch: &Scratch, name: &str) -> Outcome {
    let at = scratch.at(name);
    for name in ["fifo", "socket", "device"] {
        let told = at.join(name).symlink_metadata()?;
        let mode = if name == "fifo" { 0o664 } else { 0o644 };
        assert_eq!((told.mode() & 0o7777, told.uid()), (mode, USER), "{name}");
    }
    assert!(at.join("device").symlink_metadata()?.file_type().is_char_device());
    let list = Call::of("getfacl").words(["-npc"]).word(at.join("fifo")).succeed()?.text();
    assert!(list.contains("user:54321:rw-"), "{list}");
    let read = Call::of("getfattr").words([
        "-h",
        "--absolute-names",
        "--only-values",
        "-n",
        "trusted.note",
    ]);
    assert_eq!(read.word(at.join("link")).succeed()?.text(), "kept");
    Ok(())
}

#[test]
fn a_copy_keeps_the_attributes_of_what_is_not_opened() -> Outcome {
    if !can_hide_proc()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    let absolute = scratch.at("s/d").display().to_string();
    for (number, source) in ["s/d", &absolute].into_iter().enumerate() {
        let (with, without) = (format!("with{number}"), format!("without{number}"));
        let call = |target: &str| cp(["-aT", source, target]).in_dir(scratch.path());
        call(&with).succeed()?;
        demand_kept(&scratch, &with)?;
        without_proc(call(&without)).succeed()?;
        demand_kept(&scratch, &without)?;
    }
    // As operands, of which the names are paths.
    for (target, prefix) in [("relative", "s/d"), ("absolute", &absolute)] {
        fs::create_dir(scratch.at(target))?;
        let names = ["fifo", "socket", "device", "link"].map(|name| format!("{prefix}/{name}"));
        let call = cp(["-a"]).words(names).word(target).in_dir(scratch.path());
        call.succeed()?;
        demand_kept(&scratch, target)?;
        for name in ["fifo", "socket", "device", "link"] {
            fs::remove_file(scratch.at(target).join(name))?;
        }
        without_proc(call).succeed()?;
        demand_kept(&scratch, target)?;
    }
    Ok(())
}

#[test]
fn a_move_keeps_the_list_of_a_fifo_that_is_given_by_an_absolute_path() -> Outcome {
    if !can_hide_proc()? {
        return Ok(());
    }
    let Some(two) = Two::new()? else { return Ok(()) };
    furnish(&two.here)?;
    let names = ["fifo", "socket", "device", "link"].map(|name| two.here.at("s/d").join(name));
    fs::create_dir(two.there.at("t"))?;
    mv([]).words(names).word(two.there.at("t")).succeed()?;
    demand_kept(&two.there, "t")
}

#[test]
fn an_archive_is_extracted_with_what_is_not_opened() -> Outcome {
    if !can_hide_proc()? || !has("tar")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    fs::remove_file(scratch.at("s/d/socket"))?;
    fs::create_dir(scratch.at("t"))?;
    let call = Call::of("tar").words(["-cf", "a.tar", "-C", "s/d", "."]);
    call.in_dir(scratch.path()).succeed()?;
    let call = Call::of(haul()).words(["tar", "-xpf", "a.tar", "-C", "t"]);
    without_proc(call.in_dir(scratch.path())).succeed()?;
    for (name, mode) in [("fifo", 0o664), ("device", 0o644)] {
        let told = scratch.at("t").join(name).symlink_metadata()?;
        assert_eq!((told.mode() & 0o7777, told.uid()), (mode, USER), "{name}");
    }
    Ok(())
}

#[test]
fn an_atomic_copy_replaces_the_file_behind_a_link() -> Outcome {
    if !can_hide_proc()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("new", "new")?;
    for (text, middle) in [("there/old", "there/old"), ("middle", "there/old")] {
        for name in ["link", "middle"] {
            scratch.clear(name)?;
        }
        scratch.write("there/old", "old")?;
        symlink(middle, scratch.at("middle"))?;
        symlink(text, scratch.at("link"))?;
        without_proc(cp(["--atomic", "new", "link"]).in_dir(scratch.path())).succeed()?;
        assert!(scratch.at("link").symlink_metadata()?.is_symlink());
        assert_eq!(fs::read(scratch.at("there/old"))?, b"new");
    }
    Ok(())
}

#[test]
fn trees_and_archives_are_compared() -> Outcome {
    if !can_hide_proc()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    cp(["-a", "s", "t"]).in_dir(scratch.path()).succeed()?;
    let compare = || Call::of(haul()).words(["compare", "s", "t"]).in_dir(scratch.path());
    let done = without_proc(compare()).run()?;
    assert_eq!(done.code(), Some(0), "{done:?}");
    let set = Call::of("setfattr").words(["-h", "-n", "trusted.note", "-v", "other"]);
    set.word(scratch.at("t/d/link")).succeed()?;
    let done = without_proc(compare()).run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert!(done.text().contains("d/link"), "{done:?}");
    for atomic in [&[][..], &["--atomic"]] {
        let words = ["tar", "-cf", "a.tar", "--verify", "--warning=no-file-ignored", "s"];
        let call = Call::of(haul()).words(words).words(atomic).in_dir(scratch.path());
        let done = without_proc(call).run()?;
        let is_named = done.errors().contains("/proc") && !atomic.is_empty();
        assert!(done.code() == Some(0) || is_named, "{done:?}");
    }
    Ok(())
}
