//! `--errors FILE` lists the failures, and `--retry-failed FILE` copies only those entries again.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use haul_manifest::Aspects;

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
    demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), fault);
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
    // sendfile moves the bytes of files this small. Each of the seven fails once, whatever their order is, so
    // that the first name of the file with two is among them.
    for number in 1..=7 {
        let fault = format!("sendfile:error=EIO:when={number}");
        fail_and_retry(&fault).map_err(|error| format!("{fault}: {error}"))?;
    }
    for fault in [
        "sendfile:error=EIO",
        "sendfile:error=EIO:when=1+2",
        "sendfile:error=EIO:when=1+3",
        "linkat:error=EMLINK",
        "mkdirat:error=EIO:when=2",
        "utimensat:error=EPERM:when=2+2",
        "utimensat:error=EPERM:when=1",
        "utimensat:error=EPERM:when=2",
        "utimensat:error=EPERM:when=3",
        "utimensat:error=EPERM:when=4",
        "getdents64:error=EIO:when=3",
    ] {
        fail_and_retry(fault).map_err(|error| format!("{fault}: {error}"))?;
    }
    Ok(())
}

/// Makes the copy of a file under its first name fail, and copies it under the second, in another directory.
/// Then lets something happen to one of the files, and copies the first name again. Returns whether it was
/// linked to the second.
fn is_linked_after(happens: impl FnOnce(&Scratch) -> Outcome) -> Outcome<bool> {
    let scratch = Scratch::new()?;
    scratch.write("s/first", "one file")?;
    scratch.write("s/d/.keep", "")?;
    fs::hard_link(scratch.at("s/first"), scratch.at("s/d/second"))?;
    let call = cp(["-aT", "--jobs=1", "--errors=list", "s", "t"]).in_dir(scratch.path());
    let strace = Strace::new(scratch.at("log")).inject("sendfile:error=EIO:when=1");
    assert_eq!(strace.trace("sendfile").wrap(call).run()?.code(), Some(1));
    assert!(!scratch.at("t/first").exists() && scratch.at("t/d/second").exists());
    happens(&scratch)?;
    cp(["--retry-failed=list"]).in_dir(scratch.path()).succeed()?;
    assert_eq!(fs::read(scratch.at("s/first"))?, fs::read(scratch.at("t/first"))?);
    let ino = |name: &str| fs::metadata(scratch.at(name)).map(|file| file.ino());
    Ok(ino("t/first")? == ino("t/d/second")?)
}

#[test]
fn a_name_is_linked_only_to_what_is_still_as_it_was_copied() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    assert!(is_linked_after(|_| Ok(()))?);
    for changed in ["s/d/second", "t/d/second"] {
        assert!(!is_linked_after(|scratch| Ok(fs::write(scratch.at(changed), "it changed")?))?);
    }
    // The copy under the second name has the mode of before.
    let close = |scratch: &Scratch| {
        Ok(fs::set_permissions(scratch.at("s/first"), fs::Permissions::from_mode(0o600))?)
    };
    assert!(!is_linked_after(close)?);
    let replace = |scratch: &Scratch| {
        fs::remove_file(scratch.at("s/d/second"))?;
        scratch.write("s/d/second", "one file")?;
        Ok(())
    };
    assert!(!is_linked_after(replace)?);
    Ok(())
}

/// Of three names the first fails, and the second has its bytes and lacks its mode, as the third does that is
/// linked to it.
#[test]
fn all_names_of_a_file_are_one_again_and_lack_nothing() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    for option in ["--force", "--atomic", "--durable"] {
        let scratch = Scratch::new()?;
        let names = ["a", "b/b", "b/c/c"];
        scratch.write("s/a", "one file")?;
        fs::set_permissions(scratch.at("s/a"), fs::Permissions::from_mode(0o767))?;
        for name in &names[1..] {
            scratch.write(&format!("s/{name}.keep"), "")?;
            fs::hard_link(scratch.at("s/a"), scratch.at("s").join(name))?;
        }
        let call = cp(["-aT", "--jobs=1", "--errors=list", "s", "t"]).in_dir(scratch.path());
        let strace = Strace::new(scratch.at("log"))
            .inject("sendfile:error=EIO:when=1")
            .inject("fchmod:error=EPERM");
        let done = strace.trace("sendfile,fchmod").wrap(call).run()?;
        assert_eq!(done.code(), Some(1), "{done:?}");
        assert!(!scratch.at("t/a").exists() && scratch.at("t/b/b").exists(), "{done:?}");
        cp(["-a", option, "--retry-failed=list"]).in_dir(scratch.path()).succeed()?;
        demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::preserved(), option);
    }
    Ok(())
}

/// The file has a second name outside of what is copied, so the run knows that it has more names.
#[test]
fn a_file_that_lacks_an_attribute_is_not_linked_to_itself() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("s/f", "one file")?;
    fs::set_permissions(scratch.at("s/f"), fs::Permissions::from_mode(0o767))?;
    fs::hard_link(scratch.at("s/f"), scratch.at("outside"))?;
    let call = cp(["-aT", "--errors=list", "s", "t"]).in_dir(scratch.path());
    let strace = Strace::new(scratch.at("log")).inject("fchmod:error=EPERM");
    let done = strace.trace("fchmod").wrap(call).run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    let mode = || fs::metadata(scratch.at("t/f")).map(|file| file.mode() & 0o7777);
    assert!(mode()? != 0o767 && fs::read_to_string(scratch.at("list"))?.contains("known-name"));
    cp(["--retry-failed=list"]).in_dir(scratch.path()).succeed()?;
    assert_eq!(mode()?, 0o767);
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
