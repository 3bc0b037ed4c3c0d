//! A file that becomes shorter while it is read: the command outputs the bytes that exist, no others, and
//! reports the change.

use std::fs;
use std::os::unix::fs::FileExt as _;

use super::support::Outcome;
use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::shell::noise;
use super::support::strace::{Point, Strace, is_usable, stopped_at};

const MIB: usize = 1 << 20;

/// Returns the point after the `nth` of these calls that follow the opening of the file `a`.
fn nth_call(call: &Call, scratch: &Scratch, name: &str, nth: usize) -> Outcome<Point> {
    let strace = Strace::new(scratch.at("log")).trace(&format!("openat,{name}"));
    strace.wrap(call.clone()).run()?;
    let lines = strace.lines()?;
    let begin = lines.iter().position(|line| line.name == "openat" && line.text.contains("\"a\""));
    let begin = begin.ok_or("the file was not opened")?;
    let before = lines.iter().take(begin).filter(|line| line.name == name).count();
    let behind = lines.iter().skip(begin).filter(|line| line.name == name).count();
    assert!(behind > nth, "{name}: {behind} calls");
    Ok(Point { name: name.to_owned(), occurrence: before + nth })
}

#[test]
fn read_tells_of_a_file_that_became_shorter() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let bytes = noise(12 * MIB);
    // Through a pipe without a copy, through a buffer, and past the page cache.
    let ways: [(&[&str], &str); 3] = [
        (&["read", "--cache=keep", "a"], "splice"),
        (&["read", "--cache=keep", "--sum=blake3", "--io-size=1M", "a"], "pread64"),
        (&["read", "--cache=keep", "--length=11M", "--offset=1M", "a"], "splice"),
    ];
    for (words, name) in ways {
        scratch.write("a", &bytes)?;
        let call = Call::of(haul()).words(words).in_dir(scratch.path());
        let point = nth_call(&call, &scratch, name, 1)?;
        let cut =
            || Ok(fs::File::options().write(true).open(scratch.at("a"))?.set_len(5_000_001)?);
        let done = stopped_at(&scratch.at("log"), &call, &point, cut)?.ok_or("no such call")?;
        assert_eq!(done.code(), Some(1), "{words:?}: {}", done.errors());
        assert!(
            done.errors().contains("a: the file became shorter"),
            "{words:?} {}",
            done.errors()
        );
        let begin = if words.contains(&"--offset=1M") { MIB } else { 0 };
        assert!(done.stdout == bytes[begin..5_000_001], "{words:?}: other bytes");
    }
    Ok(())
}

#[test]
fn there_is_no_hole_behind_the_end_of_a_file_that_became_shorter() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let bytes = noise(MIB);
    let file = fs::File::create(scratch.at("a"))?;
    file.set_len(64 * MIB as u64)?;
    file.write_all_at(&bytes, 0)?;
    let words = ["read", "--cache=keep", "--sum=blake3", "--io-size=256K", "a"];
    let call = Call::of(haul()).words(words).in_dir(scratch.path());
    let point = nth_call(&call, &scratch, "pread64", 1)?;
    let cut = || Ok(file.set_len(2 * MIB as u64)?);
    let done = stopped_at(&scratch.at("log"), &call, &point, cut)?.ok_or("no such call")?;
    assert_eq!(done.code(), Some(1), "{}", done.errors());
    assert!(done.errors().contains("a: the file became shorter"), "{}", done.errors());
    assert_eq!(done.stdout.len(), 2 * MIB);
    assert!(done.stdout.starts_with(&bytes), "other bytes");
    Ok(())
}

#[test]
fn split_tells_of_a_file_that_became_shorter() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let bytes = noise(4 * MIB);
    for words in [["split", "-n4", "a"], ["split", "-nl/4", "a"]] {
        scratch.write("a", &bytes)?;
        let call = Call::of(haul()).words(words).in_dir(scratch.path());
        let point = nth_call(&call, &scratch, "sendfile", 1)?;
        let cut =
            || Ok(fs::File::options().write(true).open(scratch.at("a"))?.set_len(MIB as u64)?);
        let done = stopped_at(&scratch.at("log"), &call, &point, cut)?.ok_or("no such call")?;
        assert_eq!(done.code(), Some(1), "{words:?}: {}", done.errors());
        assert!(
            done.errors().contains("a: the file became shorter"),
            "{words:?} {}",
            done.errors()
        );
    }
    Ok(())
}
