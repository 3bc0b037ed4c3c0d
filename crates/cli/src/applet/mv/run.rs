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
use super::options::{Id, OPTIONS};
use crate::ending::{self, CommandError, usage};
use crate::escape::quote;
use crate::getopt::{Usage, Word, parse};
use crate::metrics;
use crate::option::data::bandwidth;
use crate::option::gentle;
use crate::option::help::version;
use crate::option::list_place;
use crate::option::select::Select;
use crate::output::Output;
use crate::report::{Format, How, run_move};
use crate::value;

const PROGRAM: &str = "mv";

/// Which of `-i`, `-f` and `-n` came last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clobber {
    /// None of them.
    Unsaid,
    Yes,
    Ask,
    No,
}

/// The settings of the command line, apart from the policy.
#[derive(Debug)]
struct Settings {
    policy: Policy,
    clobber: Clobber,
    into: Option<OsString>,
    as_name: bool,
    strip_slashes: bool,
    wants_backup: bool,
    backup: Option<OsString>,
    suffix: Option<OsString>,
    jobs: Option<usize>,
    how: How,
    metrics: metrics::Wanted,
    select: Select,
}

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
    let mut settings = Settings {
        policy: Policy::plain(haul_sys::process::umask()),
        clobber: Clobber::Unsaid,
        into: None,
        as_name: false,
        strip_slashes: false,
        wants_backup: false,
        backup: None,
        suffix: None,
        jobs: None,
        how: How { overrides: true, ..How::QUIET },
        metrics: metrics::Wanted::default(),
        select: Select::default(),
    };
    let mut operands = Vec::new();
    for word in parse(arguments, OPTIONS)? {
        match word {
            Word::Operand(operand) => operands.push(operand),
            Word::Option { id: Id::Help, .. } => {
                return Ok(Command::Print(help(PROGRAM).to_string()));
            }
            Word::Option { id: Id::Version, .. } => return Ok(Command::Print(version(PROGRAM))),
            Word::Option { id, value } => settings.set(id, value)?,
        }
    }
    settings.metrics.settle()?;
    if settings.metrics.file.is_some() {
        // What is cached when a copy ends is part of them.
        settings.policy.data.tell = Tell::Residency;
    }
    Ok(Command::Move(Box::new(settings), operands))
}

impl Settings {
    fn set(&mut self, id: Id, value: Option<OsString>) -> Result<(), CommandError> {
        let policy = &mut self.policy;
        match id {
            Id::Backup => {
                self.wants_backup = true;
                self.backup = value.or(self.backup.take());
            }
            Id::BackupUsual => self.wants_backup = true,
            Id::Suffix => {
                self.wants_backup = true;
                self.suffix = value;
            }
            // Without SELinux there is nothing to set, and GNU mv does not say so.
            Id::Context if value::has_selinux() => {
                return Err(CommandError::Plain(
                    "setting an SELinux context is not supported; move without -Z and use \
                     restorecon"
                        .to_owned(),
                ));
            }
            Id::Debug => {
                self.how.debug = true;
                self.how.verbose = true;
            }
            Id::Exchange => policy.mode = Mode::Exchange,
            Id::Force => self.clobber = Clobber::Yes,
            Id::Interactive => self.clobber = Clobber::Ask,
            Id::NoClobber => self.clobber = Clobber::No,
            Id::NoCopy => policy.across = Across::Fail,
            Id::NoTargetDirectory => self.as_name = true,
            Id::Select(id) => self.select.set(id, value),
            Id::StripSlashes => self.strip_slashes = true,
            Id::TargetDirectory if self.into.is_some() => {
                return Err(CommandError::Plain(
                    "multiple target directories specified".to_owned(),
                ));
            }
            Id::TargetDirectory => self.into = value,
            Id::Update => policy.existing = value::update(value.as_deref())?,
            Id::UpdateOlder => policy.existing = Existing::Older,
            Id::Verbose => self.how.verbose = true,
            Id::HaulJobs => self.jobs = Some(value::jobs(value.as_deref())?),
            Id::HaulBandwidth => {
                let word = value.unwrap_or_default();
                policy.bytes_per_second = Some(bandwidth(&word)?);
            }
            // Their words are here already.
            Id::HaulConfig | Id::HaulNoConfig => {}
            Id::HaulGentle => gentle::begin()?,
            Id::HaulJob => self.metrics.set_job(value.as_deref())?,
            Id::HaulMetrics => self.metrics.set_file(value)?,
            Id::HaulJson => self.how.format = Format::Json,
            Id::HaulProgress => self.how.progress = value::when("--progress", value.as_deref())?,
            Id::HaulStats => self.how.stats = true,
            Id::Context | Id::Help | Id::Version => {}
        }
        Ok(())
    }

    /// Settles what depends on several options together, after the operands are known to be right.
    fn policy(&self) -> Result<Policy, CommandError> {
        let mut policy = self.policy.clone();
        if self.clobber == Clobber::No {
            policy.existing = Existing::Keep;
        }
        policy.unasked = match self.clobber {
            Clobber::Ask => Unasked::Nothing,
            Clobber::Unsaid if std::io::stdin().is_terminal() => Unasked::Writable,
            Clobber::Unsaid | Clobber::Yes | Clobber::No => Unasked::All,
        };
        if self.wants_backup {
            let keeps = matches!(policy.existing, Existing::Keep | Existing::KeepAndFail);
            if keeps || policy.mode == Mode::Exchange {
                return Err(CommandError::Usage(Usage(
                    "cannot combine --backup with --exchange, -n, or --update=none-fail".to_owned(),
                )));
            }
            policy.backup = value::backup(self.backup.as_deref(), self.suffix.as_deref())?;
        }
        if self.how.verbose && self.how.format == Format::Text {
            policy.order = Order::Listed;
        }
        Ok(policy)
    }
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
    let mut policy = settings.policy()?;
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
