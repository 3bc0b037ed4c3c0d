//! `haul tar -x`: the trees that GNU tar makes, with its messages; and archives that try to escape.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use haul_manifest::{Aspect, Aspects};

use super::support::judge::{demand_equal, snapshot};
use super::support::run::{Call, USER, haul};
use super::support::scratch::Scratch;
use super::support::strace::{Strace, is_usable};
use super::support::tar::{both, contents, demand_same, gnu_tar, is_current};
use super::support::{Outcome, has, is_root};

fn ours() -> Call {
    Call::of(haul()).word("tar")
}

/// A tree with every kind that needs no privilege. Directories are older than any run.
fn tree(scratch: &Scratch) -> Outcome {
    scratch.write("d/a", "hi\n")?;
    scratch.write("d/e/f.o", "")?;
    for number in 0..300 {
        scratch.write(&format!("d/many/{}/{number}", number % 7), vec![b'x'; number * 37])?;
    }
    scratch.write("d/large", vec![b'y'; 3 << 20])?;
    scratch.write(&format!("d/{}/{}", "n".repeat(90), "k".repeat(95)), "deep")?;
    symlink("a", scratch.at("d/l"))?;
    symlink("../../outside", scratch.at("d/up"))?;
    symlink("/nowhere", scratch.at("d/absolute"))?;
    fs::hard_link(scratch.at("d/up"), scratch.at("d/up2"))?;
    fs::hard_link(scratch.at("d/a"), scratch.at("d/h"))?;
    fs::set_permissions(scratch.at("d/e"), fs::Permissions::from_mode(0o555))?;
    fs::set_permissions(scratch.at("d/a"), fs::Permissions::from_mode(0o2750))?;
    let file = fs::File::options().write(true).open(scratch.write("d/sparse", "")?)?;
    file.set_len(10 << 20)?;
    std::os::unix::fs::FileExt::write_all_at(&file, b"middle", 5_000_000)?;
    Call::of("find")
        .words(["d", "-exec", "touch", "-hd", "2001-02-03 04:05:06.789", "{}", ";"])
        .in_dir(scratch.path())
        .succeed()?;
    Ok(())
}

#[test]
fn every_format_is_extracted_from_files_pipes_and_compressed() -> Outcome {
    if !has("tar")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    for format in ["gnu", "oldgnu", "posix", "ustar"] {
        for sparse in ["-S", "-p"] {
            if (format, sparse) == ("ustar", "-S") {
                continue;
            }
            let words = ["--format", format, sparse, "-cf", "a.tar", "d"];
            gnu_tar().words(words).in_dir(scratch.path()).succeed()?;
            gnu_tar().words(words).word("-z").in_dir(scratch.path()).succeed()?;
            let packed = fs::read(scratch.at("a.tar"))?;
            gnu_tar().words(words).in_dir(scratch.path()).succeed()?;
            let plain = fs::read(scratch.at("a.tar"))?;
            for target in ["gnu", "file", "pipe", "packed", "one"] {
                scratch.clear(target)?;
                fs::create_dir(scratch.at(target))?;
            }
            gnu_tar().words(["-xpf", "../a.tar"]).in_dir(scratch.at("gnu")).succeed()?;
            ours().words(["-xpf", "../a.tar"]).in_dir(scratch.at("file")).succeed()?;
            ours().words(["-xp"]).input(plain).in_dir(scratch.at("pipe")).succeed()?;
            ours().words(["-xp"]).input(packed).in_dir(scratch.at("packed")).succeed()?;
            let one = ["-xpf", "../a.tar", "--jobs=1"];
            ours().words(one).in_dir(scratch.at("one")).succeed()?;
            for target in ["file", "pipe", "packed", "one"] {
                let (gnu, haul) = (scratch.at("gnu/d"), scratch.at(target).join("d"));
                demand_equal(
                    &gnu,
                    &haul,
                    Aspects::preserved(),
                    &format!("{format} {sparse} {target}"),
                );
            }
        }
    }
    Ok(())
}

/// Writes archives of a table with Python's tarfile: what no tar would write.
fn forge(scratch: &Scratch, name: &str, members: &str) -> Outcome {
    let script = format!(
        "import tarfile,io\n\
         t=tarfile.open('{name}','w')\n\
         def add(name,kind='0',link='',data=b'',mode=0o644,**more):\n\
         \x20i=tarfile.TarInfo(name); i.type=kind.encode(); i.linkname=link; i.mode=mode\n\
         \x20i.size=len(data); i.pax_headers=more\n\
         \x20t.addfile(i,io.BytesIO(data))\n\
         {members}\n\
         t.close()\n"
    );
    Call::of("python3").words(["-c", &script]).in_dir(scratch.path()).succeed()?;
    Ok(())
}

/// What an archive contains, and what must be said about it.
const ESCAPES: &[(&str, &str)] = &[
    ("add('../out/x',data=b'1')", "Member name contains '..'"),
    ("add('a/../../out/x',data=b'1')", "Member name contains '..'"),
    ("add('ABS/out/x',data=b'1')", "Removing leading `/' from member names"),
    ("add('l','2','../out'); add('l/x',data=b'1')", "l/x: Cannot open"),
    ("add('l','2','ABS/out'); add('l/x',data=b'1')", "l/x: Cannot open"),
    (
        "add('d','5'); add('d/m','2','.'); add('d/m/l','2','../../out'); add('d/l/x',data=b'1')",
        "d/l/x: Cannot open",
    ),
    ("add('h','1','../out/secret'); add('h',data=b'1')", "from hard link targets"),
    ("add('l','2','../out/secret'); add('h','1','l'); add('h',data=b'1'); add('l',data=b'1')", ""),
    ("add('planted/x',data=b'1')", "planted/x: Cannot open"),
    ("add('planted/d/','5')", "planted/d: Cannot mkdir"),
    ("add('planted/l','2','a')", "planted/l: Cannot create symlink to 'a'"),
    ("add('planted/p','6')", "planted/p: Cannot mkfifo"),
    ("add('planted/h','1','own')", "planted/h: Cannot hard link to 'own'"),
    (
        "add('h','1','planted/secret'); add('h',data=b'1')",
        "h: Cannot hard link to 'planted/secret'",
    ),
    ("add('planted',data=b'1')", ""),
    ("add('planted/','5',mode=0o777)", ""),
    ("add('file',data=b'1')", ""),
];

#[test]
fn no_archive_leads_out_of_the_target() -> Outcome {
    if !has("python3")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let root = scratch.path().display().to_string();
    for (members, message) in ESCAPES {
        forge(&scratch, "a.tar", &members.replace("ABS", &root))?;
        let archive = fs::read(scratch.at("a.tar"))?;
        for option in ["-p", "--overwrite", "-U", "--keep-newer-files", "--no-overwrite-dir"] {
            scratch.clear_all()?;
            scratch.write("a.tar", &archive)?;
            scratch.write("out/secret", "secret")?;
            scratch.write("in/own", "own")?;
            symlink("../out", scratch.at("in/planted"))?;
            symlink("../out/secret", scratch.at("in/file"))?;
            let before = snapshot(&scratch.at("out"));
            let done = ours().words(["-xf", "../a.tar", option]).in_dir(scratch.at("in")).run()?;
            assert_eq!(snapshot(&scratch.at("out")), before, "{members} {option}");
            assert!(done.errors().contains(message), "{members} {option}: {}", done.errors());
        }
    }
    Ok(())
}

#[test]
fn a_link_within_the_target_is_followed_as_gnu_tar_does() -> Outcome {
    if !has("python3")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    forge(
        &scratch,
        "a.tar",
        "add('usr/lib','5',mode=0o755); add('lib','2','usr/lib'); add('lib/x',data=b'1')",
    )?;
    ours().words(["-xf", "a.tar"]).in_dir(scratch.path()).succeed()?;
    assert_eq!(fs::read(scratch.at("usr/lib/x"))?, b"1");
    Ok(())
}

#[test]
fn what_is_left_out_and_empty_lists_are_those_of_gnu_tar() -> Outcome {
    if !has("tar")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    for name in ["foo", "bar", ".hg/f", ".hgtags", ".git/f"] {
        scratch.write(&format!("s/{name}"), name)?;
    }
    gnu_tar().words(["-cf", "a.tar", "-C", "s", "."]).in_dir(scratch.path()).succeed()?;
    gnu_tar().words(["-cf", "b.tar", "-C", "s", "foo", "bar"]).in_dir(scratch.path()).succeed()?;
    for words in [
        "-xf b.tar -C in --exclude=foo foo bar",
        "-xf b.tar -C in -T /dev/null",
        "-xf a.tar -C in -T /dev/null",
    ] {
        let reset = || -> Outcome {
            scratch.clear("in")?;
            Ok(fs::create_dir(scratch.at("in"))?)
        };
        let (gnu, haul) = both(&scratch, words, &reset)?;
        demand_same(words, &gnu, &haul);
        let found = contents(&scratch, "in")?;
        reset()?;
        gnu_tar().words(words.split(' ')).in_dir(scratch.path()).run()?;
        assert_eq!(found, contents(&scratch, "in")?, "{words}");
    }
    let words = ["-tf", "a.tar", "--exclude-vcs"];
    let left = ours().words(words).in_dir(scratch.path()).succeed()?.text();
    assert!(left.contains("./foo") && !left.contains("hg") && !left.contains("git"), "{left}");
    Ok(())
}

/// Headers that programs read differently, and what haul says.
const REFUSED: &[(&str, &str)] = &[
    ("add('a',data=b'1234',size='2')", "a: refused: its header and its extended header"),
    ("add('a',size='x')", "a number in its header is malformed"),
    ("add('a',path='b\\0c')", "its name or link target contains a NUL"),
    (
        "add('a',**{'GNU.sparse.map':'0,5,3,2','GNU.sparse.size':'9','GNU.sparse.numblocks':'2'})",
        "its sparse map overlaps",
    ),
    (
        "add('a',**{'GNU.sparse.major':'7','GNU.sparse.minor':'0','GNU.sparse.realsize':'9'})",
        "the version of its sparse map is not supported",
    ),
];

#[test]
fn what_programs_read_differently_is_refused() -> Outcome {
    if !has("python3")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    for (members, message) in REFUSED {
        forge(&scratch, "a.tar", members)?;
        fs::create_dir(scratch.at("in"))?;
        for words in [["-xf", "../a.tar"], ["-tf", "../a.tar"]] {
            let done = ours().words(words).in_dir(scratch.at("in")).run()?;
            assert_eq!(done.code(), Some(2), "{members}");
            assert!(done.errors().contains(message), "{members}: {}", done.errors());
        }
        fs::remove_dir(scratch.at("in"))?;
    }
    Ok(())
}

#[test]
fn existing_files_are_treated_as_gnu_tar_treats_them() -> Outcome {
    if !has("tar")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("d/a", "new")?;
    scratch.write("d/e/f", "new")?;
    scratch.write("d/dir", "a file")?;
    symlink("new", scratch.at("d/l"))?;
    gnu_tar().words(["-cf", "a.tar", "d"]).in_dir(scratch.path()).succeed()?;
    let prepare = |target: &Path| -> Outcome {
        fs::create_dir_all(target.join("d/dir"))?;
        fs::create_dir_all(target.join("d/e"))?;
        fs::write(target.join("d/a"), "old and longer")?;
        fs::hard_link(target.join("d/a"), target.join("d/other"))?;
        symlink("old", target.join("d/l"))?;
        fs::set_permissions(target.join("d/e"), fs::Permissions::from_mode(0o700))?;
        Ok(())
    };
    for words in [
        "",
        "-k",
        "-v --skip-old-files",
        "--keep-newer-files",
        "--overwrite",
        "--no-overwrite-dir",
        "-U",
        "--exclude=dir --strip-components=1",
        "-O d/a",
        "d/e d/zz",
        "-v -C d d/e",
    ] {
        let words: Vec<&str> =
            ["-xf", "../a.tar"].into_iter().chain(words.split_whitespace()).collect();
        // GNU tar 1.35 finds the directory that it keeps inconsistent.
        if words.contains(&"--keep-newer-files") && is_current()? {
            continue;
        }
        let mut told = Vec::new();
        for target in ["gnu", "haul"] {
            scratch.clear(target)?;
            prepare(&scratch.at(target))?;
            let call = if target == "gnu" { gnu_tar() } else { ours() };
            let done = call.words(&words).in_dir(scratch.at(target)).run()?;
            // Workers report in no particular order.
            let errors = done.errors();
            let mut lines: Vec<String> = errors.lines().map(str::to_owned).collect();
            lines.sort();
            told.push((done.code(), done.stdout.clone(), lines));
        }
        assert_eq!(told[0], told[1], "{words:?}");
        let aspects = Aspects::preserved().without(Aspect::Mtime);
        demand_equal(&scratch.at("gnu"), &scratch.at("haul"), aspects, &format!("{words:?}"));
    }
    Ok(())
}

#[test]
fn programs_that_run_as_their_owner_need_that_owner() -> Outcome {
    if !is_root()? || !has("python3")? {
        return Ok(());
    }
    let scratch = Scratch::public()?;
    forge(&scratch, "a.tar", "add('s',mode=0o6755)")?;
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o777))?;
    let mode =
        || -> Outcome<u32> { Ok(fs::metadata(scratch.at("s"))?.permissions().mode() & 0o7777) };
    ours().words(["-xf", "a.tar"]).in_dir(scratch.path()).succeed()?;
    assert_eq!(mode()?, 0o6755);
    fs::remove_file(scratch.at("s"))?;
    let done = ours().words(["-xpf", "a.tar"]).in_dir(scratch.path()).by_user().run()?;
    assert_eq!((done.code(), mode()?), (Some(0), 0o755), "{USER}");
    assert!(done.errors().contains("6000 not set"), "{}", done.errors());
    Ok(())
}

#[test]
fn a_torn_archive_gives_no_file_that_looks_complete() -> Outcome {
    if !has("tar")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("d/large", vec![b'y'; 3 << 20])?;
    gnu_tar().words(["-cf", "a.tar", "d"]).in_dir(scratch.path()).succeed()?;
    let torn = fs::read(scratch.at("a.tar"))?[..2 << 20].to_vec();
    scratch.write("torn.tar", &torn)?;
    for from_pipe in [false, true] {
        scratch.clear("in")?;
        fs::create_dir(scratch.at("in"))?;
        let call = if from_pipe {
            ours().words(["-x"]).input(torn.clone())
        } else {
            ours().words(["-xf", "../torn.tar"])
        };
        let done = call.in_dir(scratch.at("in")).run()?;
        assert_eq!(done.code(), Some(2));
        assert!(done.errors().contains("Unexpected EOF in archive"), "{}", done.errors());
        assert!(!scratch.at("in/d/large").exists(), "{from_pipe}");
    }
    Ok(())
}

/// Two names of one file are written by one thread, so that the last member has it whole.
#[test]
fn names_of_one_file_are_overwritten_one_after_the_other() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("s/x", vec![b'x'; 300_000])?;
    scratch.write("s/y", vec![b'y'; 200_000])?;
    let create = ["-C", "s", "-cf", "a.tar", "x", "y", "x", "y"];
    ours().words(create).in_dir(scratch.path()).succeed()?;
    let archive = fs::read(scratch.at("a.tar"))?;
    for from in ["a.tar", "-"] {
        scratch.clear("t")?;
        scratch.write("t/x", "old")?;
        fs::hard_link(scratch.at("t/x"), scratch.at("t/y"))?;
        let strace = Strace::new(scratch.at("log")).trace("execve,ftruncate");
        let words = ["-xf", from, "--overwrite", "--jobs=2", "-C", "t"];
        let call = ours().words(words).input(archive.clone()).in_dir(scratch.path());
        strace.wrap(call).succeed()?;
        for name in ["t/x", "t/y"] {
            assert!(fs::read(scratch.at(name))? == [b'y'; 200_000], "{from} {name}");
        }
        let lines = strace.lines()?;
        let threads: Vec<_> = lines.iter().map(|line| line.pid).collect();
        assert!(threads.len() > 1 && threads.iter().all(|pid| *pid == threads[0]), "{lines:?}");
    }
    Ok(())
}

/// Such a link was removed, because haul does not go through it, and a directory made in its place.
#[test]
fn a_link_that_is_to_stay_and_leads_out_is_an_error() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("s/var/run/pid", "1")?;
    scratch.write("s/zlast", "z")?;
    let words = ["-C", "s", "-cf", "a.tar", "var", "zlast"];
    ours().words(words).in_dir(scratch.path()).succeed()?;
    fs::create_dir(scratch.at("run"))?;
    let keep = "--keep-directory-symlink";
    for target in [scratch.at("run").display().to_string(), "../../run".to_owned()] {
        let reset = || -> Outcome {
            scratch.clear("t")?;
            fs::create_dir_all(scratch.at("t/var"))?;
            symlink(&target, scratch.at("t/var/run"))?;
            Ok(())
        };
        reset()?;
        let words = ["-xf", "a.tar", "-C", "t", keep];
        let dry = ours().words(words).word("--dry-run").in_dir(scratch.path()).run()?;
        assert_eq!(dry.code(), Some(2), "{}", dry.errors());
        let done = ours().words(words).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(2), "{}", done.errors());
        for told in
            ["var/run: Cannot follow the symbolic link (see -P): ", "var/run/pid: Cannot open: "]
        {
            assert!(done.errors().contains(told), "{}", done.errors());
        }
        assert_eq!(fs::read_link(scratch.at("t/var/run"))?.to_str(), Some(&target[..]));
        assert_eq!(fs::read(scratch.at("t/zlast"))?, b"z");
        assert!(!scratch.at("run/pid").exists());
        // With `-P` the user lets members go through it.
        let words = ["-P", "-xf", "a.tar", "-C", "t", keep];
        ours().words(words).in_dir(scratch.path()).succeed()?;
        assert_eq!(fs::read(scratch.at("run/pid"))?, b"1");
        assert!(fs::symlink_metadata(scratch.at("t/var/run"))?.is_symlink());
        fs::remove_file(scratch.at("run/pid"))?;
    }
    // A link to no directory is replaced, as with GNU tar.
    for target in ["none", "../zlast", "run"] {
        scratch.clear("t")?;
        fs::create_dir_all(scratch.at("t/var"))?;
        scratch.write("t/zlast", "old")?;
        symlink(target, scratch.at("t/var/run"))?;
        let words = ["-xf", "a.tar", "-C", "t", keep];
        ours().words(words).in_dir(scratch.path()).succeed()?;
        assert!(fs::symlink_metadata(scratch.at("t/var/run"))?.is_dir(), "{target}");
    }
    Ok(())
}

/// A member that has the name of the archive which is being read.
#[test]
fn the_archive_is_not_written_over_while_it_is_read() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("a", "what the member has")?;
    for number in 0..20 {
        scratch.write(&format!("f{number}"), vec![number; 100_000])?;
    }
    let names: Vec<String> = (0..20).map(|number| format!("f{number}")).collect();
    for options in [&[][..], &["-z"], &["--zstd"]] {
        fs::create_dir_all(scratch.at("in"))?;
        let create = ours().words(["-c", "a"]).words(&names).words(options).in_dir(scratch.path());
        let archive = create.succeed()?.stdout;
        for input in [&["-f", "a"][..], &["-f-"]] {
            fs::remove_dir_all(scratch.at("in"))?;
            scratch.write("in/a", &archive)?;
            let extract = ours().words(["--overwrite", "-x"]).words(input).in_dir(scratch.at("in"));
            let script = "exec \"$0\" tar --overwrite -x -f- <a";
            let piped = Call::of("sh").words(["-c", script]).word(haul()).in_dir(scratch.at("in"));
            let call = if input.len() == 2 { extract } else { piped };
            call.succeed()?;
            assert_eq!(fs::read(scratch.at("in/a"))?, b"what the member has", "{options:?}");
            for (number, name) in names.iter().enumerate() {
                let found = fs::read(scratch.at("in").join(name))?;
                assert!(found == vec![number as u8; 100_000], "{options:?} {input:?} {name}");
            }
        }
    }
    Ok(())
}
