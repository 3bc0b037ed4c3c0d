//! `haul compare`: an entry that cannot be compared is named, and never counts as equal.

use std::os::unix::fs::{PermissionsExt as _, symlink};

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

#[test]
fn differences_have_the_names_that_the_user_gave() -> Outcome {
    let scratch = Scratch::new()?;
    for (tree, mode) in [("old", 0o644), ("new tree", 0o600)] {
        scratch.write(&format!("{tree}/f"), tree)?;
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(scratch.at(format!("{tree}/f")), permissions)?;
        scratch.write(&format!("{tree}/only {tree}"), "")?;
    }
    for words in [
        ["compare", "--ignore=mtime", "old", "new tree"],
        ["verify", "old", "--against", "new tree"],
    ] {
        let done = Call::of(haul()).words(words).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(1), "{done:?}");
        let text = done.text();
        assert!(text.contains("f: size 3 in 'old', 8 in 'new tree'\n"), "{text}");
        assert!(text.contains("only old: only in 'old' (regular file)\n"), "{text}");
        assert!(text.contains("only new tree: only in 'new tree' (regular file)\n"), "{text}");
        let is_compare = words[0] == "compare";
        assert_eq!(
            text.contains("f: mode 0644 in 'old', 0600 in 'new tree'\n"),
            is_compare,
            "{text}"
        );
    }
    // Times are dates.
    std::fs::File::options()
        .write(true)
        .open(scratch.at("old/f"))?
        .set_modified(std::time::UNIX_EPOCH)?;
    let call = Call::of(haul()).words(["compare", "--only=mtime", "old/f", "new tree/f"]);
    let text = call.env("TZ", "UTC").in_dir(scratch.path()).run()?.text();
    let date = "modification time 1970-01-01 00:00:00.000000000 in 'old/f', 20";
    assert!(text.contains(date), "{text}");
    Ok(())
}
