//! `haul sync`: what it copies, what it leaves alone, how it ends. The lines that it prints are in `sync_lines`.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::rehearse::WRITING;
use super::select::paths;
use super::support::judge::snapshot;
use super::support::run::Call;
use super::support::scratch::Scratch;
use super::support::shell::{demand, noise};
use super::support::strace::{Strace, is_usable, occurrences, points, stopped_at};
use super::support::{Outcome, has, hidden, is_root};
use super::sync_lines::{BASE, itemized, sync};

#[test]
fn a_directory_with_entries_is_not_removed_for_a_file_unless_asked() -> Outcome {
    let scratch = Scratch::new()?;
    demand(scratch.path(), &format!("{BASE}\nrm t/a; mkdir t/a; echo x >t/a/x; echo CCC >t/c"))?;
    let done = sync(["-a", "s/", "t"]).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(23), "{done:?}");
    assert_eq!(fs::read(scratch.at("t/a/x"))?, b"x\n");
    assert_eq!(fs::read(scratch.at("t/c"))?, b"cc\n", "the rest goes on");
    Ok(())
}

#[test]
fn nothing_is_written_through_a_link_in_the_target() -> Outcome {
    let scratch = Scratch::new()?;
    demand(scratch.path(), &format!("{BASE}\nmkdir out; echo out >out/b; echo out >out/f"))?;
    demand(
        scratch.path(),
        "rm -r t/d t/a t/e; ln -s ../out t/d; ln -s ../out/f t/a; ln -s nowhere t/e",
    )?;
    let before = snapshot(&scratch.at("out"));
    sync(["-a", "s/", "t"]).in_dir(scratch.path()).succeed()?;
    assert!(before == snapshot(&scratch.at("out")));
    for name in ["d", "e"] {
        assert!(fs::symlink_metadata(scratch.at("t").join(name))?.is_dir(), "{name}");
    }
    assert_eq!(fs::read(scratch.at("t/d/b"))?, b"bb\n");
    assert!(fs::symlink_metadata(scratch.at("t/a"))?.is_file());
    Ok(())
}

/// Operands, and the paths of the target after the run.
const OPERANDS: &[(&str, &[&str])] = &[
    ("s t", &["s/", "s/d/", "s/d/two", "s/one"]),
    ("s t/", &["s/", "s/d/", "s/d/two", "s/one"]),
    ("s/ t", &["d/", "d/two", "one"]),
    ("s/. t/", &["d/", "d/two", "one"]),
    ("s/d/../ t", &["d/", "d/two", "one"]),
    ("s/ u/ t", &["d/", "d/two", "one", "three"]),
    ("s u/ f t", &["f", "s/", "s/d/", "s/d/two", "s/one", "three"]),
    ("s/one f t", &["f", "one"]),
    ("f t/", &["f"]),
    ("f old", &["before", "f"]),
    ("s old", &["before", "s/", "s/d/", "s/d/two", "s/one"]),
    ("s/ old/", &["before", "d/", "d/two", "one"]),
];

#[test]
fn a_slash_behind_a_source_means_its_contents() -> Outcome {
    let has_rsync = has("rsync")?;
    for (operands, expected) in OPERANDS {
        let scratch = Scratch::new()?;
        demand(
            scratch.path(),
            "mkdir -p s/d u old; echo 1 >s/one; echo 2 >s/d/two; echo 3 >u/three; echo f >f
             echo b >old/before; mkdir r; cp -a s u f old r",
        )?;
        let words: Vec<&str> = operands.split(' ').collect();
        let target = words.last().ok_or("no target")?;
        sync(["-a"]).words(&words).in_dir(scratch.path()).succeed()?;
        assert_eq!(paths(&scratch.at(target))?, *expected, "{operands}");
        if has_rsync {
            Call::of("rsync").word("-a").words(&words).in_dir(scratch.at("r")).succeed()?;
            assert_eq!(paths(&scratch.at("r").join(target))?, *expected, "rsync {operands}");
        }
    }
    Ok(())
}

#[test]
fn a_file_goes_to_a_new_name_or_onto_a_file() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("f", "bytes")?;
    scratch.write("d/x", "")?;
    scratch.write("old", "old bytes")?;
    for target in ["new", "old"] {
        sync(["-a", "f", target]).in_dir(scratch.path()).succeed()?;
        assert_eq!(fs::read(scratch.at(target))?, b"bytes");
    }
    for (words, code) in [
        (&["-a", "d", "none/deep/t"][..], Some(11)),
        (&["-a", "f", "d/x/t"], None),
        (&["-a", "f", "d", "old"], None),
        (&["-a", "d/", "old"], None),
    ] {
        let done = sync(words).in_dir(scratch.path()).run()?;
        assert!(done.code().is_some_and(|is| is > 0), "{words:?}: {done:?}");
        assert!(code.is_none() || done.code() == code, "{words:?}: {done:?}");
        assert!(!scratch.at("none").exists(), "{words:?}");
        assert_eq!(fs::read(scratch.at("old"))?, b"bytes", "{words:?}");
    }
    Ok(())
}

/// Returns inodes and change times of the entries of a tree.
fn states(root: &Path) -> Outcome<Vec<u8>> {
    let find = Call::of("find").word(root).words(["-printf", "%p %i %C@\\n"]);
    Ok(find.succeed()?.stdout)
}

#[test]
fn a_run_that_finds_nothing_changed_writes_and_prints_nothing() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    demand(scratch.path(), &format!("{BASE}\nln s/a s/twin; ln t/a t/twin; old s t"))?;
    let before = states(&scratch.at("t"))?;
    for options in
        ["-a", "-aH", "-aHAX", "-ac", "-au", "-aS", "-a --delete", "-aH -c --delete --existing"]
    {
        for jobs in ["--jobs=1", "--jobs=4"] {
            let words = options.split(' ').chain([jobs, "-i", "s/", "t"]);
            let log = tempfile::NamedTempFile::new()?;
            let strace = Strace::new(log.path()).trace(&format!("openat,{WRITING}"));
            let done = strace.wrap(sync(words).in_dir(scratch.path())).succeed()?;
            assert_eq!(done.text(), "", "{options}");
            let makes = |text: &str| {
                ["O_CREAT", "O_TRUNC", "O_TMPFILE", "O_WRONLY"].iter().any(|how| text.contains(how))
            };
            let mut lines = strace.lines()?;
            lines.retain(|line| line.name != "openat" || makes(&line.text));
            lines.retain(|line| !line.text.contains("\"/dev/") && !line.text.contains("\"/proc/"));
            assert_eq!(lines, [], "{options} {jobs}");
            assert_eq!(states(&scratch.at("t"))?, before, "{options} {jobs}");
        }
    }
    Ok(())
}

#[test]
fn an_unchanged_file_costs_one_look_on_each_side() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    for number in 0..100 {
        scratch.write(&format!("s/d{}/same-{number}", number % 4), "same")?;
    }
    demand(scratch.path(), "cp -a s t")?;
    for options in ["-a", "-a --delete"] {
        let words = options.split(' ').chain(["--jobs=1", "s/", "t"]);
        let strace = Strace::new(scratch.at("log"));
        strace.wrap(sync(words).in_dir(scratch.path())).succeed()?;
        let mut lines = strace.lines()?;
        lines.retain(|line| line.text.contains("\"same-"));
        let is_look = |name: &str| matches!(name, "statx" | "newfstatat");
        assert!(lines.iter().all(|line| is_look(&line.name)), "{options}: {lines:?}");
        assert_eq!(lines.len(), 200, "{options}");
    }
    Ok(())
}

/// The target's file system may not store fractions, so a target without one is compared by seconds.
#[test]
fn fractions_of_a_second_count_where_the_target_has_one() -> Outcome {
    let scratch = Scratch::new()?;
    for (source, target, options, is_copied) in [
        ("1600000000.25", "1600000000", "-a", false),
        ("1600000000.25", "1600000000.5", "-a", true),
        ("1600000000", "1600000000.5", "-a", true),
        ("1600000000.25", "1600000000.25", "-a", false),
        ("1600000000.25", "1600000000.5", "-a --modify-window=1", false),
        ("1600000000.25", "1600000001", "-a", true),
    ] {
        scratch.write("s/f", "new")?;
        scratch.write("t/f", "old")?;
        demand(scratch.path(), &format!("touch -d @{source} s/f; touch -d @{target} t/f"))?;
        let words = || options.split(' ').chain(["-i", "s/f", "t/f"]);
        let done = sync(words()).in_dir(scratch.path()).succeed()?;
        let expected: &[u8] = if is_copied { b"new" } else { b"old" };
        let context = format!("{source} {target} {options}: {done:?}");
        assert_eq!(fs::read(scratch.at("t/f"))?, expected, "{context}");
        assert_eq!(itemized(&done).len(), usize::from(is_copied), "{context}");
        let again = sync(words()).in_dir(scratch.path()).succeed()?;
        assert_eq!(again.text(), "", "{context}");
    }
    Ok(())
}

#[test]
fn attributes_are_set_in_place_without_bytes() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    demand(scratch.path(), &format!("{BASE}\nchmod 600 t/a; chmod 711 t/d; older t/l t/p t/e"))?;
    let inodes = || -> Outcome<Vec<u64>> {
        ["a", "d", "l", "p", "e"]
            .iter()
            .map(|name| Ok(scratch.at("t").join(name).symlink_metadata()?.ino()))
            .collect()
    };
    let before = inodes()?;
    let strace = Strace::new(scratch.at("log")).trace(
        "sendfile,copy_file_range,splice,pwrite64,renameat2,linkat,symlinkat,mknodat,mkdirat",
    );
    strace.wrap(sync(["-a", "s/", "t"]).in_dir(scratch.path())).succeed()?;
    // An older strace does not know fchmodat2.
    let calls = strace.lines()?;
    assert!(calls.iter().all(|call| call.name.starts_with("syscall_")), "{calls:?}");
    assert_eq!(inodes()?, before);
    assert_eq!(fs::metadata(scratch.at("t/a"))?.mode(), fs::metadata(scratch.at("s/a"))?.mode());
    Ok(())
}

/// What another name of the file shows stays, so the attributes are those of a new file.
#[test]
fn a_target_with_another_name_is_replaced_and_not_changed() -> Outcome {
    let scratch = Scratch::new()?;
    for (edit, begins) in [
        ("chmod 600 t/a", ">f...p....."),
        ("echo AA >t/a; older t/a", ">f..t......"),
        ("echo longer >t/a; older t/a", ">f.st......"),
    ] {
        for options in ["-a", "-aH"] {
            scratch.clear_all()?;
            demand(scratch.path(), &format!("{BASE}\nmkdir out; ln t/a out/a; {edit}; old t"))?;
            let before = snapshot(&scratch.at("out"));
            let bytes = fs::read(scratch.at("out/a"))?;
            let done = sync([options, "-i", "s/", "t"]).in_dir(scratch.path()).succeed()?;
            assert_eq!(itemized(&done), [format!("{begins} a")], "{edit} {options}");
            let mut after = snapshot(&scratch.at("out"));
            after
                .entries
                .iter_mut()
                .zip(&before.entries)
                .for_each(|(is, was)| is.nlink = was.nlink);
            assert!(before == after, "{edit} {options}");
            assert_eq!(fs::read(scratch.at("out/a"))?, bytes, "{edit} {options}");
            assert_eq!(fs::read(scratch.at("t/a"))?, b"aa\n", "{edit} {options}");
            assert_eq!(
                fs::metadata(scratch.at("t/a"))?.mode(),
                fs::metadata(scratch.at("s/a"))?.mode()
            );
        }
    }
    Ok(())
}

#[test]
fn hard_links_are_made_and_separated() -> Outcome {
    let scratch = Scratch::new()?;
    let inode = |name: &str| -> Outcome<u64> { Ok(fs::metadata(scratch.at(name))?.ino()) };
    for jobs in ["--jobs=1", "--jobs=4"] {
        scratch.clear_all()?;
        // Links that the target lacks: beside an equal file, a missing one, and one with other bytes.
        demand(
            scratch.path(),
            &format!(
                "{BASE}\nln s/a s/a2; cp -p t/a t/a2; ln s/d/b s/b2; ln s/c s/c2; echo X >t/c2"
            ),
        )?;
        sync(["-aH", jobs, "s/", "t"]).in_dir(scratch.path()).succeed()?;
        for (one, two) in [("t/a", "t/a2"), ("t/d/b", "t/b2"), ("t/c", "t/c2")] {
            assert_eq!(inode(one)?, inode(two)?, "{one} {two}");
            assert_eq!(fs::read(scratch.at(one))?.len(), 3, "{one}");
        }
        let again = sync(["-aHi", jobs, "s/", "t"]).in_dir(scratch.path()).succeed()?;
        assert_eq!(again.text(), "");
        // A link of the target that the source lacks, and whose two files differ there.
        for options in ["-a", "-aH"] {
            demand(
                scratch.path(),
                "rm -rf u; mkdir u; echo one >u/one; echo two2 >u/two; rm -rf v; mkdir v",
            )?;
            demand(scratch.path(), "cp -a u/one v/one; ln v/one v/two")?;
            sync([options, jobs, "u/", "v"]).in_dir(scratch.path()).succeed()?;
            assert_ne!(inode("v/one")?, inode("v/two")?, "{options}");
            assert_eq!(fs::read(scratch.at("v/one"))?, b"one\n", "{options}");
            assert_eq!(fs::read(scratch.at("v/two"))?, b"two2\n", "{options}");
        }
    }
    Ok(())
}

#[test]
fn kinds_that_are_not_asked_for_are_skipped_and_stay() -> Outcome {
    let scratch = Scratch::new()?;
    demand(scratch.path(), &format!("{BASE}\nln -s q s/k; mkfifo s/q; ln -sfn mine t/l; old s t"))?;
    let done = sync(["-rt", "-i", "--delete", "s/", "t"]).in_dir(scratch.path()).run()?;
    assert_eq!((done.code(), itemized(&done)), (Some(0), Vec::new()), "{done:?}");
    assert!(done.text().contains('q') || done.errors().contains('q'), "it says so: {done:?}");
    assert!(!scratch.at("t/q").exists() && scratch.at("t/k").symlink_metadata().is_err());
    assert_eq!(fs::read_link(scratch.at("t/l"))?, Path::new("mine"));
    assert!(scratch.at("t/p").exists());
    Ok(())
}

#[test]
fn a_command_line_that_is_not_carried_out_names_the_word() -> Outcome {
    let scratch = Scratch::new()?;
    demand(scratch.path(), BASE)?;
    let before = snapshot(scratch.path());
    for word in [
        "--nonsense",
        "-y",
        "--super",
        "--fake-super",
        "--write-batch=x",
        "--daemon",
        "--iconv=x",
        "--crtimes",
        "--copy-devices",
        "--max-delete=x",
        "--modify-window=x",
    ] {
        let done = sync(["-a", word, "s/", "t"]).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(1), "{word}: {done:?}");
        let name = word.split('=').next().unwrap_or_default().trim_start_matches('-');
        assert!(done.errors().contains(name), "{word}: {done:?}");
    }
    for operands in [&["host:s", "t"][..], &["s", "rsync://host/t"], &["s", "host::t"]] {
        let done = sync(["-a"]).words(operands).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(1), "{operands:?}: {done:?}");
        assert!(done.errors().contains("rsync"), "{operands:?}: {done:?}");
    }
    for words in [&[][..], &["-a"], &["-a", "s"]] {
        assert_eq!(sync(words).in_dir(scratch.path()).run()?.code(), Some(1), "{words:?}");
    }
    assert!(before == snapshot(scratch.path()));
    Ok(())
}

#[test]
fn words_of_a_connection_are_accepted_without_effect() -> Outcome {
    for word in [
        "-W",
        "--whole-file",
        "-z",
        "--compress",
        "--numeric-ids",
        "--no-inc-recursive",
        "-s",
        "--protect-args",
        "-8",
        "--blocking-io",
        "--no-motd",
        "-q",
    ] {
        let scratch = Scratch::new()?;
        demand(scratch.path(), &format!("{BASE}\nrm t/a"))?;
        sync(["-a", word, "s/", "t"]).in_dir(scratch.path()).succeed()?;
        assert_eq!(fs::read(scratch.at("t/a"))?, b"aa\n", "{word}");
    }
    Ok(())
}

#[test]
fn what_cannot_be_read_is_23_and_the_rest_is_copied() -> Outcome {
    let scratch = Scratch::new()?;
    demand(scratch.path(), &format!("{BASE}\nrm -r t"))?;
    let done = sync(["-a", "none", "s/a", "t/"]).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(23), "{done:?}");
    assert!(done.errors().contains("none") && scratch.at("t/a").exists(), "{done:?}");
    if !is_root()? {
        return Ok(());
    }
    let scratch = Scratch::public()?;
    let program = scratch.program("haul")?;
    demand(scratch.path(), &format!("{BASE}\nrm -r t; chmod 0 s/a; chown -R 12345:12345 . s"))?;
    let call = Call::of(&program).words(["sync", "-rlt", "s/", "t"]).in_dir(scratch.path());
    let done = call.by_user().run()?;
    assert_eq!(done.code(), Some(23), "{done:?}");
    assert!(!scratch.at("t/a").exists() && fs::read(scratch.at("t/d/b"))? == b"bb\n", "{done:?}");
    Ok(())
}

#[test]
fn a_source_that_vanishes_meanwhile_is_24() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let prepare = || -> Outcome {
        scratch.clear_all()?;
        demand(scratch.path(), &format!("{BASE}\nrm -r t; echo v >s/v; echo w >s/d/w"))
    };
    prepare()?;
    let call = sync(["-a", "--jobs=1", "s/", "t"]).in_dir(scratch.path());
    let log = tempfile::NamedTempFile::new()?;
    let strace = Strace::new(log.path());
    strace.wrap(call.clone()).succeed()?;
    let mut codes = Vec::new();
    for point in occurrences(&strace.lines()?, "getdents64").collect::<Vec<_>>() {
        prepare()?;
        let vanish = || demand(scratch.path(), "rm s/v s/d/w");
        let Some(done) = stopped_at(log.path(), &call, &point, vanish)? else { continue };
        assert!(matches!(done.code(), Some(0 | 24)), "{point:?}: {done:?}");
        assert_eq!(fs::read(scratch.at("t/d/b"))?, b"bb\n", "{point:?}: {done:?}");
        codes.extend(done.code());
    }
    assert!(codes.contains(&24), "{codes:?}");
    Ok(())
}

#[test]
fn an_interrupted_run_ends_with_20_and_leaves_whole_files() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let prepare = || -> Outcome {
        scratch.clear_all()?;
        for number in 0..12_usize {
            scratch.write(&format!("s/d{}/{number}", number % 3), noise(20_000 * number + 7))?;
            scratch.write(&format!("t/d{}/{number}", number % 3), "before")?;
            scratch.write(&format!("t/x/{number}"), "extraneous")?;
        }
        Ok(())
    };
    prepare()?;
    let call = sync(["-a", "--delete", "--jobs=1", "s/", "t"]).in_dir(scratch.path());
    let log = tempfile::NamedTempFile::new()?;
    let strace = Strace::new(log.path());
    strace.wrap(call.clone()).succeed()?;
    let mut heard = 0;
    for point in points(&strace.lines()?).iter().step_by(5) {
        prepare()?;
        let what = format!("{}:signal=INT:when={}", point.name, point.occurrence);
        let done =
            Strace::new(log.path()).trace(&point.name).inject(&what).wrap(call.clone()).run()?;
        let context = format!("{point:?}: {done:?}");
        assert!(matches!(done.code(), Some(0 | 20)), "{context}");
        heard += usize::from(done.code() == Some(20));
        for number in 0..12 {
            let name = format!("d{}/{number}", number % 3);
            let is = fs::read(scratch.at("t").join(&name))?;
            let whole = fs::read(scratch.at("s").join(&name))?;
            assert!(
                is == whole || (is == b"before" && done.code() == Some(20)),
                "{name} {context}"
            );
            assert_eq!(hidden(&scratch.at(format!("t/d{}", number % 3)))?.len(), 0, "{context}");
        }
    }
    assert!(heard > 10, "only {heard} signals were heard");
    Ok(())
}
