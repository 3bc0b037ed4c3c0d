//! `tar --sum-file`: digests of what is in the archive, as the ordinary programs check them.

use std::fs;
use std::os::unix::fs::FileExt as _;

use super::support::Outcome;
use super::support::has;
use super::support::run::Call;
use super::support::scratch::Scratch;
use super::support::strace::{Strace, is_usable};
use super::support::tar::ours;
use super::tar_run::{demand, run, tree};

/// Checks a sum file with `sha256sum` in a folder. Returns the names, in the order of the bytes.
fn check(scratch: &Scratch, sums: &str, folder: &str) -> Outcome<Vec<String>> {
    let list = scratch.at(sums);
    Call::of("sha256sum")
        .words(["--check", "--strict", "--quiet"])
        .word(&list)
        .in_dir(scratch.at(folder))
        .succeed()?;
    let text = fs::read_to_string(list)?;
    let mut names: Vec<String> =
        text.lines().filter_map(|line| Some(line.split_once("  ")?.1.to_owned())).collect();
    names.sort();
    Ok(names)
}

/// The regular files of the tree: of the two names of one file, the archive has the first one as the file.
fn demand_all(names: &[String], what: &str) {
    let files = names.iter().filter(|name| !name.ends_with("twin") && !name.ends_with("/511"));
    let expected =
        ["./d/0", "./d/1", "./d/1048577", "./d/262144", "./d/3149823", "./d/32768", "./d/32769"];
    assert!(files.eq(expected.iter().chain(&["./holes"])), "{what}: {names:?}");
    assert_eq!(names.len(), expected.len() + 2, "{what}: one name of two is a link");
}

#[test]
fn digests_are_those_of_the_files_in_every_kind_of_archive() -> Outcome {
    if !has("sha256sum")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    let hash = ["--hash=sha256", "--sum-file=made"];
    let kinds: [&[&str]; 8] = [
        &["-cf"],
        &["-Scf"],
        &["--jobs=1", "-Scf"],
        &["-zcf"],
        &["--zstd", "-cf"],
        &["--checkpoint=1000", "-Scf"],
        &["--reflink=auto", "-cf"],
        &["--buffer=4M", "-cf"],
    ];
    for kind in kinds {
        let what = format!("{kind:?}");
        let words = || hash.iter().chain(kind).copied();
        demand(&scratch, &words().chain(["a", "-C", "s", "."]).collect::<Vec<_>>())?;
        demand_all(&check(&scratch, "made", "s")?, &what);
        // What is extracted has the same digests, whatever made it.
        for extraction in [&["-xf"][..], &["--jobs=1", "-xf"], &["--atomic", "-xf"]] {
            let what = format!("{what} {extraction:?}");
            fs::create_dir(scratch.at("t"))?;
            let taken = ["--hash=sha256", "--sum-file=taken"];
            let words = taken.iter().chain(extraction).copied();
            demand(&scratch, &words.chain(["a", "-C", "t"]).collect::<Vec<_>>())?;
            demand_all(&check(&scratch, "taken", "t")?, &what);
            // What stays has a line, too.
            let words = taken.iter().copied().chain(["--resume", "-xf", "a", "-C", "t"]);
            demand(&scratch, &words.collect::<Vec<_>>())?;
            demand_all(&check(&scratch, "taken", "t")?, &what);
            scratch.clear("t")?;
        }
    }
    Ok(())
}

#[test]
fn an_archive_to_nowhere_is_read_for_its_digests() -> Outcome {
    if !has("sha256sum")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    let words = ["-cf", "/dev/null", "--hash=sha256", "--sum-file=made", "-C", "s", "."];
    demand(&scratch, &words)?;
    demand_all(&check(&scratch, "made", "s")?, "/dev/null");
    Ok(())
}

#[test]
fn digests_of_an_extraction_are_those_of_the_archive() -> Outcome {
    if !has("sha256sum")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("s/f", vec![7; 100_000])?;
    demand(&scratch, &["-cf", "a.tar", "-C", "s", "f"])?;
    let archive = fs::File::options().write(true).open(scratch.at("a.tar"))?;
    archive.write_all_at(b"8", 50_000)?;
    fs::create_dir(scratch.at("t"))?;
    demand(&scratch, &["-xf", "a.tar", "-C", "t", "--hash=sha256", "--sum-file=taken"])?;
    assert_eq!(check(&scratch, "taken", "t")?, ["f"]);
    // Damage after the extraction is found.
    fs::File::options().write(true).open(scratch.at("t/f"))?.write_all_at(b"9", 99_999)?;
    let checked = Call::of("sha256sum")
        .words(["--check", "--quiet"])
        .word(scratch.at("taken"))
        .in_dir(scratch.at("t"))
        .run()?;
    assert_eq!(checked.code(), Some(1), "{}", checked.errors());
    Ok(())
}

#[test]
fn a_file_that_is_not_whole_has_no_line() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    // One that the describing thread reads, and one that is placed.
    for size in [1000, 1 << 20] {
        scratch.write("s/f", vec![1; size])?;
        let words = ["-cf", "a.tar", "--sum-file=made", "-C", "s", "f"];
        let call = ours().words(words).in_dir(scratch.path());
        let file = scratch.at("s/f");
        let strace = Strace::new(scratch.at("log"))
            .inject("pread64,splice,copy_file_range:error=EIO")
            .of_file(&file.to_string_lossy());
        let done = strace.wrap(call).run()?;
        assert_eq!(done.code(), Some(2), "{size}: {}", done.errors());
        assert_eq!(fs::read_to_string(scratch.at("made"))?, "", "{size}");
    }
    Ok(())
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_written() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("s/f", "text")?;
    demand(&scratch, &["-cf", "a.tar", "s"])?;
    let archive = fs::read(scratch.at("a.tar"))?;
    for (words, text) in [
        (&["-tf", "a.tar", "--sum-file=q"][..], "for -c, -r and -x"),
        (&["-df", "a.tar", "--sum-file=q"], "for -c, -r and -x"),
        (&["-xOf", "a.tar", "--sum-file=q"], "-O makes none"),
        (&["-cf", "a.tar", "--hash=md5", "s"], "--hash needs --sum-file"),
        (&["-cf", "a.tar", "--sum-file=q", "--hash=md4", "s"], "'md4'"),
        (&["-cf", "a.tar", "--sum-file=a.tar", "s"], "name the same file"),
        (&["-cf", "a.tar", "--sum-file=./a.tar", "s"], "is one of the operands"),
        (&["-cf", "a.tar", "--sum-file=s/f", "s"], "it is not a list of checksums"),
        (&["-cf", "a.tar", "--sum-file=q", "--reflink=always", "s"], "--reflink=always moves none"),
        (&["-cf", "a.tar", "--sum-file=q", "--dry-run", "s"], "cannot be combined"),
        (&["-cf", "a.tar", "--sum-file=no/q", "s"], "cannot create"),
        (&["-cf", "a.tar", "--sum-file=q", "--errors=q", "s"], "name the same file"),
    ] {
        let done = run(&scratch, words)?;
        assert!(done.code().is_some_and(|code| code > 1), "{words:?}");
        assert!(done.errors().contains(text), "{words:?}: {}", done.errors());
        assert_eq!(fs::read(scratch.at("a.tar"))?, archive, "{words:?}");
        assert!(!scratch.at("q").exists(), "{words:?}");
        assert_eq!(fs::read_to_string(scratch.at("s/f"))?, "text", "{words:?}");
    }
    Ok(())
}

#[test]
fn the_list_of_digests_is_no_part_of_what_it_lists() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("s/f", "text")?;
    scratch.write("s/list", format!("{}  old\n", "0".repeat(64)))?;
    // As a file of the tree it is passed over, and it is written although all is removed.
    let words = ["-cf", "a.tar", "--remove-files", "--sum-file=s/list", "s"];
    let done = run(&scratch, &words)?;
    assert!(done.errors().contains("s/list: file is written by this run; not dumped"), "{done:?}");
    assert_eq!(demand(&scratch, &["-tf", "a.tar"])?.text(), "s/\ns/f\n");
    let list = fs::read_to_string(scratch.at("s/list"))?;
    assert!(list.ends_with("  s/f\n") && list.lines().count() == 1, "{list}");
    // Named below the directory of -C it is refused, and stays.
    scratch.write("s/f", "text")?;
    let words = ["-cf", "b.tar", "--sum-file=s/list", "-C", "s", "list", "f"];
    let done = run(&scratch, &words)?;
    assert!(done.errors().contains("is one of the operands"), "{}", done.errors());
    assert_eq!(fs::read_to_string(scratch.at("s/list"))?, list);
    // A member that takes its name is told.
    demand(&scratch, &["-cf", "c.tar", "-C", "s", "list", "f"])?;
    let done = run(&scratch, &["-xf", "c.tar", "--sum-file=list"])?;
    assert_eq!(done.code(), Some(2), "{}", done.errors());
    assert!(done.errors().contains("another file has its name by now"), "{}", done.errors());
    Ok(())
}

#[test]
fn an_older_list_stays_if_the_run_cannot_begin() -> Outcome {
    let scratch = Scratch::new()?;
    let old = format!("{}  old\n", "0".repeat(64));
    scratch.write("list", &old)?;
    let done = run(&scratch, &["-xf", "missing.tar", "--sum-file=list"])?;
    assert_eq!(done.code(), Some(2), "{}", done.errors());
    assert_eq!(fs::read_to_string(scratch.at("list"))?, old);
    Ok(())
}

#[test]
fn an_error_of_the_sum_file_is_a_failure_of_the_run() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("s/f", "text")?;
    let words = ["-cf", "a.tar", "--errors=list", "--remove-files", "--sum-file=/dev/full", "s"];
    let done = run(&scratch, &words)?;
    assert_eq!(done.code(), Some(2), "{}", done.errors());
    assert!(done.errors().contains("error writing '/dev/full'"), "{}", done.errors());
    assert!(fs::read_to_string(scratch.at("list"))?.contains("/dev/full"));
    assert!(scratch.at("s/f").exists(), "removed although its digest is lost");
    Ok(())
}
