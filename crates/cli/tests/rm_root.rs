//! `haul rm` of the root directory itself, where it can do no harm: by a user without privileges,
//! in private namespaces, with a file system in memory as root. Tests of its other names are in `rm`.

use std::fs;
use std::path::{Path, PathBuf};

use super::support::run::{Call, Done, haul};
use super::support::scratch::Scratch;
use super::support::{Outcome, has, ignored, is_root};

/// Makes the root file system in `m` that the program will see.
const WORLD: &str = "set -e; cd \"$1\"; shift; umask 022; mkdir -p m; mount -t tmpfs tmpfs m; \
    cp -R tools/. m/; mkdir -p m/home/d m/empty; echo precious > m/home/d/file; echo top > m/file; \
    (cd m && find . | sort) > before";

/// Prints what is left of it.
const AFTER: &str = "(cd m && find . | sort) > after; diff before after >&2 && echo whole";

/// Copies the program and the files that its loader needs.
fn tools(scratch: &Scratch) -> Outcome {
    let program = haul();
    fs::create_dir(scratch.at("tools"))?;
    scratch.program("tools/haul")?;
    let listed = Call::of("ldd").word(&program).run()?.text();
    let libraries = listed.split_whitespace().filter(|word| word.starts_with('/'));
    for library in libraries.map(PathBuf::from) {
        let copy = scratch.at("tools").join(library.strip_prefix("/").unwrap_or(&library));
        fs::create_dir_all(copy.parent().unwrap_or(Path::new("/")))?;
        fs::copy(&library, copy)?;
    }
    Ok(())
}

/// Runs a script inside it; `None`, and the test ignored, if that is not possible.
fn in_world(scratch: &Scratch, script: &str) -> Outcome<Done> {
    let script = format!("{WORLD}; set +e; {script}");
    let call = Call::of("unshare").words(["-Urm", "--", "bash", "-c", &script, "bash"]);
    call.word(scratch.path()).by_user().run()
}

fn world() -> Outcome<Option<Scratch>> {
    if !is_root()? || !has("unshare")? || !has("setpriv")? || !has("ldd")? || !has("bash")? {
        return Ok(None);
    }
    let scratch = Scratch::public()?;
    let user = Some(super::support::run::USER);
    std::os::unix::fs::chown(scratch.path(), user, user)?;
    tools(&scratch)?;
    let tried = in_world(&scratch, "chroot m /haul rm --version > /dev/null && echo ready")?;
    if tried.text() != "ready\n" {
        ignored("namespaces for unprivileged users")?;
        return Ok(None);
    }
    Ok(Some(scratch))
}

#[test]
fn the_root_is_refused_with_whatever_options() -> Outcome {
    let Some(scratch) = world()? else { return Ok(()) };
    for options in [
        "-r",
        "-r --preserve-root",
        "-rf --no-preserve-root --preserve-root",
        "-rf --preserve-root=all",
        "-rf --interactive=never",
        "-rdv --one-file-system",
    ] {
        let done = in_world(&scratch, &format!("chroot m /haul rm {options} /; echo $?; {AFTER}"))?;
        assert_eq!(done.text(), "1\nwhole\n", "rm {options}: {done:?}");
        assert!(done.errors().contains("dangerous"), "rm {options}: {done:?}");
    }
    Ok(())
}

#[test]
fn other_operands_go_all_the_same() -> Outcome {
    let Some(scratch) = world()? else { return Ok(()) };
    for words in ["-rf /file / /empty", "-rf / /file /empty", "-rf /file /empty //"] {
        let script = format!("chroot m /haul rm {words}; echo $?; (cd m && ls); cat m/home/d/file");
        let done = in_world(&scratch, &script)?;
        let text = done.text();
        assert!(text.starts_with("1\n") && text.ends_with("precious\n"), "rm {words}: {done:?}");
        assert!(!text.contains("file\nhaul") && !text.contains("empty"), "rm {words}: {done:?}");
        assert!(done.errors().contains("--no-preserve-root"), "rm {words}: {done:?}");
    }
    Ok(())
}

#[test]
fn no_preserve_root_removes_the_root() -> Outcome {
    let Some(scratch) = world()? else { return Ok(()) };
    let script = "chroot m /haul rm -rf --no-preserve-root /; echo $?; find m | wc -l";
    let done = in_world(&scratch, script)?;
    // A mount point there cannot be removed, and that is reported.
    assert_eq!(done.text(), "1\n1\n", "{done:?}");
    assert!(done.errors().contains("cannot remove '/'"), "{done:?}");
    let abbreviated = in_world(&scratch, &format!("chroot m /haul rm -rf --no-pres /; {AFTER}"))?;
    assert_eq!(abbreviated.text(), "whole\n", "{abbreviated:?}");
    assert!(abbreviated.errors().contains("you may not abbreviate"), "{abbreviated:?}");
    Ok(())
}
