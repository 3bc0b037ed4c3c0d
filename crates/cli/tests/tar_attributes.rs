//! `haul tar` with extended attributes, lists and extended headers: the bytes and listings of GNU tar.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use super::support::run::Call;
use super::support::scratch::Scratch;
use super::support::tar::{demand_same, expected_errors, gnu_tar, is_current, ours};
use super::support::{Outcome, has, ignored, is_root};

/// Makes files with attributes. Returns `false` where the file system or the programs have none.
fn tree(scratch: &Scratch) -> Outcome<bool> {
    if !has("tar")? || !has("setfattr")? || !has("setfacl")? || !is_current()? {
        return Ok(false);
    }
    scratch.write("d/f", "x")?;
    fs::create_dir(scratch.at("d/e"))?;
    fs::hard_link(scratch.at("d/f"), scratch.at("d/h"))?;
    std::os::unix::fs::symlink("f", scratch.at("d/l"))?;
    let set =
        |program: &str, words: &[&str]| Call::of(program).words(words).in_dir(scratch.path()).run();
    for words in [
        &["-n", "user.a", "-v", "1", "d/f"][..],
        &["-n", "user.=b%", "-v", "2", "d/f"],
        &["-n", "user.c", "-v", "3", "d"],
    ] {
        if set("setfattr", words)?.code() != Some(0) {
            return Ok(false);
        }
    }
    for words in [&["-m", "u:4000000001:r--", "d/f"][..], &["-d", "-m", "u:root:rwx", "d/e"]] {
        if set("setfacl", words)?.code() != Some(0) {
            return Ok(false);
        }
    }
    let words = ["d", "-exec", "touch", "-hd", "2001-02-03 04:05:06", "{}", ";"];
    Call::of("find").words(words).in_dir(scratch.path()).succeed()?;
    Ok(true)
}

/// Reading changes the time of access, so it is no part of the archives.
const TIMES: &str = "--pax-option=delete=?time";

#[test]
fn archives_with_attributes_are_those_of_gnu_tar() -> Outcome {
    let scratch = Scratch::new()?;
    if !tree(&scratch)? {
        return Ok(());
    }
    for words in [
        "--xattrs",
        "--acls",
        "--acls --numeric-owner",
        "--xattrs --acls --selinux",
        "--xattrs-include=user.[ab] --xattrs-exclude=user.b",
        "--xattrs-include=*c",
        "--pax-option=exthdr.name=%d/X/%f.%%,exthdr.mtime=5,user:=joe",
        "--pax-option=comment=x,globexthdr.mtime=7,globexthdr.name=G.%n",
        "--pax-option=delete=SCHILY.* --xattrs",
        "--xattrs --format=gnu",
        "--format=gnu --acls --format=ustar",
        "--pax-option=GNU.sparse.name:=x",
        "--pax-option=delete=GNU.*",
        "--pax-option=what",
    ] {
        let words: Vec<&str> = ["-cf", "-", "--sort=name", TIMES]
            .into_iter()
            .chain(words.split(' '))
            .chain(["d"])
            .collect();
        let theirs = gnu_tar().words(&words).in_dir(scratch.path()).run()?;
        for jobs in ["--jobs=1", "--jobs=3"] {
            let done = ours().word(jobs).words(&words).in_dir(scratch.path()).run()?;
            assert_eq!(done.errors(), expected_errors(&theirs), "{words:?}");
            assert_eq!(done.code(), theirs.code(), "{words:?}");
            assert!(done.stdout == theirs.stdout, "{words:?}");
        }
    }
    Ok(())
}

/// Lists what `getfattr` and `getfacl` say below a directory.
fn attributes(scratch: &Scratch, below: &str) -> Outcome<String> {
    let script =
        "find . | sort | xargs -n 1 getfattr -h -d -m . ; find . | sort | xargs -n 1 getfacl -n";
    let done = Call::of("sh").words(["-c", script]).in_dir(scratch.at(below)).run()?;
    Ok(format!("{}{}", done.text(), done.errors()))
}

#[test]
fn attributes_are_listed_and_restored_as_by_gnu_tar() -> Outcome {
    let scratch = Scratch::new()?;
    if !tree(&scratch)? {
        return Ok(());
    }
    let all = ["--xattrs", "--acls", "-cf", "a.tar", "d"];
    gnu_tar().words(all).in_dir(scratch.path()).succeed()?;
    for words in ["-tvf", "-tvvf", "-tvvvf"] {
        for options in [&[][..], &["--xattrs"], &["--acls"], &["--xattrs", "--acls"]] {
            let run = |call: Call| call.words(options).words([words, "a.tar"]);
            let theirs = run(gnu_tar()).in_dir(scratch.path()).run()?;
            let done = run(ours()).in_dir(scratch.path()).run()?;
            demand_same(&format!("{options:?} {words}"), &theirs, &done);
        }
    }
    for options in [
        &[][..],
        &["--xattrs"],
        &["--acls"],
        &["--xattrs", "--acls"],
        &["--xattrs-include=user.c"],
        &["--xattrs", "--xattrs-exclude=user.a"],
    ] {
        for target in ["gnu", "haul"] {
            scratch.clear(target)?;
            fs::create_dir(scratch.at(target))?;
            let words = ["-m", "u:4000000002:rwx", "-d", "-m", "u:4000000002:rwx", target];
            Call::of("setfacl").words(words).in_dir(scratch.path()).succeed()?;
        }
        let run = |call: Call| call.words(options).words(["-xf", "../a.tar"]);
        let theirs = run(gnu_tar()).in_dir(scratch.at("gnu")).run()?;
        let done = run(ours()).in_dir(scratch.at("haul")).run()?;
        demand_same(&format!("{options:?}"), &theirs, &done);
        assert_eq!(attributes(&scratch, "haul")?, attributes(&scratch, "gnu")?, "{options:?}");
    }
    Ok(())
}

/// What a user without privileges extracted had the bits of the archive, also where a default list denies them.
#[test]
fn new_members_have_the_bits_that_a_default_list_grants() -> Outcome {
    if !has("tar")? || !has("setfacl")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("s/d/f", "x")?;
    Call::of("mkfifo").words(["-m", "644", "p"]).in_dir(scratch.at("s")).succeed()?;
    Call::of("chmod").words(["755", "d"]).in_dir(scratch.at("s")).succeed()?;
    Call::of("chmod").words(["644", "d/f"]).in_dir(scratch.at("s")).succeed()?;
    gnu_tar().words(["-C", "s", "-cf", "a.tar", "d", "p"]).in_dir(scratch.path()).succeed()?;
    for (options, listed) in [
        (&["--no-same-owner", "--no-same-permissions"][..], [0o750, 0o640, 0o640]),
        (&["--atomic", "--no-same-owner", "--no-same-permissions"], [0o750, 0o640, 0o640]),
        (&["--no-same-owner", "-p"], [0o755, 0o644, 0o644]),
    ] {
        scratch.clear("t")?;
        fs::create_dir(scratch.at("t"))?;
        let words = ["-d", "-m", "u:12345:rwx,g::r-x,o::---", "t"];
        let set = Call::of("setfacl").words(words).in_dir(scratch.path()).run()?;
        if set.code() != Some(0) {
            return ignored(&format!("a file system with ACLs: {}", set.errors()));
        }
        ours()
            .words(options)
            .words(["-C", "t", "-xf", "a.tar"])
            .in_dir(scratch.path())
            .succeed()?;
        for (name, bits) in ["t/d", "t/d/f", "t/p"].into_iter().zip(listed) {
            let mode = scratch.at(name).metadata()?.mode() & 0o7777;
            assert_eq!(mode, bits, "{options:?} {name}: {mode:o}");
        }
    }
    Ok(())
}

/// New members had the format of the last one, which has no place for attributes unless it is posix.
#[test]
fn attributes_are_appended_to_archives_of_every_format() -> Outcome {
    if !has("tar")? || !has("setfattr")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("f", "x")?;
    scratch.write("g", "y")?;
    let set = Call::of("setfattr").words(["-n", "user.a", "-v", "1", "g"]);
    if set.in_dir(scratch.path()).run()?.code() != Some(0) {
        return ignored("a file system with extended attributes");
    }
    for format in ["gnu", "oldgnu", "ustar", "v7", "posix"] {
        let create = || -> Outcome {
            let option = format!("--format={format}");
            ours().words([&option, "-cf", "a.tar", "f"]).in_dir(scratch.path()).succeed()?;
            Ok(())
        };
        create()?;
        ours().words(["-rf", "a.tar", "--xattrs", "g"]).in_dir(scratch.path()).succeed()?;
        let words = ["--xattrs", "-tvvf", "a.tar"];
        for call in [gnu_tar(), ours()] {
            let text = call.words(words).in_dir(scratch.path()).succeed()?.text();
            assert!(text.contains(" f\n") && text.contains("user.a"), "{format}: {text}");
        }
        create()?;
        ours().words(["-rf", "a.tar", "--posix", "g"]).in_dir(scratch.path()).succeed()?;
        let bytes = fs::read(scratch.at("a.tar"))?;
        let has_header = bytes
            .chunks_exact(512)
            .any(|block| block.starts_with(b"./PaxHeaders/g") && block.get(156) == Some(&b'x'));
        assert!(has_header, "{format}");
        ours().words(["-df", "a.tar"]).in_dir(scratch.path()).succeed()?;
        // A format that cannot have them is refused before the archive is changed.
        create()?;
        let before = fs::read(scratch.at("a.tar"))?;
        let words = ["-rf", "a.tar", "--xattrs", "--format=gnu", "g"];
        let done = ours().words(words).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(2), "{format}");
        let told = "--xattrs can be used only on POSIX archives";
        assert!(done.errors().contains(told), "{}", done.errors());
        assert!(fs::read(scratch.at("a.tar"))? == before, "{format}");
    }
    Ok(())
}

/// Makes archives with GNU tar in a shell, extracts each into `t`, and tells the exit status and the modes of all that
/// is there.
fn extracted(program: &Call, making: &str, words: &[&str]) -> Outcome<(Option<i32>, String)> {
    let scratch = Scratch::new()?;
    let made = Call::of("sh").words(["-ec", making]).in_dir(scratch.path());
    made.succeed()?;
    let done = program.clone().words(["-C", "t"]).words(words).in_dir(scratch.path()).run()?;
    let listed = Call::of("sh")
        .words(["-c", "cd t && find . -printf '%P %y %m %s %l\\n' | sort"])
        .in_dir(scratch.path())
        .succeed()?;
    Ok((done.code(), listed.text()))
}

#[test]
fn a_list_that_is_refused_grants_nothing() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    // The kernel wants a mask beside a named user; the other name is no user's.
    for list in [
        "user::rwx\nuser:daemon:rwx\ngroup::rwx\nother::rwx",
        "user::rwx\nuser:no such user:rwx\ngroup::rwx\nmask::rwx\nother::rwx",
    ] {
        let making = format!(
            "umask 022; mkdir t; echo >f; chmod 600 f
             tar --format=posix --pax-option='SCHILY.acl.access:={list}' -cf a.tar f"
        );
        let words = ["--acls", "-xpf", "a.tar"];
        let (code, modes) = extracted(&ours(), &making, &words)?;
        assert!(modes.contains("f f 600 "), "{list}: {code:?} {modes}");
    }
    Ok(())
}

#[test]
fn names_that_later_members_take_are_no_failure() -> Outcome {
    let trees =
        "mkdir -p t a/b; echo >a/b/f; tar -cf a.tar a; rm -r a; echo >a; tar -rf a.tar a; rm a
        mkdir -p a/b; echo >a/b/g; tar -rf a.tar a/b/g";
    let links = "mkdir -p t x/c y/c; echo >y/c/q; ln -s x l; tar -cf a.tar x y l
        tar -rf a.tar l/c; rm l; ln -s y l; tar -rf a.tar l";
    for (making, words) in [
        (trees, &["--recursive-unlink", "-xf", "a.tar"][..]),
        (trees, &["--recursive-unlink", "--unlink-first", "-xf", "a.tar"]),
        (links, &["-xf", "a.tar"]),
    ] {
        let [haul, gnu] = [ours(), Call::of("tar")].map(|tar| extracted(&tar, making, words));
        assert_eq!(haul?, gnu?, "{words:?}: {making}");
    }
    Ok(())
}
