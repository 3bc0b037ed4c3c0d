//! `--verify`: after a run the archive and the files are compared, of which one is read from storage:
//! what `-c` and `-x` have just written.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use haul_archive::compare::{Comparer, Difference, Rules, What, drop_pages};
use haul_archive::extract::Names as Reach;
use haul_archive::format::{Member, MemberKind, Next, ReadError, Reader, Zeros};
use haul_archive::safe_name::{has_parent, safe_name};
use haul_archive::source::Source;
use haul_sys::fs::{Follow, fstat};

use super::compare::words;
use super::list::is_new;
use super::member_name::{Changed, stored_name};
use super::names::Names;
use super::open::{self, Wanted};
use super::print::Columns;
use super::quoting::{listed, named};
use super::reporting::Reporting;
use super::session::{Session, Stopped, TOO_MANY_ATTRIBUTES};
use super::settings::Settings;
use crate::file_error::describe;
use crate::sizes::plural;

/// Differences that are kept until the end of the archive, because a later member may have taken the
/// name. More are told at once.
const KEPT_MAX: usize = 10_000;

/// Where a member's file is.
struct Found {
    /// By the index of the directory that `-C` named.
    directory: Option<usize>,
    name: Vec<u8>,
    /// Of a hard link.
    link: Vec<u8>,
}

/// Compares the files that were extracted with the archive, and tells all differences. `names` are as they
/// were at first. Returns whether there are none.
pub(super) fn extracted(session: &Session, settings: &Settings, mut names: Names) -> bool {
    let top = settings.extraction.top.as_deref();
    let opened = again(&settings.file);
    let find = |member: &Member| {
        let directory = names.select_directory(stored_name(&member.name), settings.occurrence)?;
        if !is_new(member, settings)
            || (!settings.extraction.absolute_names && has_parent(&member.name))
        {
            return None;
        }
        let changed = Changed::of(session, member, settings);
        let name = changed.extracted(settings, top)?;
        let link = match member.kind {
            MemberKind::Symlink => changed.link.clone(),
            _ => changed.extracted_link(settings, top),
        };
        Some(Found { directory, name, link })
    };
    compare(session, settings, (opened, settings.zeros), What::Stored, find)
}

/// Opens an archive again. Opening a pipe would wait for a writer.
fn again(name: impl AsRef<Path>) -> io::Result<File> {
    let kind = std::fs::metadata(&name)?.file_type();
    if !kind.is_file() && !kind.is_block_device() {
        return Err(io::Error::other("only an archive in a file can be read again"));
    }
    File::open(name)
}

/// Opens the archive again where /proc is not mounted: by its name, which need not be its own.
fn by_name(archive: &OwnedFd, settings: &Settings) -> io::Result<File> {
    let same = again(&settings.file).and_then(|file| {
        let own = fstat(archive).map_err(|error| io::Error::from(error.errno))?;
        let other = file.metadata()?;
        Ok(((own.dev, own.ino) == (other.dev(), other.ino())).then_some(file))
    });
    same?.ok_or_else(|| io::Error::other("the archive cannot be opened again without /proc"))
}

/// The number of an operand, and how many members come from it until another one's come.
pub(super) type Origin = (usize, u64);

/// Compares what was written of an archive from an offset on with the files, and tells all differences.
/// `archive` may have no name yet. Returns whether there are none.
pub(super) fn created(
    session: &Session,
    settings: &Settings,
    (archive, start): (&OwnedFd, u64),
    origins: &[Origin],
) -> bool {
    // It was opened for writing.
    let opened = again(format!("/proc/self/fd/{}", archive.as_raw_fd()));
    let opened = match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => by_name(archive, settings),
        answer => answer,
    };
    let opened = opened.and_then(|file| {
        let file = OwnedFd::from(file);
        let is_dropped = drop_pages(&file).map_err(|error| io::Error::from(error.errno))?;
        if !is_dropped {
            let archive = named(settings.file.as_encoded_bytes());
            session.warn(&format!("{archive}: could only be compared in the page cache"));
        }
        Ok(File::from(file))
    });
    let has_links = session.reporting().is_some_and(Reporting::has_hard_links);
    let mut files = Files { settings, origins: origins.to_vec().into(), firsts: HashMap::new() };
    let (mut members, mut wrong) = (0, 0);
    let mut columns = Columns::new();
    let find = |member: &Member| {
        if member.header_offset < start {
            return None;
        }
        members += 1;
        if settings.verbosity > 0 && !session.is_json() {
            let line = match settings.verbosity {
                1 => listed(&member.name),
                _ => columns.line(member, settings),
            };
            session.show(&format!("Verify {line}"), false);
        }
        let found = files.find(member)?;
        if member.kind == MemberKind::HardLink {
            if let Err(text) = files.demand_link(member, &found) {
                let text = format!("{}: verification failed: {text}", named(&found.name));
                session.fail_about(&found.name, &text, None);
                wrong += 1;
            }
            return None;
        }
        if has_links {
            let first = (found.directory, found.name.clone());
            files.firsts.insert(stored_name(&member.name).to_vec(), first);
        }
        Some(found)
    };
    // Zeros that `--ignore-zeros` would skip hide members from other readers. Those that an archive had before
    // it grew are not new.
    let zeros = if start == 0 { Zeros::End } else { settings.zeros };
    let is_well = compare(session, settings, (opened, zeros), What::Contents, find);
    // A block of zeros in the place of a header would end the archive.
    let written = session.reporting().map_or(members, Reporting::members);
    if members != written {
        let text = format!("verification failed: {members} of {written} members are there");
        session.fail_at(settings.file.as_encoded_bytes(), &text);
    }
    is_well && members == written && wrong == 0
}

/// The files of the members of `-c`, in their order.
struct Files<'s> {
    settings: &'s Settings,
    origins: VecDeque<Origin>,
    /// Files by the names of their members, as hard links refer to them.
    firsts: HashMap<Vec<u8>, (Option<usize>, Vec<u8>)>,
}

impl Files<'_> {
    /// Returns the file of the next member.
    fn find(&mut self, member: &Member) -> Option<Found> {
        let (operand, left) = self.origins.front_mut()?;
        let operand = self.settings.names.names.get(*operand)?;
        *left -= 1;
        if *left == 0 {
            self.origins.pop_front();
        }
        let mut name = match self.settings.extraction.absolute_names {
            true => Vec::new(),
            false => safe_name(&operand.text).removed.to_vec(),
        };
        if name.ends_with(b".") {
            name.push(b'/');
        }
        name.extend_from_slice(stored_name(&member.name));
        Some(Found { directory: operand.directory, name, link: member.link.clone() })
    }

    /// Checks that a further name of a file is one of the file of the member that it refers to.
    fn demand_link(&self, member: &Member, found: &Found) -> Result<(), String> {
        let Some((directory, first)) = self.firsts.get(stored_name(&member.link)) else {
            return Err(format!("it is a link to {}, which is no member", named(&member.link)));
        };
        let identity = |directory: &Option<usize>, name: &[u8]| -> Result<(u64, u64), String> {
            let path = self.settings.names.path(*directory).join(OsStr::from_bytes(name));
            let found = match self.settings.creation.follow() {
                Follow::No => std::fs::symlink_metadata(path),
                Follow::Yes => std::fs::metadata(path),
            };
            let found = found.map_err(|error| format!("Cannot stat: {}", describe(&error)))?;
            Ok((found.dev(), found.ino()))
        };
        if identity(&found.directory, &found.name)? == identity(directory, first)? {
            Ok(())
        } else {
            Err(format!("Not linked to {}", named(first)))
        }
    }
}

/// Compares all members that `find` finds a file for.
fn compare(
    session: &Session,
    settings: &Settings,
    (opened, zeros): (io::Result<File>, Zeros),
    what: What,
    mut find: impl FnMut(&Member) -> Option<Found>,
) -> bool {
    // The members of an archive with an index are not all that it has.
    let source = opened.and_then(|file| open::source_of(file, settings, Wanted::All));
    let archive = settings.file.as_encoded_bytes();
    let source = match source {
        Ok((source, _)) => source,
        Err(error) => {
            session.fail_at(archive, &format!("Cannot verify: {}", describe(&error)));
            return false;
        }
    };
    let follow = if what == What::Stored { Follow::No } else { settings.creation.follow() };
    // As they were extracted. What was archived may be anywhere.
    let names = match what {
        What::Stored if !settings.extraction.absolute_names => Reach::Beneath,
        _ => Reach::Absolute,
    };
    let rules = Rules { follow, numeric_owner: true, what, names };
    let mut run = Run {
        rules,
        comparers: HashMap::new(),
        differences: HashMap::new(),
        is_well: true,
        session,
    };
    let mut reader = Reader::new(source, zeros);
    let ended = loop {
        match reader.advance() {
            Ok(Next::Member(member)) => {
                if let Some(found) = find(&member)
                    && let Err(stopped) = run.member(&mut reader, settings, *member, found)
                {
                    break Err(stopped);
                }
            }
            Ok(Next::End) => break Ok(()),
            Ok(Next::Invalid | Next::TooShort | Next::NoZeros | Next::Refused(..) | Next::Lost) => {
                run.is_well = false;
                session.fail_at(archive, "verification failed: a header cannot be read");
            }
            Ok(Next::UnknownKeyword(_) | Next::Flawed(..) | Next::LoneZero(_)) => {}
            Err(error) => break Err(Stopped::Read(error)),
        }
    };
    run.end();
    let cached: u64 = run.comparers.values().map(Comparer::cached_files).sum();
    if cached > 0 {
        let files = plural(cached, "file", "files");
        session.warn(&format!("{files} could only be compared in the page cache"));
    }
    match ended {
        Ok(()) => run.is_well,
        Err(stopped) => {
            let text = match stopped {
                Stopped::Read(ReadError::UnexpectedEnd) => "Unexpected EOF in archive".to_owned(),
                Stopped::Read(ReadError::TooManyAttributes) => TOO_MANY_ATTRIBUTES.to_owned(),
                Stopped::Read(ReadError::Source(error)) => format!("Cannot read: {error}"),
                Stopped::Fatal(text) => text,
            };
            session.fail_at(archive, &format!("Cannot verify: {text}"));
            false
        }
    }
}

/// Returns a name without needless slashes and dots.
fn plain(name: &[u8]) -> Vec<u8> {
    let parts = name.split(|byte| *byte == b'/').filter(|part| !matches!(part, [] | [b'.']));
    let joined = parts.collect::<Vec<_>>().join(&b'/');
    if name.starts_with(b"/") { [b"/", &joined[..]].concat() } else { joined }
}

struct Run<'s> {
    session: &'s Session,
    rules: Rules,
    comparers: HashMap<Option<usize>, Comparer>,
    /// By directory and name.
    differences: HashMap<(Option<usize>, Vec<u8>), Vec<String>>,
    is_well: bool,
}

impl Run<'_> {
    fn member(
        &mut self,
        reader: &mut Reader<Box<dyn Source + Send>>,
        settings: &Settings,
        mut member: Member,
        found: Found,
    ) -> Result<(), Stopped> {
        let Found { directory, name, link } = found;
        if !self.comparers.contains_key(&directory) {
            let opened = open::directory(settings, directory)?;
            self.comparers.insert(directory, Comparer::new(opened, self.rules));
        }
        let Some(comparer) = self.comparers.get_mut(&directory) else { return Ok(()) };
        if member.kind == MemberKind::Symlink {
            member.link.clone_from(&link);
        }
        let mut told = Vec::new();
        let mut tell = |difference: Difference| {
            // It is extracted as a regular file, and compared as one.
            if !matches!(difference, Difference::UnknownType(_)) {
                told.push(words(&difference));
            }
        };
        comparer.member(reader, &member, (&name, &link), &mut tell)?;
        let key = (directory, plain(&name));
        // Of several members of one name the last one counts, except in an archive that was written.
        let is_compared = !matches!(
            member.kind,
            MemberKind::HardLink | MemberKind::VolumeLabel | MemberKind::Continued
        );
        if self.rules.what == What::Stored && is_compared {
            self.differences.remove(&key);
        }
        if !told.is_empty() {
            self.differences.entry(key).or_default().extend(told);
            if self.differences.len() > KEPT_MAX || self.rules.what == What::Contents {
                self.end();
            }
        }
        Ok(())
    }

    /// Tells all differences.
    fn end(&mut self) {
        let mut all: Vec<_> = self.differences.drain().collect();
        all.sort();
        for ((_, name), told) in all {
            self.is_well = false;
            let text = format!("{}: verification failed: {}", named(&name), told.join("; "));
            self.session.fail_about(&name, &text, None);
        }
    }
}
