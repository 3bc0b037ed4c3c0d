//! `--errors FILE` lists the failures, and `--retry-failed FILE` copies only those entries again.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use haul_manifest::{Aspect, Aspects};

use super::support::judge::demand_equal;
use super::support::run::{Call, cp, haul};
use super::support::scratch::Scratch;
use super::support::strace::{Strace, is_usable};
use super::support::{Outcome, if_there, is_root};

fn furnish(scratch: &Scratch) -> Outcome {
    for name in [b"a".as_slice(), b"b", b"d/c", b"d/\xff\n", b"d/e/f", b"d/e/g"] {
        scratch.write(&format!("s/{}", "d/e/x"), "x")?;
        fs::write(scratch.at("s").join(OsStr::from_bytes(name)), name)?;
    }
    fs::hard_link(scratch.at("s/a"), scratch.at("s/d/twin"))?;
    fs::set_permissions(scratch.at("s/d"), fs::Permissions::from_mode(0o750))?;
    Ok(())
}

/// Makes some calls of a copy fail, and then copies again what failed.
fn fail_and_retry(fault: &str) -> Outcome {
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    let call = cp(["-a", "-T", "--jobs=1", "--errors=list", "s", "t"]).in_dir(scratch.path());
    let call_name = fault.split(':').next().unwrap_or_default();
    let strace = Strace::new(scratch.at("log")).trace(call_name).inject(fault);
    let done = strace.wrap(call).run()?;
    assert_eq!(done.code(), Some(1), "{fault}: {done:?}");
    let list = fs::read_to_string(scratch.at("list"))?;
    assert!(list.contains("\"event\":\"failure\""), "{fault}: {list}");
    let untouched = if_there(fs::metadata(scratch.at("t/d")))?;
    // From another directory, with a list that is replaced by the failures of this run.
    let list = scratch.at("list");
    let again =
        [OsStr::new("--retry-failed"), list.as_os_str(), OsStr::new("--errors"), list.as_os_str()];
    cp(again).in_dir("/").succeed()?;
    // A missing hard link is listed with the name that it is to be linked to, so the times of the
    // directory that it is made in are unknown.
    let aspects = if call_name == "linkat" {
        Aspects::preserved().without(Aspect::Mtime)
    } else if matches!(call_name, "mkdirat" | "getdents64") {
        // A name whose first name was copied becomes a separate file, as the help says.
        Aspects::preserved().without(Aspect::Links)
    } else {
        Aspects::preserved()
    };
    demand_equal(&scratch.at("s"), &scratch.at("t"), aspects, fault);
    if let Some(before) = untouched {
        assert_eq!(before.ino(), fs::metadata(scratch.at("t/d"))?.ino(), "{fault}");
    }
    // Nothing failed, so there is nothing to do.
    let empty = fs::read_to_string(&list)?;
    assert!(!empty.contains("failure") && empty.contains("\"event\":\"end\""), "{empty}");
    Ok(())
}

#[test]
fn what_failed_is_copied_again_with_links_and_attributes() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    // sendfile moves the bytes of files this small; each of them and each directory fails once.
    for fault in [
        "sendfile:error=EIO",
        "sendfile:error=EIO:when=2+3",
        "linkat:error=EMLINK",
        "mkdirat:error=ENOSPC:when=2",
        "utimensat:error=EPERM:when=2+2",
        "getdents64:error=EIO:when=3",
    ] {
        fail_and_retry(fault).map_err(|error| format!("{fault}: {error}"))?;
    }
    Ok(())
}

#[test]
fn only_what_failed_is_done_again() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let scratch = Scratch::public()?;
    furnish(&scratch)?;
    let public = fs::Permissions::from_mode(0o777);
    for dir in ["", "s/d", "s/d/e"] {
        fs::set_permissions(scratch.at(dir), public.clone())?;
    }
    fs::set_permissions(scratch.at("s/d/c"), fs::Permissions::from_mode(0o600))?;
    let copy = |words: &[&str]| cp(words).in_dir(scratch.path()).by_user().run();
    assert_eq!(copy(&["-r", "--errors=list", "s", "t"])?.code(), Some(1));
    let before = fs::metadata(scratch.at("t/b"))?;
    let done = copy(&["--retry-failed=list", "--json"])?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert!(done.text().contains("d/c") && !done.text().contains("d/e"), "{done:?}");
    fs::set_permissions(scratch.at("s/d/c"), fs::Permissions::from_mode(0o644))?;
    assert_eq!(copy(&["--retry-failed=list"])?.code(), Some(0));
    assert_eq!(fs::read(scratch.at("t/d/c"))?, b"d/c");
    let after = fs::metadata(scratch.at("t/b"))?;
    assert_eq!(
        (before.mtime_nsec(), before.ctime_nsec()),
        (after.mtime_nsec(), after.ctime_nsec())
    );
    Ok(())
}

#[test]
fn a_list_never_overwrites_what_is_no_list() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("a", "precious")?;
    for words in [["--errors", "a", "a", "b"], ["--errors=a", "-T", "a", "b"]] {
        let done = cp(words).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(1));
        assert!(done.errors().contains("not a list of errors"), "{done:?}");
    }
    let done = Call::of(haul()).words(["rm", "--errors=a", "a"]).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert_eq!(fs::read(scratch.at("a"))?, b"precious");
    let done = cp(["--retry-failed", "a"]).in_dir(scratch.path()).run()?;
    assert!(done.errors().contains("not a list of errors"), "{done:?}");
    Ok(())
}

#[test]
fn a_run_that_did_not_begin_cannot_be_done_again_singly() -> Outcome {
    let scratch = Scratch::new()?;
    for name in ["a", "b"] {
        scratch.write(name, name)?;
    }
    assert_eq!(
        cp(["--errors=list", "a", "b", "none"]).in_dir(scratch.path()).run()?.code(),
        Some(1)
    );
    let done = cp(["--retry-failed=list"]).in_dir(scratch.path()).run()?;
    assert!(done.errors().contains("did not begin"), "{done:?}");
    Ok(())
}

#[test]
fn rm_lists_what_it_could_not_remove() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("d/f", "f")?;
    let done = Call::of(haul())
        .words(["rm", "--errors=list", "d", "none"])
        .in_dir(scratch.path())
        .run()?;
    assert_eq!(done.code(), Some(1));
    let list = fs::read_to_string(scratch.at("list"))?;
    let failures = list.lines().filter(|line| line.contains("\"event\":\"failure\"")).count();
    assert_eq!(failures, 2, "{list}");
    assert!(list.lines().last().is_some_and(|line| line.contains("\"event\":\"end\"")), "{list}");
    Ok(())
}
