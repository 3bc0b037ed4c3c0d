//! FIFOs, sockets, devices, files of `/proc` and `/sys`: as operands, in trees, as targets.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use haul_manifest::{Aspect, Aspects, wait_until};
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

use super::support::judge::demand_equal;
use super::support::run::{Call, cp, haul};
use super::support::scratch::Scratch;
use super::support::shell::noise;
use super::support::{Outcome, has, ignored, is_root};

fn fifo(path: &Path) -> Outcome {
    Ok(mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o640), 0)?)
}

#[test]
fn special_files_are_made_anew_in_trees() -> Outcome {
    let scratch = Scratch::new()?;
    fs::create_dir(scratch.at("s"))?;
    fifo(&scratch.at("s/pipe"))?;
    // Dropping it closes the socket and leaves its name.
    drop(UnixListener::bind(scratch.at("s/socket"))?);
    if is_root()? {
        let null = makedev(1, 3);
        let mode = Mode::from_raw_mode(0o600);
        mknodat(CWD, scratch.at("s/char"), FileType::CharacterDevice, mode, null)?;
        mknodat(CWD, scratch.at("s/block"), FileType::BlockDevice, mode, makedev(7, 200))?;
    }
    for options in [["-r", "--jobs=1"], ["-a", "--jobs=2"], ["-rL", "--jobs=1"]] {
        cp(options).words(["s", "t"]).in_dir(scratch.path()).succeed()?;
        let aspects =
            if options[0] == "-a" { Aspects::preserved() } else { Aspects::contents_only() };
        demand_equal(&scratch.at("s"), &scratch.at("t"), aspects, options[0]);
        scratch.clear("t")?;
    }
    Ok(())
}

#[test]
fn a_fifo_operand_is_read_without_r_and_made_anew_with_it() -> Outcome {
    let scratch = Scratch::new()?;
    fifo(&scratch.at("pipe"))?;
    let running = cp(["pipe", "copy"]).in_dir(scratch.path()).start()?;
    let mut pipe = fs::File::options().write(true).open(scratch.at("pipe"))?;
    pipe.write_all(&vec![b'x'; 300_000])?;
    drop(pipe);
    let done = running.wait()?;
    assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""));
    assert_eq!(fs::read(scratch.at("copy"))?, vec![b'x'; 300_000]);
    for options in ["-r", "-a"] {
        scratch.clear("copy")?;
        cp([options, "pipe", "copy"]).in_dir(scratch.path()).succeed()?;
        assert!(scratch.at("copy").symlink_metadata()?.file_type().is_fifo());
    }
    Ok(())
}

#[test]
fn contents_of_special_files_are_read_in_trees_when_asked() -> Outcome {
    let scratch = Scratch::new()?;
    fs::create_dir(scratch.at("s"))?;
    fifo(&scratch.at("s/pipe"))?;
    let running = cp(["-r", "--copy-contents", "s", "t"]).in_dir(scratch.path()).start()?;
    fs::File::options().write(true).open(scratch.at("s/pipe"))?.write_all(b"streamed")?;
    let done = running.wait()?;
    assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""));
    assert_eq!(fs::read(scratch.at("t/pipe"))?, b"streamed");
    Ok(())
}

/// A file with several names, which another worker may reach too, is filled after the names of its
/// batch are made: a source that keeps its reader waiting does not keep the directory.
#[test]
fn a_source_that_waits_does_not_keep_its_neighbours_from_their_names() -> Outcome {
    let scratch = Scratch::new()?;
    for name in ["s", "t", "t/s"] {
        fs::create_dir(scratch.at(name))?;
    }
    fifo(&scratch.at("s/0"))?;
    scratch.write("t/s/0", "an old file with two names")?;
    fs::hard_link(scratch.at("t/s/0"), scratch.at("t/second"))?;
    let names: Vec<String> = (1..20).map(|n| format!("{n}")).collect();
    for name in &names {
        scratch.write(&format!("s/{name}"), name)?;
    }
    // Open on both ends, so that the copy can open the FIFO and then waits for its bytes.
    let mut pipe = fs::File::options().read(true).write(true).open(scratch.at("s/0"))?;
    let call = cp(["-rL", "--copy-contents", "--jobs=1", "s", "t"]).in_dir(scratch.path());
    let running = call.start()?;
    let are_made = || names.iter().all(|name| scratch.at(format!("t/s/{name}")).exists());
    // The names may be made before the FIFO is opened, which would wait for another writer then.
    let files = format!("/proc/{}/fd", running.pid().as_raw_nonzero());
    let id = |stat: fs::Metadata| (stat.dev(), stat.ino());
    let fifo = id(fs::metadata(scratch.at("s/0"))?);
    let is_open = || -> std::io::Result<bool> {
        let mut open = fs::read_dir(&files)?.map(|entry| fs::metadata(entry?.path()));
        Ok(open.any(|stat| stat.is_ok_and(|stat| id(stat) == fifo)))
    };
    wait_until("the other names are made while the FIFO is waited for", || {
        are_made() && is_open().unwrap_or(false)
    });
    pipe.write_all(b"streamed")?;
    drop(pipe);
    let done = running.wait()?;
    assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""));
    assert_eq!(fs::read(scratch.at("t/second"))?, b"streamed");
    for name in &names {
        assert_eq!(fs::read_to_string(scratch.at(format!("t/s/{name}")))?, *name);
    }
    Ok(())
}

/// Every kind of source, and every worker, can write to something that has no offsets.
#[test]
fn pipes_and_devices_are_written_to() -> Outcome {
    let scratch = Scratch::new()?;
    let holes = scratch.write("holes", "")?;
    let file = fs::File::options().write(true).open(&holes)?;
    file.set_len(9 << 20)?;
    std::os::unix::fs::FileExt::write_all_at(&file, b"data", 5 << 20)?;
    scratch.write("empty", "")?;
    scratch.write("small", "small")?;
    scratch.write("large", noise(9 << 20))?;
    fifo(&scratch.at("pipe"))?;
    for name in ["small", "large", "holes", "empty"] {
        for options in [["--jobs=1", "--"], ["--jobs=4", "--"], ["--sparse=always", "--"]] {
            let context = format!("{name} {options:?}");
            let expected = fs::read(scratch.at(name))?;
            let call = cp(options).words([name, "/dev/stdout"]).in_dir(scratch.path());
            let done = call.run()?;
            assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""), "{context}");
            assert!(done.stdout == expected, "{context}: {} bytes", done.stdout.len());
            let running = cp(options).words([name, "pipe"]).in_dir(scratch.path()).start()?;
            let mut got = Vec::new();
            fs::File::open(scratch.at("pipe"))?.read_to_end(&mut got)?;
            let done = running.wait()?;
            assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""), "{context}");
            assert!(got == expected, "{context}: {} bytes", got.len());
            cp(options).words([name, "/dev/null"]).in_dir(scratch.path()).succeed()?;
        }
    }
    Ok(())
}

#[test]
fn a_device_without_room_is_an_error() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("f", "text")?;
    let done = cp(["f", "/dev/full"]).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(1));
    assert_eq!(done.errors(), "cp: error writing '/dev/full': No space left on device\n");
    Ok(())
}

#[test]
fn files_that_the_kernel_makes_up_are_read_to_their_end() -> Outcome {
    let scratch = Scratch::new()?;
    let steady = [
        "/proc/cpuinfo",
        "/proc/filesystems",
        "/proc/version",
        "/sys/kernel/mm/transparent_hugepage/enabled",
    ];
    for path in steady.iter().map(Path::new).filter(|path| path.exists()) {
        for options in [["--jobs=1", "--"], ["-a", "--"], ["--sparse=always", "--"]] {
            scratch.clear("copy")?;
            let call = cp(options).word(path).word("copy").in_dir(scratch.path());
            call.succeed()?;
            let (copied, expected) = (fs::read(scratch.at("copy"))?, fs::read(path)?);
            // Processor frequencies change; the number of bytes is nearly the same.
            let same = copied == expected || path.ends_with("cpuinfo");
            assert!(same && !copied.is_empty(), "{}", path.display());
            assert!(copied.len() + 200 > expected.len(), "{}", path.display());
        }
    }
    // Longer than a page, and different for every process.
    cp(["/proc/self/maps", "maps"]).in_dir(scratch.path()).succeed()?;
    let maps = fs::read_to_string(scratch.at("maps"))?;
    assert!(maps.lines().count() > 10 && maps.ends_with('\n'), "{maps}");
    Ok(())
}

#[test]
fn trees_of_the_kernel_are_copied() -> Outcome {
    let scratch = Scratch::new()?;
    let sources = ["/proc/sys/kernel/random", "/sys/kernel/mm/transparent_hugepage"];
    for source in sources.iter().map(Path::new).filter(|path| path.is_dir()) {
        let target = scratch.at(source.file_name().unwrap_or_default());
        // Some of these files cannot be read even by root; each of those is reported.
        let done = cp(["-r"]).word(source).word(&target).run()?;
        for entry in fs::read_dir(source)?.flatten() {
            let Ok(bytes) = fs::read(entry.path()) else { continue };
            let copied = fs::read(target.join(entry.file_name()))?;
            let context = format!("{}: {done:?}", entry.path().display());
            assert_eq!(copied.is_empty(), bytes.is_empty(), "{context}");
        }
    }
    Ok(())
}

/// A hard link of a special file refers to the copy of that file, not to a second one.
#[test]
fn hard_links_of_special_files_and_links_stay_together() -> Outcome {
    let scratch = Scratch::new()?;
    fs::create_dir_all(scratch.at("s/d"))?;
    fifo(&scratch.at("s/pipe"))?;
    fs::hard_link(scratch.at("s/pipe"), scratch.at("s/d/pipe"))?;
    symlink("nowhere", scratch.at("s/link"))?;
    fs::hard_link(scratch.at("s/link"), scratch.at("s/d/link"))?;
    cp(["-a", "s", "t"]).in_dir(scratch.path()).succeed()?;
    demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), "links");
    assert_eq!(scratch.at("t/pipe").symlink_metadata()?.nlink(), 2);
    Ok(())
}

/// In a directory with setgid, files still get the group of their source.
#[test]
fn the_group_is_kept_in_a_directory_that_hands_its_own_down() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("s/f", "text")?;
    fs::create_dir(scratch.at("s/d"))?;
    fifo(&scratch.at("s/pipe"))?;
    symlink("f", scratch.at("s/link"))?;
    fs::create_dir(scratch.at("out"))?;
    std::os::unix::fs::chown(scratch.at("out"), None, Some(54321))?;
    let setgid = PermissionsExt::from_mode(0o2775);
    fs::set_permissions(scratch.at("out"), setgid)?;
    for words in [["-a", "s", "out/t"], ["-a", "s/f", "out"], ["-p", "s/f", "out/p"]] {
        cp(words).in_dir(scratch.path()).succeed()?;
    }
    demand_equal(&scratch.at("s"), &scratch.at("out/t"), Aspects::preserved(), "setgid");
    for name in ["out/f", "out/p"] {
        assert_eq!(scratch.at(name).metadata()?.gid(), scratch.at("s/f").metadata()?.gid());
    }
    Ok(())
}

/// The permissions of the group and of others come from a list; none may be lost or added.
#[test]
fn a_default_list_of_the_target_does_not_get_into_an_archive_copy() -> Outcome {
    if !has("setfacl")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("s/d/f", "text")?;
    // A FIFO cannot be opened to read its list, and has the inherited one.
    Call::of("mkfifo").word(scratch.at("s/d/p")).succeed()?;
    Call::of("mkfifo").word(scratch.at("p")).succeed()?;
    fs::create_dir(scratch.at("out"))?;
    let list = ["-d", "-m", "u:12345:rwx,g::rwx,o::rwx"];
    let set = Call::of("setfacl").words(list).word(scratch.at("out")).run()?;
    if set.code() != Some(0) {
        return super::support::ignored(&format!("a file system with ACLs: {}", set.errors()));
    }
    for words in [["-a", "s", "out/t"], ["-rp", "s", "out/p"]] {
        cp(words).in_dir(scratch.path()).succeed()?;
        let aspects = Aspects::all().without(haul_manifest::Aspect::Blocks);
        demand_equal(&scratch.at("s"), &scratch.at(words[2]), aspects, words[0]);
    }
    cp(["-a", "p", "out/q"]).in_dir(scratch.path()).succeed()?;
    let aspects = Aspects::all().without(haul_manifest::Aspect::Blocks);
    demand_equal(&scratch.at("p"), &scratch.at("out/q"), aspects, "a FIFO");
    Ok(())
}

/// With the times or attributes of its source, a FIFO or socket had bits that the default list of its directory denies.
#[test]
fn a_new_special_file_has_the_bits_that_a_default_list_grants() -> Outcome {
    if !has("setfacl")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    mknodat(CWD, scratch.at("pipe"), FileType::Fifo, Mode::from_raw_mode(0o644), 0)?;
    drop(UnixListener::bind(scratch.at("socket"))?);
    fs::set_permissions(scratch.at("socket"), PermissionsExt::from_mode(0o755))?;
    fs::create_dir(scratch.at("out"))?;
    let set = Call::of("setfacl").words(["-d", "-m", "u:12345:rwx,g::r-x,o::---", "out"]);
    let set = set.in_dir(scratch.path()).run()?;
    if set.code() != Some(0) {
        return ignored(&format!("a file system with ACLs: {}", set.errors()));
    }
    for (option, pipe, socket) in [
        ("-r", 0o640, 0o750),
        ("--preserve=links", 0o640, 0o750),
        ("--preserve=timestamps", 0o640, 0o750),
        ("--preserve=links,xattr", 0o640, 0o750),
        ("--preserve=mode", 0o644, 0o755),
    ] {
        cp(["-r", option, "pipe", "socket", "out"]).in_dir(scratch.path()).succeed()?;
        for (name, bits) in [("out/pipe", pipe), ("out/socket", socket)] {
            let mode = scratch.at(name).symlink_metadata()?.mode() & 0o7777;
            assert_eq!(mode, bits, "{option} {name}: {mode:o}");
            scratch.clear(name)?;
        }
    }
    Ok(())
}

/// A list and an attribute of the file that a link leads to, not the attributes of the link.
#[test]
fn a_fifo_behind_a_link_keeps_its_own_attributes() -> Outcome {
    if !is_root()? || !has("setfacl")? || !has("setfattr")? || !has("tar")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    fs::create_dir(scratch.at("s"))?;
    fifo(&scratch.at("s/pipe"))?;
    fs::create_dir(scratch.at("l"))?;
    symlink("../s/pipe", scratch.at("l/link"))?;
    let list = ["-m", "u:12345:rw,m::rw", "s/pipe"];
    let set = Call::of("setfacl").words(list).in_dir(scratch.path()).run()?;
    if set.code() != Some(0) {
        return ignored(&format!("a file system with ACLs: {}", set.errors()));
    }
    for (text, path) in [("file", "s/pipe"), ("link", "l/link")] {
        let words = ["-h", "-n", &format!("trusted.of-{text}"), "-v", text, path];
        Call::of("setfattr").words(words).in_dir(scratch.path()).succeed()?;
    }
    let pipes = "tar --xattrs --acls --xattrs-include='*' -C l -chf - . | \
        tar --xattrs --acls --xattrs-include='*' -C t -xpf -";
    let pipes = pipes.replacen("tar", &format!("{} tar", haul().display()), 1);
    for command in [
        &format!("{} cp -aL l/link t/link", haul().display()),
        &format!("{} cp -aH $PWD/l/link t/", haul().display()),
        &format!("{} cp -aL l/. t", haul().display()),
        &pipes,
    ] {
        fs::create_dir(scratch.at("t"))?;
        Call::of("sh").words(["-c", command]).in_dir(scratch.path()).succeed()?;
        let aspects = Aspects::all().without(Aspect::Blocks).without(Aspect::Mtime);
        demand_equal(&scratch.at("s/pipe"), &scratch.at("t/link"), aspects, command);
        scratch.clear("t")?;
    }
    Ok(())
}

#[test]
fn files_of_other_devices_are_copied_with_x() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    // A file that is a mount point, and an overlay of two file systems, which gives files the devices of those.
    let script = r#"
        set -e
        mount --make-rprivate /
        mkdir -p tree/mounted other/d low overlaid far
        echo mounted >other/file; echo inside >other/d/inside; touch tree/file
        mount --bind other/file tree/file
        mount -t tmpfs none tree/mounted; echo inside >tree/mounted/inside
        mount -t tmpfs none far; mkdir far/low far/up far/work; echo far >far/low/far; echo low >low/low
        mount -t overlay none -o lowerdir=low:far/low,upperdir=far/up,workdir=far/work overlaid ||
            { echo no overlay; exit; }
        for source in tree overlaid; do
            cp -ax $source $source.gnu; "$1" cp -ax $source $source.haul
            diff -r $source.gnu $source.haul
        done
        cat tree.haul/file overlaid.haul/far overlaid.haul/low; ls tree.haul/mounted
    "#;
    let call = Call::of("unshare").words(["--mount", "--", "sh", "-c", script, "sh"]).word(haul());
    let done = call.in_dir(scratch.path()).run()?;
    if done.text() == "no overlay\n" {
        return ignored("overlayfs");
    }
    assert_eq!((done.code(), &*done.text()), (Some(0), "mounted\nfar\nlow\n"), "{done:?}");
    Ok(())
}
