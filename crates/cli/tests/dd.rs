//! `haul dd` against GNU's: bytes, records, messages; and copying in bulk by several workers.

use std::fs;
use std::io::{BufRead as _, BufReader, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use haul_manifest::wait_until;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};

use super::support::run::{Call, Done, haul};
use super::support::scratch::Scratch;
use super::support::shell::{demand, noise, shell};
use super::support::state::is_idle;
use super::support::strace::{Strace, is_usable};
use super::support::{Outcome, gnu, if_there, is_root};

fn dd<'w>(words: impl IntoIterator<Item = &'w str>) -> Call {
    Call::of(haul()).word("dd").words(words)
}

/// Returns the messages without times and rates.
fn said(done: &Done) -> String {
    let lines: Vec<String> = done
        .errors()
        .lines()
        .map(|line| match line.split_once(" copied, ") {
            Some((amounts, _)) => amounts.to_owned(),
            None => line.to_owned(),
        })
        .collect();
    lines.join("\n")
}

/// GNU's dd, started under the name that messages begin with.
fn named_dd(path: &std::path::Path) -> Call {
    Call::of("bash").words(["-c", "exec -a dd \"$0\" \"$@\""]).word(path)
}

/// Lists of operands; both programs run each.
const LINES: &[&str] = &[
    "if=a of=o",
    "if=a of=o bs=1000",
    "if=a of=o bs=7k count=3",
    "if=a of=o ibs=100 obs=333",
    "if=a of=o ibs=1M obs=7",
    "if=a of=o bs=4k skip=3 seek=5",
    "if=a of=o bs=4k skip=3 seek=5 conv=notrunc",
    "if=a of=o bs=4k seek=1000 count=0",
    "if=a of=o bs=1k skip=5000B count=7000B seek=99B",
    "if=a of=o bs=1k iflag=skip_bytes,count_bytes skip=50 count=77 oflag=seek_bytes seek=3",
    "if=a of=o bs=1M skip=99",
    "if=a of=o skip=10000000 bs=1",
    "if=a of=o bs=1k conv=sync",
    "if=a of=o bs=1k conv=sparse",
    "if=zeros of=o bs=1k conv=sparse",
    "if=zeros of=o obs=1k conv=sparse,notrunc",
    "if=text of=o conv=ucase",
    "if=text of=o conv=lcase,swab",
    "if=text of=o conv=block cbs=10",
    "if=text of=o conv=block,sync cbs=10 ibs=17",
    "if=text of=o conv=unblock cbs=7",
    "if=a of=o conv=ebcdic",
    "if=a of=o conv=ibm,ucase",
    "if=a of=o conv=ascii",
    "if=a of=o conv=ebcdic cbs=32",
    "if=a of=o conv=swab ibs=3 obs=5",
    "if=a of=o ibs=7 obs=64k",
    "if=text of=o ibs=3 obs=1k conv=ucase",
    "if=text of=o ibs=5 obs=100 conv=block cbs=9",
    "if=a of=o obs=1PB",
    "if=a of=o ibs=1PB",
    "if=a of=o bs=1PB count=0",
    "if=a of=o conv=fdatasync bs=100k",
    "if=a of=o conv=fsync status=noxfer",
    "if=a of=o status=none bs=1M",
    "if=a of=o conv=excl",
    "if=a of=new conv=excl",
    "if=a of=new conv=nocreat",
    "if=a of=o oflag=append conv=notrunc bs=1k",
    "if=a of=o iflag=nocache oflag=nocache bs=64k",
    "if=a of=o count=0",
    "if=a of=o count=1xM",
    "if=a of=o count=0x5",
    "if=a of=o count=\t2",
    "if=a of=o count=+2 ibs=\n100",
    "if=a of=o count=-2",
    "if=a of=o count=2\t",
    "if=missing of=o",
    "if=. of=o",
    "if=a of=.",
    "if=a of=o bs=0",
    "if=a of=o bs=1Y",
    "if=a of=o bs=9223372036854775807",
    "if=a of=o cbs=9223372036854775807 count=0",
    "if=a of=o count=9q",
    "if=a of=o conv=wrong",
    "if=a of=o iflag=wrong",
    "if=a of=o oflag=fullblock",
    "if=a of=o status=wrong",
    "if=a of=o conv=ascii,ebcdic",
    "if=a of=o iflag=direct,nocache",
    "if=a of=o seek=9223372036854775807 bs=9",
    "if=a of=/dev/full bs=1k",
    "if=a of=/dev/full obs=700",
    "if=/dev/zero of=o bs=1k count=3",
    "bs=5 count=3",
    "bs=5 skip=2",
    "ibs=5 obs=11 iflag=fullblock",
    "unknown=3",
    "words",
    "--wrong",
    "if=big of=o bs=1M",
    "if=big of=o bs=1M count=11 skip=1 seek=1",
    "if=big of=o bs=3000001",
    "if=big of=o ibs=70001 obs=4097",
    "if=big of=o bs=1M seek=2 conv=notrunc",
    "if=big of=big bs=1M conv=notrunc skip=1",
    "if=big of=big bs=256k conv=notrunc seek=1 count=50",
    "if=big bs=256k",
    "if=big bs=256k skip=3 count=20",
    "if=big bs=300k count=10000001B",
    "if=big ibs=512k obs=100000",
    "if=big bs=256k conv=sync",
    "if=big bs=300001 conv=swab",
    "if=big bs=256k conv=ucase iflag=nocache",
    "if=big bs=256k of=o conv=sparse",
    "if=big bs=256k of=/dev/full",
    "if=big bs=1M iflag=direct",
];

#[test]
fn every_line_does_and_says_what_gnus_does() -> Outcome {
    let Some(gnu) = gnu::find()? else { return Ok(()) };
    let Some(theirs) = gnu.sibling("dd")? else { return Ok(()) };
    let scratch = Scratch::new()?;
    let mut wrong = Vec::new();
    for line in LINES {
        let mut results = Vec::new();
        for (folder, call) in [("h", dd([])), ("g", named_dd(&theirs))] {
            scratch.clear(folder)?;
            let write =
                |name: &str, bytes: &[u8]| scratch.write(&format!("{folder}/{name}"), bytes);
            write("a", &noise(20_481))?;
            write("o", &[b'o'; 30_000])?;
            write("zeros", &[0; 10_240])?;
            write("text", b"short\na line that is long\n\nthe last has no end")?;
            write("big", &noise(13_000_001))?;
            let call = call.words(line.split(' ')).in_dir(scratch.at(folder));
            results.push(call.input("standard input").run()?);
        }
        let [ours, theirs] = results.as_slice() else { continue };
        let of = |name: &str| scratch.at(name);
        for file in ["o", "new", "big"] {
            let read = |folder| if_there(fs::read(of(folder).join(file)));
            if read("h")? != read("g")? {
                wrong.push(format!("{line}: {file} differs"));
            }
        }
        if ours.stdout != theirs.stdout || ours.code() != theirs.code() {
            wrong.push(format!("{line}: {ours:?} {theirs:?}"));
        }
        if gnu.is_reference && gnu::as_program(&said(ours), "dd") != said(theirs) {
            wrong.push(format!("{line}:\nH {}\nG {}", said(ours), said(theirs)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn short_reads_of_a_pipe_are_records_of_their_own() -> Outcome {
    for (words, report) in [
        (&["bs=100"][..], "0+3 records in\n0+3 records out\n"),
        (&["bs=100", "iflag=fullblock"][..], "0+1 records in\n0+1 records out\n"),
        (&["ibs=100", "obs=20"][..], "0+3 records in\n1+1 records out\n"),
        (&["bs=10", "conv=sync"][..], "3+0 records in\n"),
    ] {
        let mut child = Command::new(haul())
            .arg("dd")
            .args(words)
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut stdin = child.stdin.take().ok_or("no pipe")?;
        for _ in 0..3 {
            stdin.write_all(b"ten bytes!")?;
            // What dd has read is a record, and is not in the pipe any more.
            wait_until("dd has read it", || rustix::io::ioctl_fionread(&stdin) == Ok(0));
        }
        drop(stdin);
        let done = child.wait_with_output()?;
        assert_eq!(done.stdout, b"ten bytes!ten bytes!ten bytes!", "{words:?}");
        let errors = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(errors.starts_with(report), "{words:?}: {errors}");
    }
    Ok(())
}

#[test]
fn a_report_that_cannot_be_written_is_a_failure() -> Outcome {
    for to in ["2>&-", "2>/dev/full"] {
        let line = format!(": | '{}' dd {to}", haul().display());
        let done = Call::of("bash").words(["-c", &line]).run()?;
        assert_eq!(done.code(), Some(1), "{to}");
    }
    let line = format!("echo x | '{}' cat >&-", haul().display());
    let done = Call::of("bash").words(["-c", &line]).run()?;
    assert_eq!(done.errors(), "cat: standard output: Bad file descriptor\n");
    Ok(())
}

/// The program with SIGINT enabled, as at a terminal: a shell's background jobs and their children ignore it.
fn heeding_interruptions() -> Command {
    let mut command = Command::new("env");
    command.arg("--default-signal=INT").arg(haul());
    command
}

#[test]
fn a_report_in_the_middle_is_given_and_an_interruption_reports_and_dies() -> Outcome {
    use std::os::unix::process::ExitStatusExt as _;
    let mut child = heeding_interruptions()
        .args(["dd", "bs=10"])
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().ok_or("no pipe")?;
    let pid = rustix::process::Pid::from_child(&child);
    let stderr = child.stderr.take().ok_or("no pipe")?;
    let mut told = BufReader::new(stderr);
    let mut errors = String::new();
    for signal in [Signal::USR1, Signal::INT] {
        stdin.write_all(b"ten bytes!")?;
        wait_until("the record is written and the next one is waited for", || {
            rustix::io::ioctl_fionread(&stdin) == Ok(0) && is_idle(pid)
        });
        kill_process(pid, signal)?;
        for _ in 0..3 {
            told.read_line(&mut errors)?;
        }
    }
    let done = child.wait_with_output()?;
    assert_eq!(done.status.signal(), Some(2));
    assert!(errors.starts_with("1+0 records in\n1+0 records out\n10 bytes copied, "), "{errors}");
    assert!(errors.contains("\n2+0 records in\n2+0 records out\n20 bytes copied, "), "{errors}");
    Ok(())
}

#[test]
fn input_beyond_the_count_is_left_to_the_next_reader() -> Outcome {
    let scratch = Scratch::new()?;
    let bytes = noise((3 << 20) + 777);
    scratch.write("a", &bytes)?;
    for line in [
        "{ haul dd bs=256K count=9 status=none > b; cat > c; } < a",
        "{ haul dd bs=300K count=1000001B status=none > b; cat > c; } < a",
        "{ haul dd bs=256K count=9 iflag=fullblock status=none | cat > b; cat > c; } < a",
        "cat a | { haul dd bs=256K count=9 status=none > b; cat > c; }",
        "cat a | { haul dd bs=300K count=1000001B iflag=fullblock status=none > b; cat > c; }",
        "cat a | { haul dd bs=256K count=9 iflag=fullblock status=none | cat > b; cat > c; }",
    ] {
        demand(scratch.path(), &format!("{line}\ncat b c | cmp - a"))?;
    }
    Ok(())
}

#[test]
fn a_run_that_fails_has_read_no_more_than_it_says() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("a", noise(3 << 20))?;
    // The fifth record does not fit: five are read, and the next reader gets the sixth.
    let done = shell(
        scratch.path(),
        "{ (trap '' XFSZ; ulimit -f 1100; haul dd bs=256K > b); echo $?; cat > c; } < a
         stat -c %s b c",
    )?;
    let left = (3 << 20) - 5 * (256 << 10);
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert_eq!(said, format!("1\n1126400\n{left}\n"));
    let errors = String::from_utf8_lossy(&done.stderr).into_owned();
    let report = "dd: error writing 'standard output': File too large\n\
                  5+0 records in\n4+0 records out\n1126400 bytes ";
    assert!(errors.starts_with(report), "{errors}");
    Ok(())
}

/// A record of the tests below, as large as a pipe.
/// Several workers move the bulk by offsets; what follows is read and written at the positions.
#[test]
fn a_seek_that_fails_is_told_or_has_no_effect() -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let bytes = noise((10 << 20) + 123);
    let (input, output) = (scratch.write("a", &bytes)?, scratch.at("o"));
    let zeros = [&bytes[..100_000], &[0; 300_000]].concat();
    let sparse = scratch.write("zeros", &zeros)?;
    let mut wrong = Vec::new();
    for (input, expected, conv) in [(input, bytes, "conv=fsync"), (sparse, zeros, "conv=sparse")] {
        let names = [&input, &output].map(|path| path.display().to_string());
        let operands = [format!("if={}", names[0]), format!("of={}", names[1])];
        for call in ["lseek", "fstat"] {
            for nth in 1..20 {
                scratch.clear("o")?;
                let fault = format!("{call}:error=EIO:when={nth}");
                let strace = Strace::new(scratch.at("log")).trace(call).inject(&fault);
                let strace = names.iter().fold(strace, |strace, name| strace.of_file(name));
                let run = dd(["bs=64K", conv, "status=none"]).words(&operands);
                let done = strace.wrap(run).run()?;
                let is_right = if_there(fs::read(&output))?.as_ref() == Some(&expected);
                let is_told =
                    done.code() == Some(1) && done.errors().contains("Input/output error");
                if !is_told && (done.code() != Some(0) || !is_right) {
                    wrong.push(format!("{conv} {fault}: {done:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

const RECORD: usize = 256 << 10;

/// A `dd` between two pipes, whose other ends the test holds.
fn between_pipes() -> Outcome<(Child, PipeReader, PipeWriter, PipeReader)> {
    let (stdin, feeding) = std::io::pipe()?;
    let (draining, stdout) = std::io::pipe()?;
    for pipe in [feeding.as_fd(), stdout.as_fd()] {
        rustix::pipe::fcntl_setpipe_size(pipe, RECORD)?;
    }
    let child = heeding_interruptions()
        .args(["dd", "bs=256K", "iflag=fullblock"])
        .env("LC_ALL", "C")
        .stdin(stdin.try_clone()?)
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()?;
    Ok((child, stdin, feeding, draining))
}

#[test]
fn one_record_is_read_while_the_one_before_it_is_written_and_no_more() -> Outcome {
    let (mut child, stdin, mut feeding, mut draining) = between_pipes()?;
    drop(stdin);
    let fed = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let feeder = scope.spawn(|| {
            for record in noise(20 * RECORD).chunks(RECORD) {
                feeding.write_all(record)?;
                fed.fetch_add(1, Ordering::Relaxed);
            }
            drop(feeding);
            Ok::<(), std::io::Error>(())
        });
        let mut room = vec![0; RECORD];
        for _ in 0..4 {
            draining.read_exact(&mut room)?;
        }
        // The test has read four, one fills the pipe, one waits for room in it, one is read ahead, and
        // the eighth fills the input pipe.
        let pid = Pid::from_child(&child);
        wait_until("eight are taken in", || fed.load(Ordering::Relaxed) >= 8 && is_idle(pid));
        assert_eq!(fed.load(Ordering::Relaxed), 8);
        let mut rest = Vec::new();
        draining.read_to_end(&mut rest)?;
        assert_eq!(rest.len(), 16 * RECORD);
        feeder.join().map_err(|_| "the feeder failed")??;
        Ok::<(), Box<dyn std::error::Error>>(())
    })?;
    assert!(child.wait()?.success());
    Ok(())
}

#[test]
fn what_was_read_of_a_pipe_is_written_before_an_interruption_ends_it() -> Outcome {
    use std::os::unix::process::ExitStatusExt as _;
    let (child, mut stdin, mut feeding, mut draining) = between_pipes()?;
    let pid = rustix::process::Pid::from_child(&child);
    let bytes = noise(20 * RECORD);
    let mut got = vec![0; 4 * RECORD];
    let (rest, done) = std::thread::scope(|scope| {
        let feeder = scope.spawn(|| feeding.write_all(&bytes).map(|()| drop(feeding)));
        draining.read_exact(&mut got)?;
        wait_until("both pipes are full", || {
            rustix::io::ioctl_fionread(&stdin) == Ok(RECORD as u64) && is_idle(pid)
        });
        rustix::process::kill_process(pid, rustix::process::Signal::INT)?;
        draining.read_to_end(&mut got)?;
        let done = child.wait_with_output()?;
        let mut rest = Vec::new();
        stdin.read_to_end(&mut rest)?;
        feeder.join().map_err(|_| "the feeder failed")??;
        Ok::<_, Box<dyn std::error::Error>>((rest, done))
    })?;
    assert_eq!(done.status.signal(), Some(2));
    let errors = String::from_utf8_lossy(&done.stderr).into_owned();
    let records = got.len() / RECORD;
    let report = format!("{records}+0 records in\n{records}+0 records out\n");
    assert!(errors.starts_with(&report), "{} and {} bytes: {errors}", got.len(), rest.len());
    got.extend_from_slice(&rest);
    assert!(got == bytes, "{} of {} bytes", got.len(), bytes.len());
    Ok(())
}

#[test]
fn a_report_is_printed_while_no_input_arrives() -> Outcome {
    let (mut child, stdin, mut feeding, mut draining) = between_pipes()?;
    drop(stdin);
    let mut room = vec![0; RECORD];
    for record in noise(5 * RECORD).chunks(RECORD) {
        feeding.write_all(record)?;
        draining.read_exact(&mut room)?;
    }
    let pid = rustix::process::Pid::from_child(&child);
    wait_until("it waits for a record", || is_idle(pid));
    rustix::process::kill_process(pid, rustix::process::Signal::USR1)?;
    let mut told = BufReader::new(child.stderr.take().ok_or("no pipe")?);
    let mut lines = String::new();
    for _ in 0..2 {
        told.read_line(&mut lines)?;
    }
    assert_eq!(lines, "5+0 records in\n5+0 records out\n");
    drop(feeding);
    assert!(child.wait()?.success());
    Ok(())
}

/// Blocks until a process waits in openat(2): a file of a kind that does not block is not waited for.
fn wait_for_open(pid: Pid) -> Outcome {
    let path = format!("/proc/{}/syscall", pid.as_raw_nonzero());
    let waits = format!("{} ", libc::SYS_openat);
    while !fs::read_to_string(&path)?.starts_with(&waits) {
        std::thread::yield_now();
    }
    Ok(())
}

#[test]
fn a_fifo_that_is_waited_for_can_be_interrupted() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    mknodat(CWD, scratch.at("fifo"), FileType::Fifo, Mode::RWXU, 0)?;
    for words in [["if=fifo", "of=/dev/null"], ["if=/dev/null", "of=fifo"]] {
        let running = dd(words).in_dir(scratch.path()).start()?;
        wait_for_open(running.pid())?;
        kill_process(running.pid(), Signal::USR1)?;
        kill_process(running.pid(), Signal::INT)?;
        let done = running.wait()?;
        assert_eq!(done.signal(), Some(2), "{words:?}: {done:?}");
        let reports = done.errors().matches("0+0 records in\n0+0 records out\n").count();
        assert_eq!(reports, 2, "one was asked for, one is for the interruption: {done:?}");
    }
    Ok(())
}
