//! File systems that say that they are full although they are not: space is only reserved until data is
//! written back. One thread hardly ever sees that, so several workers must not fail because of it.

use std::fs;
use std::path::Path;

use haul_manifest::{Aspect, Aspects, remove_tree};

use super::support::judge::demand_equal;
use super::support::run::{Call, Done, haul};
use super::support::scratch::Scratch;
use super::support::strace::{Strace, is_usable};
use super::support::{Outcome, entries, ignored};

/// Commands that make a tree `t`, from a tree `s` or an archive of it.
const COMMANDS: [&[&str]; 7] = [
    &["cp", "-aT", "--jobs=1", "s", "t"],
    &["cp", "-aT", "--atomic", "--jobs=1", "s", "t"],
    &["cp", "-aT", "--durable", "--jobs=1", "s", "t"],
    &["cp", "-aT", "--resume", "--jobs=1", "s", "t"],
    &["cp", "-aT", "--cache=direct", "--jobs=1", "s", "t"],
    &["tar", "-xpf", "s.tar"],
    &["tar", "-xpf", "s.tar", "--atomic"],
];

/// Calls that take space, and the directory that they are about where the same calls on others do not.
const CALLS: [(&str, Option<&str>); 8] = [
    ("openat", Some("t/d0")),
    ("mkdirat", None),
    ("symlinkat", None),
    ("mknodat", None),
    ("linkat", None),
    ("sendfile", None),
    ("splice", Some("t/large")),
    ("pwrite64", None),
];

fn furnish(scratch: &Scratch) -> Outcome {
    for number in 0..20 {
        scratch.write(&format!("s/d{}/{number}", number % 3), number.to_string().repeat(200))?;
    }
    scratch.write("s/large", vec![b'x'; 5 << 20])?;
    let script = "cd s && mkfifo fifo fifo2 && ln -s large link && ln -s x link2;
        ln d0/0 twin; cd ..; cp -a s t; tar -cf s.tar t; rm -r t";
    Call::of("sh").words(["-c", script]).in_dir(scratch.path()).succeed()?;
    Ok(())
}

/// Runs a command with a fault. Verifies the tree if it reports success, and that nothing hidden is left.
/// Returns `None` if no call failed.
fn run(
    scratch: &Scratch,
    command: &[&str],
    (calls, directory): (&str, Option<&str>),
    fault: &str,
) -> Outcome<Option<Done>> {
    for entry in entries(scratch.path())? {
        // A run that failed may have left its journal.
        if !matches!(entry.file_name().as_encoded_bytes(), b"s" | b"s.tar") {
            remove_tree(&entry.path()).map_err(|failure| failure.to_string())?;
        }
    }
    let mut strace = Strace::new(scratch.at("log")).trace(&format!("{calls},syncfs"));
    if let Some(directory) = directory {
        strace = strace.of_file(&scratch.at(directory).display().to_string());
    }
    let strace = strace.inject(&format!("{calls}:error={fault}"));
    let call = Call::of(haul()).words(command).in_dir(scratch.path());
    let done = strace.wrap(call).run()?;
    if done.code() == Some(0) {
        // tar keeps whole seconds.
        let aspects = Aspects::preserved();
        let aspects = if command[0] == "tar" { aspects.without(Aspect::Mtime) } else { aspects };
        let context = format!("{calls} {fault} {command:?}");
        demand_equal(&scratch.at("s"), &scratch.at("t"), aspects, &context);
        demand_no_hidden(&scratch.at("t"), &context)?;
    }
    if !command.contains(&"--durable") && !command.contains(&"--resume") {
        // Three at first and one for 64 calls that succeed, of each of the shares of a run.
        let flushes = strace.text()?.matches("syncfs(").count();
        assert!(flushes <= 6, "{calls} {fault} {command:?}: {flushes} flushes");
    }
    Ok(strace.has_injected()?.then_some(done))
}

fn demand_no_hidden(directory: &Path, context: &str) -> Outcome {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_ours = name.as_encoded_bytes().starts_with(b".haul-");
        assert!(!is_ours, "{context}: {}", name.display());
        if entry.file_type()?.is_dir() {
            demand_no_hidden(&entry.path(), context)?;
        }
    }
    Ok(())
}

/// Runs every command with each fault in each kind of call, and checks those of which a call failed.
fn each(faults: &[&str], check: impl Fn(&Done, &str)) -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    for (calls, directory) in CALLS {
        let mut fired = 0;
        for command in COMMANDS {
            for fault in faults {
                let Some(done) = run(&scratch, command, (calls, directory), fault)? else {
                    continue;
                };
                check(&done, &format!("{calls} {fault} {command:?}"));
                fired += 1;
            }
        }
        assert!(fired > 0, "{calls}: nothing failed");
    }
    Ok(())
}

#[test]
fn space_that_is_only_reserved_fails_nothing() -> Outcome {
    each(&["ENOSPC:when=1", "EDQUOT:when=1", "ENOSPC:when=2"], |done, context| {
        assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""), "{context}");
    })
}

#[test]
fn a_file_system_that_is_full_is_told() -> Outcome {
    each(&["ENOSPC:when=1+"], |done, context| {
        let is_told = done.errors().contains("No space left on device");
        assert!(done.code() != Some(0) && is_told, "{context}: {done:?}");
    })
}

/// Nothing is made again on a file system that is not known, as that of `/dev/pts`.
#[test]
fn the_directory_of_a_path_is_flushed_and_not_the_working_directory() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    if !Path::new("/dev/pts").is_dir() {
        return ignored("/dev/pts");
    }
    let scratch = Scratch::new()?;
    scratch.write("s/file", "x")?;
    let strace = Strace::new(scratch.at("log")).trace("mkdirat,syncfs");
    let strace = strace.inject("mkdirat:error=ENOSPC:when=1");
    let cp = Call::of(haul()).words(["cp", "-rT", "--jobs=1"]);
    let call = cp.word(scratch.at("s")).word(scratch.at("t")).in_dir("/dev/pts");
    strace.wrap(call).succeed()?;
    assert!(strace.has_injected()? && scratch.at("t/file").exists());
    assert_eq!(strace.text()?.matches("syncfs(").count(), 1);
    Ok(())
}
