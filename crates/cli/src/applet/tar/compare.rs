//! `tar -d`: compares members with the files of their names.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::process::ExitCode;

use haul_archive::compare::{Comparer, Difference, Rules};
use haul_archive::format::{MemberKind, ReadError, Reader};
use haul_sys::Errno;

use super::list::{next, report_missing, show};
use super::member_name::{Changed, stored_name};
use super::open::open;
use super::print::Columns;
use super::quoting::named;
use super::session::Session;
use super::settings::Settings;
use super::totals;
use crate::file_error::describe;

/// Why a comparison ends early.
enum Stopped {
    Read(ReadError),
    Fatal(String),
}

impl From<ReadError> for Stopped {
    fn from(error: ReadError) -> Stopped {
        Stopped::Read(error)
    }
}

/// Compares an archive with files.
pub(super) fn compare(session: &Session, settings: &mut Settings) -> ExitCode {
    let archive = settings.file.clone();
    let archive = archive.as_encoded_bytes();
    let (source, is_plain) = match open(settings) {
        Ok(opened) => opened,
        Err(error) => {
            let text = format!("{}: Cannot open: {}", named(archive), describe(&error));
            return session.fatal(&text);
        }
    };
    let mut reader = Reader::new(source, settings.zeros).refusing_empty(is_plain);
    let mut comparers: HashMap<Option<usize>, Comparer> = HashMap::new();
    let mut columns = Columns::new();
    let mut members = || -> Result<(), Stopped> {
        while let Some(mut member) = next(session, &mut reader)? {
            let found =
                settings.names.select_directory(stored_name(&member.name), settings.occurrence);
            let Some(directory) = found else { continue };
            let changed = Changed::of(session, &member, settings);
            if settings.verbosity > 0 {
                let mut shown = member.clone();
                changed.prepare_to_show(&mut shown, settings);
                show(session, &shown, settings, settings.verbosity - 1, &mut columns);
            }
            let comparer = match comparers.entry(directory) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert(new_comparer(settings, directory)?),
            };
            let Some(name) = changed.extracted(settings, None) else { continue };
            let link = changed.extracted_link(settings, None);
            if member.kind == MemberKind::Symlink {
                member.link.clone_from(&changed.link);
            }
            let mut tell = |difference| told(session, &name, &difference);
            comparer.member(&mut reader, &member, (&name, &link), &mut tell)?;
            if settings.names.are_all_found(settings.occurrence) {
                break;
            }
        }
        Ok(())
    };
    let ended = members().and_then(|()| Ok(reader.drain()?));
    match ended {
        Err(Stopped::Read(error)) => return session.unreadable(archive, &error),
        Err(Stopped::Fatal(text)) => return session.fatal(&text),
        Ok(()) => {}
    }
    totals::read(session, settings, reader.offset());
    report_missing(session, settings);
    session.end()
}

/// Opens the directory that `-C` named.
fn new_comparer(settings: &Settings, directory: Option<usize>) -> Result<Comparer, Stopped> {
    let mut path = PathBuf::from(".");
    for step in settings.names.directories.iter().take(directory.map_or(0, |index| index + 1)) {
        path.push(OsStr::from_bytes(step));
    }
    let opened = std::fs::File::open(&path).and_then(|file| match file.metadata()?.is_dir() {
        true => Ok(OwnedFd::from(file)),
        false => Err(Errno::NOTDIR.into()),
    });
    let opened = opened.map_err(|error| {
        let shown = path.strip_prefix("./").unwrap_or(&path).as_os_str().as_bytes();
        Stopped::Fatal(format!("{}: Cannot open: {}", named(shown), describe(&error)))
    })?;
    let rules = Rules { follow: settings.creation.follow(), numeric_owner: settings.numeric_owner };
    Ok(Comparer::new(opened, rules))
}

/// Prints a difference: what differs on standard output, what cannot be compared on standard error.
fn told(session: &Session, name: &[u8], difference: &Difference) {
    let differs = |text: &str| session.differ_on_output(&format!("{}: {text}", named(name)));
    let failed = |name: &[u8], what: &str, error: haul_sys::CallError| {
        session.fail_at(name, &format!("Cannot {what}: {}", error.text()));
    };
    let missing = |name: &[u8], what: &str, error: haul_sys::CallError| match error.errno {
        Errno::NOENT => {
            session.differ(&format!("{}: Warning: Cannot {what}: {}", named(name), error.text()));
        }
        _ => failed(name, what, error),
    };
    match difference {
        Difference::Kind => differs("File type differs"),
        Difference::Mode => differs("Mode differs"),
        Difference::Owner => differs("Uid differs"),
        Difference::Group => differs("Gid differs"),
        Difference::Mtime => differs("Mod time differs"),
        Difference::Size => differs("Size differs"),
        Difference::Contents => differs("Contents differ"),
        Difference::NotAHole(at) => differs(&format!("File fragment at {at} is not a hole")),
        Difference::Ended(found, 1) => differs(&format!("Could only read {found} of 1 byte")),
        Difference::Ended(found, bytes) => {
            differs(&format!("Could only read {found} of {bytes} bytes"));
        }
        Difference::NotLinked(link) => differs(&format!("Not linked to {}", named(link))),
        Difference::Symlink => differs("Symlink differs"),
        Difference::Device => differs("Device number differs"),
        Difference::UnknownType(flag) => session.fail_at(
            name,
            &format!("Unknown file type '{}', diffed as normal file", char::from(*flag)),
        ),
        Difference::Stat(name, error) => missing(name, "stat", *error),
        Difference::Readlink(error) => missing(name, "readlink", *error),
        Difference::Open(error) => failed(name, "open", *error),
        Difference::Read(at, bytes, error) => session.fail_at(
            name,
            &format!("Read error at byte {at}, while reading {bytes} bytes: {}", error.text()),
        ),
    }
}
