//! `--remove-files`: what stays because it is not in the archive as it is, or is not where it was.

use std::fs;
use std::os::unix::fs::symlink;

use super::support::Outcome;
use super::support::scratch::Scratch;
use super::support::strace::{Point, Strace, is_usable, stopped_at};
use super::support::tar::ours;

#[test]
fn a_file_whose_attributes_could_not_be_archived_stays() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    for name in ["d/f", "d/g"] {
        scratch.write(name, name)?;
    }
    let strace =
        Strace::new(scratch.at("log")).trace("flistxattr").inject("flistxattr:error=EIO:when=1");
    let words = ["--jobs=1", "--xattrs", "-cf", "a.tar", "--remove-files", "d/f", "d/g"];
    let done = strace.wrap(ours().words(words).in_dir(scratch.path())).run()?;
    assert!(strace.has_injected()?, "{done:?}");
    assert_eq!(fs::read(scratch.at("d/f"))?, b"d/f", "{done:?}");
    assert!(!scratch.at("d/g").exists(), "{done:?}");
    let told = "d/f: the archive does not have all of the file; not removed";
    assert!(done.errors().contains(told), "{}", done.errors());
    assert_eq!(done.code(), Some(1));
    Ok(())
}

#[test]
fn a_file_that_gets_a_name_meanwhile_is_not_removed_in_the_place_of_the_archived_one() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let words = ["--jobs=1", "--numeric-owner", "-cf", "a.tar", "--remove-files", "s"];
    let call = ours().words(words).in_dir(scratch.path());
    let mut replaced = 0;
    for name in ["newfstatat", "renameat2", "unlinkat"] {
        for occurrence in 1..16 {
            scratch.clear("s")?;
            scratch.write("s/f", "archived")?;
            scratch.write("new", "NEW")?;
            let point = Point { name: name.to_owned(), occurrence };
            let mut is_replaced = false;
            let done = stopped_at(&scratch.at("log"), &call, &point, || {
                is_replaced = fs::rename(scratch.at("new"), scratch.at("s/f")).is_ok();
                Ok(())
            })?;
            if !is_replaced {
                continue;
            }
            replaced += 1;
            let archive = fs::read(scratch.at("a.tar"))?;
            let is_archived = archive.windows(3).any(|bytes| bytes == b"NEW");
            let is_kept = fs::read(scratch.at("s/f")).is_ok_and(|is| is == b"NEW");
            assert!(is_archived || is_kept, "{point:?}: {done:?}");
        }
    }
    assert!(replaced > 2, "only {replaced}");
    Ok(())
}

/// Another user puts a link to other files in the place of a directory.
#[test]
fn nothing_is_removed_through_a_link_that_was_a_directory() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let words = ["--jobs=1", "--numeric-owner", "-cf", "a.tar", "--remove-files", "s"];
    let call = ours().words(words).in_dir(scratch.path());
    let mut swapped = 0;
    for name in ["newfstatat", "openat2"] {
        for occurrence in 1..16 {
            for folder in ["s", "victim", "moved"] {
                scratch.clear(folder)?;
            }
            scratch.write("s/d/f", "archived")?;
            scratch.write("victim/f", "of another user")?;
            let point = Point { name: name.to_owned(), occurrence };
            let done = stopped_at(&scratch.at("log"), &call, &point, || {
                if scratch.at("s/d").exists() {
                    fs::rename(scratch.at("s/d"), scratch.at("moved"))?;
                    symlink(scratch.at("victim"), scratch.at("s/d"))?;
                    swapped += 1;
                }
                Ok(())
            })?;
            assert!(scratch.at("victim/f").exists(), "{point:?}: {done:?}");
        }
    }
    assert!(swapped > 3, "{swapped}");
    Ok(())
}

/// Directories before an operand are the user's own words.
#[test]
fn names_through_links_of_the_user_are_removed() -> Outcome {
    let scratch = Scratch::new()?;
    for words in [
        "link/d",
        "link/d/f link/d",
        "../w/link/d",
        "-C link d",
        "-C w/../link d/../d/f",
        "-h link",
    ] {
        for folder in ["real", "w"] {
            scratch.clear(folder)?;
        }
        scratch.write("real/d/f", "archived")?;
        scratch.write("w/other", "stays")?;
        for link in ["link", "w/link"] {
            let _absent = fs::remove_file(scratch.at(link));
            symlink(scratch.at("real"), scratch.at(link))?;
        }
        let call = ours().words(["-P", "-cf", "a.tar", "--remove-files"]).words(words.split(' '));
        let from =
            if words.starts_with("..") { scratch.at("w") } else { scratch.path().to_owned() };
        let done = call.in_dir(from).run()?;
        assert!(!scratch.at("real/d/f").exists(), "{words}: {done:?}");
        assert!(scratch.at("w/other").exists(), "{words}: {done:?}");
    }
    Ok(())
}
