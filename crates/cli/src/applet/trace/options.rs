//! The command line of `haul trace`: what to run, what to observe, where reports go.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use haul_trace::render::Detail;
use haul_trace::{Backend, Files, Grouping, Stacks, TraceOptions};

use super::words;
use crate::ending::CommandError;
use crate::getopt::{Opt, Takes, Usage, Word, choose, opt, parse_before_command};
use crate::option::effect::{Answer, Effect, help_row, read as read_by, set, version_row};
use crate::value::{Dash, file};

pub(super) const OPTIONS: &[Opt<Effect<Draft>>] = &[
    opt(
        set(|trace| trace.is_all = true),
        ("", "all"),
        Takes::Nothing,
        "show every call with histograms of sizes and\nlatencies, by process",
    ),
    opt(
        read_by(|trace, word| {
            trace.grouping = Some(choose("--by", &word, GROUPINGS)?);
            Ok(())
        }),
        ("", "by"),
        Takes::Required("WHAT"),
        "add up by process (the default with --all),\ncommand, thread or total (the default)",
    ),
    opt(
        set(|trace| trace.trace.files = Files::Observed),
        ("", "files"),
        Takes::Nothing,
        "show the calls of the files with most bytes, too:\n10, with --all 50",
    ),
    opt(
        read_by(|trace, names| {
            trace.trace.filter.extend(list(&names)?);
            Ok(())
        }),
        ("", "filter"),
        Takes::Required("LIST"),
        "observe these calls alone: read,write,...;\nio_uring operations are io_uring:read",
    ),
    opt(
        set(|trace| trace.lists = true),
        ("", "list"),
        Takes::Nothing,
        "first list each call with arguments, files, result,\ntime and processor time, in the order of their ends",
    ),
    opt(
        read_by(|trace, line| {
            trace.versus = Some(words::split(&line)?);
            Ok(())
        }),
        ("", "vs"),
        Takes::Required("'COMMAND B'"),
        "then run this command, and compare the two",
    ),
    opt(
        read_by(|trace, name| {
            trace.json = Some(file("--json", Some(name), Dash::Output)?);
            Ok(())
        }),
        ("", "json"),
        Takes::Required("FILE"),
        "write the figures to FILE as well, as JSON",
    ),
    opt(
        read_by(|trace, name| {
            trace.svg = Some(file("--svg", Some(name), Dash::Output)?);
            Ok(())
        }),
        ("", "svg"),
        Takes::Required("FILE"),
        "write a picture to FILE as well: time by call,\nsizes, latencies",
    ),
    opt(
        read_by(|trace, name| {
            trace.stacks.push(file("--stacks", Some(name), Dash::Output)?);
            trace.trace.stacks = Stacks::Observed;
            Ok(())
        }),
        ("", "stacks"),
        Takes::Required("FILE"),
        "write the time of the kernel's functions to FILE, by\nstack: a picture if its name ends in .svg, else\nlines of folded stacks; needs root",
    ),
    opt(
        read_by(|trace, name| {
            trace.output = Some(file("--output", Some(name), Dash::Output)?);
            Ok(())
        }),
        ("o", "output"),
        Takes::Required("FILE"),
        "write the report to FILE, not standard error",
    ),
    opt(
        read_by(|trace, number| {
            trace.pid = Some(pid(&number)?);
            Ok(())
        }),
        ("p", "pid"),
        Takes::Required("PID"),
        "observe a process that runs already",
    ),
    opt(
        read_by(|trace, text| {
            trace.trace.duration = Some(duration(&text)?);
            Ok(())
        }),
        ("", "for"),
        Takes::Required("DURATION"),
        "observe no longer than this (500ms, 5s, 2m); haul\nstill waits for the command",
    ),
    opt(
        read_by(|trace, word| {
            trace.trace.backend = choose("--backend", &word, BACKENDS)?;
            Ok(())
        }),
        ("", "backend"),
        Takes::Required("NAME"),
        "ebpf, ptrace, or auto: eBPF where the kernel\nallows it, else ptrace (the default)",
    ),
    help_row(),
    version_row(),
];

/// What is traced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// A program and its arguments, or two, one after the other.
    Commands(Vec<Vec<OsString>>),
    /// A process that runs already.
    Process(u32),
}

/// What a command line asks for.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) subject: Subject,
    /// How much is shown.
    pub(super) detail: Detail,
    /// How to add up, if the command line says so.
    pub(super) grouping: Option<Grouping>,
    pub(super) trace: TraceOptions,
    /// Whether to list each call.
    pub(super) lists: bool,
    pub(super) json: Option<OsString>,
    pub(super) svg: Option<OsString>,
    /// Files for the time of kernel stacks.
    pub(super) stacks: Vec<OsString>,
    pub(super) output: Option<OsString>,
}

/// What to do.
#[derive(Debug)]
pub(super) enum Wanted {
    Print(Answer),
    Trace(Box<Settings>),
}

/// What was read so far.
#[derive(Default)]
pub(super) struct Draft {
    is_all: bool,
    lists: bool,
    grouping: Option<Grouping>,
    trace: TraceOptions,
    versus: Option<Vec<OsString>>,
    pid: Option<u32>,
    json: Option<OsString>,
    svg: Option<OsString>,
    stacks: Vec<OsString>,
    output: Option<OsString>,
}

/// Reads the applet's arguments.
pub(super) fn read(arguments: &[OsString]) -> Result<Wanted, CommandError> {
    let mut draft = Draft::default();
    let mut command = Vec::new();
    for word in parse_before_command(arguments, OPTIONS)? {
        match word {
            Word::Operand(operand) => command.push(operand),
            Word::Option { id: effect, value } => match effect.answer() {
                Some(answer) => return Ok(Wanted::Print(answer)),
                None => effect.apply(&mut draft, value)?,
            },
        }
    }
    if draft.lists && draft.versus.is_some() {
        return Err(said("--list and --vs exclude each other: list one command after the other"));
    }
    if !draft.stacks.is_empty() && draft.versus.is_some() {
        return Err(said(
            "--stacks and --vs exclude each other: record one command after the other",
        ));
    }
    if !draft.stacks.is_empty() && draft.trace.backend == Backend::Ptrace {
        return Err(said("--stacks needs eBPF; ptrace does not see the kernel's stacks"));
    }
    let subject = match (draft.pid, draft.versus, command.is_empty()) {
        (Some(pid), None, true) => Subject::Process(pid),
        (Some(_), Some(_), _) => return Err(said("-p and --vs exclude each other")),
        (Some(_), None, false) => return Err(said("-p and a command exclude each other")),
        (None, _, true) => return Err(said("there is no command to trace, and no -p PID")),
        (None, None, false) => Subject::Commands(vec![command]),
        (None, Some(other), false) => Subject::Commands(vec![command, other]),
    };
    let Draft { is_all, lists, grouping, trace, json, svg, stacks, output, .. } = draft;
    let detail = if is_all { Detail::All } else { Detail::Short };
    let settings = Settings { subject, detail, grouping, trace, lists, json, svg, stacks, output };
    Ok(Wanted::Trace(Box::new(settings)))
}

fn said(text: &str) -> CommandError {
    CommandError::Usage(Usage(text.to_owned()))
}

impl Settings {
    /// Returns how the report for people adds up.
    pub(super) fn shown_grouping(&self) -> Grouping {
        self.grouping.unwrap_or(match self.detail {
            Detail::Short => Grouping::Total,
            Detail::All => Grouping::Process,
        })
    }
}

const GROUPINGS: &[(&str, Grouping)] = &[
    ("process", Grouping::Process),
    ("command", Grouping::Command),
    ("thread", Grouping::Thread),
    ("total", Grouping::Total),
];

const BACKENDS: &[(&str, Backend)] =
    &[("auto", Backend::Auto), ("ebpf", Backend::Ebpf), ("ptrace", Backend::Ptrace)];

fn quoted(value: &OsStr) -> String {
    crate::escape::quote_word(value.as_bytes())
}

/// Reads the names of calls.
fn list(value: &OsStr) -> Result<Vec<String>, Usage> {
    let text = value.to_string_lossy();
    let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
    if names.iter().any(String::is_empty) {
        let quoted = quoted(value);
        return Err(Usage(format!("--filter takes names such as read,write, not {quoted}")));
    }
    Ok(names)
}

fn pid(value: &OsStr) -> Result<u32, Usage> {
    let pid = value.to_str().and_then(|text| text.parse().ok()).filter(|pid| *pid > 0);
    pid.ok_or_else(|| Usage(format!("invalid process number {}", quoted(value))))
}

/// Reads `500ms`, `5s`, `1.5s`, `2m`, `1h`; a number alone is seconds, as `sleep` has it.
fn duration(value: &OsStr) -> Result<Duration, Usage> {
    let invalid = || {
        let quoted = quoted(value);
        Usage(format!("invalid duration {quoted}: write 500ms, 5s or 2m"))
    };
    let text = value.to_str().ok_or_else(invalid)?;
    let end = text.find(|letter: char| letter != '.' && !letter.is_ascii_digit());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let unit_seconds = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(invalid()),
    };
    let number: f64 = number.parse().map_err(|_| invalid())?;
    let duration = Duration::try_from_secs_f64(number * unit_seconds).map_err(|_| invalid())?;
    if duration.is_zero() { Err(invalid()) } else { Ok(duration) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(line: &[&str]) -> Result<Box<Settings>, String> {
        let words: Vec<OsString> = line.iter().map(OsString::from).collect();
        match read(&words) {
            Ok(Wanted::Trace(settings)) => Ok(settings),
            Ok(other) => Err(format!("{other:?}")),
            Err(CommandError::Usage(Usage(text)) | CommandError::Plain(text)) => Err(text),
        }
    }

    #[test]
    fn options_end_where_the_command_begins() {
        let read = settings(&["--by", "total", "ls", "--by", "-p"]).unwrap();
        assert_eq!((read.grouping, read.detail), (Some(Grouping::Total), Detail::Short));
        assert_eq!(settings(&["--all", "ls", "-a"]).unwrap().detail, Detail::All);
        assert_eq!(
            read.subject,
            Subject::Commands(vec![["ls", "--by", "-p"].map(Into::into).into()])
        );
        let read = settings(&["--vs", "a 'b c'", "--", "--json"]).unwrap();
        let second = ["a", "b c"].map(Into::into).into();
        assert_eq!(read.subject, Subject::Commands(vec![vec!["--json".into()], second]));
    }

    #[test]
    fn a_command_or_a_process_but_not_both() {
        assert_eq!(settings(&["-p", "7"]).unwrap().subject, Subject::Process(7));
        for line in [
            &["-p7", "ls"][..],
            &["-p7", "--vs=ls"],
            &[],
            &["--files"],
            &["--vs", "ls"],
            &["--list", "--vs=ls", "ls"],
            &["--stacks=x", "--vs=ls", "ls"],
            &["--stacks=x", "--backend=ptrace", "ls"],
        ] {
            assert!(settings(line).is_err(), "{line:?}");
        }
    }

    #[test]
    fn values_are_checked() {
        let read = settings(&["--filter", "read, write", "--filter=openat", "x"]).unwrap();
        assert_eq!(read.trace.filter.len(), 3);
        for line in [
            ["--filter", ""],
            ["--filter", "read,,write"],
            ["-p", "0"],
            ["-p", "-1"],
            ["-p", "x"],
            ["--by", "user"],
            ["--backend", "dtrace"],
            ["--vs", "a | b"],
            ["--svg", "--"],
            ["--json", "--"],
            ["-o", "--"],
            ["--svg", ""],
        ] {
            assert!(settings(&[line[0], line[1], "x"]).is_err(), "{line:?}");
        }
    }

    #[test]
    fn durations_have_units() {
        let ms = |text: &str| duration(OsStr::new(text)).map(|duration| duration.as_millis());
        for (text, expected) in
            [("500ms", 500), ("5s", 5000), ("5", 5000), ("1.5s", 1500), ("2m", 120_000)]
        {
            assert_eq!(ms(text), Ok(expected), "{text}");
        }
        for text in ["", "s", "0", "0s", "-1s", "5 s", "5d", "1e3", "inf", "1..2", "0.0000000001s"]
        {
            assert!(ms(text).is_err(), "{text}");
        }
    }
}
