//! One command, from its start to its end.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use haul_sys::process::{ChildUsage, wait4};
use rustix::fs::MemfdFlags;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::watch::Watch;
use crate::tool::Command;

/// How many bytes of a command's standard error are kept: enough for its first messages.
const STDERR_BYTES: u64 = 2_000;

/// A command that has ended.
#[derive(Clone, Debug)]
pub(crate) struct Execution {
    /// Time from just before the start until the kernel reported the end.
    pub(crate) wall: Duration,
    /// Memory of this process that its peak includes.
    pub(crate) floor_bytes: u64,
    /// Its resource usage.
    pub(crate) usage: ChildUsage,
    /// The beginning of its standard error.
    pub(crate) stderr: String,
    /// The largest memory that the watch sampled, if it did.
    pub(crate) pss_bytes: Option<u64>,
}

/// Runs a command to its end, in a process group of its own, with empty standard input and
/// discarded standard output. `watch` kills it if it must end early.
///
/// # Errors
///
/// It could not be started.
pub(crate) fn execute(command: &Command, watch: &Watch) -> std::io::Result<Execution> {
    let stderr = memory_file()?;
    let mut builder = std::process::Command::new(command.program());
    builder.args(command.arguments());
    builder.stdin(Stdio::null()).stdout(Stdio::null());
    builder.stderr(
        stderr
            .as_ref()
            .map_or_else(|| Ok(Stdio::null()), |file| file.try_clone().map(Stdio::from))?,
    );
    builder.process_group(0);
    let floor_bytes = own_peak_bytes();
    let start = Instant::now();
    let child = builder.spawn()?;
    let pid = child.id();
    watch.began(pid);
    // Waiting without reaping keeps the process id reserved, so that the watch cannot kill another
    // process.
    let ended = wait_unreaped(pid);
    let wall = start.elapsed();
    let pss_bytes = watch.ended(pid);
    ended?;
    let usage = wait4(pid).map_err(|error| std::io::Error::from(error.errno))?;
    let stderr = stderr.map(beginning).unwrap_or_default();
    Ok(Execution { wall, floor_bytes, usage, stderr, pss_bytes })
}

/// Returns the peak memory of this process, after resetting it to the current use. The kernel
/// includes the peak of the parent in that of a new process (`setmax_mm_hiwater_rss` in
/// `fs/exec.c`), so a small tool appears as large as this process.
fn own_peak_bytes() -> u64 {
    // 5 resets the peak: proc_pid_clear_refs(5). If that is not allowed, the lower bound is higher.
    let _reset = fs::write("/proc/self/clear_refs", "5");
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// Blocks until the child has ended, and leaves it to be reaped.
fn wait_unreaped(pid: u32) -> std::io::Result<()> {
    let id = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let id = id.ok_or_else(|| std::io::Error::from(rustix::io::Errno::SRCH))?;
    loop {
        match waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Err(rustix::io::Errno::INTR) => {}
            result => return result.map(|_| ()).map_err(Into::into),
        }
    }
}

/// Creates a file in memory, because a pipe would need a reader; `None` if the kernel does not
/// support it.
fn memory_file() -> std::io::Result<Option<File>> {
    match rustix::fs::memfd_create("stderr", MemfdFlags::CLOEXEC) {
        Ok(fd) => Ok(Some(File::from(fd))),
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

fn beginning(mut file: File) -> String {
    let mut bytes = Vec::new();
    // The output only explains the exit status, so it may be missing.
    let _read =
        file.seek(SeekFrom::Start(0)).and_then(|_| file.take(STDERR_BYTES).read_to_end(&mut bytes));
    plain(&String::from_utf8_lossy(&bytes))
}

/// Removes control sequences from a tool's output, because it is shown on a terminal.
fn plain(text: &str) -> String {
    let mut shown = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            // A sequence ends with its first letter.
            let _sequence = characters.find(char::is_ascii_alphabetic);
        } else if character == '\n' || haul_manifest::is_shown(character) {
            shown.push(character);
        }
    }
    shown.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_do_not_reach_the_terminal() {
        assert_eq!(plain("Error: \u{1b}[1mgone\u{1b}[22m\u{7}\nmore\n"), "Error: gone\nmore");
    }
}
