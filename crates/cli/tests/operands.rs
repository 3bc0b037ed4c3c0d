//! Several operands with the same target: none overwrites the copy of another.

use std::fs;
use std::os::unix::fs::symlink;

use super::mv::mv;
use super::support::run::cp;
use super::support::scratch::Scratch;
use super::support::strace::is_usable;
use super::support::{Outcome, has};

/// The target folder before the copy, the operands, the file that keeps the first operand's bytes, and the
/// message about the second one.
struct Case {
    prepare: fn(&Scratch) -> Outcome,
    words: &'static [&'static str],
    kept: &'static str,
    said: &'static str,
}

fn sources(scratch: &Scratch) -> Outcome {
    scratch.write("a/f", "one")?;
    scratch.write("b/f", "two")?;
    scratch.write("g", "one")?;
    fs::create_dir(scratch.at("t"))?;
    Ok(())
}

const CASES: [Case; 7] = [
    Case {
        prepare: |scratch| {
            scratch.write("t/other", "old")?;
            Ok(symlink("other", scratch.at("t/f"))?)
        },
        words: &["a/f", "b/f", "t"],
        kept: "t/other",
        said: "will not copy 'b/f' through just-created symlink 't/f'",
    },
    // Another name of the file that was just written: a symbolic link, and a hard link.
    Case {
        prepare: |scratch| {
            scratch.write("t/g", "old")?;
            Ok(symlink("g", scratch.at("t/f"))?)
        },
        words: &["g", "b/f", "t"],
        kept: "t/g",
        said: "will not overwrite just-created 't/f' with 'b/f'",
    },
    Case {
        prepare: |scratch| {
            scratch.write("t/g", "old")?;
            Ok(fs::hard_link(scratch.at("t/g"), scratch.at("t/f"))?)
        },
        words: &["g", "b/f", "t"],
        kept: "t/g",
        said: "will not overwrite just-created 't/f' with 'b/f'",
    },
    Case {
        prepare: |scratch| Ok(symlink("g", scratch.at("t/f"))?),
        words: &["--remove-destination", "a/f", "b/f", "t"],
        kept: "t/f",
        said: "will not overwrite just-created 't/f' with 'b/f'",
    },
    Case {
        prepare: |_| Ok(()),
        words: &["-l", "a/f", "b/f", "t"],
        kept: "t/f",
        said: "will not overwrite just-created 't/f' with 'b/f'",
    },
    Case {
        prepare: |scratch| {
            scratch.write("t/other", "old")?;
            Ok(symlink("other", scratch.at("t/f"))?)
        },
        words: &["--atomic", "a/f", "b/f", "t"],
        kept: "t/other",
        said: "will not copy 'b/f' through just-created symlink 't/f'",
    },
    Case {
        prepare: |scratch| {
            scratch.write("t/g", "old")?;
            Ok(symlink("g", scratch.at("t/f"))?)
        },
        words: &["--durable", "g", "b/f", "t"],
        kept: "t/g",
        said: "will not overwrite just-created 't/f' with 'b/f'",
    },
];

#[test]
fn no_operand_is_written_over_what_another_wrote() -> Outcome {
    for case in CASES {
        for jobs in ["--jobs=1", "--jobs=4"] {
            let scratch = Scratch::new()?;
            sources(&scratch)?;
            (case.prepare)(&scratch)?;
            let done = cp([jobs]).words(case.words).in_dir(scratch.path()).run()?;
            let context = format!("{:?} {jobs}: {done:?}", case.words);
            assert_eq!(done.code(), Some(1), "{context}");
            assert_eq!(fs::read(scratch.at(case.kept))?, b"one", "{context}");
            assert!(done.errors().contains(case.said), "{context}");
        }
    }
    Ok(())
}

#[test]
fn links_of_several_operands_are_kept_in_gnus_words() -> Outcome {
    let scratch = Scratch::new()?;
    sources(&scratch)?;
    for (name, text) in [("a/1", "one"), ("b/1", "two")] {
        symlink(text, scratch.at(name))?;
    }
    let done = cp(["-P", "a/1", "b/1", "t"]).in_dir(scratch.path()).run()?;
    assert_eq!(done.errors(), "cp: will not overwrite just-created 't/1' with 'b/1'\n");
    assert_eq!(fs::read_link(scratch.at("t/1"))?.to_str(), Some("one"));
    symlink("nowhere", scratch.at("a/2"))?;
    scratch.write("b/2", "bytes")?;
    let done = cp(["-dR", "a/2", "b/2", "t"]).in_dir(scratch.path()).run()?;
    assert_eq!(done.errors(), "cp: will not copy 'b/2' through just-created symlink 't/2'\n");
    fs::create_dir(scratch.at("here"))?;
    let done = cp(["-s", "../a/f", "../b/f", "."]).in_dir(scratch.at("here")).run()?;
    assert_eq!(done.errors(), "cp: will not overwrite just-created './f' with '../b/f'\n");
    assert_eq!(fs::read_link(scratch.at("here/f"))?.to_str(), Some("../a/f"));
    Ok(())
}

#[test]
fn one_source_may_reach_one_target_by_two_names() -> Outcome {
    let scratch = Scratch::new()?;
    sources(&scratch)?;
    fs::hard_link(scratch.at("g"), scratch.at("h"))?;
    scratch.write("t/g", "old")?;
    fs::hard_link(scratch.at("t/g"), scratch.at("t/h"))?;
    cp(["g", "h", "t"]).in_dir(scratch.path()).succeed()?;
    assert_eq!(fs::read(scratch.at("t/h"))?, b"one");
    // A numbered backup keeps both.
    cp(["--backup=numbered", "a/f", "b/f", "t"]).in_dir(scratch.path()).succeed()?;
    assert_eq!(fs::read(scratch.at("t/f.~1~"))?, b"one");
    assert_eq!(fs::read(scratch.at("t/f"))?, b"two");
    Ok(())
}

#[test]
fn a_link_with_the_backups_name_changes_places_with_what_it_replaces() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("a", "old")?;
    symlink("x", scratch.at("a~"))?;
    mv(["--backup=simple", "a~", "a"]).in_dir(scratch.path()).succeed()?;
    assert_eq!(fs::read_link(scratch.at("a"))?.to_str(), Some("x"));
    assert_eq!(fs::read(scratch.at("a~"))?, b"old");
    // A file would be lost, as GNU's message says.
    scratch.write("b", "old")?;
    scratch.write("b~", "new")?;
    let done = mv(["--backup=simple", "b~", "b"]).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert_eq!(
        (fs::read(scratch.at("b"))?, fs::read(scratch.at("b~"))?),
        (b"old".into(), b"new".into())
    );
    Ok(())
}

#[test]
fn update_goes_by_what_the_target_can_hold() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("s", "new")?;
    scratch.write("t", "old")?;
    if !has("touch")? || !is_usable()? {
        return Ok(());
    }
    let touch = |name: &str, time: &str| {
        let call = super::support::run::Call::of("touch").words(["-d", time, name]);
        call.in_dir(scratch.path()).succeed()
    };
    // The target's fraction is zero by chance; its ctime shows that the file system has fractions.
    touch("s", "2024-01-01 00:00:00.7")?;
    touch("t", "2024-01-01 00:00:00")?;
    cp(["-u", "s", "t"]).in_dir(scratch.path()).succeed()?;
    assert_eq!(fs::read(scratch.at("t"))?, b"new");
    Ok(())
}

#[test]
fn a_slash_behind_an_operand_with_its_parents_means_a_directory() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("p/q/f", "text")?;
    scratch.write("file", "text")?;
    symlink("q", scratch.at("p/l"))?;
    for words in [
        &["-r", "p/l/", "x"][..],
        &["-a", "p/l//", "x"],
        &["-r", "-t", "x", "p/l/"],
        &["-rP", "p//l/", "x"],
    ] {
        fs::create_dir(scratch.at("x"))?;
        cp(["--parents"]).words(words).in_dir(scratch.path()).succeed()?;
        assert_eq!(fs::read(scratch.at("x/p/l/f"))?, b"text", "{words:?}");
        assert!(scratch.at("x/p/l").symlink_metadata()?.is_dir(), "{words:?}");
        scratch.clear("x")?;
    }
    fs::create_dir(scratch.at("x"))?;
    for word in ["file/", "p/q/f/"] {
        let done = cp(["--parents", word, "x"]).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(1), "{word}: {done:?}");
        let told = format!("cp: cannot stat '{word}': Not a directory\n");
        assert_eq!(done.errors(), told);
        assert!(!scratch.at("x").join(word.trim_end_matches('/')).exists(), "{word}");
    }
    let done = cp(["--parents", "file", "none"]).in_dir(scratch.path()).run()?;
    let told = "cp: with --parents, the destination must be a directory\n\
                Try 'haul cp --help' for more information.\n";
    assert_eq!((done.code(), done.errors().as_str()), (Some(1), told));
    Ok(())
}

#[test]
fn a_link_that_is_not_wanted_need_not_lead_anywhere() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("f", "text")?;
    scratch.write("t/f", "old")?;
    for (options, code) in [
        (&["-n"][..], 0),
        (&["-u"], 0),
        (&["--update=none"], 0),
        (&["--update=none-fail"], 1),
        (&["-b"], 1),
        (&["-f"], 1),
        (&["--remove-destination"], 1),
    ] {
        for mode in [&[][..], &["--dry-run"]] {
            let call = cp(["-s"]).words(options).words(mode.iter().copied());
            let done = call.words(["f", "t"]).in_dir(scratch.path()).run()?;
            assert_eq!(done.code(), Some(code), "{options:?} {mode:?}: {done:?}");
            let says_why = done.errors().contains("can make relative symbolic links only in");
            let is_refused = code == 1 && options != ["--update=none-fail"];
            assert_eq!(says_why, is_refused, "{options:?} {mode:?}: {done:?}");
            assert_eq!(fs::read(scratch.at("t/f"))?, b"old", "{options:?}");
            assert!(!scratch.at("t/f~").exists(), "{options:?}");
        }
    }
    let asked = cp(["-si", "f", "t"]).in_dir(scratch.path()).input("n\n").run()?;
    assert!(asked.errors().starts_with("cp: overwrite 't/f'?"), "{asked:?}");
    assert!(!asked.errors().contains("relative"), "{asked:?}");
    Ok(())
}
