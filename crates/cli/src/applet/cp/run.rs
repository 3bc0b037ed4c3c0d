//! `haul cp`: GNU cp's command line, with haul's engine behind it.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

use haul_engine::monitor::{Control, Monitor};
use haul_engine::request::{Force, Parents, Policy, Recursion, Request, Selected, TargetForm};
use haul_engine::select::Purpose;
use haul_io::{Reflink, Sparse};

use super::help::help;
use super::options::OPTIONS;
use super::retry;
use super::settings::Settings;
use super::sum_file;
use crate::ending::{self, CommandError, usage};
use crate::error_list::Older;
use crate::getopt::parse;
use crate::option::effect::{Asked, read_words};
use crate::option::list_place;
use crate::option::trust;
use crate::output::Output;
use crate::report::{self, Format};
use crate::sum_file::{OlderLines, SumFile};
use crate::value;

const PROGRAM: &str = "cp";

pub(super) enum Command {
    Copy(Box<Settings>, Vec<OsString>),
    Print(String),
}

/// Runs `cp` with its arguments.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let output = Output::new(PROGRAM);
    match read(arguments) {
        Ok(Command::Print(text)) => ending::print_and_end(&output, &text),
        Ok(Command::Copy(settings, operands)) => {
            let begun = match &settings.retry_failed {
                Some(file) => retry(&output, (&settings, arguments), file, &operands),
                None => begin(&output, (&settings, arguments), &operands),
            };
            begun.unwrap_or_else(|error| ending::refused(&output, &error))
        }
        Err(error) => ending::refused(&output, &error),
    }
}

/// Reads the arguments.
pub(super) fn read(arguments: &[OsString]) -> Result<Command, CommandError> {
    let mut settings = Settings::new();
    let words = parse(arguments, OPTIONS);
    let operands = match read_words(words, &mut settings, PROGRAM, || help(PROGRAM))? {
        Asked::Print(text) => return Ok(Command::Print(text)),
        Asked::Work(operands) => operands,
    };
    settings.settle()?;
    settings.advise(&operands);
    Ok(Command::Copy(Box::new(settings), operands))
}

/// Copies the operands.
fn begin(
    output: &Output,
    (settings, arguments): (&Settings, &[OsString]),
    operands: &[OsString],
) -> Result<ExitCode, CommandError> {
    // First, so that a run that cannot begin is measured as a failure.
    output.measure_in(&settings.metrics).map_err(CommandError::Plain)?;
    let request = request(settings, operands)?;
    let trust = &settings.trust;
    for (option, name) in [
        ("--errors", &settings.errors),
        ("--sum-file", &trust.sum_file),
        ("--journal", &trust.journal),
        ("--metrics", &settings.metrics.file),
    ] {
        if let Some(name) = name {
            list_place::refuse_made((option, name), &request).map_err(CommandError::Plain)?;
        }
    }
    let words = retry::options(arguments);
    list_errors(output, (settings, Older::Emptied), (&words, sources(settings, operands)))?;
    let how = how(output, settings, &request);
    if settings.dry_run {
        return Ok(report::dry_run(output, &how, &request));
    }
    if settings.preflight
        && let Some(code) = report::preflight(output, how.format, &request)
    {
        return Ok(code);
    }
    let sums = wanted_sums((&settings.trust, OlderLines::Removed), operands)?;
    let ended = report::run_to_end(output, &how, &request, |monitor, control| {
        let copy = |monitor: &dyn Monitor| haul_engine::copy(&request, monitor, control);
        sum_file::fill(sums.as_ref(), output, monitor, copy)
    });
    Ok(ended.code())
}

/// Makes the sum file that is wanted; the operands are not overwritten by it.
fn wanted_sums(
    (trust, older): (&trust::Trust, OlderLines),
    operands: &[OsString],
) -> Result<Option<SumFile>, CommandError> {
    let Some(name) = &trust.sum_file else { return Ok(None) };
    let created = SumFile::create(name, older, trust.algorithm(), operands);
    created.map(Some).map_err(CommandError::Plain)
}

/// Copies again what a list says, with the options of that run and those given now.
fn retry(
    output: &Output,
    (given, arguments): (&Settings, &[OsString]),
    file: &OsStr,
    operands: &[OsString],
) -> Result<ExitCode, CommandError> {
    if let Some(extra) = operands.first() {
        return usage(format!("extra operand {}", crate::escape::quote(extra.as_bytes())));
    }
    if let Some(option) = given.select.given() {
        return usage(format!("--retry-failed cannot be combined with {option}"));
    }
    if given.trust.resume {
        return usage("--retry-failed cannot be combined with --resume".to_owned());
    }
    let reading = retry::list(file).map_err(CommandError::Plain)?;
    let mut words = reading.arguments.clone();
    words.extend(retry::options(arguments));
    let Command::Copy(mut settings, _) = read(&words)? else {
        return Err(CommandError::Plain("the list asks for nothing to be copied".to_owned()));
    };
    if settings.select.given().is_some() {
        return Err(CommandError::Plain(
            "the list is of a run with a selection, whose rules need the whole trees; give the command \
             again, with -u"
                .to_owned(),
        ));
    }
    let mut older_lines = OlderLines::Removed;
    if given.trust.sum_file.is_none()
        && let Some(name) = &mut settings.trust.sum_file
    {
        // The sum file of the run that is completed: its lines stay, and its name is relative to that run.
        *name = Path::new(&reading.directory).join(&*name).into();
        older_lines = OlderLines::Kept;
    }
    if settings.dry_run || settings.preflight || given.dry_run || given.preflight {
        return usage("--retry-failed cannot be combined with --dry-run or --preflight".to_owned());
    }
    let retry = retry::plan(file, &reading, &settings.policy).map_err(CommandError::Plain)?;
    let sources: Vec<OsString> =
        reading.sources.iter().map(|name| OsStr::from_bytes(name).to_owned()).collect();
    output.measure_in(&given.metrics).map_err(CommandError::Plain)?;
    let is_own_list = given
        .errors
        .as_ref()
        .is_some_and(|errors| list_place::is_same(Path::new(errors), Path::new(file)));
    let older = if is_own_list { Older::KeptUntilEnd } else { Older::Emptied };
    list_errors(output, (given, older), (&words, &sources))?;
    if let Some(warning) = &retry.warning {
        output.error(warning);
    }
    let mut policy = settings.policy.clone();
    let resources = settings.data.resources(&mut policy.data, settings.jobs, value::default_jobs);
    let copied = retry.copies.iter().map(|again| again.source.clone());
    let request =
        Request::of_names(copied, CString::default(), policy, resources).form(TargetForm::Name);
    let how = report::How { lists_all: reading.is_complete, ..how(output, &settings, &request) };
    let again = |monitor: &dyn Monitor, control: &Control<'_>| {
        haul_engine::copy_again(&request, &retry.copies, &retry.known, monitor, control);
        let linking = retry::linking(&request);
        haul_engine::copy_again(&linking, &retry.links, &[], monitor, control);
        // Afterwards, because it can change the state by which the names are known, and forbid further names.
        let overwriting = retry::overwriting(&request);
        haul_engine::copy_again(&overwriting, &retry.in_place, &[], monitor, control);
        let pinning = retry::pinning(&request);
        haul_engine::copy_again(&pinning, &retry.unpinned, &[], monitor, control);
        if !reading.is_complete {
            // The warning above.
            control.note_failure();
        }
        // What was made in them changed the times of these.
        haul_engine::copy_again(&request, &retry.parents, &[], monitor, control)
    };
    let sums = wanted_sums((&settings.trust, older_lines), &sources)?;
    let ended = report::run_to_end(output, &how, &request, |monitor, control| {
        sum_file::fill(sums.as_ref(), output, monitor, |monitor| again(monitor, control))
    });
    Ok(ended.code())
}

/// The operands that are sources.
pub(super) fn sources<'o>(settings: &Settings, operands: &'o [OsString]) -> &'o [OsString] {
    match operands.split_last() {
        Some((_, sources)) if settings.into.is_none() => sources,
        _ => operands,
    }
}

pub(super) fn list_errors(
    output: &Output,
    (settings, older): (&Settings, Older),
    words: (&[OsString], &[OsString]),
) -> Result<(), CommandError> {
    match &settings.errors {
        None => Ok(()),
        Some(file) => output.list_in((file, older), words).map_err(CommandError::Plain),
    }
}

/// Reads words, does nothing, and returns the error message of an invalid command line.
#[cfg(test)]
pub(crate) fn refusal(arguments: &[OsString]) -> Option<String> {
    let requested = read(arguments).and_then(|command| match command {
        Command::Copy(settings, operands) => request(&settings, &operands).map(|_| ()),
        Command::Print(_) => Ok(()),
    });
    match requested {
        Err(CommandError::Usage(crate::getopt::Usage(text)) | CommandError::Plain(text)) => {
            Some(text)
        }
        Ok(()) => None,
    }
}

/// Turns settings and operands into a request.
pub(super) fn request(settings: &Settings, operands: &[OsString]) -> Result<Request, CommandError> {
    let quote = |name: &OsStr| crate::escape::quote(name.as_bytes());
    if settings.requires_context && !value::has_selinux() {
        return Err(CommandError::Plain(
            "cannot preserve security context without an SELinux-enabled kernel".to_owned(),
        ));
    }
    if settings.as_name && settings.into.is_some() {
        return Err(CommandError::Plain(
            "cannot combine --target-directory (-t) and --no-target-directory (-T)".to_owned(),
        ));
    }
    let Some(first) = operands.first() else { return usage("missing file operand".to_owned()) };
    let (target, sources, form) = match &settings.into {
        Some(into) => (into.clone(), operands, TargetForm::Directory),
        None => match operands.split_last() {
            Some((_, [])) | None => {
                return usage(format!("missing destination file operand after {}", quote(first)));
            }
            Some((_, [_, extra, ..])) if settings.as_name => {
                let extra = operands.get(2).unwrap_or(extra);
                return usage(format!("extra operand {}", quote(extra)));
            }
            Some((last, sources)) if settings.as_name => (last.clone(), sources, TargetForm::Name),
            Some((last, sources)) if sources.len() > 1 => {
                (last.clone(), sources, TargetForm::LastDirectory)
            }
            Some((last, sources)) => (last.clone(), sources, TargetForm::Guess),
        },
    };
    let jobs = || if value::is_one_small_file(sources) { 1 } else { value::default_jobs() };
    let mut policy = settings.policy.clone();
    let resources = settings.data.resources(&mut policy.data, settings.jobs, jobs);
    policy.selection = selection(settings, &policy, sources)?;
    let sources =
        sources.iter().map(|source| c_string(source, settings)).collect::<Result<Vec<_>, _>>()?;
    let target = CString::new(target.as_bytes())
        .map_err(|_| CommandError::Plain("a name holds a NUL byte".to_owned()))?;
    Ok(Request::of_names(sources, target, policy, resources)
        .form(form)
        .resume(settings.trust.request().map_err(CommandError::Plain)?))
}

/// Returns the selection. Its files are read here, before anything is done.
fn selection(
    settings: &Settings,
    policy: &Policy,
    sources: &[OsString],
) -> Result<Option<Selected>, CommandError> {
    let selection = settings.select.selection(Purpose::Read, sources.len())?;
    if selection.as_ref().is_some_and(|selection| selection.has_list())
        && (policy.recursion == Recursion::No || policy.parents == Parents::Keep)
    {
        return usage("--files-from needs -r, and cannot be combined with --parents".to_owned());
    }
    Ok(selection.map(Selected))
}

fn c_string(name: &OsStr, settings: &Settings) -> Result<CString, CommandError> {
    let mut bytes = name.as_bytes();
    while settings.strip_slashes && bytes.len() > 1 && bytes.ends_with(b"/") {
        bytes = &bytes[..bytes.len() - 1];
    }
    // The kernel hands no argument with a NUL to a program; a caller's own list might.
    CString::new(bytes).map_err(|_| CommandError::Plain("a name holds a NUL byte".to_owned()))
}

/// Returns how much is printed; prints the warnings about the command line.
pub(super) fn how(output: &Output, settings: &Settings, request: &Request) -> report::How {
    for warning in &settings.warnings {
        output.error(warning);
    }
    if let Some(line) = settings.profile_line.as_deref().filter(|_| settings.format == Format::Text)
    {
        output.line(line);
    }
    report::How {
        format: settings.format,
        verbose: settings.verbose,
        entry_lines: None,
        debug: settings.debug,
        overrides: request.policy.force != Force::No,
        never_shares: request.policy.data.reflink == Reflink::Never
            || request.policy.data.sparse == Sparse::Never,
        stats: settings.stats,
        lists_all: true,
        explain: settings.data.explain,
        progress: settings.progress,
    }
}
