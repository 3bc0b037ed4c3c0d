//! Running the program: with a time limit, as another user, under another program.
//!
//! A hang is a failure like any other, so every run has a watchdog; a panic or a crash is a failure of every
//! test.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::io::{Read, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use haul_sys::ptrace::SpawnPlan;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::filter::Filter;
use super::{Outcome, fence};

/// The time limit of a run, which ends a hang and no more: beside a load the longest takes a minute. `cargo
/// xtask test` has a limit for each test.
const HANG: Duration = Duration::from_secs(240);

/// Interval of memory measurements.
const LOOK: Duration = Duration::from_millis(5);

/// The unprivileged user of the tests; no account has this number.
pub(crate) const USER: u32 = 12345;

/// Returns the path of the program under test.
pub(crate) fn haul() -> PathBuf {
    std::env::var_os("HAUL_BIN").map_or_else(|| env!("CARGO_BIN_EXE_haul").into(), PathBuf::from)
}

/// A program to be run.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    words: Vec<OsString>,
    dir: Option<PathBuf>,
    environment: Vec<(OsString, Option<OsString>)>,
    input: Vec<u8>,
    output: Option<PathBuf>,
    watches_memory: bool,
    /// The only folders that it may write.
    fence: Option<Vec<PathBuf>>,
    filter: Option<Filter>,
}

/// Starts the command line of `haul cp`.
pub(crate) fn cp<W: AsRef<OsStr>>(words: impl IntoIterator<Item = W>) -> Call {
    Call::of(haul()).word("cp").words(words)
}

impl Call {
    pub(crate) fn of(program: impl AsRef<OsStr>) -> Call {
        Call {
            words: vec![program.as_ref().to_owned()],
            dir: None,
            // Tests compare messages, so they are those of the C locale.
            environment: vec![
                ("LC_ALL".into(), Some("C".into())),
                ("POSIXLY_CORRECT".into(), None),
                // cargo sets it, and the loader would search its folders for every library.
                ("LD_LIBRARY_PATH".into(), None),
            ],
            input: Vec::new(),
            output: None,
            watches_memory: false,
            fence: None,
            filter: None,
        }
    }

    pub(crate) fn word(mut self, word: impl AsRef<OsStr>) -> Call {
        self.words.push(word.as_ref().to_owned());
        self
    }

    pub(crate) fn words<W: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = W>) -> Call {
        self.words.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    pub(crate) fn in_dir(mut self, dir: impl Into<PathBuf>) -> Call {
        self.dir = Some(dir.into());
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Call {
        self.environment.push((name.into(), Some(value.into())));
        self
    }

    pub(crate) fn input(mut self, bytes: impl Into<Vec<u8>>) -> Call {
        self.input = bytes.into();
        self
    }

    /// Sends standard output to a file.
    pub(crate) fn output_to(mut self, path: impl Into<PathBuf>) -> Call {
        self.output = Some(path.into());
        self
    }

    /// Allows it to write only below these folders; see [`fence::is_possible`].
    pub(crate) fn behind_fence(mut self, writable: Vec<PathBuf>) -> Call {
        self.fence = Some(writable);
        self
    }

    /// Makes the kernel refuse these calls with this errno, as in a container.
    pub(crate) fn behind_filter(mut self, calls: &[i64], errno: i32) -> Call {
        self.filter = Some(Filter { calls: calls.to_vec(), errno });
        self
    }

    pub(crate) fn watching_memory(mut self) -> Call {
        self.watches_memory = true;
        self
    }

    /// Runs it under another program: these words come first.
    pub(crate) fn under<W: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = W>) -> Call {
        let mut all: Vec<OsString> =
            words.into_iter().map(|word| word.as_ref().to_owned()).collect();
        all.append(&mut self.words);
        self.words = all;
        self
    }

    /// Runs it as a user without privileges; only root can.
    pub(crate) fn by_user(self) -> Call {
        let (uid, gid) = (format!("--reuid={USER}"), format!("--regid={USER}"));
        self.under(["setpriv", &uid, &gid, "--clear-groups", "--"])
    }

    /// Runs it with another file-mode creation mask.
    pub(crate) fn with_umask(self, mask: &str) -> Call {
        self.under(["sh", "-c", &format!("umask {mask} && exec \"$0\" \"$@\"")])
    }

    fn command(&self) -> Command {
        let mut words = self.words.iter();
        let mut command = Command::new(words.next().cloned().unwrap_or_default());
        command.args(words).process_group(0);
        if let Some(dir) = &self.dir {
            command.current_dir(dir);
        }
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    /// Returns its standard input.
    pub(super) fn given(&self) -> &[u8] {
        &self.input
    }

    /// Describes it for a tracer, which starts it itself.
    pub(super) fn plan(&self, streams: [Option<OwnedFd>; 3]) -> Outcome<SpawnPlan> {
        let text = |text: &OsStr| CString::new(text.as_encoded_bytes());
        let mut environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        for (name, value) in &self.environment {
            match value {
                Some(value) => environment.insert(name.clone(), value.clone()),
                None => environment.remove(name),
            };
        }
        let pair = |(mut name, value): (OsString, OsString)| {
            name.push("=");
            name.push(value);
            text(&name)
        };
        let program = self.words.first().ok_or("a command without words")?;
        Ok(SpawnPlan {
            program: text(program)?,
            arguments: self.words.iter().map(|word| text(word)).collect::<Result<_, _>>()?,
            environment: Some(environment.into_iter().map(pair).collect::<Result<_, _>>()?),
            directory: self.dir.as_ref().map(|dir| text(dir.as_os_str())).transpose()?,
            streams,
            mark: None,
        })
    }

    /// Starts it.
    pub(crate) fn start(&self) -> Outcome<Running> {
        let mut command = self.command();
        command.stderr(Stdio::piped());
        command.stdin(if self.input.is_empty() { Stdio::null() } else { Stdio::piped() });
        match &self.output {
            Some(path) => command.stdout(std::fs::File::options().write(true).open(path)?),
            None => command.stdout(Stdio::piped()),
        };
        let fence = self.fence.clone();
        let fence = fence.or_else(|| fence::writable(&self.words, self.dir.as_ref()));
        let started = match (&self.filter, fence) {
            (Some(filter), _) => filter.start(&mut command),
            (None, Some(places)) => fence::start(&mut command, &places),
            (None, None) => command.spawn().map_err(|error| error.to_string()),
        };
        let mut child = started.map_err(|error| format!("cannot run {:?}: {error}", self.words))?;
        if let Some(mut stdin) = child.stdin.take() {
            let input = self.input.clone();
            // The program may not read it; then writing fails, which is no error here.
            std::thread::spawn(move || stdin.write_all(&input));
        }
        let (stdout, stderr) = (child.stdout.take().map(drain), child.stderr.take().map(drain));
        Ok(Running {
            shown: format!("{:?}", self.words),
            child,
            stdout,
            stderr,
            watches_memory: self.watches_memory,
        })
    }

    /// Runs it to its end.
    ///
    /// # Panics
    ///
    /// If it hangs, panics or crashes.
    pub(crate) fn run(&self) -> Outcome<Done> {
        self.start()?.wait()
    }

    /// Runs it to its end and asserts success: nothing on standard error, exit code 0.
    pub(crate) fn succeed(&self) -> Outcome<Done> {
        let done = self.run()?;
        assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""), "{:?}", self.words);
        Ok(done)
    }
}

fn drain(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // After an error, the output read so far is used.
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

/// A program that runs.
pub(crate) struct Running {
    shown: String,
    child: Child,
    stdout: Option<JoinHandle<Vec<u8>>>,
    stderr: Option<JoinHandle<Vec<u8>>>,
    watches_memory: bool,
}

impl Running {
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Waits for the end.
    ///
    /// # Panics
    ///
    /// If it hangs, panics or crashes.
    pub(crate) fn wait(mut self) -> Outcome<Done> {
        let pid = self.pid();
        let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
        let begun = Instant::now();
        let mut peak_bytes = 0;
        loop {
            let left = HANG.saturating_sub(begun.elapsed());
            let step = if self.watches_memory { LOOK.min(left) } else { left };
            let step = Timespec::try_from(step)?;
            if poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&step))? > 0 {
                break;
            }
            if self.watches_memory {
                peak_bytes = peak_bytes.max(peak_resident(pid));
            }
            if begun.elapsed() >= HANG {
                // Every run has a process group of its own, so the kill hits no other process.
                kill_process_group(pid, Signal::KILL)?;
                self.child.wait()?;
                panic!("hang: {} ran for {HANG:?}", self.shown);
            }
        }
        let status = self.child.wait()?;
        let read = |drained: Option<JoinHandle<Vec<u8>>>| {
            drained.and_then(|thread| thread.join().ok()).unwrap_or_default()
        };
        let (stdout, stderr) = (read(self.stdout.take()), read(self.stderr.take()));
        let done = Done { status, stdout, stderr, peak_bytes };
        assert!(!done.crashed(), "crash: {}: {done:?}", self.shown);
        Ok(done)
    }
}

/// Reads the peak resident set so far. Not from `wait4`, whose figure includes the memory of this
/// process when it forked.
fn peak_resident(pid: Pid) -> u64 {
    let path = format!("/proc/{}/status", pid.as_raw_nonzero());
    let text = std::fs::read_to_string(Path::new(&path)).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// The result of a run.
#[derive(Clone)]
pub(crate) struct Done {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// The peak resident set; 0 if it was not measured.
    pub(crate) peak_bytes: u64,
}

/// Returns standard error as text.
impl std::fmt::Debug for Done {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let most = |text: String| text.chars().take(2000).collect::<String>();
        write!(f, "{}; {}{}", self.status, most(self.text()), most(self.errors()))
    }
}

impl Done {
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    pub(crate) fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    pub(crate) fn errors(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Returns whether it panicked: a panic unwinds to exit code 101, or aborts, depending on the profile.
    pub(crate) fn crashed(&self) -> bool {
        const ABORT: [i32; 5] = [4, 6, 7, 8, 11];
        self.code() == Some(101)
            || self.signal().is_some_and(|signal| ABORT.contains(&signal))
            || self.errors().contains("panicked at")
    }
}
