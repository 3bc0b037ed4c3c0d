//! `gzip`, `gunzip`: damaged files among others, trees, odd names and times, full targets.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use super::support::run::{Call, Done, haul};
use super::support::scratch::Scratch;
use super::support::strace::{Point, is_usable, stopped_at};
use super::support::{Outcome, entries, has, hidden, ignored, is_root};

fn call<'a>(scratch: &Scratch, words: impl IntoIterator<Item = &'a str>) -> Call {
    Call::of(haul()).words(words).in_dir(scratch.path())
}

fn names(dir: &Path) -> Outcome<Vec<String>> {
    let mut names: Vec<String> = entries(dir)?
        .iter()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}

/// Files that are damaged: a name, and what becomes of a file at the end.
fn damaged(good: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let flipped = |at: usize, bits: u8| {
        let mut bytes = good.to_vec();
        bytes[at] ^= bits;
        bytes
    };
    let end = good.len();
    vec![
        ("nothing", Vec::new()),
        ("cut", good[..end / 2].to_vec()),
        ("text", b"plain text".to_vec()),
        ("method", flipped(2, 1)),
        ("encrypted", flipped(3, 0x20)),
        ("flags", flipped(3, 0x80)),
        ("block", [&good[..10], &[7], &good[11..]].concat()),
        ("check sum", flipped(end - 8, 1)),
        ("length", flipped(end - 4, 1)),
        ("garbage", [good, b"xx"].concat()),
    ]
}

#[test]
fn a_damaged_file_among_others_has_the_effect_that_it_has_for_gnu() -> Outcome {
    let scratch = Scratch::new()?;
    let has_gnu = has("gzip")?;
    let text: Vec<u8> = (0..2000).flat_map(|line| format!("{line}\n").into_bytes()).collect();
    let good = call(&scratch, ["gzip", "-nc"]).input(text).succeed()?.stdout;
    for (what, bytes) in damaged(&good) {
        for option in ["-d", "-dc"] {
            let run = |program: Call| -> Outcome<(Done, Vec<String>)> {
                scratch.clear_all()?;
                for name in ["a.gz", "c.gz"] {
                    fs::write(scratch.at(name), &good)?;
                }
                fs::write(scratch.at("b.gz"), &bytes)?;
                let words = [option, "a.gz", "b.gz", "c.gz"];
                let done = program.words(words).in_dir(scratch.path()).run()?;
                Ok((done, names(scratch.path())?))
            };
            let ours = run(Call::of(haul()).words(["gzip", "--jobs=1"]))?;
            let goes_on = matches!(what, "text" | "method" | "encrypted" | "flags" | "garbage");
            if option == "-d" {
                assert_eq!(ours.1.contains(&"c".to_owned()), goes_on, "{what}: {:?}", ours.1);
            }
            if has_gnu {
                let theirs = run(Call::of("gzip"))?;
                assert_eq!(ours.1, theirs.1, "{what} {option}");
                assert_eq!(ours.0.code(), theirs.0.code(), "{what} {option}");
                // GNU's gzip compares the length also where the check sum is wrong.
                let line = |done: &Done| done.errors().lines().nth(1).map(str::to_owned);
                assert_eq!(line(&ours.0), line(&theirs.0), "{what} {option}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_test_tells_about_every_file() -> Outcome {
    let scratch = Scratch::new()?;
    let good = call(&scratch, ["gzip", "-nc"]).input("data").succeed()?.stdout;
    scratch.write("a.gz", &good[..good.len() - 1])?;
    scratch.write("b.gz", "text")?;
    scratch.write("c.gz", &good)?;
    let done = call(&scratch, ["gzip", "-tv", "a.gz", "b.gz", "c.gz"]).run()?;
    assert_eq!(done.code(), Some(1));
    let said = done.errors();
    for line in ["a.gz: unexpected end of file\n", "b.gz: not in gzip format\n", "c.gz:\t OK\n"] {
        assert!(said.contains(line), "{said}");
    }
    Ok(())
}

#[test]
fn a_list_counts_all_members() -> Outcome {
    let scratch = Scratch::new()?;
    let one = call(&scratch, ["gzip", "-nc"]).input("data\n".repeat(1000)).succeed()?.stdout;
    scratch.write("a.gz", one.repeat(3))?;
    let listed = call(&scratch, ["gzip", "-lq", "a.gz"]).succeed()?.text();
    let columns: Vec<&str> = listed.split_whitespace().collect();
    let size = (3 * one.len()).to_string();
    assert_eq!((columns[0], columns[1], columns[3]), (size.as_str(), "15000", "a"), "{listed}");
    Ok(())
}

#[test]
fn a_tree_is_done_as_gnu_does_it() -> Outcome {
    let scratch = Scratch::new()?;
    if !has("gzip")? {
        return Ok(());
    }
    let plant = |root: &Path, follows: bool| -> Outcome {
        fs::create_dir_all(root.join("sub/empty"))?;
        for name in ["a", "b.gz", "sub/c", "sub/d.tgz", "sub/many.Z"] {
            fs::write(root.join(name), "some data")?;
        }
        symlink("a", root.join("link"))?;
        symlink("none", root.join("dangling"))?;
        fs::write(root.join("one"), "several names")?;
        fs::hard_link(root.join("one"), root.join("two"))?;
        Call::of("mkfifo").word(root.join("pipe")).succeed()?;
        if !follows {
            symlink("sub", root.join("way"))?;
            fs::write(root.join("taken"), "new")?;
            fs::write(root.join("taken.gz"), "old")?;
        }
        Ok(())
    };
    for options in [&["-rn"][..], &["-rnv"], &["-rnq"], &["-rnf"], &["-rnS", ".x"], &["-rnc"]] {
        let follows = ["-rnf", "-rnc"].contains(&options[0]);
        let run = |program: Call| -> Outcome<(Done, Vec<String>, Vec<String>)> {
            scratch.clear("t")?;
            plant(&scratch.at("t"), follows)?;
            let done = program.words(options).words(["t", "none"]).in_dir(scratch.path()).run()?;
            Ok((done, names(&scratch.at("t"))?, names(&scratch.at("t/sub"))?))
        };
        let lines = |done: &Done| {
            // Sizes differ by a few bytes, and so do ratios.
            let errors = done.errors();
            let mut lines: Vec<String> = errors
                .lines()
                .map(|line| line.split('%').next_back().unwrap_or(line).to_owned())
                .collect();
            lines.sort();
            lines
        };
        let ours = run(Call::of(haul()).words(["gzip", "--jobs=3"]))?;
        let theirs = run(Call::of("gzip"))?;
        assert_eq!(lines(&ours.0), lines(&theirs.0), "{options:?}");
        assert_eq!((&ours.1, &ours.2), (&theirs.1, &theirs.2), "{options:?}");
        assert_eq!(ours.0.code(), theirs.0.code(), "{options:?}: {}", theirs.0.errors());
    }
    Ok(())
}

#[test]
fn a_deep_tree_needs_few_descriptors() -> Outcome {
    const LEVELS: usize = 400;
    let scratch = Scratch::new()?;
    let mut folder = scratch.at("t");
    let mut folders = Vec::new();
    for _ in 0..LEVELS {
        fs::create_dir(&folder)?;
        for name in ["a", "b", "c"] {
            fs::write(folder.join(name), "data")?;
        }
        folders.push(folder.clone());
        folder.push("d");
    }
    let under = ["sh", "-c", "ulimit -n 128 && exec \"$0\" \"$@\""];
    call(&scratch, ["gzip", "-r", "--jobs=2", "t"]).under(under).succeed()?;
    for folder in &folders {
        assert!(["a.gz", "b.gz", "c.gz"].iter().all(|name| folder.join(name).exists()));
        assert!(!folder.join("a").exists());
    }
    Ok(())
}

#[test]
fn a_link_to_a_folder_is_never_entered() -> Outcome {
    let scratch = Scratch::new()?;
    fs::create_dir_all(scratch.at("t"))?;
    fs::create_dir_all(scratch.at("elsewhere"))?;
    scratch.write("elsewhere/a", "data")?;
    symlink("../elsewhere", scratch.at("t/way"))?;
    symlink(".", scratch.at("t/loop"))?;
    for option in ["-r", "-rf", "-rc"] {
        let done = call(&scratch, ["gzip", option, "t"]).run()?;
        assert!(done.stdout.is_empty(), "{option}");
        assert_ne!(done.code(), Some(0), "{option}");
        let said = done.errors();
        assert!(said.contains("gzip: t/way"), "{option}: {said}");
        assert_eq!(said.matches("t/loop").count(), 1, "{option}: {said}");
        assert_eq!(names(&scratch.at("elsewhere"))?, ["a"], "{option}");
    }
    Ok(())
}

#[test]
fn progress_leaves_a_question_alone() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("a", "new")?;
    scratch.write("a.gz", "old")?;
    if !has("script")? {
        return Ok(());
    }
    // On a terminal the line of progress is drawn several times a second.
    let shell = "(sleep 1; echo n) | script -qec \"$0 gzip a\" /dev/null";
    let done = Call::of("sh").words(["-c", shell]).word(haul()).in_dir(scratch.path()).run()?;
    let shown = done.text();
    let (_, answer) = shown.split_once("(y or n)? ").ok_or_else(|| shown.clone())?;
    let (between, _) = answer.split_once("\tnot overwritten").ok_or_else(|| shown.clone())?;
    assert!(!between.contains("B/s"), "{shown:?}");
    Ok(())
}

#[test]
fn each_failure_in_a_tree_is_told_once_and_the_rest_is_done() -> Outcome {
    let scratch = Scratch::public()?;
    for name in ["closed", "open"] {
        fs::create_dir_all(scratch.at("t").join(name))?;
        for number in 0..30 {
            scratch.write(&format!("t/{name}/{number}"), "some data")?;
        }
    }
    if !is_root()? {
        return ignored("root, to run as another user");
    }
    let open = |path: &str, mode: u32| {
        fs::set_permissions(scratch.at(path), fs::Permissions::from_mode(mode))
    };
    open("t/open", 0o777)?;
    open("t/closed", 0o700)?;
    open("t/open/7", 0o600)?;
    let done = call(&scratch, ["gzip", "-rn", "--jobs=3", "t"]).by_user().run()?;
    assert_eq!(done.code(), Some(1));
    let mut said: Vec<String> = done.errors().lines().map(str::to_owned).collect();
    said.sort();
    let denied = ["gzip: t/closed: Permission denied", "gzip: t/open/7: Permission denied"];
    assert_eq!(said, denied);
    let left = names(&scratch.at("t/open"))?;
    assert_eq!(left.iter().filter(|name| name.ends_with(".gz")).count(), 29, "{left:?}");
    assert_eq!(names(&scratch.at("t/closed"))?.len(), 30);
    Ok(())
}

#[test]
fn names_of_any_bytes_are_stored_and_restored() -> Outcome {
    let scratch = Scratch::new()?;
    for name in [&b"line\nfeed"[..], b"\xff\xfe", b"-dash", b" ", b"a.b.c", b"tab\t", b"#~"] {
        let name = OsStr::from_bytes(name);
        fs::write(scratch.at(name), "data")?;
        Call::of(haul()).words(["gzip", "--"]).word(name).in_dir(scratch.path()).succeed()?;
        let mut packed = name.to_owned();
        packed.push(".gz");
        fs::rename(scratch.at(&packed), scratch.at("other.gz"))?;
        call(&scratch, ["gunzip", "-N", "other.gz"]).succeed()?;
        assert_eq!(fs::read(scratch.at(name))?, b"data", "{name:?}");
        assert_eq!(entries(scratch.path())?.len(), 1, "{name:?}");
        scratch.clear_all()?;
    }
    Ok(())
}

#[test]
fn a_stored_name_may_be_long_unless_it_is_used() -> Outcome {
    let scratch = Scratch::new()?;
    let mut bytes = vec![0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3];
    bytes.resize(5000, b'n');
    bytes.extend_from_slice(&[0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    scratch.write("a.gz", &bytes)?;
    let done = call(&scratch, ["gunzip", "-kN", "a.gz"]).run()?;
    assert_eq!(done.code(), Some(1));
    assert_eq!(done.errors(), "\ngzip: a.gz: corrupted input -- file name too large\n");
    call(&scratch, ["gunzip", "-k", "a.gz"]).succeed()?;
    assert_eq!(names(scratch.path())?, ["a", "a.gz"]);
    Ok(())
}

#[test]
fn times_that_the_header_cannot_hold_are_left_out_with_a_warning() -> Outcome {
    let scratch = Scratch::new()?;
    const TEXT: &str = "gzip: a: warning: file timestamp out of range for gzip format\n";
    for (time, stored) in [
        ("@0", None),
        ("@-5", None),
        ("@4294967296", None),
        ("@5000000000", None),
        ("@1", Some(1_u32)),
        ("@4294967295", Some(u32::MAX)),
    ] {
        scratch.write("a", "data")?;
        Call::of("touch").words(["-d", time, "a"]).in_dir(scratch.path()).succeed()?;
        let before = fs::metadata(scratch.at("a"))?.mtime();
        if format!("@{before}") != time {
            ignored("a file system with such times")?;
            continue;
        }
        let quiet = call(&scratch, ["gzip", "-nc", "a"]).succeed()?.stdout;
        assert_eq!(quiet[4..8], [0; 4], "{time}: -n");
        let done = call(&scratch, ["gzip", "a"]).run()?;
        let expected = if stored.is_some() { (Some(0), "") } else { (Some(2), TEXT) };
        assert_eq!((done.code(), done.errors().as_str()), expected, "{time}");
        let packed = fs::read(scratch.at("a.gz"))?;
        assert_eq!(packed[4..8], stored.unwrap_or(0).to_le_bytes(), "{time}");
        // The file itself has the time in any case.
        Call::of("touch").words(["-d", "@77", "a.gz"]).in_dir(scratch.path()).succeed()?;
        call(&scratch, ["gunzip", "-N", "a.gz"]).succeed()?;
        let after = fs::metadata(scratch.at("a"))?.mtime();
        assert_eq!(after, stored.map_or(77, i64::from), "{time}");
    }
    Ok(())
}

#[test]
fn an_output_without_room_leaves_the_inputs() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("a", "data")?;
    scratch.write("b", "data")?;
    for words in [["gzip", "-c", "a", "b"], ["gzip", "--jobs=2", "-c", "a"]] {
        let done = call(&scratch, words).output_to("/dev/full").run()?;
        assert_eq!(done.code(), Some(1), "{words:?}");
        let said = done.errors();
        assert_eq!(said, "\ngzip: stdout: No space left on device\n", "{words:?}");
    }
    assert_eq!(names(scratch.path())?, ["a", "b"]);
    assert!(hidden(scratch.path())?.is_empty());
    Ok(())
}

/// What another process does to an input between its last byte and its removal, and the name that has to stay.
type Change = (&'static str, fn(&Path) -> Outcome, &'static str);

const CHANGES: &[Change] = &[
    (
        "bytes that were added",
        |input| {
            let mut bytes = fs::read(input)?;
            bytes.extend_from_slice(b"added");
            Ok(fs::write(input, bytes)?)
        },
        "changed while",
    ),
    (
        "bytes that were changed, with the time of before",
        |input| {
            let time = fs::metadata(input)?.modified()?;
            let mut bytes = fs::read(input)?;
            bytes.reverse();
            fs::write(input, bytes)?;
            Ok(fs::File::options().append(true).open(input)?.set_modified(time)?)
        },
        "changed while",
    ),
    (
        "another file",
        |input| {
            fs::rename(input, input.with_extension("moved"))?;
            Ok(fs::write(input, "other")?)
        },
        "Stale file handle",
    ),
    (
        "a link to another file",
        |input| {
            fs::rename(input, input.with_extension("moved"))?;
            fs::write(input.with_extension("other"), "other")?;
            Ok(symlink(input.with_extension("other"), input)?)
        },
        "Stale file handle",
    ),
];

#[test]
fn an_input_that_changes_after_it_was_read_stays() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    for (options, name) in [(&[][..], "a"), (&["-f"], "a"), (&["-d"], "a.gz"), (&["-df"], "a.gz")] {
        for (what, change, told) in CHANGES {
            scratch.clear("d")?;
            scratch.write("d/a", "content ".repeat(100))?;
            if name == "a.gz" {
                call(&scratch, ["gzip", "d/a"]).succeed()?;
            }
            let input = scratch.at("d").join(name);
            let words = [&["gzip", "--jobs=1"], options].concat();
            let words = words.into_iter().chain([name]);
            let gzip = Call::of(haul()).words(words).in_dir(scratch.at("d"));
            // The output gets its name after all was read.
            let mut done = None;
            for publish in ["linkat", "renameat2"] {
                let point = Point { name: publish.to_owned(), occurrence: 1 };
                if done.is_none() {
                    done = stopped_at(&scratch.at("log"), &gzip, &point, || change(&input))?;
                }
            }
            let done = done.ok_or("the output got no name")?;
            assert!(done.errors().contains(told), "{what} {options:?}: {}", done.errors());
            assert_eq!(done.code(), Some(2), "{what} {options:?}");
            assert!(fs::symlink_metadata(&input).is_ok(), "{what} {options:?}");
        }
    }
    Ok(())
}

/// The beginning of a compressed file is not data of another kind that `-f` passes on.
#[test]
fn a_beginning_of_compressed_data_is_never_passed_on_as_it_is() -> Outcome {
    let scratch = Scratch::new()?;
    let has_gnu = has("gzip")?;
    let text: Vec<u8> = (0..2000).flat_map(|line| format!("{line}\n").into_bytes()).collect();
    scratch.write("a", text)?;
    // With a name in the header.
    call(&scratch, ["gzip", "a"]).succeed()?;
    let good = fs::read(scratch.at("a.gz"))?;
    let mut inputs: Vec<Vec<u8>> = (0..24).map(|bytes| good[..bytes].to_vec()).collect();
    let others: [&[u8]; 10] = [
        b"\x1f\x1e",
        b"\x1f\x9d",
        b"\x1f\x9e",
        b"\x1f\x9e\x08",
        b"PK",
        b"PK\x03\x04",
        b"\xfd7zXZ\0",
        b"\x28\xb5\x2f\xfd",
        b"\0",
        b"BZh",
    ];
    inputs.extend(others.map(<[u8]>::to_vec));
    for input in inputs {
        let done = call(&scratch, ["gzip", "-cdf"]).input(input.clone()).run()?;
        let is_known =
            input.starts_with(b"\x1f") && input.len() > 1 || input.len() > 3 && input[0] == b'P';
        let expected = if is_known { (Some(1), Vec::new()) } else { (Some(0), input.clone()) };
        assert_eq!((done.code(), done.stdout.clone()), expected, "{input:?}: {}", done.errors());
        if has_gnu {
            let gnu = Call::of("gzip").word("-cdf").input(input.clone()).run()?;
            assert_eq!((gnu.code(), gnu.stdout), (done.code(), done.stdout), "{input:?}");
        }
    }
    Ok(())
}

#[test]
fn with_force_a_link_is_replaced_and_its_file_stays() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("file", "content")?;
    symlink("file", scratch.at("link"))?;
    call(&scratch, ["gzip", "-f", "link"]).succeed()?;
    assert_eq!(names(scratch.path())?, ["file", "link.gz"]);
    // Two names of one file, one after the other.
    fs::hard_link(scratch.at("file"), scratch.at("second"))?;
    call(&scratch, ["gzip", "-f", "file", "second"]).succeed()?;
    assert_eq!(names(scratch.path())?, ["file.gz", "link.gz", "second.gz"]);
    Ok(())
}

#[test]
fn a_file_whose_header_has_its_own_name_is_not_its_own_output() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("x.gz", "the data")?;
    let packed = call(&scratch, ["gzip", "-c", "x.gz"]).succeed()?.stdout;
    scratch.write("x.gz", &packed)?;
    for words in [&["gunzip", "-Nf", "x.gz"][..], &["gunzip", "-kNf", "x.gz"]] {
        let done = call(&scratch, words.iter().copied()).run()?;
        assert_eq!(done.code(), Some(1), "{done:?}");
        assert!(done.errors().contains("x.gz: its header has its own name"), "{done:?}");
        assert_eq!(fs::read(scratch.at("x.gz"))?, packed);
        assert_eq!(names(scratch.path())?, ["x.gz"]);
    }
    call(&scratch, ["gunzip", "x.gz"]).succeed()?;
    assert_eq!(fs::read(scratch.at("x"))?, b"the data");
    Ok(())
}

#[test]
fn a_list_has_the_files_time_and_counts_no_header_that_is_not_there() -> Outcome {
    let scratch = Scratch::new()?;
    // A header with a time of 1970, and `compress` data of two bytes.
    let packed = b"\x1f\x8b\x08\0\x01\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0";
    scratch.write("a.gz", packed)?;
    scratch.write("b.Z", b"\x1f\x9d\x90\x61\x14\0")?;
    let list = |words: [&'static str; 3]| -> Outcome<String> {
        Ok(call(&scratch, words).env("TZ", "UTC0").succeed()?.text())
    };
    assert!(!list(["gzip", "-lv", "a.gz"])?.contains(" 00000000 Jan  1 00:00 "));
    assert!(list(["gzip", "-lvN", "a.gz"])?.contains(" 00000000 Jan  1 00:00 "));
    let text = list(["gzip", "-l", "b.Z"])?;
    assert!(text.contains("                  6                   2 -200.0% b\n"), "{text}");
    let text = list(["gzip", "-V", "-q"])?;
    assert!(text.contains("\nCopyright (c) "), "{text}");
    Ok(())
}
