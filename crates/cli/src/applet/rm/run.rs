//! `haul rm`: GNU rm's command line, with haul's engine behind it.

use std::ffi::{CString, OsStr, OsString};
use std::io::IsTerminal;
use std::num::NonZeroU64;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use haul_engine::remove::{
    Ask, EmptyDirectories, Guard, Missing, Mode, MountPoints, Policy, Request, Strategy,
};
use haul_engine::request::{Borders, Order, Recursion, Resources, Selected};
use haul_engine::select::Purpose;

use super::help::help;
use super::options::{ALL, INTERACTIVE, Id, Interactive, OPTIONS, PRESUME_INPUT_TTY};
use crate::ending::{self, CommandError, usage};
use crate::error_list::Older;
use crate::escape::{quote, quote_if_needed, quote_word};
use crate::getopt::{Usage, Word, choose, parse};
use crate::metrics::{self, Figures};
use crate::option::gentle;
use crate::option::help::version;
use crate::option::list_place;
use crate::option::select::Select;
use crate::output::Output;
use crate::report::{Format, How, ask, run_removal};
use crate::value;

const PROGRAM: &str = "rm";

/// The option that has to be written out.
const NO_PRESERVE_ROOT: &[u8] = b"--no-preserve-root";

/// Operands that may go without a word under `-I`.
const FEW: usize = 3;

/// The settings of the command line, apart from the policy.
#[derive(Debug)]
pub(super) struct Settings {
    policy: Policy,
    pub(super) interactive: Interactive,
    presumes_terminal: bool,
    jobs: Option<usize>,
    pub(super) how: How,
    /// Where failures are listed.
    errors: Option<OsString>,
    pub(super) select: Select,
    metrics: metrics::Wanted,
}

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
    let mut settings = Settings {
        policy: Policy::new().mount_points(mount_points),
        interactive: Interactive::Sometimes,
        presumes_terminal: false,
        jobs: None,
        errors: None,
        select: Select::default(),
        metrics: metrics::Wanted::default(),
        how: How::QUIET,
    };
    let mut operands = Vec::new();
    let options: Vec<_> = OPTIONS.iter().copied().chain([PRESUME_INPUT_TTY]).collect();
    for word in parse(arguments, &options)? {
        match word {
            Word::Operand(operand) => operands.push(operand),
            Word::Option { id: Id::Help, .. } => {
                return Ok(Command::Print(help(PROGRAM).to_string()));
            }
            Word::Option { id: Id::Version, .. } => return Ok(Command::Print(version(PROGRAM))),
            Word::Option { id: Id::NoPreserveRoot, .. } if is_abbreviated(arguments) => {
                return Err(CommandError::Plain(
                    "you may not abbreviate the --no-preserve-root option".to_owned(),
                ));
            }
            Word::Option { id, value } => settings.set(id, value.as_deref())?,
        }
    }
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

impl Settings {
    fn set(&mut self, id: Id, value: Option<&OsStr>) -> Result<(), CommandError> {
        let policy = &mut self.policy;
        match id {
            Id::Directory => policy.empty_directories = EmptyDirectories::Remove,
            Id::Force => {
                self.interactive = Interactive::Never;
                policy.missing = Missing::Ignore;
            }
            Id::Always => self.interact(Interactive::Always),
            Id::Once => self.interact(Interactive::Once),
            Id::Interactive => self.interact(interactive(value)?),
            Id::NoPreserveRoot => policy.root = Guard::Off,
            Id::PreserveRoot => {
                match value {
                    // As in GNU's rm, it does not end what `all` has asked for.
                    None if policy.mount_points == MountPoints::KeptAsAsked => {}
                    None => policy.mount_points = MountPoints::Emptied,
                    Some(all) if all == ALL => policy.mount_points = MountPoints::KeptAsAsked,
                    Some(other) => {
                        return Err(CommandError::Plain(format!(
                            "unrecognized --preserve-root argument: {}",
                            quote(other.as_bytes())
                        )));
                    }
                }
                policy.root = Guard::On;
            }
            Id::OneFileSystem => policy.borders = Borders::Stay,
            Id::PresumeInputTty => self.presumes_terminal = true,
            Id::Select(id) => self.select.set(id, value.map(OsStr::to_owned)),
            Id::Recursive => policy.recursion = Recursion::Yes,
            Id::Verbose => self.how.verbose = true,
            Id::HaulErrors => {
                let value = value.map(OsStr::to_owned);
                self.errors = Some(value::file("--errors", value, value::Dash::NoOutput)?);
            }
            Id::HaulDryRun => policy.mode = Mode::Pretend,
            Id::HaulGentle => {
                policy.pace.strategy = Strategy::Gentle;
                gentle::begin()?;
            }
            Id::HaulJobs => self.jobs = Some(value::jobs(value)?),
            // Their words are here already.
            Id::HaulConfig | Id::HaulNoConfig => {}
            Id::HaulJob => self.metrics.set_job(value)?,
            Id::HaulMetrics => self.metrics.set_file(value.map(OsStr::to_owned))?,
            Id::HaulJson => self.how.format = Format::Json,
            Id::HaulProgress => self.how.progress = value::when("--progress", value)?,
            Id::HaulRate => policy.pace.per_second = Some(rate(value.unwrap_or_default())?),
            Id::HaulStats => self.how.stats = true,
            Id::Help | Id::Version => {}
        }
        Ok(())
    }

    /// Only being asked nothing leaves `-f` as it was.
    fn interact(&mut self, interactive: Interactive) {
        self.interactive = interactive;
        if interactive != Interactive::Never {
            self.policy.missing = Missing::Fail;
        }
    }
}

fn interactive(value: Option<&OsStr>) -> Result<Interactive, Usage> {
    value.map_or(Ok(Interactive::Always), |word| choose("--interactive", word, INTERACTIVE))
}

fn rate(word: &OsStr) -> Result<NonZeroU64, Usage> {
    word.to_str().and_then(|text| text.parse().ok()).ok_or_else(|| {
        Usage(format!(
            "invalid rate {}: give a number of entries a second, 1 or more",
            quote_word(word.as_bytes())
        ))
    })
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
