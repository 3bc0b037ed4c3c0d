//! `haul cp`: GNU cp's command line, with haul's engine behind it.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use haul_engine::monitor::{Control, Monitor};
use haul_engine::request::{
    Borders, Consent, Dereference, Existing, Force, Keep, Links, Make, Order, Parents, Policy,
    Recursion, Request, Resources, Specials, TargetForm, TargetLinks,
};
use haul_io::{Reflink, Sparse};

use super::help;
use super::options::{Id, OPTIONS};
use super::profile;
use super::retry;
use super::sum_file::SumFile;
use super::values::{ARCHIVE, make, no_preserve, preserve, reflink, sparse, usual};
use crate::ending::{self, CommandError, usage, usage_error};
use crate::getopt::{Usage, Word, parse};
use crate::option::data::{self, DataId};
use crate::option::help::version;
use crate::option::list_place;
use crate::option::trust;
use crate::option::value::{self, Dash, ProgressWhen};
use crate::output::Output;
use crate::profile::Wanted;
use crate::report::{self, Format};

const PROGRAM: &str = "cp";

/// The settings of the command line, apart from the policy.
#[derive(Debug)]
struct Settings {
    policy: Policy,
    dereference: Option<Dereference>,
    into: Option<OsString>,
    as_name: bool,
    strip_slashes: bool,
    verbose: bool,
    debug: bool,
    wants_backup: bool,
    backup: Option<OsString>,
    suffix: Option<OsString>,
    warnings: Vec<String>,
    jobs: Option<usize>,
    profile: Wanted,
    profile_line: Option<String>,
    progress: ProgressWhen,
    format: Format,
    stats: bool,
    trust: trust::Trust,
    data: data::Further,
    dry_run: bool,
    preflight: bool,
    /// Where failures are listed.
    errors: Option<OsString>,
    /// A list of failures that are done again.
    retry_failed: Option<OsString>,
    /// The security context is among what `--preserve` lists, so it must be kept.
    requires_context: bool,
}

enum Command {
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
        Err(usage) => usage_error(&output, &usage),
    }
}

/// Copies the operands.
fn begin(
    output: &Output,
    (settings, arguments): (&Settings, &[OsString]),
    operands: &[OsString],
) -> Result<ExitCode, CommandError> {
    let request = request(settings, operands)?;
    let trust = &settings.trust;
    for (option, name) in [
        ("--errors", &settings.errors),
        ("--sum-file", &trust.sum_file),
        ("--journal", &trust.journal),
    ] {
        if let Some(name) = name {
            list_place::refuse_made((option, name), &request).map_err(CommandError::Plain)?;
        }
    }
    list_errors(output, settings, (&retry::options(arguments), sources(settings, operands)))?;
    let how = how(output, settings, &request);
    if settings.dry_run {
        return Ok(report::dry_run(output, how.format, &request));
    }
    if settings.preflight
        && let Some(code) = report::preflight(output, how.format, &request)
    {
        return Ok(code);
    }
    let Some(sums) = sum_file(&settings.trust, operands)? else {
        return Ok(report::run_copy(output, &how, &request));
    };
    Ok(report::run_copy_with(output, &how, &request, |monitor, control| {
        sums.fill(output, monitor, |monitor| haul_engine::copy(&request, monitor, control))
    }))
}

/// Makes the sum file that is wanted; the operands are not overwritten by it.
fn sum_file(trust: &trust::Trust, operands: &[OsString]) -> Result<Option<SumFile>, CommandError> {
    let Some(name) = &trust.sum_file else { return Ok(None) };
    SumFile::create(name, trust.algorithm(), operands).map(Some).map_err(CommandError::Plain)
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
    if given.trust.resume {
        return usage("--retry-failed cannot be combined with --resume".to_owned());
    }
    let reading = retry::list(file).map_err(CommandError::Plain)?;
    let mut words = reading.arguments.clone();
    words.extend(retry::options(arguments));
    let Command::Copy(settings, _) = read(&words).map_err(CommandError::Usage)? else {
        return Err(CommandError::Plain("the list asks for nothing to be copied".to_owned()));
    };
    if settings.dry_run || settings.preflight || given.dry_run || given.preflight {
        return usage("--retry-failed cannot be combined with --dry-run or --preflight".to_owned());
    }
    let retry = retry::plan(file, &reading, &settings.policy).map_err(CommandError::Plain)?;
    let sources: Vec<OsString> =
        reading.sources.iter().map(|name| OsStr::from_bytes(name).to_owned()).collect();
    list_errors(output, given, (&words, &sources))?;
    if let Some(warning) = &retry.warning {
        output.error(warning);
    }
    let (policy, resources) = policy_and_resources(&settings);
    let copied = retry.copies.iter().map(|again| again.source.clone()).collect();
    let target = CString::default();
    let form = TargetForm::Name;
    let request = Request { sources: copied, target, form, policy, resources, resume: None };
    let how = how(output, &settings, &request);
    let again = |monitor: &dyn Monitor, control: &Control<'_>| {
        haul_engine::copy_again(&request, &retry.copies, monitor, control);
        let linking = retry::linking(&request);
        haul_engine::copy_again(&linking, &retry.links, monitor, control);
        // What was made in them changed the times of these.
        haul_engine::copy_again(&request, &retry.parents, monitor, control)
    };
    let sums = sum_file(&settings.trust, &sources)?;
    Ok(report::run_copy_with(output, &how, &request, |monitor, control| match &sums {
        Some(sums) => sums.fill(output, monitor, |monitor| again(monitor, control)),
        None => again(monitor, control),
    }))
}

/// The operands that are sources.
fn sources<'o>(settings: &Settings, operands: &'o [OsString]) -> &'o [OsString] {
    match operands.split_last() {
        Some((_, sources)) if settings.into.is_none() => sources,
        _ => operands,
    }
}

fn list_errors(
    output: &Output,
    settings: &Settings,
    words: (&[OsString], &[OsString]),
) -> Result<(), CommandError> {
    match &settings.errors {
        None => Ok(()),
        Some(file) => output.list_in(file, words).map_err(CommandError::Plain),
    }
}

/// Reads words, does nothing, and returns the error message of an invalid command line.
#[cfg(test)]
pub(crate) fn refusal(arguments: &[OsString]) -> Option<String> {
    match read(arguments) {
        Ok(Command::Copy(settings, operands)) => match request(&settings, &operands) {
            Err(CommandError::Usage(Usage(text)) | CommandError::Plain(text)) => Some(text),
            Ok(_) => None,
        },
        Ok(Command::Print(_)) => None,
        Err(Usage(text)) => Some(text),
    }
}

fn read(arguments: &[OsString]) -> Result<Command, Usage> {
    let mut settings = Settings {
        policy: Policy::plain(haul_sys::process::umask()),
        dereference: None,
        into: None,
        as_name: false,
        strip_slashes: false,
        verbose: false,
        debug: false,
        wants_backup: false,
        backup: None,
        suffix: None,
        warnings: Vec::new(),
        jobs: None,
        profile: Wanted::Auto,
        profile_line: None,
        progress: ProgressWhen::Auto,
        format: Format::Text,
        stats: false,
        trust: trust::Trust::default(),
        data: data::Further::default(),
        dry_run: false,
        preflight: false,
        errors: None,
        retry_failed: None,
        requires_context: false,
    };
    let mut operands = Vec::new();
    for word in parse(arguments, OPTIONS)? {
        match word {
            Word::Operand(operand) => operands.push(operand),
            Word::Option { id: Id::Help, .. } => {
                return Ok(Command::Print(help::help(PROGRAM)));
            }
            Word::Option { id: Id::Version, .. } => {
                return Ok(Command::Print(version(PROGRAM)));
            }
            Word::Option { id: Id::Data(DataId::ListMethods), .. } => {
                return Ok(Command::Print(data::list_methods()));
            }
            Word::Option { id: Id::Data(id), value } => {
                let word = value.unwrap_or_default();
                data::set(&mut settings.policy, &mut settings.data, id, &word)?;
            }
            Word::Option { id, value } => settings.set(id, value)?,
        }
    }
    settings.settle()?;
    settings.advise(&operands);
    Ok(Command::Copy(Box::new(settings), operands))
}

impl Settings {
    fn set(&mut self, id: Id, value: Option<OsString>) -> Result<(), Usage> {
        let policy = &mut self.policy;
        match id {
            Id::Archive => {
                self.dereference = Some(Dereference::Never);
                policy.recursion = Recursion::Yes;
                policy.preserve = ARCHIVE;
            }
            Id::AttributesOnly => policy.make = Make::Attributes,
            Id::CopyContents => policy.specials = Specials::Read,
            Id::NoDereferenceLinks => {
                self.dereference = Some(Dereference::Never);
                policy.preserve.links = Links::Keep;
            }
            Id::Dereference => self.dereference = Some(Dereference::Always),
            Id::DereferenceOperands => self.dereference = Some(Dereference::Operands),
            Id::NoDereference => self.dereference = Some(Dereference::Never),
            Id::Force if policy.force == Force::No => policy.force = Force::IfUnopenable,
            Id::Force => {}
            Id::RemoveDestination => policy.force = Force::First,
            Id::Interactive => policy.consent = Consent::Ask,
            Id::NoClobber => policy.consent = Consent::Denied,
            Id::Backup => {
                self.wants_backup = true;
                self.backup = value.or(self.backup.take());
            }
            Id::BackupUsual => self.wants_backup = true,
            Id::Suffix => {
                self.wants_backup = true;
                self.suffix = value;
            }
            Id::Parents => policy.parents = Parents::Keep,
            Id::Debug => {
                self.debug = true;
                self.verbose = true;
            }
            Id::Context | Id::ContextDefault => self.context(value.as_deref())?,
            Id::UpdateOlder => policy.existing = Existing::Older,
            Id::Update => policy.existing = value::update(value.as_deref())?,
            Id::Link => policy.make = make(policy.make, Make::HardLink)?,
            Id::Symbolic => policy.make = make(policy.make, Make::SymbolicLink)?,
            Id::PreserveUsual => usual(&mut policy.preserve),
            Id::Preserve => match value.as_deref() {
                None => usual(&mut policy.preserve),
                Some(list) => {
                    self.requires_context |= preserve(list, &mut policy.preserve)?;
                }
            },
            Id::NoPreserve => {
                let list = value.as_deref().unwrap_or_default();
                let gives_it_up = no_preserve(list, &mut policy.preserve)?;
                self.requires_context &= !gives_it_up;
            }
            Id::Recursive => policy.recursion = Recursion::Yes,
            Id::Reflink => policy.data.reflink = reflink(value.as_deref())?,
            Id::Sparse => policy.data.sparse = sparse(value.as_deref().unwrap_or_default())?,
            Id::StripSlashes => self.strip_slashes = true,
            Id::TargetDirectory if self.into.is_some() => {
                return Err(Usage("multiple target directories specified".to_owned()));
            }
            Id::TargetDirectory => self.into = value,
            Id::NoTargetDirectory => self.as_name = true,
            Id::Verbose => self.verbose = true,
            Id::KeepDirectorySymlink => policy.target_links = TargetLinks::KeepDirectory,
            Id::OneFileSystem => policy.borders = Borders::Stay,
            Id::HaulJobs
            | Id::HaulDryRun
            | Id::HaulPreflight
            | Id::HaulErrors
            | Id::HaulRetryFailed
            | Id::HaulProfile
            | Id::HaulJson
            | Id::HaulProgress
            | Id::HaulStats
            | Id::Trust(_) => self.set_own(id, value)?,
            Id::Data(_) | Id::Help | Id::Version => {}
        }
        Ok(())
    }

    /// Applies an option that GNU cp does not have.
    fn set_own(&mut self, id: Id, value: Option<OsString>) -> Result<(), Usage> {
        match id {
            Id::HaulJobs => self.jobs = Some(value::jobs(value.as_deref())?),
            Id::HaulDryRun => self.dry_run = true,
            Id::HaulPreflight => self.preflight = true,
            Id::HaulErrors => {
                self.errors = Some(value::file("--errors", value, Dash::NoOutput)?);
            }
            Id::HaulRetryFailed => {
                self.retry_failed = Some(value::file("--retry-failed", value, Dash::NoInput)?);
            }
            Id::HaulProfile => {
                let word = value::file("--profile", value, Dash::NoInput)?;
                self.profile = profile::wanted(Some(&word));
            }
            Id::HaulJson => self.format = Format::Json,
            Id::HaulProgress => self.progress = value::progress_when(value.as_deref())?,
            Id::HaulStats => self.stats = true,
            Id::Trust(id) => self.trust.set(&mut self.policy, id, value)?,
            _ => {}
        }
        Ok(())
    }

    /// `-Z` and `--context`: without SELinux there is nothing to set, and GNU cp says so only if a
    /// context was given.
    fn context(&mut self, value: Option<&OsStr>) -> Result<(), Usage> {
        if value::has_selinux() {
            return Err(Usage(
                "setting an SELinux context is not supported; copy without -Z and use restorecon"
                    .to_owned(),
            ));
        }
        if value.is_some() {
            self.warnings.push(
                "warning: ignoring --context; it requires an SELinux-enabled kernel".to_owned(),
            );
        }
        Ok(())
    }

    /// Applies the settings of a profile that the command line does not set.
    fn advise(&mut self, operands: &[OsString]) {
        let policy = &mut self.policy;
        let advice = profile::advise(&self.profile, policy, operands, self.into.as_ref());
        self.jobs = self.jobs.or(advice.jobs);
        self.warnings.extend(advice.warning);
        self.profile_line = advice.line.filter(|_| self.debug || self.data.explain);
    }

    /// Settles what depends on several options together.
    fn settle(&mut self) -> Result<(), Usage> {
        let policy = &mut self.policy;
        if policy.data.reflink == Reflink::Always && policy.data.sparse != Sparse::Auto {
            return Err(Usage("--reflink can be used only with --sparse=auto".to_owned()));
        }
        let by_default = match (policy.recursion, policy.make) {
            (Recursion::Yes, Make::HardLink) | (Recursion::No, _) => Dereference::Always,
            (Recursion::Yes, _) => Dereference::Never,
        };
        policy.dereference = self.dereference.unwrap_or(by_default);
        if self.requires_context {
            // Even if a later option, such as -a, only tries to keep it.
            policy.preserve.context = Keep::Must;
        }
        self.trust.settle(policy)?;
        policy.data.tell = self.data.tell(self.stats);
        policy.privileged = haul_sys::process::identity().uid == 0;
        self.trust.settle_resume(policy, self.wants_backup)?;
        if self.trust.resume && (self.dry_run || self.preflight) {
            return Err(Usage(
                "--resume cannot be combined with --dry-run or --preflight".to_owned(),
            ));
        }
        if self.wants_backup {
            policy.backup = value::backup(self.backup.as_deref(), self.suffix.as_deref())?;
            let keeps = policy.consent == Consent::Denied
                || matches!(policy.existing, Existing::Keep | Existing::KeepAndFail);
            if keeps {
                return Err(Usage(
                    "--backup is mutually exclusive with -n or --update=none-fail".to_owned(),
                ));
            }
        }
        let watched = self.verbose && self.format == Format::Text;
        if watched || policy.consent == Consent::Ask {
            policy.order = Order::Listed;
        }
        if std::env::var_os("POSIXLY_CORRECT").is_some()
            && policy.target_links == TargetLinks::Strict
            // What does not exist cannot be replaced at once.
            && !policy.appears_whole()
        {
            policy.target_links = TargetLinks::WriteDangling;
        }
        Ok(())
    }
}

/// Turns settings and operands into a request.
fn request(settings: &Settings, operands: &[OsString]) -> Result<Request, CommandError> {
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
    let sources =
        sources.iter().map(|source| c_string(source, settings)).collect::<Result<_, _>>()?;
    let (policy, resources) = policy_and_resources(settings);
    Ok(Request {
        sources,
        target: CString::new(target.as_bytes())
            .map_err(|_| CommandError::Plain("a name holds a NUL byte".to_owned()))?,
        form,
        policy,
        resources,
        resume: settings.trust.request().map_err(CommandError::Plain)?,
    })
}

fn policy_and_resources(settings: &Settings) -> (Policy, Resources) {
    let descriptors = haul_sys::process::raise_nofile_limit()
        .unwrap_or_else(|_| haul_sys::process::nofile_limit());
    let jobs = settings.jobs.unwrap_or_else(value::default_jobs);
    // A number of jobs, or a memory limit, on the command line is final.
    let is_bounded = settings.jobs.is_some() || settings.data.memory.is_some();
    let waiting_jobs = if is_bounded { jobs } else { jobs.max(value::WAITING_JOBS) };
    let mut policy = settings.policy.clone();
    policy.data.worker_bytes = settings.data.memory.map(|bytes| bytes / jobs);
    (policy, Resources { jobs, waiting_jobs, descriptors })
}

fn c_string(name: &OsStr, settings: &Settings) -> Result<CString, CommandError> {
    let mut bytes = name.as_bytes();
    while settings.strip_slashes && bytes.len() > 1 && bytes.ends_with(b"/") {
        bytes = bytes.get(..bytes.len() - 1).unwrap_or(bytes);
    }
    // The kernel hands no argument with a NUL to a program; a caller's own list might.
    CString::new(bytes).map_err(|_| CommandError::Plain("a name holds a NUL byte".to_owned()))
}

/// Returns how much is printed; prints the warnings about the command line.
fn how(output: &Output, settings: &Settings, request: &Request) -> report::How {
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
        debug: settings.debug,
        overrides: request.policy.force != Force::No,
        never_shares: request.policy.data.reflink == Reflink::Never
            || request.policy.data.sparse == Sparse::Never,
        stats: settings.stats,
        explain: settings.data.explain,
        progress: settings.progress,
    }
}
