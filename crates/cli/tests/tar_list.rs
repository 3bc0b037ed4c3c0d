//! `haul tar -t`: the listing of GNU tar for archives of GNU tar, byte for byte, with its messages.

use std::ffi::{OsStr, OsString};
use std::fs::Permissions;
use std::os::unix::ffi::OsStrExt as _;

use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::tar::{expected_errors, gnu_tar};
use super::support::{Outcome, has};

fn ours() -> Call {
    Call::of(haul()).word("tar")
}

/// Runs both and compares output, messages and exit status.
fn demand_same(scratch: &Scratch, words: &[&str]) -> Outcome {
    let gnu = gnu_tar().words(words).in_dir(scratch.path()).run()?;
    let haul = ours().words(words).in_dir(scratch.path()).run()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&haul.stdout), text(&gnu.stdout), "{words:?}");
    assert_eq!(haul.errors(), expected_errors(&gnu), "{words:?}");
    assert_eq!(haul.status.code(), gnu.status.code(), "{words:?}");
    Ok(())
}

/// A tree with every kind that needs no privilege, and with names that need care.
fn tree(scratch: &Scratch) -> Outcome {
    scratch.write("d/a", "hi\n")?;
    scratch.write("d/e/f.o", "")?;
    scratch.write("d/b\\c\nq é", "x")?;
    std::fs::write(scratch.at(OsStr::from_bytes(b"d/\xff")), "y")?;
    let deep = format!("d/{}/{}/{}", "n".repeat(90), "m".repeat(90), "k".repeat(120));
    scratch.write(&deep, "deep")?;
    symlink("a", scratch.at("d/l"))?;
    symlink("k".repeat(150), scratch.at("d/long"))?;
    std::fs::hard_link(scratch.at("d/a"), scratch.at("d/h"))?;
    std::fs::set_permissions(scratch.at("d/e"), Permissions::from_mode(0o1777))?;
    let sparse = scratch.write("d/sparse", "")?;
    let file = std::fs::File::options().write(true).open(sparse)?;
    file.set_len(10 << 20)?;
    std::os::unix::fs::FileExt::write_all_at(&file, b"middle", 5_000_000)?;
    Ok(())
}

#[test]
fn archives_of_gnu_tar_are_listed_as_it_lists_them() -> Outcome {
    if !has("tar")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    for format in ["gnu", "oldgnu", "posix", "ustar", "v7"] {
        for sparse in ["--sparse", "--no-recursion"] {
            let format = format!("--format={format}");
            let words = ["-cf", "a.tar", &format, sparse, "d", "d/a", "d/h", "d/sparse"];
            // Formats that cannot store a long name leave it out and fail.
            gnu_tar().words(words).in_dir(scratch.path()).run()?;
            for words in [
                &["-tf", "a.tar"][..],
                &["-tvf", "a.tar"],
                &["-t", "-vRf", "a.tar", "--utc", "--numeric-owner"],
                &["tvf", "a.tar", "--full-time", "--exclude=*.o"],
            ] {
                demand_same(&scratch, words)?;
            }
        }
    }
    Ok(())
}

#[test]
fn compressed_archives_are_recognised_also_from_a_pipe() -> Outcome {
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    for (program, option) in
        [("gzip", "-z"), ("bzip2", "-j"), ("xz", "-J"), ("zstd", "--zstd"), ("lzma", "--lzma")]
    {
        if !has("tar")? || !has(program)? {
            continue;
        }
        let plain = gnu_tar().words(["-tvf", "p.tar"]).in_dir(scratch.path());
        gnu_tar().words(["-cf", "p.tar", "d"]).in_dir(scratch.path()).succeed()?;
        let words = match program {
            "lzma" => ["xz", "--format=lzma", "-kc", "p.tar"].map(OsString::from),
            _ => [program, "-k", "-c", "p.tar"].map(OsString::from),
        };
        let packed = Call::of(&words[0]).words(&words[1..]).in_dir(scratch.path()).succeed()?;
        std::fs::write(scratch.at("c"), packed.stdout)?;
        let expected = plain.succeed()?.stdout;
        for words in
            [&["-tvf", "c"][..], &["-tv", option, "-f", "c"], &["-tvf", "c", "-I", program]]
        {
            let found = ours().words(words).in_dir(scratch.path()).succeed()?;
            assert!(found.stdout == expected, "{words:?}");
        }
        let packed = std::fs::read(scratch.at("c"))?;
        let piped = ours().words(["-tv"]).input(packed.clone()).succeed()?;
        assert!(piped.stdout == expected, "{program}");
        let torn = ours().word("-tv").input(&packed[..packed.len() / 2]).run()?;
        assert_eq!(torn.status.code(), Some(2), "{program}");
    }
    Ok(())
}

#[test]
fn names_patterns_and_messages_are_those_of_gnu_tar() -> Outcome {
    if !has("tar")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    gnu_tar().words(["-cf", "a.tar", "d", "d/a"]).in_dir(scratch.path()).succeed()?;
    scratch.write("list", "d/e\n\\144/a\n")?;
    scratch.write("nul", "d/a\0-x\0")?;
    scratch.write("short", "abc")?;
    scratch.write("long", "abc".repeat(1000))?;
    for words in [
        "-tf a.tar d/e d/zz",
        "-tf a.tar --wildcards *h",
        "-tf a.tar *h",
        "-tf a.tar --exclude e",
        "-tf a.tar --exclude=d/[a-h]",
        "-tf a.tar --anchored --exclude=e",
        "-tf a.tar --no-wildcards-match-slash --wildcards d/*k*",
        "-tf a.tar --ignore-case --exclude D/A",
        "-tf a.tar --occurrence=2 d/a",
        "-tf a.tar --occurrence d/a",
        "-tf a.tar --occurrence=2 d/e",
        "-tf a.tar --occurrence",
        "-tf a.tar --no-recursion d",
        "-tf a.tar -T list",
        "-tf a.tar --null -T nul",
        "-tf a.tar -X list",
        "-tf a.tar d/",
        // A name is found also if its member is left out.
        "-tf a.tar --exclude=d/a d/a d/e",
        "-df a.tar --exclude=d/a d/a",
        "-tf a.tar --exclude=d/a --occurrence=2 d/a",
        // A list without a name selects everything.
        "-tf a.tar -T /dev/null",
        "-tf short",
        "-tf long",
        "-tf missing",
        "-t -q",
        "-t -f",
        "--foo",
        "-f a.tar",
        "tf",
        "-tzjf a.tar",
        "-tf a.tar -f a.tar",
    ] {
        demand_same(&scratch, &words.split(' ').collect::<Vec<_>>())?;
    }
    // Or too old.
    let old = ours().words(["-tf", "a.tar", "--newer-mtime=@4000000000", "d/a"]);
    assert!(old.in_dir(scratch.path()).succeed()?.stdout.is_empty());
    let preset = ours().word("-t").env("TAR_OPTIONS", "-f a.tar --exclude=d");
    assert!(preset.in_dir(scratch.path()).succeed()?.stdout.is_empty());
    Ok(())
}

#[test]
fn what_is_not_supported_is_refused_by_name() -> Outcome {
    for (words, name) in [
        ("-Af a", "--catenate"),
        ("--delete -f a", "--delete"),
        ("-tMf a", "--multi-volume"),
        ("-tf a --index", "--index"),
        ("-g a -t", "--listed-incremental"),
    ] {
        let done = ours().words(words.split(' ')).run()?;
        assert_eq!(done.status.code(), Some(2), "{words}");
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(text.contains(&format!("option '{name}' is not supported by haul")), "{text}");
    }
    Ok(())
}

/// Each archive is read by a process of its own, as `while tar -xf -; do :; done <both` reads them.
#[test]
fn standard_input_stands_behind_the_archive_that_was_read() -> Outcome {
    let scratch = Scratch::new()?;
    for name in ["one", "two"] {
        scratch.write(name, vec![b'x'; 30_000])?;
    }
    let archive = |words: &[&str], name: &str| {
        let create = ours().words(["-c", name]).words(words).in_dir(scratch.path());
        Ok::<_, Box<dyn std::error::Error>>(create.succeed()?.stdout)
    };
    for options in [&[][..], &["-b1"], &["-b128"]] {
        let both = [archive(options, "one")?, archive(options, "two")?, b"rest".to_vec()].concat();
        scratch.write("both", &both)?;
        for task in ["-tf -", "-xf -", "-df -"] {
            let words = format!("{} {task}", options.join(" "));
            let read = |program: &str| {
                let script = format!("({program} {words} && {program} {words} && cat) <both");
                let call = Call::of("sh").words(["-c", &script]).word(haul());
                Ok::<_, Box<dyn std::error::Error>>(call.in_dir(scratch.path()).succeed()?.text())
            };
            let ours = read("\"$0\" tar")?;
            let names = if task == "-tf -" { "one\ntwo\n" } else { "" };
            assert_eq!(ours, format!("{names}rest"), "{words}");
            assert_eq!(ours, read("tar")?, "{words}");
        }
    }
    // Of a compressed archive all is read.
    for options in [&["-z"][..], &["--zstd"], &["-J"]] {
        scratch.write("both", archive(options, "one")?)?;
        for words in ["-tf -", "-tf - one", "-tf - --trust-index one"] {
            let script = format!("(\"$0\" tar {words}; cat) <both");
            let call = Call::of("sh").words(["-c", &script]).word(haul());
            assert_eq!(
                call.in_dir(scratch.path()).succeed()?.text(),
                "one\n",
                "{options:?} {words}"
            );
        }
    }
    Ok(())
}
