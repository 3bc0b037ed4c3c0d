//! What a member may have at most: the writer makes nothing that the reader refuses.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::{Outcome, ignored};

fn ours() -> Call {
    Call::of(haul()).word("tar")
}

/// Lists, compares and extracts an archive of a file, which has to be the same then.
fn demand_read(scratch: &Scratch, context: &str) -> Outcome {
    let read = |words: &[&str]| ours().words(words).words(["-f", "a"]).in_dir(scratch.path()).run();
    for words in [&["-t"][..], &["-d"], &["-x", "-C", "out"]] {
        fs::create_dir_all(scratch.at("out"))?;
        let done = read(words)?;
        assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""), "{context} {words:?}");
    }
    for name in ["f", "g"] {
        let (old, new) = (fs::read(scratch.at(name))?, fs::read(scratch.at("out").join(name))?);
        assert!(old == new, "{context} {name}");
    }
    Ok(())
}

#[test]
fn a_file_of_many_regions_is_read_again() -> Outcome {
    const REGIONS: u64 = 75_000;
    let scratch = Scratch::new()?;
    // Every second block is zero, and a hole makes the file sparse.
    let mut bytes = vec![0; 1024 * REGIONS as usize];
    bytes.iter_mut().step_by(1024).for_each(|byte| *byte = 1);
    scratch.write("f", &bytes)?;
    let file = fs::File::options().write(true).open(scratch.at("f"))?;
    file.set_len(bytes.len() as u64 + (8 << 20))?;
    scratch.write("g", "g")?;
    for version in ["0.0", "0.1", "1.0"] {
        let create = ours().words(["-cSf", "a", "--hole-detection=raw", "f", "g"]);
        let create = create.word(format!("--sparse-version={version}")).word("--format=posix");
        create.in_dir(scratch.path()).succeed()?;
        demand_read(&scratch, version)?;
    }
    Ok(())
}

#[test]
fn more_attributes_than_a_header_can_have_are_told_and_the_file_is_kept() -> Outcome {
    let scratch = Scratch::below(Path::new("/dev/shm"))?;
    scratch.write("f", "f")?;
    scratch.write("g", "g")?;
    for number in 0..80 {
        let name = format!("user.{number}");
        let value = vec![b'v'; 65_000];
        if let Err(error) = rustix::fs::setxattr(
            scratch.at("f"),
            name.as_str(),
            &value,
            rustix::fs::XattrFlags::empty(),
        ) {
            return ignored(&format!("a tmpfs with attributes of users: {error}"));
        }
    }
    let words = ["-cf", "a", "--xattrs", "--remove-files", "f", "g"];
    let done = ours().words(words).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(2), "{}", done.errors());
    assert!(done.errors().contains("f: its attributes are too large"), "{}", done.errors());
    assert!(scratch.at("f").exists() && !scratch.at("g").exists());
    scratch.write("g", "g")?;
    let words = ["-cf", "a", "--xattrs", "f", "g"];
    assert_eq!(ours().words(words).in_dir(scratch.path()).run()?.code(), Some(2));
    demand_read(&scratch, "attributes")
}

#[test]
fn names_that_options_make_are_read_again_or_told() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("f", "f")?;
    scratch.write("g", "g")?;
    symlink("f", scratch.at("l"))?;
    let long = format!("--owner={}", "o".repeat(2000));
    for words in [&["--transform=s,$,/,"][..], &[&long, "--format=posix"]] {
        let create = ours().words(["-cf", "a"]).words(words).words(["f", "g"]);
        create.in_dir(scratch.path()).succeed()?;
        let mut extract = ours().words(["-xf", "a", "-C", "out"]);
        fs::create_dir_all(scratch.at("out"))?;
        extract = extract.in_dir(scratch.path());
        extract.succeed()?;
        assert_eq!(fs::read(scratch.at("out/g"))?, b"g", "{words:?}");
    }
    let words = ["-cf", "a", "--transform=s,.*,,RHs", "l", "g"];
    let done = ours().words(words).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(2));
    assert!(done.errors().contains("l: nothing is left of the link target"), "{}", done.errors());
    let list = ours().words(["-tf", "a"]).in_dir(scratch.path()).succeed()?;
    assert_eq!(list.text(), "g\n");
    Ok(())
}
