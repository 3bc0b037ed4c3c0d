//! `haul split`: the concatenated pieces are the input, the cuts are GNU's, and failures are reported.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;

use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::strace::{Strace, is_usable};
use super::support::volume::volumes;
use super::support::{Outcome, has, which};

fn split<'w>(words: impl IntoIterator<Item = &'w str>) -> Call {
    Call::of(haul()).word("split").words(words)
}

/// Lines of very different lengths, some of them empty, and no end on the last.
fn lines(bytes: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes + 5000);
    let mut state = 1_u32;
    while text.len() < bytes {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let length = [0, 1, 7, 60, 300, 4500][(state >> 16) as usize % 6];
        text.extend(std::iter::repeat_n(b'a' + (state >> 24) as u8 % 26, length));
        text.push(b'\n');
    }
    text.truncate(bytes);
    text
}

const WAYS: [&[&str]; 15] = [
    &["-b", "1000"],
    &["-b", "4096"],
    &["-b", "1K", "--additional-suffix=.part"],
    &["-l", "3"],
    &["-l", "100", "-d"],
    &["-C", "2000"],
    &["-C", "10000", "-x"],
    &["-n", "1"],
    &["-n", "7"],
    &["-n", "300", "-e"],
    &["-n", "l/7"],
    &["-n", "l/300", "--numeric-suffixes=5"],
    &["-n", "r/7"],
    &["-n", "r/30", "-t", "a"],
    &["-17", "-a", "4"],
];

/// Returns the pieces in a folder.
fn pieces(scratch: &Scratch, dir: &str) -> Outcome<BTreeMap<String, Vec<u8>>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(scratch.at(dir))? {
        let entry = entry?;
        found.insert(entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?);
    }
    Ok(found)
}

#[test]
fn pieces_are_what_gnu_makes_of_files_and_of_pipes() -> Outcome {
    let gnu = which("split");
    if !has("split")? {
        return Ok(());
    }
    let version = Call::of(gnu.clone().unwrap_or_default()).word("--version").succeed()?.text();
    // Before 9.5 the last chunk had the whole remainder.
    let minor = version.split_whitespace().find_map(|word| word.strip_prefix("9.")?.parse().ok());
    let is_reference = minor.is_some_and(|minor: u32| minor >= 5);
    let scratch = Scratch::new()?;
    for bytes in [0, 1, 5000, 300_000] {
        let text = lines(bytes);
        scratch.write("in", &text)?;
        for way in WAYS {
            let mut made = Vec::new();
            for (dir, is_ours, is_pipe) in
                [("gnu", false, false), ("file", true, false), ("pipe", true, true)]
            {
                scratch.clear(dir)?;
                fs::create_dir(scratch.at(dir))?;
                let call =
                    if is_ours { split([]) } else { Call::of(gnu.clone().unwrap_or_default()) };
                let call = call.words(way).in_dir(scratch.at(dir));
                let done =
                    if is_pipe { call.input(text.clone()) } else { call.word("../in") }.run()?;
                made.push((done.code(), pieces(&scratch, dir)?));
            }
            let cuts_chunks = way[0] == "-n" && !way[1].starts_with("r/");
            assert!(
                made[0] == made[1] || (cuts_chunks && !is_reference),
                "{way:?} of a file of {bytes}: {:?} {:?}",
                made[0].0,
                made[1].0
            );
            // An empty input is no pipe here, so that nothing is cut.
            assert!(made[1] == made[2] || bytes == 0, "{way:?} of a pipe of {bytes}");
            if !way.contains(&"r/7") && !way.contains(&"r/30") {
                let joined: Vec<u8> = made[1].1.values().flatten().copied().collect();
                assert!(joined == text, "{way:?} of {bytes}");
            }
        }
    }
    Ok(())
}

#[test]
fn large_files_are_cut_by_several_workers_on_every_file_system() -> Outcome {
    for volume in volumes()? {
        let scratch = Scratch::on(&volume)?;
        let text = lines((20 << 20) + 12_345);
        scratch.write("in", &text)?;
        for way in [["-n", "3"], ["-n", "l/5"], ["-b", "4M"], ["-b", "3000001"]] {
            scratch.clear("out")?;
            fs::create_dir(scratch.at("out"))?;
            split(way).words(["--verbose", "../in"]).in_dir(scratch.at("out")).succeed()?;
            let made = pieces(&scratch, "out")?;
            let joined = made.values().map(Vec::as_slice).collect::<Vec<_>>().concat();
            assert!(joined == text, "{} {way:?}", volume.name);
            assert!(made.len() >= 3);
        }
        // One of the chunks by itself.
        let chunk = split(["-n", "2/3", "in"]).in_dir(scratch.path()).succeed()?;
        let third = text.len() / 3;
        assert!(chunk.stdout == text[third..2 * third] || chunk.stdout.len() == third + 1);
    }
    Ok(())
}

#[test]
fn the_input_is_never_a_piece_of_itself() -> Outcome {
    let scratch = Scratch::new()?;
    for words in [["-C", "6", "xaa"], ["-n", "2", "xaa"], ["-b", "6", "link"], ["-l", "1", "xaa"]] {
        scratch.write("xaa", "1\n2\n3\n4\n5\n6\n")?;
        scratch.clear("link")?;
        symlink("xaa", scratch.at("link"))?;
        let done = split(words).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(1));
        assert_eq!(done.errors(), "split: 'xaa' would overwrite input; aborting\n");
        assert_eq!(fs::read(scratch.at("xaa"))?, b"1\n2\n3\n4\n5\n6\n");
    }
    Ok(())
}

#[test]
fn failures_are_heard() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("in", lines(300_000))?;
    symlink("/dev/full", scratch.at("xab"))?;
    for way in [["-n", "3"], ["-b", "100000"], ["-C", "100000"], ["-n", "r/3"], ["-n", "l/3"]] {
        let done = split(way).word("in").in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(1), "{way:?}");
        assert_eq!(done.errors(), "split: xab: No space left on device\n", "{way:?}");
    }
    let cases: [(&[&str], &str); 7] = [
        (&["gone"], "split: cannot open 'gone' for reading: No such file or directory"),
        (&["."], "split: .: Is a directory"),
        (&["-b", "1", "-a", "1", "in"], "split: output file suffixes exhausted"),
        (&["-b", "x"], "split: invalid number of bytes: 'x'"),
        (&["-n", "3/2"], "split: invalid chunk number: '3'"),
        (&["-b", "1", "-l", "1"], "split: cannot split in more than one way"),
        (&["-n", "1000", "-a", "2", "in"], "split: the suffix length needs to be at least 3"),
    ];
    for (words, first) in cases {
        scratch.clear("xab")?;
        let done = split(words.iter().copied()).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(1), "{words:?}");
        assert_eq!(done.errors().lines().next(), Some(first));
    }
    Ok(())
}

#[test]
fn commands_get_pieces_and_their_failures_are_reported() -> Outcome {
    let scratch = Scratch::new()?;
    let text = lines(300_000);
    scratch.write("in", &text)?;
    for way in [["-n", "3"], ["-n", "l/3"], ["-b", "100000"], ["-C", "100000"], ["-l", "200"]] {
        scratch.clear("out")?;
        fs::create_dir(scratch.at("out"))?;
        let filter = "--filter=cat > \"$FILE.f\"";
        split(way).words([filter, "../in"]).in_dir(scratch.at("out")).succeed()?;
        let joined: Vec<u8> = pieces(&scratch, "out")?.values().flatten().copied().collect();
        assert!(joined == text, "{way:?}");
    }
    let run = |filter: &'static str| split(["-n", "3", filter, "in"]).in_dir(scratch.path()).run();
    let done = run("--filter=exit 3")?;
    assert_eq!(done.code(), Some(3));
    assert_eq!(done.errors(), "split: with FILE=xaa, exit 3 from command: exit 3\n");
    let done = run("--filter=kill -9 $$")?;
    assert_eq!(done.code(), Some(137));
    assert_eq!(done.errors(), "split: with FILE=xaa, signal KILL from command: kill -9 $$\n");
    // A command that stops reading is no error.
    let done = run("--filter=head -c1 > /dev/null")?;
    assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""));
    Ok(())
}

#[test]
fn more_pieces_than_descriptors_are_written_in_turns() -> Outcome {
    if !has("prlimit")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let text: Vec<u8> = (0..90_000).flat_map(|line| format!("{line}\n").into_bytes()).collect();
    split(["-n", "r/60"])
        .in_dir(scratch.path())
        .input(text)
        .under(["prlimit", "--nofile=20"])
        .succeed()?;
    let made = pieces(&scratch, ".")?;
    assert_eq!(made.len(), 60);
    for (piece, bytes) in made.values().enumerate() {
        let expected: Vec<u8> =
            (piece..90_000).step_by(60).flat_map(|line| format!("{line}\n").into_bytes()).collect();
        assert!(*bytes == expected, "{piece}");
    }
    Ok(())
}

/// A piece whose end cannot be found is not an empty one, which `-e` leaves out.
#[test]
fn what_cannot_be_read_is_told_although_empty_pieces_are_left_out() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("in", "a line\n".repeat(100_000))?;
    let call = split(["-e", "-n", "l/3", "in"]).in_dir(scratch.path());
    let log = scratch.at("log");
    // The loader reads by this call, too.
    let reads = Strace::new(&log).trace("pread64").showing_paths();
    reads.wrap(call.clone()).succeed()?;
    let lines = reads.lines()?;
    let first = lines.iter().position(|line| line.text.contains("/in>")).ok_or("never read")?;
    let fault = format!("pread64:error=EIO:when={}", first + 1);
    let done = Strace::new(&log).trace("pread64").inject(&fault).wrap(call).run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert_eq!(done.errors(), "split: in: Input/output error\n");
    Ok(())
}

/// Ways to cut a file into pieces, or to print a part of it; each needs to know where the file ends.
const SIZED: [&[&str]; 6] = [
    &["-b", "1000"],
    &["-b", "1000", "--filter=cat > $FILE"],
    &["-n", "3"],
    &["-n", "l/3"],
    &["-n", "2/3"],
    &["-n", "l/2/3"],
];

/// A file whose description, or position, cannot be had is not at its end.
#[test]
fn a_failed_description_of_the_input_is_no_end_of_it() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let input = scratch.write("in", lines(3500))?.display().to_string();
    let log = scratch.at("log");
    let run = |way: &[&str], injections: &[String]| -> Outcome<_> {
        scratch.clear("parts")?;
        fs::create_dir(scratch.at("parts"))?;
        let call = split(way.iter().copied()).word(&input).in_dir(scratch.at("parts"));
        let strace = Strace::new(&log).trace("fstat,lseek,pread64").of_file(&input);
        let strace = injections.iter().fold(strace, |strace, what| strace.inject(what));
        let done = strace.wrap(call).run()?;
        let made = (pieces(&scratch, "parts")?, done.stdout.clone());
        Ok((done, made, strace.text()?))
    };
    let mut wrong = Vec::new();
    for way in SIZED {
        let (done, right, _) = run(way, &[])?;
        assert_eq!(done.code(), Some(0), "{way:?}: {done:?}");
        let mut faults: Vec<Vec<String>> = Vec::new();
        for call in ["fstat", "lseek"] {
            faults.extend((1..12).map(|nth| vec![format!("{call}:error=ESTALE:when={nth}")]));
        }
        // The file also seems to end before its end.
        for nth in 1..5 {
            faults.extend((1..8).map(|described| {
                let end = format!("pread64:retval=0:when={nth}");
                vec![end, format!("fstat:error=ESTALE:when={described}")]
            }));
        }
        for fault in faults {
            let (done, made, log) = run(way, &fault)?;
            let is_met = log.contains("ESTALE");
            let is_told = done.code() == Some(1) && done.errors().contains("Stale file handle");
            if is_met && !is_told && (done.code() != Some(0) || made != right) {
                wrong.push(format!("{way:?} {fault:?}: {done:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

#[test]
fn a_pipe_is_kept_where_the_file_system_has_no_files_without_names() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    fs::create_dir(scratch.at("kept"))?;
    fs::create_dir(scratch.at("parts"))?;
    let text = lines(1_000_000);
    let log = scratch.at("log");
    // A run without a fault shows which call first requests such a file.
    let call = split(["-n", "3", "-", "parts/x"]).input(text.clone());
    let call = call.env("TMPDIR", "kept").in_dir(scratch.path());
    let plain = Strace::new(&log).trace("openat");
    assert_eq!(plain.wrap(call.clone()).run()?.code(), Some(0));
    let opened = plain.lines()?;
    let at = opened.iter().position(|line| line.text.contains("O_TMPFILE"));
    let at = at.ok_or("no file without a name")? + 1;
    for errno in ["EOPNOTSUPP", "EISDIR", "EINVAL"] {
        let inject = format!("openat:error={errno}:when={at}");
        let done = Strace::new(&log).trace("openat").inject(&inject).wrap(call.clone()).run()?;
        assert_eq!(done.code(), Some(0), "{errno}: {done:?}");
        let joined: Vec<u8> = pieces(&scratch, "parts")?.into_values().flatten().collect();
        assert!(joined == text, "{errno}: other bytes");
        assert_eq!(fs::read_dir(scratch.at("kept"))?.count(), 0, "{errno}: a file is left");
    }
    Ok(())
}

#[test]
fn a_suffix_that_no_name_can_have_is_refused_in_few_words() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("in", "x")?;
    for words in [&["-a", "9999999999", "in"][..], &["-a9999999999", "--filter=true", "in"]] {
        let done = split(words.iter().copied()).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(1), "{words:?}");
        assert!(done.stderr.len() < 200_000, "{} bytes", done.stderr.len());
    }
    let done = split(["-a", "9999999999", "in"]).in_dir(scratch.path()).run()?;
    assert!(done.errors().ends_with(": File name too long\n") && done.stderr.len() < 5000);
    Ok(())
}

/// Two pieces with one file, as programs leave them that link equal files, would lose the first one.
#[test]
fn a_piece_that_is_another_name_of_an_earlier_one_is_refused() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("f", "one\ntwo\n")?;
    for words in [["-b", "4"], ["-l", "1"], ["-n", "2"], ["-n", "r/2"]] {
        for is_link in [false, true] {
            for name in ["xaa", "xab"] {
                scratch.clear(name)?;
            }
            scratch.write("xaa", "older")?;
            if is_link {
                symlink("xaa", scratch.at("xab"))?;
            } else {
                fs::hard_link(scratch.at("xaa"), scratch.at("xab"))?;
            }
            let done = split(words).word("f").in_dir(scratch.path()).run()?;
            let line = "split: xab: another name of an earlier piece; aborting\n";
            assert_eq!((done.code(), done.errors().as_str()), (Some(1), line), "{words:?}");
        }
    }
    Ok(())
}
