//! `--resume` after failures that leave entries without something, and after changes that the
//! user makes once everything is complete.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use haul_manifest::Aspects;
use rustix::fs::{XattrFlags, setxattr};

use super::resume::{COPY, become_old, furnish, here};
use super::support::judge::demand_equal;
use super::support::run::cp;
use super::support::scratch::Scratch;
use super::support::strace::{Strace, is_usable};
use super::support::{Outcome, ignored};

fn mode(scratch: &Scratch, name: &str) -> Outcome<u32> {
    Ok(fs::metadata(scratch.at(name))?.permissions().mode() & 0o7777)
}

fn set_mode(scratch: &Scratch, name: &str, mode: u32) -> Outcome {
    Ok(fs::set_permissions(scratch.at(name), fs::Permissions::from_mode(mode))?)
}

#[test]
fn what_lacks_an_attribute_is_copied_again_with_all_its_names() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    for name in ["s/a", "s/b"] {
        let file = scratch.at(name);
        if setxattr(&file, "user.note", b"kept", XattrFlags::empty()).is_err() {
            return ignored("a file system with extended attributes");
        }
    }
    become_old();
    for (call, errno) in [("fsetxattr", "ENOSPC"), ("utimensat", "EIO"), ("fchown", "EIO")] {
        scratch.clear("t")?;
        let strace = Strace::new(scratch.at("log")).trace(call);
        let strace = strace.inject(&format!("{call}:error={errno}"));
        let context = format!("{call}: {errno}");
        let done = strace.wrap(here(&scratch, &COPY)).run()?;
        if !strace.has_injected()? {
            continue;
        }
        assert_eq!(done.code(), Some(1), "{context}: {done:?}");
        assert!(scratch.at("t/d/twin").exists(), "{context}: {done:?}");
        here(&scratch, &COPY).succeed()?;
        demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), &context);
        let done = here(&scratch, &COPY).run()?;
        assert!(done.errors().contains("nothing to copy"), "{context}: {done:?}");
    }
    Ok(())
}

#[test]
fn a_mode_that_the_user_sets_after_a_complete_run_stays() -> Outcome {
    let words = ["--resume", "--journal=j"];
    let scratch = Scratch::new()?;
    scratch.write("s/open/file", "bytes")?;
    scratch.write("s/closed/file", "bytes")?;
    set_mode(&scratch, "s/closed", 0o555)?;
    become_old();
    let copy = || cp(words).words(["-rT", "s", "t"]).in_dir(scratch.path());
    copy().with_umask("022").run()?;
    assert_eq!((mode(&scratch, "t/open")?, mode(&scratch, "t/closed")?), (0o755, 0o555));
    for name in ["t/open", "t/closed"] {
        set_mode(&scratch, name, 0o700)?;
    }
    scratch.write("s/open/more", "bytes")?;
    become_old();
    let done = copy().with_umask("022").run()?;
    assert_eq!(done.code(), Some(0), "{words:?}: {done:?}");
    assert!(scratch.at("t/open/more").exists(), "{words:?}: {done:?}");
    let modes = (mode(&scratch, "t/open")?, mode(&scratch, "t/closed")?);
    assert_eq!(modes, (0o700, 0o700), "{words:?}");
    // Directories that the user makes are the user's, too, whatever the journal says of others.
    for name in ["t/open", "t/closed"] {
        fs::remove_dir_all(scratch.at(name))?;
        fs::create_dir(scratch.at(name))?;
        set_mode(&scratch, name, 0o700)?;
    }
    let done = copy().with_umask("022").run()?;
    assert_eq!(done.code(), Some(0), "{words:?}: {done:?}");
    assert!(scratch.at("t/closed/file").exists(), "{words:?}: {done:?}");
    let modes = (mode(&scratch, "t/open")?, mode(&scratch, "t/closed")?);
    assert_eq!(modes, (0o700, 0o700), "{words:?}");
    Ok(())
}
