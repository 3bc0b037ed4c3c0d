//! `haul compare`: compares two trees in every aspect of their entries.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::ExitCode;

use haul_engine::select::Purpose;
use haul_manifest::{Failure, Finding, Side, Summary, Verdict, compare_for};

use super::options::{OPTIONS, Settings, help};
use super::pages::{Alone, Pages};
use super::selecting::Selecting;
use crate::ending::{self, CommandError};
use crate::getopt::{Usage, parse};
use crate::option::color::Paint;
use crate::option::effect::{Asked, read_words};
use crate::output::Output;

const PROGRAM: &str = "haul compare";

/// The exit status after an error, as with cmp and diff: 1 means that they differ.
pub(super) const ERROR: u8 = 2;

/// What the command line asks for.
pub(super) enum Command {
    Compare(Settings, [OsString; 2]),
    Print(String),
}

/// Runs `compare` with its arguments.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    run_as(PROGRAM, arguments)
}

/// Does the same for another command, which its messages name.
pub(crate) fn run_as(program: &str, arguments: &[OsString]) -> ExitCode {
    let output = Output::new(program);
    match read(arguments) {
        Ok(Command::Print(text)) => ending::print_or(&output, &text, ERROR),
        Ok(Command::Compare(settings, [a, b])) => {
            compare(&output, &settings, Path::new(&a), Path::new(&b))
        }
        Err(error) => refuse(&output, &error),
    }
}

/// Refuses a command line.
pub(super) fn refuse(output: &Output, error: &CommandError) -> ExitCode {
    ending::refused(output, error);
    ExitCode::from(ERROR)
}

/// Reads the arguments.
pub(super) fn read(arguments: &[OsString]) -> Result<Command, CommandError> {
    let mut settings = Settings::new();
    let operands = match read_words(parse(arguments, OPTIONS), &mut settings, PROGRAM, help)? {
        Asked::Print(text) => return Ok(Command::Print(text)),
        Asked::Work(operands) => operands,
    };
    let operands: [OsString; 2] = operands.try_into().map_err(|operands: Vec<OsString>| {
        Usage(match operands.get(2) {
            None => "two trees are needed".to_owned(),
            Some(extra) => {
                format!("extra operand {}", crate::escape::quote(extra.as_encoded_bytes()))
            }
        })
    })?;
    Ok(Command::Compare(settings, operands))
}

fn compare(output: &Output, settings: &Settings, a: &Path, b: &Path) -> ExitCode {
    let compare_options = settings.compare_options();
    // Both trees are one operand: they have the same names.
    let selection = match settings.select.selection(Purpose::Read, 1) {
        Ok(selection) => selection,
        Err(error) => return refuse(output, &error),
    };
    let selecting = selection.as_ref().map(|selection| Selecting::new(selection, a));
    let mut report = |finding: Finding| print_finding(output, settings, (a, b), &finding);
    let mut caller = Alone { report: &mut report, pages: Pages::new(settings.data()), selecting };
    let mut summary = compare_for(&mut caller, a, b, &compare_options);
    for name in selection.iter().flat_map(|selection| selection.missing()) {
        summary.failures += 1;
        output.error(&format!("neither tree has the listed name {}", crate::escape::quote(name)));
    }
    print_summary(output, settings, &summary)
}

/// Prints a difference, or what could not be compared.
pub(super) fn print_finding(
    output: &Output,
    settings: &Settings,
    (a, b): (&Path, &Path),
    finding: &Finding,
) {
    match finding {
        Finding::Difference(_) if settings.quiet => {}
        Finding::Difference(difference) if settings.json => {
            output.line(&json("difference", difference));
        }
        Finding::Difference(difference) => {
            let zone = haul_sys::process::Zone::Local;
            let paint = Paint::new(settings.color, output);
            output.line(&super::difference::line(difference, (a, b), zone, paint));
        }
        Finding::Failure { side, failure, .. } => {
            let tree = if *side == Side::A { a } else { b };
            output.error(&failure_text(tree, failure));
        }
    }
}

/// Prints what was compared and found, and returns the exit status.
pub(super) fn print_summary(output: &Output, settings: &Settings, summary: &Summary) -> ExitCode {
    if settings.json {
        output.line(&json("summary", summary));
    } else if !settings.quiet {
        if let Some(text) = left_out(summary) {
            output.line(&text);
        }
        let bytes = crate::sizes::bytes(summary.bytes);
        let paint = Paint::new(settings.color, output);
        let mark = match summary.verdict() {
            Verdict::Equal => Paint::green,
            Verdict::Different | Verdict::Trouble => Paint::red,
        };
        let verdict = mark(paint, &summary.conclusion());
        let entries = crate::sizes::counted(summary.entries, "entry", "entries");
        output.line(&format!("{entries}, {bytes} compared: {verdict}"));
    }
    let written = output.finish();
    match summary.verdict() {
        Verdict::Equal if written => ExitCode::SUCCESS,
        Verdict::Different if written => ExitCode::from(1),
        _ => ExitCode::from(ERROR),
    }
}

/// Says which differences do not count, if there are any.
fn left_out(summary: &Summary) -> Option<String> {
    let counts: Vec<String> =
        summary.left_out.iter().map(|(what, count)| format!("{what} of {count}")).collect();
    (!counts.is_empty()).then(|| {
        format!(
            "left out, because one file system cannot store what the other has: {} (--exact reports them)",
            counts.join(", ")
        )
    })
}

/// Says what could not be compared, with the path as a person would name it.
fn failure_text(tree: &Path, failure: &Failure) -> String {
    let path = match failure.path.0.as_slice() {
        [] => tree.to_owned(),
        below => tree.join(OsStr::from_bytes(below)),
    };
    let why = crate::file_error::describe(&failure.to_io_error());
    let path = crate::escape::quote(path.as_os_str().as_bytes());
    format!("cannot {} {path}: {why}", failure.action.phrase())
}

/// Puts the event's name in front of a serialised value.
fn json(event: &str, value: &impl serde::Serialize) -> String {
    let mut object = serde_json::to_value(value).unwrap_or_default();
    if let Some(map) = object.as_object_mut() {
        map.insert("event".to_owned(), event.into());
    }
    crate::json_line::line(object)
}
