//! Output: JSON lines for programs, lines and questions for people, and nothing else.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::time::Duration;

use haul_manifest::{Limits, create_tree, random_tree};
use serde_json::Value;

use super::support::run::{Call, cp, haul};
use super::support::scratch::Scratch;
use super::support::strace::{Strace, is_usable};
use super::support::{Outcome, gnu, has, ignored, schema};

/// Reads a name in the form of the JSON lines.
fn name(value: &Value) -> Option<Vec<u8>> {
    if let Some(text) = value.as_str() {
        return Some(text.as_bytes().to_vec());
    }
    let hex = value["bytes"].as_str()?;
    let pairs = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect()
}

fn json(text: &str) -> Outcome<Vec<Value>> {
    schema::lines("run", text)
}

#[test]
fn json_lines_name_everything_and_end_with_the_summary() -> Outcome {
    let scratch = Scratch::new()?;
    create_tree(&scratch.at("s"), random_tree(50, &Limits::default()))
        .map_err(|failure| failure.to_string())?;
    for jobs in ["--jobs=1", "--jobs=4"] {
        let done = cp(["-a", "--json", jobs, "s", "t"]).in_dir(scratch.path()).succeed()?;
        let lines = json(&done.text())?;
        let (summary, events) = lines.split_last().ok_or("nothing was printed")?;
        assert_eq!(summary["event"], "summary");
        let mut told = 0;
        for event in events {
            let is_entry = event["event"] == "entry";
            // The method that moved a file's bytes is reported too.
            assert!(is_entry || event["event"] == "transferred", "{event}");
            for side in ["source", "target"] {
                let name = name(&event[side]).ok_or_else(|| event.to_string())?;
                let path = scratch.at(std::ffi::OsStr::from_bytes(&name));
                assert!(path.symlink_metadata().is_ok(), "{side} is not there: {event}");
            }
            told += u64::from(is_entry);
        }
        let count = |what: &str| summary[what].as_u64().unwrap_or(0);
        let made = ["files", "directories", "symlinks", "hard_links", "specials"].map(count);
        assert_eq!(made.iter().sum::<u64>(), told, "{summary}");
        assert_eq!((count("failures"), count("warnings")), (0, 0), "{summary}");
        assert_eq!(summary["stopped"], false);
        scratch.clear("t")?;
    }
    Ok(())
}

/// What is said to be copied is complete; what fails is never said to be.
#[test]
fn an_entry_that_fails_was_never_copied() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("s/d/f", "bytes")?;
    scratch.write("s/g", "bytes")?;
    scratch.write("t/s/d/f/in-the-way", "")?;
    symlink("/dev/full", scratch.at("t/s/g"))?;
    let done = cp(["-r", "--json", "s", "t"]).in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(1));
    let lines = json(&done.text())?;
    let copied = lines.iter().filter(|line| line["outcome"] == "copied").count();
    assert_eq!(copied, 0, "{lines:?}");
    assert_eq!(lines.iter().filter(|line| line["event"] == "failure").count(), 2, "{lines:?}");
    let done = cp(["-a", "--json", "s", "new"]).in_dir(scratch.path()).succeed()?;
    let lines = json(&done.text())?;
    let at = |target: &str| {
        let is_told = |line: &Value| line["outcome"] == "copied" && line["target"] == target;
        let told: Vec<usize> = (0..lines.len()).filter(|at| is_told(&lines[*at])).collect();
        assert_eq!(told.len(), 1, "{target}: {lines:?}");
        told[0]
    };
    // A directory is complete after its entries.
    assert!(at("new/d/f") < at("new/d") && at("new/d") < at("new") && at("new/g") < at("new"));
    Ok(())
}

/// The names of a directory, or its times, are not where they should be: then it is not copied.
#[test]
fn a_directory_that_fails_itself_was_never_copied() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("s/d/f", "bytes")?;
    for (number, (option, call)) in
        [("-r", "fsync"), ("-r", "fsync"), ("-a", "utimensat")].into_iter().enumerate()
    {
        let waits = if number == 0 { "--fsync" } else { "--durable" };
        let directory = scratch.at("t/d").display().to_string();
        let strace = Strace::new(scratch.at("log")).trace(call).of_file(&directory);
        let strace = strace.inject(&format!("{call}:error=EIO"));
        let words = [option, "--json", "--jobs=1", waits, "-T", "s", "t"];
        let done = strace.wrap(cp(words).in_dir(scratch.path())).run()?;
        assert!(strace.has_injected()?, "{words:?}");
        assert_eq!(done.code(), Some(1), "{done:?}");
        let lines = json(&done.text())?;
        let told = |what: &str, value: &str, target: &str| {
            lines.iter().filter(|line| line[what] == value && line["target"] == target).count()
        };
        assert_eq!(told("event", "failure", "t/d"), 1, "{words:?} {lines:?}");
        assert_eq!(told("outcome", "copied", "t/d"), 0, "{words:?} {lines:?}");
        for whole in ["t", "t/d/f"] {
            assert_eq!(told("outcome", "copied", whole), 1, "{words:?} {lines:?}");
        }
        scratch.clear("t")?;
    }
    Ok(())
}

#[test]
fn json_lines_tell_failures_with_their_errno() -> Outcome {
    let scratch = Scratch::new()?;
    let odd = std::ffi::OsStr::from_bytes(b"\xff\n");
    fs::create_dir(scratch.at("t"))?;
    let call = cp(["--json".as_ref(), "nope".as_ref(), odd, "t".as_ref()]);
    let done = call.in_dir(scratch.path()).run()?;
    assert_eq!(done.code(), Some(1));
    let lines = json(&done.text())?;
    let failures: Vec<_> = lines.iter().filter(|line| line["event"] == "failure").collect();
    assert_eq!(failures.len(), 2, "{lines:?}");
    let sources: Vec<_> = failures.iter().filter_map(|line| name(&line["source"])).collect();
    assert_eq!(sources, [b"nope".to_vec(), b"\xff\n".to_vec()]);
    for failure in failures {
        assert_eq!(failure["errno"], 2, "{failure}");
        assert_eq!(failure["error"], "No such file or directory", "{failure}");
    }
    let summary = lines.last().ok_or("no summary")?;
    assert_eq!((&summary["event"], &summary["failures"]), (&"summary".into(), &2.into()));
    Ok(())
}

#[test]
fn stats_count_what_was_done_on_standard_error() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("s/a", vec![1; 1000])?;
    scratch.write("s/d/b", vec![2; 24])?;
    symlink("a", scratch.at("s/link"))?;
    let done = cp(["-r", "--stats", "--jobs=1", "s", "t"]).in_dir(scratch.path()).run()?;
    assert_eq!((done.code(), done.text().as_str()), (Some(0), ""));
    let told = done.errors();
    for part in ["copied:  2 files, 2 directories, 1 symbolic link\n", "bytes:   1.0 KiB in "] {
        assert!(told.contains(part), "{told}");
    }
    assert!(told.contains("workers: 1\n"), "{told}");
    Ok(())
}

#[test]
fn stats_explain_why_the_cache_has_more_bytes_than_the_files() -> Outcome {
    let scratch = Scratch::new()?;
    let why = "the end of a file counts as a whole page of ";
    let page = rustix::param::page_size();
    for (bytes, is_explained) in [(page + 1, true), (page * 2, false)] {
        scratch.write("s", vec![1; bytes])?;
        let done = cp(["--stats", "s", "t"]).in_dir(scratch.path()).run()?;
        let told = done.errors();
        if !told.contains("\ncached: ") || told.contains("does not report") {
            return ignored("a kernel that reports cached pages");
        }
        assert_eq!(told.contains(why), is_explained, "{told}");
    }
    Ok(())
}

/// Command lines with a progress bar, and the beginning of the last line that replaces it.
const WITH_PROGRESS: &[(&str, &str)] = &[
    ("cp --progress=WHEN s t", "1 file, 5 B in 0."),
    ("cp -r --progress=WHEN tree u", "2 files, 10 B in "),
    ("mv --progress=WHEN u v", "1 file, 0 B in "),
    ("rm -r --progress=WHEN v", "3 removed, 1 of them directories, "),
    ("read --progress=WHEN s", "read: 5 of 5 B, "),
    ("write --progress=WHEN w", "write: 5 "),
];

fn furnish_for_progress(scratch: &Scratch) -> Outcome {
    for name in ["s", "tree/a", "tree/b"] {
        scratch.write(name, "bytes")?;
    }
    Ok(())
}

fn with_progress(scratch: &Scratch, line: &str, when: &str) -> Call {
    let line = line.replace("WHEN", when);
    Call::of(haul()).words(line.split(' ')).input("bytes").in_dir(scratch.path())
}

#[test]
fn progress_is_lines_where_no_terminal_can_draw() -> Outcome {
    let scratch = Scratch::new()?;
    furnish_for_progress(&scratch)?;
    for (line, start) in WITH_PROGRESS {
        let done = with_progress(&scratch, line, "always").run()?;
        assert_eq!(done.code(), Some(0), "{line}: {done:?}");
        let errors = done.errors();
        let last = errors.lines().last().unwrap_or_default();
        assert!(last.starts_with(start) && !last.is_empty(), "{line}: {errors}");
        assert!(errors.ends_with('\n') && !errors.contains(['\r', '\x1b']), "{line}: {errors:?}");
    }
    // Programs that read JSON lines get no other lines.
    let done = cp(["--progress=always", "--json", "s", "t"]).in_dir(scratch.path()).succeed()?;
    assert!(done.text().contains("\"event\":\"summary\""), "{done:?}");
    Ok(())
}

#[test]
fn progress_is_no_line_where_none_was_asked_for() -> Outcome {
    for when in ["auto", "never"] {
        let scratch = Scratch::new()?;
        furnish_for_progress(&scratch)?;
        for (line, _) in WITH_PROGRESS {
            with_progress(&scratch, line, when).succeed()?;
        }
    }
    Ok(())
}

#[test]
fn a_dumb_terminal_gets_lines_if_they_are_asked_for() -> Outcome {
    if !has("script")? {
        return Ok(());
    }
    for (when, lines) in [("always", 1), ("auto", 0)] {
        let scratch = Scratch::new()?;
        furnish_for_progress(&scratch)?;
        for (line, start) in WITH_PROGRESS {
            let line = line.replace("WHEN", when);
            let line = format!("'{}' {line} < s > /dev/null", haul().display());
            let call = Call::of("script").words(["-qec", &line, "/dev/null"]).env("TERM", "dumb");
            let done = call.in_dir(scratch.path()).run()?;
            assert_eq!(done.code(), Some(0), "{line}: {done:?}");
            let told = done.text();
            assert!(
                told.lines().count() >= lines && (lines > 0 || told.is_empty()),
                "{line}: {told}"
            );
            assert!(!told.contains('\x1b'), "{line}: {told:?}");
            assert!(lines == 0 || told.lines().last().is_some_and(|last| last.starts_with(start)));
        }
    }
    Ok(())
}

#[test]
fn questions_are_asked_and_answers_followed() -> Outcome {
    let scratch = Scratch::new()?;
    let cases = [
        (["-i", "a", "t/"], "y\n", 0, "new"),
        (["-i", "a", "t/"], "Yes\n", 0, "new"),
        (["-i", "a", "t/"], "n\n", 1, "old"),
        (["-i", "a", "t/"], "\n", 1, "old"),
        (["-i", "a", "t/"], "", 1, "old"),
        (["-in", "a", "t/"], "y\n", 0, "old"),
        (["-ni", "a", "t/"], "y\n", 0, "new"),
        (["-iu", "a", "t/"], "n\n", 1, "old"),
        (["-ui", "a", "t/"], "y\n", 0, "new"),
    ];
    for (words, answer, code, left) in cases {
        scratch.write("t/a", "old")?;
        let past = std::time::SystemTime::now() - Duration::from_secs(1000);
        fs::File::options().write(true).open(scratch.at("t/a"))?.set_modified(past)?;
        scratch.write("a", "new")?;
        let done = cp(words).in_dir(scratch.path()).input(answer).run()?;
        let context = format!("{words:?} {answer:?}: {done:?}");
        assert_eq!(done.code(), Some(code), "{context}");
        assert_eq!(fs::read_to_string(scratch.at("t/a"))?, left, "{context}");
        let asked = if words[0] == "-in" { "" } else { "cp: overwrite 't/a'? " };
        assert_eq!(done.errors(), asked, "{context}");
    }
    // There is no question about a newer file.
    fs::File::options()
        .write(true)
        .open(scratch.at("t/a"))?
        .set_modified(std::time::SystemTime::now() + Duration::from_secs(1000))?;
    let done = cp(["-iu", "a", "t/"]).in_dir(scratch.path()).input("y\n").run()?;
    assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""));
    Ok(())
}

#[test]
fn each_entry_of_a_tree_is_asked_about() -> Outcome {
    let scratch = Scratch::new()?;
    for name in ["a", "b", "d/c"] {
        scratch.write(&format!("s/{name}"), "new")?;
        scratch.write(&format!("t/{name}"), "old")?;
    }
    let call = cp(["-riT", "--jobs=4", "s", "t"]).in_dir(scratch.path());
    let done = call.input("y\nn\ny\n").run()?;
    assert_eq!(done.code(), Some(1));
    assert_eq!(done.errors().matches("overwrite '").count(), 3, "{done:?}");
    let texts = ["t/a", "t/b", "t/d/c"].map(|name| fs::read(scratch.at(name)).unwrap_or_default());
    let kept = texts.iter().filter(|text| *text == b"old").count();
    assert_eq!(kept, 1, "{done:?}");
    Ok(())
}

#[test]
fn the_order_of_a_told_copy_is_gnus() -> Outcome {
    let Some(gnu) = gnu::find()? else { return Ok(()) };
    let scratch = Scratch::new()?;
    for seed in 60..64 {
        let limits = Limits { without: vec![], ..Limits::default() };
        create_tree(&scratch.at("s"), random_tree(seed, &limits))
            .map_err(|failure| failure.to_string())?;
        for options in ["-rv", "-av"] {
            let ours = cp([options, "s", "t"]).in_dir(scratch.path()).succeed()?;
            scratch.clear("t")?;
            let theirs = gnu.cp().words([options, "s", "t"]).in_dir(scratch.path()).succeed()?;
            scratch.clear("t")?;
            assert_eq!(ours.text(), theirs.text(), "seed {seed} {options}");
        }
        scratch.clear("s")?;
    }
    Ok(())
}

#[test]
fn output_that_cannot_be_written_is_an_error() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("a", "text")?;
    for option in ["-v", "--json", "--help", "--version"] {
        let call = cp([option, "a", "b"]).in_dir(scratch.path()).output_to("/dev/full");
        let done = call.run()?;
        assert_eq!(done.code(), Some(1), "{option}: {done:?}");
        assert_eq!(done.errors(), "cp: write error: No space left on device\n", "{option}");
    }
    assert_eq!(fs::read(scratch.at("b"))?, b"text");
    Ok(())
}

/// A file that is opened with the descriptor number of standard error must not get the messages.
#[test]
fn closed_standard_descriptors_are_not_taken_for_files() -> Outcome {
    if !has("bash")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    scratch.write("s/a", "text")?;
    scratch.write("s/b", "other")?;
    for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        for options in ["-r", "-rv", "-r --stats"] {
            scratch.clear("t")?;
            let script =
                format!("\"$0\" cp {options} nope s t {closed}; \"$0\" cp {options} s t {closed}");
            fs::create_dir(scratch.at("t"))?;
            Call::of("bash").words(["-c", &script]).word(haul()).in_dir(scratch.path()).run()?;
            assert_eq!(fs::read(scratch.at("t/s/a"))?, b"text", "{options} {closed}");
            assert_eq!(fs::read(scratch.at("t/s/b"))?, b"other", "{options} {closed}");
        }
    }
    Ok(())
}

/// One failure among many: reported once, and the other entries are copied.
#[test]
fn one_bad_entry_among_many_is_told_once() -> Outcome {
    use super::support::run::USER;
    use std::os::unix::fs::PermissionsExt;
    if !super::support::is_root()? || !has("setpriv")? {
        return Ok(());
    }
    let scratch = Scratch::public()?;
    scratch.program("haul")?;
    for index in 0..20 {
        scratch.write(&format!("s/{index}"), index.to_string())?;
    }
    fs::set_permissions(scratch.at("s/7"), PermissionsExt::from_mode(0o000))?;
    fs::create_dir(scratch.at("out"))?;
    std::os::unix::fs::chown(scratch.at("out"), Some(USER), Some(USER))?;
    let call = Call::of(scratch.at("haul")).words(["cp", "-r", "--jobs=8", "s", "out/t"]);
    let done = call.in_dir(scratch.path()).by_user().run()?;
    assert_eq!(done.code(), Some(1));
    assert_eq!(done.errors(), "cp: cannot open 's/7' for reading: Permission denied\n");
    assert_eq!(fs::read_dir(scratch.at("out/t"))?.count(), 19);
    // The exit code does not depend on the position of the bad operand.
    for order in [["nope", "s/1", "s/2"], ["s/1", "nope", "s/2"], ["s/1", "s/2", "nope"]] {
        let done = cp(order).word("out").in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(1), "{order:?}");
        assert!(scratch.at("out/1").exists() && scratch.at("out/2").exists());
    }
    Ok(())
}

#[test]
fn a_pipe_without_a_reader_ends_it_quietly_unless_the_parent_ignores_the_signal() -> Outcome {
    let scratch = Scratch::new()?;
    // More than fits into any pipe that an ordinary user may have.
    scratch.write("big", vec![7; 4 << 20])?;
    let run = |trap: &str| -> Outcome<(String, String)> {
        let script = format!("{trap}{{ \"$0\" cat big; echo $? >code; }} 2>errors | true");
        Call::of("sh").word("-c").word(&script).word(haul()).in_dir(scratch.path()).succeed()?;
        let read = |name: &str| fs::read_to_string(scratch.at(name));
        Ok((read("code")?, read("errors")?))
    };
    assert_eq!(run("")?, ("141\n".to_owned(), String::new()));
    let told = ("1\n".to_owned(), "cat: write error: Broken pipe\n".to_owned());
    assert_eq!(run("trap '' PIPE; ")?, told);
    Ok(())
}
