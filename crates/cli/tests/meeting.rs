//! Two entries of a run that come to one file of the target by links or by the name of a backup: the second
//! one must not destroy what the first one has just made.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::PathBuf;

use super::mv::{Two, mv};
use super::support::run::{Call, Done, cp};
use super::support::scratch::Scratch;
use super::support::{Outcome, has, is_root};

/// Ways to copy a tree onto one that exists.
const WAYS: [&[&str]; 6] =
    [&["-r"], &["-r", "--jobs=4"], &["-rL"], &["-r", "--atomic"], &["-r", "--durable"], &["-rp"]];

/// Returns the sources of which the target has no copy.
fn missing(scratch: &Scratch, names: &[&str]) -> Outcome<Vec<String>> {
    let mut missing = Vec::new();
    for name in names {
        let source = fs::read(scratch.at(format!("s/{name}")))?;
        if fs::read(scratch.at(format!("t/{name}"))).ok().as_ref() != Some(&source) {
            missing.push((*name).to_owned());
        }
    }
    Ok(missing)
}

/// Makes a source with three files, in two directories, and a target that a function furnishes.
fn furnish(furnish_target: impl Fn(&Scratch) -> Outcome) -> Outcome<Scratch> {
    let scratch = Scratch::new()?;
    let source = scratch.at("s");
    fs::create_dir(&source)?;
    // A walk takes the entries of a directory by their inode numbers, which a file system may give in any order:
    // the name that the links lead to comes before the other file and the directory.
    let (mut files, mut directories) = (BTreeMap::new(), BTreeMap::new());
    let is_fit = |files: &BTreeMap<u64, PathBuf>, directories: &BTreeMap<u64, PathBuf>| {
        files.len() >= 3 && files.first_key_value() < directories.last_key_value()
    };
    while !is_fit(&files, &directories) {
        let (file, directory) = (format!("f{}", files.len()), format!("d{}", files.len()));
        let (file, directory) = (source.join(file), source.join(directory));
        fs::write(&file, "")?;
        fs::create_dir(&directory)?;
        files.insert(fs::metadata(&file)?.ino(), file);
        directories.insert(fs::metadata(&directory)?.ino(), directory);
    }
    let (_, last) = directories.pop_last().ok_or("no directory")?;
    fs::rename(last, source.join("d"))?;
    for name in ["a", "b", "d/c"] {
        let (_, first) = files.pop_first().ok_or("no file")?;
        fs::rename(first, source.join(name))?;
        fs::write(source.join(name), format!("content of {name}"))?;
    }
    for spare in files.values() {
        fs::remove_file(spare)?;
    }
    for spare in directories.values() {
        fs::remove_dir(spare)?;
    }
    fs::create_dir_all(scratch.at("t/d"))?;
    scratch.write("t/a", "old")?;
    furnish_target(&scratch)?;
    Ok(scratch)
}

#[test]
fn a_content_is_never_lost_by_a_link_in_the_target() -> Outcome {
    let hard = |scratch: &Scratch| {
        fs::hard_link(scratch.at("t/a"), scratch.at("t/b"))?;
        Ok(fs::hard_link(scratch.at("t/a"), scratch.at("t/d/c"))?)
    };
    let soft = |scratch: &Scratch| {
        symlink("a", scratch.at("t/b"))?;
        Ok(symlink("../a", scratch.at("t/d/c"))?)
    };
    for way in WAYS {
        for (links, is_hard) in [(&hard as &dyn Fn(&Scratch) -> Outcome, true), (&soft, false)] {
            let scratch = furnish(links)?;
            let done = cp(way).words(["-T", "s", "t"]).in_dir(scratch.path()).run()?;
            let missing = missing(&scratch, &["a", "b", "d/c"])?;
            // A complete file replaces one of several hard links alone.
            let is_apart = is_hard && (way.contains(&"--atomic") || way.contains(&"--durable"));
            assert_eq!(missing.len(), if is_apart { 0 } else { 2 }, "{way:?}: {done:?}");
            assert_eq!(done.code(), Some(i32::from(!is_apart)), "{way:?}: {done:?}");
            for name in &missing {
                let told = format!("will not overwrite just-created 't/{name}' with 's/{name}'");
                assert!(done.errors().contains(&told), "{way:?}: {done:?}");
            }
            // The names in the target can be separated.
            let call = cp(way).words(["--remove-destination", "-T", "s", "t"]);
            call.in_dir(scratch.path()).succeed()?;
        }
    }
    Ok(())
}

#[test]
fn names_of_one_source_share_a_file_of_the_target() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("s/a", "one")?;
    fs::hard_link(scratch.at("s/a"), scratch.at("s/b"))?;
    symlink("a", scratch.at("s/c"))?;
    cp(["-aT", "s", "t"]).in_dir(scratch.path()).succeed()?;
    for way in [["-rT"], ["-rLT"], ["-aT"]] {
        let done = cp(way).words(["s", "t"]).in_dir(scratch.path()).succeed()?;
        assert_eq!(done.errors(), "", "{way:?}");
    }
    assert_eq!(fs::read(scratch.at("t/b"))?, b"one");
    Ok(())
}

/// As with GNU, the entries of a later operand replace those of an earlier one.
#[test]
fn one_operand_may_lie_over_another() -> Outcome {
    let scratch = Scratch::new()?;
    for name in ["one/f", "one/d/f", "two/f", "two/d/f", "file/f"] {
        scratch.write(name, name)?;
    }
    fs::create_dir(scratch.at("t"))?;
    for way in [&["-r"][..], &["-a", "--jobs=4"], &["-r", "--atomic"], &["-r", "--durable"]] {
        cp(way).words(["file/f", "one/.", "two/.", "t"]).in_dir(scratch.path()).succeed()?;
        for name in ["f", "d/f"] {
            let copied = fs::read_to_string(scratch.at(format!("t/{name}")))?;
            assert_eq!(copied, format!("two/{name}"), "{way:?}");
        }
    }
    Ok(())
}

#[test]
fn a_rehearsal_foresees_that_two_entries_meet() -> Outcome {
    let linked = |scratch: &Scratch| Ok(fs::hard_link(scratch.at("t/a"), scratch.at("t/b"))?);
    let soft = |scratch: &Scratch| Ok(symlink("a", scratch.at("t/b"))?);
    let backup = |scratch: &Scratch| {
        scratch.write("s/a~", "content of a~")?;
        Ok(())
    };
    for (furnished, way) in [
        (&linked as &dyn Fn(&Scratch) -> Outcome, &["-r"][..]),
        (&soft, &["-r"]),
        (&linked, &["-r", "--atomic"]),
        (&backup, &["-rb"]),
        (&backup, &["-r", "--backup=numbered"]),
    ] {
        let scratch = furnish(furnished)?;
        let call = |first: &[&str]| {
            let words = ["--jobs=1", "-T", "s", "t"];
            cp(first).words(way).words(words).in_dir(scratch.path()).run()
        };
        let (foreseen, done) = (call(&["--dry-run"])?, call(&[])?);
        assert_eq!(foreseen.code(), done.code(), "{way:?}: {foreseen:?} {done:?}");
        assert_eq!(foreseen.errors(), done.errors(), "{way:?}");
    }
    Ok(())
}

#[test]
fn a_backup_replaces_nothing_that_was_just_copied() -> Outcome {
    let ways: [&[&str]; 5] =
        [&["-rb"], &["-rb", "--jobs=4"], &["-ab"], &["-rb", "--atomic"], &["-rb", "--durable"]];
    for way in ways {
        for had_backup in [false, true] {
            // Which of the two names comes first is for the directory to say.
            for names in [["f", "f~"], ["f~", "f"]] {
                let scratch = Scratch::new()?;
                for name in names {
                    scratch.write(&format!("s/{name}"), format!("new {name}"))?;
                }
                scratch.write("t/f", "old f")?;
                if had_backup {
                    scratch.write("t/f~", "old f~")?;
                }
                let done = cp(way).words(["-T", "s", "t"]).in_dir(scratch.path()).run()?;
                let text = |name: &str| fs::read_to_string(scratch.at(format!("t/{name}")));
                let context = format!("{way:?} {had_backup} {names:?}: {done:?}");
                let mut left = Vec::new();
                for name in ["f", "f~", "f~~"] {
                    left.extend(text(name).ok());
                }
                assert!(left.contains(&"old f".to_owned()), "{context}");
                if done.code() == Some(0) {
                    assert_eq!((text("f")?, text("f~")?), ("new f".into(), "new f~".into()));
                    assert_eq!(text("f~~")?, "old f", "{context}");
                } else {
                    assert_eq!(done.code(), Some(1), "{context}");
                    let (is_f, is_backup) =
                        (left.contains(&"new f".to_owned()), left.contains(&"new f~".to_owned()));
                    assert!(is_f != is_backup, "{context}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn a_refused_backup_names_what_it_would_replace() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("1/f~", "precious")?;
    scratch.write("2/f", "new")?;
    scratch.write("t/f", "old")?;
    let call = cp(["-b", "1/f~", "2/f", "t"]).in_dir(scratch.path());
    let done = call.run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert_eq!(done.errors(), "cp: will not overwrite just-created 't/f~' with '2/f'\n");
    assert_eq!(fs::read(scratch.at("t/f~"))?, b"precious");
    assert_eq!(fs::read(scratch.at("t/f"))?, b"old");
    cp(["--backup=numbered", "2/f", "t"]).in_dir(scratch.path()).succeed()?;
    assert_eq!(fs::read(scratch.at("t/f.~1~"))?, b"old");
    Ok(())
}

/// What a target has under the names that two sources lead to, before the copy.
const BEFORE: [&str; 4] = ["nothing", "file", "hard links", "FIFO"];

/// Makes a source with the same leaf names in two directories, and a target in which a function makes one
/// directory of the two.
fn furnish_leaves(before: &str) -> Outcome<Scratch> {
    let scratch = Scratch::new()?;
    for (directory, other) in [("d", "only-d"), ("e", "only-e")] {
        for name in ["f", "deep/down/f", other, &format!("deep/{other}")] {
            scratch.write(&format!("s/{directory}/{name}"), format!("{directory}/{name}"))?;
        }
        symlink(directory, scratch.at(format!("s/{directory}/link")))?;
    }
    fs::create_dir_all(scratch.at("t/d"))?;
    match before {
        "file" => scratch.write("t/d/f", "old").map(|_| ())?,
        "hard links" => {
            scratch.write("t/f", "old")?;
            fs::hard_link(scratch.at("t/f"), scratch.at("t/d/f"))?;
        }
        "FIFO" => Call::of("mkfifo").word(scratch.at("t/d/f")).succeed().map(|_| ())?,
        _ => {}
    }
    Ok(scratch)
}

/// Checks that each content is in the target, or was refused, and that nothing else was.
fn demand_no_loss(scratch: &Scratch, done: &Done, context: &str) -> Outcome {
    let context = format!("{context}: {done:?}");
    for name in ["only-d", "only-e", "deep/only-d", "deep/only-e"] {
        assert!(scratch.at("t/d").join(name).exists(), "{name}, {context}");
    }
    assert_eq!(done.code(), Some(1), "{context}");
    // Of the two that meet, the first one stays, and the second one is named.
    for name in ["f", "deep/down/f", "link"] {
        let at = scratch.at("t/d").join(name);
        let is_d = if name == "link" {
            let text = fs::read_link(&at).or_else(|_| fs::canonicalize(&at))?;
            text.ends_with("d") || text.ends_with("d/link")
        } else {
            fs::read_to_string(&at)?.starts_with("d/")
        };
        let refused = format!("t/{}/{name}'", if is_d { "e" } else { "d" });
        assert!(done.errors().contains(&refused), "{name}, {context}");
    }
    let errors = done.errors();
    let refusals = errors.lines().filter(|line| !line.contains("the journal"));
    assert_eq!(refusals.count(), 3, "{context}");
    Ok(())
}

#[test]
fn two_directories_that_are_one_lose_no_content() -> Outcome {
    let ways: [&[&str]; 15] = [
        &["-r"],
        &["-r", "--jobs=4"],
        &["-rp"],
        &["-a"],
        &["-rb"],
        &["-rf"],
        &["-r", "--remove-destination"],
        &["-r", "--atomic"],
        &["-r", "--atomic", "--remove-destination"],
        &["-r", "--durable"],
        &["-a", "--jobs=4", "--durable"],
        &["-r", "--resume"],
        &["-rPlf"],
        &["-rsf"],
        &["-r", "--verify"],
    ];
    for way in ways {
        for before in BEFORE {
            let is_fed = before == "FIFO" && !way.contains(&"--remove-destination");
            if is_fed && !["-rb", "-rPlf", "-rsf"].contains(&way[0]) {
                continue;
            }
            let scratch = furnish_leaves(before)?;
            symlink("d", scratch.at("t/e"))?;
            let source = scratch.at("s");
            let call = cp(way).words(["--keep-directory-symlink", "-T"]).word(source).word("t");
            let done = call.in_dir(scratch.path()).run()?;
            demand_no_loss(&scratch, &done, &format!("{way:?} onto {before}"))?;
        }
    }
    Ok(())
}

#[test]
fn an_operand_over_another_by_a_link_loses_no_content() -> Outcome {
    let scratch = furnish_leaves("nothing")?;
    symlink("d", scratch.at("t/e"))?;
    let call = cp(["-r", "--keep-directory-symlink", "s/d", "s/e", "t"]);
    let done = call.in_dir(scratch.path()).run()?;
    demand_no_loss(&scratch, &done, "two operands")?;
    let call = cp(["--parents", "d/f", "e/f", "../t"]);
    let scratch = furnish_leaves("nothing")?;
    symlink("d", scratch.at("t/e"))?;
    let done = call.in_dir(scratch.at("s")).run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert_eq!(fs::read_to_string(scratch.at("t/d/f"))?, "d/f");
    Ok(())
}

#[test]
fn a_bind_mount_in_the_target_loses_no_content() -> Outcome {
    if !is_root()? || !has("unshare")? || !has("mount")? {
        return Ok(());
    }
    for way in [&["-r"][..], &["-a", "--jobs=4"], &["-r", "--atomic"], &["-rf", "--durable"]] {
        for before in ["nothing", "file", "hard links"] {
            let scratch = furnish_leaves(before)?;
            fs::create_dir_all(scratch.at("t/d/deep/down"))?;
            fs::create_dir(scratch.at("t/e"))?;
            let call = cp(way).words(["-T", "s", "t"]).in_dir(scratch.path());
            let script = "mount --bind t/d t/e && exec \"$0\" \"$@\"";
            let done = call.under(["unshare", "-m", "--", "sh", "-c", script]).run()?;
            demand_no_loss(&scratch, &done, &format!("{way:?} onto {before}"))?;
        }
    }
    Ok(())
}

/// As after a program that makes hard links of equal files. What a link leads to is an earlier operand: a later one has
/// the bytes of another by then, which no force takes.
#[test]
fn force_separates_names_that_lead_to_one_file() -> Outcome {
    let operands = ["s/a", "s/b", "s/d", "t"];
    for links in ["hard", "symbolic"] {
        for way in [&["-rf"][..], &["-rf", "--jobs=4"], &["-rpf"], &["-r", "--remove-destination"]]
        {
            let scratch = furnish(|scratch| {
                if links == "hard" {
                    fs::hard_link(scratch.at("t/a"), scratch.at("t/b"))?;
                    return Ok(fs::hard_link(scratch.at("t/a"), scratch.at("t/d/c"))?);
                }
                symlink("a", scratch.at("t/b"))?;
                Ok(symlink("../a", scratch.at("t/d/c"))?)
            })?;
            let dry = cp(["--dry-run"]).words(way).words(operands).in_dir(scratch.path());
            dry.succeed()?;
            cp(way).words(operands).in_dir(scratch.path()).succeed()?;
            assert_eq!(missing(&scratch, &["a", "b", "d/c"])?, [""; 0], "{links} {way:?}");
        }
        let scratch = furnish(|scratch| Ok(fs::hard_link(scratch.at("t/a"), scratch.at("t/b"))?))?;
        let done = cp(["-rT", "s", "t"]).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(1), "{done:?}");
        assert!(done.errors().contains("--remove-destination makes a file of its own"), "{done:?}");
    }
    Ok(())
}

/// The file that the first operand replaces has the second one's name, too, which differs only in case: it is not what
/// a server that ignores case still shows of the first.
#[test]
fn names_in_two_cases_of_one_replaced_file_are_moved_over() -> Outcome {
    let Some(two) = Two::new()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    for (scratch, text) in [(here, "new"), (there, "old")] {
        scratch.write("a", text)?;
        fs::hard_link(scratch.at("a"), scratch.at("A"))?;
    }
    mv(["a", "A", &two.far("")]).in_dir(here.path()).succeed()?;
    for name in ["a", "A"] {
        assert_eq!(fs::read(there.at(name))?, b"new", "{name}");
        assert!(!here.at(name).exists(), "{name}");
    }
    Ok(())
}
