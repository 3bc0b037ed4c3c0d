//! `haul tar -r`: archives as GNU tar extends them, and archives that stay what they were.

use std::fs;

use super::support::run::Call;
use super::support::scratch::Scratch;
use super::support::strace::{Strace, is_usable};
use super::support::tar::{both, demand_same, gnu_tar, is_current, ours};
use super::support::{Outcome, has};

fn tree(scratch: &Scratch) -> Outcome {
    scratch.write("d/a", "a")?;
    scratch.write("d/b", vec![b'b'; 300_000])?;
    scratch.write("new/c", "c")?;
    scratch.write("new/large", vec![b'l'; 700_000])?;
    scratch.write(&format!("new/{}", "n".repeat(120)), "n")?;
    let words = [".", "-exec", "touch", "-hd", "@1000000000", "{}", ";"];
    Call::of("find").words(words).in_dir(scratch.path()).succeed()?;
    Ok(())
}

#[test]
fn extended_archives_are_those_of_gnu_tar() -> Outcome {
    if !has("tar")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    for made in ["", "--format=gnu", "--format=oldgnu", "--format=ustar", "-b1", "-b100", "cut"] {
        let reset = || -> Outcome {
            scratch.clear("a.tar")?;
            if !made.is_empty() {
                let option = if made == "cut" { "-b20" } else { made };
                let words = ["--sort=name", option, "-cf", "a.tar", "d"];
                gnu_tar().words(words).in_dir(scratch.path()).succeed()?;
            }
            if made == "cut" {
                // Without the blocks that end it.
                let bytes = fs::read(scratch.at("a.tar"))?;
                let end = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0) + 1;
                scratch.write("a.tar", &bytes[..end.next_multiple_of(512)])?;
            }
            Ok(())
        };
        for words in ["-rf a.tar new/c new/large", "-rvf a.tar --sort=name new", "-rf a.tar none"] {
            reset()?;
            let words: Vec<&str> = words.split(' ').collect();
            let gnu = gnu_tar().words(&words).in_dir(scratch.path()).run()?;
            let theirs = fs::read(scratch.at("a.tar"))?;
            reset()?;
            let haul = ours().words(&words).in_dir(scratch.path()).run()?;
            let found = fs::read(scratch.at("a.tar"))?;
            demand_same(&format!("{made} {words:?}"), &gnu, &haul);
            // Which record ends the archive depends on the records of the old one.
            let trimmed = |bytes: &[u8]| {
                let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
                bytes.get(..end).unwrap_or_default().to_vec()
            };
            // Versions before 1.35 fill other fields.
            let is_same = trimmed(&found) == trimmed(&theirs);
            assert!(is_same || !is_current()?, "{made} {words:?}");
            assert!(found.len().is_multiple_of(512), "{made} {words:?}");
            gnu_tar().words(["-tf", "a.tar"]).in_dir(scratch.path()).succeed()?;
        }
    }
    Ok(())
}

#[test]
fn an_archive_that_cannot_be_extended_stays_as_it_was() -> Outcome {
    if !has("tar")? || !has("gzip")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    let make = |words: &[&str]| gnu_tar().words(words).in_dir(scratch.path()).succeed();
    make(&["-cf", "plain.tar", "d"])?;
    make(&["-czf", "packed.tar", "d"])?;
    let plain = fs::read(scratch.at("plain.tar"))?;
    scratch.write("behind.tar", [&plain[..], b"more"].concat())?;
    scratch.write("torn.tar", &plain[..5000])?;
    scratch.write("noise.tar", vec![b'x'; 4096])?;
    for (name, message) in [
        ("packed.tar", "Cannot update compressed archives"),
        ("behind.tar", "there are data behind the end of the archive"),
        ("torn.tar", "Unexpected EOF in archive"),
        ("noise.tar", "This does not look like a tar archive"),
    ] {
        let before = fs::read(scratch.at(name))?;
        let done = ours().words(["-rf", name, "new"]).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(2), "{name}");
        assert!(done.errors().contains(message), "{name}: {}", done.errors());
        assert!(fs::read(scratch.at(name))? == before, "{name}");
    }
    let (gnu, haul) = both(&scratch, "-rzf plain.tar new", &|| Ok(()))?;
    demand_same("-z", &gnu, &haul);
    for words in [["-rf", "-", "new"], ["-rf", "/dev/null", "new"]] {
        let done = ours().words(words).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(2), "{words:?}");
    }
    Ok(())
}

/// A file may not become larger than a limit: the first new member fits, the second does not.
#[test]
fn an_archive_whose_file_cannot_grow_is_restored() -> Outcome {
    if !has("tar")? || !has("bash")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    let words = ["-cf", "a.tar", "d"];
    gnu_tar().words(words).in_dir(scratch.path()).succeed()?;
    let before = fs::read(scratch.at("a.tar"))?;
    let limited = Call::of("bash")
        .words(["-c", "trap '' XFSZ; ulimit -f 600; exec \"$@\"", "bash"])
        .word(super::support::run::haul())
        .words(["tar", "-rf", "a.tar", "new/c", "new/large"]);
    let done = limited.in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(2), "{}", done.errors());
    assert!(done.errors().contains("a.tar: Cannot write: File too large"), "{}", done.errors());
    assert!(fs::read(scratch.at("a.tar"))? == before);
    Ok(())
}

/// A reader that skips zeros reads to the end of the last record. New members were put there, where other readers
/// do not see them, and `--remove-files` removed the files.
#[test]
fn members_are_appended_before_the_zeros_that_other_readers_stop_at() -> Outcome {
    if !has("tar")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    let list = |call: Call| call.words(["-tf", "a.tar"]).in_dir(scratch.path()).succeed();
    for more in [&[][..], &["-W"], &["--remove-files"]] {
        scratch.write("keep", "k")?;
        gnu_tar().words(["-cf", "a.tar", "d/a"]).in_dir(scratch.path()).succeed()?;
        let words = ["-r", "-i", "-f", "a.tar", "keep"];
        ours().words(words).words(more).in_dir(scratch.path()).succeed()?;
        for call in [gnu_tar(), ours()] {
            assert_eq!(list(call)?.text(), "d/a\nkeep\n", "{more:?}");
        }
    }
    // Data that end in zeros are no end of an archive.
    scratch.write("zeros", vec![0; 4096])?;
    gnu_tar().words(["-cf", "a.tar", "zeros"]).in_dir(scratch.path()).succeed()?;
    ours().words(["-rif", "a.tar", "-W", "d/a"]).in_dir(scratch.path()).succeed()?;
    assert_eq!(list(gnu_tar())?.text(), "zeros\nd/a\n");
    ours().words(["-df", "a.tar"]).in_dir(scratch.path()).succeed()?;
    // Of two archives in one file, the second one is extended.
    gnu_tar().words(["-cf", "b.tar", "d/b"]).in_dir(scratch.path()).succeed()?;
    let both = [fs::read(scratch.at("a.tar"))?, fs::read(scratch.at("b.tar"))?].concat();
    scratch.write("a.tar", both)?;
    ours().words(["-rif", "a.tar", "-W", "new/c"]).in_dir(scratch.path()).succeed()?;
    assert_eq!(list(gnu_tar().word("-i"))?.text(), "zeros\nd/a\nd/b\nnew/c\n");
    Ok(())
}

/// What was written behind the end stayed, and every later run refused the archive because of it.
#[test]
fn an_archive_is_restored_if_a_signal_ends_the_run() -> Outcome {
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    ours().words(["-cf", "a.tar", "d"]).in_dir(scratch.path()).succeed()?;
    let before = fs::read(scratch.at("a.tar"))?;
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        // The first 256 KiB are written by then.
        let action = format!("--checkpoint-action=exec=kill -{name} $PPID");
        let words = ["-rf", "a.tar", "--checkpoint=50", &action, "--remove-files", "new"];
        let done = ours().words(words).in_dir(scratch.path()).run()?;
        assert_eq!(done.signal(), Some(number), "{done:?}");
        assert!(fs::read(scratch.at("a.tar"))? == before, "{name}");
        assert!(scratch.at("new/large").exists(), "{name}");
    }
    ours().words(["-rf", "a.tar", "new"]).in_dir(scratch.path()).succeed()?;
    ours().words(["-df", "a.tar"]).in_dir(scratch.path()).succeed()?;
    Ok(())
}

/// What was written stays behind the old end if the process is killed; the archive is what it was.
#[test]
fn a_run_that_was_killed_says_how_to_go_on() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    tree(&scratch)?;
    ours().words(["-cf", "a.tar", "d"]).in_dir(scratch.path()).succeed()?;
    let names = || ours().words(["-tf", "a.tar"]).in_dir(scratch.path()).succeed();
    let before = names()?.text();
    let append = || ours().words(["-rf", "a.tar", "--jobs=1", "new"]).in_dir(scratch.path());
    let strace =
        Strace::new(scratch.at("log")).trace("pwrite64").inject("pwrite64:signal=KILL:when=3");
    assert!(strace.wrap(append()).run()?.signal().is_some(), "it was not killed");
    assert_eq!(names()?.text(), before);
    let refused = append().run()?;
    assert_eq!(refused.code(), Some(2));
    let text = refused.errors();
    let bytes = text.split("'truncate -s ").nth(1).and_then(|rest| rest.split('\'').next());
    let bytes: u64 = bytes.ok_or_else(|| format!("no way is told: {text}"))?.parse()?;
    fs::File::options().write(true).open(scratch.at("a.tar"))?.set_len(bytes)?;
    assert_eq!(names()?.text(), before);
    append().succeed()?;
    let same = ours().words(["-df", "a.tar"]).in_dir(scratch.path()).succeed()?;
    assert_eq!((same.text(), names()?.text().lines().count()), (String::new(), 7));
    Ok(())
}
