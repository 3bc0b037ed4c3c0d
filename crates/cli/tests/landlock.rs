//! Runs under landlock: the kernel refuses every write outside the target, and the run succeeds. With
//! `HAUL_TEST_FENCE=1` all other tests restrict their commands in the same way, to the folders that tests
//! make.

use std::path::{Path, PathBuf};

use super::support::judge::demand_equal;
use super::support::run::{Call, Done, haul};
use super::support::scratch::Scratch;
use super::support::{Outcome, fence, ignored};
use haul_manifest::{Aspects, Limits, create_tree, random_tree};

/// Runs haul with write access to these folders only; `None` if the kernel has no landlock.
fn restricted(words: &[&str], dir: &Path, writable: &[&str]) -> Outcome<Option<Done>> {
    let call = Call::of(haul()).words(words).in_dir(dir);
    let mut paths: Vec<PathBuf> = writable.iter().map(|name| dir.join(name)).collect();
    // The harness uses this as the command's input.
    paths.push("/dev/null".into());
    if !fence::is_possible() {
        return Ok(None);
    }
    Ok(Some(call.behind_fence(paths).run()?))
}

#[test]
fn nothing_but_the_target_is_written_to() -> Outcome {
    for seed in 60..64 {
        let scratch = Scratch::new()?;
        create_tree(&scratch.at("s"), random_tree(seed, &Limits::default()))
            .map_err(|failure| failure.to_string())?;
        std::fs::create_dir(scratch.at("t"))?;
        // The second run finds the files of the first.
        for options in [
            ["-aT", "--jobs=1"],
            ["-aT", "--jobs=3"],
            ["-aT", "--remove-destination"],
            ["-aT", "--cache=drop"],
            ["-aT", "--fsync"],
        ] {
            let words = ["cp", options[0], options[1], "s", "t/x"];
            let Some(done) = restricted(&words, scratch.path(), &["t"])? else {
                return ignored("a kernel with landlock, version 3");
            };
            assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""), "{seed} {words:?}");
            demand_equal(&scratch.at("s"), &scratch.at("t/x"), Aspects::preserved(), "landlock");
        }
        let done = restricted(&["rm", "-r", "t/x"], scratch.path(), &["t"])?;
        assert_eq!(done.and_then(|done| done.code()), Some(0));
        assert!(!scratch.at("t/x").exists());
    }
    Ok(())
}

#[test]
fn what_only_looks_writes_nowhere() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("s/f", "f")?;
    for words in [
        ["cp", "-a", "--dry-run", "s", "t"].as_slice(),
        &["rm", "-r", "--dry-run", "s"],
        &["compare", "s", "s"],
    ] {
        let Some(done) = restricted(words, scratch.path(), &[])? else {
            return ignored("a kernel with landlock, version 3");
        };
        assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""), "{words:?}");
    }
    Ok(())
}

#[test]
fn the_kernel_refuses_a_write_outside() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("s/f", "f")?;
    std::fs::create_dir(scratch.at("t"))?;
    let Some(done) = restricted(&["cp", "-r", "s", "elsewhere"], scratch.path(), &["t"])? else {
        return ignored("a kernel with landlock, version 3");
    };
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert!(!scratch.at("elsewhere").exists());
    Ok(())
}
