//! `haul doctor`: what it finds is what the calls say, and nothing remains of what it tries.

use serde_json::Value;

use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::{Outcome, entries, schema};

fn doctor(words: &[&str], scratch: &Scratch) -> Call {
    Call::of(haul()).word("doctor").words(words).in_dir(scratch.path())
}

/// Returns the finding of a name.
fn finding<'v>(all: &'v Value, name: &str) -> Outcome<&'v Value> {
    let mut found = all["findings"].as_array().into_iter().flatten();
    Ok(found.find(|one| one["name"] == name).ok_or_else(|| format!("no finding {name}: {all}"))?)
}

#[test]
fn it_tries_everything_and_leaves_nothing_behind() -> Outcome {
    let scratch = Scratch::public()?;
    let done = doctor(&["--json"], &scratch).succeed()?;
    let told = schema::parsed("doctor", &done.text())?;
    assert_eq!(told["version"], env!("CARGO_PKG_VERSION"));
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease")?;
    assert_eq!(told["kernel"], release.trim_end());
    let here = &told["paths"][0];
    assert_eq!(here["path"], ".");
    let can_be_unnamed = rustix::fs::openat(
        rustix::fs::CWD,
        scratch.path(),
        rustix::fs::OFlags::TMPFILE | rustix::fs::OFlags::RDWR,
        rustix::fs::Mode::RUSR,
    );
    let expected = if can_be_unnamed.is_ok() { "present" } else { "missing" };
    assert_eq!(finding(here, "unnamed-files")?["state"], expected, "{here}");
    for copied in here["uses"]["copies"].as_array().into_iter().flatten() {
        assert_eq!(copied["method"].is_string(), can_be_unnamed.is_ok(), "{copied}");
    }
    assert_eq!(entries(scratch.path())?.len(), 0, "nothing remains");
    Ok(())
}

/// What `doctor` says of a copy is what `cp --explain` says of one.
#[test]
fn it_names_the_method_that_a_copy_takes() -> Outcome {
    let scratch = Scratch::public()?;
    scratch.write("s", vec![7; 64 << 10])?;
    let told = schema::parsed("doctor", &doctor(&["--json"], &scratch).succeed()?.text())?;
    let copied = &told["paths"][0]["uses"]["copies"][0];
    assert_eq!(copied["bytes"], 64 << 10);
    let Some(method) = copied["method"].as_str() else {
        return super::support::ignored("a file system with O_TMPFILE");
    };
    let words = ["--json", "--explain", "--jobs=1", "--profile=none", "s", "t"];
    let done = Call::of(haul()).word("cp").words(words).in_dir(scratch.path()).succeed()?;
    let text = done.text();
    let moved = text.lines().find(|line| line.contains("\"transferred\"")).ok_or("no line")?;
    let moved = schema::parsed("run", moved)?;
    assert_eq!(moved["method"], method, "{text}");
    Ok(())
}

/// A kernel that refuses rings and whatever else is named is described as such.
#[test]
fn what_is_refused_is_missing_with_its_reason() -> Outcome {
    let scratch = Scratch::public()?;
    let refused = [libc::SYS_io_uring_setup, libc::SYS_copy_file_range, 451];
    let call = doctor(&["--json"], &scratch).behind_filter(&refused, libc::EPERM);
    let told = schema::parsed("doctor", &call.succeed()?.text())?;
    for (of, name, call) in [
        (&told, "io_uring", "io_uring_setup"),
        (&told, "cachestat", "cachestat"),
        (&told["paths"][0], "copy-file-range", "copy_file_range"),
    ] {
        let found = finding(of, name)?;
        if found["state"] == "unknown" {
            super::support::ignored("a file system with O_TMPFILE")?;
            continue;
        }
        assert_eq!(found["state"], "missing", "{found}");
        let detail = found["detail"].as_str().unwrap_or_default();
        assert!(detail.starts_with(&format!("{call}: Operation not permitted")), "{detail}");
        assert_ne!(found["effect"], "", "what that means is said");
    }
    Ok(())
}

#[test]
fn a_path_that_cannot_be_examined_is_an_error() -> Outcome {
    let scratch = Scratch::public()?;
    scratch.write("file", *b"x")?;
    let done = doctor(&["missing", "file"], &scratch).run()?;
    assert_eq!(done.code(), Some(1));
    assert_eq!(done.errors(), "haul doctor: cannot examine missing: No such file or directory\n");
    let text = done.text();
    assert!(text.contains("'file': "), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    Ok(())
}
