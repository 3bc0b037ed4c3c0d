//! `write --from`: a file gets its name only if the command that makes its data succeeds.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::symlink;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Signal, kill_process, kill_process_group};

use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::{Outcome, entries, has};

/// Starts `haul write` in a folder.
fn write(scratch: &Scratch, words: &[&str]) -> Call {
    Call::of(haul()).word("write").words(words).in_dir(scratch.path())
}

/// Makes a folder with last night's dump.
fn folder() -> Outcome<Scratch> {
    let scratch = Scratch::new()?;
    scratch.write("dump", "last night's")?;
    Ok(scratch)
}

/// Asserts that a folder has last night's dump and nothing else.
fn demand_old(scratch: &Scratch, context: &str) -> Outcome {
    assert_eq!(fs::read_to_string(scratch.at("dump"))?, "last night's", "{context}");
    assert_eq!(entries(scratch.path())?.len(), 1, "{context}");
    Ok(())
}

#[test]
fn a_producer_that_fails_replaces_nothing_and_its_status_is_passed_on() -> Outcome {
    let scratch = folder()?;
    let then = "; each FILE stays as it was\n";
    for (words, code, said) in [
        (&["--", "sh", "-c", "printf half; exit 3"][..], 3, "sh ended with exit status 3"),
        (&["--", "sh", "-c", "printf half; kill -KILL $$"], 137, "sh was ended by signal KILL"),
        (&["--", "false"], 1, "false ended with exit status 1"),
        (&["printf half; exit 3"], 3, "'printf half; exit 3' ended with exit status 3"),
        // Each program of a pipeline has to succeed.
        (&["(printf half; exit 4) | cat | cat"], 4, "ended with exit status 4"),
        (&["printf half | (cat; kill -TERM $BASHPID) | cat"], 143, "ended with exit status 143"),
    ] {
        if words.len() == 1 && !has("bash")? {
            continue;
        }
        for options in [
            &["--atomic"][..],
            &["--atomic", "--buffer=4M"],
            &["--atomic", "--fsync", "--sparse", "--sum=md5", "--allow-empty"],
            &["--atomic", "--size=4", "--cache=direct"],
        ] {
            let call = write(&scratch, options).words(["dump", "--from"]).words(words);
            let done = call.run()?;
            let context = format!("{options:?} {words:?}: {done:?}");
            assert_eq!(done.code(), Some(code), "{context}");
            assert!(done.errors().contains(&format!("{said}{then}")), "{context}");
            assert_eq!(done.text(), "", "{context}: a sum of what is not there");
            demand_old(&scratch, &context)?;
        }
    }
    Ok(())
}

#[test]
fn a_producer_that_succeeds_gets_its_file() -> Outcome {
    let scratch = folder()?;
    let write = |words: &[&str]| write(&scratch, words);
    write(&["--atomic", "dump", "--from", "--", "printf", "%s", "--atomic"]).succeed()?;
    assert_eq!(fs::read_to_string(scratch.at("dump"))?, "--atomic", "an option of the command");
    let sum = ["--sum=md5", "--fsync", "--sparse", "--size=3", "--buffer=4M"];
    let done = write(&["--atomic", "dump"]).words(sum).words(["--from", "--", "printf", "abc"]);
    assert_eq!(done.succeed()?.text(), "900150983cd24fb0d6963f7d28e17f72  dump\n");
    write(&["one", "two", "--from", "--", "tr", "a", "b"]).input("banana").succeed()?;
    assert_eq!(fs::read_to_string(scratch.at("one"))?, "bbnbnb", "the command has our input");
    assert_eq!(fs::read_to_string(scratch.at("two"))?, "bbnbnb");
    let done = write(&["-", "--from", "--", "sh", "-c", "echo told >&2; echo here"]).run()?;
    assert_eq!((done.code(), done.errors().as_str()), (Some(0), "told\n"), "{done:?}");
    assert_eq!(done.text(), "here\n");
    let posix = write(&["three", "--from", "--", "printf", "3"]).env("POSIXLY_CORRECT", "1");
    posix.succeed()?;
    assert_eq!(fs::read_to_string(scratch.at("three"))?, "3");
    if has("bash")? {
        write(&["--atomic", "dump", "--from=printf abc | tr a b | cat"]).succeed()?;
        assert_eq!(fs::read_to_string(scratch.at("dump"))?, "bbc");
    }
    Ok(())
}

#[test]
fn a_command_that_cannot_be_started_empties_no_file() -> Outcome {
    let scratch = folder()?;
    for how in [&["--atomic"][..], &[]] {
        for (command, code) in [("no-such-program", 127), ("/dev/null", 126)] {
            let done = write(&scratch, how).words(["dump", "--from", "--", command]).run()?;
            assert_eq!(done.code(), Some(code), "{how:?} {done:?}");
            let said = format!("haul write: cannot run {command}: ");
            assert!(done.errors().starts_with(&said), "{done:?}");
            demand_old(&scratch, command)?;
        }
    }
    // Nor does one of several files that cannot be opened empty another one, or start the command.
    let done = write(&scratch, &["dump", "no/file", "--from", "--", "touch", "started"]).run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    demand_old(&scratch, "no/file")?;
    let done = write(&scratch, &["dump", "no/file"]).input("new").run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    demand_old(&scratch, "no/file, standard input")
}

#[test]
fn a_line_needs_a_shell_that_reports_each_program() -> Outcome {
    let scratch = folder()?;
    let programs = Scratch::new()?;
    // A shell without the option, as dash was for long.
    symlink("/bin/false", programs.at("sh"))?;
    let path = programs.path().to_string_lossy().into_owned();
    let call = write(&scratch, &["--atomic", "dump", "--from", "printf half"]).env("PATH", &path);
    let done = call.run()?;
    assert_eq!(done.code(), Some(127), "{done:?}");
    assert!(done.errors().contains("no shell that has 'pipefail'"), "{done:?}");
    demand_old(&scratch, "without a shell")
}

#[test]
fn an_input_without_a_byte_is_refused_unless_it_is_allowed() -> Outcome {
    let scratch = folder()?;
    let words = [&["--atomic", "dump"][..], &["--atomic", "dump", "--from", "--", "true"]];
    for words in words {
        let done = write(&scratch, words).run()?;
        assert_eq!(done.code(), Some(1), "{done:?}");
        assert!(done.errors().contains("nothing came, and --allow-empty is not given"), "{done:?}");
        demand_old(&scratch, "empty")?;
        for option in ["--allow-empty", "--size=0"] {
            write(&scratch, &[option]).words(words).succeed()?;
            assert_eq!(fs::read(scratch.at("dump"))?, b"", "{option} {words:?}");
            scratch.write("dump", "last night's")?;
        }
    }
    // Written in its place, a file was emptied before anything came.
    write(&scratch, &["dump"]).succeed()?;
    assert_eq!(fs::read(scratch.at("dump"))?, b"");
    Ok(())
}

#[test]
fn a_failed_output_ends_the_command() -> Outcome {
    let scratch = folder()?;
    let done = write(&scratch, &["/dev/full", "--from", "--", "yes"]).run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert_eq!(done.errors(), "haul write: error writing /dev/full: No space left on device\n");
    Ok(())
}

#[test]
fn wrong_words_are_refused() -> Outcome {
    let scratch = folder()?;
    for (words, said) in [
        (&["dump", "--from"][..], "option '--from' requires an argument"),
        (&["dump", "--from", "--"], "--from needs a command"),
        (&["dump", "--from="], "--from needs a command"),
        (&["--from", "--", "true"], "missing operand"),
        (&["dump", "--from=a", "--from", "--", "b"], "there is only one input: give --from once"),
    ] {
        let done = write(&scratch, words).run()?;
        assert_eq!(done.code(), Some(1), "{done:?}");
        assert!(done.errors().starts_with(&format!("haul write: {said}\n")), "{done:?}");
        demand_old(&scratch, said)?;
    }
    Ok(())
}

#[test]
fn a_signal_ends_both_and_leaves_the_old_file() -> Outcome {
    // The command says that it runs by opening the FIFO, and that it has ended by closing it. In the second
    // one it ends its output before, so that haul waits for the process alone.
    let commands = [
        "exec 9> ../events; printf half; echo begun >&9; exec sleep 1000",
        "exec 9> ../events; printf half; exec >&-; echo begun >&9; exec sleep 1000",
    ];
    for command in commands {
        for (signal, number) in [(Signal::INT, 2), (Signal::TERM, 15), (Signal::HUP, 1)] {
            for to_all in [true, false] {
                let scratch = Scratch::new()?;
                fs::create_dir(scratch.at("d"))?;
                scratch.write("d/dump", "last night's")?;
                mknodat(CWD, scratch.at("events"), FileType::Fifo, Mode::RWXU, 0)?;
                let call = write(&scratch, &["--atomic", "dump", "--from", "--"]);
                let running = call.words(["sh", "-c", command]).in_dir(scratch.at("d")).start()?;
                let mut events = fs::File::open(scratch.at("events"))?;
                let mut begun = [0; 6];
                events.read_exact(&mut begun)?;
                if to_all {
                    kill_process_group(running.pid(), signal)?;
                } else {
                    kill_process(running.pid(), signal)?;
                }
                let done = running.wait()?;
                let context = format!("{signal:?} {to_all} {command}: {done:?}");
                assert_eq!(done.signal(), Some(number), "{context}");
                // The last one that has it open has ended.
                assert_eq!(events.read(&mut begun)?, 0, "{context}");
                assert_eq!(fs::read_to_string(scratch.at("d/dump"))?, "last night's", "{context}");
                assert_eq!(entries(&scratch.at("d"))?.len(), 1, "{context}");
            }
        }
    }
    Ok(())
}
