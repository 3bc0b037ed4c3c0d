//! Selections: `cp`, `mv` and `rm` with rsync's rules, lists of names, sizes and dates.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::mv::{Two, mv};
use super::resume::become_old;
use super::support::run::{Call, USER, cp, haul};
use super::support::scratch::Scratch;
use super::support::shell::demand;
use super::support::strace::{Point, Strace, is_usable, stopped_at};
use super::support::{Outcome, has, is_root, schema};

/// Makes the tree that most tests use.
const TREE: &str = "mkdir -p src/sub/deep src/build src/empty; \
    for name in a.c a.o sub/b.c sub/b.o sub/deep/c.o build/x 'sub/build' 'odd name'; do echo $name >src/\"$name\"; done";

/// Returns the paths below a folder, with a slash behind directories, in order.
pub(crate) fn paths(root: &Path) -> Outcome<Vec<String>> {
    fn walk(at: &Path, prefix: &str, found: &mut Vec<String>) -> Outcome {
        for entry in fs::read_dir(at)? {
            let entry = entry?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                walk(&entry.path(), &format!("{name}/"), found)?;
                found.push(format!("{name}/"));
            } else {
                found.push(name);
            }
        }
        Ok(())
    }
    let mut found = Vec::new();
    walk(root, "", &mut found)?;
    found.sort_unstable();
    Ok(found)
}

fn tree() -> Outcome<Scratch> {
    let scratch = Scratch::new()?;
    demand(scratch.path(), TREE)?;
    Ok(scratch)
}

fn rm(words: &[&str]) -> Call {
    Call::of(haul()).word("rm").words(words)
}

#[test]
fn a_copy_has_what_rsync_would_have_copied() -> Outcome {
    if !has("rsync")? {
        return Ok(());
    }
    for words in [
        &["--exclude=*.o"][..],
        &["--exclude=/src/build/"],
        &["--exclude=build"],
        &["--include=*/", "--include=*.c", "--exclude=*"],
        &["--include=/src/sub/***", "--filter=- /src/*"],
        &["--filter=: .rules"],
        &["--exclude-from=patterns"],
        &["--max-size=8"],
        &["--min-size=9"],
    ] {
        let scratch = tree()?;
        scratch.write("patterns", "# no objects\n*.o\n+ build\nbuil?\n")?;
        scratch.write("src/.rules", "- /a.c\n- deep\n")?;
        for (operand, target) in [("src", "t"), ("src/.", "u"), ("src/", "v")] {
            fs::create_dir(scratch.at(target))?;
            fs::create_dir(scratch.at("w"))?;
            let is_whole = operand == "src/";
            // GNU cp takes a slash for nothing, so the copy of `src/` gets the name.
            let into = if is_whole { "v/src" } else { target };
            cp(["-r"]).words(words).words([operand, target]).in_dir(scratch.path()).succeed()?;
            Call::of("rsync")
                .word("-r")
                .words(words)
                .words([operand, "w/"])
                .in_dir(scratch.path())
                .succeed()?;
            assert_eq!(paths(&scratch.at(into))?, paths(&scratch.at("w"))?, "{words:?} {operand}");
            scratch.clear("w")?;
        }
    }
    Ok(())
}

#[test]
fn a_directory_that_is_left_out_is_not_opened() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = tree()?;
    let log = tempfile::NamedTempFile::new()?;
    let strace = Strace::new(log.path()).trace("openat,openat2");
    let call = cp(["-r", "--exclude=sub", "--progress=always", "src", "t"]).in_dir(scratch.path());
    // The census for the bar asks the same selection.
    assert_eq!(strace.wrap(call).run()?.code(), Some(0));
    let text = fs::read_to_string(log.path())?;
    assert!(text.contains("\"build\"") && !text.contains("\"sub\""), "{text}");
    assert_eq!(paths(&scratch.at("t"))?, ["a.c", "a.o", "build/", "build/x", "empty/", "odd name"]);
    Ok(())
}

#[test]
fn a_rehearsal_names_the_rule_that_decided() -> Outcome {
    let scratch = tree()?;
    let words = ["-r", "--dry-run", "--exclude=*.o", "--include=a.c", "--max-size=8", "src", "t"];
    let plain = cp(words).in_dir(scratch.path()).succeed()?.text();
    assert!(!plain.contains("a.o") && !plain.contains("by '"), "{plain}");
    let told = cp(["--explain"]).words(words).in_dir(scratch.path()).succeed()?.text();
    assert!(
        told.contains(
            "would skip 'src/a.o' -> 't/a.o' (it is not selected; by '- *.o' of --exclude)"
        ),
        "{told}"
    );
    assert!(told.contains("by '+ a.c' of --include"), "{told}");
    assert!(told.contains("would skip 'src/odd name'") && told.contains("by its size"), "{told}");
    let lines = cp(["--explain", "--json"]).words(words).in_dir(scratch.path()).succeed()?.text();
    let lines = schema::lines("run", &lines)?;
    assert!(lines.iter().any(|line| line["decided_by"].to_string().contains("- *.o")), "{lines:?}");
    assert!(!scratch.at("t").exists());
    Ok(())
}

#[test]
fn what_cannot_be_read_or_meant_stops_a_command_that_has_not_begun() -> Outcome {
    let scratch = tree()?;
    for (words, message) in [
        (&["--exclude-from=missing"][..], "cannot read 'missing'"),
        (&["--files-from=missing"], "cannot read 'missing'"),
        (&["--filter=. missing"], "cannot read 'missing'"),
        (&["--filter=P x"], "this command protects none"),
        (&["--filter=-x user.x"], "extended attributes cannot be selected"),
        (&["--filter=nonsense"], "no sign or name"),
        (&["--max-size=1X"], "invalid --max-size"),
        (&["--newer-than=never"], "invalid --newer-than"),
    ] {
        let done = cp(["-r"]).words(words).words(["src", "t"]).in_dir(scratch.path()).run()?;
        assert!(done.code() == Some(1) && done.errors().contains(message), "{}", done.errors());
        assert!(!scratch.at("t").exists(), "{words:?}");
    }
    for (words, message) in [
        (&["--exclude-from=missing"][..], "cannot read 'missing'"),
        (&["--filter=H x"], "this command copies none"),
        (&["--filter=-p x"], "would remove what the rule protects"),
    ] {
        let done = rm(&["-r"]).words(words).word("src").in_dir(scratch.path()).run()?;
        assert!(done.code() == Some(1) && done.errors().contains(message), "{}", done.errors());
        assert!(scratch.at("src/sub/deep/c.o").exists(), "{words:?}");
    }
    Ok(())
}

#[test]
fn listed_names_are_copied_and_missing_ones_are_failures() -> Outcome {
    let scratch = tree()?;
    scratch.write("list", "a.c\n./sub/deep/\nmissing\nsub/none\n")?;
    let done = cp(["-r", "--files-from=list", "src", "t"]).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(1));
    assert!(
        done.errors().contains("src/missing") && done.errors().contains("src/sub/none"),
        "{}",
        done.errors()
    );
    assert_eq!(paths(&scratch.at("t"))?, ["a.c", "sub/", "sub/deep/", "sub/deep/c.o"]);
    let words = ["-r", "--from0", "--files-from=-", "src", "u"];
    cp(words).input(*b"odd name\0a.o\0").in_dir(scratch.path()).succeed()?;
    assert_eq!(paths(&scratch.at("u"))?, ["a.o", "odd name"]);
    let done = rm(&["-r", "--files-from=list", "src"]).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(1));
    let left = [
        "a.o",
        "build/",
        "build/x",
        "empty/",
        "odd name",
        "sub/",
        "sub/b.c",
        "sub/b.o",
        "sub/build",
    ];
    assert_eq!(paths(&scratch.at("src"))?, left);
    Ok(())
}

/// Only a name that was reached is not missing: not one behind a symbolic link, or on another file system.
#[test]
fn a_listed_name_that_is_not_reached_is_a_failure() -> Outcome {
    let scratch = tree()?;
    symlink("sub", scratch.at("src/link"))?;
    scratch.write("list", "a.c\nlink/b.c\n")?;
    for call in [
        cp(["-r", "--files-from=list", "src", "t"]),
        mv(["--files-from=list", "src", "moved"]),
        rm(&["-r", "--files-from=list", "src"]),
    ] {
        let done = call.in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(1), "{done:?}");
        assert!(done.errors().contains("link/b.c"), "{done:?}");
    }
    assert!(scratch.at("src/sub/b.c").exists());
    Ok(())
}

/// A directory on another file system is made and not entered, which is no failure of its own.
#[test]
fn a_listed_name_on_another_file_system_is_a_failure() -> Outcome {
    if !is_root()? || !has("unshare")? {
        return Ok(());
    }
    let scratch = tree()?;
    scratch.write("list", "a.c\nsub/there\n")?;
    let cover = "mount -t tmpfs none src/sub && touch src/sub/there && exec \"$0\" \"$@\"";
    let call = cp(["-r", "-x", "--files-from=list", "src", "t"]).in_dir(scratch.path());
    let done = call.under(["unshare", "-m", "--", "sh", "-c", cover]).run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert!(done.errors().contains("src/sub/there"), "{done:?}");
    Ok(())
}

/// The directory is told once, and not each of its names.
#[test]
fn listed_names_below_a_directory_that_has_failed_are_not_told() -> Outcome {
    if !is_root()? || !has("setpriv")? {
        return Ok(());
    }
    for words in [&["cp", "-r"][..], &["cp", "-r", "--dry-run"], &["mv"], &["rm", "-r"]] {
        let scratch = Scratch::public()?;
        let haul = scratch.program("haul")?;
        scratch.write("w/list", "a.c\nsub/b.c\nsub/deep/none\nnone\n")?;
        demand(&scratch.at("w"), TREE)?;
        demand(&scratch.at("w"), &format!("chmod 0 src/sub; chown -R {USER}:{USER} ."))?;
        let operands: &[&str] = if words[0] == "rm" { &["src"] } else { &["src", "t"] };
        let call = Call::of(&haul).words(words).word("--files-from=list").words(operands);
        let done = call.in_dir(scratch.at("w")).by_user().run()?;
        let errors = done.errors();
        assert_eq!(done.code(), Some(1), "{words:?}: {errors}");
        assert!(errors.contains("src/sub'"), "{words:?}: {errors}");
        assert!(errors.contains("src/none'"), "{words:?}: {errors}");
        assert!(!errors.contains("src/sub/"), "{words:?}: {errors}");
    }
    Ok(())
}

#[test]
fn a_missing_operand_is_a_failure_whatever_the_rules_say() -> Outcome {
    let scratch = tree()?;
    for call in [
        cp(["-r", "--exclude=none", "none", "t"]),
        mv(["--exclude=none", "none", "t"]),
        rm(&["--exclude=none", "none"]),
    ] {
        let done = call.in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(1), "{done:?}");
        assert!(done.errors().contains("'none'"), "{done:?}");
    }
    Ok(())
}

#[test]
fn leading_directories_are_part_of_the_name_with_parents() -> Outcome {
    let scratch = tree()?;
    fs::create_dir(scratch.at("t"))?;
    let words = ["-r", "--parents", "--exclude=/src/sub/deep", "--exclude=/b.c", "src/sub", "t"];
    cp(words).in_dir(scratch.path()).succeed()?;
    let made = ["src/", "src/sub/", "src/sub/b.c", "src/sub/b.o", "src/sub/build"];
    assert_eq!(paths(&scratch.at("t"))?, made);
    Ok(())
}

#[test]
fn a_removal_keeps_what_is_left_out_and_the_directories_above_it() -> Outcome {
    let scratch = tree()?;
    rm(&["-r", "--exclude=*.o", "src"]).in_dir(scratch.path()).succeed()?;
    let left = ["a.o", "sub/", "sub/b.o", "sub/deep/", "sub/deep/c.o"];
    assert_eq!(paths(&scratch.at("src"))?, left);
    rm(&["-r", "--include=*.o", "src"]).in_dir(scratch.path()).succeed()?;
    assert!(!scratch.at("src").exists());
    Ok(())
}

#[test]
fn limits_remove_no_directory_that_was_empty_before() -> Outcome {
    let scratch = tree()?;
    demand(
        scratch.path(),
        "touch -d '40 days ago' src/build/x src/sub/b.o; touch -d '40 days ago' src/empty",
    )?;
    let old = "--older-than=30 days ago";
    rm(&["-r", old, "src"]).in_dir(scratch.path()).succeed()?;
    let left = [
        "a.c",
        "a.o",
        "empty/",
        "odd name",
        "sub/",
        "sub/b.c",
        "sub/build",
        "sub/deep/",
        "sub/deep/c.o",
    ];
    assert_eq!(paths(&scratch.at("src"))?, left);
    Ok(())
}

#[test]
fn the_rules_of_a_directory_outlive_a_removal() -> Outcome {
    let scratch = tree()?;
    scratch.write("src/.rules", "- *.o\n")?;
    for _ in 0..2 {
        rm(&["-r", "--filter=: .rules", "src"]).in_dir(scratch.path()).succeed()?;
        let left = [".rules", "a.o", "sub/", "sub/b.o", "sub/deep/", "sub/deep/c.o"];
        assert_eq!(paths(&scratch.at("src"))?, left);
    }
    scratch.write("src/sub/.rules", "nonsense\n")?;
    let done = rm(&["-r", "--filter=: .rules", "--filter=!", "--filter=:n .rules", "src"]);
    let done = done.in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(1));
    assert!(done.errors().contains("merge file in 'src/sub'"), "{}", done.errors());
    assert!(scratch.at("src/sub/b.o").exists() && scratch.at("src/sub/deep/c.o").exists());
    Ok(())
}

#[test]
fn what_a_move_leaves_out_stays_in_the_source() -> Outcome {
    let Some(two) = Two::new()? else { return Ok(()) };
    let (here, there) = (&two.here, &two.there);
    demand(here.path(), TREE)?;
    mv(["--exclude=*.o", "src", "src/nothing", &two.far("")]).in_dir(here.path()).run()?;
    let left = ["a.o", "sub/", "sub/b.o", "sub/deep/", "sub/deep/c.o"];
    assert_eq!(paths(&here.at("src"))?, left);
    let moved = [
        "a.c",
        "build/",
        "build/x",
        "empty/",
        "odd name",
        "sub/",
        "sub/b.c",
        "sub/build",
        "sub/deep/",
    ];
    assert_eq!(paths(&there.at("src"))?, moved);
    mv(["--include=*", "src", &two.far("rest")]).in_dir(here.path()).succeed()?;
    assert!(!here.at("src").exists());
    assert_eq!(paths(&there.at("rest"))?, left);
    Ok(())
}

#[test]
fn a_move_within_a_file_system_takes_no_more_than_is_selected() -> Outcome {
    let scratch = tree()?;
    mv(["--exclude=*.o", "src", "t"]).in_dir(scratch.path()).succeed()?;
    assert_eq!(paths(&scratch.at("src"))?, ["a.o", "sub/", "sub/b.o", "sub/deep/", "sub/deep/c.o"]);
    assert!(scratch.at("t/sub/b.c").exists() && !scratch.at("t/a.o").exists());
    scratch.write("list", "sub/deep\n")?;
    mv(["--files-from=list", "src", "u"]).in_dir(scratch.path()).succeed()?;
    assert_eq!(paths(&scratch.at("src"))?, ["a.o", "sub/", "sub/b.o"]);
    assert_eq!(paths(&scratch.at("u"))?, ["sub/", "sub/deep/", "sub/deep/c.o"]);
    // A file that is selected is renamed, and one that is not stays.
    fs::create_dir(scratch.at("v"))?;
    mv(["--exclude=a.*", "src/a.o", "t/odd name", "v"]).in_dir(scratch.path()).succeed()?;
    assert_eq!(paths(&scratch.at("v"))?, ["odd name"]);
    for option in ["--no-copy", "--exchange"] {
        let done = mv([option, "--exclude=x", "u", "w"]).in_dir(scratch.path()).run()?;
        assert!(done.code() == Some(1) && done.errors().contains(option), "{}", done.errors());
    }
    assert!(scratch.at("u/sub").exists() && !scratch.at("w").exists());
    Ok(())
}

#[test]
fn a_comparison_leaves_out_what_is_selected_on_neither_side() -> Outcome {
    let scratch = tree()?;
    let compare = |words: &[&str]| -> Outcome<(Option<i32>, String)> {
        let done =
            Call::of(haul()).words(["compare", "--contents"]).words(words).words(["src", "t"]);
        let done = done.in_dir(scratch.path()).run()?;
        Ok((done.code(), done.text() + &done.errors()))
    };
    cp(["-r", "--exclude=*.o", "src", "t"]).in_dir(scratch.path()).succeed()?;
    assert_eq!(compare(&[])?.0, Some(1));
    assert_eq!(compare(&["--exclude=*.o"])?.0, Some(0));
    scratch.write("t/build/y", "only here")?;
    scratch.write("t/sub/b.c", "other bytes")?;
    assert_eq!(compare(&["--exclude=*.o", "--exclude=/build", "--exclude=/sub/b.c"])?.0, Some(0));
    let (code, text) = compare(&["--exclude=*.o", "--exclude=/build"])?;
    assert!(code == Some(1) && text.contains("sub/b.c") && !text.contains("build/y"), "{text}");
    scratch.write("src/.rules", "- *.o\n- b.c\n- y\n- .rules\n")?;
    assert_eq!(compare(&["--filter=: .rules"])?.0, Some(0));
    scratch.write("list", "a.c\nbuild/x\nnone\n")?;
    let (code, text) = compare(&["--files-from=list"])?;
    assert!(code == Some(2) && text.contains("neither tree has the listed name 'none'"), "{text}");
    Ok(())
}

#[test]
fn sums_of_names_that_are_left_out_are_not_missing() -> Outcome {
    let scratch = tree()?;
    demand(scratch.path(), "cd src && find . -type f | sort | xargs -d '\\n' sha256sum >../sums")?;
    cp(["-r", "--exclude=*.o", "--exclude=/src/build/", "src", "t"])
        .in_dir(scratch.path())
        .succeed()?;
    let verify = |words: &[&str]| -> Outcome<(Option<i32>, String)> {
        let done = Call::of(haul()).word("verify").words(words).words(["t", "--against"]);
        let done = done.word(if words.contains(&"--json") { "src" } else { "sums" });
        let done = done.in_dir(scratch.path()).run()?;
        Ok((done.code(), done.text() + &done.errors()))
    };
    let (code, text) = verify(&[])?;
    assert!(code == Some(1) && text.contains("missing: './build/x'"), "{text}");
    let (code, text) = verify(&["--exclude=*.o", "--exclude=/build/"])?;
    assert_eq!(code, Some(0), "{text}");
    scratch.write("t/extra.o", "")?;
    assert_eq!(verify(&["--exclude=*.o", "--exclude=/build/"])?.0, Some(0));
    assert_eq!(verify(&["--exclude=/build/", "--exclude=*.c"])?.0, Some(1));
    // Against a tree, the comparison has the same selection.
    assert_eq!(verify(&["--json", "--exclude=*.o", "--exclude=/build/"])?.0, Some(0));
    Ok(())
}

#[test]
fn a_run_with_another_selection_does_not_take_the_first_one_for_complete() -> Outcome {
    let scratch = tree()?;
    become_old();
    let copy = |words: &[&str]| -> Outcome<String> {
        let call = cp(["-r", "--resume", "-T"]).words(words).words(["src", "t"]);
        let done = call.in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(0), "{}", done.errors());
        Ok(done.errors())
    };
    assert!(!copy(&["--exclude=*.o"])?.contains("nothing to copy"));
    assert!(copy(&["--exclude=*.o"])?.contains("nothing to copy"));
    assert!(!scratch.at("t/a.o").exists());
    assert!(!copy(&["--exclude=b.o"])?.contains("nothing to copy"));
    assert!(scratch.at("t/a.o").exists() && !scratch.at("t/sub/b.o").exists());
    Ok(())
}

#[test]
fn a_link_before_a_slash_is_not_moved_through() -> Outcome {
    let scratch = tree()?;
    demand(scratch.path(), "ln -s src link")?;
    for target in ["new", "."] {
        let done = mv(["--exclude=x", "link/", target]).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(1), "{done:?}");
        assert!(scratch.at("src/a.c").exists() && !scratch.at("new").exists());
    }
    Ok(())
}

#[test]
fn a_size_takes_no_links_and_devices_from_rm() -> Outcome {
    let scratch = tree()?;
    demand(
        scratch.path(),
        "ln -s a.c src/link; mkfifo src/pipe; head -c 100 /dev/zero >src/large",
    )?;
    rm(&["-r", "--min-size=50", "src"]).in_dir(scratch.path()).succeed()?;
    let left = paths(&scratch.at("src"))?;
    assert!(left.contains(&"link".to_owned()) && left.contains(&"pipe".to_owned()), "{left:?}");
    assert!(left.contains(&"a.c".to_owned()) && !left.contains(&"large".to_owned()), "{left:?}");
    Ok(())
}

#[test]
fn a_list_without_a_name_and_input_for_two_options_are_refused() -> Outcome {
    let scratch = tree()?;
    demand(scratch.path(), "cp -r src other; echo changed >other/a.c")?;
    for words in [
        &["compare", "--files-from=/dev/null", "src", "other"][..],
        &["cp", "-r", "--files-from=/dev/null", "src", "t"],
        &["rm", "-r", "--files-from=-", "--exclude-from=-", "src"],
    ] {
        let done = Call::of(haul()).words(words).in_dir(scratch.path()).input("a.c\n").run()?;
        assert!(done.code().is_some_and(|code| code > 0), "{words:?}: {done:?}");
        assert!(!scratch.at("t").exists() && scratch.at("src/a.c").exists(), "{words:?}");
    }
    Ok(())
}

#[test]
fn merge_files_that_name_one_another_are_refused_at_last() -> Outcome {
    let scratch = tree()?;
    demand(scratch.path(), "for n in $(seq 0 99); do echo \": .m$((n + 1))\" >src/.m$n; done")?;
    let done = cp(["-r", "--filter=: .m0", "src", "t"]).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert!(done.errors().contains("cannot use the merge file"), "{done:?}");
    Ok(())
}

#[test]
fn a_directory_that_takes_the_place_of_a_file_is_judged_as_one() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    demand(scratch.path(), "mkdir d kept; echo a >d/keep; echo b >kept/b")?;
    let call =
        rm(&["-r", "--jobs=1", "--rate=1000", "--exclude=keep/", "d"]).in_dir(scratch.path());
    // The names have been read, and none has been removed.
    let point = Point { name: "getdents64".to_owned(), occurrence: 1 };
    let swap = || demand(scratch.path(), "rm d/keep; mv kept d/keep");
    stopped_at(&scratch.at("log"), &call, &point, swap)?;
    assert_eq!(fs::read(scratch.at("d/keep/b"))?, b"b\n");
    Ok(())
}
