//! `haul tar -x` behind landlock: the kernel refuses writes outside the target directories, and all that
//! is asked for still works.

use std::fs;

use super::support::fence;
use super::support::run::Call;
use super::support::scratch::Scratch;
use super::support::strace::{Strace, is_usable};
use super::support::tar::{contents, ours};
use super::support::{Outcome, ignored};

/// A tree with links between directories, and an archive of it.
fn archive(scratch: &Scratch) -> Outcome {
    scratch.write("s/d/a", "a")?;
    scratch.write("s/e/large", vec![b'l'; 2 << 20])?;
    fs::hard_link(scratch.at("s/d/a"), scratch.at("s/e/h"))?;
    std::os::unix::fs::symlink("../../x", scratch.at("s/d/out"))?;
    ours().words(["-C", "s", "-cf", "a.tar", "d", "e"]).in_dir(scratch.path()).succeed()?;
    for name in ["one", "two"] {
        fs::create_dir(scratch.at(name))?;
    }
    Ok(())
}

/// Returns the number of calls that raise the fence and succeed, if they come before the first call that
/// writes.
fn fences(scratch: &Scratch, words: &[&str]) -> Outcome<usize> {
    let strace = Strace::new(scratch.at("log"));
    let done = strace.wrap(ours().words(words).in_dir(scratch.path())).run()?;
    assert_eq!(done.code(), Some(0), "{words:?}: {}", done.errors());
    let lines = strace.lines()?;
    let is_fence = |text: &str| text.starts_with("landlock_restrict_self") && text.ends_with("= 0");
    let writes = |text: &str| {
        text.contains("O_CREAT")
            || ["mkdirat", "linkat", "symlinkat", "unlinkat"]
                .iter()
                .any(|call| text.starts_with(call))
    };
    let first = lines.iter().position(|line| writes(&line.text)).unwrap_or(lines.len());
    let raised = lines.iter().take(first).filter(|line| is_fence(&line.text)).count();
    assert!(lines.iter().skip(first).all(|line| !is_fence(&line.text)), "{words:?}");
    Ok(raised)
}

#[test]
fn the_fence_is_raised_before_anything_is_made() -> Outcome {
    if !fence::is_possible() {
        return ignored("a kernel with landlock, version 3");
    }
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    archive(&scratch)?;
    for (words, expected) in [
        (&["-xf", "a.tar", "-C", "one"][..], 1),
        (&["-xf", "a.tar", "-C", "one", "d", "-C", "../two", "e/large"], 1),
        (&["-xOf", "a.tar", "d/a"], 1),
        // Names may lead anywhere.
        (&["-xPf", "a.tar", "-C", "one"], 0),
        (&["-tf", "a.tar"], 0),
        (&["-cf", "b.tar", "s"], 0),
    ] {
        for name in ["one/d", "one/e", "two/e", "two/d"] {
            scratch.clear(name)?;
        }
        assert_eq!(fences(&scratch, words)?, expected, "{words:?}");
    }
    Ok(())
}

#[test]
fn several_directories_are_open_to_writing() -> Outcome {
    let scratch = Scratch::new()?;
    archive(&scratch)?;
    let words = ["-xf", "a.tar", "-C", "one", "d", "e/h", "-C", "../two", "e/large"];
    ours().words(words).in_dir(scratch.path()).succeed()?;
    assert_eq!(fs::read(scratch.at("one/e/h"))?, b"a");
    assert_eq!(fs::read(scratch.at("two/e/large"))?.len(), 2 << 20);
    // A directory that an earlier member makes: it is in the target, too.
    let words = ["-xf", "a.tar", "-C", "two", "d", "-C", "d", "e/large"];
    ours().words(words).in_dir(scratch.path()).succeed()?;
    assert!(scratch.at("two/d/e/large").exists());
    Ok(())
}

/// A program of `-I` is not behind the fence: it may write where it likes.
#[test]
fn programs_that_decompress_are_not_restricted() -> Outcome {
    let scratch = Scratch::new()?;
    archive(&scratch)?;
    scratch.script("cat2", "#!/bin/sh\ncat\necho done >\"$HAUL_TEST_LOG\"\n")?;
    let log = scratch.at("cat.log");
    let call = ours().words(["-I", "../cat2", "-xf", "../a.tar"]).in_dir(scratch.at("one"));
    call.env("HAUL_TEST_LOG", &log.to_string_lossy()).succeed()?;
    assert_eq!(fs::read(log)?, b"done\n");
    assert!(scratch.at("one/e/large").exists());
    Ok(())
}

/// Where the kernel has no landlock, or a filter of calls refuses it, extraction is the same.
#[test]
fn without_landlock_extraction_is_the_same() -> Outcome {
    let scratch = Scratch::new()?;
    archive(&scratch)?;
    ours().words(["-xf", "a.tar", "-C", "one"]).in_dir(scratch.path()).succeed()?;
    let calls = [
        libc::SYS_landlock_create_ruleset,
        libc::SYS_landlock_add_rule,
        libc::SYS_landlock_restrict_self,
    ];
    let at = |name: &str| -> Outcome<_> {
        let found = contents(&scratch, name)?.into_iter();
        Ok(found.map(|(key, bytes)| (key.replace(name, ""), bytes)).collect::<Vec<_>>())
    };
    for (index, errno) in
        [(0, libc::ENOSYS), (1, libc::EPERM), (2, libc::E2BIG), (0, libc::EOPNOTSUPP)]
    {
        scratch.clear("two")?;
        fs::create_dir(scratch.at("two"))?;
        let call: Call = ours().words(["-xf", "a.tar", "-C", "two"]).in_dir(scratch.path());
        let done = call.behind_filter(&[calls[index]], errno).succeed()?;
        assert_eq!(done.errors(), "", "{errno}");
        assert_eq!(at("one")?, at("two")?);
    }
    Ok(())
}
