//! `haul rm`: GNU rm's command line, with haul's engine behind it.

use std::ffi::{CString, OsString};
use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use haul_engine::remove::{Ask, Missing, Mode, MountPoints, Request};
use haul_engine::request::{Order, Recursion, Resources, Selected};
use haul_engine::select::Purpose;

use super::help::help;
use super::options::{Interactive, OPTIONS, PRESUME_INPUT_TTY, Settings};
use crate::ending::{self, CommandError, usage};
use crate::error_list::Older;
use crate::escape::{quote, quote_if_needed};
use crate::getopt::{Usage, parse};
use crate::metrics::Figures;
use crate::option::effect::{Asked, read_words};
use crate::option::list_place;
use crate::output::Output;
use crate::report::{ask, run_removal};
use crate::value;

const PROGRAM: &str = "rm";

/// The option that has to be written out.
const NO_PRESERVE_ROOT: &[u8] = b"--no-preserve-root";

/// Operands that may go without a word under `-I`.
const FEW: usize = 3;

pub(super) enum Command {
    Remove(Box<Settings>, Vec<OsString>),
    Print(String),
}

/// Runs `rm` with its arguments.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let output = Output::new(PROGRAM);
    // In place of GNU's rm, which scripts use to empty volumes of containers, it does what that does.
    let mount_points = if ending::is_drop_in() { MountPoints::Emptied } else { MountPoints::Kept };
    match read(arguments, mount_points) {
        Ok(Command::Print(text)) => ending::print_and_end(&output, &text),
        Ok(Command::Remove(settings, operands)) => {
            match prepare(&output, &settings, (arguments, &operands)) {
                Ok(()) => remove(&output, &settings, &operands),
                Err(error) => ending::refused(&output, &error),
            }
        }
        Err(CommandError::Plain(text)) => {
            output.error(&text);
            ExitCode::FAILURE
        }
        Err(CommandError::Usage(usage)) => {
            output.error(&usage.0);
            ending::point_to_defaults(&output);
            advise(&output, arguments);
            ending::point_to_help(&output);
            ExitCode::FAILURE
        }
    }
}

/// Makes the list of failures and the metrics that are wanted, unless they would be removed.
pub(super) fn prepare(
    output: &Output,
    settings: &Settings,
    (arguments, operands): (&[OsString], &[OsString]),
) -> Result<(), CommandError> {
    for (option, file) in [("--errors", &settings.errors), ("--metrics", &settings.metrics.file)] {
        if let Some(file) = file {
            list_place::refuse_removed((option, file), operands).map_err(CommandError::Plain)?;
        }
    }
    output.measure_in(&settings.metrics).map_err(CommandError::Plain)?;
    if let Some(file) = &settings.errors {
        output
            .list_in((file, Older::Emptied), (arguments, operands))
            .map_err(CommandError::Plain)?;
    }
    Ok(())
}

/// Explains how to remove a file whose name looks like options.
fn advise(output: &Output, arguments: &[OsString]) {
    let is_file = |argument: &&OsString| {
        argument.len() > 1
            && argument.as_bytes().starts_with(b"-")
            && CString::new(argument.as_bytes())
                .is_ok_and(|name| haul_sys::fs::statat(haul_sys::fs::CWD, &name).is_ok())
    };
    if let Some(argument) = arguments.iter().find(is_file) {
        let program = ending::called_as(PROGRAM);
        output.raw_error(&format!(
            "Try '{program} ./{}' to remove the file {}.\n",
            quote_if_needed(argument.as_bytes()),
            quote(argument.as_bytes())
        ));
    }
}

/// Reads words, does nothing, and returns the error message of an invalid command line.
#[cfg(test)]
pub(crate) fn refusal(arguments: &[OsString]) -> Option<String> {
    match read(arguments, MountPoints::Kept) {
        Err(CommandError::Usage(Usage(text)) | CommandError::Plain(text)) => Some(text),
        Ok(_) => None,
    }
}

/// Reads the arguments. The treatment of mount points holds unless an option sets another one.
pub(super) fn read(
    arguments: &[OsString],
    mount_points: MountPoints,
) -> Result<Command, CommandError> {
    let mut settings = Settings::new(mount_points, is_abbreviated(arguments));
    let options: Vec<_> = OPTIONS.iter().copied().chain([PRESUME_INPUT_TTY]).collect();
    let words = parse(arguments, &options);
    let operands = match read_words(words, &mut settings, PROGRAM, || help(PROGRAM))? {
        Asked::Print(text) => return Ok(Command::Print(text)),
        Asked::Work(operands) => operands,
    };
    settings.metrics.settle()?;
    if settings.policy.mode == Mode::Pretend && settings.metrics.file.is_some() {
        return Err(Usage("--metrics cannot be combined with --dry-run".to_owned()).into());
    }
    Ok(Command::Remove(Box::new(settings), operands))
}

/// Returns whether some word before `--` is a beginning of `--no-preserve-root` and not all of it.
fn is_abbreviated(arguments: &[OsString]) -> bool {
    arguments.iter().map(|argument| argument.as_bytes()).take_while(|word| *word != b"--").any(
        |word| word.len() > 2 && NO_PRESERVE_ROOT.starts_with(word) && word != NO_PRESERVE_ROOT,
    )
}

fn remove(output: &Output, settings: &Settings, operands: &[OsString]) -> ExitCode {
    let policy = &settings.policy;
    if operands.is_empty() && policy.missing == Missing::Ignore {
        return idle(output);
    }
    let request = match request(settings, operands) {
        Ok(request) => request,
        Err(error) => return ending::refused(output, &error),
    };
    let recursive = policy.recursion == Recursion::Yes;
    if settings.interactive == Interactive::Once
        && policy.mode == Mode::Remove
        && (recursive || operands.len() > FEW)
        && !ask(output, &summary_question(operands.len(), policy.recursion))
    {
        return idle(output);
    }
    run_removal(output, &settings.how, &request)
}

/// Turns settings and operands into a request.
pub(super) fn request(settings: &Settings, operands: &[OsString]) -> Result<Request, CommandError> {
    let mut policy = settings.policy;
    if operands.is_empty() && policy.missing == Missing::Fail {
        return usage("missing operand".to_owned());
    }
    let selection = settings.select.selection(Purpose::Remove, operands.len())?;
    if policy.recursion == Recursion::No
        && selection.as_ref().is_some_and(|selection| selection.has_list())
    {
        return usage("--files-from needs -r".to_owned());
    }
    let selection = selection.map(Selected);
    let is_root = || haul_sys::process::identity().uid == 0;
    let terminal = || settings.presumes_terminal || std::io::stdin().is_terminal();
    policy.ask = match settings.interactive {
        Interactive::Never => Ask::Never,
        Interactive::Always => Ask::Always,
        // Nothing is write-protected for a privileged user.
        Interactive::Sometimes | Interactive::Once if is_root() || !terminal() => Ask::Never,
        Interactive::Sometimes | Interactive::Once => Ask::Protected,
    };
    if policy.ask == Ask::Always {
        policy.order = Order::Listed;
    }
    let descriptors = haul_sys::process::raise_nofile_limit();
    // The kernel hands no argument with a NUL to a program.
    let is_one = policy.recursion == Recursion::No && operands.len() == 1;
    let operands = operands.iter().filter_map(|name| CString::new(name.as_bytes()).ok());
    // One name needs one worker, and no look at the number of processors.
    let jobs = settings.jobs.or(is_one.then_some(1)).unwrap_or_else(value::processors);
    // A number of jobs on the command line is final.
    let waiting_jobs = settings.jobs.unwrap_or_else(|| jobs.max(value::WAITING_JOBS));
    let resources = Resources::with_jobs(jobs).waiting_jobs(waiting_jobs).descriptors(descriptors);
    Ok(Request::of_names(operands, policy, resources).selection(selection))
}

/// Ends a run that had nothing to do.
fn idle(output: &Output) -> ExitCode {
    if output.measured(Figures::default) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn summary_question(count: usize, recursion: Recursion) -> String {
    let noun = if count == 1 { "argument" } else { "arguments" };
    let how = if recursion == Recursion::Yes { " recursively" } else { "" };
    format!("remove {count} {noun}{how}? ")
}
