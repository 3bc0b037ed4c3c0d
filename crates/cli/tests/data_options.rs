//! The options about bytes: methods, the page cache, rates, stable storage, explanations.

use std::time::{Duration, Instant};

use super::support::Outcome;
use super::support::run::{Call, cp};
use super::support::scratch::Scratch;
use super::support::strace::{Strace, is_usable};
use super::support::volume::volumes;

/// Makes a folder with a source of this size.
fn with_source(bytes: usize) -> Outcome<Scratch> {
    let scratch = Scratch::new()?;
    scratch.write("s", vec![7; bytes])?;
    Ok(scratch)
}

#[test]
fn fsync_waits_for_each_file_and_each_directory_once() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    for name in ["t/a", "t/b", "t/d/c"] {
        scratch.write(name, name)?;
    }
    let strace = Strace::new(scratch.at("log")).trace("fsync");
    strace.wrap(cp(["-r", "--fsync", "t", "u"]).in_dir(scratch.path())).succeed()?;
    // Three files, two directories, and the parent directory of the new tree.
    assert_eq!(strace.lines()?.len(), 6, "{}", strace.text()?);
    Ok(())
}

/// A file operand with a path is in a directory that the run does not walk.
#[test]
fn fsync_waits_for_the_directory_that_the_name_is_in() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = with_source(100)?;
    std::fs::create_dir_all(scratch.at("else/where"))?;
    let strace = Strace::new(scratch.at("log")).trace("fsync").showing_paths();
    strace.wrap(cp(["--fsync", "s", "else/where/t"]).in_dir(scratch.path())).succeed()?;
    assert!(strace.text()?.contains("else/where>"), "{}", strace.text()?);
    Ok(())
}

#[test]
fn links_and_special_files_named_by_path_have_their_directory_on_stable_storage() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("s", "s")?;
    std::os::unix::fs::symlink("s", scratch.at("link"))?;
    Call::of("mkfifo").word("fifo").in_dir(scratch.path()).succeed()?;
    std::fs::create_dir(scratch.at("d"))?;
    for (option, words) in [
        ("--durable", ["-P", "link", "d/link"]),
        ("--durable", ["-R", "fifo", "d/fifo"]),
        ("--fsync", ["-P", "link", "d/again"]),
        ("--durable", ["-l", "s", "d/hard"]),
        ("--fsync", ["-l", "s", "d/harder"]),
    ] {
        let strace = Strace::new(scratch.at("log")).trace("fsync").showing_paths();
        strace.wrap(cp([option]).words(words).in_dir(scratch.path())).succeed()?;
        let text = strace.text()?;
        let directory = format!("<{}>", scratch.at("d").display());
        assert!(text.contains(&directory), "{option} {words:?}: {text}");
    }
    Ok(())
}

#[test]
fn an_fsync_that_fails_is_told_and_counts() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    for (when, target) in [("1", "t"), ("2", "")] {
        let scratch = with_source(100)?;
        let strace = Strace::new(scratch.at("log"))
            .trace("fsync")
            .inject(&format!("fsync:error=EIO:when={when}"));
        let done = strace.wrap(cp(["--fsync", "s", "t"]).in_dir(scratch.path())).run()?;
        assert_eq!(done.code(), Some(1));
        assert_eq!(done.errors(), format!("cp: error syncing '{target}': Input/output error\n"));
    }
    Ok(())
}

#[test]
fn every_method_is_listed_and_can_be_asked_for() -> Outcome {
    let scratch = with_source(3 << 20)?;
    let list = cp(["--list-methods"]).succeed()?.text();
    let names: Vec<&str> = list.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names.first(), Some(&"reflink"));
    assert_eq!(names.last(), Some(&"read-write"));
    for name in names {
        let method = format!("--method={name}");
        let done = cp([&method, "--stats", "s", "t"]).in_dir(scratch.path()).run()?;
        let errors = done.errors();
        match done.code() {
            Some(0) => assert!(errors.contains(&format!("methods: {name} for 1")), "{errors}"),
            // Not every file system supports every method; the message then says so.
            _ => assert!(errors.contains(&format!("with {method}")), "{errors}"),
        }
    }
    let done = cp(["--method=telepathy", "s", "t"]).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(1));
    Ok(())
}

#[test]
fn a_method_that_does_not_fit_is_an_error_that_says_why() -> Outcome {
    let scratch = with_source(1 << 20)?;
    let words = ["--method=copy-range", "--reflink=never", "s", "t"];
    let done = cp(words).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(1));
    let text = "cp: cannot copy 's' to 't' with --method=copy-range: \
                --reflink=never; the kernel might share blocks\n";
    assert_eq!(done.errors(), text);
    assert!(!scratch.at("t").exists());
    Ok(())
}

#[test]
fn an_explanation_names_the_method_and_why_not_the_others() -> Outcome {
    let scratch = with_source(1 << 20)?;
    let words = ["--explain", "--reflink=never", "s", "t"];
    let text = cp(words).in_dir(scratch.path()).succeed()?.text();
    assert!(text.starts_with("'s' -> 't': splice, 1.0 MiB in "), "{text}");
    assert!(text.contains("\n  not reflink: --reflink=never\n"), "{text}");
    assert!(text.contains("\n  cached: source 1.0 MiB before, "), "{text}");
    let words = ["--explain", "--json", "--reflink=never", "s", "u"];
    let text = cp(words).in_dir(scratch.path()).succeed()?.text();
    let moved =
        text.lines().find(|line| line.contains("\"event\":\"transferred\"")).unwrap_or_default();
    let moved = super::support::schema::parsed("run", moved)?;
    assert_eq!(moved["method"], "splice");
    assert_eq!(moved["explanation"]["ranges"], 1);
    assert_eq!(moved["explanation"]["refused"][0]["method"], "reflink");
    assert_eq!(moved["explanation"]["cached_before"]["source"], 1 << 20);
    Ok(())
}

#[test]
fn a_rate_is_kept_by_all_workers_together() -> Outcome {
    let scratch = Scratch::new()?;
    for name in 0..8 {
        scratch.write(&format!("s/{name}"), vec![7; 128 << 10])?;
    }
    let started = Instant::now();
    let words = ["-r", "--bandwidth=4M", "--jobs=4", "s", "t"];
    cp(words).in_dir(scratch.path()).succeed()?;
    let time = started.elapsed();
    // One mebibyte at four a second; a busy machine may take longer.
    assert!(time >= Duration::from_millis(240), "{time:?}");
    Ok(())
}

/// A bar of accepted bytes would be full while the run waits for storage.
#[test]
fn programs_are_told_what_is_accepted_and_what_is_on_storage() -> Outcome {
    let scratch = with_source(6 << 20)?;
    let words = ["--bandwidth=2M", "--fsync", "--progress", "--json", "s", "t"];
    let text = cp(words).in_dir(scratch.path()).succeed()?.text();
    let mut lines = Vec::new();
    for line in text.lines().filter(|line| line.contains("\"event\":\"progress\"")) {
        lines.push(super::support::schema::parsed("run", line)?);
    }
    // It takes three seconds at that rate, and reports once a second from the first on.
    assert!(!lines.is_empty(), "{text}");
    for line in &lines {
        let bytes = |name: &str| line[name].as_u64().unwrap_or(u64::MAX);
        assert!(bytes("stored_bytes") <= bytes("accepted_bytes"), "{line}");
        assert!(bytes("accepted_bytes") <= 6 << 20, "{line}");
        assert_eq!(line["waits_for_storage"], true);
    }
    assert!(lines.iter().any(|line| line["accepted_bytes"].as_u64() > Some(0)), "{text}");
    Ok(())
}

#[test]
fn little_memory_is_enough() -> Outcome {
    let scratch = with_source((20 << 20) + 5)?;
    for cache in ["keep", "drop", "direct"] {
        let cache = format!("--cache={cache}");
        let words = ["--limit-memory=64K", "--io-size=8M", "--queue-depth=64", &cache, "s", "t"];
        let done = cp(words).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(0), "{}", done.errors());
        assert_eq!(std::fs::read(scratch.at("s"))?, std::fs::read(scratch.at("t"))?);
    }
    Ok(())
}

#[test]
fn sizes_that_make_no_sense_are_refused() -> Outcome {
    for words in [
        "--io-size=0",
        "--io-size=1",
        "--io-size=1T",
        "--io-size=x",
        "--queue-depth=0",
        "--bandwidth=0",
        "--cache=attic",
    ] {
        let done = cp([words, "s", "t"]).run()?;
        assert_eq!(done.code(), Some(1), "{words}");
        assert!(done.errors().contains("invalid"), "{words}: {}", done.errors());
    }
    Ok(())
}

/// The treatment of a new file depends on its own file system, not on the current directory's: on tmpfs
/// no space is reserved, on ext4 it is.
#[test]
fn a_new_name_is_judged_by_the_file_system_that_it_leads_to() -> Outcome {
    let volumes = volumes()?;
    let on = |name: &str| volumes.iter().find(|volume| volume.name == name).map(Scratch::on);
    let (Some(here), Some(there)) = (on("tmpfs"), on("ext4")) else { return Ok(()) };
    if !is_usable()? {
        return Ok(());
    }
    let (here, there) = (here?, there?);
    here.write("s", vec![7; 16 << 20])?;
    let strace = Strace::new(here.at("log")).trace("fallocate");
    let call = cp(["--jobs=1", "s"]).word(there.at("t"));
    strace.wrap(call.in_dir(here.path())).succeed()?;
    assert_eq!(strace.lines()?.len(), 1, "{}", strace.text()?);
    Ok(())
}
