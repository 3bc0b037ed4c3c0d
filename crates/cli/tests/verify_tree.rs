//! `haul verify TREE --against SUMS|TREE`: its findings and its exit status.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use rustix::fs::{Mode, OFlags};

use super::support::run::{Call, Done, haul};
use super::support::scratch::Scratch;
use super::support::shell::demand;
use super::support::{Outcome, has};

fn verify(scratch: &Scratch, words: &[&str]) -> Outcome<Done> {
    Call::of(haul()).word("verify").words(words).in_dir(scratch.path()).run()
}

fn furnish(scratch: &Scratch) -> Outcome {
    for name in ["t/a", "t/d/b", "t/d/with space", "t/d/new\nline"] {
        scratch.write(name, name.repeat(1000))?;
    }
    fs::write(scratch.at("t").join(OsStr::from_bytes(b"\xff")), "bytes")?;
    Ok(())
}

/// Writes the sums of the tree with an ordinary program.
fn sums(scratch: &Scratch, program: &str, file: &str) -> Outcome {
    let script = format!("cd t && find . -type f -exec {program} {{}} + > ../{file}");
    Call::of("sh").words(["-c", &script]).in_dir(scratch.path()).succeed()?;
    Ok(())
}

#[test]
fn sums_of_the_ordinary_programs_are_understood() -> Outcome {
    for (program, file) in [
        ("sha256sum", "SHA256SUMS"),
        ("sha256sum --tag", "sums"),
        ("md5sum -b", "MD5SUMS"),
        ("sha1sum", "sums"),
        ("sha512sum", "sha512"),
        ("b2sum", "B2SUMS.b2"),
    ] {
        if !has(program.split(' ').next().unwrap_or_default())? {
            continue;
        }
        let scratch = Scratch::new()?;
        furnish(&scratch)?;
        sums(&scratch, program, file)?;
        let done = verify(&scratch, &["t", "--against", file])?;
        assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""), "{program}: {done:?}");
        assert!(done.text().contains("5 files"), "{program}: {done:?}");
    }
    Ok(())
}

#[test]
fn what_is_missing_extra_or_different_is_listed() -> Outcome {
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    sums(&scratch, "sha256sum", "SHA256SUMS")?;
    // One bit, in the middle, with the same size.
    let mut bytes = fs::read(scratch.at("t/a"))?;
    let middle = bytes.len() / 2;
    bytes.get_mut(middle).into_iter().for_each(|byte| *byte ^= 1);
    fs::write(scratch.at("t/a"), bytes)?;
    fs::remove_file(scratch.at("t/d/b"))?;
    fs::remove_file(scratch.at("t/d/with space"))?;
    symlink("../a", scratch.at("t/d/with space"))?;
    scratch.write("t/extra", "extra")?;
    let done = verify(&scratch, &["--against=SHA256SUMS", "t"])?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    for line in
        ["differs: 't/a'", "missing: 'd/b'", "no regular file: 'd/with space'", "extra: 'extra'"]
    {
        let line = line.replace("'t/", "'./").replace("'d/", "'./d/");
        assert!(done.text().contains(&line), "{line}: {done:?}");
    }
    let done = verify(&scratch, &["--against=SHA256SUMS", "--ignore-extra", "--json", "t"])?;
    assert_eq!(done.text().matches("\"event\":\"finding\"").count(), 3, "{done:?}");
    let done = verify(&scratch, &["--against=SHA256SUMS", "-q", "t"])?;
    assert_eq!((done.code(), done.text().as_str()), (Some(1), ""));
    Ok(())
}

#[test]
fn an_error_is_not_reported_as_a_difference() -> Outcome {
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    scratch.write("outside", "outside")?;
    scratch.write("none", "no checksum here\n")?;
    let digits = "0".repeat(64);
    scratch.write("vague", format!("{digits}  a\n"))?;
    scratch.write("SHA256.out", format!("{digits}  ../outside\n{digits}  a/../../outside\n"))?;
    for (words, code) in [
        (["t", "--against=none"], 2),
        (["t", "--against=vague"], 2),
        (["t", "--against=missing"], 2),
        (["nowhere", "--against=SHA256.out"], 2),
    ] {
        let done = verify(&scratch, &words)?;
        assert_eq!(done.code(), Some(code), "{words:?}: {done:?}");
        assert_ne!(done.errors(), "", "{words:?}");
    }
    // Files outside the tree are never opened, even if the list names them.
    let done = verify(&scratch, &["t", "--ignore-extra", "--against=SHA256.out"])?;
    assert_eq!(done.text().matches("missing: ").count(), 2, "{done:?}");
    Ok(())
}

/// Copies `t` to `copy`, with a sum file.
fn copied(scratch: &Scratch, words: &[&str]) -> Outcome {
    let call = Call::of(haul()).words(["cp", "-r", "--sum-file=S"]).words(words);
    call.in_dir(scratch.path()).succeed()?;
    Ok(())
}

#[test]
fn the_sum_file_of_a_copy_needs_no_further_word() -> Outcome {
    for hash in ["blake3", "sha256", "md5", "xxh3-64", "sha1", "sha512", "blake2b"] {
        let scratch = Scratch::new()?;
        furnish(&scratch)?;
        scratch.write("t/empty", "")?;
        copied(&scratch, &["--hash", hash, "t", "copy"])?;
        for words in [&["copy", "--against", "S"][..], &["./copy/", "--against=./S"]] {
            let done = verify(&scratch, words)?;
            assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""), "{hash}: {done:?}");
            assert!(done.text().starts_with("6 files"), "{hash}: {done:?}");
        }
        // From another directory, by other names of the same tree.
        let (tree, sums) = (scratch.at("copy"), scratch.at("S"));
        let call = Call::of(haul()).word("verify").word(&tree).word("--against").word(&sums);
        assert_eq!(call.in_dir("/").run()?.code(), Some(0), "{hash}");
        let call = Call::of(haul()).words(["verify", ".", "--against", "../S"]);
        assert_eq!(call.in_dir(&tree).run()?.code(), Some(0), "{hash}");
        symlink("copy", scratch.at("link"))?;
        assert_eq!(verify(&scratch, &["link/", "--against", "S"])?.code(), Some(0), "{hash}");
        // Differences are still found.
        scratch.write("copy/d/b", "other")?;
        scratch.write("copy/more", "more")?;
        fs::remove_file(scratch.at("copy/a"))?;
        let done = verify(&scratch, &["copy", "--against", "S"])?;
        assert_eq!(done.code(), Some(1), "{hash}: {done:?}");
        for line in ["differs: 'copy/d/b'", "missing: 'copy/a'", "extra: 'more'"] {
            assert!(done.text().contains(line), "{hash}, {line}: {done:?}");
        }
    }
    Ok(())
}

#[test]
fn the_sum_file_of_a_copy_fits_wherever_the_copy_is() -> Outcome {
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    // Into a directory, to which the names are then relative; and to a path of several components.
    fs::create_dir(scratch.at("into"))?;
    copied(&scratch, &["t", "into"])?;
    assert_eq!(verify(&scratch, &["into", "--against", "S"])?.code(), Some(0));
    assert_eq!(verify(&scratch, &["into/t", "--against", "S"])?.code(), Some(0));
    copied(&scratch, &["t", "into/deeper"])?;
    assert_eq!(verify(&scratch, &["into/deeper", "--against", "S"])?.code(), Some(0));
    // By an absolute path, and one file alone.
    let absolute = scratch.at("absolute").to_string_lossy().into_owned();
    copied(&scratch, &["t", &absolute])?;
    assert_eq!(verify(&scratch, &["absolute", "--against", "S"])?.code(), Some(0));
    copied(&scratch, &["t/a", "into/file"])?;
    assert_eq!(verify(&scratch, &["into/file", "--against", "S"])?.code(), Some(0));
    // A directory in the tree has the tree's name: the names that fit more files count.
    scratch.write("u/u/a", "inner")?;
    scratch.write("u/b", "outer")?;
    copied(&scratch, &["u", "v"])?;
    fs::rename(scratch.at("v/u"), scratch.at("v/v"))?;
    let sums = fs::read_to_string(scratch.at("S"))?.replace("v/u/", "v/v/");
    fs::write(scratch.at("S"), sums)?;
    assert_eq!(verify(&scratch, &["v", "--against", "S"])?.code(), Some(0));
    Ok(())
}

#[test]
fn other_programs_check_the_sum_file_where_the_copy_was_made() -> Outcome {
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    copied(&scratch, &["--hash=sha256", "t", "copy"])?;
    let call = Call::of("sha256sum").words(["--strict", "--quiet", "-c", "S"]);
    call.in_dir(scratch.path()).succeed()?;
    copied(&scratch, &["t", "other"])?;
    Call::of(haul()).words(["b3sum", "--quiet", "-c", "S"]).in_dir(scratch.path()).succeed()?;
    Ok(())
}

#[test]
fn a_tree_serves_instead_of_sums() -> Outcome {
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    Call::of(haul()).words(["cp", "-r", "t", "u"]).in_dir(scratch.path()).succeed()?;
    assert_eq!(verify(&scratch, &["t", "--against", "u"])?.code(), Some(0));
    scratch.write("u/more", "more")?;
    assert_eq!(verify(&scratch, &["t", "--against", "u"])?.code(), Some(1));
    for option in ["--ignore-extra", "--algorithm=sha256"] {
        let done = verify(&scratch, &["u", "--against", "t", option])?;
        assert_eq!(done.code(), Some(2), "{option}");
        assert!(done.errors().contains("is for checksums, and 't' is a directory"), "{option}");
    }
    Ok(())
}

/// A tree deeper than a path may be long is listed and read.
#[test]
fn a_tree_deeper_than_a_path_is_verified() -> Outcome {
    let scratch = Scratch::new()?;
    let name = "d".repeat(200);
    fs::create_dir(scratch.at("t"))?;
    let mut parent = rustix::fs::open(scratch.at("t"), OFlags::PATH, Mode::empty())?;
    let mut listed = String::new();
    for _ in 0..30 {
        rustix::fs::mkdirat(&parent, &*name, Mode::RWXU)?;
        parent = rustix::fs::openat(&parent, &*name, OFlags::PATH, Mode::empty())?;
        listed = format!("{listed}{name}/");
    }
    let flags = OFlags::WRONLY | OFlags::CREATE;
    let file = rustix::fs::openat(&parent, "f", flags, Mode::RUSR | Mode::WUSR)?;
    rustix::io::write(&file, b"deep")?;
    drop(file);
    let digest = "c63c4346e2ee8f1fb77b5b52df4b9c42eb8eb9d3a4a9ecb0f9eee6ab0a8e6c0c";
    scratch.write("wrong.sha256", format!("{digest}  {listed}f\n"))?;
    let done = verify(&scratch, &["t", "--jobs=2", "--against=wrong.sha256"])?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert!(done.text().starts_with("differs: 'ddd"), "{done:?}");
    assert!(done.text().contains("1 file, "), "{done:?}");
    Ok(())
}

#[test]
fn no_two_names_of_a_list_mean_one_file() -> Outcome {
    for (made, lost, missing) in [
        (
            "mkdir -p foo/foo; echo hi > foo/LICENSE; : > foo/__init__.py; : > foo/foo/__init__.py
             (cd foo; sha256sum LICENSE __init__.py foo/__init__.py) > S.sha256",
            "rm -r foo/foo",
            "missing: 'foo/__init__.py'",
        ),
        (
            "mkdir foo; echo 1 > f; cp f foo/f; echo t > foo/g; sha256sum f foo/f foo/g > S.sha256",
            "rm f",
            "missing: 'f'",
        ),
    ] {
        let scratch = Scratch::new()?;
        demand(scratch.path(), &format!("{made}; {lost}"))?;
        let done = verify(&scratch, &["foo", "--against=S.sha256"])?;
        assert!(done.code() == Some(1) && done.text().contains(missing), "{done:?}");
    }
    Ok(())
}
