//! Other programs: found, run, watched, and their output read line by line.
//!
//! There are two kinds. A *short* command (mount, losetup, mkfs) always runs to its end, so that a
//! signal cannot leave half of its work behind. A *long* one (cargo, make, the suites) gets the signals
//! of this process, and its lines are shown as they arrive.

use crate::error::{Context, Error, Result};
use crate::interrupt;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid,
};
use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Folders of mkfs, mount and losetup, which are not on every user's PATH.
const ADMIN_DIRS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Time for which the output may stay open after the command itself has ended: a daemon that a test
/// started may hold it, and five seconds suffice for lines that are still in the pipe.
const OUTPUT_LINGER: Duration = Duration::from_secs(5);

const POLL: Duration = Duration::from_millis(50);

fn search_path() -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    for dir in ADMIN_DIRS {
        path.push(":");
        path.push(dir);
    }
    path
}

/// Finds a program on PATH or among the administrator's programs.
pub(crate) fn which(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&search_path()).map(|dir| dir.join(program)).find(|path| path.is_file())
}

/// Makes a command without input, in its own process group, that also finds administrator's programs.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let program = program.as_ref();
    let found = program.to_str().and_then(which);
    let mut command = Command::new(found.as_deref().map_or(program, Path::as_os_str));
    command.env("PATH", search_path()).stdin(Stdio::null()).process_group(0);
    command
}

/// Makes a command of the cargo that runs this program.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(arguments);
    cargo
}

fn shown(command: &Command) -> String {
    let mut words =
        vec![Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy()];
    words.extend(command.get_args().map(OsStr::to_string_lossy));
    words.join(" ")
}

fn spawn(command: &mut Command) -> Result<Child> {
    command.spawn().map_err(|cause| {
        let error = Error::new(format!("cannot run `{}`: {cause}", shown(command)));
        match cause.kind() {
            io::ErrorKind::NotFound => {
                error.hint(format!("install {:?}", Path::new(command.get_program())))
            }
            _ => error,
        }
    })
}

/// Runs a short command to its end and returns its output; signals wait meanwhile.
///
/// A command that fails is an error with the text of its standard error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let child = spawn(command.stdout(Stdio::piped()).stderr(Stdio::piped()))?;
    let done = child.wait_with_output().context("wait for", shown(command))?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(Error::new(format!("`{}` failed ({}): {}", shown(command), done.status, said.trim())))
}

/// Runs a long command with the output of this process, passing signals on; fails if it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    interrupt::check()?;
    let mut child = spawn(command)?;
    let group = Pid::from_child(&child);
    interrupt::watch(group);
    while !ended(group, WaitIdOptions::empty())? {}
    let status = reap(&mut child, group)?;
    interrupt::check()?;
    if status.success() {
        return Ok(());
    }
    Err(Error::new(format!("`{}` failed ({status})", shown(command))))
}

/// Runs a long command whose output is for this program: passes each line of it to `see`.
///
/// Its standard error is shown. Returns its exit status; fails only if it could not be run or a signal arrived.
pub(crate) fn read(command: &mut Command, mut see: impl FnMut(&str)) -> Result<ExitStatus> {
    interrupt::check()?;
    let mut child = spawn(command.stdout(Stdio::piped()))?;
    let group = Pid::from_child(&child);
    interrupt::watch(group);
    if let Some(out) = child.stdout.take() {
        for line in BufReader::new(out).split(b'\n').map_while(io::Result::ok) {
            see(&String::from_utf8_lossy(&line));
        }
    }
    while !ended(group, WaitIdOptions::empty())? {}
    let status = reap(&mut child, group);
    interrupt::check()?;
    status
}

/// Runs a long command, shows each line that it prints and passes it to `see`.
///
/// Returns its exit status; fails only if it could not be run or a signal arrived.
pub(crate) fn stream(command: &mut Command, mut see: impl FnMut(&str)) -> Result<ExitStatus> {
    interrupt::check()?;
    let mut child = spawn(command.stdout(Stdio::piped()).stderr(Stdio::piped()))?;
    let group = Pid::from_child(&child);
    interrupt::watch(group);
    let (send, lines) = channel();
    if let Some(out) = child.stdout.take() {
        read_lines(out, Target::Out, send.clone());
    }
    if let Some(err) = child.stderr.take() {
        read_lines(err, Target::Err, send);
    }
    let drained = drain(&lines, group, &mut see);
    let status = reap(&mut child, group);
    drained?;
    interrupt::check()?;
    status
}

#[derive(Clone, Copy)]
enum Target {
    Out,
    Err,
}

/// Sends the lines of a pipe from a thread, until its end or until the receiver is dropped.
fn read_lines(pipe: impl Read + Send + 'static, target: Target, send: Sender<(Target, Vec<u8>)>) {
    std::thread::spawn(move || {
        let mut reader = BufReader::new(pipe);
        loop {
            let mut line = Vec::new();
            match reader.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) if send.send((target, line)).is_err() => break,
                Ok(_) => {}
            }
        }
    });
}

fn drain(
    lines: &Receiver<(Target, Vec<u8>)>,
    group: Pid,
    see: &mut impl FnMut(&str),
) -> Result<()> {
    let mut ended_at = None;
    loop {
        match lines.recv_timeout(POLL) {
            Ok((target, line)) => {
                show(target, &line);
                see(String::from_utf8_lossy(&line).trim_end());
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                if ended_at.is_none() && ended(group, WaitIdOptions::NOHANG)? {
                    ended_at = Some(Instant::now());
                }
                if ended_at.is_some_and(|at| at.elapsed() > OUTPUT_LINGER) {
                    eprintln!(
                        "xtask: a background process holds the output open; continuing without it"
                    );
                    return Ok(());
                }
            }
        }
    }
    while !ended(group, WaitIdOptions::empty())? {}
    Ok(())
}

fn show(target: Target, line: &[u8]) {
    // If the output has no reader any more, the run still has to end in order.
    match target {
        Target::Out => io::stdout().write_all(line).ok(),
        Target::Err => io::stderr().write_all(line).ok(),
    };
}

/// Whether the leader of the group has ended; it is not reaped, so that its number is not reused.
fn ended(group: Pid, wait: WaitIdOptions) -> Result<bool> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | wait;
    match waitid(WaitId::Pid(group), options) {
        Ok(status) => Ok(status.as_ref().is_some_and(|s: &WaitIdStatus| !s.continued())),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(cause) => Err(Error::new(format!("cannot wait for process {group:?}: {cause}"))),
    }
}

/// Kills the other processes of the leader's group, and reaps the leader.
fn reap(child: &mut Child, group: Pid) -> Result<ExitStatus> {
    interrupt::unwatch(group);
    // Usually only the leader is left, which has already ended.
    kill_process_group(group, Signal::KILL).ok();
    child.wait().context("wait for", format_args!("process {group:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_sees_both_outputs_and_the_exit_code() {
        let mut seen = Vec::new();
        let status = stream(command("sh").args(["-c", "echo a; echo b >&2; exit 3"]), |line| {
            seen.push(line.to_owned());
        })
        .unwrap();
        seen.sort();
        assert_eq!((seen, status.code()), (vec!["a".into(), "b".into()], Some(3)));
    }

    #[test]
    fn stream_ends_although_a_child_holds_the_output() {
        let begun = Instant::now();
        let script = "setsid sleep 30 & echo $!";
        let mut pid = String::new();
        stream(command("sh").args(["-c", script]), |line| pid = line.to_owned()).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(25));
        output(command("kill").arg(pid)).unwrap();
    }

    #[test]
    fn a_failed_command_is_named_with_what_it_said() {
        let error = output(command("sh").args(["-c", "echo why >&2; exit 1"])).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("sh -c") && text.contains("why"), "{text}");
        assert!(run(&mut command("no-such-program")).unwrap_err().to_string().contains("hint"));
    }
}
