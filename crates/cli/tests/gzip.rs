//! `gzip`, `gunzip`, `zcat`: what happens to the files around the data. The data are the codec's
//! tests' business; GNU's gzip, where it is installed, judges both.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use rustix::fs::{XattrFlags, getxattr, setxattr};

use super::support::run::{Call, Done, haul};
use super::support::scratch::Scratch;
use super::support::{Outcome, entries, has, hidden, ignored};

/// Starts an applet in a folder.
fn call<'a>(scratch: &Scratch, words: impl IntoIterator<Item = &'a str>) -> Call {
    Call::of(haul()).words(words).in_dir(scratch.path())
}

/// Runs a call that says something although it succeeds.
fn speaking(call: &Call) -> Outcome<Done> {
    let done = call.run()?;
    assert_eq!(done.code(), Some(0), "{}", done.errors());
    Ok(done)
}

/// Returns text that several blocks hold.
fn text() -> Vec<u8> {
    (0..300_000_u32).flat_map(|line| format!("line {} of it\n", line * 7919).into_bytes()).collect()
}

/// Returns the names in a folder.
fn names(dir: &Path) -> Outcome<Vec<String>> {
    let mut names: Vec<String> = entries(dir)?
        .iter()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}

#[test]
fn files_are_replaced_and_come_back_and_gnu_agrees() -> Outcome {
    let scratch = Scratch::new()?;
    let text = text();
    let has_gnu = has("gzip")?;
    for level in ["-1", "-6", "-9"] {
        scratch.write("a", &text)?;
        call(&scratch, ["gzip", level, "a"]).succeed()?;
        assert_eq!(names(scratch.path())?, ["a.gz"]);
        if has_gnu {
            let theirs = Call::of("gzip").words(["-dc", "a.gz"]).in_dir(scratch.path());
            assert!(theirs.succeed()?.stdout == text, "{level}");
        }
        call(&scratch, ["gunzip", "a.gz"]).succeed()?;
        assert_eq!(names(scratch.path())?, ["a"]);
        assert!(fs::read(scratch.at("a"))? == text, "{level}");
    }
    if has_gnu {
        Call::of("gzip").words(["-6", "a"]).in_dir(scratch.path()).succeed()?;
        assert!(call(&scratch, ["zcat", "a.gz", "a.gz"]).succeed()?.stdout == text.repeat(2));
        call(&scratch, ["gzip", "-d", "a"]).succeed()?;
        assert!(fs::read(scratch.at("a"))? == text);
    }
    Ok(())
}

#[test]
fn the_bytes_are_the_same_for_any_number_of_jobs_and_any_way_in() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("a", text())?;
    let one = call(&scratch, ["gzip", "-nc", "--jobs=1", "a"]).succeed()?.stdout;
    for words in [
        vec!["gzip", "-nc", "--jobs=4", "a"],
        vec!["gzip", "-nc", "--cache=direct", "a"],
        vec!["gzip", "-nc", "--cache=keep", "--jobs=2", "a"],
    ] {
        assert!(call(&scratch, words.clone()).succeed()?.stdout == one, "{words:?}");
    }
    assert!(call(&scratch, ["gzip", "-n"]).input(text()).succeed()?.stdout == one);
    call(&scratch, ["gzip", "-n", "a"]).succeed()?;
    assert!(fs::read(scratch.at("a.gz"))? == one);
    Ok(())
}

#[test]
fn bits_times_and_attributes_go_along() -> Outcome {
    const NAME: &str = "user.note";
    let scratch = Scratch::new()?;
    let path = scratch.write("a", "data")?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640))?;
    let has_xattr = setxattr(&path, NAME, b"kept", XattrFlags::empty()).is_ok();
    if !has_xattr {
        ignored("extended attributes")?;
    }
    let touched = Call::of("touch").words(["-d", "2001-02-03 04:05:06.789", "a"]);
    touched.in_dir(scratch.path()).succeed()?;
    let before = fs::metadata(&path)?;
    for (words, name) in [(["gzip", "a"], "a.gz"), (["gunzip", "a.gz"], "a")] {
        call(&scratch, words).succeed()?;
        let after = fs::metadata(scratch.at(name))?;
        assert_eq!(after.mode(), before.mode(), "{name}");
        assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()), "{name}");
        assert_eq!((after.mtime(), after.mtime_nsec()), (before.mtime(), before.mtime_nsec()));
        if has_xattr {
            let mut value = [0; 16];
            assert_eq!(getxattr(scratch.at(name), NAME, &mut value)?, 4, "{name}");
        }
    }
    Ok(())
}

#[test]
fn a_broken_file_leaves_no_output_and_stays() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("a", text())?;
    call(&scratch, ["gzip", "a"]).succeed()?;
    let good = fs::read(scratch.at("a.gz"))?;
    let mut wrong_sum = good.clone();
    let at = wrong_sum.len() - 8;
    wrong_sum[at] ^= 1;
    let mut damaged = good.clone();
    damaged[good.len() / 2..good.len() / 2 + 99].fill(0xff);
    for (bytes, message) in [
        (good[..good.len() / 2].to_vec(), "unexpected end of file"),
        (wrong_sum, "invalid compressed data--crc error"),
        (damaged, "invalid compressed data--"),
        (b"no gzip data".to_vec(), "not in gzip format"),
    ] {
        fs::write(scratch.at("a.gz"), &bytes)?;
        for jobs in ["--jobs=1", "--jobs=2"] {
            let done = call(&scratch, ["gunzip", jobs, "a.gz"]).run()?;
            assert_eq!(done.code(), Some(1), "{message}");
            let said = done.errors();
            assert!(said.starts_with("\ngzip: a.gz: ") && said.contains(message), "{said}");
            assert_eq!(names(scratch.path())?, ["a.gz"], "{message}");
            assert!(fs::read(scratch.at("a.gz"))? == bytes);
            assert_eq!(call(&scratch, ["gzip", "-t", "a.gz"]).run()?.code(), Some(1));
        }
    }
    Ok(())
}

#[test]
fn what_exists_is_replaced_only_if_asked() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("a", "new")?;
    scratch.write("a.gz", "old")?;
    let done = call(&scratch, ["gzip", "a"]).run()?;
    assert_eq!(done.code(), Some(2));
    assert_eq!(done.errors(), "gzip: a.gz already exists;\tnot overwritten\n");
    assert_eq!(fs::read(scratch.at("a.gz"))?, b"old");
    let done = call(&scratch, ["gzip", "---presume-input-tty", "a"]).input("n\n").run()?;
    assert_eq!(done.code(), Some(2));
    assert!(done.errors().contains("do you wish to overwrite (y or n)? "), "{}", done.errors());
    speaking(&call(&scratch, ["gzip", "---presume-input-tty", "-k", "a"]).input("y\n"))?;
    assert_eq!(call(&scratch, ["zcat", "a.gz"]).succeed()?.text(), "new");
    call(&scratch, ["gzip", "-f", "a"]).succeed()?;
    assert_eq!(names(scratch.path())?, ["a.gz"]);
    Ok(())
}

#[test]
fn what_is_no_plain_file_is_left_out() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("one", "data")?;
    fs::hard_link(scratch.at("one"), scratch.at("two"))?;
    symlink("one", scratch.at("link"))?;
    fs::create_dir(scratch.at("dir"))?;
    scratch.write("b.gz", "x")?;
    scratch.write("suid", "x")?;
    fs::set_permissions(scratch.at("suid"), fs::Permissions::from_mode(0o4755))?;
    for (words, code, message) in [
        (vec!["gzip", "one"], 2, "gzip: one has 1 other link -- file ignored\n"),
        (vec!["gzip", "link"], 1, "gzip: link: Too many levels of symbolic links\n"),
        (vec!["gzip", "dir"], 2, "gzip: dir is a directory -- ignored\n"),
        (vec!["gzip", "b.gz"], 0, "gzip: b.gz already has .gz suffix -- unchanged\n"),
        (vec!["gzip", "suid"], 2, "gzip: suid is set-user-ID on execution - ignored\n"),
        (vec!["gunzip", "suid"], 2, "gzip: suid is set-user-ID on execution - ignored\n"),
        (vec!["gzip", "none"], 1, "gzip: none: No such file or directory\n"),
        (vec!["gunzip", "none"], 1, "gzip: none.gz: No such file or directory\n"),
        (vec!["gzip", "-S", "", "one"], 1, "gzip: invalid suffix ''\n"),
        (vec!["gzip", "--index=x", "one", "two"], 1, "gzip: --index is for one file\n"),
        (vec!["gzip", "-r", "--index=x", "dir"], 1, "gzip: --index and -r exclude each other\n"),
    ] {
        let done = call(&scratch, words.clone()).run()?;
        assert_eq!((done.code(), done.errors().as_str()), (Some(code), message), "{words:?}");
    }
    assert_eq!(names(scratch.path())?, ["b.gz", "dir", "link", "one", "suid", "two"]);
    call(&scratch, ["gzip", "-f", "one"]).succeed()?;
    assert!(!scratch.at("one").exists() && scratch.at("two").exists());
    Ok(())
}

#[test]
fn a_tree_is_done_by_several_workers_with_messages_in_order() -> Outcome {
    let scratch = Scratch::new()?;
    for directory in ["d", "d/e", "d/f"] {
        fs::create_dir(scratch.at(directory))?;
        for number in 0..40 {
            scratch.write(&format!("{directory}/{number}"), format!("file {number}"))?;
        }
    }
    let done = speaking(&call(&scratch, ["gzip", "-rv", "--jobs=4", "d"]))?;
    let listed: Vec<String> =
        done.errors().lines().filter_map(|line| Some(line.split_once(':')?.0.to_owned())).collect();
    assert_eq!(listed.len(), 120);
    let mut of_e: Vec<usize> = Vec::new();
    for (index, name) in listed.iter().enumerate() {
        if name.starts_with("d/e/") {
            of_e.push(index);
        }
    }
    assert_eq!(of_e.last().zip(of_e.first()).map(|(last, first)| last - first), Some(39));
    call(&scratch, ["gunzip", "-r", "d"]).succeed()?;
    for directory in ["d", "d/e", "d/f"] {
        for number in 0..40 {
            let bytes = fs::read(scratch.at(format!("{directory}/{number}")))?;
            assert_eq!(bytes, format!("file {number}").into_bytes());
        }
    }
    Ok(())
}

/// Both files would be done at the same time, and the output of one is the other.
#[test]
fn a_file_and_its_output_are_done_one_after_the_other() -> Outcome {
    let scratch = Scratch::new()?;
    for number in 0..60 {
        let directory = format!("d/{number}");
        fs::create_dir_all(scratch.at(&directory))?;
        for name in ["a", "a.gz"] {
            scratch.write(&format!("{directory}/{name}"), format!("{number} in {name}"))?;
        }
    }
    let done = call(&scratch, ["gzip", "-rf", "--jobs=4", "d"]).succeed()?;
    assert!(done.errors().is_empty(), "{}", done.errors());
    for number in 0..60 {
        let directory = scratch.at(format!("d/{number}"));
        let left = names(&directory)?;
        let read = |words: &[&str]| -> Outcome<Vec<u8>> {
            Ok(Call::of(haul()).words(words).in_dir(&directory).succeed()?.stdout)
        };
        let of = |name: &str| format!("{number} in {name}").into_bytes();
        if left == ["a.gz", "a.gz.gz"] {
            // The second file first, then the other one took its name.
            assert_eq!(read(&["zcat", "a.gz"])?, of("a"));
            assert_eq!(read(&["zcat", "a.gz.gz"])?, of("a.gz"));
        } else {
            // The first file took the name of the second, which `-f` allows, and was compressed again.
            assert_eq!(left, ["a.gz.gz"]);
            let twice = read(&["zcat", "a.gz.gz"])?;
            let once = Call::of(haul()).words(["zcat"]).input(twice).succeed()?.stdout;
            assert_eq!(once, of("a"));
        }
    }
    Ok(())
}

#[test]
fn stored_names_are_restored_without_their_directories() -> Outcome {
    let scratch = Scratch::new()?;
    fs::create_dir(scratch.at("d"))?;
    let member = |name: &[u8]| {
        let mut bytes = vec![0x1f, 0x8b, 8, 8, 0x40, 0x42, 0x0f, 0, 0, 3];
        bytes.extend_from_slice(name);
        bytes.extend_from_slice(&[0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes
    };
    scratch.write("d/x.gz", member(b"../../outside"))?;
    call(&scratch, ["gunzip", "-kN", "d/x.gz"]).succeed()?;
    assert_eq!(names(&scratch.at("d"))?, ["outside", "x.gz"]);
    assert_eq!(fs::metadata(scratch.at("d/outside"))?.mtime(), 1_000_000);
    call(&scratch, ["gunzip", "d/x.gz"]).succeed()?;
    assert_eq!(names(&scratch.at("d"))?, ["outside", "x"]);
    Ok(())
}

#[test]
fn a_name_that_is_too_long_is_shortened() -> Outcome {
    let scratch = Scratch::new()?;
    let long = "n".repeat(254);
    scratch.write(&long, "data")?;
    speaking(&call(&scratch, ["gzip", &long]))?;
    let short = format!("{}.gz", "n".repeat(252));
    assert_eq!(names(scratch.path())?, [short.as_str()]);
    call(&scratch, ["gunzip", "-N", &short]).succeed()?;
    assert_eq!(names(scratch.path())?, [long]);
    Ok(())
}

#[test]
fn what_is_behind_the_data_and_sums_are_told() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("a", "data")?;
    let done = speaking(&call(&scratch, ["gzip", "--sum=md5", "a"]))?;
    assert!(done.errors().contains("8d777f385d3dfec8815d20f7496026dc"), "{}", done.errors());
    let mut bytes = fs::read(scratch.at("a.gz"))?;
    bytes.extend_from_slice(b"garbage");
    fs::write(scratch.at("a.gz"), &bytes)?;
    let done = call(&scratch, ["gunzip", "-k", "--sum=md5", "a.gz"]).run()?;
    assert_eq!(done.code(), Some(2));
    let said = done.errors();
    assert!(said.contains("decompression OK, trailing garbage ignored"), "{said}");
    assert!(said.contains("8d777f385d3dfec8815d20f7496026dc"), "{said}");
    assert_eq!(fs::read(scratch.at("a"))?, b"data");
    let passed = call(&scratch, ["gzip", "-cdf", "a.gz"]).succeed()?;
    assert_eq!(passed.text(), "datagarbage");
    Ok(())
}

#[test]
fn memory_is_bounded() -> Outcome {
    const MOST: u64 = 64 << 20;
    let scratch = Scratch::new()?;
    let mut file = fs::File::create(scratch.at("a"))?;
    let part = text();
    for _ in 0..(160 << 20) / part.len() + 1 {
        file.write_all(&part)?;
    }
    let check = |words: &[&str]| -> Outcome {
        let done = call(&scratch, words.iter().copied()).watching_memory().succeed()?;
        assert!(done.peak_bytes > 0, "{words:?}: not measured");
        assert!(done.peak_bytes <= MOST, "{words:?}: {} bytes", done.peak_bytes);
        Ok(())
    };
    check(&["gzip", "--jobs=2", "-k", "a"])?;
    check(&["gzip", "--jobs=2", "--cache=direct", "-kf", "a"])?;
    check(&["gunzip", "--jobs=2", "-kf", "a.gz"])?;
    check(&["gunzip", "--jobs=2", "--cache=direct", "-kf", "a.gz"])?;
    if has("gzip")? {
        Call::of("gzip").words(["-1f", "a"]).in_dir(scratch.path()).succeed()?;
        check(&["gunzip", "--jobs=2", "-kf", "a.gz"])?;
    }
    assert!(hidden(scratch.path())?.is_empty());
    Ok(())
}

#[test]
fn a_signal_ends_a_run_that_waits_for_a_pipe() -> Outcome {
    let scratch = Scratch::new()?;
    let pipe = scratch.at("pipe");
    Call::of("mkfifo").word(&pipe).succeed()?;
    for words in ["haul zcat", "haul gzip -c"] {
        // The other end stays open and silent until the command has ended.
        let script = format!("{words} < pipe > out & exec 3> pipe; sleep 0.2; kill $!; wait $!");
        let path = format!("{}:/usr/bin:/bin", haul().parent().ok_or("no folder")?.display());
        let shell = Call::of("sh").words(["-c", &script]).env("PATH", &path);
        let done = shell.in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(128 + 15), "{words}: {}", done.errors());
    }
    Ok(())
}
