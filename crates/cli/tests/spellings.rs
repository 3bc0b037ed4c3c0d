//! Copies that several runs make onto a file system that ignores case: names that differ only there are one
//! file, and the second one must not replace the first without a word.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use haul_faultfs::{Case, Config, Mounted};

use super::mv::mv;
use super::resume::become_old;
use super::support::run::cp;
use super::support::scratch::Scratch;
use super::support::{Outcome, ignored, is_root};

pub(crate) fn mount(scratch: &Scratch) -> Outcome<Option<Mounted>> {
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
pub(crate) fn contents(root: &Path) -> Outcome<BTreeSet<PathBuf>> {
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
    for words in [&["--resume", "-rT"], &["--resume", "-aT"]] {
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
    for words in [&["--resume", "-rT"], &["--resume", "-rTn"]] {
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
    let words = ["--resume", "-rT"];
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
    Ok(())
}

/// Makes pairs of names that differ in case, and one name that has no other.
fn pairs(scratch: &Scratch, root: &str) -> Outcome<BTreeSet<PathBuf>> {
    let mut contents = BTreeSet::new();
    for name in ["Makefile", "makefile", "A", "a", "other", "Sub/f", "sub/f", "sub/g"] {
        let content = format!("content of {}", name.replace('/', "-"));
        scratch.write(&format!("{root}/{name}"), &content)?;
        contents.insert(content.into());
    }
    Ok(contents)
}

/// Checks that each content is in a copy, or was refused and is in the source.
fn is_nowhere_lost(copied: &BTreeSet<PathBuf>, all: &BTreeSet<PathBuf>, told: &str) {
    assert_eq!(copied.iter().filter(|content| all.contains(*content)).count(), 4, "{told}");
    let refused = ["akefile", "/a'", "/A'", "/sub'", "/Sub'"];
    let lines = told.lines().filter(|line| line.starts_with("cp: "));
    let refusals = lines.filter(|line| refused.iter().any(|name| line.contains(name)));
    assert_eq!(refusals.count(), 3, "{told}");
}

#[test]
fn no_run_copies_two_names_to_one_file() -> Outcome {
    let ways: [&[&str]; 7] = [
        &["-r"],
        &["-a", "--jobs=4"],
        &["-r", "--atomic"],
        &["-a", "--durable"],
        &["-rb"],
        &["-r", "--remove-destination"],
        &["-ab", "--atomic"],
    ];
    for way in ways {
        // What exists is nothing, one of the two spellings, or a third one.
        for existing in ["", "t/Makefile", "t/MAKEFILE", "t/SUB/G"] {
            let scratch = Scratch::new()?;
            let Some(mounted) = mount(&scratch)? else { return Ok(()) };
            let all = pairs(&scratch, "s")?;
            fs::create_dir(scratch.at("below/t"))?;
            if !existing.is_empty() {
                scratch.write(&format!("below/{existing}"), "old")?;
            }
            let target = mounted.path().join("t");
            let done = cp(way).word("-T").word(scratch.at("s")).word(&target).run()?;
            assert_eq!(done.code(), Some(1), "{way:?} {existing}: {done:?}");
            let copied = contents(&scratch.at("below/t"))?;
            let is_kept = (way.contains(&"-rb") || way.contains(&"-ab")) && !existing.is_empty();
            if is_kept {
                assert!(copied.contains(Path::new("old")), "{way:?} {existing}: {copied:?}");
            }
            let context = format!("{way:?} {existing} {copied:?}\n{}", done.errors());
            // Of two directories the second one is refused with all that is in it.
            let without_g: BTreeSet<_> = all
                .iter()
                .filter(|content| content.as_path() != Path::new("content of sub-g"))
                .cloned()
                .collect();
            is_nowhere_lost(&copied, &without_g, &context);
        }
    }
    Ok(())
}

#[test]
fn no_operand_is_copied_over_another() -> Outcome {
    for way in [&["-r"][..], &["-b"], &["-a", "--durable"], &["--remove-destination"]] {
        let scratch = Scratch::new()?;
        let Some(mounted) = mount(&scratch)? else { return Ok(()) };
        scratch.write("s/Makefile", "upper")?;
        scratch.write("s/makefile", "lower")?;
        scratch.write("below/MAKEFILE", "old")?;
        let sources = [scratch.at("s/Makefile"), scratch.at("s/makefile")];
        let [upper, lower] = &sources;
        let done = cp(way).word(upper).word(lower).word(mounted.path()).run()?;
        assert_eq!(done.code(), Some(1), "{way:?}: {done:?}");
        let told = format!(
            "will not overwrite just-created '{}' with",
            mounted.path().join("makefile").display()
        );
        assert!(done.errors().contains(&told), "{way:?}: {done:?}");
        let copied = contents(&scratch.at("below"))?;
        assert!(copied.contains(Path::new("upper")), "{way:?}: {copied:?}");
        assert_eq!(copied.contains(Path::new("old")), way == ["-b"], "{copied:?}");
    }
    Ok(())
}

#[test]
fn no_move_loses_a_name_that_differs_in_case() -> Outcome {
    for existing in ["", "Makefile", "MAKEFILE", "SUB/G"] {
        for as_operands in [false, true] {
            for way in [&[][..], &["-b"], &["--jobs=4"]] {
                let scratch = Scratch::new()?;
                let Some(mounted) = mount(&scratch)? else { return Ok(()) };
                let all = pairs(&scratch, "s/d")?;
                if !existing.is_empty() && as_operands {
                    scratch.write(&format!("below/{existing}"), "old")?;
                }
                let mut call = mv(way.iter().copied());
                if as_operands {
                    let mut names: Vec<_> = fs::read_dir(scratch.at("s/d"))?
                        .map(|entry| entry.map(|entry| entry.path()))
                        .collect::<Result<_, _>>()?;
                    names.sort();
                    for name in names {
                        call = call.word(name);
                    }
                } else {
                    call = call.word(scratch.at("s/d"));
                }
                let done = call.word(mounted.path()).run()?;
                assert_eq!(done.code(), Some(1), "{way:?} {existing}: {done:?}");
                let mut left = contents(&scratch.at("s"))?;
                left.extend(contents(&scratch.at("below"))?);
                let lost: Vec<_> = all.difference(&left).collect();
                assert!(lost.is_empty(), "{way:?} {existing} {as_operands}: {lost:?} {done:?}");
                // Both directories may not have one name, and no file replaces a directory's copy.
                let is_kept = way.contains(&"-b") && as_operands && !existing.is_empty();
                assert!(!is_kept || left.contains(Path::new("old")), "{existing}: {left:?}");
            }
        }
    }
    Ok(())
}
