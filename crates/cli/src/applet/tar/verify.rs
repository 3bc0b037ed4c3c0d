//! `--verify`: after a run the archive and the files are compared, of which one is read from storage:
//! what `-c` and `-x` have just written.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use haul_archive::compare::{Comparer, Rules, What, drop_pages};
use haul_archive::format::{Member, MemberKind, Next, ReadError, Reader};
use haul_archive::safe_name::{has_parent, safe_name};
use haul_archive::source::Source;
use haul_sys::fs::Follow;

use super::compare::words;
use super::list::is_new;
use super::member_name::{Changed, stored_name};
use super::names::Names;
use super::open;
use super::quoting::named;
use super::reporting::Reporting;
use super::session::{Session, Stopped};
use super::settings::Settings;
use crate::file_error::describe;
use crate::sizes::plural;

/// Differences that are kept until the end of the archive, because a later member may have taken the
/// name. More are told at once.
const KEPT_MAX: usize = 10_000;

type Members = Reader<Box<dyn Source + Send>>;

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
    compare(session, settings, opened, What::Stored, find)
}

/// Opens an archive again. Opening a pipe would wait for a writer.
pub(super) fn again(name: impl AsRef<Path>) -> io::Result<File> {
    let kind = std::fs::metadata(&name)?.file_type();
    if !kind.is_file() && !kind.is_block_device() {
        return Err(io::Error::other("only an archive in a file can be read again"));
    }
    File::open(name)
}

/// Compares an archive that was written with the files, and tells all differences. `archive` may have no
/// name yet. Returns whether there are none.
pub(super) fn created(session: &Session, settings: &Settings, archive: &OwnedFd) -> bool {
    // It was opened for writing.
    let opened = again(format!("/proc/self/fd/{}", archive.as_raw_fd()));
    let opened = opened.and_then(|file| {
        let file = OwnedFd::from(file);
        drop_pages(&file).map_err(|error| io::Error::from(error.errno))?;
        Ok(File::from(file))
    });
    let mut operands = Operands { number: 0, has_begun: false };
    let mut unknown = 0;
    let mut find = |member: &Member| {
        // The data of a further name are those of the first one.
        if member.kind == MemberKind::HardLink {
            return None;
        }
        let found = operands.find(&settings.names, member, settings.extraction.absolute_names);
        unknown += u64::from(found.is_none());
        found
    };
    let mut members = 0;
    let counted = |member: &Member| {
        members += 1;
        find(member)
    };
    let is_well = compare(session, settings, opened, What::Contents, counted);
    // A block of zeros in the place of a header would end the archive.
    let written = session.reporting().map_or(members, Reporting::members);
    if is_well && members != written {
        let text = format!("verification failed: {members} of {written} members are there");
        session.fail_at(settings.file.as_encoded_bytes(), &text);
        return false;
    }
    if unknown > 0 {
        let text = format!("{} could not be verified", plural(unknown, "member", "members"));
        session.fail_at(settings.file.as_encoded_bytes(), &text);
    }
    is_well && unknown == 0
}

/// The operands of `-c`, which are archived one after the other.
struct Operands {
    number: usize,
    /// Whether the member of the operand itself came.
    has_begun: bool,
}

impl Operands {
    /// Returns the file of a member.
    fn find(&mut self, names: &Names, member: &Member, is_absolute: bool) -> Option<Found> {
        let name = stored_name(&member.name);
        while let Some(operand) = names.names.get(self.number) {
            let safe = safe_name(&operand.text);
            let (mut removed, rest) = match is_absolute {
                true => (Vec::new(), operand.text.clone()),
                false => (safe.removed, safe.rest),
            };
            if removed.ends_with(b".") {
                removed.push(b'/');
            }
            let rest = stored_name(&rest);
            let is_itself = rest == name;
            // Nothing is left of '/' and '..' but what is below.
            let is_all = !is_absolute && safe.was_empty;
            let below = name.strip_prefix(rest);
            let is_below = is_all
                || below.is_some_and(|below| below.starts_with(b"/") || rest.ends_with(b"/"));
            // An operand of the same name in another directory begins with its own member again.
            if (is_itself && !self.has_begun) || (is_below && !is_itself) {
                self.has_begun = true;
                let link = member.link.clone();
                let directory = operand.directory;
                return Some(Found { directory, name: [&removed, name].concat(), link });
            }
            self.number += 1;
            self.has_begun = false;
        }
        None
    }
}

/// Compares all members that `find` finds a file for.
fn compare(
    session: &Session,
    settings: &Settings,
    opened: io::Result<File>,
    what: What,
    mut find: impl FnMut(&Member) -> Option<Found>,
) -> bool {
    let source = opened.and_then(|file| open::source_of(file, settings));
    let archive = settings.file.as_encoded_bytes();
    let source = match source {
        Ok((source, _)) => source,
        Err(error) => {
            session.fail_at(archive, &format!("Cannot verify: {}", describe(&error)));
            return false;
        }
    };
    let follow = if what == What::Stored { Follow::No } else { settings.creation.follow() };
    let rules = Rules { follow, numeric_owner: true, what };
    let mut run = Run {
        rules,
        comparers: HashMap::new(),
        differences: HashMap::new(),
        is_well: true,
        session,
    };
    let mut reader: Members = Reader::new(source, settings.zeros);
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
            Ok(Next::Invalid | Next::TooShort | Next::Refused(..)) => {
                run.is_well = false;
                session.fail_at(archive, "verification failed: a header cannot be read");
            }
            Ok(Next::UnknownKeyword(_) | Next::LoneZero(_)) => {}
            Err(error) => break Err(Stopped::Read(error)),
        }
    };
    run.end();
    match ended {
        Ok(()) => run.is_well,
        Err(stopped) => {
            let text = match stopped {
                Stopped::Read(ReadError::UnexpectedEnd) => "Unexpected EOF in archive".to_owned(),
                Stopped::Read(ReadError::Source(error)) => format!("Cannot read: {error}"),
                Stopped::Fatal(text) => text,
            };
            session.fail_at(archive, &format!("Cannot verify: {text}"));
            false
        }
    }
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
        reader: &mut Members,
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
        let mut tell = |difference| told.push(words(&difference));
        comparer.member(reader, &member, (&name, &link), &mut tell)?;
        let key = (directory, name);
        self.differences.remove(&key);
        if !told.is_empty() {
            self.differences.insert(key, told);
            if self.differences.len() > KEPT_MAX {
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
