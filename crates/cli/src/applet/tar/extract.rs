//! `tar -x`: extracts members below a directory, or writes them to standard output.

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haul_archive::extract::{
    Devices, Event, Extractor, Intent, Monitor, Names, Owners, Permissions, Policy, Rehearsal,
    Times,
};
use haul_archive::format::{Member, MemberKind, ReadError, Reader};
use haul_archive::safe_name::has_parent;
use haul_archive::source::Source;
use haul_io::Reflink;
use haul_io::stream::Side;
use haul_sys::process::{identity, umask};

use super::count::Count;
use super::event::Telling;
use super::fence::raise;
use super::list::{is_new, next, omit, report_missing, show};
use super::member_name::{Changed, stored_name};
use super::open;
use super::print::Columns;
use super::quoting::listed;
use super::session::{Session, Stopped};
use super::settings::Settings;
use super::totals;
use super::verify;

/// Bytes of a file that are read at a time for standard output.
const PIECE_BYTES: usize = 256 << 10;

/// Extracts an archive.
pub(super) fn extract(session: &Arc<Session>, settings: &mut Settings) -> ExitCode {
    let archive = settings.file.clone();
    let archive = archive.as_encoded_bytes();
    let (source, kept) = match open::open(session, settings) {
        Ok(opened) => opened,
        Err(stopped) => return session.stopped(archive, &stopped),
    };
    if settings.own.reflink == Some(Reflink::Always) && source.file().is_none() {
        return session.fatal("--reflink=always needs an uncompressed archive in a file");
    }
    raise(settings);
    let names = settings.own.verifies.then(|| settings.names.clone());
    let source = settings.limits.cap(source, kept);
    let mut run = Run {
        session,
        reader: Reader::new(source, settings.zeros).ending(kept.ending()),
        policy: policy(settings),
        monitor: Arc::new(Telling { session: Arc::clone(session), zone: settings.zone }),
        extractors: HashMap::new(),
        rehearsals: HashMap::new(),
        last: None,
        count: Count::new(settings.limits, "extracted"),
        columns: Columns::new(),
    };
    let ended = run.members(settings);
    let read = run.reader.offset();
    let ended = ended.and_then(|()| run.reader.drain().map_err(Stopped::Read));
    let ended = ended.and_then(|()| open::leave_input(settings, kept, read));
    let begun = Begun::now(session);
    for (_, extractor) in run.extractors.drain() {
        extractor.finish();
    }
    begun.end(session);
    if let Err(stopped) = ended.map_err(|stopped| run.count.explained(archive, stopped)) {
        return session.stopped(archive, &stopped);
    }
    totals::read(session, settings, run.reader.offset());
    if let Some(names) = names {
        verify::extracted(session, settings, names);
    }
    report_missing(session, settings);
    session.end()
}

fn policy(settings: &Settings) -> Policy {
    let asked = &settings.extraction;
    let is_root = identity().uid == 0;
    let owners = match (asked.same_owner.unwrap_or(is_root), settings.numeric_owner) {
        (false, _) => Owners::Own,
        (true, false) => Owners::Named,
        (true, true) => Owners::Numbered,
    };
    let is_exact = asked.same_permissions.unwrap_or(is_root);
    Policy {
        existing: asked.existing,
        archive: open::identity(settings),
        permissions: if is_exact { Permissions::Exact } else { Permissions::Masked },
        owners,
        appearance: settings.own.appearance(),
        resumes: settings.own.resumes,
        data: settings.own.data(),
        names: if asked.absolute_names { Names::Absolute } else { Names::Beneath },
        devices: if asked.devices || asked.same_permissions == Some(true) {
            Devices::Make
        } else {
            Devices::Refuse
        },
        times: if asked.touch { Times::Now } else { Times::Archive },
        keeps_links_to_directories: asked.keeps_links,
        removes_trees: asked.removes_trees,
        user: identity().uid,
        umask: umask(),
        workers: asked.workers(),
        waiting_workers: asked.waiting_workers(),
    }
}

/// When work on files began, and how long the archive had been waited for then.
struct Begun(Instant, u64);

impl Begun {
    fn now(session: &Session) -> Begun {
        Begun(Instant::now(), archive_wait(session))
    }

    /// Counts the time since then as waiting for the files, but for that of reading the archive.
    fn end(self, session: &Session) {
        let Some(reporting) = session.reporting() else { return };
        let reading = Duration::from_nanos(archive_wait(session) - self.1);
        reporting.tally.waited(Side::Target, self.0.elapsed().saturating_sub(reading));
    }
}

fn archive_wait(session: &Session) -> u64 {
    session.reporting().map_or(0, |reporting| reporting.tally.waits().0)
}

struct Run<'s> {
    session: &'s Arc<Session>,
    reader: Reader<Box<dyn Source + Send>>,
    policy: Policy,
    monitor: Arc<dyn Monitor>,
    /// By the index of the directory that `-C` named.
    extractors: HashMap<Option<usize>, Extractor>,
    /// The same where nothing is changed.
    rehearsals: HashMap<Option<usize>, Rehearsal>,
    last: Option<Option<usize>>,
    count: Count,
    columns: Columns,
}

impl Run<'_> {
    fn members(&mut self, settings: &mut Settings) -> Result<(), Stopped> {
        if settings.names.select_all() {
            // A directory that does not exist is an error, even if the archive is empty.
            self.extractor(settings, settings.names.directories.len().checked_sub(1))?;
        }
        while let Some(member) = next(self.session, &mut self.reader)? {
            let selected =
                settings.names.select_directory(stored_name(&member.name), settings.occurrence);
            let Some(directory) = selected.filter(|_| is_new(&member, settings)) else {
                omit(self.session, &member, settings);
                continue;
            };
            self.count.add(&member).map_err(Stopped::Fatal)?;
            let changed = Changed::of(self.session, &member, settings);
            self.member(settings, member, &changed, directory)?;
            if settings.names.are_all_found(settings.occurrence) {
                break;
            }
        }
        Ok(())
    }

    fn member(
        &mut self,
        settings: &Settings,
        mut member: Box<Member>,
        changed: &Changed,
        directory: Option<usize>,
    ) -> Result<(), Stopped> {
        if !settings.extraction.absolute_names && has_parent(&member.name) {
            self.session.fail_at(&member.name, "Member name contains '..'");
            return Ok(());
        }
        let top = settings.extraction.top.as_deref();
        let Some(name) = changed.extracted(settings, top) else { return Ok(()) };
        let link = changed.extracted_link(settings, top);
        self.session.member(&member);
        if settings.verbosity > 0 {
            let mut shown = member.clone();
            changed.prepare_to_show(&mut shown, settings);
            let verbosity = settings.verbosity - 1;
            show(self.session, &shown, settings, verbosity, &mut self.columns);
        }
        if settings.extraction.to_stdout {
            return Ok(self.print(&member)?);
        }
        if settings.own.is_dry {
            return self.rehearse(settings, &member, &name, directory);
        }
        if self.last != Some(directory)
            && let Some(last) = self.last.and_then(|last| self.extractors.get_mut(&last))
        {
            last.wait();
        }
        self.last = Some(directory);
        if member.kind == MemberKind::Symlink {
            member.link.clone_from(&changed.link);
        }
        self.extractor(settings, directory)?;
        if let Some(extractor) = self.extractors.get_mut(&directory) {
            let begun = Begun::now(self.session);
            extractor.member(&mut self.reader, member, &name, &link)?;
            begun.end(self.session);
        }
        let parents = self.extractors.values().map(Extractor::parents_made).sum();
        self.count.demand_few_parents(parents).map_err(Stopped::Fatal)
    }

    /// Tells what would become of a member.
    fn rehearse(
        &mut self,
        settings: &Settings,
        member: &Member,
        name: &[u8],
        directory: Option<usize>,
    ) -> Result<(), Stopped> {
        if !self.rehearsals.contains_key(&directory) {
            let target = open::directory(settings, directory)?;
            self.rehearsals.insert(directory, Rehearsal::new(target, self.policy.clone()));
        }
        let Some(rehearsal) = self.rehearsals.get_mut(&directory) else { return Ok(()) };
        match member.kind {
            MemberKind::VolumeLabel => return Ok(()),
            MemberKind::Continued => {
                self.monitor.event(name, &Event::Continued);
                return Ok(());
            }
            _ => {}
        }
        let intent = rehearsal.member(member, name);
        let action = match &intent {
            Intent::Make => "make",
            Intent::Replace => "replace",
            Intent::Merge => "keep directory",
            Intent::Keep => "keep",
            Intent::LeadsOut => {
                self.monitor.event(name, &Event::LeadsOut);
                return Ok(());
            }
            Intent::Device => {
                self.monitor.event(name, &Event::Device);
                return Ok(());
            }
            Intent::Fail(error) => {
                self.session.fail_call(name, "would fail", *error);
                return Ok(());
            }
        };
        if !self.session.would(action, name) {
            self.session.show(&format!("would {action} {}", listed(name)), false);
        }
        Ok(())
    }

    /// Begins to extract into a directory, unless this was done before.
    fn extractor(&mut self, settings: &Settings, directory: Option<usize>) -> Result<(), Stopped> {
        let makes_none = settings.extraction.to_stdout || settings.own.is_dry;
        if self.extractors.contains_key(&directory) || makes_none {
            return Ok(());
        }
        let target = open::directory(settings, directory)?;
        let archive = self.reader.source().file();
        let monitor = Arc::clone(&self.monitor);
        let extractor = Extractor::new(target, self.policy.clone(), monitor, archive);
        let extractor = extractor.map_err(|error| {
            Stopped::Fatal(format!("Cannot describe the archive: {}", error.text()))
        })?;
        let extractor = extractor.restoring(settings.attributes.clone());
        let extractor = match settings.own.hashes() {
            Some(algorithm) => extractor.hashing(algorithm),
            None => extractor,
        };
        self.extractors.insert(directory, extractor);
        Ok(())
    }

    /// Writes a file to standard output, its holes as zeros.
    fn print(&mut self, member: &Member) -> Result<(), ReadError> {
        if !member.is_file() {
            return Ok(());
        }
        let most = usize::try_from(member.size).unwrap_or(usize::MAX).min(PIECE_BYTES);
        let mut piece = vec![0; most];
        let mut at = 0;
        for region in member.data() {
            self.zeros(region.offset - at);
            let mut left = region.bytes;
            while left > 0 {
                let want = usize::try_from(left).unwrap_or(usize::MAX).min(most);
                let count = self.reader.read(&mut piece[..want])?;
                self.session.output.bytes(&piece[..count]);
                left -= count as u64;
            }
            at = region.offset + region.bytes;
        }
        self.zeros(member.size - at);
        Ok(())
    }

    fn zeros(&self, bytes: u64) {
        let zeros = [0; 4096];
        let mut left = bytes;
        while left > 0 {
            let count = usize::try_from(left).unwrap_or(usize::MAX).min(zeros.len());
            self.session.output.bytes(&zeros[..count]);
            left -= count as u64;
        }
    }
}
