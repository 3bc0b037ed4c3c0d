//! `-u` after a run that was killed: what is unfinished is copied again, whichever command has left it.
//!
//! Each command of the table is killed at each of its calls that changes a file; then `cp -ru` has to make the
//! target equal to the source.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::SystemTime;

use haul_manifest::Aspects;

use super::support::judge::demand_equal;
use super::support::run::{Call, cp, haul};
use super::support::scratch::Scratch;
use super::support::shell::noise;
use super::support::strace::{CHANGING, Strace, is_usable};
use super::support::{Outcome, entries};

const MIB: usize = 1 << 20;

/// The target before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// A directory without entries.
    Empty,
    /// Older files with other bytes, some of them longer than the source's.
    Older,
}

/// A command that writes what `s` has into `t`.
#[derive(Clone, Copy, Debug)]
struct Writer {
    words: &'static [&'static str],
    /// The file of `s` that it gets as standard input.
    input: Option<&'static str>,
    before: Before,
}

const NEW: Writer = Writer { words: &[], input: None, before: Before::Empty };
const OVER: Writer = Writer { before: Before::Older, ..NEW };

const WRITERS: &[Writer] = &[
    Writer { words: &["cp", "-rT", "--jobs=1", "s", "t"], ..NEW },
    Writer { words: &["cp", "-rT", "--jobs=2", "s", "t"], ..NEW },
    Writer { words: &["cp", "-aT", "--jobs=1", "s", "t"], ..NEW },
    Writer { words: &["cp", "-rT", "--cache=direct", "s", "t"], ..NEW },
    Writer { words: &["cp", "-rT", "--atomic", "s", "t"], ..NEW },
    Writer { words: &["cp", "-rT", "--method=read-write", "s", "t"], ..NEW },
    Writer { words: &["cp", "-rT", "--sparse=always", "s", "t"], ..NEW },
    Writer { words: &["cp", "-rT", "--jobs=1", "s", "t"], ..OVER },
    Writer { words: &["cp", "-ruT", "--jobs=2", "s", "t"], ..OVER },
    Writer { words: &["cp", "-aT", "--remove-destination", "s", "t"], ..OVER },
    Writer { words: &["dd", "if=s/large", "of=t/large", "bs=1M", "status=none"], ..NEW },
    Writer {
        words: &["dd", "if=s/holes", "of=t/holes", "bs=512k", "conv=sparse", "status=none"],
        ..OVER
    },
    Writer { words: &["write", "t/large"], input: Some("large"), ..OVER },
    Writer { words: &["tee", "t/large", "t/second"], input: Some("large"), ..OVER },
    Writer { words: &["split", "-b", "1M", "s/large", "t/large."], ..NEW },
    Writer { words: &["tar", "-x", "-f", "s.tar", "--strip-components=1", "-C", "t"], ..NEW },
    Writer { words: &["tar", "-xm", "-f", "s.tar", "--strip-components=1", "-C", "t"], ..OVER },
    Writer { words: &["gzip", "-dN", "t/large.gz"], ..NEW },
];

/// Returns whether a call opens a file and changes none.
fn is_plain_open(text: &str) -> bool {
    text.starts_with("openat(")
        && !["O_CREAT", "O_TRUNC", "O_TMPFILE"].iter().any(|how| text.contains(how))
}

/// Makes files that commands write with one call, with several, and with holes.
fn furnish(scratch: &Scratch) -> Outcome {
    scratch.write("s/small", "small")?;
    scratch.write("s/d/inner", "inner".repeat(500))?;
    let bytes = noise(3 * MIB);
    scratch.write("s/large", &bytes)?;
    // What `tee` and `split` make.
    scratch.write("s/second", &bytes)?;
    for (piece, end) in bytes.chunks(MIB).zip(["aa", "ab", "ac"]) {
        scratch.write(&format!("s/large.{end}"), piece)?;
    }
    let holes = fs::File::create(scratch.at("s/holes"))?;
    holes.set_len(4 * MIB as u64)?;
    holes.write_all_at(&bytes[..MIB], 2 * MIB as u64)?;
    holes.write_all_at(b"end", 4 * MIB as u64 - 3)?;
    for words in [&["tar", "-cf", "s.tar", "s"][..], &["gzip", "-k1", "s/large"]] {
        Call::of(haul()).words(words).in_dir(scratch.path()).succeed()?;
    }
    Ok(())
}

/// Makes an older file with other bytes for each file of the source.
fn make_older(source: &Path, target: &Path) -> Outcome {
    fs::create_dir_all(target)?;
    for entry in entries(source)? {
        let twin = target.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            make_older(&entry.path(), &twin)?;
            continue;
        }
        let length = usize::try_from(entry.metadata()?.len())?;
        let is_longer = entry.file_name().len() % 2 == 0;
        fs::write(&twin, vec![b'.'; if is_longer { length + MIB } else { length / 2 + 1 }])?;
        fs::File::options().write(true).open(&twin)?.set_modified(SystemTime::UNIX_EPOCH)?;
    }
    Ok(())
}

fn prepare(scratch: &Scratch, writer: &Writer) -> Outcome {
    scratch.clear("t")?;
    fs::create_dir(scratch.at("t"))?;
    if writer.before == Before::Older {
        make_older(&scratch.at("s"), &scratch.at("t"))?;
    }
    // The command reads it from where its output is made.
    fs::copy(scratch.at("s/large.gz"), scratch.at("t/large.gz"))?;
    Ok(())
}

/// Returns whether a file that the run has written has not all its bytes.
fn has_unfinished(source: &Path, target: &Path) -> Outcome<bool> {
    for entry in entries(target)? {
        let twin = source.join(entry.file_name());
        if !twin.exists() {
            continue;
        }
        let metadata = entry.metadata()?;
        let is_short = if metadata.is_dir() {
            has_unfinished(&twin, &entry.path())?
        } else {
            metadata.modified()? != SystemTime::UNIX_EPOCH
                && metadata.len() < fs::metadata(twin)?.len()
        };
        if is_short {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Kills a command at each call that may change a file, and completes its work. Returns how often it had left an
/// unfinished file under its name.
fn kill_and_update(scratch: &Scratch, writer: &Writer) -> Outcome<usize> {
    let mut call = Call::of(haul()).words(writer.words).in_dir(scratch.path());
    if let Some(input) = writer.input {
        call = call.input(fs::read(scratch.at("s").join(input))?);
    }
    prepare(scratch, writer)?;
    let strace = Strace::new(scratch.at("log"));
    strace.wrap(call.clone()).succeed()?;
    let mut unfinished = 0;
    let mut counts = std::collections::HashMap::new();
    for line in strace.lines()? {
        let when = counts.entry(line.name.clone()).or_insert(0);
        *when += 1;
        if !CHANGING.contains(&&*line.name) || is_plain_open(&line.text) {
            continue;
        }
        prepare(scratch, writer)?;
        let what = format!("{}:signal=KILL:when={when}", line.name);
        Strace::new(scratch.at("log")).trace(&line.name).inject(&what).wrap(call.clone()).run()?;
        unfinished += usize::from(has_unfinished(&scratch.at("s"), &scratch.at("t"))?);
        let context = format!("{:?} killed at {} {when}", writer.words, line.name);
        cp(["-ruT", "s", "t"]).in_dir(scratch.path()).succeed()?;
        for entry in entries(&scratch.at("t"))? {
            // What `clean` removes.
            if entry.file_name().as_encoded_bytes().starts_with(b".haul-") {
                fs::remove_file(entry.path())?;
            }
        }
        demand_equal(&scratch.at("s"), &scratch.at("t"), Aspects::contents_only(), &context);
    }
    Ok(unfinished)
}

#[test]
fn an_update_completes_what_a_killed_cp_has_left() -> Outcome {
    complete(|writer| writer.words[0] == "cp")
}

#[test]
fn an_update_completes_what_any_other_killed_command_has_left() -> Outcome {
    complete(|writer| writer.words[0] != "cp")
}

fn complete(is_meant: fn(&Writer) -> bool) -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    furnish(&scratch)?;
    let mut all = 0;
    for writer in WRITERS.iter().filter(|writer| is_meant(writer)) {
        let unfinished = kill_and_update(&scratch, writer)?;
        let is_published = ["--atomic", "gzip"].iter().any(|word| writer.words.contains(word));
        assert!(unfinished == 0 || !is_published, "{:?}: {unfinished}", writer.words);
        all += unfinished;
    }
    assert!(all > 10, "only {all} files were unfinished");
    Ok(())
}

/// A newer file that has bytes of its own, or is as long as the source, stays.
#[test]
fn an_update_replaces_a_newer_file_only_if_nothing_is_lost() -> Outcome {
    let scratch = Scratch::new()?;
    for (target, expected) in [
        ("one TWO", "one TWO"),
        ("one\0TWO", "one\0TWO"),
        ("ONE two threE", "ONE two threE"),
        ("one\0two three", "one\0two three"),
        ("one two three and more", "one two three and more"),
        ("one two", "one two three"),
        ("", "one two three"),
        ("\0\0\0\0", "one two three"),
        ("one\0two", "one two three"),
        ("one two three\0\0\0", "one two three"),
    ] {
        for words in [
            &["cp", "-ruT", "s", "t"][..],
            &["cp", "--update=older", "-T", "s/f", "t/f"],
            &["cp", "-ru", "--preserve=all", "-T", "s", "t"],
            &["mv", "-uT", "s/f", "t/f"],
        ] {
            scratch.write("s/f", "one two three")?;
            scratch.write("t/f", target)?;
            let foreseen = words[0] == "cp" && {
                let call = Call::of(haul()).words(words).word("--dry-run").in_dir(scratch.path());
                call.succeed()?.text().contains("would overwrite")
            };
            Call::of(haul()).words(words).in_dir(scratch.path()).succeed()?;
            let context = format!("{words:?} {target:?}");
            assert_eq!(fs::read_to_string(scratch.at("t/f"))?, expected, "{context}");
            assert_eq!(foreseen, words[0] == "cp" && target != expected, "{context}");
            assert_eq!(scratch.at("s/f").exists(), words[0] == "cp" || target == expected);
        }
    }
    Ok(())
}
