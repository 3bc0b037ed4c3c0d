//! Copies that several runs make onto a file system that ignores case: names that differ only there are one
//! file, and the second one must not replace the first without a word.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use haul_faultfs::{Case, Config, Mounted};

use super::resume::become_old;
use super::support::run::cp;
use super::support::scratch::Scratch;
use super::support::{Outcome, ignored, is_root};

fn mount(scratch: &Scratch) -> Outcome<Option<Mounted>> {
    if !is_root()? || !Path::new("/dev/fuse").exists() {
        ignored("root and /dev/fuse")?;
        return Ok(None);
    }
    fs::create_dir(scratch.at("below"))?;
    fs::create_dir(scratch.at("far"))?;
    let config = Config { case: Case::Ignored, ..Config::default() };
    Ok(Some(Mounted::new(&scratch.at("below"), &scratch.at("far"), &config)?))
}

/// Returns the files below a directory, with their contents in place of their last names.
fn contents(root: &Path) -> Outcome<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(contents(&path)?);
        } else {
            found.insert(PathBuf::from(fs::read_to_string(&path)?));
        }
    }
    Ok(found)
}

#[test]
fn two_names_that_are_one_there_are_a_failure_in_each_run() -> Outcome {
    for words in [&["--shard=1/1", "-rT"][..], &["--resume", "-rT"], &["--resume", "-aT"]] {
        let scratch = Scratch::new()?;
        let Some(mounted) = mount(&scratch)? else { return Ok(()) };
        let journal = format!("--journal={}", scratch.at("j").display());
        for name in ["d/A", "d/Sub/f", "d/other"] {
            scratch.write(&format!("s/{name}"), name)?;
        }
        become_old();
        let target = mounted.path().join("t");
        let copy = || cp(words).word(&journal).word(scratch.at("s")).word(&target);
        let done = copy().run()?;
        assert_eq!(done.code(), Some(0), "{words:?}: {done:?}");
        for name in ["d/a", "d/sub/f"] {
            scratch.write(&format!("s/{name}"), name)?;
        }
        become_old();
        let expected = ["d/A", "d/Sub/f", "d/other"].map(PathBuf::from).into();
        for _ in 0..2 {
            let done = copy().run()?;
            assert_eq!(done.code(), Some(1), "{words:?}: {done:?}");
            for name in ["d/a", "d/sub"] {
                let told = format!("{name}': File exists");
                assert!(done.errors().contains(&told), "{words:?}: {done:?}");
            }
            assert_eq!(contents(&scratch.at("below/t"))?, expected, "{words:?}");
        }
    }
    Ok(())
}

/// What was there before in another spelling is no second name: it is merged, replaced or kept.
#[test]
fn another_spelling_of_the_same_name_is_copied_to() -> Outcome {
    for words in [&["--shard=1/1", "-rT"][..], &["--resume", "-rT"], &["--resume", "-rTn"]] {
        let scratch = Scratch::new()?;
        let Some(mounted) = mount(&scratch)? else { return Ok(()) };
        let journal = format!("--journal={}", scratch.at("j").display());
        scratch.write("s/docs/readme", "new")?;
        scratch.write("s/docs/more", "more")?;
        scratch.write("below/t/Docs/README", "old")?;
        become_old();
        let target = mounted.path().join("t");
        let done = cp(words).word(&journal).word(scratch.at("s")).word(&target).run()?;
        assert_eq!(done.code(), Some(0), "{words:?}: {done:?}");
        let readme = if words.contains(&"-rTn") { "old" } else { "new" };
        let expected = [readme, "more"].map(PathBuf::from).into();
        assert_eq!(contents(&scratch.at("below/t"))?, expected, "{words:?}");
    }
    Ok(())
}

#[test]
fn two_names_that_are_one_there_are_a_failure_in_the_first_run() -> Outcome {
    for words in [&["--shard=1/1", "-rT"][..], &["--resume", "-rT"]] {
        let scratch = Scratch::new()?;
        let Some(mounted) = mount(&scratch)? else { return Ok(()) };
        let journal = format!("--journal={}", scratch.at("j").display());
        scratch.write("s/d/A", "upper")?;
        scratch.write("s/d/a", "lower")?;
        become_old();
        let target = mounted.path().join("t");
        let mut first = None;
        for _ in 0..2 {
            let done = cp(words).word(&journal).word(scratch.at("s")).word(&target).run()?;
            assert_eq!(done.code(), Some(1), "{words:?}: {done:?}");
            assert!(done.errors().contains(": File exists"), "{words:?}: {done:?}");
            let now = contents(&scratch.at("below/t"))?;
            assert_eq!(now.len(), 1, "{words:?}");
            assert_eq!(*first.get_or_insert(now.clone()), now, "{words:?}: the first one stays");
        }
    }
    Ok(())
}
