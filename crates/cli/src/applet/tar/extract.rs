//! `tar -x`: extracts members below a directory, or writes them to standard output.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use haul_archive::extract::{Extractor, Monitor, Names, Owners, Permissions, Policy, Times};
use haul_archive::filter::TABLE;
use haul_archive::format::{Member, MemberKind, ReadError, Reader};
use haul_archive::safe_name::has_parent;
use haul_archive::source::Source;
use haul_sys::process::{identity, umask};

use super::event::Telling;
use super::list::{next, report_missing, show};
use super::member_name::{Changed, stored_name};
use super::open::open;
use super::print::Columns;
use super::quoting::named;
use super::session::Session;
use super::settings::Settings;
use super::totals;
use crate::file_error::describe;

/// Bytes of a file that are read at a time for standard output.
const PIECE_BYTES: usize = 256 << 10;

/// Why an extraction ends early.
enum Stopped {
    Read(ReadError),
    Fatal(String),
}

impl From<ReadError> for Stopped {
    fn from(error: ReadError) -> Stopped {
        Stopped::Read(error)
    }
}

/// Extracts an archive.
pub(super) fn extract(session: &Arc<Session>, settings: &mut Settings) -> ExitCode {
    let archive = settings.file.clone();
    let archive = archive.as_encoded_bytes();
    let (source, is_plain) = match open(settings) {
        Ok(opened) => opened,
        Err(error) => {
            return session.fatal(&format!(
                "{}: Cannot open: {}",
                named(archive),
                describe(&error)
            ));
        }
    };
    let top = match top_level(settings) {
        Ok(top) => top,
        Err(text) => return session.fatal(&text),
    };
    let mut run = Run {
        session,
        reader: Reader::new(source, settings.zeros).refusing_empty(is_plain),
        policy: policy(settings),
        monitor: Arc::new(Telling {
            session: Arc::clone(session),
            is_verbose: settings.verbosity > 0,
        }),
        extractors: HashMap::new(),
        last: None,
        columns: Columns::new(),
        top,
    };
    let ended = run.members(settings);
    let ended = ended.and_then(|()| run.reader.drain().map_err(Stopped::Read));
    for (_, extractor) in run.extractors.drain() {
        extractor.finish();
    }
    match ended {
        Err(Stopped::Read(error)) => return session.unreadable(archive, &error),
        Err(Stopped::Fatal(text)) => return session.fatal(&text),
        Ok(()) => {}
    }
    totals::read(session, settings, run.reader.offset());
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
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    Policy {
        existing: asked.existing,
        permissions: if is_exact { Permissions::Exact } else { Permissions::Masked },
        owners,
        names: if asked.absolute_names { Names::Absolute } else { Names::Beneath },
        times: if asked.touch { Times::Now } else { Times::Archive },
        umask: umask(),
        workers: asked.jobs.unwrap_or(processors),
    }
}

/// Returns the directory of `--one-top-level`: as given, or the archive's name without its endings.
fn top_level(settings: &Settings) -> Result<Option<Vec<u8>>, String> {
    let Some(given) = &settings.extraction.top_level else { return Ok(None) };
    let bytes = given.as_encoded_bytes();
    if has_parent(bytes) || bytes.starts_with(b"/") {
        return Err("--one-top-level needs a name below the target directory; give that one with \
                    --directory"
            .to_owned());
    }
    if !given.is_empty() {
        return Ok(Some(given.as_encoded_bytes().to_vec()));
    }
    let name = settings.file.as_encoded_bytes();
    let name = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let endings = TABLE.iter().flat_map(|(_, _, endings)| endings.iter());
    let packed = endings.into_iter().find_map(|ending| {
        let stem = name.strip_suffix(ending.as_bytes())?.strip_suffix(b".")?;
        // An ending such as `tgz` stands for both.
        Some((stem, ending.starts_with('t')))
    });
    let base = match packed {
        Some((stem, true)) => Some(stem),
        Some((stem, false)) => Some(stem.strip_suffix(b".tar").unwrap_or(stem)),
        None => name.strip_suffix(b".tar"),
    };
    match base.filter(|base| !base.is_empty()) {
        Some(base) => Ok(Some(base.to_vec())),
        None => Err("Cannot deduce top-level directory name; please set it explicitly with \
                     --one-top-level=DIR"
            .to_owned()),
    }
}

struct Run<'s> {
    session: &'s Arc<Session>,
    reader: Reader<Box<dyn Source + Send>>,
    policy: Policy,
    monitor: Arc<dyn Monitor>,
    /// By the index of the directory that `-C` named.
    extractors: HashMap<Option<usize>, Extractor>,
    last: Option<Option<usize>>,
    columns: Columns,
    top: Option<Vec<u8>>,
}

impl Run<'_> {
    fn members(&mut self, settings: &mut Settings) -> Result<(), Stopped> {
        if settings.names.is_empty() {
            // A directory that does not exist is an error, even if the archive is empty.
            self.extractor(settings, settings.names.directories.len().checked_sub(1))?;
        }
        while let Some(member) = next(self.session, &mut self.reader)? {
            let selected =
                settings.names.select_directory(stored_name(&member.name), settings.occurrence);
            let Some(directory) = selected else { continue };
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
        mut member: Member,
        changed: &Changed,
        directory: Option<usize>,
    ) -> Result<(), Stopped> {
        if !settings.extraction.absolute_names && has_parent(&member.name) {
            self.session.fail_at(&member.name, "Member name contains '..'");
            return Ok(());
        }
        let top = self.top.as_deref();
        let Some(name) = changed.extracted(settings, top) else { return Ok(()) };
        let link = changed.extracted_link(settings, top);
        if settings.verbosity > 0 {
            let mut shown = member.clone();
            changed.prepare_to_show(&mut shown, settings);
            let verbosity = settings.verbosity - 1;
            show(self.session, &shown, settings, verbosity, &mut self.columns);
        }
        if settings.extraction.to_stdout {
            return Ok(self.print(&member)?);
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
        match self.extractors.get_mut(&directory) {
            Some(extractor) => Ok(extractor.member(&mut self.reader, member, &name, &link)?),
            None => Ok(()),
        }
    }

    /// Begins to extract into a directory, unless this was done before.
    fn extractor(&mut self, settings: &Settings, directory: Option<usize>) -> Result<(), Stopped> {
        if self.extractors.contains_key(&directory) || settings.extraction.to_stdout {
            return Ok(());
        }
        let mut path = PathBuf::from(".");
        let count = directory.map_or(0, |index| index + 1);
        for step in settings.names.directories.iter().take(count) {
            path.push(OsStr::from_bytes(step));
        }
        let shown = named(path.strip_prefix("./").unwrap_or(&path).as_os_str().as_bytes());
        let target = std::fs::File::open(&path).and_then(|file| match file.metadata()?.is_dir() {
            true => Ok(OwnedFd::from(file)),
            false => Err(haul_sys::Errno::NOTDIR.into()),
        });
        let target = target.map_err(|error| {
            Stopped::Fatal(format!("{shown}: Cannot open: {}", describe(&error)))
        })?;
        let archive = self.reader.source().file();
        let monitor = Arc::clone(&self.monitor);
        let extractor = Extractor::new(target, self.policy, monitor, archive)
            .map_err(|error| Stopped::Fatal(format!("{shown}: Cannot open: {}", error.text())))?;
        self.extractors.insert(directory, extractor);
        Ok(())
    }

    /// Writes a file to standard output, its holes as zeros.
    fn print(&mut self, member: &Member) -> Result<(), ReadError> {
        if !member.is_file() {
            return Ok(());
        }
        let mut piece = vec![0; PIECE_BYTES];
        let mut at = 0;
        for region in member.data() {
            self.zeros(region.offset - at);
            let mut left = region.bytes;
            while left > 0 {
                let want = usize::try_from(left).unwrap_or(usize::MAX).min(PIECE_BYTES);
                let count = self.reader.read(piece.get_mut(..want).unwrap_or_default())?;
                self.session.output.bytes(piece.get(..count).unwrap_or_default());
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
            self.session.output.bytes(zeros.get(..count).unwrap_or_default());
            left -= count as u64;
        }
    }
}
