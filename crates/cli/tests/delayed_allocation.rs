//! Files whose bytes the file system has taken and then loses, without an error to any flush: ext4 that finds
//! no blocks for a delayed allocation.
//!
//! A command that waits for storage reports each such file, gives it no name if it still has none, and keeps
//! its source.

use std::fs;
use std::path::Path;

use rustix::fs::syncfs;

use super::support::run::{Call, Done, haul};
use super::support::scratch::Scratch;
use super::support::shell::noise;
use super::support::unallocatable::Unallocatable;
use super::support::{Outcome, entries, if_there, stepper};

/// Number of bytes of a file: more than are free.
const FILE_BYTES: usize = 200_000;

/// What a command promises of a file that is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Promise {
    /// It is reported.
    Told,
    /// It gets no name.
    Nameless,
    /// The same, and its source stays.
    Moved,
}

use Promise::{Moved, Nameless, Told};

/// A command in a folder with `s`, the source, and `far`, the file system; its words behind `haul`.
struct Way {
    words: &'static [&'static str],
    /// Where the files have to be.
    target: &'static str,
    promise: Promise,
}

const fn way(words: &'static [&'static str], target: &'static str, promise: Promise) -> Way {
    Way { words, target, promise }
}

/// Commands that wait for storage. `S` is replaced by the names of all files of the source.
const WAYS: [Way; 15] = [
    way(&["cp", "-aT", "--durable", "s", "far/t"], "far/t", Nameless),
    way(&["cp", "-aT", "--durable", "--jobs=4", "s", "far/t"], "far/t", Nameless),
    way(&["cp", "-aT", "--resume", "s", "far/t"], "far/t", Nameless),
    way(&["cp", "-aT", "--fsync", "s", "far/t"], "far/t", Told),
    way(&["cp", "-aT", "--durable", "--verify", "s", "far/t"], "far/t", Nameless),
    way(&["cp", "--durable", "s/f1", "far/t"], "far/t", Nameless),
    way(&["mv", "S", "far/t"], "far/t", Moved),
    way(&["mv", "s", "far/t"], "far/t/s", Moved),
    way(&["mv", "s/f1", "far/t"], "far/t", Moved),
    way(&["tar", "-xf", "s.tar", "--durable", "-C", "far/t"], "far/t/s", Nameless),
    way(&["write", "--atomic", "--fsync", "far/t/f1"], "far/t", Nameless),
    way(&["tar", "--remove-files", "-cf", "far/t/a", "s"], "far/t", Moved),
    way(&["tar", "--remove-files", "-czf", "far/t/a", "s"], "far/t", Moved),
    way(&["tar", "--remove-files", "-I", "gzip", "-cf", "far/t/a", "s"], "far/t", Moved),
    way(&["write", "--fsync", "far/t/f1"], "far/t", Told),
];

/// Makes the source: some files, an archive of them, and a model that no command touches.
fn furnish(scratch: &Scratch, files: usize) -> Outcome {
    for name in ["s", "model"] {
        fs::create_dir(scratch.at(name))?;
        for number in 1..=files {
            let bytes = noise(FILE_BYTES + number).split_off(number);
            fs::write(scratch.at(name).join(format!("f{number}")), bytes)?;
        }
    }
    Call::of("tar").words(["-cf", "s.tar", "s"]).in_dir(scratch.path()).succeed()?;
    Ok(())
}

fn call(scratch: &Scratch, way: &Way) -> Outcome<Call> {
    let mut call = Call::of(haul());
    for word in way.words {
        if *word == "S" {
            call = call.words(entries(&scratch.at("s"))?.iter().map(fs::DirEntry::path));
        } else {
            call = call.word(word);
        }
    }
    Ok(call.input(fs::read(scratch.at("model/f1"))?).in_dir(scratch.path()))
}

/// Returns what is wrong after a command.
fn objection(scratch: &Scratch, way: &Way, done: &Done) -> Outcome<Option<String>> {
    let mut wrong = Vec::new();
    for entry in entries(&scratch.at("model"))? {
        let whole = fs::read(entry.path())?;
        let is = |path: &Path| -> Outcome<(bool, bool)> {
            let found = if_there(fs::read(path))?;
            Ok((found.is_some(), found.as_ref() == Some(&whole)))
        };
        let (is_named, is_right) = is(&scratch.at(way.target).join(entry.file_name()))?;
        let (_, stays) = is(&scratch.at("s").join(entry.file_name()))?;
        let breaks = match way.promise {
            Told => false,
            Nameless => is_named && !is_right,
            Moved => !is_right && (is_named || !stays),
        };
        if breaks {
            wrong.push(entry.file_name());
        }
    }
    let is_told = matches!(done.code(), Some(1 | 2)) && !done.errors().is_empty();
    let is_fine = wrong.is_empty() && is_told;
    Ok((!is_fine).then(|| format!("{:?}: wrong {wrong:?}, {done:?}", way.words)))
}

/// Lets what a command writes be lost before its own flush, which finds nothing to write then, and no error.
fn lost_before_flush(volume: &Unallocatable, call: &Call) -> Outcome<Done> {
    let mount = fs::File::open(&volume.mount)?;
    let stepped = stepper::run(call, &[], &mut |stop| {
        if WRITING.map(|number| number as u64).contains(&stop.call) {
            syncfs(&mount)?;
        }
        Ok(())
    })?;
    Ok(stepped.done)
}

/// Runs each command on a new file system, and collects what is wrong.
fn judge(
    files: usize,
    ways: &[Way],
    run: &dyn Fn(&Unallocatable, &Call) -> Outcome<Done>,
) -> Outcome {
    let Some(mut volume) = Unallocatable::new()? else { return Ok(()) };
    let mut wrong = Vec::new();
    for way in ways {
        let scratch = Scratch::new()?;
        furnish(&scratch, files)?;
        volume.renew()?;
        std::os::unix::fs::symlink(&volume.mount, scratch.at("far"))?;
        let done = run(&volume, &call(&scratch, way)?)?;
        volume.reveal()?;
        wrong.extend(objection(&scratch, way, &done)?);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn files_that_find_no_blocks_are_told_and_get_no_names() -> Outcome {
    judge(6, &WAYS, &|_, call| call.run())
}

/// Calls that give bytes to a file.
const WRITING: [i64; 6] = [
    libc::SYS_write,
    libc::SYS_pwrite64,
    libc::SYS_pwritev2,
    libc::SYS_sendfile,
    libc::SYS_splice,
    libc::SYS_copy_file_range,
];

#[test]
fn files_that_were_lost_before_they_are_flushed_are_told_and_get_no_names() -> Outcome {
    if !stepper::is_usable()? {
        return Ok(());
    }
    judge(1, &WAYS, &lost_before_flush)
}

/// gzip writes beside its input, which is a link here: that needs no block.
#[test]
fn gzip_that_waits_for_storage_keeps_the_input_of_an_output_that_is_lost() -> Outcome {
    if !stepper::is_usable()? {
        return Ok(());
    }
    let Some(mut volume) = Unallocatable::new()? else { return Ok(()) };
    for option in ["--synchronous", "--durable"] {
        for is_lost_before in [false, true] {
            let scratch = Scratch::new()?;
            furnish(&scratch, 1)?;
            volume.renew()?;
            let (link, model) = (volume.mount.join("t/f1"), scratch.at("model/f1"));
            std::os::unix::fs::symlink(scratch.at("s/f1"), &link)?;
            let call = Call::of(haul()).words(["gzip", "-f", option]).word(&link);
            let done = if is_lost_before { lost_before_flush(&volume, &call) } else { call.run() }?;
            volume.reveal()?;
            let context = format!("{option}, before: {is_lost_before}: {done:?}");
            assert_eq!(done.code(), Some(1), "{context}");
            assert!(done.errors().contains("f1.gz: "), "{context}");
            assert_eq!(fs::read(&link)?, fs::read(model)?, "{context}");
            assert_eq!(entries(&volume.mount.join("t"))?.len(), 1, "{context}");
        }
    }
    Ok(())
}
