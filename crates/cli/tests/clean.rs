//! `haul clean`: where it runs from, and how deep it searches.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use haul_io::hidden::{LETTERS, name_of};
use haul_manifest::parse_recipe;

use crate::support::run::{Call, haul};
use crate::support::scratch::Scratch;
use crate::support::strace::{Strace, is_usable};
use crate::support::volume::Volume;
use crate::support::{Outcome, has, is_root};

fn clean() -> Call {
    Call::of(haul()).word("clean")
}

#[test]
fn a_current_directory_that_the_user_may_not_search_is_not_needed() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let (closed, open) = (Scratch::new()?, Scratch::public()?);
    fs::set_permissions(open.path(), fs::Permissions::from_mode(0o777))?;
    fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o700))?;
    open.write("file", "")?;
    let done = clean().word(open.path()).in_dir(closed.path()).by_user().run()?;
    assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""));
    Ok(())
}

#[test]
fn a_deep_tree_is_searched_with_few_descriptors() -> Outcome {
    if !has("prlimit")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let recipe = parse_recipe("deep:depth=2000,name=1")?;
    recipe.generate(&scratch.at("s")).map_err(|failure| failure.to_string())?;
    let call = clean().word("s").in_dir(scratch.path());
    let done = call.under(["prlimit", "--nofile=20", "--"]).run()?;
    assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""));
    Ok(())
}

#[test]
fn a_large_directory_needs_little_memory() -> Outcome {
    // A disk's journal would make this a test of the disk.
    let memory = Path::new("/dev/shm");
    let volume = Volume { name: "tmpfs".to_owned(), path: memory.to_owned() };
    let scratch = if memory.is_dir() { Scratch::on(&volume)? } else { Scratch::new()? };
    // The names alone are 16 MiB. Some are stale, and they are scattered over the directory.
    let long = "x".repeat(240);
    for number in 0..65_000 {
        fs::File::create(scratch.at(format!("{number:06}{long}")))?;
        if number % 5_000 == 0 {
            let mut letters = [b'0'; LETTERS];
            letters[..6].copy_from_slice(format!("{number:06}").as_bytes());
            fs::File::create(scratch.at(name_of(letters)?.to_str()?))?;
        }
    }
    let call = clean().words(["--older-than=0", "."]).in_dir(scratch.path());
    let done = call.watching_memory().succeed()?;
    assert_eq!(done.text().lines().count(), 13, "{done:?}");
    assert_eq!(fs::read_dir(scratch.path())?.count(), 65_000);
    assert!(done.peak_bytes < 24 << 20, "{} bytes", done.peak_bytes);
    Ok(())
}

/// A run that is killed between its last look at a file and the removal leaves the file under a hidden name.
#[test]
fn what_a_killed_removal_has_hidden_is_told_and_gets_its_name_back() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    for (remove, again) in [
        (&["gzip", "d/f"][..], &["gzip", "d/f"][..]),
        (&["gzip", "d/f"], &["gzip", "-d", "d/f"]),
        (&["tar", "--remove-files", "-cf", "a.tar", "d/f"], &["tar", "-cf", "b.tar", "d/f"]),
    ] {
        scratch.write("d/f", "text")?;
        let call = |words: &[&str]| Call::of(haul()).words(words).in_dir(scratch.path());
        let kill = Strace::new(scratch.at("log")).inject("unlinkat,unlink:signal=KILL:when=1");
        let done = kill.wrap(call(remove)).run()?;
        assert_eq!(done.signal(), Some(9), "{done:?}");
        assert!(!scratch.at("d/f").exists());
        scratch.clear("d/f.gz")?;
        let done = call(again).run()?;
        assert_ne!(done.code(), Some(0));
        let hint =
            "since a run that removed it was killed; 'haul clean' gives it its own name back\n";
        assert!(done.errors().contains(hint), "{done:?}");
        assert!(done.errors().contains("d/.haul-"), "{done:?}");
        clean().words(["--older-than=0", "d"]).in_dir(scratch.path()).succeed()?;
        assert_eq!(fs::read(scratch.at("d/f"))?, b"text");
        // A name that never was gets no hint.
        let mut words = again.to_vec();
        words.pop();
        let done = call(&words).word("d/g").run()?;
        assert!(!done.errors().contains("haul clean"), "{done:?}");
    }
    Ok(())
}
