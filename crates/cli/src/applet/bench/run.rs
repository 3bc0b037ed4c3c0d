//! `haul bench`: which way of copying or deleting is fastest here, with evidence.
//!
//! The library measures; this applet finds the tools, chooses the place, shows progress, and prints
//! the results, also those of an interrupted session.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use haul_bench::{
    BenchOptions, Error, Found, Results, Services, TimeLimit, discover, estimate, render,
    run as measure,
};
use haul_sys::process::{die_by, hear_stop, stop_signal};

use super::help::help;
use super::options::{Settings, Wanted, read};
use super::plan::{Refusal, largest, list, plan, search_path};
use super::watch::{Progress, rough};
use crate::ending::{self, CommandError};
use crate::escape::quote;
use crate::file_error::describe;
use crate::getopt::Usage;
use crate::option::color::Paint;
use crate::output::Output;
use crate::sizes::counted;

const PROGRAM: &str = "haul bench";

/// The exit status for an invalid command line.
const USAGE: u8 = 2;

/// Runs `bench` with its arguments.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let output = Output::new(PROGRAM);
    match read(arguments) {
        Ok(Wanted::Print(answer)) => {
            ending::print_and_end(&output, &answer.text(PROGRAM, || help(PROGRAM)))
        }
        Ok(Wanted::List(settings)) => ending::print_and_end(&output, &list(&tools(&settings))),
        Ok(Wanted::Compare(old, new)) => compare(&output, &old, &new),
        Ok(Wanted::Measure(settings)) => bench(&output, &settings),
        Err(error) => refused(&output, &error),
    }
}

fn refused(output: &Output, error: &CommandError) -> ExitCode {
    ending::refused(output, error);
    ExitCode::from(USAGE)
}

/// Looks for tools; haul is the running binary, unless another is named.
fn tools(settings: &Settings) -> Vec<Found> {
    match &settings.haul {
        Some(haul) => discover(&search_path(), Some(haul)),
        None => tools_with_this_haul(),
    }
}

/// Looks for tools, with the running haul; where /proc does not name it, with the one of PATH.
pub(crate) fn tools_with_this_haul() -> Vec<Found> {
    // Without /proc the running file has no name.
    let own = std::env::current_exe().ok();
    discover(&search_path(), own.as_deref())
}

fn compare(output: &Output, old: &OsStr, new: &OsStr) -> ExitCode {
    let read = |name: &OsStr| {
        let shown = quote(name.as_encoded_bytes());
        let text = std::fs::read_to_string(name)
            .map_err(|error| format!("cannot read {shown}: {}", describe(&error)))?;
        Results::from_json(&text)
            .map_err(|error| format!("{shown} is no results.json of haul bench: {error}"))
    };
    match read(old).and_then(|old| Ok((old, read(new)?))) {
        Ok((old, new)) => match render::compare(&old, &new) {
            Ok(comparison) => ending::print_and_end(output, &render::comparison_text(&comparison)),
            Err(unrelated) => {
                output.error(&unrelated.to_string());
                for note in &unrelated.notes {
                    output.error(&format!("note: {note}"));
                }
                ExitCode::from(USAGE)
            }
        },
        Err(message) => {
            output.error(&message);
            ExitCode::FAILURE
        }
    }
}

fn bench(output: &Output, settings: &Settings) -> ExitCode {
    if let Some(file) = &settings.haul
        && !file.is_file()
    {
        let shown = quote(file.as_os_str().as_encoded_bytes());
        return refused(output, &Usage(format!("there is no program {shown} for --haul")).into());
    }
    let (options, remarks) = match plan(settings, &tools(settings)) {
        Ok(planned) => planned,
        Err(Refusal { text, hint }) => {
            output.error(&text);
            output.error(&format!("hint: {hint}"));
            return ExitCode::from(USAGE);
        }
    };
    let done = announce(output, &options, &remarks)
        // Before anything is measured: minutes of work must not be lost for a folder's name.
        .and_then(|()| settings.out.as_deref().map_or(Ok(()), render::prepare_report))
        .and_then(|()| {
            session(PROGRAM, |services| {
                estimate(&options, services)?;
                measure(&options, services)
            })
        })
        .and_then(|results| show(output, settings, &results).map(|()| results));
    end(output, done.map(|results| is_complete(&results)))
}

/// Ends the applet: by the signal that interrupted it, if one did.
pub(crate) fn end(output: &Output, done: haul_bench::Result<bool>) -> ExitCode {
    let complete = match done {
        Ok(complete) => complete,
        Err(error) => {
            tell(output, &error);
            false
        }
    };
    let written = output.finish();
    if let Some(signal) = stop_signal() {
        die_by(signal);
    }
    if complete && written { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn tell(output: &Output, error: &Error) {
    output.error(&error.to_string());
    if let Some(hint) = error.hint() {
        output.error(&format!("hint: {hint}"));
    }
}

/// Prints how many runs follow, and how much space they need, and fails if there is not enough. How long they
/// take, the session finds out.
pub(crate) fn announce(
    output: &Output,
    options: &BenchOptions,
    remarks: &[String],
) -> haul_bench::Result<()> {
    for remark in remarks {
        output.error(&format!("note: {remark}"));
    }
    let Some(space) = largest(options)? else { return Ok(()) };
    let rounds = options.rounds.warm_up + options.rounds.counted;
    let runs: usize = options.cases.iter().map(|case| case.tools.len() * rounds as usize).sum();
    output.error(&format!(
        "{}, {}{}",
        counted(options.cases.len() as u64, "case", "cases"),
        counted(runs as u64, "run", "runs"),
        match options.limit {
            TimeLimit::Strict(time) => format!(", at most {}", rough(time)),
            TimeLimit::None | TimeLimit::AfterFiveRounds(_) => String::new(),
        },
    ));
    output.error(&format!(
        "up to {} of {} are used meanwhile ({} are free)",
        crate::sizes::bytes(space.needed_bytes),
        quote(space.path.as_os_str().as_encoded_bytes()),
        crate::sizes::bytes(space.available_bytes),
    ));
    space.require()
}

/// Does something with a session's services: progress, the calls' tracer, and the flag of Ctrl-C.
pub(crate) fn session<T>(
    program: &'static str,
    act: impl FnOnce(&mut Services<'_>) -> haul_bench::Result<T>,
) -> haul_bench::Result<T> {
    let mut progress = Progress::new(program);
    #[cfg(feature = "trace")]
    let mut tracer = super::calls::Tracer::new();
    let done = act(&mut Services {
        monitor: &mut progress,
        interrupt: hear_stop(),
        #[cfg(feature = "trace")]
        counter: Some(&mut tracer),
        #[cfg(not(feature = "trace"))]
        counter: None,
    });
    progress.clear();
    done
}

/// Shows the tables, and writes the report if one is wanted.
fn show(output: &Output, settings: &Settings, results: &Results) -> haul_bench::Result<()> {
    let paint = Paint::new(settings.color, output);
    output.line(render::marked_text(results, &|text| paint.bold(text)).trim_end());
    if results.cases.len() > 1 {
        output.line("\nIn short:");
        for case in &results.cases {
            let summary = render::summarise(results, case);
            output.line(&format!("  {}: {}", summary.title, summary.verdict));
        }
    }
    if !results.cases.is_empty()
        && let Some(folder) = &settings.out
    {
        render::write_report(folder, results)?;
        let page = quote(folder.join("report.html").as_os_str().as_encoded_bytes());
        output.line(&format!("\nThe report is {page}."));
    }
    Ok(())
}

fn is_complete(results: &Results) -> bool {
    !results.interrupted && results.cases.iter().all(|case| case.trouble.is_none())
}
