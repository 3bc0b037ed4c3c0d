//! `haul spare`: the command is as it would be without haul. What it leaves of the page cache is counted in
//! `bystander`.

use std::path::Path;

use super::support::run::{Call, Done, haul};
use super::support::scratch::Scratch;
use super::support::{Outcome, ignored};

/// Runs a command in a group of its own; `None` where this process may make none.
fn spare(words: &[&str]) -> Outcome<Option<Done>> {
    let probe = Call::of(haul()).words(["spare", "true"]).run()?;
    if probe.code() == Some(125) {
        assert!(probe.errors().contains("cannot make a memory cgroup"), "{}", probe.errors());
        ignored("the right to make a memory cgroup")?;
        return Ok(None);
    }
    Ok(Some(Call::of(haul()).word("spare").words(words).input("in\n").run()?))
}

#[test]
fn the_status_and_the_streams_are_those_of_the_command() -> Outcome {
    let rows: [(&[&str], i32, &str); 6] = [
        (&["-q", "cat"], 0, "in\n"),
        (&["-q", "--", "sh", "-c", "exit 7"], 7, ""),
        (&["-q", "sh", "-c", "kill -KILL $$"], 128 + 9, ""),
        (&["-q", "/nonexistent"], 127, ""),
        (&["-q", "/"], 126, ""),
        (&["-q", "--memory=48M", "cat", "/dev/fd/0"], 0, "in\n"),
    ];
    for (words, code, text) in rows {
        let Some(done) = spare(words)? else { return Ok(()) };
        assert_eq!((done.code(), done.text().as_str()), (Some(code), text), "{words:?}");
    }
    Ok(())
}

#[test]
fn it_says_which_way_it_takes_and_removes_the_group() -> Outcome {
    let Some(done) = spare(&["--memory=48M", "cat"])? else { return Ok(()) };
    let errors = done.errors();
    assert!(errors.contains("at most 48.0 MiB of page cache, by the memory cgroup "), "{errors}");
    let path = errors.split('\'').nth(1).or_else(|| errors.trim().split(' ').next_back());
    assert!(!Path::new(path.unwrap_or_default()).exists(), "{errors}");
    Ok(())
}

#[test]
fn memory_of_the_command_is_not_bounded() -> Outcome {
    // A buffer of dd is its own memory.
    let words = ["-q", "--memory=16M", "dd", "if=/dev/zero", "of=/dev/null", "bs=200M", "count=1"];
    let Some(done) = spare(&words)? else { return Ok(()) };
    assert_eq!(done.code(), Some(0), "{}", done.errors());
    Ok(())
}

#[test]
fn without_the_right_to_make_a_group_nothing_is_run() -> Outcome {
    let scratch = Scratch::public()?;
    let made = scratch.at("made");
    let call = Call::of(haul()).words(["spare", "touch"]).word(&made);
    if !super::support::is_root()? {
        return Ok(());
    }
    let done = call.by_user().run()?;
    if done.code() == Some(0) {
        return ignored("a user without memory cgroups");
    }
    assert_eq!(done.code(), Some(125), "{}", done.errors());
    assert!(!made.exists());
    Ok(())
}

#[test]
fn a_command_line_without_a_command_is_refused() -> Outcome {
    for words in [&["spare"][..], &["spare", "--memory=0", "true"], &["spare", "--what", "true"]] {
        let done = Call::of(haul()).words(words).run()?;
        assert_eq!(done.code(), Some(125), "{words:?}");
    }
    Ok(())
}
