//! `haul mv`: GNU mv's command line, with haul's engine behind it.

use std::ffi::{CString, OsStr, OsString};
use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use haul_engine::relocate::{Across, Mode, Policy, Request, Unasked};
use haul_engine::request::{Existing, Order, Resources, Selected, TargetForm};
use haul_engine::select::Purpose;
use haul_io::Tell;

use super::help::help;
use super::options::{Clobber, OPTIONS, Settings};
use crate::ending::{self, CommandError, usage};
use crate::escape::quote;
use crate::getopt::{Usage, parse};
use crate::option::effect::{Asked, read_words};
use crate::option::list_place;
use crate::output::Output;
use crate::report::{Format, run_move};
use crate::value;

const PROGRAM: &str = "mv";

enum Command {
    Move(Box<Settings>, Vec<OsString>),
    Print(String),
}

/// Runs `mv` with its arguments.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let output = Output::new(PROGRAM);
    let begun = read(arguments).and_then(|command| match command {
        Command::Print(text) => Ok(ending::print_and_end(&output, &text)),
        Command::Move(settings, operands) => {
            if let Some(file) = &settings.metrics.file {
                list_place::refuse_removed(("--metrics", file), &operands)
                    .map_err(CommandError::Plain)?;
            }
            output.measure_in(&settings.metrics).map_err(CommandError::Plain)?;
            let request = request(&settings, &operands)?;
            Ok(run_move(&output, &settings.how, &request))
        }
    });
    begun.unwrap_or_else(|error| ending::refused(&output, &error))
}

fn read(arguments: &[OsString]) -> Result<Command, CommandError> {
    let mut settings = Settings::new();
    let words = parse(arguments, OPTIONS);
    let operands = match read_words(words, &mut settings, PROGRAM, || help(PROGRAM))? {
        Asked::Print(text) => return Ok(Command::Print(text)),
        Asked::Work(operands) => operands,
    };
    settings.metrics.settle()?;
    if settings.metrics.file.is_some() {
        // What is cached when a copy ends is part of them.
        settings.policy.data.tell = Tell::Residency;
    }
    Ok(Command::Move(Box::new(settings), operands))
}

/// Settles what depends on several options together, after the operands are known to be right.
fn policy(settings: &Settings) -> Result<Policy, CommandError> {
    let mut policy = settings.policy.clone();
    if settings.clobber == Clobber::No {
        policy.existing = Existing::Keep;
    }
    policy.unasked = match settings.clobber {
        Clobber::Ask => Unasked::Nothing,
        Clobber::Unsaid if std::io::stdin().is_terminal() => Unasked::Writable,
        Clobber::Unsaid | Clobber::Yes | Clobber::No => Unasked::All,
    };
    if settings.wants_backup {
        let keeps = matches!(policy.existing, Existing::Keep | Existing::KeepAndFail);
        if keeps || policy.mode == Mode::Exchange {
            return Err(CommandError::Usage(Usage(
                "cannot combine --backup with --exchange, -n, or --update=none-fail".to_owned(),
            )));
        }
        policy.backup = value::backup(settings.backup.as_deref(), settings.suffix.as_deref())?;
    }
    if settings.how.verbose && settings.how.format == Format::Text {
        policy.order = Order::Listed;
    }
    Ok(policy)
}

/// Turns settings and operands into a request.
fn request(settings: &Settings, operands: &[OsString]) -> Result<Request, CommandError> {
    let quote = |name: &OsStr| quote(name.as_bytes());
    let (target, sources, form) = match (&settings.into, operands.split_last()) {
        (_, None) => return usage("missing file operand".to_owned()),
        (Some(_), _) if settings.as_name => {
            return Err(CommandError::Plain(
                "cannot combine --target-directory (-t) and --no-target-directory (-T)".to_owned(),
            ));
        }
        (Some(into), _) => (into, operands, TargetForm::Directory),
        (None, Some((only, []))) => {
            return usage(format!("missing destination file operand after {}", quote(only)));
        }
        (None, Some((last, sources))) => match (settings.as_name, operands.get(2)) {
            (true, Some(extra)) => return usage(format!("extra operand {}", quote(extra))),
            (true, None) => (last, sources, TargetForm::Name),
            (false, Some(_)) => (last, sources, TargetForm::LastDirectory),
            (false, None) => (last, sources, TargetForm::Guess),
        },
    };
    let c_string = |bytes: &[u8]| {
        // The kernel hands no argument with a NUL to a program.
        CString::new(bytes).map_err(|_| CommandError::Plain("a name holds a NUL byte".to_owned()))
    };
    let files = sources;
    let sources = sources.iter().map(|source| {
        let mut bytes = source.as_bytes();
        while settings.strip_slashes && bytes.len() > 1 && bytes.ends_with(b"/") {
            bytes = &bytes[..bytes.len() - 1];
        }
        c_string(bytes)
    });
    let mut policy = policy(settings)?;
    policy.selection = settings.select.selection(Purpose::Move, sources.len())?.map(Selected);
    if policy.selection.is_some() && policy.mode == Mode::Exchange {
        return usage(
            "--exchange swaps whole trees, and cannot be combined with a selection".to_owned(),
        );
    }
    if policy.selection.is_some() && policy.across == Across::Fail {
        return usage(
            "--no-copy cannot be combined with a selection: a rename takes all of a directory"
                .to_owned(),
        );
    }
    let descriptors = haul_sys::process::raise_nofile_limit();
    let fixed = settings.jobs.or_else(|| value::is_one_small_file(files).then_some(1));
    let copiers = fixed.unwrap_or_else(value::default_jobs);
    let removers = fixed.unwrap_or_else(value::processors);
    // A number of jobs on the command line is final.
    let waiting = |jobs: usize| settings.jobs.unwrap_or_else(|| jobs.max(value::WAITING_JOBS));
    let resources =
        |jobs| Resources::with_jobs(jobs).waiting_jobs(waiting(jobs)).descriptors(descriptors);
    let sources = sources.collect::<Result<Vec<_>, _>>()?;
    Ok(Request::of_names(sources, c_string(target.as_bytes())?, policy, resources(copiers))
        .form(form)
        .removing(resources(removers)))
}
