//! `haul mv` while other processes change the same place, and where equal device numbers do not mean one
//! file system.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::mv::{Two, hidden_names, mv};
use super::support::image::Image;
use super::support::mounting::unmount;
use super::support::run::Call;
use super::support::scratch::Scratch;
use super::support::shell::demand;
use super::support::strace::{Point, Strace, occurrences, stopped_at};
use super::support::{Outcome, has, if_there, ignored, is_root};

/// Number of times that two runs are started at once.
const RACES: usize = 60;

#[test]
fn two_moves_of_one_source_never_lose_it() -> Outcome {
    let Some(two) = Two::new()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    let whole = vec![7; 50_000];
    for round in 0..RACES {
        // Across file systems, to two names; and on one, onto two names of the same file.
        here.write("d/file", &whole)?;
        fs::hard_link(here.at("d/file"), here.at("d/twin"))?;
        let far = [two.far("one"), two.far("two")];
        let near = ["d/file".to_owned(), "d/twin".to_owned()];
        let calls = match round % 3 {
            0 => far.map(|to| mv(["-T", "d", &to])),
            1 => far.map(|to| mv(["-T", "d/file", &to])),
            _ => [mv(["-T", &near[0], &near[1]]), mv(["-T", &near[1], &near[0]])],
        };
        let running =
            [calls[0].clone(), calls[1].clone()].map(|call| call.in_dir(here.path()).start());
        let mut said = String::new();
        for run in running {
            said.push_str(&run?.wait()?.errors());
        }
        let places = ["d/file", "d/twin"].map(|name| here.at(name)).into_iter();
        let far = ["one", "two", "one/file", "two/file"].map(|name| there.at(name));
        let kept = places.chain(far).filter(|path| fs::read(path).is_ok_and(|is| is == whole));
        assert!(kept.count() > 0, "round {round}: {said}");
        here.clear("d")?;
        there.clear_all()?;
    }
    Ok(())
}

#[test]
fn a_target_that_is_swapped_meanwhile_is_replaced_and_not_followed() -> Outcome {
    let Some(two) = Two::traced()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    let call = mv(["--jobs=1", "-T", "f", &two.far("f")]).in_dir(here.path());
    let prepare = || -> Outcome {
        there.clear_all()?;
        here.write("f", "new")?;
        here.write("victim", "victim")?;
        there.write("f", "old")?;
        Ok(())
    };
    prepare()?;
    let strace = Strace::new(here.at("log"));
    strace.wrap(call.clone()).succeed()?;
    let names = ["openat", "renameat2", "syncfs", "fsync", "fchmod", "utimensat", "unlinkat"];
    let mut tried = 0;
    for name in names {
        for point in occurrences(&strace.lines()?, name) {
            prepare()?;
            let swapped = stopped_at(&here.at("log2"), &call, &point, || {
                // The moved file is already in its place, and is what was exchanged.
                there.clear("f")?;
                Ok(symlink(here.at("victim"), there.at("f"))?)
            })?;
            let Some(done) = swapped else { continue };
            tried += 1;
            assert_eq!(fs::read(here.at("victim"))?, b"victim", "{point:?}: {done:?}");
            let source = if_there(fs::read(here.at("f")))?;
            let target = there.at("f").symlink_metadata()?;
            let was_replaced = target.is_file() && fs::read(there.at("f"))? == b"new";
            // If the exchange came after the rename, the exchanging process removed the moved file.
            let was_named = target.is_symlink();
            assert!(was_replaced || was_named || source.is_some(), "{point:?}: {done:?}");
            let hidden = hidden_names(there.path())?;
            assert!(hidden.is_empty(), "{point:?}: {hidden:?}, {done:?}");
        }
    }
    assert!(tried > 5, "only {tried} points");
    Ok(())
}

/// Changes of attributes while a move waits, with the entries that therefore stay.
const ATTRIBUTES: &[(&str, &[&str])] = &[
    ("chown 12345:12345 d/f", &["d/f"]),
    ("chgrp 12345 d/f", &["d/f"]),
    ("chmod 600 d/f", &["d/f"]),
    ("chown -h 12345 d/link", &["d/link"]),
    ("chmod 600 d/fifo", &["d/fifo"]),
    ("chown 12345 d/fifo", &["d/fifo"]),
    ("chmod 700 d/sub", &["d/sub", "d/sub/g"]),
    ("chown 12345 d/sub", &["d/sub", "d/sub/g"]),
    ("setfattr -n user.a -v b d/sub", &["d/sub", "d/sub/g"]),
    ("chmod 700 d", &["d/f", "d/sub/g"]),
    ("touch d/sub/new", &["d/sub/new"]),
];

#[test]
fn attributes_that_change_meanwhile_are_not_lost() -> Outcome {
    let Some(two) = Two::traced()? else { return Ok(()) };
    if !is_root()? || !has("setfattr")? {
        return Ok(());
    }
    let (here, there) = (&two.here, &two.there);
    for (change, stay) in ATTRIBUTES {
        here.clear_all()?;
        there.clear_all()?;
        demand(
            here.path(),
            "mkdir -m 755 -p d/sub d/other; umask 22; echo f >d/f; echo g >d/sub/g",
        )?;
        demand(here.path(), "ln -s f d/link; mkfifo d/fifo; echo h >d/other/h")?;
        let call = mv(["--jobs=1", "d", &two.far("")]).in_dir(here.path());
        let point = Point { name: "syncfs".to_owned(), occurrence: 1 };
        let done = stopped_at(&there.at("log"), &call, &point, || demand(here.path(), change))?;
        let Some(done) = done else { return Err("no flush".into()) };
        assert_eq!(done.code(), Some(1), "{change}");
        let first = stay.first().ok_or("nothing stays")?;
        let line = format!("mv: '{first}' changed while it was moved; it stays\n");
        // Of a directory that stays, the message does not name what is in it.
        let line = if *change == "chmod 700 d" {
            "mv: 'd' changed while it was moved; it stays\n".to_owned()
        } else {
            line
        };
        assert_eq!(done.errors(), line, "{change}");
        for name in *stay {
            assert!(here.at(name).symlink_metadata().is_ok(), "{change}: {name}");
        }
        let is_whole = *change == "chmod 700 d";
        assert_eq!(here.at("d/other").exists(), is_whole, "{change}");
        assert_eq!(fs::read(there.at("d/sub/g"))?, b"g\n");
    }
    Ok(())
}

#[test]
fn a_directory_that_changes_while_it_is_emptied_stays() -> Outcome {
    let Some(two) = Two::traced()? else { return Ok(()) };
    two.here.write("d/f", "f")?;
    let call = mv(["--jobs=1", "d", &two.far("")]).in_dir(two.here.path());
    let point = Point { name: "unlinkat".to_owned(), occurrence: 1 };
    let done = stopped_at(&two.there.at("log"), &call, &point, || {
        Ok(fs::set_permissions(two.here.at("d"), fs::Permissions::from_mode(0o711))?)
    })?;
    let Some(done) = done else { return Err("no removal".into()) };
    let line = "mv: 'd' changed while it was moved; it stays\n";
    assert_eq!((done.code(), done.errors()), (Some(1), line.to_owned()));
    assert!(two.here.at("d").exists() && !two.here.at("d/f").exists());
    Ok(())
}

#[test]
fn only_the_target_that_was_compared_or_asked_about_is_replaced() -> Outcome {
    let Some(two) = Two::traced()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    let old = |path: &Path| -> Outcome {
        let file = fs::File::options().write(true).open(path)?;
        Ok(file.set_modified(std::time::SystemTime::UNIX_EPOCH)?)
    };
    let changes: [(&str, &dyn Fn() -> Outcome); 3] = [
        ("rewritten", &|| Ok(fs::write(there.at("f"), "later")?)),
        ("replaced", &|| {
            fs::write(there.at("g"), "later")?;
            Ok(fs::rename(there.at("g"), there.at("f"))?)
        }),
        ("made", &|| Ok(fs::write(there.at("new"), "later")?)),
    ];
    for options in [&["-u"][..], &["-i"], &["-ub"], &[]] {
        for (change, act) in &changes {
            there.clear_all()?;
            let name = if *change == "made" { "new" } else { "f" };
            here.write(name, "source")?;
            there.write("f", "old")?;
            old(&there.at("f"))?;
            let call = mv(["--jobs=1"]).words(options).words(["-T", name, &two.far(name)]);
            let call = call.in_dir(here.path()).input("y\n");
            let point = Point { name: "syncfs".to_owned(), occurrence: 1 };
            let done = stopped_at(&here.at("log"), &call, &point, act)?;
            let Some(done) = done else { return Err("no flush".into()) };
            let context = format!("{options:?}, {change}: {done:?}");
            if options.is_empty() && *change != "made" {
                // Without an option, any file is replaced.
                assert_eq!(done.code(), Some(0), "{context}");
                assert_eq!(fs::read(there.at(name))?, b"source", "{context}");
                continue;
            }
            assert_eq!(done.code(), Some(1), "{context}");
            assert_eq!(fs::read(there.at(name))?, b"later", "{context}");
            assert_eq!(fs::read(here.at(name))?, b"source", "{context}");
            if *change != "made" {
                assert!(done.errors().contains("it changed while 'f' was copied"), "{context}");
            }
            assert!(!there.at("f~").exists(), "{context}");
            assert_eq!(hidden_names(there.path())?, [""; 0], "{context}");
        }
    }
    Ok(())
}

#[test]
fn links_among_targets_are_no_changes_of_them() -> Outcome {
    let Some(two) = Two::new()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    for options in [["-u"], ["-ub"]] {
        there.clear_all()?;
        let first = there.write("a", "old")?;
        let file = fs::File::options().write(true).open(&first)?;
        file.set_modified(std::time::SystemTime::UNIX_EPOCH)?;
        fs::hard_link(&first, there.at("b"))?;
        here.write("a", "1")?;
        here.write("b", "2")?;
        mv(options).words(["a", "b", &two.far("")]).in_dir(here.path()).succeed()?;
        assert_eq!(
            (fs::read(there.at("a"))?, fs::read(there.at("b"))?),
            (b"1".into(), b"2".into())
        );
    }
    Ok(())
}

#[test]
fn a_hidden_name_that_was_planted_is_not_written_through() -> Outcome {
    let Some(two) = Two::traced()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    here.write("f", "moved")?;
    here.write("victim", "victim")?;
    let call = mv(["--jobs=1", "f", &two.far("")]).in_dir(here.path());
    // The hidden name is learned from a run that ends before it begins to copy.
    let strace = Strace::new(here.at("log"))
        .trace("renameat2,syncfs,fsync")
        .inject("syncfs,fsync:error=EIO");
    strace.wrap(call.clone()).run()?;
    let strace =
        Strace::new(here.at("log")).trace("openat,syncfs,fsync").inject("syncfs,fsync:error=EIO");
    strace.wrap(call.clone()).run()?;
    let text = strace.text()?;
    let waiting = text
        .split('"')
        .find(|word| word.starts_with(".haul-mv-"))
        .ok_or("no waiting name was opened")?
        .to_owned();
    symlink(here.at("victim"), there.at(&waiting))?;
    let done = call.run()?;
    assert_eq!(fs::read(here.at("victim"))?, b"victim", "{done:?}");
    let moved = if_there(fs::read(there.at("f")))?.as_deref() == Some(b"moved");
    assert!(moved != here.at("f").exists(), "{done:?}");
    assert!(!there.at("f").symlink_metadata().is_ok_and(|told| told.is_symlink()), "{done:?}");
    Ok(())
}

#[test]
fn a_subvolume_is_left_like_any_other_file_system() -> Outcome {
    let scratch = Scratch::new()?;
    let Some(image) = Image::new(&scratch, "btrfs")? else { return Ok(()) };
    if !has("btrfs")? {
        return Ok(());
    }
    let at = |name: &str| image.mount.join(name);
    for name in ["one", "two"] {
        Call::of("btrfs").words(["-q", "subvolume", "create"]).word(at(name)).succeed()?;
    }
    fs::create_dir(at("one/d"))?;
    fs::write(at("one/d/file"), vec![1; 100_000])?;
    fs::hard_link(at("one/d/file"), at("one/d/twin"))?;
    // A rename between two subvolumes is refused as one across file systems.
    mv(["one/d", "two/"]).in_dir(&image.mount).succeed()?;
    assert!(!at("one/d").exists());
    assert_eq!(fs::read(at("two/d/file"))?, vec![1; 100_000]);
    assert_eq!(at("two/d/file").metadata()?.ino(), at("two/d/twin").metadata()?.ino());
    // A tree with a subvolume in it moves as a tree, and rm takes both.
    fs::create_dir(at("two/d/sub-parent"))?;
    Call::of("btrfs").words(["-q", "subvolume", "create"]).word(at("two/d/sub")).succeed()?;
    fs::write(at("two/d/sub/inner"), "inner")?;
    let far = Scratch::below(scratch.path())?;
    mv(["two/d"]).word(far.path()).in_dir(&image.mount).succeed()?;
    assert_eq!(fs::read(far.at("d/sub/inner"))?, b"inner");
    assert!(!at("two/d").exists());
    fs::write(at("two/file"), "file")?;
    let rm = |words: &[&str]| {
        Call::of(super::support::run::haul()).word("rm").words(words).in_dir(&image.mount)
    };
    // Its device number differs from its parent's, which --one-file-system compares.
    fs::create_dir(at("tree"))?;
    Call::of("btrfs").words(["-q", "subvolume", "create"]).word(at("tree/sub")).succeed()?;
    fs::write(at("tree/sub/file"), "file")?;
    let kept = rm(&["-r", "--one-file-system", "tree"]).run()?;
    assert_eq!(kept.code(), Some(1), "{kept:?}");
    assert!(at("tree/sub/file").exists());
    rm(&["-r", "tree", "one", "two"]).succeed()?;
    assert_eq!(fs::read_dir(&image.mount)?.count(), 0);
    Ok(())
}

#[test]
fn an_overlay_gives_its_files_away_whole() -> Outcome {
    if !is_root()? || !has("mount")? {
        return Ok(());
    }
    let memory = Scratch::below(std::path::Path::new("/dev/shm"))?;
    for name in ["lower/d", "upper", "work", "merged"] {
        fs::create_dir_all(memory.at(name))?;
    }
    fs::write(memory.at("lower/d/below"), "below")?;
    fs::hard_link(memory.at("lower/d/below"), memory.at("lower/d/twin"))?;
    let at = |name: &str| memory.at(name).display().to_string();
    let options =
        format!("lowerdir={},upperdir={},workdir={}", at("lower"), at("upper"), at("work"));
    let words = ["-t", "overlay", "overlay", "-o", &options, &at("merged")];
    if Call::of("mount").words(words).run()?.code() != Some(0) {
        ignored("overlayfs")?;
        return Ok(());
    }
    let outcome = overlay_moves(&memory);
    unmount(&memory.at("merged"))?;
    outcome
}

fn overlay_moves(memory: &Scratch) -> Outcome {
    let merged = memory.at("merged");
    fs::write(merged.join("d/above"), "above")?;
    // Renaming a directory of the lower layer is refused as if it crossed file systems.
    mv(["d", "e"]).in_dir(&merged).succeed()?;
    assert!(!merged.join("d").exists());
    for (name, bytes) in [("below", "below"), ("twin", "below"), ("above", "above")] {
        assert_eq!(fs::read(merged.join("e").join(name))?, bytes.as_bytes());
    }
    let far = Scratch::new()?;
    mv(["e"]).word(far.path()).in_dir(&merged).succeed()?;
    assert!(!merged.join("e").exists());
    mv(["e"]).word(&merged).in_dir(far.path()).succeed()?;
    assert_eq!(fs::read(merged.join("e/twin"))?, b"below");
    Call::of(super::support::run::haul()).words(["rm", "-r", "e"]).in_dir(&merged).succeed()?;
    assert_eq!(fs::read_dir(&merged)?.count(), 0);
    assert_eq!(fs::read(memory.at("lower/d/below"))?, b"below");
    Ok(())
}

#[test]
fn a_second_run_of_a_move_does_not_disturb_the_first() -> Outcome {
    let Some(two) = Two::traced()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    let whole = vec![7; 300_000];
    for (operand, file) in [("d", "d/sub/file"), ("f", "f")] {
        let call = mv(["--jobs=1", "-T", operand, &two.far("to")]).in_dir(here.path());
        let copied = if operand == "d" { "to/sub/file" } else { "to" };
        let prepare = || -> Outcome {
            here.clear_all()?;
            there.clear_all()?;
            here.write(file, &whole)?;
            here.write("d/other", "other")?;
            Ok(())
        };
        prepare()?;
        let strace = Strace::new(there.at("log"));
        strace.wrap(call.clone()).succeed()?;
        let lines = strace.lines()?;
        let mut tried = 0;
        for name in ["openat", "ftruncate", "sendfile", "splice", "syncfs", "renameat2", "unlinkat"]
        {
            for point in occurrences(&lines, name).rev().take(8) {
                prepare()?;
                let mut second = None;
                let log = Scratch::new()?;
                let first = stopped_at(&log.at("log"), &call, &point, || {
                    second = Some(call.run()?);
                    Ok(())
                })?;
                let (Some(first), Some(second)) = (first, second) else { continue };
                tried += 1;
                let found = [here.at(file), there.at(copied)].map(|path| if_there(fs::read(path)));
                let [source, target] = found;
                let (source, target) = (source?, target?);
                let is_whole = |bytes: &Option<Vec<u8>>| bytes.as_ref() == Some(&whole);
                let shown = format!("{operand} {point:?}: {first:?} {second:?}");
                assert!(is_whole(&source) || is_whole(&target), "{shown}");
                if first.code() == Some(0) || second.code() == Some(0) {
                    assert!(is_whole(&target) && source.is_none(), "{shown}");
                }
            }
        }
        assert!(tried > 10, "only {tried} points");
    }
    Ok(())
}

/// A program that has a file mapped: it writes to it before it says so, and once more when it gets a line.
const MAPPER: &str = "import mmap, os, sys
f = os.open(sys.argv[1], os.O_RDWR)
m = mmap.mmap(f, 0)
m[0:4] = b'old!'
print('ready', flush=True)
sys.stdin.readline()
m[0:4] = b'NEW!'";

/// Starts that program on a file, and waits until it has written for the first time.
fn mapper(file: &Path) -> Outcome<Child> {
    let mut mapper = Command::new("python3")
        .args(["-c", MAPPER])
        .arg(file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut said = [0; 6];
    mapper.stdout.take().ok_or("no output")?.read_exact(&mut said)?;
    Ok(mapper)
}

#[test]
fn a_source_that_is_written_through_a_mapping_stays_or_arrives_as_it_is() -> Outcome {
    let Some(two) = Two::traced()? else { return Ok(()) };
    if !has("python3")? {
        return Ok(());
    }
    let (here, there) = (&two.here, &two.there);
    let call = mv(["--jobs=1", "-T", "f", &two.far("f")]).in_dir(here.path());
    let mut tried = 0;
    for name in ["syncfs", "fsync", "renameat2"] {
        there.clear_all()?;
        let file = here.write("f", vec![b'-'; 8192])?;
        let mut mapper = mapper(&file)?;
        let point = Point { name: name.to_owned(), occurrence: 1 };
        let moved = stopped_at(&here.at("log"), &call, &point, || {
            // The end of its input is as good as a line.
            drop(mapper.stdin.take());
            Ok(mapper.wait().map(drop)?)
        })?;
        drop(mapper.stdin.take());
        mapper.wait()?;
        if moved.is_none() {
            continue;
        }
        tried += 1;
        let places = [here.at("f"), there.at("f")];
        let kept =
            places.iter().filter(|path| fs::read(path).is_ok_and(|is| is.starts_with(b"NEW!")));
        assert!(kept.count() > 0, "{name}");
    }
    assert!(tried > 0, "no call was met");
    Ok(())
}

/// No lease can be asked for on another user's file.
#[test]
fn another_users_file_that_is_written_through_a_mapping_arrives_as_it_is_or_stays() -> Outcome {
    let Some(two) = Two::traced()? else { return Ok(()) };
    if !is_root()? || !has("python3")? {
        return Ok(());
    }
    let (here, there) = (Scratch::public()?, &two.there);
    let open = fs::Permissions::from_mode(0o777);
    for folder in [here.path(), there.path()] {
        fs::set_permissions(folder, open.clone())?;
    }
    let log = Scratch::public()?;
    fs::set_permissions(log.path(), open)?;
    let call = mv(["--jobs=1", "-T", "f", &two.far("f")]).in_dir(here.path()).by_user();
    let mut tried = 0;
    for name in ["syncfs", "fsync", "renameat2"] {
        there.clear_all()?;
        let file = here.write("f", vec![b'-'; 8192])?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666))?;
        let mut mapper = mapper(&file)?;
        let point = Point { name: name.to_owned(), occurrence: 1 };
        let moved = stopped_at(&log.at("log"), &call, &point, || {
            drop(mapper.stdin.take());
            Ok(mapper.wait().map(drop)?)
        })?;
        drop(mapper.stdin.take());
        mapper.wait()?;
        if moved.is_none() {
            continue;
        }
        tried += 1;
        let kept = [here.at("f"), there.at("f")];
        let is_kept =
            kept.iter().any(|path| fs::read(path).is_ok_and(|is| is.starts_with(b"NEW!")));
        assert!(is_kept, "{name}: {moved:?}");
    }
    assert!(tried > 0, "no call was met");
    Ok(())
}

/// A file system that finds files by their paths has none for a file whose last known name is removed.
#[test]
fn a_file_with_two_names_is_moved_out_of_a_file_system_of_paths() -> Outcome {
    if !is_root()? || !has("bindfs")? || !Path::new("/dev/fuse").exists() {
        return Ok(());
    }
    let Some(two) = Two::new()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    here.write("below/d/one", "text")?;
    fs::hard_link(here.at("below/d/one"), here.at("below/d/two"))?;
    fs::create_dir(here.at("shown"))?;
    Call::of("bindfs").words(["below", "shown"]).in_dir(here.path()).succeed()?;
    let moved = mv(["shown/d", &two.far("")]).in_dir(here.path()).run();
    unmount(&here.at("shown"))?;
    let moved = moved?;
    assert_eq!((moved.code(), moved.errors()), (Some(0), String::new()));
    assert!(!here.at("below/d").exists());
    assert_eq!(fs::read(there.at("d/one"))?, b"text");
    assert_eq!(there.at("d/one").metadata()?.ino(), there.at("d/two").metadata()?.ino());
    Ok(())
}

#[test]
fn a_move_to_a_read_only_file_system_speaks_only_of_what_it_could_not_make() -> Outcome {
    if !is_root()? || !has("unshare")? {
        return Ok(());
    }
    let Some(two) = Two::new()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    here.write("f", "text")?;
    here.write("d/f", "text")?;
    let script = "mount -t tmpfs -o ro none \"$0\" && exec \"$@\"";
    for name in ["f", "d"] {
        let call = mv(["--jobs=1", name, &two.far("")]).in_dir(here.path());
        let place = two.far("");
        let done = call.under(["unshare", "-m", "--", "sh", "-c", script, &place]).run()?;
        assert_eq!(done.code(), Some(1), "{done:?}");
        assert!(!done.errors().contains(".haul-mv-"), "{name}: {done:?}");
        assert_eq!(done.errors().lines().count(), 1, "{name}: {done:?}");
        assert!(here.at(name).exists() && !there.at(name).exists(), "{name}");
    }
    Ok(())
}
