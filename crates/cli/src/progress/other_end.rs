//! The program at the other end of a pipe, which the line of progress names: `waiting for gzip`.
//!
//! The kernel does not tell who has the other end, so /proc is searched: see proc(5). Only processes
//! of the same session are looked at; a pipeline that a shell starts is in one.

use haul_sys::sync::Mutex;
use std::fs;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use haul_manifest::is_shown;
use haul_sys::fs::{Kind, fstat};

/// How long a name is believed: the reader of a pipe may start another program.
const FRESH: Duration = Duration::from_secs(2);

/// What another process does with the pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Reader,
    Writer,
}

/// The other end of standard input or output.
pub(crate) struct OtherEnd {
    /// Text of the links that lead to the pipe; `None` where there is no pipe.
    pipe: Option<String>,
    end: End,
    found: Mutex<Option<(Instant, Option<String>)>>,
}

impl OtherEnd {
    pub(crate) fn of(fd: impl AsFd, end: End) -> OtherEnd {
        // Of what cannot be described no other end is known.
        let stat = fstat(fd).ok().filter(|stat| stat.kind() == Kind::Fifo);
        let pipe = stat.map(|stat| format!("pipe:[{}]", stat.ino));
        OtherEnd { pipe, end, found: Mutex::new(None) }
    }

    /// Returns what a run says that waits for the other end.
    pub(crate) fn awaited(&self) -> String {
        let name = self.name();
        let other = match self.end {
            End::Reader => "the reader of the pipe",
            End::Writer => "the writer of the pipe",
        };
        format!("waiting for {}", name.as_deref().unwrap_or(other))
    }

    fn name(&self) -> Option<String> {
        let pipe = self.pipe.as_ref()?;
        let mut found = self.found.lock();
        if let Some((when, name)) = &*found
            && when.elapsed() < FRESH
        {
            return name.clone();
        }
        let name = search(pipe, self.end);
        *found = Some((Instant::now(), name.clone()));
        name
    }
}

/// Returns the name of the youngest process of this session that has that end of the pipe: a shell
/// that started the program has the end, too.
fn search(pipe: &str, end: End) -> Option<String> {
    let own = std::process::id();
    let session = session_of(own)?;
    // Processes that end meanwhile, or belong to another user, have nothing to tell.
    let all = fs::read_dir("/proc").ok()?.flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut others: Vec<u32> =
        numbers.filter(|pid| *pid != own && session_of(*pid) == Some(session)).collect();
    others.sort_unstable();
    let pid = others.into_iter().rev().find(|pid| has(*pid, pipe, end))?;
    let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let comm = fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(shown(&comm, &words))
}

/// Returns the session of a process, the sixth field of its `stat`.
fn session_of(pid: u32) -> Option<u32> {
    // A process that has ended has none.
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = String::from_utf8_lossy(stat.get(end + 1..)?).into_owned();
    fields.split_whitespace().nth(3)?.parse().ok()
}

/// Returns whether a process has that end of the pipe open.
fn has(pid: u32, pipe: &str, end: End) -> bool {
    let Ok(all) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    all.flatten().any(|entry| {
        let is_pipe = fs::read_link(entry.path()).is_ok_and(|link| link.as_os_str() == pipe);
        let number = entry.file_name();
        let info = || fs::read_to_string(format!("/proc/{pid}/fdinfo/{}", number.display()));
        is_pipe && info().is_ok_and(|info| end_of(&info) == Some(end))
    })
}

/// Reads the end from a text of `fdinfo`.
fn end_of(info: &str) -> Option<End> {
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
    match u32::from_str_radix(flags.trim(), 8).ok()? & 0o3 {
        0 => Some(End::Reader),
        1 => Some(End::Writer),
        _ => None,
    }
}

/// Returns the name of a program, and the command of haul.
fn shown(comm: &[u8], words: &[u8]) -> String {
    let plain = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        text.trim_end().chars().map(|c| if is_shown(c) { c } else { '?' }).collect::<String>()
    };
    let name = plain(comm);
    match words.split(|byte| *byte == 0).nth(1) {
        Some(command) if name == "haul" => format!("haul {}", plain(command)),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_told_by_the_flags() {
        assert_eq!(end_of("pos:\t0\nflags:\t0100000\nmnt_id:\t15\n"), Some(End::Reader));
        assert_eq!(end_of("pos:\t0\nflags:\t01\n"), Some(End::Writer));
        assert_eq!(end_of("pos:\t0\nflags:\t0100002\n"), None);
        assert_eq!(end_of("pos:\t0\n"), None);
    }

    #[test]
    fn a_name_draws_nothing_on_the_terminal() {
        assert_eq!(shown(b"gzip\n", b"gzip\0-9\0"), "gzip");
        assert_eq!(shown(b"haul\n", b"haul\0write\0x\0"), "haul write");
        assert_eq!(shown(b"a\x1b[2J\n", b""), "a?[2J");
        assert_eq!(shown("a\u{202e}b".as_bytes(), b""), "a?b");
    }

    #[test]
    fn a_file_has_no_other_end() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let other = OtherEnd::of(&file, End::Reader);
        assert_eq!(other.awaited(), "waiting for the reader of the pipe");
    }
}
