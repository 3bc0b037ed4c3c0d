//! `tar -c`: writes the names as an archive, to a file or standard output, compressed or not.

use haul_sys::sync::Mutex;
use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use haul_archive::create::{
    Archived, Borders, Event, Monitor, Operand, Plan, Report, Severity, Sink, Stays,
    create as write_members, remove_archived,
};
use haul_archive::format::{BLOCK_BYTES, Member, WriteFormat};
use haul_archive::transform::NameOf;
use haul_io::stored::flush_but;
use haul_io::stream::{Durable, Side};
use haul_start::Standard;
use haul_sys::fs::{Kind, fstat};
use haul_sys::memory::room_bytes;
use haul_sys::process::{end_hearing, hear_stop};

use super::checkpoint::{Counter, Direction};
use super::creation_event::{errno, is_failed_read, keyword, words};
use super::list::show_on;
use super::open::refuse_buffer;
use super::print::Columns;
use super::quoting::named;
use super::session::Session;
use super::settings::Settings;
use super::tallied::TalliedTarget;
use super::target::{Target, is_by_program};
use super::totals;
use super::unfinished::{Unfinished, demand_running, die_if_asked};
use super::verify::{self, Origin};
use super::warning::Warning;
use super::watched::WatchedTarget;
use crate::escape::quote_word;
use crate::file_error::describe;
use crate::file_error::not_given_back;
use crate::standard::demand;
use crate::target_file::{TargetFile, open as open_target};

/// Closes the archive, which may be when the errors of its writes are reported. The descriptors that writers
/// still have are of the same open file.
fn close(file: Option<&OwnedFd>) -> io::Result<()> {
    let Some(file) = file else { return Ok(()) };
    crate::file_error::close_error(file).map_err(|error| error.errno.into())
}

/// What is written, and where.
pub(super) struct Output {
    pub(super) target: Target,
    /// Device and inode of an archive that could contain itself, and of the one that it replaces.
    pub(super) identity: Vec<(u64, u64)>,
    /// Bytes of the archive before the first new member.
    pub(super) start: u64,
    /// The format, where the archive has one.
    pub(super) format: Option<WriteFormat>,
    /// Place of the members, if the archive gets an index of them.
    pub(super) borders: Option<Borders>,
    /// The archive, if it gets its name when it is complete.
    pub(super) unpublished: Option<TargetFile>,
    /// The archive, if the run made it or emptied it, and it has its name.
    pub(super) unfinished: Option<Unfinished>,
    /// The open archive, which may have no name yet.
    pub(super) file: Option<Arc<OwnedFd>>,
    /// Set by a signal that asks the run to end, if the run then leaves no unfinished archive.
    pub(super) stop: Option<&'static AtomicBool>,
}

/// Creates an archive.
pub(super) fn create(session: &Arc<Session>, settings: &Settings) -> ExitCode {
    let operands = match operands(session, settings) {
        Ok(operands) => operands,
        Err(text) => return session.fatal(&text),
    };
    match open(settings) {
        Ok(mut output) => {
            if output.unpublished.is_some() || output.unfinished.is_some() {
                output.stop = Some(hear_stop());
            }
            let ended = write(session, settings, operands, output);
            // Once the unfinished archive is removed.
            die_if_asked();
            ended
        }
        Err(text) => {
            let archive = named(settings.file.as_encoded_bytes());
            session.fatal(&format!("{archive}: Cannot open: {text}"))
        }
    }
}

/// Returns the file of a complete archive, or gives it up if a signal has asked for the end of the run.
fn still_wanted(file: TargetFile) -> Option<TargetFile> {
    if demand_running().is_ok() {
        return Some(file);
    }
    file.abandon();
    None
}

/// Writes members and the end of the archive.
pub(super) fn write(
    session: &Arc<Session>,
    settings: &Settings,
    operands: Vec<Operand>,
    output: Output,
) -> ExitCode {
    let archive = named(settings.file.as_encoded_bytes());
    let Output { target, identity, start, format, borders, unpublished, unfinished, file, stop } =
        output;
    let is_file = !identity.is_empty();
    let hole_bytes = hole_bytes(file.as_deref());
    let plan = Plan { stop, ..plan((session, settings), identity, format, &target) };
    let telling = Telling {
        session,
        settings,
        columns: Mutex::new(Columns::new()),
        borders,
        archived: Mutex::new(Vec::new()),
        damaged: Mutex::default(),
        origins: Mutex::default(),
    };
    // Before threads are started.
    let counter = Counter::new(session, settings, Direction::Write);
    let target = TalliedTarget::new(WatchedTarget::new(target, counter, start), session);
    let mut sink = Sink::behind(target, start);
    let record_bytes = settings.creation.blocking * 512;
    let mut total = 0;
    let written = write_members(operands, &plan, &telling, &mut sink)
        .and_then(|()| {
            let ended = sink.written() + 2 * BLOCK_BYTES as u64;
            total = ended.next_multiple_of(record_bytes) - start / record_bytes * record_bytes;
            sink.end(record_bytes)
        })
        .and_then(|tallied| tallied.into_inner().end().end())
        .and_then(|()| close(file.as_deref()));
    if let Err(error) = written {
        if let Some(unpublished) = unpublished {
            unpublished.abandon();
        }
        if let Some(Err(error)) = unfinished.map(Unfinished::discard) {
            session
                .warn(&format!("{archive}: Cannot remove: {}; it is incomplete", describe(&error)));
        }
        return session.fatal(&format!("{archive}: Cannot write: {}", describe(&error)));
    }
    // A complete archive stays, whatever becomes of the rest of the run.
    end_hearing();
    let unpublished = unpublished.and_then(still_wanted);
    die_if_asked();
    let origins = telling.origins.lock().clone();
    let is_intact = match &file {
        Some(file) if settings.own.verifies => {
            verify::created(session, settings, (file, start), &origins)
        }
        _ => true,
    };
    if let Some(unpublished) = unpublished {
        if !is_intact {
            unpublished.abandon();
            return session.fatal(&format!("{archive}: not replaced: it could not be verified"));
        }
        let warn = |text: &str| session.warn(&format!("{archive}: Warning: {text}"));
        // What is removed then is nowhere else.
        let removes = settings.creation.removes_files;
        let durable = if removes { Durable::Yes } else { settings.own.durable() };
        if let Err(text) = unpublished.publish_dense(durable, warn) {
            return session.fatal(&format!("{archive}: Cannot write: {text}"));
        }
    }
    report_unconsumed(session, settings);
    if settings.own.is_dry && !session.is_json() {
        let size = crate::sizes::bytes(total);
        session.show(&format!("would write an archive of {size}, before any compression"), false);
    }
    if settings.shows_totals {
        totals::print(session, "written", total, session.begin);
    }
    if settings.creation.removes_files && !is_intact {
        session.warn("no file is removed: the archive could not be verified");
    } else if settings.creation.removes_files && !session.end_sums() {
        session.warn("no file is removed: the list of digests is not complete");
    } else if settings.creation.removes_files {
        let file = file.as_deref().filter(|_| is_file);
        remove_files(session, settings, file.map(|file| (file, hole_bytes)), &telling.removable());
    }
    session.end()
}

fn plan(
    (session, settings): (&Session, &Settings),
    archive: Vec<(u64, u64)>,
    format: Option<WriteFormat>,
    target: &Target,
) -> Plan {
    let planned = settings.creation.plan();
    // Readers learn the format of each member from its header, so what needs extended headers has them in an
    // archive of any format.
    let format = format.filter(|_| planned.format != WriteFormat::Posix);
    Plan {
        archive,
        format: format.unwrap_or(planned.format),
        names_may_repeat: planned.names_may_repeat || settings.names.may_repeat(),
        numeric_owner: settings.numeric_owner,
        absolute_names: settings.extraction.absolute_names,
        uncut_max_bytes: target.has_index().then_some(settings.creation.frame_bytes() / 4),
        memory_bytes: room_bytes() / 8,
        workers: settings.extraction.workers(),
        waiting_workers: settings.extraction.waiting_workers(),
        attributes: settings.attributes.clone(),
        reads_ahead: !settings.checkpoints.interfere(),
        // Only a digest needs the data of an archive that goes nowhere.
        skips_data: matches!(target, Target::Nowhere) && settings.own.sum_file.is_none(),
        hashes: settings.own.hashes(),
        outputs: session.sum_file().into_iter().collect(),
        data: settings.own.data(),
        ..planned
    }
}

/// Names options that hold for names behind them, and had none.
fn report_unconsumed(session: &Session, settings: &Settings) {
    let options = &settings.names.unconsumed;
    if options.is_empty() {
        return;
    }
    session.fail(
        "The following options were used after non-option arguments.  These options are positional \
         and affect only arguments that follow them.  Please, rearrange them properly.",
    );
    for option in options {
        session.fail(&format!("{option} has no effect"));
    }
}

/// Returns how many bytes of an archive that is appended to are in holes.
fn hole_bytes(file: Option<&OwnedFd>) -> u64 {
    file.and_then(|file| fstat(file).ok())
        .map_or(0, |stat| stat.size.saturating_sub(stat.allocated_bytes()))
}

/// Removes what was archived, once a regular archive, which had so many bytes in holes before, has shown that it is on
/// stable storage.
fn remove_files(
    session: &Session,
    settings: &Settings,
    file: Option<(&OwnedFd, u64)>,
    archived: &[Archived],
) {
    let archive = &settings.file;
    if let Some((file, hole_bytes)) = file
        && let Err(error) = flush_but(file, hole_bytes)
    {
        let text = format!("Cannot sync: {}; no file is removed", error.text());
        return session.fail_at(archive.as_encoded_bytes(), &text);
    }
    remove_archived(archived, settings.creation.follow(), &mut |name, stays| match stays {
        Stays::Changed => session
            .differ(&format!("{}: file changed after it was archived; not removed", named(name))),
        Stays::Beside(other) => session.differ(&format!(
            "{}: file changed after it was archived, and {}; it stays as {}",
            named(name),
            not_given_back(other.why.errno),
            named(other.name.to_bytes())
        )),
        Stays::Unlink(error) => session.fail_at(name, &format!("Cannot unlink: {}", error.text())),
        Stays::Rmdir(error) => session.fail_at(name, &format!("Cannot rmdir: {}", error.text())),
    });
}

/// Opens the archive, in its place or as one that gets its name later.
fn open(settings: &Settings) -> Result<Output, String> {
    // Before the old archive is emptied.
    if is_by_program(settings) {
        refuse_buffer(settings).map_err(|error| describe(&error))?;
    }
    // Most often there is none; whatever else is wrong with the name, opening it tells.
    let old = std::fs::metadata(&settings.file).ok().filter(std::fs::Metadata::is_file);
    // With another name the old archive stays if a new one takes this, and is a file as any other.
    let old = old.filter(|old| old.nlink() == 1 || !settings.own.is_atomic());
    let old = old.map(|old| (old.dev(), old.ino()));
    if settings.own.is_dry {
        let (identity, target) = (Vec::from_iter(old), Target::Nowhere);
        return Ok(Output {
            target,
            identity,
            start: 0,
            format: None,
            borders: None,
            unpublished: None,
            unfinished: None,
            file: None,
            stop: None,
        });
    }
    let mut identity = Vec::new();
    let (mut unpublished, mut unfinished) = (None, None);
    let file = if settings.own.is_atomic() {
        identity.extend(old);
        let opened = open_target(&settings.file, true)?;
        let file = opened.target().file;
        unpublished = Some(opened);
        file
    } else if settings.file.as_encoded_bytes() == b"-" {
        Arc::new(standard_output().map_err(|error| describe(&error))?)
    } else {
        let made = Unfinished::create(settings.file.as_ref()).map_err(|error| describe(&error))?;
        unfinished.insert(made).file()
    };
    let stat = fstat(&*file).map_err(|error| error.text())?;
    if stat.kind() == Kind::Regular {
        identity.push((stat.dev, stat.ino));
    } else {
        unfinished = None;
    }
    let borders = Borders::default();
    let opened = Arc::clone(&file);
    let target =
        Target::open(settings, file, stat.kind(), &borders).map_err(|error| describe(&error))?;
    let borders = target.has_index().then_some(borders);
    let file = Some(opened);
    Ok(Output {
        target,
        identity,
        start: 0,
        format: None,
        borders,
        unpublished,
        unfinished,
        file,
        stop: None,
    })
}

fn standard_output() -> io::Result<OwnedFd> {
    demand(Standard::Output).map_err(|error| io::Error::from(error.errno))?;
    io::stdout().as_fd().try_clone_to_owned()
}

/// Opens the directories of `-C` and joins them with the names.
pub(super) fn operands(session: &Session, settings: &Settings) -> Result<Vec<Operand>, String> {
    let names = &settings.names;
    let mut directories: Vec<Arc<OwnedFd>> = Vec::new();
    let mut path = PathBuf::from(".");
    let steps = std::iter::once(b".".as_slice());
    for step in steps.chain(names.directories.iter().map(Vec::as_slice)) {
        path.push(OsStr::from_bytes(step));
        let opened = File::open(&path).and_then(|file| match file.metadata()?.is_dir() {
            true => Ok(OwnedFd::from(file)),
            false => Err(haul_sys::Errno::NOTDIR.into()),
        });
        let directory = opened
            .map_err(|error| format!("{}: Cannot open: {}", named(step), describe(&error)))?;
        directories.push(Arc::new(directory));
    }
    let mut operands = Vec::with_capacity(names.names.len());
    for (number, name) in names.names.iter().enumerate() {
        if name.text.contains(&0) {
            session.fail_at(&name.text, "a name cannot contain a NUL");
            continue;
        }
        let at = name.directory.map_or(0, |index| index + 1);
        let Some(directory) = directories.get(at) else { continue };
        operands.push(Operand {
            directory: Arc::clone(directory),
            name: name.text.clone(),
            recurses: name.recurses,
            scope: name.scope,
            number,
        });
    }
    Ok(operands)
}

struct Telling<'s> {
    session: &'s Session,
    settings: &'s Settings,
    columns: Mutex<Columns>,
    /// Of an archive with an index.
    borders: Option<Borders>,
    /// What `--remove-files` removes.
    archived: Mutex<Vec<Archived>>,
    /// Files that stay under all their names.
    damaged: Mutex<HashSet<(u64, u64)>>,
    /// The operands that members come from, for `--verify`.
    origins: Mutex<Vec<Origin>>,
}

impl Telling<'_> {
    /// Returns what is in the archive as it is, and names the rest.
    fn removable(self) -> Vec<Archived> {
        let mut archived = self.archived.into_inner();
        let damaged = self.damaged.into_inner();
        archived.retain(|one| {
            let is_damaged = damaged.contains(&one.file());
            if is_damaged {
                let text = "the archive does not have all of the file; not removed";
                self.session.differ(&format!("{}: {text}", named(one.name())));
            }
            !is_damaged
        });
        archived
    }
}

impl Monitor for Telling<'_> {
    fn is_excluded(&self, name: &[u8], scope: usize) -> bool {
        self.settings.names.is_excluded_in(scope, name)
    }

    fn renamed<'n>(&self, name: &'n [u8], of: NameOf) -> Cow<'n, [u8]> {
        self.settings.extraction.transform.apply(name, of)
    }

    fn report(&self, report: Report<'_>) {
        let removes_files = self.settings.creation.removes_files;
        match report {
            Report::Member { member, original, operand } => self.member(member, original, operand),
            Report::Removed { beginning, of_link } => self.session.removed(beginning, of_link),
            Report::Waited(time) => {
                if let Some(reporting) = self.session.reporting() {
                    reporting.tally.waited(Side::Source, time);
                }
            }
            Report::Hashed { name, digest } => self.session.hashed(name, digest),
            Report::Damaged(file) if removes_files => _ = self.damaged.lock().insert(file),
            Report::Archived(file) if removes_files => self.archived.lock().push(file()),
            Report::Damaged(_) | Report::Archived(_) => {}
            Report::Event(name, event) => self.event(name, event),
        }
    }
}

impl Telling<'_> {
    fn member(&self, member: &Member, original: &[u8], operand: usize) {
        if self.settings.own.verifies {
            let mut origins = self.origins.lock();
            match origins.last_mut() {
                Some((last, members)) if *last == operand => *members += 1,
                _ => origins.push((operand, 1)),
            }
        }
        if let Some(borders) = &self.borders {
            borders.add(member);
        }
        self.session.member(member);
        let is_dry = self.settings.own.is_dry;
        if self.settings.verbosity > 0 || is_dry {
            let mut member = member.clone();
            if !self.settings.extraction.shows_transformed {
                member.name = original.to_vec();
            }
            let mut columns = self.columns.lock();
            let verbosity = self.settings.verbosity.saturating_sub(1);
            show_on(self.session, &member, self.settings, (verbosity, false), &mut columns);
        }
    }

    fn event(&self, name: &[u8], event: &Event) {
        let needs_verbose = matches!(event, Event::Tagged(..) | Event::Unchanged);
        if needs_verbose && self.settings.verbosity == 0 {
            return;
        }
        if is_failed_read(event) && self.settings.creation.ignores_failed_read {
            let text = format!("{}: Warning: {}", named(name), words(event));
            return self.session.warn_of(Warning::FailedRead, &text);
        }
        let text = match event {
            Event::MissingLinks => format!("Missing links to {}.", quote_word(name)),
            _ => format!("{}: {}", named(name), words(event)),
        };
        if keyword(event).is_some_and(|warning| !self.session.warns(warning)) {
            if event.severity() == Severity::Differs {
                self.session.set_differs();
            }
            return;
        }
        match event.severity() {
            Severity::Warning => self.session.warn(&text),
            Severity::Differs => self.session.differ(&text),
            Severity::Failure => self.session.fail_about(name, &text, errno(event)),
        }
    }
}
