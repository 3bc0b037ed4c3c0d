//! `haul tee`: equal outputs, and the handling of one that fails.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use haul_manifest::wait_until;

use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::shell::noise;
use super::support::{Outcome, has};

fn tee<'w>(words: impl IntoIterator<Item = &'w str>) -> Call {
    Call::of(haul()).word("tee").words(words)
}

/// Enough bytes to start helpers.
fn much() -> Vec<u8> {
    noise((20 << 20) + 77)
}

#[test]
fn every_output_is_the_same() -> Outcome {
    let scratch = Scratch::new()?;
    for bytes in [Vec::new(), b"line\n".to_vec(), much()] {
        let done =
            tee(["a", "b", "c", "-"]).in_dir(scratch.path()).input(bytes.clone()).succeed()?;
        assert!(done.stdout == bytes);
        for name in ["a", "b", "c", "-"] {
            assert!(fs::read(scratch.at(name))? == bytes, "{name}");
        }
    }
    Ok(())
}

#[test]
fn appending_keeps_what_is_there() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("a", "old ")?;
    tee(["-a", "a"]).in_dir(scratch.path()).input("new").succeed()?;
    assert_eq!(fs::read(scratch.at("a"))?, b"old new");
    tee(["a"]).in_dir(scratch.path()).input("new").succeed()?;
    assert_eq!(fs::read(scratch.at("a"))?, b"new");
    Ok(())
}

#[test]
fn a_file_that_is_named_twice_is_written_as_gnu_writes_it() -> Outcome {
    let scratch = Scratch::new()?;
    let bytes = much();
    tee(["a", "./a"]).in_dir(scratch.path()).input(bytes.clone()).succeed()?;
    assert!(fs::read(scratch.at("a"))? == bytes);
    Ok(())
}

#[test]
fn an_output_that_fails_does_not_stop_the_others_unless_told_so() -> Outcome {
    let scratch = Scratch::new()?;
    let bytes = much();
    let run = |option: &[&'static str]| {
        scratch.clear("a")?;
        tee([])
            .words(option)
            .words(["/dev/full", "a"])
            .in_dir(scratch.path())
            .input(bytes.clone())
            .run()
    };
    for option in [&[][..], &["-p"], &["--output-error=warn"]] {
        let done = run(option)?;
        assert_eq!(done.code(), Some(1), "{option:?}");
        assert_eq!(done.errors(), "tee: /dev/full: No space left on device\n");
        assert!(done.stdout == bytes && fs::read(scratch.at("a"))? == bytes, "{option:?}");
    }
    for option in ["--output-error=exit", "--output-error=exit-nopipe"] {
        let done = run(&[option])?;
        assert_eq!(done.code(), Some(1), "{option:?}");
        assert_eq!(done.errors(), "tee: /dev/full: No space left on device\n");
        assert!(done.stdout.len() < bytes.len());
    }
    let done = tee(["no/such/dir", "a"]).in_dir(scratch.path()).input("x").run()?;
    assert_eq!(done.errors(), "tee: no/such/dir: No such file or directory\n");
    assert_eq!((done.code(), fs::read(scratch.at("a"))?), (Some(1), b"x".to_vec()));
    let done = tee(["--output-error=never"]).run()?;
    assert!(done.errors().starts_with("tee: invalid argument 'never' for '--output-error'\n"));
    Ok(())
}

/// Runs tee with a reader that reads a little and closes, and returns tee's exit status.
fn left_alone(options: &[&str]) -> Outcome<(Option<i32>, Option<i32>, String)> {
    let mut child = Command::new(haul())
        .arg("tee")
        .args(options)
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().ok_or("no input")?;
    stdin.write_all(b"first")?;
    let mut stdout = child.stdout.take().ok_or("no output")?;
    stdout.read_exact(&mut [0; 5])?;
    drop(stdout);
    // Fails when tee has ended, as it should.
    while stdin.write_all(&[b'x'; 4096]).is_ok() {}
    drop(stdin);
    let mut errors = String::new();
    child.stderr.take().ok_or("no messages")?.read_to_string(&mut errors)?;
    let status = child.wait()?;
    Ok((status.code(), status.signal(), errors))
}

#[test]
fn a_reader_that_goes_ends_it_as_the_mode_says() -> Outcome {
    const SIGPIPE: i32 = 13;
    let broken = "tee: 'standard output': Broken pipe\n".to_owned();
    assert_eq!(left_alone(&[])?, (None, Some(SIGPIPE), String::new()));
    assert_eq!(left_alone(&["-p"])?, (Some(0), None, String::new()));
    assert_eq!(left_alone(&["--output-error=exit-nopipe"])?, (Some(0), None, String::new()));
    assert_eq!(left_alone(&["--output-error=warn"])?, (Some(1), None, broken.clone()));
    assert_eq!(left_alone(&["--output-error=exit"])?, (Some(1), None, broken));
    Ok(())
}

#[test]
fn a_non_blocking_output_is_waited_for_and_not_asked_again_and_again() -> Outcome {
    if !has("strace")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let (reader, writer) = rustix::pipe::pipe()?;
    rustix::io::ioctl_fionbio(&writer, true)?;
    let bytes = vec![b'x'; 1 << 20];
    let mut child = Command::new("strace")
        .args(["-f", "-o"])
        .arg(scratch.at("log"))
        .args(["-e", "trace=write,poll,ppoll"])
        .arg(haul())
        .arg("tee")
        .stdin(Stdio::piped())
        .stdout(writer)
        .spawn()?;
    let mut stdin = child.stdin.take().ok_or("no input")?;
    let input = bytes.clone();
    let feeder = std::thread::spawn(move || stdin.write_all(&input));
    // A busy loop would have written many more refusals by then.
    wait_until("the full pipe is waited for", || {
        let log = fs::read_to_string(scratch.at("log")).unwrap_or_default();
        log.contains("EAGAIN") && log.lines().last().is_some_and(|line| line.contains("poll("))
    });
    let mut got = Vec::new();
    fs::File::from(reader).read_to_end(&mut got)?;
    assert!(child.wait()?.success());
    feeder.join().map_err(|_| "the feeder failed")??;
    assert!(got == bytes);
    let log = fs::read_to_string(scratch.at("log"))?;
    let refused = log.matches("EAGAIN").count();
    let waits = log.lines().filter(|line| line.contains("poll(")).count();
    assert!(refused >= 1 && refused <= waits, "{refused} refusals, {waits} waits");
    Ok(())
}

#[test]
fn a_device_that_ends_the_run_leaves_the_files_what_was_read() -> Outcome {
    let scratch = Scratch::new()?;
    for bytes in [b"a line\n".to_vec(), much()] {
        for words in
            [["--output-error=exit", "a", "/dev/full"], ["--output-error=exit", "/dev/full", "a"]]
        {
            scratch.clear("a")?;
            let done = tee(words).in_dir(scratch.path()).input(bytes.clone()).run()?;
            assert_eq!(done.code(), Some(1), "{done:?}");
            assert_eq!(done.errors(), "tee: /dev/full: No space left on device\n");
            let written = fs::read(scratch.at("a"))?;
            assert!(!written.is_empty() && bytes.starts_with(&written), "{words:?}");
            assert!(done.stdout.starts_with(&written[..written.len().min(4096)]));
        }
    }
    Ok(())
}
