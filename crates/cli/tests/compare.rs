//! `haul compare`: an entry that cannot be compared is named, and never counts as equal.

use std::os::unix::fs::symlink;

use super::support::Outcome;
use super::support::run::{Call, haul};
use super::support::scratch::Scratch;

#[test]
fn an_operand_that_does_not_exist_is_named() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("tree/file", "bytes")?;
    symlink("nowhere", scratch.at("dangling"))?;
    for words in [["tree", "missing"], ["missing", "tree"], ["missing", "missing"]] {
        for option in ["--contents", "--json", "--quiet"] {
            let call = Call::of(haul()).word("compare").word(option).words(words);
            let done = call.in_dir(scratch.path()).run()?;
            assert_eq!(done.code(), Some(2), "{words:?}: {done:?}");
            let errors = done.errors();
            assert!(errors.contains("'missing': No such file or directory"), "{words:?}: {errors}");
            assert!(!done.text().contains("no difference\n"), "{words:?}: {done:?}");
        }
    }
    let done =
        Call::of(haul()).words(["compare", "tree", "missing"]).in_dir(scratch.path()).run()?;
    assert!(done.text().contains("nothing was compared"), "{done:?}");
    Ok(())
}

#[test]
fn what_is_equal_is_said_to_be() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("tree/file", "bytes")?;
    let done =
        Call::of(haul()).words(["compare", "tree", "tree"]).in_dir(scratch.path()).succeed()?;
    assert!(done.text().ends_with(": no difference\n"), "{done:?}");
    Ok(())
}
