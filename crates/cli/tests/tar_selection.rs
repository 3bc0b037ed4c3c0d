//! `haul tar -c`: marked directories, maps of owners, files that cannot be read, and files that are
//! removed once they are archived.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::support::run::Call;
use super::support::scratch::Scratch;
use super::support::tar::{both, contents, demand_same, gnu_tar, ours};
use super::support::{Outcome, has, is_root};

const SIGNATURE: &str = "Signature: 8a477f597d28d172789f06886806bc55\nmore";

fn tree(scratch: &Scratch) -> Outcome {
    for name in ["d/a", "d/cache/x/y", "d/other/x", "d/no/x", "d/z/skip", "d/z/below/f"] {
        scratch.write(name, name)?;
    }
    scratch.write("d/cache/CACHEDIR.TAG", SIGNATURE)?;
    scratch.write("d/no/CACHEDIR.TAG", "Signature: another")?;
    scratch.write("d/other/skip", "")?;
    fs::hard_link(scratch.at("d/a"), scratch.at("d/b"))?;
    let words = ["d", "-exec", "touch", "-hd", "@1000000000", "{}", ";"];
    Call::of("find").words(words).in_dir(scratch.path()).succeed()?;
    Ok(())
}

#[test]
fn archives_without_marked_directories_are_those_of_gnu_tar() -> Outcome {
    if !has("tar")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    scratch.write("owners", "# a comment\nroot nosuch:77 # more\n\n+5 +6\n")?;
    scratch.write("groups", "root :88\n")?;
    scratch.write("bad", "root a b\n")?;
    for words in [
        "--exclude-caches d",
        "-v --exclude-caches d",
        "-v --exclude-caches-under d",
        "-v --exclude-caches-all d",
        "-v --exclude-tag=skip d",
        "-v --exclude-tag-under=skip d",
        "-v --exclude-tag-all=skip d d/other",
        "-v --exclude-tag-all=skip --exclude-tag=x d/other d/z",
        "-v --exclude-tag=x --exclude-tag-under=skip d",
        "-v --exclude-tag=skip --no-recursion d d/z",
        "--owner-map=owners d",
        "--owner-map=owners --group-map=groups --owner=5 -v d/z",
        "--group-map=groups --numeric-owner -vv d/z",
        "--group-map=none d/z",
        "--ignore-failed-read d/z none",
        "d/z none",
    ] {
        let words = format!("--sort=name -c {words}");
        let (gnu, haul) = both(&scratch, &words, &|| Ok(()))?;
        demand_same(&words, &gnu, &haul);
        assert!(gnu.stdout == haul.stdout, "{words}");
    }
    let done = ours().words(["-cf", "a", "--owner-map=bad", "d"]).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(2));
    assert!(done.errors().contains("bad:1: malformed line"), "{}", done.errors());
    Ok(())
}

#[test]
fn totals_are_those_of_gnu_tar_but_for_the_speed() -> Outcome {
    if !has("tar")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    scratch.write("d/large", vec![b'x'; 300_000])?;
    gnu_tar().words(["-cf", "a.tar", "d"]).in_dir(scratch.path()).succeed()?;
    for words in
        ["-cf b.tar --totals d", "-tf a.tar --totals", "-xf a.tar --totals", "-df a.tar --totals"]
    {
        let (gnu, haul) = both(&scratch, words, &|| Ok(()))?;
        let total = |text: String| text.rsplit_once(", ").map(|(total, _)| total.to_owned());
        let (ours, theirs) = (total(haul.errors()), total(gnu.errors()));
        assert_eq!(ours, theirs, "{words}");
        assert!(theirs.is_some_and(|text| text.contains("Total bytes")), "{words}");
    }
    Ok(())
}

#[test]
fn files_are_removed_once_they_are_archived() -> Outcome {
    if !has("tar")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let reset = || -> Outcome {
        scratch.clear("d")?;
        tree(&scratch)
    };
    for words in [
        "-cf a.tar --remove-files d",
        "-cf a.tar --remove-files d/a d/b d/z/",
        "-czf a.tar --remove-files -C d a cache",
        "-cf a.tar --remove-files d/none d/a d/a",
        "-cf a.tar --remove-files --no-recursion d/other d/z/below/f d/z/below",
    ] {
        reset()?;
        let words: Vec<&str> = words.split(' ').collect();
        let gnu = gnu_tar().words(&words).in_dir(scratch.path()).run()?;
        let theirs = contents(&scratch, ".")?.into_keys().collect::<Vec<_>>();
        reset()?;
        let haul = ours().words(&words).in_dir(scratch.path()).run()?;
        assert_eq!(contents(&scratch, ".")?.into_keys().collect::<Vec<_>>(), theirs, "{words:?}");
        demand_same(&words.join(" "), &gnu, &haul);
    }
    Ok(())
}

#[test]
fn nothing_is_removed_if_the_archive_cannot_be_written() -> Outcome {
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    let before = contents(&scratch, "d")?;
    for words in [
        &["-cf", "/dev/full", "--remove-files", "d"][..],
        &["-czf", "/dev/full", "--remove-files", "d"],
        &["-cf", "a.tar", "-I", "false", "--remove-files", "d"],
    ] {
        let done = ours().words(words).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(2), "{words:?}: {}", done.errors());
        assert_eq!(contents(&scratch, "d")?, before, "{words:?}");
    }
    Ok(())
}

#[test]
fn files_that_cannot_be_read_are_warnings_if_asked_for() -> Outcome {
    if !has("tar")? || !is_root()? {
        return Ok(());
    }
    let scratch = Scratch::public()?;
    tree(&scratch)?;
    for name in ["d/z/skip", "d/other"] {
        fs::set_permissions(scratch.at(name), fs::Permissions::from_mode(0o0))?;
    }
    let words = ["--sort=name", "-c", "--ignore-failed-read", "d"];
    let by_user = |call: Call| call.words(words).in_dir(scratch.path()).by_user().run();
    let (gnu, haul) = (by_user(gnu_tar())?, by_user(ours())?);
    demand_same("by a user", &gnu, &haul);
    assert!(haul.errors().contains("Warning: Cannot open"), "{}", haul.errors());
    Ok(())
}
