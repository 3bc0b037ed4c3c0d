//! `haul compare`: an entry that cannot be compared is named, and never counts as equal.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::support::mounting::unmount;
use super::support::run::{Call, Done, haul};
use super::support::schema;
use super::support::scratch::Scratch;
use super::support::shell::{demand, noise};
use super::support::{Outcome, has, ignored, is_root};

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

/// SquashFS stores whole seconds.
#[test]
fn what_a_file_system_cannot_store_does_not_differ() -> Outcome {
    if !is_root()? || !has("mksquashfs")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("tree/d/file", noise(100_000))?;
    scratch.write("tree/zeros", vec![0; 100_000])?;
    demand(
        scratch.path(),
        "find tree -exec touch -d @1700000000.123456789 {} +; mkdir m
         mksquashfs tree image -quiet -no-progress >/dev/null",
    )?;
    let point = scratch.at("m");
    let mounted = Call::of("mount").words(["-o", "loop,ro"]).word(scratch.at("image")).word(&point);
    if mounted.run()?.code() != Some(0) {
        return ignored("squashfs on loop devices");
    }
    let done = compare_with_image(&scratch);
    unmount(&point)?;
    done
}

fn compare_with_image(scratch: &Scratch) -> Outcome {
    let compare = |words: &[&str]| -> Outcome<Done> {
        Call::of(haul()).word("compare").words(words).in_dir(scratch.path()).run()
    };
    let done = compare(&["tree", "m"])?;
    assert_eq!(done.code(), Some(0), "{done:?}");
    let text = done.text();
    assert!(text.starts_with("left out, because one file system cannot store"), "{text}");
    assert!(text.contains(": mtime of 4 (--exact reports them)\n"), "{text}");
    assert!(text.ends_with(": no difference\n"), "{text}");
    let done = compare(&["--json", "tree", "m"])?;
    let lines = schema::lines("compare", &done.text())?;
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["left_out"]["mtime"], 4);
    // The times as they are, and a time that differs by a second.
    let done = compare(&["--exact", "--only=mtime", "tree", "m"])?;
    assert_eq!((done.code(), done.text().lines().count()), (Some(1), 5), "{done:?}");
    demand(scratch.path(), "touch -d @1700000001.1 tree/zeros")?;
    let done = compare(&["--only=mtime", "tree", "m"])?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert!(done.text().contains("zeros: modification time"), "{done:?}");
    Ok(())
}
